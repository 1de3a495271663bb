"""Inverse kinematics: how many random reachable poses are reached, and in what time, beside Pinocchio's example loop.

The loop is closed-loop inverse kinematics (CLIK) as Pinocchio's documentation shows it: one start, steps of 0.1 of a
damped Newton step, at most 1000, no joint limits. It is run to the same error as ours, and on fewer poses, since it
takes long; and once more with whole Newton steps, which is the fastest that its user can make it. Both start from the
middle of the joints' ranges. A pose is drawn by drawing joints inside their limits.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from time import process_time

import numpy as np

from appell.describe.load import load_tree
from appell.describe.write import to_urdf
from appell.dynamics import Dynamics
from appell.errors import AppellError, ModelWarning
from appell.kinematics.inverse import NumericalSolver, numerical, spherical_wrist
from appell.model.robot import Robot
from appell_lab.bench.aims import aim
from appell_lab.bench.figure import Figure
from appell_lab.bench.subject import pinocchio

TOLERANCE = 1e-10  # m and rad
LOOPED = 100  # poses for the example loop
STEPS, RATE, WHOLE, DAMP = 1000, 0.1, 1.0, 1e-12  # of the example, and a whole step
ARM = "talos_left_arm.urdf"


@dataclass(frozen=True)
class Arm:
    """A robot, the frame that is to be brought to a pose, and the text from which Pinocchio builds the same."""

    name: str
    robot: Robot
    frame: str
    urdf: str


def arms() -> list[Arm]:
    """The Panda of the zoo, and Talos' left arm where example-robot-data is installed."""
    panda = load_tree("panda")
    found = [Arm("panda", panda, "tool", to_urdf(panda))]
    try:
        listed = [file for file in files("example-robot-data") or [] if file.name == ARM]
    except PackageNotFoundError:
        listed = []
    for file in listed[:1]:
        path = Path(str(file.locate()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            robot = load_tree(path, physical=False)
        found.append(Arm("talos-arm", robot, "gripper_left_base_link", path.read_text(encoding="utf-8")))
    return found


def middle(solver: NumericalSolver) -> np.ndarray:
    """The middle of every joint's range; 0 where there is none."""
    bounded = np.isfinite(solver.lower) & np.isfinite(solver.upper)
    return np.where(bounded, 0.5 * (np.where(bounded, solver.lower, 0.0) + np.where(bounded, solver.upper, 0.0)), 0.0)


def example_loop(pin, model, data, frame: int, q: np.ndarray, goal, rate: float) -> tuple[bool, np.ndarray]:
    """Pinocchio's example, for a frame, to our tolerance."""
    for _ in range(STEPS):
        pin.framesForwardKinematics(model, data, q)
        miss = data.oMf[frame].actInv(goal)
        error = pin.log(miss).vector
        if np.linalg.norm(error[:3]) <= TOLERANCE and np.linalg.norm(error[3:]) <= TOLERANCE:
            return True, q
        J = -pin.Jlog6(miss.inverse()) @ pin.computeFrameJacobian(model, data, q, frame)
        v = -J.T @ np.linalg.solve(J @ J.T + DAMP * np.eye(6), error)
        q = pin.integrate(model, q, v * rate)
    return False, q


def measure(count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Share of poses reached and time a pose, of the numerical solver; time of the closed form."""
    found = []
    for arm in arms():
        found += _numerical(arm, count, max(1, min(turns, 3)), tick)
    return [*found, _closed_form(count, turns)]


def _numerical(arm: Arm, count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    pin, solver = pinocchio(), numerical(arm.robot, arm.frame)
    rng = np.random.default_rng(0)
    poses = Dynamics(arm.robot).pose(arm.frame)(solver.random(rng, count))
    start = middle(solver)
    solver.step.compile()
    best = np.inf
    for _ in range(turns):
        began = process_time()
        solution = solver(poses, start, tolerance=TOLERANCE)
        best = min(best, process_time() - began)
        tick()
    model = pin.buildModelFromXML(arm.urdf)
    data, frame = model.createData(), model.getFrameId(arm.frame)
    if model.nq != arm.robot.nq:
        raise AppellError(
            f"Pinocchio reads {model.nq} coordinates of {arm.name}, we {arm.robot.nq}; they are not compared."
        )
    judged = np.array([_pose(pin, model, data, frame, q) for q in solution.q[:LOOPED]])
    error = np.abs(judged - poses[:LOOPED])[solution.reached[:LOOPED]].max()
    if not error <= 10.0 * TOLERANCE:
        raise AppellError(
            f"the solutions for {arm.name} are {error:.1e} off by Pinocchio's kinematics; they are not timed."
        )
    goals = [pin.SE3(T[:3, :3], T[:3, 3]) for T in poses[:LOOPED]]
    details = {"reached": float(solution.reached.mean()), "steps": float(solution.steps.mean()), "poses": count}
    for name, rate in (("loop", RATE), ("loop_whole_steps", WHOLE)):
        began = process_time()
        looped = [example_loop(pin, model, data, frame, start.copy(), goal, rate) for goal in goals]
        details[f"{name}_seconds"] = (process_time() - began) / len(goals)
        inside = [ok and bool(((q >= solver.lower) & (q <= solver.upper)).all()) for ok, q in looped]
        details |= {
            f"{name}_reached": float(np.mean([ok for ok, _ in looped])),
            f"{name}_inside_limits": float(np.mean(inside)),
        }
    part, ours, theirs = "kinematics", best / count, details["loop_seconds"]
    missed, title = float((~solution.reached).sum()), f"poses of {count:,} not reached to 1e-10"
    return [
        Figure(part, arm.name, "missed", title, missed, "", aim(part, arm.name, "missed"), details=details),
        Figure(
            part,
            arm.name,
            "inverse_kinematics",
            "inverse kinematics, a pose, against the example loop",
            theirs / ours,
            "x",
            aim(part, arm.name, "inverse_kinematics"),
            ours,
            theirs,
            details,
        ),
    ]


def _pose(pin, model, data, frame: int, q: np.ndarray) -> np.ndarray:
    pin.framesForwardKinematics(model, data, q)
    return data.oMf[frame].homogeneous


def _closed_form(count: int, turns: int) -> Figure:
    robot = load_tree("puma")
    solver = spherical_wrist(robot)
    poses = Dynamics(robot).pose("tool")(np.random.default_rng(0).uniform(-np.pi, np.pi, (count, 6)))
    out = np.empty((count, 8, 6))
    solver.function(poses, out=out)
    best = np.inf
    for _ in range(turns):
        began = process_time()
        solver.function(poses, out=out)
        best = min(best, process_time() - began)
    return Figure("kinematics", "puma", "closed_form", "all eight solutions of a pose", best / count, "s")
