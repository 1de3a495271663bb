"""Time-optimal motion along a path under limits.

The rows of `path_limits` are satisfied at both ends of every interval of a grid. In between, where u is constant and x
is linear in s, they can be violated by terms of second order in the step. The motion is therefore checked densely, the
excess is subtracted from the limits of the interval, and the passes of `reachable` are repeated until no limit is
exceeded.

Friction, and torque limits that fall with the speed, make the rows nonlinear in x. Each pass linearises them at the
motion of the pass before (Newton's method); the first pass uses those of a slow motion. The passes end when the motion
no longer changes. Jerk limits need another method, see `jerk`.
"""

from __future__ import annotations

import numpy as np

from appell.dynamics import Dynamics
from appell.dynamics.moving import moving_dynamics
from appell.errors import ArgumentError, SimulationError
from appell.model.system import System
from appell.motion.collision_check import check_margin
from appell.motion.path import QVA, Path
from appell.motion.paths.jerk import JerkLimited, jerk_limited
from appell.motion.paths.limit_rows import PathLimits, path_limits, peaks
from appell.motion.paths.reachable import interval_tops, profile, tops
from appell.motion.titles import path_units

END_OFFSET = 1e-9  # of an interval: its ends are evaluated inside, because q'' of a path may jump at a knot
CHECKED_PARTS = np.array([END_OFFSET, *(np.arange(1, 12) / 12.0), 1.0 - END_OFFSET])  # of an interval
MAX_EXCESS = 1e-7  # accepted violation of a limit, in its unit
MAX_PASSES = 40
MAX_HALVINGS = 60  # of x, until a tangent of the friction permits rest
CONVERGENCE = 1e-9  # relative to the largest x: difference of two passes at which linearised friction has converged
JERK_INTERVALS = 4  # intervals of the grid per cell of a smooth time law
END_REFINEMENTS = 12  # halvings of the interval at an end where the path starts or stops with zero velocity


class Scaled(Path):
    """A path with another time law: s̈ is constant in each interval of a grid.

    Parameters
    ----------
    path
        The path q(s).
    s
        Grid of path parameters, (n + 1,).
    x, u
        ṡ² at the grid points, (n + 1,), and s̈ in the intervals, (n,).
    """

    def __init__(self, path: Path, s: np.ndarray, x: np.ndarray, u: np.ndarray):
        self.path, self.names, self.s, self.x, self.u = path, path.names, s, x, u
        speed = np.sqrt(x)
        with np.errstate(divide="ignore"):
            self.t = np.concatenate([[0.0], np.cumsum(2.0 * np.diff(s) / (speed[:-1] + speed[1:]))])
        self.duration = float(self.t[-1])

    def along(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return s, ṡ and s̈ at times."""
        k = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.u) - 1)
        dt, speed, u = t - self.t[k], np.sqrt(self.x[k]), self.u[k]
        s = np.clip(self.s[k] + dt * (speed + 0.5 * dt * u), self.s[k], self.s[k + 1])
        return s, np.maximum(speed + dt * u, 0.0), u

    def _at(self, t: np.ndarray) -> QVA:
        s, rate, pull = (part[:, None] for part in self.along(t))
        q, first, second = self.path(s[:, 0])
        return q, first * rate, second * rate**2 + first * pull


def time_optimal(
    path: Path,
    system: Dynamics | System,
    *,
    velocity=None,
    acceleration=None,
    torque=None,
    jerk=None,
    friction: bool | None = None,
    rotors: bool | None = None,
    intervals: int = 1000,
    margin: float | None = None,
) -> Scaled | JerkLimited:
    """Return the fastest motion from rest to rest along a path.

    Parameters
    ----------
    path
        Path with the coordinates of the system; its own time law is replaced.
    system
        A robot or mechanism, with the friction and rotors of its description, or a `Dynamics`, which is used as it is.
    velocity, acceleration
        Limits of the coordinates (rad/s or m/s, rad/s² or m/s²): a number, or one per coordinate.
    torque
        Limits of the actuators (N m or N): a number, or one per actuator. With the `no_load_speed` of an actuator, its
        limit falls with its speed. Limits of speed and torque that are not given are 80 % of those of `WorkingLimits`,
        so that a controller has a reserve: limits of the description, or assumed ones with a `LimitWarning`. np.inf
        removes a limit.
    jerk
        Limits of the third derivatives of the coordinates (rad/s³ or m/s³): a number, or one per coordinate. None: no
        limit, and accelerations may jump. With a jerk limit, accelerations are zero at both ends; the motion is a
        local optimum whose duration is at most 0.1 % longer than the shortest one near it on its grid.
    friction, rotors
        False: ignore the actuators' friction or rotor inertia. None: the settings of `system`.
    intervals
        Number of intervals of the grid, at least 10. With a jerk limit, a smooth time law needs only a quarter of them.
    margin
        Distance in m that the collision shapes of the robot keep along the path, as in `check_margin`. None: not
        checked.

    Returns
    -------
    Scaled or JerkLimited
        The path with its new time law.

    Raises
    ------
    ArgumentError
        If all limits are infinite, or if an argument is not valid.
    SimulationError
        If the limits or the margin exclude the path.

    Examples
    --------
    >>> import appell as ap
    >>> from appell.motion import Ramp, time_optimal
    >>> path = Ramp([0.0], [1.0], velocity=1.0, acceleration=1.0, names=["hinge"])
    >>> fast = time_optimal(path, ap.load("pendulum"), velocity=2.0, acceleration=4.0, torque=float("inf"))
    >>> print(round(fast.duration, 4))
    1.0
    """
    if intervals < 10:
        raise ArgumentError(f"intervals is {intervals}.", expected="10 or more")
    dyn = moving_dynamics(system, "time_optimal", friction=friction, rotors=rotors)
    check_margin(dyn, path, margin)
    limits = path_limits(path, dyn, velocity, acceleration, torque, jerk)
    s = _grid(path, intervals)
    limits.check_rest(s)
    motion: Scaled | JerkLimited
    if np.isfinite(limits.jerk).any():
        motion = jerk_limited(limits, max(10, intervals // JERK_INTERVALS))
    else:
        motion = _refined(limits, s)
    motion.units = path_units(dyn.system, motion.names)
    return motion


def _grid(path: Path, intervals: int) -> np.ndarray:
    """Return a grid of equal intervals, divided at the path's knots and refined at ends with q' = 0.

    At such an end ṡ rises steeply.
    """
    T = path.duration
    even, knots = np.linspace(0.0, T, intervals + 1), np.asarray(getattr(path, "knots", ()), float)
    fine = T / intervals * 0.5 ** np.arange(1, END_REFINEMENTS + 1)
    speed = np.linalg.norm(path(even)[1], axis=-1)
    near = [part for part, end in ((fine, speed[0]), (T - fine, speed[-1])) if end < 1e-9 * speed.max()]
    s = np.unique(np.concatenate([even, knots, *near]))
    s = s[np.concatenate([[True], np.diff(s) > 1e-12 * T])]
    s[-1] = T
    return s


def _refined(limits: PathLimits, s: np.ndarray) -> Scaled:
    step = np.diff(s)
    points = s[:-1, None] + step[:, None] * CHECKED_PARTS
    A, B, C = rigid = limits.rows(points)  # (intervals, points, rows)
    d = 2.0 * step[:, None]
    nonlinear = limits.is_nonlinear
    between = np.zeros(points.shape)
    margin, interval_top = np.zeros_like(C[:, 0]), np.empty(len(step))
    changed = np.ones(len(step), bool)
    for _ in range(MAX_PASSES):
        if nonlinear:
            B, C = _with_nonlinear_rows(limits, points, between, rigid)
            changed[:] = True
        rows_A = np.concatenate([A[:, 0], A[:, -1] + d * B[:, -1]], axis=1)
        rows_B = np.concatenate([B[:, 0], B[:, -1]], axis=1)
        rows_C = np.concatenate([C[:, 0] - margin, C[:, -1] - margin], axis=1)
        interval_top[changed] = interval_tops(rows_A[changed], rows_B[changed], rows_C[changed])
        top = tops(rows_A, rows_B, rows_C, step, interval_top)
        x, u = profile(rows_A, rows_B, rows_C, step, top)
        before, between = between, x[:-1, None] + d * u[:, None] * CHECKED_PARTS
        settled = not nonlinear or np.abs(between - before).max() <= CONVERGENCE * between.max()
        if nonlinear and settled:
            B, C = rigid[1], rigid[2] - limits.nonlinear_rows(points, np.maximum(between, 0.0))[0]
        excess = peaks(A * u[:, None, None] + B * between[..., None] - C)
        if excess.max() <= MAX_EXCESS and settled:
            return _checked_motion(limits, s, x, u)
        margin = margin + np.where(excess > 0.3 * MAX_EXCESS, 1.05 * excess, 0.0)
        changed = np.any(excess > 0.3 * MAX_EXCESS, axis=1)
    raise SimulationError(
        f"the limits of {limits.dyn.system.owner} are still exceeded by {excess.max():.3g} between grid points near "
        f"t = {s[int(np.argmax(excess.max(axis=1)))]:.6g} s of the path.",
        hint="Use more intervals, or a smoother path.",
    )


def _with_nonlinear_rows(limits: PathLimits, s: np.ndarray, x: np.ndarray, rigid) -> tuple[np.ndarray, np.ndarray]:
    """Return B and C of the rows with friction linearised at x by (4) of `limit_rows`.

    The tangent at a speed that friction does not permit would exclude rest; x is halved there until it does not.

    A motion that ends at rest brakes with the help of friction, which vanishes at its last instant. At the first and
    the last point, a row therefore has the friction of a slow motion or none, whichever is more restrictive.
    """
    _, B, C = rigid
    x = np.maximum(x, 0.0)
    phi, slope = limits.nonlinear_rows(s, x)
    for _ in range(MAX_HALVINGS):
        broken = (C - phi + slope * x[..., None] < 0.0).any(axis=-1) & (x > 0.0)
        if not broken.any():
            break
        x[broken] *= 0.5
        phi[broken], slope[broken] = limits.nonlinear_rows(s[broken], x[broken])
    rest = limits.resting_rows(s[[0, -1], [0, -1]])
    for k, end in enumerate(((0, 0), (-1, -1))):
        phi[end], slope[end] = np.maximum(phi[end], rest[k]), 0.0
    return B + slope, C - phi + slope * x[..., None]


def _checked_motion(limits: PathLimits, s: np.ndarray, x: np.ndarray, u: np.ndarray) -> Scaled:
    """Return the motion; raise `SimulationError` if it stops before the end of the path."""
    stopped = (x[:-1] <= 0.0) & (x[1:] <= 0.0)
    if stopped.any():
        where = float(s[int(np.argmax(stopped))])
        joint = limits.dyn.system.actuator_names[int(np.argmax(limits.load(where)))]
        raise SimulationError(
            f"the limits permit the path only up to t = {where:.6g} s of it; '{joint}' is closest to its limit.",
            hint="Use wider limits, or another path.",
        )
    return Scaled(limits.path, s, x, u)
