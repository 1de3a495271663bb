"""One configuration of a closed-form inverse followed along a path, without a jump.

Closed-form angles lie in (-π, π]; a motion must not jump where they wrap. So the path is walked once, its steps halved
until no joint turns far between two knots; a later answer takes the turn that is nearest to the knots around it. A jump
that no halving removes is a flip: the path passes through a singularity, and behind it the same flags mean another
motion.
"""

from __future__ import annotations

import numpy as np

from appell.compile.function import Function
from appell.errors import SimulationError
from appell.motion.inverse.wrist_solver import SphericalWrist, row_of
from appell.motion.paths.inspect import check_limits, check_rank, first_failure

KNOTS = 257
STEP = 0.3  # rad between knots: far below the half turn at which a step could be taken for its opposite
FINEST = 2.0**-40  # of the duration


class Branch:
    """q(t) in one configuration, continuous."""

    def __init__(self, solver: SphericalWrist, path, configuration: tuple[int, ...], jacobian: Function):
        self.solver, self.path, self.row = solver, path, row_of(*configuration)
        self.t = np.linspace(0.0, path.duration, KNOTS)
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
            wide = turn.max(axis=1) > STEP
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
