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
MIN_PIVOT = 1e-4  # relative to the largest one: with larger pivots of L in A = L Lᵀ, the rank of A is not in doubt
RESIDUAL_TOLERANCE = 1e-9  # relative to the largest entry of b
GRADIENT_TOLERANCE = 1e-13  # relative to the length of a column


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
    for method in (_scipy_nnls, _nnls):
        if (u := method(system, target)) is None:
            continue
        u = u / lengths
        remainder = 1.0 + b @ u / size
        if remainder <= 1e-10:
            continue  # there is no solution, or the result is wrong
        f = _polished(A, b, size * u / remainder, size)
        if _violation(A, b, f) <= RESIDUAL_TOLERANCE * size:
            return f
    return None


def _scipy_nnls(system: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """Return u ≥ 0 with the least |system u - target|; wrong in rare cases where columns enter by rounding errors."""
    try:
        return scipy.optimize.nnls(system, target, maxiter=30 * system.shape[1] + 100)[0]
    except RuntimeError:  # the maximum number of iterations was reached
        return None


def _nnls(system: np.ndarray, target: np.ndarray) -> np.ndarray | None:
    """Return the same by the algorithm of Lawson and Hanson with a tolerance: a column enters by its gradient only."""
    count = system.shape[1]
    u, active = np.zeros(count), np.zeros(count, bool)
    tolerance = GRADIENT_TOLERANCE * np.linalg.norm(system, axis=0)
    for _ in range(3 * count + 10):
        gradient = np.where(active, -np.inf, system.T @ (target - system @ u) - tolerance)
        if not gradient.max() > 0.0:
            return u
        active[gradient.argmax()] = True
        while True:
            new = np.zeros(count)
            new[active] = np.linalg.lstsq(system[:, active], target, rcond=1e-13)[0]
            if (new[active] > 0.0).all():
                break
            leaving = active & (new <= 0.0)
            part = (u[leaving] / np.maximum(u[leaving] - new[leaving], 1e-300)).min()
            u = u + part * (new - u)
            active &= u > 1e-15 * np.abs(u).max(initial=0.0)
            u[~active] = 0.0
        u = new
    return None


def _violation(A: np.ndarray, b: np.ndarray, f: np.ndarray) -> float:
    """Return the largest violation of (1) as a velocity or acceleration."""
    w = A @ f + b
    return float(np.abs(np.minimum(w, np.diag(A) * f)).max(initial=0.0))


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
    if right.ndim == 1:
        factor, x, failed = scipy.linalg.lapack.dposv(A, right)
        if not failed and (pivots := factor.diagonal()).size and pivots.min() > MIN_PIVOT * pivots.max():
            return x
    eigenvalues, vectors = np.linalg.eigh(A)
    keep = np.abs(eigenvalues) > RANK_TOLERANCE * np.abs(eigenvalues).max(initial=0.0)
    V = vectors[:, keep]
    x = V @ ((V.T @ right) / eigenvalues[keep])
    return x + V @ ((V.T @ (right - A @ x)) / eigenvalues[keep])  # one step of iterative refinement
