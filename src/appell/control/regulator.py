"""Linear-quadratic regulator: linear feedback that keeps a system near a steady motion at minimal cost.

    τ = τ₀ - K x        x = (ξ, v - v₀)        min ∫ xᵀQx + δτᵀR δτ dt   by Riccati's equation                  (1)

x is the deviation from a point that moves with the velocity at which the system was linearised: for a system at rest it
is fixed, for a rolling wheel it moves on. Only the weighted states are fed back; the others, such as the distance that
a bicycle has travelled, are not controlled, and the weighted states must not depend on them.
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
    """Linear feedback about a steady motion: a function (t, q, v) -> tau for `simulate(..., torque=regulator)`."""

    linear: LinearSystem  # of the states that are fed back
    K: np.ndarray  # gains, of shape (inputs, states)
    indices: tuple[int, ...]  # of these states in the state of the system

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        point = self.linear.point
        assert point is not None
        x = np.concatenate([deviation(point.system, point.q, point.v, t, q), np.asarray(v) - point.v])
        tau = point.tau.copy()
        tau[list(point.inputs)] -= self.K @ x[list(self.indices)]
        return tau

    def kernel_law(self, reference: Any = None) -> KernelLaw:
        """Return this law for `ap.rollout(..., law=regulator)`."""
        if reference is not None:
            raise ArgumentError(
                "a reference is given to a regulator, which keeps its own motion.", expected="law= without reference="
            )
        return regulator_law(self)

    @property
    def poles(self) -> np.ndarray:
        """Poles of the closed loop, in 1/s."""
        return np.linalg.eigvals(self.linear.A - self.linear.B @ self.K)


def lqr(
    linear: LinearSystem, states: Mapping[str, float] | Sequence[float], inputs: float | Sequence[float] = 1.0
) -> Regulator:
    """Design a linear-quadratic regulator with diagonal weights, (1).

    Parameters
    ----------
    linear : LinearSystem
        A continuous system, as `linearize` returns it.
    states : mapping of str to float, or sequence of float
        Diagonal of Q: weights by name of the states to feed back, or one weight per state of the system.
    inputs : float or sequence of float
        Diagonal of R: one weight for all inputs, or one per input.

    Returns
    -------
    Regulator

    Raises
    ------
    ArgumentError
        If the system is discrete, a weight is out of range, or no stabilising feedback exists.

    Examples
    --------
    >>> import appell as ap
    >>> linear = ap.control.linearize(ap.load("pendulum"), [3.141592653589793])  # upright
    >>> regulator = ap.control.lqr(linear, {"q_hinge": 10.0, "v_hinge": 1.0})
    >>> regulator.K.round(2).tolist(), bool((regulator.poles.real < 0.0).all())
    ([[10.74, 2.86]], True)
    """
    if linear.period or linear.point is None:
        raise ArgumentError(
            "the linear system is discrete, or its operating point is unknown.", expected="linearize(system, q, v)"
        )
    named = states if isinstance(states, Mapping) else dict(zip(linear.states, states, strict=False))
    part = linear.part(named)
    Q = _weights("states", list(named.values()), len(named) if isinstance(states, Mapping) else len(linear.states), 0.0)
    count = len(linear.inputs)
    R = _weights("inputs", [inputs] * count if isinstance(inputs, int | float) else [*inputs], count, 1e-300)
    try:
        P = solve_continuous_are(part.A, part.B, np.diag(Q), np.diag(R))
    except (LinAlgError, ValueError) as error:
        raise ArgumentError(
            f"no stabilising feedback from {', '.join(part.states)} to {', '.join(linear.inputs)} exists: {error}.",
            expected="states that the inputs can control, and a weight on each state that is not stable by itself",
            hint="Name fewer states; `linear.cyclic` lists coordinates on which no other state depends.",
        ) from None
    K = np.linalg.solve(np.diag(R), part.B.T @ P)
    return Regulator(part, K, tuple(linear.states.index(name) for name in part.states))


def _weights(what: str, given: list, count: int, least: float) -> np.ndarray:
    try:
        weights = np.array(given, float)
    except (TypeError, ValueError, OverflowError):
        weights = np.zeros(0)
    if weights.shape != (count,) or not np.isfinite(weights).all() or (weights < least).any():
        raise ArgumentError(
            f"the weights of {what} are {given!r}.",
            expected=f"{count} {'numbers that are not negative' if least == 0.0 else 'positive numbers'}",
        )
    return weights
