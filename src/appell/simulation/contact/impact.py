"""Impacts: impulses along the normals of all points that touch, solved together.

Newton's law asks v⁺ₙ = -e v⁻ₙ of a point that is hit. Several points compete, and no impulse pulls, so for the set of
points that approach or rest (v⁻ₙ ≤ 0)

    v⁺ = v⁻ + M⁻¹Jᵀf,    v⁺ₙ + e v⁻ₙ ≥ 0,  f ≥ 0,  f·(v⁺ₙ + e v⁻ₙ) = 0                                        (1)

If all points bounce this is (47) of Shafei 2018, `impact_equations`. The energy changes by Σ f (v⁺ₙ + v⁻ₙ)/2 =
-Σ f (1 - e)|v⁻ₙ|/2 ≤ 0. A touching point that was leaving may be driven into its wall by the others' impulses; it is
then hit in a second stage at the same instant, and so on. If (1) has no solution, or the stages do not end, the last
one is solved with e = 0: the velocity nearest to v⁻ that goes into no wall, which never adds energy and always exists.

A point that slides with much friction may have no contact force at all that keeps it out of its wall: friction drives
it further in (Painlevé 1895). It then catches: an impulse at no normal speed stops it, if it lies in the friction cone,

    v⁺ = v⁻ + M⁻¹Jᵀf,    J v⁺ = 0,    |f_t| ≤ μ fₙ            with J of normal and tangents                       (2)

which takes energy away like any projection (the impact without collision; Génot and Brogliato 1999).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError
from appell.simulation.contact.blocks import PUSH, Balance, Block, solve_blocks
from appell.simulation.contact.complementarity import least_norm, solve_complementarity

STAGES = 40
STILL = 1e-11  # relative: normal speeds below this are zero


@dataclass(frozen=True)
class Touch:
    """What an impact needs to know of the points that touch: K of them, each with a normal and two tangents."""

    J: np.ndarray  # (K, 3, nv): rows along normal, first and second tangent
    response: np.ndarray  # (K, 3, nv): what unit impulses along them change of v: M⁻¹Jᵀ, or less under constraints
    restitution: np.ndarray
    friction: np.ndarray
    resting: np.ndarray  # points that are at rest on their wall already

    @property
    def normal(self) -> np.ndarray:
        return self.J[:, 0]


@dataclass(frozen=True)
class Collision:
    """Velocity after an impact, impulses (K, 3) along normal and tangents, and how far they are from their laws."""

    v: np.ndarray
    impulses: np.ndarray
    residual: float = 0.0


def collide(M: np.ndarray, v: np.ndarray, touch: Touch) -> Collision:
    """The impact (1), stage by stage until no point approaches."""
    K = len(touch.J)
    impulses, worst = np.zeros((K, 3)), 0.0
    for stage in range(STAGES + 1):
        speeds = touch.normal @ v
        still = STILL * max(1.0, np.abs(speeds).max())
        approaching = speeds < -still
        if not approaching.any():
            break
        last = stage == STAGES
        hit = np.ones(K, bool) if last else approaching | (touch.resting & (speeds <= still))
        bounce = np.where(approaching & (not last), touch.restitution, 0.0)[hit]
        f, residual = _stage(M, v, touch, hit, bounce)
        worst = max(worst, residual)
        impulses[hit] += f
        v = v + np.einsum("ki,kin->n", f, touch.response[hit])
    return Collision(v, impulses, worst)


def impact_equations(M, normal, restitution: float) -> tuple[np.ndarray, np.ndarray]:
    """The matrices of (47) of Shafei 2018, for points that all bounce; `normal` has the rows nᵀJ of the points.

    | M    -Jᵀn | |v⁺|   |   M    |
    | nᵀJ    0  | |f | = | -e nᵀJ | v⁻
    """
    M, N = np.asarray(M, float), np.atleast_2d(np.asarray(normal, float))
    if M.ndim != 2 or M.shape[0] != M.shape[1] or N.shape[1] != len(M):
        problem = f"an inertia matrix of shape {M.shape} and normal rows of shape {N.shape} do not go together."
        raise ArgumentError(problem, expected="(nv, nv) and (points, nv)")
    left = np.block([[M, -N.T], [N, np.zeros((len(N), len(N)))]])
    return left, np.vstack([M, -restitution * N])


def catch(v: np.ndarray, touch: Touch) -> Collision | None:
    """The impact without collision (2) of all points that touch with friction; None if it would need other forces."""
    rubs = touch.friction > 0.0
    J = touch.J[rubs].reshape(-1, len(v))
    response = touch.response[rubs].reshape(-1, len(v)).T
    found = np.zeros((len(rubs), 3))
    found[rubs] = -least_norm(J @ response, J @ v).reshape(-1, 3)
    within = np.hypot(found[:, 1], found[:, 2]) <= touch.friction * found[:, 0] * (1.0 + 1e-9)
    after = v + response @ found[rubs].ravel()
    if not rubs.any() or not within[rubs].all() or (touch.normal @ after < -STILL).any():
        return None
    return Collision(after, found)


def _stage(M, v, touch: Touch, hit: np.ndarray, bounce: np.ndarray) -> tuple[np.ndarray, float]:
    """Impulses (hit points, 3) of one stage, and their residual."""
    J, R = touch.J[hit], touch.response[hit]
    if touch.friction[hit].any():
        return frictional_impulses(M, v, J, R, bounce, touch.friction[hit])
    speeds = J[:, 0] @ v
    A = R[:, 0] @ J[:, 0].T
    A = 0.5 * (A + A.T)
    f = solve_complementarity(A, speeds * (1.0 + bounce))
    if f is None:
        f = solve_complementarity(A, speeds)
    found = np.zeros((len(speeds), 3))
    if f is None:
        return found, np.inf
    found[:, 0] = f
    return found, 0.0


def frictional_impulses(
    M: np.ndarray, v: np.ndarray, J: np.ndarray, R: np.ndarray, bounce: np.ndarray, mu: np.ndarray
) -> tuple[np.ndarray, float]:
    """Impulses (K, 3) of (1), for Jacobians J (K, 3, nv) and responses R = M⁻¹Jᵀ (K, 3, nv), and their residual.

    Impulses with Coulomb friction.

    Each touching point has an impulse f = (fₙ, f_t) and a velocity u⁺ = A f + u⁻, in its normal and two tangents:

        fₙ ≥ 0 ⊥ u⁺ₙ + e u⁻ₙ ≥ 0         |f_t| ≤ μ fₙ,  f_t = -μ fₙ u⁺_t / |u⁺_t| where u⁺_t ≠ 0                    (1)

    which `blocks` solves. With e = 0 friction only takes energy away: the change is Σ f·u⁺ - ½|Δv|² ≤ 0. With e > 0
    Newton's law can create energy when points slide (Kane's paradox), or leave (1) without a solution; then the largest
    part of e is used for which it does neither, to four digits. Where more points touch than a rigid body needs, (1)
    has many solutions; the one nearest to the frictionless forces is taken.
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
