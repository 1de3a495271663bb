"""A straight line of a robot's frame, as in the papers: position linear in time, orientation constant or slerped.

    p(t) = p₀ + (p₁ - p₀) t/T              R(t) = R₀ exp(t/T w̃),   w = log(R₀ᵀR₁)                              (1)

so that the frame's velocity x = (ṗ, ω) = ((p₁ - p₀)/T, R₀w/T) is constant in world axes. The joints follow from it
exactly,

    v = J⁺ x                               a = J⁺(-J̇v) + (1 - J⁺J) J̇ᵀ J⁺ᵀ v                                    (2)

where J⁺ is the inverse of the Jacobian of a six-joint arm (the second term of a is then zero), or the pseudo-inverse,
which moves a redundant arm with the least joint velocity. The coordinates themselves come from closed-form inverse
kinematics in one configuration where there is one (`Branch`), and otherwise by following the path from a start
(`Continuation`).

`Branch` follows one configuration of a closed-form inverse along a path, without a jump. Closed-form angles lie in (-π,
π]; a motion must not jump where they wrap. So the path is walked once, its steps halved until no joint turns far
between two knots; a later answer takes the turn that is nearest to the knots around it. A jump that no halving removes
is a flip: the path passes through a singularity, and behind it the same flags mean another motion.

`Continuation` follows the joints of any robot along a path from a start, by its differential equation and a correction.

    q̇ = J⁺(q) x(t)                            from a start at which the frame is in place                           (3)
    q ← q + J⁺(q) (pose error)                Newton steps that take away what integration left over                (4)

A redundant arm so moves with the least joint velocity, and ends where that leads it. The equation is solved once, with
dense output, when the path is made.
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
from appell.motion.path import QVA, Numbers, Path, checked_duration

LINE_KNOTS = 257  # at which a line is followed
SINGULAR = 1e-6  # smallest to largest singular value of the Jacobian


def check_rank(robot: Robot, frame: str, follow: Callable, t: np.ndarray, jacobian: Function) -> None:
    """Raise if the Jacobian loses rank on the path: at a knot, or at a minimum between knots."""
    from scipy.optimize import minimize_scalar  # slow to import, and seldom wanted

    def rank(t):
        values = np.linalg.svd(jacobian(follow(np.atleast_1d(t))), compute_uv=False)
        return values[..., -1] / values[..., 0]

    along = rank(t)
    inner = np.flatnonzero((along[1:-1] <= along[:-2]) & (along[1:-1] <= along[2:])) + 1
    for k in (0, *inner, len(t) - 1):
        where, value = t[k], along[k]
        if 0 < k < len(t) - 1 and value < 0.05:
            found = minimize_scalar(
                lambda x: float(rank(x)[0]),
                bounds=(t[k - 1], t[k + 1]),
                method="bounded",
                options={"xatol": 1e-12 * t[-1]},
            )
            where, value = (found.x, found.fun) if found.fun < value else (where, value)
        if value < SINGULAR:
            idle = np.linalg.svd(jacobian(follow(np.array([where])))[0])[2][-1]
            joint = robot.joint_names[int(np.argmax(np.abs(idle)))]
            raise SimulationError(
                f"the path of frame '{frame}' of robot '{robot.name}' is singular at t = {where:.6g} s: there joint "
                f"'{joint}' moves without moving the frame, and the velocities have no bound.",
                hint="another configuration, or a path beside this one",
            )


def check_limits(robot: Robot, t: np.ndarray, q: np.ndarray, turning: bool = True) -> np.ndarray:
    """The path, with joints turned by whole turns if that brings them inside their limits; an error if nothing does."""
    q, limits = q.copy(), robot.limits
    for link in robot.moving:
        k = robot.span(link.joint)[0].start
        lower, upper = limits.lower[k], limits.upper[k]
        period = 2.0 * np.pi if link.joint.motion.name != "prismatic" else 0.0
        for turns in (0, 1, -1) if turning else (0,):
            moved = q[:, k] + turns * period
            if (moved >= lower).all() and (moved <= upper).all():
                q[:, k] = moved
                break
        else:
            outside = (q[:, k] < lower) | (q[:, k] > upper)
            first = int(np.argmax(outside))
            raise SimulationError(
                f"joint '{link.joint.name}' of robot '{robot.name}' leaves its limits at t = {t[first]:.6g} s, "
                f"with q = {q[first, k]:.6g}.",
                expected=f"{lower:g} ≤ q ≤ {upper:g}",
                hint="another configuration, or another path",
            )
    return q


def first_failure(works: Callable[[float], bool], t: np.ndarray, failed: np.ndarray) -> float:
    """The earliest time at which `works` fails, by halving between the last knot that works and the next."""
    k = int(np.argmax(failed))
    if k == 0:
        return float(t[0])
    good, bad = float(t[k - 1]), float(t[k])
    for _ in range(50):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if works(middle) else (good, middle)
    return bad


LONGEST_TURN = 0.3  # rad between knots: far below the half turn at which a step could be taken for its opposite
FINEST = 2.0**-40  # of the duration


class Branch:
    """q(t) in one configuration, continuous."""

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
        lost = np.isnan(q).any(axis=-1)
        if not lost.any():
            return
        t = first_failure(lambda t: not np.isnan(self._wrapped(np.array([t]))).any(), self.t, lost)
        worst = self.t[lost][np.argmax(self.solver.shortfall(self.path.pose(self.t[lost])))]
        missing = float(self.solver.shortfall(self.path.pose(worst)))
        joint = self.solver.robot.joint_names[2 if missing > 0.0 else 0]
        who = f"frame '{self.solver.frame}' of robot '{self.solver.robot.name}'"
        raise SimulationError(
            f"the line leaves the reach of {who} at t = {t:.6g} s: joint '{joint}' has no angle for it, "
            f"and at t = {worst:.6g} s the wrist is {missing:.4g} m out of reach.",
            hint="a shorter line, or one nearer to the base",
        )

    def _refine(self, t: np.ndarray, q: np.ndarray, configuration) -> tuple[np.ndarray, np.ndarray]:
        robot = self.solver.robot
        while True:
            turn = np.abs((np.diff(q, axis=0) + np.pi) % (2.0 * np.pi) - np.pi)
            wide = turn.max(axis=1) > LONGEST_TURN
            if not wide.any():
                return t, q
            k = int(np.argmax(np.where(wide, turn.max(axis=1), 0.0)))
            if t[k + 1] - t[k] < FINEST * self.path.duration:
                joint = int(np.argmax(turn[k]))
                raise SimulationError(
                    f"the line passes through a singularity of robot '{robot.name}' at t = {t[k]:.6g} s: joint "
                    f"'{robot.joint_names[joint]}' would have to flip to stay in the configuration {configuration}.",
                    hint="another configuration, or a line beside this one",
                )
            middle = 0.5 * (t[:-1] + t[1:])[wide]
            t = np.concatenate([t, middle])
            order = np.argsort(t)
            t, q = t[order], np.concatenate([q, self._wrapped(middle)])[order]


RANK = 1e-6  # relative singular values below it are a direction in which the robot cannot move its frame
SLIP = 1e-6  # m/s or rad/s that the frame may miss of its velocity, relative to it
CORRECTIONS = 3


class Continuation:
    """q(t) of the motion that starts near a configuration."""

    def __init__(self, robot: Robot, frame: str, path, start: np.ndarray, jacobian: Function):
        self.path, self.jacobian = path, jacobian
        solver = numerical(robot, frame)
        found = solver(path.pose(np.array(0.0)), start)
        if not found.reached:
            raise SimulationError(f"the line starts out of reach of robot '{robot.name}' at t = 0 s: {found}.")
        self._step = solver.step
        t = np.linspace(0.0, path.duration, LINE_KNOTS)
        self._solve(robot, frame, found.q)
        check_rank(robot, frame, self, t, jacobian)
        check_limits(robot, t, self(t), turning=False)  # the start was chosen inside them

    def __call__(self, t: np.ndarray) -> np.ndarray:
        q, T = self._dense(t).T, self.path.pose(t)
        still = np.zeros_like(q)
        for _ in range(CORRECTIONS):
            q = q + self._step(q, T, 0.0, still)[0]  # (4)
        return q

    def _solve(self, robot: Robot, frame: str, start: np.ndarray) -> None:
        from scipy.integrate import solve_ivp  # slow to import, and seldom wanted

        twist = self.path.twist

        def rate(t, q):
            return np.linalg.pinv(self.jacobian(q), rcond=RANK) @ twist  # (3)

        def slip(t, q):
            J = self.jacobian(q)
            left = J @ (np.linalg.pinv(J, rcond=RANK) @ twist) - twist
            return SLIP * max(float(np.linalg.norm(twist)), 1e-300) - np.linalg.norm(left)

        slip.terminal = True  # type: ignore[attr-defined]
        fastest = 1e3 * max(np.abs(twist).max(), 1.0)

        def wild(t, q):
            return fastest - np.abs(rate(t, q)).max()

        wild.terminal = True  # type: ignore[attr-defined]
        options = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-12, "max_step": self.path.duration / 32}
        if slip(0.0, start) < 0.0:
            raise self._stuck(robot, frame, 0.0, start)
        run = solve_ivp(rate, (0.0, self.path.duration), start, dense_output=True, events=[slip, wild], **options)
        if run.status != 0:
            raise self._stuck(robot, frame, float(run.t[-1]), run.y[:, -1])
        self._dense = run.sol

    def _stuck(self, robot: Robot, frame: str, t: float, q: np.ndarray) -> SimulationError:
        directions, _, joints = np.linalg.svd(self.jacobian(q))
        idle = robot.joint_names[int(np.argmax(np.abs(joints[-1])))]
        label = ("x", "y", "z", "about x", "about y", "about z")[int(np.argmax(np.abs(directions[:, -1])))]
        return SimulationError(
            f"the line cannot be followed beyond t = {t:.6g} s: there frame '{frame}' of robot '{robot.name}' cannot "
            f"move along {label} (world axes), and joint '{idle}' moves without moving it.",
            hint="another start configuration, or a path beside this one",
        )


def zyz(first: float, second: float, third: float) -> np.ndarray:
    """The rotation Rz(first) Ry(second) Rz(third), angles in degrees, as the papers give orientations."""
    from scipy.spatial.transform import Rotation  # slow to import, and seldom wanted

    return Rotation.from_euler("ZYZ", [first, second, third], degrees=True).as_matrix()


@dataclass(frozen=True)
class LinePath:
    """The line in space: equation (1)."""

    start: np.ndarray
    end: np.ndarray
    R: np.ndarray
    turn: np.ndarray  # w, in the axes of the frame at the start
    duration: float

    def pose(self, t: np.ndarray) -> np.ndarray:
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
        return np.concatenate([self.end - self.start, self.R @ self.turn]) / self.duration


class CartesianLine(Path):
    """A frame of a robot moves along a straight line at constant velocity.

    `orientation` is a 3x3 rotation for the whole line (see `zyz`), or a pair of them for start and end. `configuration`
    is (shoulder, elbow, wrist), each 1 or -1, for an arm that `motion.inverse.spherical_wrist` knows; for any other
    robot, or to choose a winding, it is a q near which the motion starts.
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
    ):
        self.robot, self.frame, self.duration = robot, frame, checked_duration(duration)
        robot.frame(frame)
        for link in robot.moving:
            if link.joint.motion.nq != 1:
                raise ModelError(
                    f"joint '{link.joint.name}' of robot '{robot.name}' is {link.joint.motion.name}.",
                    expected="joints about or along one axis; fix the base to follow a line with an arm",
                )
        self.names = robot.joint_names
        self.path = _path(start, end, orientation, self.duration)
        dyn = Dynamics(robot)
        self._jacobian = dyn.jacobian(frame, "LOCAL_WORLD_ALIGNED")
        self._rate = dyn.jacobian_rate(frame, "LOCAL_WORLD_ALIGNED")
        self._follower = self._choose(configuration)

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
        """The pose that the frame is meant to have, (..., 4, 4)."""
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
    turns = np.asarray(orientation, float)
    if turns.shape not in ((3, 3), (2, 3, 3)):
        raise ArgumentError(f"the orientation has shape {turns.shape}.", expected="a 3x3 rotation, or one for each end")
    T = np.tile(np.eye(4), (*turns.shape[:-2], 1, 1))
    T[..., :3, :3] = turns
    checked_poses(T, "orientation")
    if turns.ndim == 2:
        return LinePath(ends[0], ends[1], turns, np.zeros(3), duration)
    from scipy.spatial.transform import Rotation

    return LinePath(ends[0], ends[1], turns[0], Rotation.from_matrix(turns[0].T @ turns[1]).as_rotvec(), duration)
