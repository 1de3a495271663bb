"""Inverse kinematics of any tree and any set of tasks: compiled damped least-squares steps on a batch, many starts.

All targets of a batch are solved together, one compiled step (`damped_step`) at a time, and leave the batch when they
converge. A sample whose error does not halve within `STALL_STEPS` steps is stuck at a limit or a singularity and
restarts from a random configuration. A sample that has used all its starts is out of reach, or nearly so: its best
attempt is refined to a minimum of the error and returned with the remaining errors. All random numbers derive from
`seed`, so that the same call gives the same result.

One compiled step of damped least squares computes the errors of all tasks, and the change of the joints:

    e = ( w Rᵀ(p* - p),  w log(RᵀR*) )       frames, in their axes; w weighs rad against m; w (c* - c) for centres   (1)
    λ = ½ |e|² damping + floor               Levenberg-Marquardt damping, which vanishes with the error              (2)
    Δ = z + F Jᵀ (J F Jᵀ + λ)⁻¹ (e - J z)    the step; z is a step towards a preferred posture                       (3)

J holds the rows of all tasks. F is diagonal, 1 for free joints and 0 for joints that are pushed against a limit; z
moves only the free ones. For λ → 0 the term -J z removes the part of z that would move the tasks: z acts in the null
space. Near the goal λ is of second order, so that convergence is quadratic wherever J has full rank.  Sugihara 2011
(damping by the error).

λ is diagonal, with one damping per priority. Priorities matter only if not all tasks can be reached. Then their levels
are refined one after the other, with λ → 0 for higher levels, which makes them constraints, and λ = ∞ for lower ones.
What a level has reached replaces its target: later levels can neither improve nor impair it.

With a margin, a sample that has converged where collision shapes are too near moves away from them in the null space
of its tasks, with z along the gradients of the distances. If this does not suffice, it restarts as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from appell.algebra.matrix import Mat3, axial
from appell.algebra.scalar import Scalar, atan2, select, sqrt
from appell.algebra.solve import LDL
from appell.algebra.vector import Vec3
from appell.compile.cache.content_hash import content_hash
from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.dynamics.margins import Margin, margin_of
from appell.errors import ArgumentError, ModelError, check_number, unknown_name
from appell.formulate.kinematics import frame_jacobian, frame_pose
from appell.formulate.tree import Tree
from appell.kinematics.tasks import ComTask, FrameTask, Task, checked_tasks, target_of
from appell.model.joints import Floating
from appell.model.robot import Robot, refuse_flexible

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
    """Configurations that bring the tasks to their targets, or closest to them; one entry per sample of the batch.

    Errors have the shape of the batch for a solver of one frame, and a last axis of tasks for a solver of a list.
    """

    tasks: tuple[Task, ...]
    q: np.ndarray  # (..., nq)
    reached: np.ndarray  # (...) whether all errors are within the tolerance
    position_error: np.ndarray  # (...) or (..., tasks), m
    rotation_error: np.ndarray  # (...) or (..., tasks), rad; 0 for a centre of mass
    starts: np.ndarray  # (...) number of starts that were tried
    steps: np.ndarray  # (...) number of steps over all starts
    slack: np.ndarray | None = None  # (...) smallest distance of collision shapes beyond its margin, m

    def __repr__(self) -> str:
        return f"<Solution {self}>"

    def __str__(self) -> str:
        if self.q.ndim == 1:
            return self.sentence()
        names = " and ".join(map(_title, self.tasks))
        if self.reached.all():
            return f"{names} reach{'es' * (len(self.tasks) == 1)} all {self.reached.size} targets"
        error = np.where(self.reached, -1.0, self.position_error.reshape(*self.reached.shape, -1).max(axis=-1))
        worst = tuple(int(k) for k in np.unravel_index(np.argmax(error), self.reached.shape))
        count = f"{int((~self.reached).sum())} of {self.reached.size} targets"
        verb = "does" if len(self.tasks) == 1 else "do"
        return f"{names} {verb} not reach {count}; sample {list(worst)}: {self.sentence(worst)}"

    def sentence(self, index: tuple[int, ...] = ()) -> str:
        """Return a sentence about the result for one sample, with the error of every task."""
        position = self.position_error[index].reshape(-1)
        rotation = np.degrees(self.rotation_error[index].reshape(-1))
        near = self.slack is not None and self.slack[index] < 0.0
        errors = []
        for task, metres, degrees in zip(self.tasks, position, rotation, strict=True):
            counts = [True, False] if isinstance(task, ComTask) else [task.position, task.rotation]
            amounts = [
                text for text, count in zip((f"{metres:.6g} m", f"{degrees:.6g}°"), counts, strict=True) if count
            ]
            verb = "reaches its target to" if self.reached[index] or near else "misses its target by"
            errors.append(f"{_title(task)} {verb} {' and '.join(amounts)}")
        starts = f" after {int(self.starts[index])} starts; q is the closest configuration"
        if near and self.slack is not None:
            errors.append(f"collision shapes are {-self.slack[index]:.3g} m nearer than their margin")
        return ", ".join(errors) + ("" if self.reached[index] else starts)


def _title(task: Task) -> str:
    return f"frame '{task.frame}'" if isinstance(task, FrameTask) else "the centre of mass"


DAMPING_FLOOR = 1e-14  # keeps the linear system regular at a singular goal
SMALL_SQUARED_SINE = 1e-30  # below it, the rotation vector is sin(angle) times the axis
UNLIMITED = 1e300  # limit of coordinates without one: the compiled step takes finite numbers
IGNORED = 1e20  # damping above which a level has no influence


def damped_step(robot: Robot, tasks: tuple[Task, ...]) -> Function:
    """Return the compiled step (3).

    Parameters
    ----------
    robot, tasks : what should reach targets

    Returns
    -------
    Function (q, damping, pull, lower, upper, *targets) -> (step of v, position errors in m, rotation errors in rad);
    with several priorities, also the present values of the targets. `damping` has one number per priority.
    """
    levels = sorted({task.priority for task in tasks})
    axes = [robot.coordinate_of(i) for i in range(robot.nv)]
    inputs: dict[str, Any] = {
        "q": robot.nq,
        "damping": len(levels),
        "pull": robot.nv,
        "lower": robot.nq,
        "upper": robot.nq,
    }
    inputs |= {f"target{k}": (4, 4) if isinstance(task, FrameTask) else 3 for k, task in enumerate(tasks)}

    def body(q, damping, pull, lower, upper, *targets):
        refuse_flexible(robot, "inverse kinematics")
        tree = Tree.of(robot)
        e: list[Scalar] = []
        J: list[list[Scalar]] = []
        level: list[int] = []  # of each row
        position, rotation, values = [], [], {}
        for k, (task, target) in enumerate(zip(tasks, targets, strict=True)):
            size, angle, rows, errors, value = _task_rows(robot, tree, task, q, target)
            position.append(size)
            rotation.append(angle)
            values[f"value{k}"] = value
            e, J, level = [*e, *errors], [*J, *rows], [*level, *[levels.index(task.priority)] * len(rows)]
        n = len(e)
        lam = []
        for i in range(len(levels)):
            square = _sum(x * x for k, x in enumerate(e) if level[k] == i)
            lam.append(0.5 * damping[i] * square + DAMPING_FLOOR)  # (2)
        if len(levels) > 1:
            counts = [select(damping[i] - IGNORED, 0.0, 1.0) for i in range(len(levels))]
            lam = [select(damping[i] - IGNORED, damping[i] * damping[i], x) for i, x in enumerate(lam)]
            e = [counts[level[k]] * x for k, x in enumerate(e)]
        push = [_sum(J[k][i] * e[k] for k in range(n)) + pull[i] for i in range(robot.nv)]
        free = [
            1.0 if axis is None else _free(q[axis], push[i], lower[axis], upper[axis]) for i, axis in enumerate(axes)
        ]
        z = [f * x for f, x in zip(free, pull, strict=True)]
        JF = [[x * f for x, f in zip(row, free, strict=True)] for row in J]
        H = [[_sum(JF[i][k] * J[j][k] for k in range(robot.nv)) for j in range(n)] for i in range(n)]
        H = [[x + lam[level[i]] if i == j else x for j, x in enumerate(row)] for i, row in enumerate(H)]
        y = LDL.of(H).solve([e[i] - _sum(J[i][k] * z[k] for k in range(robot.nv)) for i in range(n)])
        step = [z[k] + _sum(JF[i][k] * y[i] for i in range(n)) for k in range(robot.nv)]  # (3)
        return {"step": step, "position": position, "rotation": rotation} | (values if len(levels) > 1 else {})

    subject = content_hash("damped_step", robot, tasks)
    doc = "One step of damped least squares."
    return Function.of("damped_step", inputs, body, doc, robot.owner, subject=subject)


def _task_rows(robot: Robot, tree: Tree, task: Task, q, target) -> tuple[Scalar, Scalar, list, list, Any]:
    """Return position error, rotation error, weighted rows of J, weighted errors (1), and the value of the target."""
    if isinstance(task, ComTask):
        equations = Dynamics(robot).equations
        centre, A = equations.center_of_mass(q), equations.centroidal_matrix(q)
        error = Vec3.of(target) - centre
        rows = [[(task.weight / robot.mass) * x for x in row] for row in A[:3]]
        return sqrt(error.dot(error)), 0.0, rows, list(task.weight * error), list(centre)
    frame = robot.frame(task.frame)
    pose, J = frame_pose(tree, frame, q).matrix, frame_jacobian(tree, frame, "LOCAL", q)
    linear, angular, angle = frame_error(pose, target)
    weights, errors = [*[task.position] * 3, *[task.rotation] * 3], [*linear, *angular]
    rows = [[weights[k] * x for x in J[k]] for k in task.rows]
    return sqrt(linear.dot(linear)), angle, rows, [weights[k] * errors[k] for k in task.rows], pose


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


def _free(q: Scalar, push: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    """Return 1, or 0 for a one-axis joint at a limit that is pushed against it."""
    above = select(q - lower, 1.0, select(push, 1.0, 0.0))
    return above * select(upper - q, 1.0, select(-push, 1.0, 0.0))


def _sum(terms) -> Scalar:
    total: Scalar = 0.0
    for term in terms:
        total = total + term
    return total


DAMPING = 0.3  # damping of (2)
STALL_STEPS = 8  # number of steps in which the error must halve
MAX_STEP = 1.0  # rad or m that a joint moves in one step
POLISH_STEPS = 200  # number of steps towards the closest configuration for a pose out of reach
CORRECTIONS = 3  # number of Newton steps that return tasks of higher priorities to their targets
MAX_DAMPING = 1e12  # no smaller step improves the error
SETTLE_STEPS = 60  # number of steps towards a preferred posture
AVOID_STEPS, AVOID_GAIN, EXTRA_M = 20, 0.5, 0.002  # steps away from shapes; part of the distance per step; beyond it


@dataclass(frozen=True)
class NumericalSolver:
    """Numerical inverse kinematics: `solver(targets)` returns a `Solution`; made by `numerical`."""

    robot: Robot
    tasks: tuple[Task, ...]
    is_list: bool
    lower: np.ndarray = field(repr=False)
    upper: np.ndarray = field(repr=False)
    step: Function = field(repr=False)

    def __call__(
        self,
        targets,
        start=None,
        *,
        prefer=None,
        period: float | None = None,
        tolerance: float = 1e-10,
        starts: int = 40,
        seed: int = 0,
        margin: float | None = None,
    ) -> Solution:
        """Solve for configurations that bring all tasks to their targets.

        Parameters
        ----------
        targets : for one frame, poses (..., 4, 4) in the world; for a list of tasks, a mapping from the name of each
            task to its targets: poses for a frame, points (..., 3) in m for the centre of mass "com"
        start : configuration (..., nq) of the first start; the robot's home by default
        prefer : posture (..., nq) that the one-axis joints approach while the tasks hold their targets
        period : time in s in which the robot moves from `start` to the solution at most at the speed limits of its
            actuators; there is one start then. None: any motion
        tolerance : largest position error (m) and rotation error (rad) of a target that counts as reached
        starts : maximum number of starts per sample; those after the first are random
        seed : seed of the random starts
        margin : distance in m that the pairs of `robot.collision_pairs` keep in a solution that counts as reached;
            pairs that are always close (see `ap.motion.check_margin`) must only not touch. None: not checked

        Raises
        ------
        ArgumentError
            If a target is missing, has a wrong shape or is not finite, or another argument is out of range.
        """
        given = self._targets(targets)
        batch = np.broadcast_shapes(*(x.shape[: x.ndim - size] for x, size in given))
        q = self._configurations(self.robot.start if start is None else start, "start", batch)
        if not isinstance(starts, (int, np.integer)) or isinstance(starts, bool) or starts < 1:
            raise ArgumentError(f"starts is {starts!r}.", expected="an integer of at least 1")
        check_number("tolerance", tolerance, least=0.0, above=True)
        flat = [
            np.broadcast_to(x, (*batch, *x.shape[x.ndim - n :])).reshape(-1, *x.shape[x.ndim - n :]) for x, n in given
        ]
        lower, upper = self.bounds
        if period is not None:
            check_number("period", period, least=0.0, above=True)
            reach = period * self._speeds
            lower, upper = np.maximum(lower, q - reach), np.minimum(upper, q + reach)
        bounds = np.broadcast_to(lower, q.shape), np.broadcast_to(upper, q.shape)
        limit = starts if period is None else 1
        kept = None if margin is None else self._margin(margin)
        search = _Search(self, flat, q, bounds, tolerance, limit, np.random.default_rng(seed), kept)
        search.run()
        search.polish()
        if prefer is not None:
            search.settle(self._configurations(prefer, "prefer", batch))
        return search.solution(batch)

    def _margin(self, margin: float) -> Margin:
        if margin not in self._margins:
            self._margins[margin] = margin_of(self.robot, margin)
        return self._margins[margin]

    @cached_property
    def _margins(self) -> dict[float, Margin]:
        return {}

    def _targets(self, targets: Any) -> list[tuple[np.ndarray, int]]:
        """Return the targets of all tasks, and their numbers of axes."""
        names = [task.name for task in self.tasks]
        if not self.is_list and not isinstance(targets, Mapping):
            targets = {names[0]: targets}
        if not isinstance(targets, Mapping):
            raise ArgumentError(f"targets is {targets!r}.", expected=f"a mapping with targets of {', '.join(names)}")
        if extra := [name for name in targets if name not in names]:
            raise ArgumentError(unknown_name("task", str(extra[0]), names, "the solver"))
        if missing := [name for name in names if name not in targets]:
            raise ArgumentError(
                f"targets has no target of the task '{missing[0]}'.", expected=f"targets of {', '.join(names)}"
            )
        given: list[tuple[np.ndarray, int]] = []
        for task in self.tasks:
            if isinstance(task, ComTask):
                given.append((target_of(task, targets[task.name], (3,), "points (x, y, z) in m"), 1))
            else:
                pose = target_of(task, targets[task.name], (4, 4), "4x4 matrices")
                given.append((checked_poses(pose, f"the target of the task '{task.name}'"), 2))
        try:
            np.broadcast_shapes(*(x.shape[: x.ndim - size] for x, size in given))
        except ValueError:
            shapes = ", ".join(f"{name} {x.shape}" for name, (x, _) in zip(names, given, strict=True))
            raise ArgumentError(f"the batch axes of the targets do not broadcast: {shapes}.") from None
        return given

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Finite limits of q for the compiled step, (nq) each."""
        return np.maximum(self.lower, -UNLIMITED), np.minimum(self.upper, UNLIMITED)

    @cached_property
    def _speeds(self) -> np.ndarray:
        """Speed limits along q (nq), infinite for joints of several axes."""
        speeds = np.full(self.robot.nq, np.inf)
        for i, speed in enumerate(self.robot.limits.speed):
            axis = self.robot.coordinate_of(i)
            if axis is not None:
                speeds[axis] = speed
        return speeds

    def _configurations(self, q, name: str, batch: tuple[int, ...]) -> np.ndarray:
        q = np.asarray(q, float)
        if q.shape[-1:] != (self.robot.nq,) or not np.isfinite(q).all():
            raise ArgumentError(
                f"{name} has shape {q.shape} or is not finite.",
                expected=f"finite numbers, {self.robot.nq} in the last axis",
            )
        return np.clip(np.broadcast_to(q, (*batch, self.robot.nq)).reshape(-1, self.robot.nq), self.lower, self.upper)

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
    """The state of one call: the best configuration of every sample, and the samples still being solved."""

    def __init__(
        self, solver: NumericalSolver, targets, q, bounds, tolerance: float, starts: int, rng, margin: Margin | None
    ):
        self.solver, self.targets, self.bounds, self.tolerance = solver, targets, bounds, tolerance
        self.limit, self.rng, self.margin = starts, rng, margin
        n, count = len(q), len(solver.tasks)
        self.q, self.first = q.copy(), q
        self.position, self.rotation = np.full((n, count), np.inf), np.full((n, count), np.inf)
        self.best = np.full(n, np.inf)  # smallest weighted error so far
        self.starts, self.steps = np.ones(n, int), np.zeros(n, int)
        self.weights = np.array(
            [
                [task.weight, 0.0] if isinstance(task, ComTask) else [task.position, task.rotation]
                for task in solver.tasks
            ]
        )
        levels = sorted({task.priority for task in solver.tasks})
        self.level = np.array([levels.index(task.priority) for task in solver.tasks])
        self.levels = len(levels)

    def error(self, position, rotation, chosen=slice(None)):
        """Return the norm of the weighted errors of some tasks."""
        weights = self.weights[chosen]
        return np.hypot.reduce(np.hypot(weights[:, 0] * position[:, chosen], weights[:, 1] * rotation[:, chosen]), -1)

    @property
    def reached(self) -> np.ndarray:
        return self._converged(self.position, self.rotation) & (self.slack(self.q) >= 0.0)

    def slack(self, q: np.ndarray) -> np.ndarray:
        """Return the smallest distance beyond its margin of every sample; 0 without a margin."""
        return np.zeros(len(q)) if self.margin is None else self.margin.slack(q).min(axis=-1)

    def _converged(self, position, rotation) -> np.ndarray:
        position_reached = (position <= self.tolerance) | (self.weights[:, 0] == 0.0)
        return (position_reached & ((rotation <= self.tolerance) | (self.weights[:, 1] == 0.0))).all(axis=-1)

    def _step(self, q, at, targets, damping, pull=0.0):
        """Call the compiled step for the samples `at`."""
        lower, upper = (bound[at] for bound in self.bounds)
        damping = np.broadcast_to(damping, (len(q), self.levels))
        pull = np.broadcast_to(pull, (len(q), self.solver.robot.nv))
        return self.solver.step(q, damping, pull, lower, upper, *targets)

    def _moved(self, q, step, at) -> np.ndarray:
        """Return the configurations after a step, which is shortened to `MAX_STEP`, inside the bounds."""
        longest = np.abs(step).max(axis=-1, keepdims=True, initial=MAX_STEP)
        return np.clip(self.solver.robot.integrate(q, step * (MAX_STEP / longest)), *(x[at] for x in self.bounds))

    def run(self) -> None:
        """Iterate until every sample has converged or used all its starts."""
        at = np.arange(len(self.q))
        q, targets, age = self.first.copy(), self.targets, np.zeros(len(at), int)
        reference_error = np.full(len(at), np.inf)
        while len(at):
            step, position, rotation = self._step(q, at, targets, DAMPING)[:3]
            self.steps[at] += 1
            converged = free = self._converged(position, rotation)
            shortfall = 0.0
            if self.margin is not None and converged.any():
                position[converged], rotation[converged], slack = self._avoid(self.margin, q, at, targets, converged)
                shortfall, free = np.maximum(-slack, 0.0), converged & (slack >= 0.0)
            error = self._keep_better(at, q, position, rotation, shortfall)
            stuck = (age == STALL_STEPS) & ~(error < 0.5 * reference_error)
            reference_error = np.where((age == 0) | (age == STALL_STEPS), error, reference_error)
            age = np.where(age == STALL_STEPS, 1, age + 1)
            q = self._moved(q, step, at)
            failed = (stuck | converged) & ~free
            restart = failed & (self.starts[at] < self.limit)
            q[restart], age[restart] = self._restarted(at[restart]), 0
            self.starts[at[restart]] += 1
            stay = ~free & (~failed | restart)
            if not stay.all():
                at, q, age, reference_error = at[stay], q[stay], age[stay], reference_error[stay]
                targets = [x[stay] for x in targets]

    def _avoid(self, margin: Margin, q, at, targets, converged) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Move samples that have converged away from shapes that are too near, where their tasks allow it.

        q is changed in place. Returns the errors of the converged samples, and the slack of all samples.
        """
        chosen = np.flatnonzero(converged)
        some, goals = at[chosen], [x[chosen] for x in targets]
        trial, slack = q[chosen], np.zeros(len(q))
        for k in range(AVOID_STEPS + CORRECTIONS):
            gaps, pull = margin.slack(trial), 0.0
            if (gaps >= 0.0).all():
                break
            if k < AVOID_STEPS:
                J, missing = (
                    margin.slack_gradient(trial),
                    np.maximum(EXTRA_M - gaps, 0.0) * (gaps.min(1) < 0.0)[:, None],
                )
                squares = np.maximum((J * J).sum(axis=-1), 1e-12)
                pull = AVOID_GAIN * np.einsum("tk,tkj->tj", missing / squares, J)
            trial = self._moved(trial, self._step(trial, some, goals, DAMPING, pull)[0], some)
        after = self._step(trial, some, goals, DAMPING)[1:3]
        better = self._converged(*after) & (self.slack(trial) > self.slack(q[chosen]))
        q[chosen] = np.where(better[:, None], trial, q[chosen])
        slack[chosen] = self.slack(q[chosen])
        return *self._step(q[chosen], some, goals, DAMPING)[1:3], slack

    def _restarted(self, at) -> np.ndarray:
        """Return random configurations; a floating base stays where the first start has it."""
        robot = self.solver.robot
        q = self.solver.random(self.rng, len(at))
        if isinstance(robot.moving[0].joint.motion, Floating) and len(robot.moving) > 1:
            q[:, :7] = self.first[at, :7]
        return q

    def _keep_better(self, at, q, position, rotation, shortfall) -> np.ndarray:
        """Store configurations that are better than the best so far, and return the error of every sample."""
        error = self.error(position, rotation) + shortfall
        better = error < self.best[at]
        self.best[at[better]] = error[better]
        self._store(at[better], q[better], position[better], rotation[better])
        return error

    def _store(self, at, q, position, rotation) -> None:
        self.q[at], self.position[at], self.rotation[at] = q, position, rotation

    def polish(self) -> None:
        """Refine samples out of reach, one priority after the other, to a minimum of the error of its tasks.

        The damping grows after steps that do not reduce the error, or that disturb a higher priority.
        """
        at = np.flatnonzero(~self.reached)
        if not len(at):
            return
        q, targets = self.q[at], [x[at] for x in self.targets]
        for level in range(self.levels):
            refined, higher = self.level == level, self.level < level
            damping = np.full((len(at), self.levels), 0.0)
            damping[:, level], damping[:, level + 1 :] = DAMPING, 10.0 * IGNORED
            hold = np.where(np.arange(self.levels) < level, 0.0, 10.0 * IGNORED)
            _, position, rotation = self._step(q, at, targets, damping)[:3]
            error = self.error(position, rotation, refined)
            for _ in range(POLISH_STEPS):
                trial = self._moved(q, self._step(q, at, targets, damping)[0], at)
                for _ in range(CORRECTIONS if level else 0):
                    trial = self._moved(trial, self._step(trial, at, targets, hold)[0], at)
                _, position, rotation = self._step(trial, at, targets, damping)[:3]
                self.steps[at] += 1
                after = self.error(position, rotation, refined)
                better = after < error
                if level:
                    better &= self.error(position, rotation, higher) <= self.tolerance
                q[better], error = trial[better], np.where(better, after, error)
                damping[:, level] = np.where(
                    better, damping[:, level] / 3.0, np.minimum(4.0 * damping[:, level], MAX_DAMPING)
                )
                if (damping[:, level] == MAX_DAMPING).all():
                    break
            if self.levels > 1:
                values = self._step(q, at, targets, damping)[3:]
                targets = [y if new else x for x, y, new in zip(targets, values, refined, strict=True)]
        self._store(at, q, *self._step(q, at, [x[at] for x in self.targets], DAMPING)[1:3])

    def settle(self, prefer: np.ndarray) -> None:
        """Move in the null space towards a posture, then converge to the targets again."""
        at = np.flatnonzero(self.reached)
        robot, q, goal, targets = self.solver.robot, self.q[at], prefer[at], [x[at] for x in self.targets]
        one_axis = np.array([robot.coordinate_of(i) is not None for i in range(robot.nv)])
        for k in range(SETTLE_STEPS):
            pull = 0.3 * one_axis * robot.difference(q, goal) if k < SETTLE_STEPS - 10 else 0.0
            q = self._moved(q, self._step(q, at, targets, DAMPING, pull)[0], at)
            self.steps[at] += 1
        _, position, rotation = self._step(q, at, targets, DAMPING)[:3]
        good = self._converged(position, rotation) & (self.slack(q) >= 0.0)
        self._store(at[good], q[good], position[good], rotation[good])

    def solution(self, batch: tuple[int, ...]) -> Solution:
        def shaped(x):
            return x.reshape((*batch, *x.shape[1:]))

        errors = self.position, self.rotation
        if not self.solver.is_list:
            errors = self.position[:, 0], self.rotation[:, 0]
        fields = (self.q, self.reached, *errors, self.starts, self.steps, self.slack(self.q))
        solution = Solution(self.solver.tasks, *(shaped(np.asarray(x)) for x in fields))
        return solution if self.margin is not None else replace(solution, slack=None)


def numerical(
    robot: Robot, tasks: str | Task | Iterable[str | Task] | None = None, *, weight: float = 1.0
) -> NumericalSolver:
    """Return a numerical solver for the inverse kinematics of one frame or of several tasks.

    Parameters
    ----------
    robot : a tree; with elastic joints, solutions are coordinates of its links: `robot.with_relaxed_springs(q)`
    tasks : name of the frame; by default 'tool', or the last link of a chain. Or a list of tasks: names of frames,
        `FrameTask` and `ComTask`, with their weights and priorities
    weight : length in m that counts as much as 1 rad in the error of one frame; with 0 only the position matters. It
        has no influence on tasks in a list

    Returns
    -------
    A `NumericalSolver`: `solver(pose)` returns a `Solution` for poses (..., 4, 4) of one frame, and
    `solver({"left_hand": pose, "com": point})` one for targets of several tasks.

    Raises
    ------
    ModelError
        If the robot does not have a frame, or has several ends and no frame 'tool'.
    ArgumentError
        If a task or a weight is not valid.

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
    robot = robot.link_side
    is_list = tasks is not None and not isinstance(tasks, (str, FrameTask, ComTask)) and isinstance(tasks, Iterable)
    if tasks is None or isinstance(tasks, str):
        frame = default_frame(robot) if tasks is None else tasks
        robot.frame(frame)
        if not (np.isfinite(weight) and weight >= 0.0):
            raise ArgumentError(f"weight is {weight:g} m/rad.", expected="a finite number, 0 or more")
        tasks = FrameTask(frame, rotation=float(weight))
    listed: Any = tasks if is_list else [tasks]
    solver = _solver(robot, checked_tasks(robot, listed, (FrameTask, ComTask)), is_list)
    return solver if solver.robot is robot else replace(solver, robot=robot)  # equal robots may have other shapes


@lru_cache(maxsize=32)
def _solver(robot: Robot, tasks: tuple[Task, ...], is_list: bool) -> NumericalSolver:
    limits = robot.limits
    return NumericalSolver(robot, tasks, is_list, limits.lower, limits.upper, damped_step(robot, tasks))
