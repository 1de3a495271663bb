"""Inverse kinematics of any frame of any robot: compiled damped least-squares steps on a batch, from many starts.

All poses of a batch are solved together, one compiled step (`damped_step`) at a time, and leave the batch when they
converge. A pose whose error does not halve within `STALL_STEPS` steps is stuck at a limit or a singularity and restarts
from a random configuration. A pose that has used all its starts is out of reach, or nearly so: its best attempt is
refined to a minimum of the error and returned with the remaining error. All random numbers derive from `seed`, so that
the same call gives the same result.

One compiled step of damped least squares computes the pose of the frame, its error, and the change of the joints:

    e = ( Rᵀ(p* - p),  w log(RᵀR*) )         the error in the axes of the frame; w weighs rad against m     (1)
    λ = ½ |e|² damping + floor               Levenberg-Marquardt damping, which vanishes with the error     (2)
    Δ = z + F Jᵀ (J F Jᵀ + λ)⁻¹ (e - J z)    the step; z is a step towards a preferred posture              (3)

F is diagonal, 1 for free joints and 0 for joints that are pushed against a limit; z moves only the free ones. For λ → 0
the term -J z removes the part of z that would move the frame: z acts in the null space. Near the goal λ is of second
order, so that convergence is quadratic wherever J has full rank.  Sugihara 2011 (damping by the error).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from appell.algebra.matrix import Mat3, axial
from appell.algebra.scalar import Scalar, atan2, select, sqrt
from appell.algebra.solve import LDL
from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.errors import ArgumentError, ModelError, check_number
from appell.formulate.kinematics import frame_jacobian, frame_pose
from appell.formulate.tree import Tree
from appell.model.robot import Robot

ROTATION_TOLERANCE = 1e-6  # largest entry of RᵀR - 1; allows for rounding in text files


def checked_poses(pose, name: str = "pose") -> np.ndarray:
    """Return poses as an array (..., 4, 4); raise ArgumentError for the first that is not a pose. NaN is accepted."""
    T = np.asarray(pose, float)
    if T.shape[-2:] != (4, 4):
        raise ArgumentError(
            f"{name} has shape {T.shape}.", expected="4x4 matrices in the last two axes, after any batch axes"
        )
    R = T[..., :3, :3]
    miss = np.abs(np.einsum("...ki,...kj->...ij", R, R) - np.eye(3)).max(axis=(-2, -1))
    mirrored = np.einsum("...i,...i->...", R[..., 0], np.cross(R[..., 1], R[..., 2])) < 0.0
    wrong = (miss > ROTATION_TOLERANCE) | mirrored
    if wrong.any():
        index = tuple(int(k) for k in np.argwhere(wrong)[0])
        label = f"{name}[{', '.join(map(str, index))}]" if index else name
        fault = "is a reflection" if mirrored[index] else f"differs from RᵀR = 1 by {miss[index]:.3g}"
        raise ArgumentError(f"the upper left 3x3 block of {label} {fault}.", expected="a rotation matrix")
    return T


def default_frame(robot: Robot) -> str:
    """Return 'tool' if the robot has a frame of that name, otherwise the last link of a chain."""
    if "tool" in robot.frame_names:
        return "tool"
    parents = [link.parent for link in robot.links]
    ends = [link.name for link in robot.links if link.name not in parents]
    if len(ends) != 1:
        raise ModelError(
            f"robot '{robot.name}' has no frame 'tool' and {len(ends)} ends: {', '.join(ends)}.",
            hint="Pass the name of the frame that is to reach the pose.",
        )
    return ends[0]


@dataclass(frozen=True, repr=False)
class Solution:
    """Configurations that bring a frame to its poses, or closest to them; one entry per pose of the batch."""

    frame: str
    q: np.ndarray  # (..., nq)
    reached: np.ndarray  # (...) whether both errors are within the tolerance
    position_error: np.ndarray  # (...) m
    rotation_error: np.ndarray  # (...) rad
    starts: np.ndarray  # (...) number of starts that were tried
    steps: np.ndarray  # (...) number of steps over all starts

    def __repr__(self) -> str:
        return f"<Solution {self}>"

    def __str__(self) -> str:
        if self.reached.all():
            return (
                f"frame '{self.frame}' reaches {'its pose' if self.q.ndim == 1 else f'all {self.reached.size} poses'}"
            )
        if self.q.ndim == 1:
            return self.sentence()
        missed = int((~self.reached).sum())
        worst = tuple(int(k) for k in np.unravel_index(np.argmax(self.position_error), self.reached.shape))
        count = f"{missed} of {self.reached.size} poses"
        return f"frame '{self.frame}' does not reach {count}; pose {list(worst)}: {self.sentence(worst)}"

    def sentence(self, index: tuple[int, ...] = ()) -> str:
        """Return a sentence about the result for one pose."""
        position, rotation = float(self.position_error[index]), float(np.degrees(self.rotation_error[index]))
        if self.reached[index]:
            return f"frame '{self.frame}' reaches the pose to {position:.2g} m and {rotation:.2g}°"
        return (
            f"frame '{self.frame}' misses the pose by {position:.6g} m and {rotation:.6g}° "
            f"after {int(self.starts[index])} starts; q is the closest configuration"
        )


DAMPING_FLOOR = 1e-14  # keeps the linear system regular at a singular goal
SMALL_SQUARED_SINE = 1e-30  # below it, the rotation vector is sin(angle) times the axis


def damped_step(robot: Robot, frame: str, weight: float, lower: np.ndarray, upper: np.ndarray) -> Function:
    """Return the compiled step (3).

    Parameters
    ----------
    robot, frame : the frame that is to reach a pose
    weight : w of (1), m/rad
    lower, upper : limits of the joints (nq,)

    Returns
    -------
    Function (q, target, damping, pull) -> (step of v, position error in m, rotation error in rad).
    """
    frame_on_link = robot.frame(frame)
    limited = [(float(lo), float(hi)) for lo, hi in zip(lower, upper, strict=True)]

    def body(q, target, damping, pull):
        tree = Tree.of(robot)
        pose, J = frame_pose(tree, frame_on_link, q).matrix, frame_jacobian(tree, frame_on_link, "LOCAL", q)
        linear, angular, angle = frame_error(pose, target)
        e = [*linear, *(weight * angular)]
        J = [row if k < 3 else [weight * x for x in row] for k, row in enumerate(J)]
        push = [_sum(J[k][i] * e[k] for k in range(6)) + pull[i] for i in range(robot.nv)]
        free = [_free(q, robot, i, push[i], limited[i]) for i in range(robot.nv)]
        z = [f * x for f, x in zip(free, pull, strict=True)]
        JF = [[x * f for x, f in zip(row, free, strict=True)] for row in J]
        lam = 0.5 * damping * _sum(x * x for x in e) + DAMPING_FLOOR  # (2)
        H = [[_sum(JF[i][k] * J[j][k] for k in range(robot.nv)) for j in range(6)] for i in range(6)]
        H = [[x + lam if i == j else x for j, x in enumerate(row)] for i, row in enumerate(H)]
        y = LDL.of(H).solve([e[i] - _sum(J[i][k] * z[k] for k in range(robot.nv)) for i in range(6)])
        step = [z[k] + _sum(JF[i][k] * y[i] for i in range(6)) for k in range(robot.nv)]  # (3)
        return {"step": step, "position": sqrt(linear.dot(linear)), "rotation": angle}

    inputs = {"q": robot.nq, "target": (4, 4), "damping": (), "pull": robot.nv}
    return Function.of(
        f"damped_step_{frame}", inputs, body, "One step of damped least squares.", f"robot '{robot.name}'"
    )


def frame_error(pose, target) -> tuple[Vec3, Vec3, Scalar]:
    """Return position error and rotation vector from pose to target, in the axes of the pose, and the angle."""
    transpose = Mat3.of(row[:3] for row in pose[:3]).T
    linear = transpose @ Vec3.of(target[k][3] - pose[k][3] for k in range(3))
    rotation = transpose @ Mat3.of(row[:3] for row in target[:3])
    sine = 0.5 * axial(rotation)  # sin(angle) times the axis
    square = sine.dot(sine)
    size = sqrt(square)
    angle = atan2(size, 0.5 * (rotation.trace - 1.0))
    return linear, select(square - SMALL_SQUARED_SINE, angle / select(size, size, 1.0), 1.0) * sine, angle


def _free(q, robot: Robot, i: int, push: Scalar, limits: tuple[float, float]) -> Scalar:
    """Return 1, or 0 for a one-axis joint at a limit that is pushed against it."""
    if robot.nq != robot.nv or not np.isfinite(limits).any():
        return 1.0
    lower, upper = limits
    above = select(q[i] - lower, 1.0, select(push, 1.0, 0.0)) if np.isfinite(lower) else 1.0
    below = select(upper - q[i], 1.0, select(-push, 1.0, 0.0)) if np.isfinite(upper) else 1.0
    return above * below


def _sum(terms) -> Scalar:
    total: Scalar = 0.0
    for term in terms:
        total = total + term
    return total


DAMPING = 0.3  # damping of (2)
STALL_STEPS = 8  # number of steps in which the error must halve
MAX_STEP = 1.0  # rad or m that a joint moves in one step
POLISH_STEPS = 200  # number of steps towards the closest configuration for a pose out of reach
SETTLE_STEPS = 60  # number of steps towards a preferred posture


@dataclass(frozen=True)
class NumericalSolver:
    """Numerical inverse kinematics of one frame: `solver(pose)` returns a `Solution`; made by `numerical`."""

    robot: Robot
    frame: str
    weight: float
    lower: np.ndarray = field(repr=False)
    upper: np.ndarray = field(repr=False)
    step: Function = field(repr=False)

    def __call__(
        self, pose, start=None, *, prefer=None, tolerance: float = 1e-10, starts: int = 40, seed: int = 0
    ) -> Solution:
        """Solve for configurations that bring the frame to every pose.

        Parameters
        ----------
        pose : poses (..., 4, 4) of the frame in the world
        start : configuration (..., nq) of the first start; the robot's home by default
        prefer : posture (..., nq) that a redundant robot approaches while it holds the pose; one-axis joints only
        tolerance : largest position error (m) and rotation error (rad) of a pose that counts as reached
        starts : maximum number of starts per pose; those after the first are random
        seed : seed of the random starts
        """
        T = checked_poses(pose)
        batch = T.shape[:-2]
        q = self._configurations(self.robot.start if start is None else start, "start", batch)
        if not isinstance(starts, (int, np.integer)) or isinstance(starts, bool) or starts < 1:
            raise ArgumentError(f"starts is {starts!r}.", expected="an integer of at least 1")
        check_number("tolerance", tolerance, least=0.0, above=True)
        search = _Search(self, T.reshape(-1, 4, 4), q, tolerance, starts, np.random.default_rng(seed))
        search.run()
        search.polish()
        if prefer is not None:
            if self.robot.nq != self.robot.nv:
                raise ArgumentError(
                    f"prefer= requires one-axis joints, but robot '{self.robot.name}' has joints with "
                    "several coordinates."
                )
            search.settle(self._configurations(prefer, "prefer", batch))
        return search.solution(batch)

    def _configurations(self, q, name: str, batch: tuple[int, ...]) -> np.ndarray:
        q = np.asarray(q, float)
        if q.shape[-1:] != (self.robot.nq,) or not np.isfinite(q).all():
            raise ArgumentError(
                f"{name} has shape {q.shape} or is not finite.",
                expected=f"finite numbers, {self.robot.nq} in the last axis",
            )
        return np.clip(np.broadcast_to(q, (*batch, self.robot.nq)).reshape(-1, self.robot.nq), self.lower, self.upper)

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return the configuration after a step, which is shortened to `MAX_STEP`, inside the limits."""
        longest = np.abs(step).max(axis=-1, keepdims=True, initial=MAX_STEP)
        return np.clip(self.robot.integrate(q, step * (MAX_STEP / longest)), self.lower, self.upper)

    def random(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Return `count` random configurations inside the limits, (count, nq)."""
        if self.robot.nq != self.robot.nv:
            return np.array([self.robot.random_configuration(rng) for _ in range(count)]).reshape(count, self.robot.nq)
        free = ~(np.isfinite(self.lower) & np.isfinite(self.upper))
        angular = np.array([link.joint.motion.name != "prismatic" for link in self.robot.moving])
        width = np.where(angular, np.pi, 1.0)
        low = np.where(free, np.where(np.isfinite(self.lower), self.lower, -width), self.lower)
        high = np.where(
            free, np.where(np.isfinite(self.upper), self.upper, np.maximum(low, -width) + 2 * width), self.upper
        )
        return rng.uniform(low, high, (count, self.robot.nq))


class _Search:
    """The state of one call: the best configuration of every pose, and the poses still being solved."""

    def __init__(self, solver: NumericalSolver, T, q, tolerance: float, starts: int, rng):
        self.solver, self.T, self.tolerance, self.limit, self.rng = solver, T, tolerance, starts, rng
        n = len(T)
        self.q, self.first = q.copy(), q
        self.position, self.rotation = np.full(n, np.inf), np.full(n, np.inf)
        self.starts, self.steps = np.ones(n, int), np.zeros(n, int)

    def error(self, position, rotation):
        return np.hypot(position, self.solver.weight * rotation) if self.solver.weight else position

    @property
    def reached(self) -> np.ndarray:
        return self._converged(self.position, self.rotation)

    def _converged(self, position, rotation) -> np.ndarray:
        return (position <= self.tolerance) & ((rotation <= self.tolerance) | (self.solver.weight == 0.0))

    def run(self) -> None:
        """Iterate until every pose has converged or used all its starts."""
        at = np.flatnonzero(~np.isnan(self.T).any(axis=(-2, -1)))
        q, T, age = self.first[at], self.T[at], np.zeros(len(at), int)
        reference_error = np.full(len(at), np.inf)
        no_pull = np.zeros(self.solver.robot.nv)
        while len(at):
            step, position, rotation = self.solver.step(q, T, DAMPING, no_pull)
            self.steps[at] += 1
            error = self._keep_better(at, q, position, rotation)
            stuck = (age == STALL_STEPS) & ~(error < 0.5 * reference_error)
            reference_error = np.where((age == 0) | (age == STALL_STEPS), error, reference_error)
            age = np.where(age == STALL_STEPS, 1, age + 1)
            q = self.solver.moved(q, step)
            converged = self._converged(position, rotation)
            failed = stuck & ~converged
            restart = failed & (self.starts[at] < self.limit)
            q[restart], age[restart] = self.solver.random(self.rng, int(restart.sum())), 0
            self.starts[at[restart]] += 1
            stay = ~converged & (~failed | restart)
            if not stay.all():
                at, q, T, age, reference_error = at[stay], q[stay], T[stay], age[stay], reference_error[stay]

    def _keep_better(self, at, q, position, rotation) -> np.ndarray:
        """Store configurations that are better than the best so far, and return the error of every pose."""
        error = self.error(position, rotation)
        better = error < self.error(self.position[at], self.rotation[at])
        improved = at[better]
        self.q[improved], self.position[improved], self.rotation[improved] = (
            q[better],
            position[better],
            rotation[better],
        )
        return error

    def polish(self) -> None:
        """Refine poses out of reach to a minimum of the error; the damping grows after steps that do not improve it."""
        at = np.flatnonzero(~self.reached & ~np.isnan(self.T).any(axis=(-2, -1)))
        T, no_pull, damping = self.T[at], np.zeros(self.solver.robot.nv), np.full(len(at), DAMPING)
        error = self.error(self.position[at], self.rotation[at])
        for _ in range(POLISH_STEPS if len(at) else 0):
            step = self.solver.step(self.q[at], T, damping, no_pull)[0]
            trial = self.solver.moved(self.q[at], step)
            _, position, rotation = self.solver.step(trial, T, damping, no_pull)
            self.steps[at] += 1
            after = self._keep_better(at, trial, position, rotation)
            damping = np.where(after < error, damping / 3.0, np.minimum(4.0 * damping, 1e12))
            error = np.minimum(after, error)

    def settle(self, prefer: np.ndarray) -> None:
        """Move in the null space towards a posture, then converge to the pose again."""
        at = np.flatnonzero(self.reached)
        q, T, goal = self.q[at], self.T[at], prefer[at]
        for k in range(SETTLE_STEPS):
            pull = 0.3 * (goal - q) if k < SETTLE_STEPS - 10 else np.zeros_like(q)
            q = self.solver.moved(q, self.solver.step(q, T, DAMPING, pull)[0])
            self.steps[at] += 1
        _, position, rotation = self.solver.step(q, T, DAMPING, np.zeros_like(q))
        good = self._converged(position, rotation)
        kept = at[good]
        self.q[kept], self.position[kept], self.rotation[kept] = q[good], position[good], rotation[good]

    def solution(self, batch: tuple[int, ...]) -> Solution:
        def shaped(x):
            return x.reshape((*batch, *x.shape[1:]))

        fields = (self.q, self.reached, self.position, self.rotation, self.starts, self.steps)
        return Solution(self.solver.frame, *(shaped(np.asarray(x)) for x in fields))


def numerical(robot: Robot, frame: str | None = None, *, weight: float = 1.0) -> NumericalSolver:
    """Return a numerical solver for the inverse kinematics of a frame.

    Parameters
    ----------
    robot : a tree
    frame : name of the frame; by default 'tool', or the last link of a chain
    weight : length in m that counts as much as 1 rad in the error; with 0 only the position matters

    Returns
    -------
    A `NumericalSolver`: `solver(pose)` returns a `Solution` for poses (..., 4, 4).

    Raises
    ------
    ModelError
        If the robot does not have the frame, or has several ends and no frame 'tool'.

    Examples
    --------
    >>> import appell as ap
    >>> puma = ap.load("puma")
    >>> q = [0.3, -0.5, 0.4, 0.2, 0.6, -0.1]
    >>> pose = ap.Dynamics(puma).pose("tool")(q)
    >>> solver = ap.kinematics.inverse.numerical(puma)
    >>> solver(pose, start=[0.0] * 6).q.round(6)
    array([ 0.3, -0.5,  0.4,  0.2,  0.6, -0.1])
    """
    frame = default_frame(robot) if frame is None else frame
    if not isinstance(frame, str):
        raise ArgumentError(
            f"frame is {frame!r}.", expected="the name of one frame", hint="Call numerical once per frame."
        )
    robot.frame(frame)
    if not (np.isfinite(weight) and weight >= 0.0):
        raise ArgumentError(f"weight is {weight:g} m/rad.", expected="a finite number, 0 or more")
    return _solver(robot, frame, float(weight))


@lru_cache(maxsize=32)
def _solver(robot: Robot, frame: str, weight: float) -> NumericalSolver:
    lower, upper = robot.limits.lower, robot.limits.upper
    return NumericalSolver(robot, frame, weight, lower, upper, damped_step(robot, frame, weight, lower, upper))
