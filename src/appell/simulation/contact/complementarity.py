"""Linear complementarity for contacts: forces that push but never pull.

    w = A f + b,   w ≥ 0,  f ≥ 0,  w·f = 0,        A = J M⁻¹ Jᵀ, symmetric, positive semidefinite               (1)

With A = BᵀB this is the least |x| with Bᵀx ≥ -b, x = B f, a least-distance problem, which Lawson and Hanson (1974,
ch. 23) turn into non-negative least squares: u ≥ 0 minimises |[B; -bᵀ] u - (0, 1)|, and f = u / (1 + b·u). The method
is an active set: it ends after finitely many exchanges, tells whether there is a solution at all, and does not mind a
singular A. The contacts it finds active are then solved for directly, to machine precision.

Redundant contacts (four corners of a box) share their load as evenly as they can: if all active contacts can push at
once, the forces of least norm are taken.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

RANK = 1e-11  # eigenvalues of A below this part of the largest are zero
SLACK = 1e-9  # relative to the largest entry of b


def solve_complementarity(A: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """f of (1), or None if no f makes w ≥ 0, or none was found."""
    size = np.abs(b).max(initial=0.0)
    if size == 0.0 or (b >= 0.0).all():
        return np.zeros(len(b))
    largest = np.diag(A).max()
    if not largest > 0.0:
        return None
    every = least_norm(A, -b)
    if (every >= 0.0).all() and np.abs(A @ every + b).max() <= SLACK * size:
        return every
    B = square_root(A)
    target = np.zeros(len(B) + 1)
    target[-1] = 1.0
    lengths = np.sqrt(np.maximum(np.diag(A), RANK * largest))  # columns of like size for the active set
    system = np.vstack([B, -b[None, :] / size]) / lengths
    try:
        u = nnls(system, target, maxiter=30 * len(b) + 100)[0] / lengths
    except RuntimeError:  # its exchanges did not end
        return None
    rest = 1.0 + b @ u / size
    if rest <= 1e-10:
        return None
    f = size * u / rest
    return _polished(A, b, f, size)


def _polished(A: np.ndarray, b: np.ndarray, f: np.ndarray, size: float) -> np.ndarray:
    """The same active set solved directly, if that keeps all signs."""
    active = f > 1e-12 * f.max(initial=0.0)
    if not active.any():
        return f
    direct = np.zeros_like(f)
    direct[active] = least_norm(A[np.ix_(active, active)], -b[active])
    good = (direct >= 0.0).all() and (A @ direct + b).min() >= -SLACK * size
    return direct if good else f


def square_root(A: np.ndarray) -> np.ndarray:
    """B with A = BᵀB, of as many rows as A has rank."""
    eigenvalues, vectors = np.linalg.eigh(A)
    keep = eigenvalues > RANK * max(eigenvalues[-1], 0.0)
    return np.sqrt(eigenvalues[keep])[:, None] * vectors[:, keep].T


def least_norm(A: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The shortest least-squares solution of a symmetric system."""
    eigenvalues, vectors = np.linalg.eigh(A)
    keep = np.abs(eigenvalues) > RANK * np.abs(eigenvalues).max(initial=0.0)
    V = vectors[:, keep]
    x = V @ ((V.T @ right) / eigenvalues[keep])
    return x + V @ ((V.T @ (right - A @ x)) / eigenvalues[keep])  # once more for the last digits
