"""Holding a system near a steady motion by linear feedback, with the gains that cost least.

    τ = τ₀ - K x        x = (ξ, v - v₀)        min ∫ xᵀQx + δτᵀR δτ dt   by Riccati's equation                  (1)

x is measured from a point that moves on with the velocity at which the system was linearised: at rest it stands still,
a wheel keeps rolling. Only states that count are fed back; the others (how far a bicycle has come) are left alone, and
must not act on those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, solve_continuous_are

from appell.control.directions import deviation
from appell.control.linear import LinearSystem
from appell.control.rollout_laws import regulator_law
from appell.errors import ArgumentError
from appell.simulation.rollouts.laws import KernelLaw


@dataclass(frozen=True)
class Regulator:
    """A torque for `simulate`: a function of (t, q, v)."""

    linear: LinearSystem  # of the states that are fed back
    K: np.ndarray  # (inputs, states)
    places: tuple[int, ...]  # of these states among all

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        point = self.linear.point
        assert point is not None
        x = np.concatenate([deviation(point.system, point.q, point.v, t, q), np.asarray(v) - point.v])
        tau = point.tau.copy()
        tau[list(point.inputs)] -= self.K @ x[list(self.places)]
        return tau

    def kernel_law(self, reference: Any = None) -> KernelLaw:
        """This law for `ap.rollout(..., law=regulator)`."""
        if reference is not None:
            raise ArgumentError("a regulator holds its own motion, and takes no reference.", expected="law= alone")
        return regulator_law(self)

    @property
    def poles(self) -> np.ndarray:
        """Of the closed loop, 1/s."""
        return np.linalg.eigvals(self.linear.A - self.linear.B @ self.K)


def lqr(
    linear: LinearSystem, states: Mapping[str, float] | Sequence[float], inputs: float | Sequence[float] = 1.0
) -> Regulator:
    """The feedback (1) with diagonal weights: of states by name, or of all of them; one of all inputs, or of each.

    With names, only these states are fed back.
    """
    if linear.period or linear.point is None:
        raise ArgumentError("the linear system is sampled, or nobody knows where.", expected="linearize(system, q, v)")
    named = states if isinstance(states, Mapping) else dict(zip(linear.states, states, strict=False))
    part = linear.part(named)
    Q = _weights("states", list(named.values()), len(named) if isinstance(states, Mapping) else len(linear.states), 0.0)
    count = len(linear.inputs)
    R = _weights("inputs", [inputs] * count if isinstance(inputs, int | float) else [*inputs], count, 1e-300)
    try:
        P = solve_continuous_are(part.A, part.B, np.diag(Q), np.diag(R))
    except (LinAlgError, ValueError) as error:
        raise ArgumentError(
            f"no feedback of {', '.join(part.states)} by {', '.join(linear.inputs)} is found: {error}.",
            expected="states that the inputs can reach, and a weight on each that does not decay by itself",
            hint="fewer states, by name; `linear.cyclic` names coordinates on which nothing depends",
        ) from None
    K = np.linalg.solve(np.diag(R), part.B.T @ P)
    return Regulator(part, K, tuple(linear.states.index(name) for name in part.states))


def _weights(what: str, given: list, count: int, least: float) -> np.ndarray:
    try:
        found = np.array(given, float)
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (count,) or not np.isfinite(found).all() or (found < least).any():
        raise ArgumentError(
            f"the weights of {what} are {given!r}.",
            expected=f"{count} numbers, {'not below 0' if least == 0.0 else 'above 0'}",
        )
    return found
