"""Impacts: the laws of restitution, and points that touch at the same instant.

Newton's law requires v⁺ₙ = -e v⁻ₙ of a point that is hit. Several points interact and no impulse pulls, so for the set
of points that approach or touch without leaving (v⁻ₙ ≤ 0)

    v⁺ = v⁻ + M⁻¹Jᵀf,    v⁺ₙ + e v⁻ₙ ≥ 0,  f ≥ 0,  f·(v⁺ₙ + e v⁻ₙ) = 0                                        (1)

If all points bounce this is (47) of Shafei 2018, `impact_equations`. The energy changes by Σ f (v⁺ₙ + v⁻ₙ)/2 =
-Σ f (1 - e)|v⁻ₙ|/2 ≤ 0. The impulses of others may drive a touching point that was leaving into its wall; it is
then hit in a second stage at the same instant, and so on. If (1) has no solution, or if the stages do not end, the last
stage is solved with e = 0: the velocity nearest to v⁻ that enters no wall, which exists and never adds energy.

The points may also be hit in turn: at each stage only the point that approaches fastest. The result depends on this
choice (five balls in a row leave with -0.6, 0.4, 0.4, 0.4, 0.4 together, and with 0, 0, 0, 0, 1 in turn); both keep the
energy for e = 1. If MAX_TURNS stages do not suffice, the last one is solved together with e = 0.

Without friction this is the impact for every law. With friction the laws differ:

    newton        (1) with friction that opposes the slip after the impact: `newton_impulses`
    newton-path, poisson, energetic
                  one point: friction opposes the slip at every instant of the impact: `impact_path`
                  several points, solved together: compression to v⁺ₙ = 0, then restitution: `restituted_impulses`

No law adds energy: where one would (Kane's paradox), the restitution is reduced, and `ImpactSolution.restitution` is
what was applied.

For a point that slides with large friction there may be no contact force that keeps it out of its wall, because
friction drives it further in (Painlevé 1895). It then catches: an impulse at zero normal speed stops it, if the impulse
lies in the friction cone,

    v⁺ = v⁻ + M⁻¹Jᵀf,    J v⁺ = 0,    |f_t| ≤ μ fₙ            with J of normal and tangents                       (2)

which dissipates energy like every projection (impact without collision; Génot and Brogliato 1999).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy  # its packages are imported when they are first used

from appell.errors import ArgumentError
from appell.simulation.contact.blocks import PUSH, Block, BlockProblem, ContactForces
from appell.simulation.contact.complementarity import least_norm, solve_complementarity
from appell.simulation.contact.impact_path import path_impact
from appell.simulation.options import check_impact_law, check_impact_order

MAX_STAGES = 40
MAX_TURNS = 400  # stages of points that are hit in turn; a rod between two points needs about 44 for e = 0
ZERO_SPEED = 1e-11  # relative to the largest speed (at least 1 m/s): smaller normal speeds are zero
RESTITUTION_BISECTIONS = 16  # for the largest part of the restitution that adds no energy
SCALE_TOLERANCE = 1e-11  # of the impulse or the work of the restitution of several points
MAX_SECANTS = 8  # for the same
MAX_SCALE = 1024.0  # of the separation speeds of several points


@dataclass(frozen=True)
class ImpactPoints:
    """The K points that touch at an impact, each with a normal and two tangents."""

    J: np.ndarray  # (K, 3, nv): rows along normal, first and second tangent
    response: np.ndarray  # (K, 3, nv): changes of v by unit impulses along them: M⁻¹Jᵀ, or less under constraints
    restitution: np.ndarray  # (K,)
    friction: np.ndarray  # (K,)

    @property
    def normal(self) -> np.ndarray:
        return self.J[:, 0]


@dataclass(frozen=True)
class ImpactSolution:
    """Velocity after an impact, and for each of K points its impulses in N s and its restitution.

    `restitution` is the coefficient that the law applied when the point was last hit: that of the contact, or less if
    the law would have added energy; zero for a point that did not approach. `together` is whether several points with
    friction were solved together by a law other than Newton's.
    """

    v: np.ndarray
    impulses: np.ndarray  # (K, 3), along normal and tangents
    restitution: np.ndarray  # (K,)
    residual: float = 0.0
    together: bool = False


class StageImpulses(NamedTuple):
    """Impulses of a stage, (hit points, 3), the part of the restitution that was applied, and the residual."""

    f: np.ndarray
    part: float
    residual: float


def collide(
    M: np.ndarray, v: np.ndarray, points: ImpactPoints, law: str = "energetic", order: str = "together"
) -> ImpactSolution:
    """Return the impact of points at velocity v by a law, stage by stage until no point approaches."""
    check_impact_law(law)
    check_impact_order(order)
    K, stages = len(points.J), MAX_STAGES if order == "together" else MAX_TURNS
    impulses, applied, worst, together = np.zeros((K, 3)), np.zeros(K), 0.0, False
    for stage in range(stages + 1):
        speeds = points.normal @ v
        zero = ZERO_SPEED * max(1.0, np.abs(speeds).max())
        approaching = speeds < -zero
        if not approaching.any():
            break
        last = stage == stages
        if order == "in_turn" and not last:
            approaching = np.arange(K) == np.argmin(speeds)
        hit = np.ones(K, bool) if last else approaching if order == "in_turn" else speeds <= zero
        bounce = np.where(approaching & (not last), points.restitution, 0.0)[hit]
        f, part, residual = _stage(M, v, points, hit, bounce, law)
        worst = max(worst, residual)
        impulses[hit] += f
        applied[approaching] = part * bounce[approaching[hit]]
        together |= law != "newton" and int(hit.sum()) > 1 and bool(points.friction[hit].any())
        v = v + np.einsum("ki,kin->n", f, points.response[hit])
    return ImpactSolution(v, impulses, applied, worst, together)


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


def catch(v: np.ndarray, points: ImpactPoints) -> ImpactSolution | None:
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
    return ImpactSolution(after, impulses, np.zeros(len(rough)))


def _stage(M, v, points: ImpactPoints, hit: np.ndarray, bounce: np.ndarray, law: str) -> StageImpulses:
    """Return the impulses of one stage."""
    J, R, mu = points.J[hit], points.response[hit], points.friction[hit]
    if mu.any():
        if law == "newton":
            return newton_impulses(M, v, J, R, bounce, mu)
        if len(J) > 1:
            return restituted_impulses(v, J, R, bounce, mu, law)
        B = J[0] @ R[0].T
        impulse, applied = path_impact(0.5 * (B + B.T), J[0] @ v, float(mu[0]), float(bounce[0]), law)
        return StageImpulses(impulse[None], applied / bounce[0] if bounce[0] else 1.0, 0.0)
    speeds = J[:, 0] @ v
    A = R[:, 0] @ J[:, 0].T
    A = 0.5 * (A + A.T)
    part, f = 1.0, solve_complementarity(A, speeds * (1.0 + bounce))
    if f is None:
        part, f = 0.0, solve_complementarity(A, speeds)
    impulses = np.zeros((len(speeds), 3))
    if f is None:
        return StageImpulses(impulses, 0.0, np.inf)
    impulses[:, 0] = f
    return StageImpulses(impulses, part, 0.0)


class _FrictionProblem:
    """Impulses and velocities of points along their normals and tangents: u⁺ = A f + u⁻, by the laws of `blocks`."""

    def __init__(self, v: np.ndarray, J: np.ndarray, R: np.ndarray, mu: np.ndarray):
        self.used = np.ones((len(J), 3), bool)
        self.used[mu == 0.0, 1:] = False  # a smooth wall has no tangents
        self.rows, self.responses = J[self.used], R[self.used]
        self.normal = np.flatnonzero(np.argwhere(self.used)[:, 1] == 0)
        A = self.rows @ self.responses.T
        self.A = 0.5 * (A + A.T)
        self.before = self.rows @ v
        self.problem = BlockProblem(self.A, [Block("cone", float(x)) if x > 0.0 else PUSH for x in mu])

    def solve(self, start: np.ndarray, least_speeds: np.ndarray, guess: np.ndarray | None = None) -> ContactForces:
        """Return f ≥ 0 ⊥ uₙ ≥ `least_speeds`, from the velocity `start`; `u` is relative to these speeds."""
        b = start.copy()
        b[self.normal] -= least_speeds
        return self.problem.solve(b, guess)

    def impulses(self, f: np.ndarray) -> np.ndarray:
        """Return impulses (points, 3) from entries of the used rows."""
        impulses = np.zeros(self.used.shape)
        impulses[self.used] = f
        return impulses


def _root(excess: Callable[[float], float], first: float, tolerance: float) -> float:
    """Return k ≥ 0 with excess(k) = 0, given excess(1), or 1 if it is not found: by secants, else by Brent's method."""
    before, value = 0.0, excess(0.0)
    k, new = 1.0, first
    for _ in range(MAX_SECANTS):
        if new == value:
            break
        before, value, k = k, new, k - new * (k - before) / (new - value)
        if not 0.0 < k <= MAX_SCALE:
            break
        new = excess(k)
        if abs(new) <= tolerance:
            return k
    low, high = (0.0, 1.0) if first > 0.0 else (1.0, 2.0)
    while high <= MAX_SCALE and first < 0.0 and excess(high) < 0.0:
        low, high = high, 2.0 * high
    if high <= MAX_SCALE:
        with suppress(ValueError):  # redundant contacts: the solutions at both ends are on different branches
            return scipy.optimize.brentq(excess, low, high, xtol=SCALE_TOLERANCE, rtol=SCALE_TOLERANCE)
    return 1.0


def _largest_part(valid: Callable[[float], bool]) -> float:
    """Return the largest part of a restitution that is valid, to four digits."""
    low, high = 0.0, 1.0
    for _ in range(RESTITUTION_BISECTIONS):
        part = 0.5 * (low + high)
        low, high = (part, high) if valid(part) else (low, part)
    return low


def newton_impulses(
    M: np.ndarray, v: np.ndarray, J: np.ndarray, R: np.ndarray, bounce: np.ndarray, mu: np.ndarray, guard: bool = True
) -> StageImpulses:
    """Return the impulses of Newton's law with Coulomb friction.

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
    guard
        Whether to reduce e if it would add energy.
    """
    problem = _FrictionProblem(v, J, R, mu)
    before, energy = problem.before, 0.5 * v @ M @ v

    def impulses(part: float) -> ContactForces:
        return problem.solve(before, -part * bounce * before[problem.normal])

    def is_valid(solution: ContactForces, energy_tolerance: float) -> bool:
        after = v + solution.f @ problem.responses
        return solution.solved and 0.5 * after @ M @ after - energy <= energy_tolerance

    part, solution = 1.0, impulses(1.0)
    if guard and not is_valid(solution, 1e-12 * energy):
        part = _largest_part(lambda part: is_valid(impulses(part), 0.0))
        solution = impulses(part)
    return StageImpulses(problem.impulses(solution.f), part, solution.residual)


def restituted_impulses(
    v: np.ndarray, J: np.ndarray, R: np.ndarray, bounce: np.ndarray, mu: np.ndarray, law: str
) -> StageImpulses:
    """Return the impulses of several points that are hit together, in two phases with Coulomb friction.

        compression   c ≥ 0 ⊥ uₙ ≥ 0                        friction opposes the slip at the end of this phase
        restitution   r ≥ 0 ⊥ uₙ ≥ k e |u⁻ₙ|                friction opposes the slip at the end of this phase      (1)

        newton-path   k = 1          poisson   Σ r = Σ e c          energetic   Σ work of r = -Σ e² work of c       (2)

    Both phases are straight lines in u, so that the work of an impulse along a normal is its product with the mean of
    uₙ before and after. A point that touches without approaching stays in contact or is pushed off by the others, and
    points that move symmetrically before the impact do so after it. The phases follow the path of a single point
    (`impact_path`) exactly if its slip does not change its direction. If energy would be added, e is reduced as in
    `newton_impulses`, whose parameters these are; if (1) has no solution, there is no restitution.
    """
    problem = _FrictionProblem(v, J, R, mu)
    before, normal = problem.before, problem.normal
    compression = problem.solve(before, np.zeros(len(normal)))
    speeds = -bounce * before[normal]
    if not compression.solved or not speeds.any():
        return StageImpulses(problem.impulses(compression.f), 1.0, compression.residual)
    c, middle = compression.f, compression.u
    work = -0.5 * c[normal] * (before + middle)[normal]
    wanted = bounce @ c[normal] if law == "poisson" else bounce**2 @ work

    latest: np.ndarray | None = None

    def restitution(k: float) -> ContactForces:
        nonlocal latest
        solution = problem.solve(middle, k * speeds, latest)
        latest = solution.f if solution.solved else None
        return solution

    def excess(k: float) -> float:
        """Return the excess of the left-hand side of (2)."""
        r = restitution(k).f
        u = middle + 0.5 * problem.A @ r
        return float((r[normal].sum() if law == "poisson" else r[normal] @ u[normal]) - wanted)

    scale = 1.0
    if law != "newton-path" and abs(first := excess(1.0)) > SCALE_TOLERANCE * wanted and latest is not None:
        scale = _root(excess, first, SCALE_TOLERANCE * wanted)

    def is_valid(solution: ContactForces, tolerance: float) -> bool:
        f = c + solution.f
        return solution.solved and float(f @ (before + 0.5 * problem.A @ f)) <= tolerance

    part, solution = 1.0, restitution(scale)
    if not solution.solved:
        part, solution = 0.0, restitution(0.0)
    elif not is_valid(solution, 1e-12 * float(np.abs(c @ before))):
        part = _largest_part(lambda part: is_valid(restitution(part * scale), 0.0))
        solution = restitution(part * scale)
    return StageImpulses(problem.impulses(c + solution.f), part, max(compression.residual, solution.residual))
