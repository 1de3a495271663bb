"""Contact forces as a row of convex problems: slow, and sure to come near a solution.

With ũ = u + μ |u_t| n the law of a cone is K ∋ f ⊥ ũ ∈ K* (De Saxcé and Feng 1998): for a given s = μ |u_t| it says
that f is least in

    ½ f·A f + f·(b + s n),        f within cones, bounds, and pushing only                                     (1)

which has a solution for every A = J M⁻¹Jᵀ, redundant rows included. Each round solves (1) by projected gradients with
momentum (Nesterov 1983, started anew whenever it leads uphill) and takes s from the result; the laws are obeyed where
s stays the same. Rows are scaled so that a step of 1/|A| suits all blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from appell.simulation.contact.blocks import Laws

ROUNDS = 12
STEPS = 100  # of a round
ROUNDING = 1e-9
AWAY = 1e3  # times b: with much friction s may grow from round to round instead of settling


def convex_rounds(A: np.ndarray, b: np.ndarray, laws: Laws, r: np.ndarray, f: np.ndarray) -> Iterator[np.ndarray]:
    """Forces after each round; `r` are the steps of the blocks, A is taken as symmetric."""
    scale = np.sqrt(r)
    part = 0.5 * scale[:, None] * (A + A.T) * scale
    sizes = np.linalg.eigvalsh(part)
    least, most = float(sizes[0]), float(sizes[-1])
    if least < -ROUNDING * most or most <= 0.0:
        return  # no J M⁻¹Jᵀ: (1) is not convex
    length = 1.0 / most
    lower, upper = laws.lower / scale, laws.upper / scale
    f = f / scale
    for _ in range(ROUNDS):
        u = part @ f + b * scale
        along = u[laws.tangent]
        right = b * scale
        right[laws.normal] += laws.mu * np.hypot(along[:, 0], along[:, 1])
        if not np.abs(right).max() <= AWAY * np.abs(b * scale).max():
            return
        f = _least(part, right, laws, (lower, upper), f, length)
        yield f * scale


def _least(A, b, laws: Laws, bounds, f: np.ndarray, length: float) -> np.ndarray:
    """(1), nearly."""
    ahead, momentum = f, 1.0
    for _ in range(STEPS):
        slope = A @ ahead + b
        new = _projected(ahead - length * slope, laws, *bounds)
        if slope @ (new - f) > 0.0:
            momentum = 1.0
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        ahead = new + (momentum - 1.0) / following * (new - f)
        f, momentum = new, following
    return f


def _projected(z: np.ndarray, laws: Laws, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The nearest forces within all cones and bounds."""
    f = np.clip(z, lower, upper)
    if len(laws.mu):
        n, t, mu = z[laws.normal], z[laws.tangent], laws.mu
        length = np.hypot(t[:, 0], t[:, 1])
        edge = np.maximum((n + mu * length) / (1.0 + mu * mu), 0.0)
        inside = length <= mu * n
        f[laws.normal] = np.where(inside, n, edge)
        f[laws.tangent] = np.where(inside, 1.0, mu * edge / np.maximum(length, 1e-300))[:, None] * t
    return f
