"""Impulses with Coulomb friction.

Each touching point has an impulse f = (fₙ, f_t) and a velocity u⁺ = A f + u⁻, in its normal and two tangents:

    fₙ ≥ 0 ⊥ u⁺ₙ + e u⁻ₙ ≥ 0         |f_t| ≤ μ fₙ,  f_t = -μ fₙ u⁺_t / |u⁺_t| where u⁺_t ≠ 0                    (1)

These are the roots of a piecewise smooth function (Alart and Curnier 1991): with z = f - r u,

    fₙ = max(0, zₙ)                  f_t = projection of z_t on the disk of radius μ max(0, zₙ)                (2)

Newton's method on (2) starts from the frictionless solution, and from sweeps over the points if that is too far away.
With e = 0 friction only takes energy away: the change is Σ f·u⁺ - ½|Δv|² ≤ 0. With e > 0 Newton's law can create energy
when points slide (Kane's paradox); then the largest part of e is used for which it does not, to four digits. Where more
points touch than a rigid body needs, (1) has many solutions; the one nearest to the frictionless forces is taken.
"""

from __future__ import annotations

import numpy as np

from appell.simulation.complementarity import solve_complementarity

ROUNDS = 6
SWEEPS = 50
NEWTON = 40
GOOD = 1e-12


def frictional_impulses(M, v, J: np.ndarray, R: np.ndarray, bounce: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Impulses (K, 3) of (1), for Jacobians J (K, 3, nv) and responses R = M⁻¹Jᵀ (K, 3, nv)."""
    K = len(J)
    A = np.einsum("kin,ljn->kilj", J, R).reshape(3 * K, 3 * K)
    A = 0.5 * (A + A.T)
    before = (J @ v).reshape(3 * K)
    energy = 0.5 * v @ M @ v
    blocks = [slice(3 * k, 3 * k + 3) for k in range(K)]

    def impulses(part: float) -> np.ndarray:
        b = before.copy()
        b[0::3] += part * bounce * before[0::3]
        return solve_cones(A, b, blocks, mu)

    def gain(f: np.ndarray) -> float:
        after = v + f @ R.reshape(3 * K, -1)
        return 0.5 * after @ M @ after - energy

    f = impulses(1.0)
    if gain(f) > 1e-12 * energy:
        low, high = 0.0, 1.0
        for _ in range(16):
            part = 0.5 * (low + high)
            low, high = (part, high) if gain(impulses(part)) <= 0.0 else (low, part)
        f = impulses(low)
    return f.reshape(K, 3)


def solve_cones(A: np.ndarray, b: np.ndarray, blocks: list[slice], mu: np.ndarray) -> np.ndarray:
    """f of (2) for u = A f + b; a block has three entries, or one: a point that pushes only."""
    r = np.array([1.0 / max(float(np.linalg.norm(A[s, s], 2)), 1e-300) for s in blocks])
    scale = max(np.abs(b).max() * r.max(), 1e-300)
    f = _without_friction(A, b, blocks)
    best, smallest = _newton(A, b, blocks, mu, r, f, scale)
    for _ in range(ROUNDS):
        if smallest <= GOOD * scale:
            break
        for _ in range(SWEEPS):
            moved = 0.0
            for k, s in enumerate(blocks):
                new = _project(f[s] - r[k] * (A[s] @ f + b[s]), mu[k])
                moved = max(moved, np.abs(new - f[s]).max())
                f[s] = new
            if moved <= 1e-3 * GOOD * scale:
                break
        polished, error = _newton(A, b, blocks, mu, r, f, scale)
        if error < smallest:
            best, smallest = polished, error
    return best


def _without_friction(A: np.ndarray, b: np.ndarray, blocks: list[slice]) -> np.ndarray:
    """Where to start: what smooth points would do."""
    f = np.zeros(len(b))
    normals = [s.start for s in blocks]
    part = A[np.ix_(normals, normals)]
    pushes = solve_complementarity(0.5 * (part + part.T), b[normals])
    if pushes is not None:
        f[normals] = pushes
    return f


def _project(z: np.ndarray, mu: float) -> np.ndarray:
    """(2) for one point."""
    normal = max(z[0], 0.0)
    if len(z) == 1:
        return np.array([normal])
    length, radius = float(np.hypot(z[1], z[2])), mu * normal
    shrink = 1.0 if length <= radius else radius / length
    return np.array([normal, shrink * z[1], shrink * z[2]])


def _newton(A, b, blocks: list[slice], mu, r, f: np.ndarray, scale: float) -> tuple[np.ndarray, float]:
    """Newton's method on f - (2) = 0 from f; the best point met and its error."""
    best, smallest = f.copy(), np.inf
    f = f.copy()
    steps = np.concatenate([np.full(s.stop - s.start, r[k]) for k, s in enumerate(blocks)])
    dz = np.eye(len(f)) - steps[:, None] * A
    for _ in range(NEWTON):
        z = f - steps * (A @ f + b)
        error, slope = np.zeros_like(f), np.eye(len(f))
        for k, s in enumerate(blocks):
            error[s] = f[s] - _project(z[s], mu[k])
            _subtract_slope(slope, dz, z, s, mu[k])
        size = np.abs(error).max()
        if size < smallest:
            best, smallest = f.copy(), size
        if size <= 1e-3 * GOOD * scale:
            break
        f = f - np.linalg.lstsq(slope, error, rcond=1e-13)[0]
    return np.concatenate([_project(best[s], mu[k]) for k, s in enumerate(blocks)]), smallest


def _subtract_slope(slope: np.ndarray, dz: np.ndarray, z: np.ndarray, s: slice, mu: float) -> None:
    """Take the derivative of one point's projection from the rows of its block."""
    n, t = s.start, slice(s.start + 1, s.stop)
    if z[n] <= 0.0:
        return
    slope[n] -= dz[n]
    if t.start == t.stop:
        return
    length, radius = float(np.hypot(*z[t])), mu * z[n]
    if length <= radius:
        slope[t] -= dz[t]
    else:
        d = z[t] / length
        slope[t] -= np.outer(d, mu * dz[n]) + (radius / length) * (np.eye(2) - np.outer(d, d)) @ dz[t]
