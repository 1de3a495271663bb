"""Straight-line motion of a robot's frame: position linear in time, orientation constant or interpolated (slerp).

    p(t) = p₀ + (p₁ - p₀) t/T              R(t) = R₀ exp(t/T w̃),   w = log(R₀ᵀR₁)                              (1)

so that the frame's velocity x = (ṗ, ω) = ((p₁ - p₀)/T, R₀w/T) is constant in world axes. The joints follow from it
exactly,

    v = J⁺ x                               a = J⁺(-J̇v) + (1 - J⁺J) J̇ᵀ J⁺ᵀ v                                    (2)

where J⁺ is the inverse of the Jacobian of a six-joint arm (the second term of a is then zero), or the pseudo-inverse,
which moves a redundant arm with the least joint velocity. The coordinates are computed by closed-form inverse
kinematics in one configuration if there is one (`Branch`), and otherwise by continuation from a start (`Continuation`).

`Branch` follows one configuration of a closed-form inverse along a path without jumps. Closed-form angles lie in (-π,
π], and a motion must not jump where they wrap. The path is therefore evaluated once at knots, whose intervals are
halved until no joint turns far between two of them; later results are shifted by the multiple of 2π that is nearest to
the knots around them. A jump that no halving removes is a flip: the path passes through a singularity, beyond which the
same configuration flags denote another motion.

`Continuation` follows the joints of any robot along a path from a start, by a differential equation and a correction:

    q̇ = J⁺(q) x(t)                            from a start at which the frame has its initial pose                  (3)
    q ← q + J⁺(q) (pose error)                Newton steps that remove the integration error                        (4)

A redundant arm thus moves with the least joint velocity; its final configuration follows from that. The equation is
solved once, with dense output, when the path is constructed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, ModelError, SimulationError
from appell.kinematics.inverse.numerical_solver import checked_poses, numerical
from appell.kinematics.inverse.wrist_solver import SphericalWrist, row_of, spherical_wrist
from appell.model.robot import Robot
from appell.motion.collision_check import check_margin
from appell.motion.path import QVA, Numbers, Path, checked_duration
from appell.motion.titles import path_units

LINE_KNOTS = 257  # times at which a line is evaluated and checked
SINGULAR_RATIO = 1e-6  # of the smallest to the largest singular value of the Jacobian


def check_rank(robot: Robot, frame: str, follow: Callable, t: np.ndarray, jacobian: Function) -> None:
    """Raise `SimulationError` if the Jacobian loses rank on the path, at a knot or at a minimum between knots.

    Parameters
    ----------
    robot, frame
        The robot and the name of its frame, for messages.
    follow
        Function of times (n,) that returns coordinates (n, nq).
    t
        Times of the knots, s.
    jacobian
        Jacobian of the frame.
    """
    from scipy.optimize import minimize_scalar  # imported here because it is slow

    def ratio(t):
        values = np.linalg.svd(jacobian(follow(np.atleast_1d(t))), compute_uv=False)
        return values[..., -1] / values[..., 0]

    along = ratio(t)
    inner = np.flatnonzero((along[1:-1] <= along[:-2]) & (along[1:-1] <= along[2:])) + 1
    for k in (0, *inner, len(t) - 1):
        where, value = t[k], along[k]
        if 0 < k < len(t) - 1 and value < 0.05:
            minimum = minimize_scalar(
                lambda x: float(ratio(x)[0]),
                bounds=(t[k - 1], t[k + 1]),
                method="bounded",
                options={"xatol": 1e-12 * t[-1]},
            )
            where, value = (minimum.x, minimum.fun) if minimum.fun < value else (where, value)
        if value < SINGULAR_RATIO:
            idle = np.linalg.svd(jacobian(follow(np.array([where])))[0])[2][-1]
            joint = robot.joint_names[int(np.argmax(np.abs(idle)))]
            raise SimulationError(
                f"the path of frame '{frame}' of robot '{robot.name}' is singular at t = {where:.6g} s: there joint "
                f"'{joint}' moves without moving the frame, and the velocities are unbounded.",
                hint="Use another configuration, or a different path.",
            )


def check_limits(robot: Robot, t: np.ndarray, q: np.ndarray, turning: bool = True) -> np.ndarray:
    """Return the path with joints shifted by full turns if that brings them inside their limits; raise otherwise.

    Parameters
    ----------
    robot
        The robot.
    t, q
        Times (n,) and coordinates (n, nq) of the path.
    turning
        Whether joints may be shifted by 2π.
    """
    q, limits = q.copy(), robot.limits
    for link in robot.moving:
        k = robot.span(link.joint)[0].start
        lower, upper = limits.lower[k], limits.upper[k]
        period = 2.0 * np.pi if link.joint.motion.name != "prismatic" else 0.0
        for turns in (0, 1, -1) if turning else (0,):
            shifted = q[:, k] + turns * period
            if (shifted >= lower).all() and (shifted <= upper).all():
                q[:, k] = shifted
                break
        else:
            outside = (q[:, k] < lower) | (q[:, k] > upper)
            first = int(np.argmax(outside))
            raise SimulationError(
                f"joint '{link.joint.name}' of robot '{robot.name}' leaves its limits at t = {t[first]:.6g} s, "
                f"with q = {q[first, k]:.6g}.",
                expected=f"{lower:g} ≤ q ≤ {upper:g}",
                hint="Use another configuration, or another path.",
            )
    return q


def first_failure(works: Callable[[float], bool], t: np.ndarray, failed: np.ndarray) -> float:
    """Return the earliest time at which `works` is false, by bisection between the last valid knot and the next."""
    k = int(np.argmax(failed))
    if k == 0:
        return float(t[0])
    good, bad = float(t[k - 1]), float(t[k])
    for _ in range(50):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if works(middle) else (good, middle)
    return bad


MAX_TURN_RAD = 0.3  # between knots: far below π, at which the direction of a turn is ambiguous
MIN_INTERVAL = 2.0**-40  # relative to the duration
OTHER_STARTS = 12  # configurations at the start of a line, of which one may keep a margin


class Branch:
    """Continuous coordinates q(t) in one configuration of a closed-form inverse."""

    def __init__(self, solver: SphericalWrist, path, configuration: tuple[int, ...], jacobian: Function):
        self.solver, self.path, self.row = solver, path, row_of(*configuration)
        self.t = np.linspace(0.0, path.duration, LINE_KNOTS)
        q = self._wrapped(self.t)
        self._check_reach(q)
        self.t, q = self._refine(self.t, q, configuration)
        self.q = np.unwrap(q, axis=0)
        check_rank(solver.robot, solver.frame, self, self.t, jacobian)
        self.q = check_limits(solver.robot, self.t, self.q)

    def __call__(self, t: np.ndarray) -> np.ndarray:
        near = np.stack([np.interp(t, self.t, column) for column in self.q.T], axis=-1)
        q = self._wrapped(t)
        return q + 2.0 * np.pi * np.round((near - q) / (2.0 * np.pi))

    def _wrapped(self, t: np.ndarray) -> np.ndarray:
        return self.solver.rows(self.path.pose(t))[..., self.row, :]

    def _check_reach(self, q: np.ndarray) -> None:
        unreachable = np.isnan(q).any(axis=-1)
        if not unreachable.any():
            return
        t = first_failure(lambda t: not np.isnan(self._wrapped(np.array([t]))).any(), self.t, unreachable)
        worst = self.t[unreachable][np.argmax(self.solver.shortfall(self.path.pose(self.t[unreachable])))]
        missing = float(self.solver.shortfall(self.path.pose(worst)))
        joint = self.solver.robot.joint_names[2 if missing > 0.0 else 0]
        owner = f"frame '{self.solver.frame}' of robot '{self.solver.robot.name}'"
        raise SimulationError(
            f"the line leaves the reach of {owner} at t = {t:.6g} s: joint '{joint}' has no angle for it, "
            f"and at t = {worst:.6g} s the wrist is {missing:.4g} m out of reach.",
            hint="Use a shorter line, or one nearer to the base.",
        )

    def _refine(self, t: np.ndarray, q: np.ndarray, configuration) -> tuple[np.ndarray, np.ndarray]:
        robot = self.solver.robot
        while True:
            turn = np.abs((np.diff(q, axis=0) + np.pi) % (2.0 * np.pi) - np.pi)
            wide = turn.max(axis=1) > MAX_TURN_RAD
            if not wide.any():
                return t, q
            k = int(np.argmax(np.where(wide, turn.max(axis=1), 0.0)))
            if t[k + 1] - t[k] < MIN_INTERVAL * self.path.duration:
                joint = int(np.argmax(turn[k]))
                raise SimulationError(
                    f"the line passes through a singularity of robot '{robot.name}' at t = {t[k]:.6g} s: joint "
                    f"'{robot.joint_names[joint]}' would have to flip to stay in the configuration {configuration}.",
                    hint="Use another configuration, or a different line.",
                )
            middle = 0.5 * (t[:-1] + t[1:])[wide]
            t = np.concatenate([t, middle])
            order = np.argsort(t)
            t, q = t[order], np.concatenate([q, self._wrapped(middle)])[order]


RANK_TOLERANCE = 1e-6  # relative singular value below which the robot cannot move its frame in a direction
MAX_VELOCITY_ERROR = 1e-6  # of the frame, relative to its velocity
CORRECTIONS = 3  # Newton steps of (4)
MAX_SPEED_RATIO = 1e3  # of joint speeds to the speed of the frame (at least 1): above it, the path is singular


class Continuation:
    """Coordinates q(t) of the motion that starts near a configuration."""

    def __init__(self, robot: Robot, frame: str, path, start: np.ndarray, jacobian: Function):
        self.path, self.jacobian = path, jacobian
        solver = numerical(robot, frame)
        solution = solver(path.pose(np.array(0.0)), start)
        if not solution.reached:
            raise SimulationError(f"the line starts out of reach of robot '{robot.name}' at t = 0 s: {solution}.")
        self._solver = solver
        t = np.linspace(0.0, path.duration, LINE_KNOTS)
        self._solve(robot, frame, solution.q)
        check_rank(robot, frame, self, t, jacobian)
        check_limits(robot, t, self(t), turning=False)  # the start was chosen inside the limits

    def __call__(self, t: np.ndarray) -> np.ndarray:
        q, T, solver = self._dense(t).T, self.path.pose(t), self._solver
        undamped, no_pull = np.zeros(1), np.zeros_like(q)
        for _ in range(CORRECTIONS):
            q = q + solver.step(q, undamped, no_pull, *solver.bounds, T)[0]  # (4)
        return q

    def _solve(self, robot: Robot, frame: str, start: np.ndarray) -> None:
        from scipy.integrate import solve_ivp  # imported here because it is slow

        twist = self.path.twist

        def rate(t, q):
            return np.linalg.pinv(self.jacobian(q), rcond=RANK_TOLERANCE) @ twist  # (3)

        def accuracy_margin(t, q):
            J = self.jacobian(q)
            error = J @ (np.linalg.pinv(J, rcond=RANK_TOLERANCE) @ twist) - twist
            return MAX_VELOCITY_ERROR * max(float(np.linalg.norm(twist)), 1e-300) - np.linalg.norm(error)

        accuracy_margin.terminal = True  # type: ignore[attr-defined]
        max_speed = MAX_SPEED_RATIO * max(np.abs(twist).max(), 1.0)

        def speed_margin(t, q):
            return max_speed - np.abs(rate(t, q)).max()

        speed_margin.terminal = True  # type: ignore[attr-defined]
        options = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-12, "max_step": self.path.duration / 32}
        if accuracy_margin(0.0, start) < 0.0:
            raise self._singular(robot, frame, 0.0, start)
        events = [accuracy_margin, speed_margin]
        run = solve_ivp(rate, (0.0, self.path.duration), start, dense_output=True, events=events, **options)
        if run.status != 0:
            raise self._singular(robot, frame, float(run.t[-1]), run.y[:, -1])
        self._dense = run.sol

    def _singular(self, robot: Robot, frame: str, t: float, q: np.ndarray) -> SimulationError:
        directions, _, joints = np.linalg.svd(self.jacobian(q))
        idle = robot.joint_names[int(np.argmax(np.abs(joints[-1])))]
        label = ("x", "y", "z", "about x", "about y", "about z")[int(np.argmax(np.abs(directions[:, -1])))]
        return SimulationError(
            f"the line cannot be followed beyond t = {t:.6g} s: there frame '{frame}' of robot '{robot.name}' cannot "
            f"move along {label} (world axes), and joint '{idle}' moves without moving it.",
            hint="Use another start configuration, or a different path.",
        )


def zyz(first: float, second: float, third: float) -> np.ndarray:
    """Return the rotation matrix Rz(first) Ry(second) Rz(third) of ZYZ Euler angles in degrees.

    Examples
    --------
    >>> from appell.motion import zyz
    >>> print((zyz(90.0, 0.0, 0.0) @ [1.0, 0.0, 0.0]).round(6) + 0.0)
    [0. 1. 0.]
    """
    from scipy.spatial.transform import Rotation  # imported here because it is slow

    return Rotation.from_euler("ZYZ", [first, second, third], degrees=True).as_matrix()


@dataclass(frozen=True)
class LinePath:
    """The line in space by (1)."""

    start: np.ndarray  # p₀, m
    end: np.ndarray  # p₁, m
    R: np.ndarray  # R₀
    turn: np.ndarray  # w, rotation vector in the axes of the frame at the start
    duration: float  # T, s

    def pose(self, t: np.ndarray) -> np.ndarray:
        """Return the poses at times, (*t.shape, 4, 4)."""
        from scipy.spatial.transform import Rotation

        fraction = np.asarray(t)[..., None] / self.duration
        T = np.zeros((*np.shape(t), 4, 4))
        T[..., :3, 3] = self.start + fraction * (self.end - self.start)
        T[..., :3, :3] = (
            self.R if not self.turn.any() else self.R @ Rotation.from_rotvec(fraction * self.turn).as_matrix()
        )
        T[..., 3, 3] = 1.0
        return T

    @property
    def twist(self) -> np.ndarray:
        """Velocity x = (ṗ, ω) of the frame, world axes."""
        return np.concatenate([self.end - self.start, self.R @ self.turn]) / self.duration


class CartesianLine(Path):
    """Motion of a robot's frame along a straight line at constant velocity.

    Parameters
    ----------
    robot
        A robot whose joints move about or along one axis.
    frame
        Name of the frame.
    start, end
        Positions of the frame in world coordinates, (3,), m.
    orientation
        Rotation matrix of the frame, (3, 3) (see `zyz`), or one for the start and one for the end, (2, 3, 3).
    duration
        Duration, s.
    configuration
        (shoulder, elbow, wrist), each 1 or -1, for an arm with a closed-form inverse
        (`ap.kinematics.inverse.spherical_wrist`); or coordinates (nq,) near which the motion starts, for any robot or
        to select the number of turns. None: (1, 1, 1), or the start of the robot; with a margin, also others until one
        keeps it.
    margin
        Distance in m that the collision shapes of the robot keep, as in `check_margin`. None: not checked.

    Raises
    ------
    SimulationError
        If the line leaves the reach or the joint limits of the robot, passes through a singularity, or does not keep
        the margin.

    Examples
    --------
    >>> import appell as ap
    >>> from appell.motion import CartesianLine, zyz
    >>> line = CartesianLine(ap.load("puma"), "tool", [0.4, 0.2, 0.3], [0.5, -0.2, 0.3], zyz(0, 90, 0), 2.0)
    >>> q, v, a = line([0.0, 1.0, 2.0])
    >>> q.shape
    (3, 6)
    """

    def __init__(
        self,
        robot: Robot,
        frame: str,
        start: Numbers,
        end: Numbers,
        orientation,
        duration: float,
        configuration: Numbers | None = None,
        margin: float | None = None,
    ):
        self.robot, self.frame, self.duration = robot, frame, checked_duration(duration)
        robot.frame(frame)
        for link in robot.moving:
            if link.joint.motion.nq != 1:
                raise ModelError(
                    f"joint '{link.joint.name}' of robot '{robot.name}' is {link.joint.motion.name}.",
                    expected="joints about or along one axis; fix the base of a floating robot",
                )
        self.names = robot.joint_names
        self.units = path_units(robot, self.names)
        self.path = _path(start, end, orientation, self.duration)
        dyn = Dynamics(robot)
        self._jacobian = dyn.jacobian(frame, "LOCAL_WORLD_ALIGNED")
        self._rate = dyn.jacobian_rate(frame, "LOCAL_WORLD_ALIGNED")
        self._follower = self._choose(configuration)
        if margin is not None:
            self._keep(margin, configuration is None)

    def _choose(self, configuration) -> Branch | Continuation:
        given = None if configuration is None else np.asarray(configuration, float)
        if given is not None and given.shape == (3,) and self.robot.nq != 3:
            return Branch(
                spherical_wrist(self.robot, self.frame), self.path, tuple(int(flag) for flag in given), self._jacobian
            )
        if given is not None and given.shape != (self.robot.nq,):
            raise ArgumentError(
                f"the configuration has shape {given.shape}.",
                expected=f"(shoulder, elbow, wrist), or the {self.robot.nq} coordinates of a start",
            )
        if given is None:
            try:
                solver = spherical_wrist(self.robot, self.frame)
            except ModelError:
                return Continuation(self.robot, self.frame, self.path, self.robot.start, self._jacobian)
            return Branch(solver, self.path, (1, 1, 1), self._jacobian)
        return Continuation(self.robot, self.frame, self.path, given, self._jacobian)

    def _keep(self, margin: float, may_change: bool) -> None:
        """Raise SimulationError unless the line keeps a margin, if necessary from another start."""
        try:
            return check_margin(self.robot, self, margin)
        except SimulationError:
            if not may_change:
                raise
            solver, rng = numerical(self.robot, self.frame), np.random.default_rng(0)
            poses = np.broadcast_to(self.pose(0.0), (OTHER_STARTS, 4, 4))
            solution = solver(poses, solver.random(rng, OTHER_STARTS), margin=margin)
            for start in solution.q[solution.reached]:
                try:
                    self._follower = Continuation(self.robot, self.frame, self.path, start, self._jacobian)
                    return check_margin(self.robot, self, margin)
                except SimulationError:
                    continue
            raise

    def _at(self, t: np.ndarray) -> QVA:
        q = self._follower(t)
        J = self._jacobian(q)
        inverse = np.linalg.pinv(J) if J.shape[-2] != J.shape[-1] else np.linalg.inv(J)
        v = inverse @ self.path.twist  # (2)
        Jdot = self._rate(q, v)
        a = -_times(inverse, _times(Jdot, v))
        if J.shape[-1] > 6:
            pull = _times(np.swapaxes(Jdot, -1, -2), _times(np.swapaxes(inverse, -1, -2), v))
            a = a + pull - _times(inverse, _times(J, pull))
        return q, v, a

    def pose(self, t) -> np.ndarray:
        """Return the requested pose of the frame, (*t.shape, 4, 4)."""
        return self.path.pose(np.asarray(t, float))


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return np.einsum("...ij,...j->...i", matrix, vector)


def _path(start, end, orientation, duration: float) -> LinePath:
    ends = []
    for name, point in (("start", start), ("end", end)):
        point = np.asarray(point, float)
        if point.shape != (3,) or not np.isfinite(point).all():
            raise ArgumentError(f"the {name} of the line is {point.tolist()}.", expected="three coordinates in m")
        ends.append(point)
    rotations = np.asarray(orientation, float)
    if rotations.shape not in ((3, 3), (2, 3, 3)):
        raise ArgumentError(
            f"the orientation has shape {rotations.shape}.", expected="(3, 3), or (2, 3, 3) for both ends"
        )
    T = np.tile(np.eye(4), (*rotations.shape[:-2], 1, 1))
    T[..., :3, :3] = rotations
    checked_poses(T, "orientation")
    if rotations.ndim == 2:
        return LinePath(ends[0], ends[1], rotations, np.zeros(3), duration)
    from scipy.spatial.transform import Rotation

    return LinePath(
        ends[0], ends[1], rotations[0], Rotation.from_matrix(rotations[0].T @ rotations[1]).as_rotvec(), duration
    )
