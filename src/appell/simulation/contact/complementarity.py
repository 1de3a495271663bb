"""Linear complementarity for contacts: forces that push but never pull.

    w = A f + b,   w ≥ 0,  f ≥ 0,  w·f = 0,        A = J M⁻¹ Jᵀ, symmetric, positive semidefinite               (1)

With A = BᵀB this is the least |x| with Bᵀx ≥ -b, x = B f, a least-distance problem, which Lawson and Hanson (1974,
ch. 23) turn into non-negative least squares: u ≥ 0 minimises |[B; -bᵀ] u - (0, 1)|, and f = u / (1 + b·u). This is an
active-set method: it ends after finitely many exchanges, determines whether a solution exists, and accepts a singular
A. The forces of the active contacts are then solved for directly, to machine precision.

Redundant contacts (four corners of a box) share their load as evenly as possible: if all active contacts can push at
once, the forces of least norm are returned.
"""

from __future__ import annotations

import numpy as np
import scipy  # its packages are imported when they are first used

RANK_TOLERANCE = 1e-11  # relative to the largest eigenvalue of A: smaller eigenvalues are zero
RESIDUAL_TOLERANCE = 1e-9  # relative to the largest entry of b


def solve_complementarity(A: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """Return f of (1), or None if no f makes w ≥ 0 or if the method does not converge."""
    size = np.abs(b).max(initial=0.0)
    if size == 0.0 or (b >= 0.0).all():
        return np.zeros(len(b))
    largest = np.diag(A).max()
    if not largest > 0.0:
        return None
    all_active = least_norm(A, -b)
    if (all_active >= 0.0).all() and np.abs(A @ all_active + b).max() <= RESIDUAL_TOLERANCE * size:
        return all_active
    B = square_root(A)
    target = np.zeros(len(B) + 1)
    target[-1] = 1.0
    lengths = np.sqrt(np.maximum(np.diag(A), RANK_TOLERANCE * largest))  # columns of like size for the active set
    system = np.vstack([B, -b[None, :] / size]) / lengths
    try:
        u = scipy.optimize.nnls(system, target, maxiter=30 * len(b) + 100)[0] / lengths
    except RuntimeError:  # the maximum number of iterations was reached
        return None
    remainder = 1.0 + b @ u / size
    if remainder <= 1e-10:
        return None
    f = size * u / remainder
    return _polished(A, b, f, size)


def _polished(A: np.ndarray, b: np.ndarray, f: np.ndarray, size: float) -> np.ndarray:
    """Return the direct solution for the same active set if it has the required signs, else f."""
    active = f > 1e-12 * f.max(initial=0.0)
    if not active.any():
        return f
    direct = np.zeros_like(f)
    direct[active] = least_norm(A[np.ix_(active, active)], -b[active])
    good = (direct >= 0.0).all() and (A @ direct + b).min() >= -RESIDUAL_TOLERANCE * size
    return direct if good else f


def square_root(A: np.ndarray) -> np.ndarray:
    """Return B with A = BᵀB; the number of its rows is the rank of A."""
    eigenvalues, vectors = np.linalg.eigh(A)
    keep = eigenvalues > RANK_TOLERANCE * max(eigenvalues[-1], 0.0)
    return np.sqrt(eigenvalues[keep])[:, None] * vectors[:, keep].T


def least_norm(A: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the least-squares solution of least norm of a symmetric system."""
    eigenvalues, vectors = np.linalg.eigh(A)
    keep = np.abs(eigenvalues) > RANK_TOLERANCE * np.abs(eigenvalues).max(initial=0.0)
    V = vectors[:, keep]
    x = V @ ((V.T @ right) / eigenvalues[keep])
    return x + V @ ((V.T @ (right - A @ x)) / eigenvalues[keep])  # one step of iterative refinement
