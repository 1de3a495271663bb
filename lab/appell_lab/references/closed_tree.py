"""Closed loops by constraint forces: a tree of links with pairs of coincident points. The reference for `Mechanism`.

This is how most simulators close a loop, and it shares no equation with the closed form. With g(q) the gaps between the
points, K = ∂ġ/∂v, and constraint forces λ, over the coordinates of the tree

    M a = Sᵀτ - h + Kᵀλ           K a = -K̇v - 2κ g̃ - κ² g,  g̃ = K v                                             (1)

The last two terms reduce integration errors with the time constant 1/κ (Baumgarte stabilisation). λ is the solution of
least norm, so rows may be redundant, as they are in spherical loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.compile.tape.trace import inline
from appell.dynamics import Dynamics
from appell.model.robot import Robot

RANK_TOLERANCE = 1e-9  # singular values below this part of the largest belong to redundant rows


class ClosedTree:
    """A tree with closed loops.

    Parameters
    ----------
    robot : the tree
    closures : pairs of frames whose origins coincide
    actuators : names of the driven joints, in the order of tau
    recovery : κ of (1), 1/s
    """

    def __init__(
        self, robot: Robot, closures: Sequence[tuple[str, str]], actuators: Sequence[str], recovery: float = 200.0
    ):
        self.dynamics = Dynamics(robot)
        self.robot = robot
        self.closures = tuple(closures)
        self.recovery = recovery
        starts = {link.joint.name: robot.span(link.joint)[1].start for link in robot.moving}
        self.selected = np.array([starts[name] for name in actuators])
        self._terms: Any = self._all_terms().bind()
        self._rate: Any = self.dynamics.coordinate_rate.bind()

    def _all_terms(self) -> Function:
        """Return the function that computes M, h, K, K̇v and the gaps in one kernel."""
        dyn, nv = self.dynamics, self.robot.nv

        def side(frame, q, v):
            pose = inline(dyn.pose(frame).tape, q)[0]
            J = inline(dyn.jacobian(frame, "LOCAL_WORLD_ALIGNED").tape, q)[0][:3]
            rate = inline(dyn.jacobian_rate(frame, "LOCAL_WORLD_ALIGNED").tape, q, v)[0][:3]
            return (
                [pose[i][3] for i in range(3)],
                J,
                [sum((r * x for r, x in zip(row, v, strict=True)), 0.0) for row in rate],
            )

        def body(q, v):
            gap, K, drift = [], [], []
            for first, second in self.closures:
                (x, J, s), (y, H, t) = side(first, q, v), side(second, q, v)
                gap += [a - b for a, b in zip(x, y, strict=True)]
                K += [[a - b for a, b in zip(r, c, strict=True)] for r, c in zip(J, H, strict=True)]
                drift += [a - b for a, b in zip(s, t, strict=True)]
            M, h = inline(dyn.mass_matrix.tape, q)[0], inline(dyn.bias.tape, q, v)[0]
            return {"M": M, "h": h, "K": K, "drift": drift, "gap": gap}

        inputs, doc = {"q": self.robot.nq, "v": nv}, "All terms of a tree with closed loops."
        return Function.of("closed_tree", inputs, body, doc, f"robot '{self.robot.name}'")

    def terms(self, q, v) -> tuple[np.ndarray, ...]:
        """Return M, h, K, K̇v and the gaps."""
        f = self._terms
        f.q[:], f.v[:] = q, v
        f()
        return f.M, f.h, f.K, f.drift, f.gap

    def forward_dynamics(self, q, v, tau, recovery: float | None = None) -> np.ndarray:
        """Return a(q, v, τ), by (1)."""
        M, h, K, drift, gap = self.terms(q, v)
        k = self.recovery if recovery is None else recovery
        net = -h
        net[self.selected] += tau
        solved = np.linalg.solve(M, np.column_stack([net, K.T]))
        free, mobility = solved[:, 0], solved[:, 1:]
        right = -drift - 2 * k * (K @ v) - k * k * gap
        return free + mobility @ np.linalg.lstsq(K @ mobility, right - K @ free, rcond=RANK_TOLERANCE)[0]

    def state_rate(self, state: np.ndarray, tau) -> np.ndarray:
        """Return d(q, v)/dt for given actuator forces."""
        q, v = state[: self.robot.nq], state[self.robot.nq :]
        self._rate.q[:], self._rate.v[:] = q, v
        self._rate()
        return np.concatenate([self._rate.rate, self.forward_dynamics(q, v, tau)])
