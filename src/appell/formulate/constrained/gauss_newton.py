"""The nearest configuration where gaps vanish: Gauss and Newton's method, damped, over any coordinates.

    Δ = -Kᵀ (K Kᵀ + μ²)⁻¹ φ        q ← q ⊕ Δ                                                                    (1)
    μ² = λ σ² |φ| / |φ₀|           σ the largest singular value of K                                            (2)

over the velocities that may change, each in units of the longest step that it may take, which no step exceeds. λ grows
tenfold where (1) does not bring |φ| down, and falls again where it does. Damping that vanishes with |φ| keeps the steps
short along rows that others imply: off the manifold such a row looks independent, with a singular value as small as
|φ|, and an undamped step would run away along the very motion that the mechanism has. It also keeps the speed of
Newton's method, which doubles the digits; the last steps are undamped, without singular values below RANK σ.

Where Kᵀφ vanishes and φ does not, the gaps are as small as they can be nearby, and cannot be closed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

STEPS = 300
GAIN = 1e-3  # λ at the start, and at least
STUCK = 1e8  # λ beyond which no step helps
FLAT = 1e-11  # of |φ|: a gradient that promises less than this is none
RANK = 1e-7  # of the largest singular value: rows that are implied by others are below this near the manifold
LAST = 4  # undamped steps at most, at the end

Gaps = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]  # q -> φ and K, with dφ/dt = K v
Move = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (q, Δ) -> q ⊕ Δ


@dataclass(frozen=True)
class Root:
    """Where the method ended, and what is left of the gaps there."""

    q: np.ndarray
    gaps: np.ndarray

    @property
    def size(self) -> float:
        return largest(self.gaps)


def largest(gaps: np.ndarray) -> float:
    """The largest gap; infinite if one is no number."""
    size = float(np.abs(gaps).max(initial=0.0))
    return size if np.isfinite(size) else np.inf


def nearest_root(gaps: Gaps, move: Move, q: np.ndarray, longest: np.ndarray, exact: float) -> Root:
    """A root near q by steps (1) within `longest`, or the least gaps nearby; velocities with no step are held."""
    phi, K = gaps(q)
    if not len(phi) or not np.isfinite(phi).all():
        return Root(q, phi)
    size = start = max(float(np.linalg.norm(phi)), exact)
    gain = GAIN
    for _ in range(STEPS):
        if largest(phi) <= exact or gain > STUCK or not np.isfinite(K).all():
            break
        U, s, Vt = np.linalg.svd(K * longest, full_matrices=False)
        along = U.T @ phi
        if not len(s) or np.linalg.norm(s * along) <= FLAT * s[0] * size:
            break
        damping = gain * s[0] ** 2 * size / start  # (2)
        step = _within(Vt.T @ (-s / (s * s + damping) * along)) * longest  # (1)
        candidate = move(q, step)
        found = gaps(candidate)
        smaller = float(np.linalg.norm(found[0]))
        if smaller < size * (1.0 - FLAT):
            q, (phi, K), size = candidate, found, smaller
            gain = max(0.1 * gain, GAIN)
        else:
            gain *= 10.0
    return _polished(gaps, move, Root(q, phi), K, longest) if largest(phi) <= exact else Root(q, phi)


def _within(step: np.ndarray) -> np.ndarray:
    """A step, shortened to one unit in its largest entry."""
    return step / max(1.0, float(np.abs(step).max(initial=0.0)))


def _polished(gaps: Gaps, move: Move, root: Root, K: np.ndarray, longest: np.ndarray) -> Root:
    """Undamped steps as long as they help: down to rounding."""
    for _ in range(LAST):
        step = longest * (np.linalg.pinv(K * longest, rcond=RANK) @ -root.gaps)
        q = move(root.q, step)
        phi, K = gaps(q)
        if not largest(phi) < root.size:
            break
        root = Root(q, phi)
    return root
