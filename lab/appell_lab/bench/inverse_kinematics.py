"""Inverse kinematics: number of random reachable poses that are reached, and time, compared with Pinocchio's example.

The example is closed-loop inverse kinematics (CLIK) as in Pinocchio's documentation: one start, at most 1000 steps of
0.1 of a damped Newton step, no joint limits. It is run to the same error, on fewer poses, because it takes long; and
once more with full Newton steps, which is the fastest variant. Both start from the middle of the joint ranges. Random
poses are those of random joint positions inside the limits.
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
EXAMPLE_POSES = 100  # number of poses for the example loop
MAX_STEPS, EXAMPLE_STEP, FULL_STEP, DAMPING = 1000, 0.1, 1.0, 1e-12  # of the example; steps as fractions
ARM = "talos_left_arm.urdf"


@dataclass(frozen=True)
class Arm:
    """A robot, the frame that is to reach a pose, and the URDF from which Pinocchio builds the same robot."""

    name: str
    robot: Robot
    frame: str
    urdf: str


def arms() -> list[Arm]:
    """Return the Panda of the zoo, and the left arm of Talos if example-robot-data is installed."""
    panda = load_tree("panda")
    result = [Arm("panda", panda, "tool", to_urdf(panda))]
    try:
        listed = [file for file in files("example-robot-data") or [] if file.name == ARM]
    except PackageNotFoundError:
        listed = []
    for file in listed[:1]:
        path = Path(str(file.locate()))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            robot = load_tree(path, physical=False)
        result.append(Arm("talos-arm", robot, "gripper_left_base_link", path.read_text(encoding="utf-8")))
    return result


def middle(solver: NumericalSolver) -> np.ndarray:
    """Return the middle of every joint's range; 0 for unlimited joints."""
    bounded = np.isfinite(solver.lower) & np.isfinite(solver.upper)
    return np.where(bounded, 0.5 * (np.where(bounded, solver.lower, 0.0) + np.where(bounded, solver.upper, 0.0)), 0.0)


def example_loop(pin, model, data, frame: int, q: np.ndarray, goal, step: float) -> tuple[bool, np.ndarray]:
    """Run Pinocchio's example for a frame to the same tolerance; return whether it converged, and q."""
    for _ in range(MAX_STEPS):
        pin.framesForwardKinematics(model, data, q)
        miss = data.oMf[frame].actInv(goal)
        error = pin.log(miss).vector
        if np.linalg.norm(error[:3]) <= TOLERANCE and np.linalg.norm(error[3:]) <= TOLERANCE:
            return True, q
        J = -pin.Jlog6(miss.inverse()) @ pin.computeFrameJacobian(model, data, q, frame)
        v = -J.T @ np.linalg.solve(J @ J.T + DAMPING * np.eye(6), error)
        q = pin.integrate(model, q, v * step)
    return False, q


def measure(count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    """Measure the number of poses reached and the time per pose of the numerical solver, and the closed form."""
    figures = []
    for arm in arms():
        figures += _numerical(arm, count, max(1, min(turns, 3)), tick)
    return [*figures, _closed_form(count, turns)]


def _numerical(arm: Arm, count: int, turns: int, tick: Callable[[], object]) -> list[Figure]:
    pin, solver = pinocchio(), numerical(arm.robot, arm.frame)
    rng = np.random.default_rng(0)
    poses = Dynamics(arm.robot).pose(arm.frame)(solver.random(rng, count))
    start = middle(solver)
    solver.step.compile()
    best = np.inf
    for _ in range(turns):
        start_time = process_time()
        solution = solver(poses, start, tolerance=TOLERANCE)
        best = min(best, process_time() - start_time)
        tick()
    model = pin.buildModelFromXML(arm.urdf)
    data, frame = model.createData(), model.getFrameId(arm.frame)
    if model.nq != arm.robot.nq:
        raise AppellError(
            f"Pinocchio reads {model.nq} coordinates of {arm.name}, appell {arm.robot.nq}; they are not compared."
        )
    reference = np.array([_pose(pin, model, data, frame, q) for q in solution.q[:EXAMPLE_POSES]])
    error = np.abs(reference - poses[:EXAMPLE_POSES])[solution.reached[:EXAMPLE_POSES]].max()
    if not error <= 10.0 * TOLERANCE:
        raise AppellError(f"the solutions for {arm.name} have errors of {error:.1e} in Pinocchio; they are not timed.")
    goals = [pin.SE3(T[:3, :3], T[:3, 3]) for T in poses[:EXAMPLE_POSES]]
    details = {"reached": float(solution.reached.mean()), "steps": float(solution.steps.mean()), "poses": count}
    for name, step in (("loop", EXAMPLE_STEP), ("loop_whole_steps", FULL_STEP)):
        start_time = process_time()
        results = [example_loop(pin, model, data, frame, start.copy(), goal, step) for goal in goals]
        details[f"{name}_seconds"] = (process_time() - start_time) / len(goals)
        inside_limits = [ok and bool(((q >= solver.lower) & (q <= solver.upper)).all()) for ok, q in results]
        details |= {
            f"{name}_reached": float(np.mean([ok for ok, _ in results])),
            f"{name}_inside_limits": float(np.mean(inside_limits)),
        }
    part, ours, theirs = "kinematics", best / count, details["loop_seconds"]
    missed, title = float((~solution.reached).sum()), f"poses of {count:,} not reached to 1e-10"
    return [
        Figure(part, arm.name, "missed", title, missed, "", aim(part, arm.name, "missed"), details=details),
        Figure(
            part,
            arm.name,
            "inverse_kinematics",
            "inverse kinematics, per pose, against the example loop",
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
        start_time = process_time()
        solver.function(poses, out=out)
        best = min(best, process_time() - start_time)
    return Figure("kinematics", "puma", "closed_form", "all eight solutions of a pose", best / count, "s")
