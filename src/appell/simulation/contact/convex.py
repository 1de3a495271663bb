"""Contact forces by a sequence of convex problems: slow, but robust.

With ũ = u + μ |u_t| n the law of a cone is K ∋ f ⊥ ũ ∈ K* (De Saxcé and Feng 1998): for a given s = μ |u_t| it states
that f minimises

    ½ f·A f + f·(b + s n),        f within cones and bounds, pushing only                                      (1)

which has a solution for every A = J M⁻¹Jᵀ, redundant rows included. Each round solves (1) by projected gradients with
momentum (Nesterov 1983, restarted whenever it leads uphill) and updates s from the result; a fixed point of s satisfies
the laws. Rows are scaled so that a step of 1/|A| suits all blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from appell.simulation.contact.blocks import Laws

MAX_ROUNDS = 12
GRADIENT_STEPS = 100  # per round
NEGATIVE_EIGENVALUE = 1e-9  # relative to the largest eigenvalue: a smaller negative one is a rounding error
DIVERGENCE_RATIO = 1e3  # relative to b: with large friction, s may grow from round to round


def convex_rounds(A: np.ndarray, b: np.ndarray, laws: Laws, r: np.ndarray, f: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the forces after each round.

    Parameters
    ----------
    A, b
        Matrix (n, n), of which the symmetric part is used, and vector (n,) of the contact problem.
    laws
        Cones and bounds.
    r
        Step lengths of the blocks, (n,).
    f
        Forces to start from, (n,).
    """
    scale = np.sqrt(r)
    symmetric = 0.5 * scale[:, None] * (A + A.T) * scale
    eigenvalues = np.linalg.eigvalsh(symmetric)
    smallest, largest = float(eigenvalues[0]), float(eigenvalues[-1])
    if smallest < -NEGATIVE_EIGENVALUE * largest or largest <= 0.0:
        return  # (1) is not convex
    length = 1.0 / largest
    lower, upper = laws.lower / scale, laws.upper / scale
    f = f / scale
    for _ in range(MAX_ROUNDS):
        u = symmetric @ f + b * scale
        along = u[laws.tangent]
        right = b * scale
        right[laws.normal] += laws.mu * np.hypot(along[:, 0], along[:, 1])
        if not np.abs(right).max() <= DIVERGENCE_RATIO * np.abs(b * scale).max():
            return
        f = _minimise(symmetric, right, laws, (lower, upper), f, length)
        yield f * scale


def _minimise(A, b, laws: Laws, bounds, f: np.ndarray, length: float) -> np.ndarray:
    """Return the approximate minimiser of (1) after GRADIENT_STEPS steps of this length."""
    ahead, momentum = f, 1.0
    for _ in range(GRADIENT_STEPS):
        slope = A @ ahead + b
        new = _projected(ahead - length * slope, laws, *bounds)
        if slope @ (new - f) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = new + (momentum - 1.0) / following * (new - f)
        f, momentum = new, following
    return f


def _projected(z: np.ndarray, laws: Laws, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the nearest forces within all cones and bounds."""
    f = np.clip(z, lower, upper)
    if len(laws.mu):
        n, t, mu = z[laws.normal], z[laws.tangent], laws.mu
        length = np.hypot(t[:, 0], t[:, 1])
        edge = np.maximum((n + mu * length) / (1.0 + mu * mu), 0.0)
        inside = length <= mu * n
        f[laws.normal] = np.where(inside, n, edge)
        f[laws.tangent] = np.where(inside, 1.0, mu * edge / np.maximum(length, 1e-300))[:, None] * t
    return f
