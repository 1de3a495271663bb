"""Open-loop simulation as in the papers: does a robot driven by the joint forces of a path follow the path?

    path (q, v, a)  →  inverse dynamics  →  τ(t)  →  forward dynamics, integrated  →  (q*, v*, a*)

There is no feedback: nothing corrects an error. The forces are evaluated at every stage of the integrator
("continuous"), or at the ends of intervals and then held or interpolated ("held", "interpolated"). As in the papers,
the integration restarts in each interval with a newly chosen step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, SimulationError, unknown_name
from appell.kinematics.inverse.numerical_solver import default_frame
from appell.model.robot import Robot
from appell.motion.path import QVA, Path
from appell.motion.record import Record
from appell.motion.titles import record_names
from appell.simulation.options import Solver
from appell.simulation.run import simulate

# forward dynamics of the papers, and their names in `Dynamics(robot, formulation)`
METHODS = {"GA": "mata", "CRBA": "walker-orin", "ABA": "newton-euler", "NOC": "kane"}
FEEDS = ("continuous", "held", "interpolated")


@dataclass(frozen=True)
class Replay:
    """A simulated motion and the path it should follow; `evaluations` counts calls of the forward dynamics."""

    method: str
    feed: str
    wanted: Record
    simulated: Record
    wanted_tool: QVA  # position, velocity and acceleration of the frame, (times, 3)
    simulated_tool: QVA
    evaluations: int
    seconds: float

    @property
    def t(self) -> np.ndarray:
        return self.wanted.t

    @property
    def joint_errors(self) -> QVA:
        """|q* - q|, |v* - v|, |a* - a| of every joint at every time."""
        q, v, a = (np.abs(self.simulated[key] - self.wanted[key]) for key in "qva")
        return q, v, a

    @property
    def tool_errors(self) -> QVA:
        """Norms of the differences in position, velocity and acceleration of the frame."""
        p, v, a = (np.linalg.norm(x - y, axis=-1) for x, y in zip(self.simulated_tool, self.wanted_tool, strict=True))
        return p, v, a

    @property
    def modulus_errors(self) -> QVA:
        """| |p*| - |p| | of the frame's position, and the same for velocity and acceleration: differences in length,
        regardless of direction."""
        p, v, a = (
            np.abs(np.linalg.norm(x, axis=-1) - np.linalg.norm(y, axis=-1))
            for x, y in zip(self.simulated_tool, self.wanted_tool, strict=True)
        )
        return p, v, a


def replay(
    path: Path,
    robot: Robot,
    method: str = "GA",
    *,
    frame: str | None = None,
    feed: str = "continuous",
    interval: float | None = 0.1,
    samples: int = 501,
    rtol: float = 1e-6,
    atol: float = 1e-6,
    integrator: str = "RK45",
) -> Replay:
    """Drive a robot with the joint forces of a path and compare its motion with the path.

    Parameters
    ----------
    path : Path
        The path to follow; its names are the coordinates of the robot.
    robot : Robot
        The robot to simulate.
    method : str
        GA, CRBA, ABA, NOC, or the name of a formulation.
    frame : str, optional
        The frame whose motion is compared; by default the last one.
    feed : str
        "continuous", "held" or "interpolated".
    interval : float or None
        Length of the intervals in s; None integrates continuous forces in one go.
    samples : int
        Number of equidistant times of the comparison.
    rtol, atol : float
        Tolerances of the integrator.
    integrator : str
        Method of the integrator, as in `Solver`.

    Returns
    -------
    Replay
        The simulated motion, the path, and their differences.

    Raises
    ------
    ArgumentError
        If `feed` is unknown or `interval` does not suit it.
    SimulationError
        If the motion diverges.
    """
    if feed not in FEEDS:
        raise ArgumentError(unknown_name("feed", feed, FEEDS, "replay"))
    if interval is None and feed != "continuous":
        raise ArgumentError(f"{feed} forces need an interval.", expected="a number of seconds")
    if interval is not None and not interval > 0.0:
        raise ArgumentError(f"the interval is {interval:g} s.", expected="a positive number of seconds")
    dyn = Dynamics(robot, METHODS.get(method, method))
    frame = default_frame(robot) if frame is None else frame
    torque, breaks = _torque(path, Dynamics(robot).inverse_dynamics, feed, interval)
    evaluations = 0

    def counted(t, q, v):
        nonlocal evaluations
        evaluations += 1
        return torque(t)

    wanted = path.record(samples)
    t = wanted.t
    q, v = np.empty((2, samples, robot.nv))
    q0, v0, _ = path(0.0)
    began, recorded = time.perf_counter(), 0
    for start, end in pairwise(breaks):
        run = simulate(
            dyn,
            q0,
            v0,
            end,
            counted,
            start=start,
            solver=Solver(method=integrator, rtol=rtol, atol=atol),
            progress=False,
            throw=True,
        )
        inside = (t >= start) & (t <= end)
        q[inside], v[inside] = run(t[inside])
        q0, v0, recorded = run.q[-1], run.v[-1], recorded + len(run.t)
    seconds = time.perf_counter() - began
    if not np.isfinite(q).all():
        raise SimulationError(f"the motion of robot '{robot.name}' under these forces diverges.")
    tau = np.stack([torque(x) for x in t])
    motion = {"q": q, "v": v, "a": dyn.forward_dynamics(q, v, tau), "tau": tau}
    simulated = Record.of(t, motion, record_names(robot), about={"robot": robot.name, "law": f"open loop, {feed}"})
    wanted_tool, simulated_tool = (frame_motion(dyn, frame, (x.q, x.v, x.a)) for x in (wanted, simulated))
    return Replay(method, feed, wanted, simulated, wanted_tool, simulated_tool, evaluations - recorded, seconds)


def frame_motion(dyn: Dynamics, frame: str, motion: QVA) -> QVA:
    """Return position, velocity and acceleration of the origin of a frame in world axes, (times, 3) each."""
    q, v, a = motion
    J = dyn.jacobian(frame, "LOCAL_WORLD_ALIGNED")(q)[..., :3, :]
    Jdot = dyn.jacobian_rate(frame, "LOCAL_WORLD_ALIGNED")(q, v)[..., :3, :]
    times = "...ij,...j->...i"
    return dyn.pose(frame)(q)[..., :3, 3], np.einsum(times, J, v), np.einsum(times, J, a) + np.einsum(times, Jdot, v)


def _torque(path: Path, inverse_dynamics: Callable, feed: str, interval: float | None):
    """Return τ(t) and the ends of the intervals."""
    T = path.duration
    times = np.linspace(0.0, T, 1 + (1 if interval is None else max(round(T / interval), 1)))
    tau = inverse_dynamics(*path(times))

    def piece(t: float) -> int:
        return int(np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 2))

    def continuous(t: float) -> np.ndarray:
        return inverse_dynamics(*path(t))

    def interpolated(t: float) -> np.ndarray:
        k = piece(t)
        part = (t - times[k]) / (times[k + 1] - times[k])
        return (1.0 - part) * tau[k] + part * tau[k + 1]

    feeds = {
        "continuous": continuous,
        "held": lambda t: tau[piece(t)],
        "interpolated": interpolated,
    }
    return feeds[feed], times
