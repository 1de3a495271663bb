"""Inverse kinematics of any frame of any robot: compiled damped least-squares steps over a batch, from many starts.

All poses of a batch move together, one compiled step (`damped_step`) at a time, and leave the batch as they arrive. A
pose whose error does not halve in some steps has met a limit or a singularity that leads nowhere: it starts again from
random joints. One that has used up its starts is out of reach, or nearly so: its best attempt is carried to a minimum
of the error and returned with what it misses. Nothing is drawn but from `seed`, so that the same call gives the same
answer.

One step of damped least squares, compiled: where the frame is, what it misses, and how the joints make it good.

    e = ( Rᵀ(p* - p),  w log(RᵀR*) )         the error in the frame's own axes; w weighs rad against m      (1)
    λ = ½ |e|² damping + floor               Levenberg-Marquardt damping that fades as the error does       (2)
    Δ = z + F Jᵀ (J F Jᵀ + λ)⁻¹ (e - J z)    the step; z pulls towards a preferred posture                  (3)

F is diagonal, 1 for joints that are free and 0 for those that stand at a limit and are pushed against it; z moves only
the free ones. With λ → 0 the bracket removes of z what would move the frame: z acts in the null space. Near the goal λ
is of second order, so that convergence is quadratic wherever J has full rank.  Sugihara 2011 (damping by the error).
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

TURN_TOLERANCE = 1e-6  # what a rotation may miss in RᵀR = 1; text files round


def checked_poses(pose, name: str = "pose") -> np.ndarray:
    """The pose as an array of floats (..., 4, 4), or the first that is no pose. NaN passes: it asks for nothing."""
    T = np.asarray(pose, float)
    if T.shape[-2:] != (4, 4):
        raise ArgumentError(
            f"{name} has shape {T.shape}.", expected="4x4 matrices in the last two axes, after any batch axes"
        )
    R = T[..., :3, :3]
    miss = np.abs(np.einsum("...ki,...kj->...ij", R, R) - np.eye(3)).max(axis=(-2, -1))
    mirrored = np.einsum("...i,...i->...", R[..., 0], np.cross(R[..., 1], R[..., 2])) < 0.0
    wrong = (miss > TURN_TOLERANCE) | mirrored
    if wrong.any():
        where = tuple(int(k) for k in np.argwhere(wrong)[0])
        at = f"{name}[{', '.join(map(str, where))}]" if where else name
        kind = "mirrors" if mirrored[where] else f"misses RᵀR = 1 by {miss[where]:.3g}"
        raise ArgumentError(f"the upper left 3x3 block of {at} {kind}.", expected="a rotation matrix")
    return T


def default_frame(robot: Robot) -> str:
    """'tool' if the robot has a frame of that name, else its last link if it is a chain."""
    if "tool" in robot.frame_names:
        return "tool"
    parents = [link.parent for link in robot.links]
    ends = [link.name for link in robot.links if link.name not in parents]
    if len(ends) != 1:
        raise ModelError(
            f"robot '{robot.name}' has no frame 'tool' and {len(ends)} ends: {', '.join(ends)}.",
            hint="name the frame that is to be brought to the pose",
        )
    return ends[0]


@dataclass(frozen=True, repr=False)
class Solution:
    """Coordinates that bring a frame to its poses, or nearest to them; one entry for every pose of the batch."""

    frame: str
    q: np.ndarray  # (..., nq)
    reached: np.ndarray  # (...) whether both errors are within the tolerance
    position_error: np.ndarray  # (...) m
    rotation_error: np.ndarray  # (...) rad
    starts: np.ndarray  # (...) how many starts were tried
    steps: np.ndarray  # (...) steps of damped least squares, over all starts

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
        share = f"{missed} of {self.reached.size} poses"
        return f"frame '{self.frame}' misses {share}; pose {list(worst)}: {self.sentence(worst)}"

    def sentence(self, index: tuple[int, ...] = ()) -> str:
        """What became of one pose."""
        position, rotation = float(self.position_error[index]), float(np.degrees(self.rotation_error[index]))
        if self.reached[index]:
            return f"frame '{self.frame}' reaches the pose to {position:.2g} m and {rotation:.2g}°"
        return (
            f"frame '{self.frame}' comes no nearer to the pose than {position:.6g} m and {rotation:.6g}° "
            f"in {int(self.starts[index])} starts; q is the nearest configuration found"
        )


FLOOR = 1e-14  # keeps the system regular at a singular goal
TINY = 1e-30  # of sin²: below it the rotation vector is the sine's own


def damped_step(robot: Robot, frame: str, weight: float, lower: np.ndarray, upper: np.ndarray) -> Function:
    """(q, target, damping, pull) -> step of v, and the errors of position (m) and orientation (rad) at q."""
    place = robot.frame(frame)
    limited = [(float(lo), float(hi)) for lo, hi in zip(lower, upper, strict=True)]

    def body(q, target, damping, pull):
        tree = Tree.of(robot)
        pose, J = frame_pose(tree, place, q).matrix, frame_jacobian(tree, place, "LOCAL", q)
        linear, angular, angle = frame_error(pose, target)
        e = [*linear, *(weight * angular)]
        J = [row if k < 3 else [weight * x for x in row] for k, row in enumerate(J)]
        push = [_sum(J[k][i] * e[k] for k in range(6)) + pull[i] for i in range(robot.nv)]
        free = [_free(q, robot, i, push[i], limited[i]) for i in range(robot.nv)]
        z = [f * x for f, x in zip(free, pull, strict=True)]
        JF = [[x * f for x, f in zip(row, free, strict=True)] for row in J]
        lam = 0.5 * damping * _sum(x * x for x in e) + FLOOR  # (2)
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
    """Position error and rotation vector from pose to target, in the axes of the pose, and the angle between them."""
    back = Mat3.of(row[:3] for row in pose[:3]).T
    linear = back @ Vec3.of(target[k][3] - pose[k][3] for k in range(3))
    turn = back @ Mat3.of(row[:3] for row in target[:3])
    sine = 0.5 * axial(turn)  # sin(angle) times the axis
    square = sine.dot(sine)
    size = sqrt(square)
    angle = atan2(size, 0.5 * (turn.trace - 1.0))
    return linear, select(square - TINY, angle / select(size, size, 1.0), 1.0) * sine, angle


def _free(q, robot: Robot, i: int, push: Scalar, limits: tuple[float, float]) -> Scalar:
    """1, or 0 for a one-axis joint that stands at a limit and is pushed on."""
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


DAMPING = 0.3  # of the squared error, (2) of damped_step
STALL_STEPS = 8  # steps in which the error must halve
LONGEST_STEP = 1.0  # rad or m that a joint moves in one step
POLISH_STEPS = 200  # steps towards the nearest configuration of a pose out of reach
SETTLE_STEPS = 60  # steps towards a preferred posture


@dataclass(frozen=True)
class NumericalSolver:
    """`solver(pose)` gives a `Solution` for poses of shape (..., 4, 4)."""

    robot: Robot
    frame: str
    weight: float
    lower: np.ndarray = field(repr=False)
    upper: np.ndarray = field(repr=False)
    step: Function = field(repr=False)

    def __call__(
        self, pose, start=None, *, prefer=None, tolerance: float = 1e-10, starts: int = 40, seed: int = 0
    ) -> Solution:
        """Bring the frame to every pose.

        `start` is where the first attempt begins (the robot's home if none); `prefer` is a posture towards which the
        joints move as far as the pose leaves them free. Errors up to `tolerance` (m and rad) count as reached.
        """
        T = checked_poses(pose)
        batch = T.shape[:-2]
        q = self._given(self.robot.start if start is None else start, "start", batch)
        if not isinstance(starts, (int, np.integer)) or isinstance(starts, bool) or starts < 1:
            raise ArgumentError(f"starts is {starts!r}.", expected="a whole number, 1 or more")
        check_number("tolerance", tolerance, least=0.0, above=True)
        search = _Search(self, T.reshape(-1, 4, 4), q, tolerance, starts, np.random.default_rng(seed))
        search.run()
        search.polish()
        if prefer is not None:
            if self.robot.nq != self.robot.nv:
                raise ArgumentError(
                    f"robot '{self.robot.name}' has joints of several coordinates; prefer needs one-axis joints."
                )
            search.settle(self._given(prefer, "prefer", batch))
        return search.solution(batch)

    def _given(self, q, name: str, batch: tuple[int, ...]) -> np.ndarray:
        q = np.asarray(q, float)
        if q.shape[-1:] != (self.robot.nq,) or not np.isfinite(q).all():
            raise ArgumentError(
                f"{name} has shape {q.shape}.", expected=f"finite numbers, {self.robot.nq} in the last axis"
            )
        return np.clip(np.broadcast_to(q, (*batch, self.robot.nq)).reshape(-1, self.robot.nq), self.lower, self.upper)

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """The configuration after a step, shortened if it is wild, inside the limits."""
        longest = np.abs(step).max(axis=-1, keepdims=True, initial=LONGEST_STEP)
        return np.clip(self.robot.integrate(q, step * (LONGEST_STEP / longest)), self.lower, self.upper)

    def random(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Configurations inside the limits."""
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
    """The state of one call: the best configuration of every pose, and those still on their way."""

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
        return self._arrived(self.position, self.rotation)

    def _arrived(self, position, rotation) -> np.ndarray:
        return (position <= self.tolerance) & ((rotation <= self.tolerance) | (self.solver.weight == 0.0))

    def run(self) -> None:
        """Move all poses until each has arrived or used up its starts."""
        at = np.flatnonzero(~np.isnan(self.T).any(axis=(-2, -1)))
        q, T, age = self.first[at], self.T[at], np.zeros(len(at), int)
        mark = np.full(len(at), np.inf)
        still = np.zeros(self.solver.robot.nv)
        while len(at):
            step, position, rotation = self.solver.step(q, T, DAMPING, still)
            self.steps[at] += 1
            error = self._keep(at, q, position, rotation)
            stuck = (age == STALL_STEPS) & ~(error < 0.5 * mark)
            mark = np.where((age == 0) | (age == STALL_STEPS), error, mark)
            age = np.where(age == STALL_STEPS, 1, age + 1)
            q = self.solver.moved(q, step)
            arrived = self._arrived(position, rotation)
            lost = stuck & ~arrived
            again = lost & (self.starts[at] < self.limit)
            q[again], age[again] = self.solver.random(self.rng, int(again.sum())), 0
            self.starts[at[again]] += 1
            stay = ~arrived & (~lost | again)
            if not stay.all():
                at, q, T, age, mark = at[stay], q[stay], T[stay], age[stay], mark[stay]

    def _keep(self, at, q, position, rotation) -> np.ndarray:
        """Take what is better than the best so far; the error of every pose."""
        error = self.error(position, rotation)
        better = error < self.error(self.position[at], self.rotation[at])
        gain = at[better]
        self.q[gain], self.position[gain], self.rotation[gain] = q[better], position[better], rotation[better]
        return error

    def polish(self) -> None:
        """Carry the best attempts at poses out of reach to a minimum of the error; steps that fail are damped more."""
        at = np.flatnonzero(~self.reached & ~np.isnan(self.T).any(axis=(-2, -1)))
        T, still, damping = self.T[at], np.zeros(self.solver.robot.nv), np.full(len(at), DAMPING)
        error = self.error(self.position[at], self.rotation[at])
        for _ in range(POLISH_STEPS if len(at) else 0):
            step = self.solver.step(self.q[at], T, damping, still)[0]
            trial = self.solver.moved(self.q[at], step)
            _, position, rotation = self.solver.step(trial, T, damping, still)
            self.steps[at] += 1
            after = self._keep(at, trial, position, rotation)
            damping = np.where(after < error, damping / 3.0, np.minimum(4.0 * damping, 1e12))
            error = np.minimum(after, error)

    def settle(self, prefer: np.ndarray) -> None:
        """Move in the null space towards a posture, then home in on the pose again."""
        at = np.flatnonzero(self.reached)
        q, T, goal = self.q[at], self.T[at], prefer[at]
        for k in range(SETTLE_STEPS):
            pull = 0.3 * (goal - q) if k < SETTLE_STEPS - 10 else np.zeros_like(q)
            q = self.solver.moved(q, self.solver.step(q, T, DAMPING, pull)[0])
            self.steps[at] += 1
        _, position, rotation = self.solver.step(q, T, DAMPING, np.zeros_like(q))
        good = self._arrived(position, rotation)
        keep = at[good]
        self.q[keep], self.position[keep], self.rotation[keep] = q[good], position[good], rotation[good]

    def solution(self, batch: tuple[int, ...]) -> Solution:
        def shaped(x):
            return x.reshape((*batch, *x.shape[1:]))

        fields = (self.q, self.reached, self.position, self.rotation, self.starts, self.steps)
        return Solution(self.solver.frame, *(shaped(np.asarray(x)) for x in fields))


@lru_cache(maxsize=32)
def numerical(robot: Robot, frame: str | None = None, *, weight: float = 1.0) -> NumericalSolver:
    """The inverse kinematics of a frame ('tool', or the robot's only end).

    `weight` is the length in m that a radian counts as in the error; with weight = 0 only the position matters.
    """
    frame = default_frame(robot) if frame is None else frame
    robot.frame(frame)
    if not (np.isfinite(weight) and weight >= 0.0):
        raise ArgumentError(f"the weight of a rotation is {weight:g} m.", expected="0 or more")
    lower, upper = robot.limits.lower, robot.limits.upper
    return NumericalSolver(
        robot, frame, float(weight), lower, upper, damped_step(robot, frame, float(weight), lower, upper)
    )
