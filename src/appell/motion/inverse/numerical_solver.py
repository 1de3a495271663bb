"""Inverse kinematics of any frame of any robot: compiled damped least-squares steps over a batch, from many starts.

All poses of a batch move together, one compiled step (`damped_step`) at a time, and leave the batch as they arrive. A
pose whose error does not halve in some steps has met a limit or a singularity that leads nowhere: it starts again from
random joints. One that has used up its starts is out of reach, or nearly so: its best attempt is carried to a minimum
of the error and returned with what it misses. Nothing is drawn but from `seed`, so that the same call gives the same
answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from appell.compile.function import Function
from appell.errors import ArgumentError
from appell.model.robot import Robot
from appell.motion.inverse.damping import damped_step
from appell.motion.inverse.poses import checked_poses, default_frame
from appell.motion.inverse.solution import Solution

DAMPING = 0.3  # of the squared error, (2) of damped_step
PATIENCE = 8  # steps in which the error must halve
LONGEST = 1.0  # rad or m that a joint moves in one step
POLISH = 200  # steps towards the nearest configuration of a pose out of reach
SETTLE = 60  # steps towards a preferred posture


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
        if starts < 1 or not tolerance > 0.0:
            raise ArgumentError(f"starts is {starts} and tolerance {tolerance:g}.", expected="1 or more, and above 0")
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
        longest = np.abs(step).max(axis=-1, keepdims=True, initial=LONGEST)
        return np.clip(self.robot.integrate(q, step * (LONGEST / longest)), self.lower, self.upper)

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
            stuck = (age == PATIENCE) & ~(error < 0.5 * mark)
            mark = np.where((age == 0) | (age == PATIENCE), error, mark)
            age = np.where(age == PATIENCE, 1, age + 1)
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
        for _ in range(POLISH if len(at) else 0):
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
        for k in range(SETTLE):
            pull = 0.3 * (goal - q) if k < SETTLE - 10 else np.zeros_like(q)
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
