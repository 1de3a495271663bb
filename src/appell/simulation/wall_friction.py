"""Impulses with Coulomb friction.

Each touching point has an impulse f = (fₙ, f_t) and a velocity u⁺ = A f + u⁻, in its normal and two tangents:

    fₙ ≥ 0 ⊥ u⁺ₙ + e u⁻ₙ ≥ 0         |f_t| ≤ μ fₙ,  f_t = -μ fₙ u⁺_t / |u⁺_t| where u⁺_t ≠ 0                    (1)

which `blocks` solves. With e = 0 friction only takes energy away: the change is Σ f·u⁺ - ½|Δv|² ≤ 0. With e > 0
Newton's law can create energy when points slide (Kane's paradox), or leave (1) without a solution; then the largest
part of e is used for which it does neither, to four digits. Where more points touch than a rigid body needs, (1) has
many solutions; the one nearest to the frictionless forces is taken.
"""

from __future__ import annotations

import numpy as np

from appell.simulation.blocks import PUSH, Balance, Block, solve_blocks


def frictional_impulses(
    M: np.ndarray, v: np.ndarray, J: np.ndarray, R: np.ndarray, bounce: np.ndarray, mu: np.ndarray
) -> tuple[np.ndarray, float]:
    """Impulses (K, 3) of (1), for Jacobians J (K, 3, nv) and responses R = M⁻¹Jᵀ (K, 3, nv), and their residual."""
    K = len(J)
    used = np.ones((K, 3), bool)
    used[mu == 0.0, 1:] = False  # a smooth wall has no tangents
    rows, responses, normal = J[used], R[used], np.flatnonzero(np.argwhere(used)[:, 1] == 0)
    A = rows @ responses.T
    A = 0.5 * (A + A.T)
    before = rows @ v
    energy = 0.5 * v @ M @ v
    blocks = [Block("cone", float(x)) if x > 0.0 else PUSH for x in mu]

    def impulses(part: float) -> Balance:
        b = before.copy()
        b[normal] += part * bounce * before[normal]
        return solve_blocks(A, b, blocks)

    def is_fair(found: Balance, slack: float) -> bool:
        after = v + found.f @ responses
        return found.solved and 0.5 * after @ M @ after - energy <= slack

    found = impulses(1.0)
    if not is_fair(found, 1e-12 * energy):
        low, high, found = 0.0, 1.0, impulses(0.0)
        for _ in range(16):
            part = 0.5 * (low + high)
            if is_fair(trial := impulses(part), 0.0):
                low, found = part, trial
            else:
                high = part
    f = np.zeros((K, 3))
    f[used] = found.f
    return f, found.residual
