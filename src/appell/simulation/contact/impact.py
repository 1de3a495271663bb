"""Impacts: impulses at all points that touch, solved together.

Newton's law requires v⁺ₙ = -e v⁻ₙ of a point that is hit. Several points interact and no impulse pulls, so for the set
of points that approach or rest (v⁻ₙ ≤ 0)

    v⁺ = v⁻ + M⁻¹Jᵀf,    v⁺ₙ + e v⁻ₙ ≥ 0,  f ≥ 0,  f·(v⁺ₙ + e v⁻ₙ) = 0                                        (1)

If all points bounce this is (47) of Shafei 2018, `impact_equations`. The energy changes by Σ f (v⁺ₙ + v⁻ₙ)/2 =
-Σ f (1 - e)|v⁻ₙ|/2 ≤ 0. The impulses of others may drive a touching point that was leaving into its wall; it is
then hit in a second stage at the same instant, and so on. If (1) has no solution, or if the stages do not end, the last
stage is solved with e = 0: the velocity nearest to v⁻ that enters no wall, which exists and never adds energy.

For a point that slides with large friction there may be no contact force that keeps it out of its wall, because
friction drives it further in (Painlevé 1895). It then catches: an impulse at zero normal speed stops it, if the impulse
lies in the friction cone,

    v⁺ = v⁻ + M⁻¹Jᵀf,    J v⁺ = 0,    |f_t| ≤ μ fₙ            with J of normal and tangents                       (2)

which dissipates energy like every projection (impact without collision; Génot and Brogliato 1999).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError
from appell.simulation.contact.blocks import PUSH, Block, ContactForces, solve_blocks
from appell.simulation.contact.complementarity import least_norm, solve_complementarity

MAX_STAGES = 40
ZERO_SPEED = 1e-11  # relative to the largest speed (at least 1 m/s): smaller normal speeds are zero
RESTITUTION_BISECTIONS = 16  # for the largest part of the restitution that adds no energy


@dataclass(frozen=True)
class ImpactPoints:
    """The K points that touch at an impact, each with a normal and two tangents."""

    J: np.ndarray  # (K, 3, nv): rows along normal, first and second tangent
    response: np.ndarray  # (K, 3, nv): changes of v by unit impulses along them: M⁻¹Jᵀ, or less under constraints
    restitution: np.ndarray  # (K,)
    friction: np.ndarray  # (K,)
    resting: np.ndarray  # (K,), bool: points already at rest on their wall

    @property
    def normal(self) -> np.ndarray:
        return self.J[:, 0]


@dataclass(frozen=True)
class Collision:
    """Velocity after an impact, impulses (K, 3) along normal and tangents in N s, and their residual."""

    v: np.ndarray
    impulses: np.ndarray
    residual: float = 0.0


def collide(M: np.ndarray, v: np.ndarray, points: ImpactPoints) -> Collision:
    """Return the impact (1) at velocity v, stage by stage until no point approaches."""
    K = len(points.J)
    impulses, worst = np.zeros((K, 3)), 0.0
    for stage in range(MAX_STAGES + 1):
        speeds = points.normal @ v
        zero = ZERO_SPEED * max(1.0, np.abs(speeds).max())
        approaching = speeds < -zero
        if not approaching.any():
            break
        last = stage == MAX_STAGES
        hit = np.ones(K, bool) if last else approaching | (points.resting & (speeds <= zero))
        bounce = np.where(approaching & (not last), points.restitution, 0.0)[hit]
        f, residual = _stage(M, v, points, hit, bounce)
        worst = max(worst, residual)
        impulses[hit] += f
        v = v + np.einsum("ki,kin->n", f, points.response[hit])
    return Collision(v, impulses, worst)


def impact_equations(M, normal, restitution: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the two matrices of (47) of Shafei 2018, for points that all bounce.

    | M    -Jᵀn | |v⁺|   |   M    |
    | nᵀJ    0  | |f | = | -e nᵀJ | v⁻

    Parameters
    ----------
    M
        Inertia matrix, (nv, nv).
    normal
        Rows nᵀJ of the points, (points, nv).
    restitution
        Newton's coefficient e.
    """
    M, N = np.asarray(M, float), np.atleast_2d(np.asarray(normal, float))
    if M.ndim != 2 or M.shape[0] != M.shape[1] or N.shape[1] != len(M):
        problem = f"the inertia matrix has shape {M.shape} and the normal rows {N.shape}, which do not match."
        raise ArgumentError(problem, expected="(nv, nv) and (points, nv)")
    left = np.block([[M, -N.T], [N, np.zeros((len(N), len(N)))]])
    return left, np.vstack([M, -restitution * N])


def catch(v: np.ndarray, points: ImpactPoints) -> Collision | None:
    """Return the impact without collision (2) of all points with friction; None if it violates a friction cone."""
    rough = points.friction > 0.0
    J = points.J[rough].reshape(-1, len(v))
    response = points.response[rough].reshape(-1, len(v)).T
    impulses = np.zeros((len(rough), 3))
    impulses[rough] = -least_norm(J @ response, J @ v).reshape(-1, 3)
    within = np.hypot(impulses[:, 1], impulses[:, 2]) <= points.friction * impulses[:, 0] * (1.0 + 1e-9)
    after = v + response @ impulses[rough].ravel()
    if not rough.any() or not within[rough].all() or (points.normal @ after < -ZERO_SPEED).any():
        return None
    return Collision(after, impulses)


def _stage(M, v, points: ImpactPoints, hit: np.ndarray, bounce: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the impulses (hit points, 3) of one stage, and their residual."""
    J, R = points.J[hit], points.response[hit]
    if points.friction[hit].any():
        return frictional_impulses(M, v, J, R, bounce, points.friction[hit])
    speeds = J[:, 0] @ v
    A = R[:, 0] @ J[:, 0].T
    A = 0.5 * (A + A.T)
    f = solve_complementarity(A, speeds * (1.0 + bounce))
    if f is None:
        f = solve_complementarity(A, speeds)
    impulses = np.zeros((len(speeds), 3))
    if f is None:
        return impulses, np.inf
    impulses[:, 0] = f
    return impulses, 0.0


def frictional_impulses(
    M: np.ndarray, v: np.ndarray, J: np.ndarray, R: np.ndarray, bounce: np.ndarray, mu: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return the impulses with Coulomb friction, (K, 3), and their residual.

    Each touching point has an impulse f = (fₙ, f_t) and a velocity u⁺ = A f + u⁻, in its normal and two tangents:

        fₙ ≥ 0 ⊥ u⁺ₙ + e u⁻ₙ ≥ 0         |f_t| ≤ μ fₙ,  f_t = -μ fₙ u⁺_t / |u⁺_t| where u⁺_t ≠ 0                    (1)

    which `blocks` solves. With e = 0 friction only dissipates energy: the change is Σ f·u⁺ - ½|Δv|² ≤ 0. With e > 0
    Newton's law can create energy when points slide (Kane's paradox), or leave (1) without a solution; the largest part
    of e without these effects is then used, to four digits. If contacts are redundant, (1) has many solutions; the one
    nearest to the frictionless impulses is returned.

    Parameters
    ----------
    M
        Inertia matrix, (nv, nv).
    v
        Velocities before the impact, (nv,).
    J, R
        Jacobians and responses M⁻¹Jᵀ along normal and tangents, (K, 3, nv).
    bounce
        Restitution e, (K,).
    mu
        Friction coefficients, (K,).
    """
    K = len(J)
    used = np.ones((K, 3), bool)
    used[mu == 0.0, 1:] = False  # a smooth wall has no tangents
    rows, responses, normal = J[used], R[used], np.flatnonzero(np.argwhere(used)[:, 1] == 0)
    A = rows @ responses.T
    A = 0.5 * (A + A.T)
    before = rows @ v
    energy = 0.5 * v @ M @ v
    blocks = [Block("cone", float(x)) if x > 0.0 else PUSH for x in mu]

    def impulses(part: float) -> ContactForces:
        b = before.copy()
        b[normal] += part * bounce * before[normal]
        return solve_blocks(A, b, blocks)

    def is_valid(solution: ContactForces, energy_tolerance: float) -> bool:
        after = v + solution.f @ responses
        return solution.solved and 0.5 * after @ M @ after - energy <= energy_tolerance

    solution = impulses(1.0)
    if not is_valid(solution, 1e-12 * energy):
        low, high, solution = 0.0, 1.0, impulses(0.0)
        for _ in range(RESTITUTION_BISECTIONS):
            part = 0.5 * (low + high)
            if is_valid(candidate := impulses(part), 0.0):
                low, solution = part, candidate
            else:
                high = part
    f = np.zeros((K, 3))
    f[used] = solution.f
    return f, solution.residual
