"""Forces of contact and dry friction together: pushing contacts, friction cones and bounded drive friction.

Forces f act along rows whose velocities (at an impact) or accelerations (in a phase) are u = A f + b. Each block of
rows obeys one of three laws,

    push   f ≥ 0 ⊥ u ≥ 0                                                      a smooth wall, a stop             (1)
    cone   fₙ ≥ 0 ⊥ uₙ ≥ 0,  |f_t| ≤ μ fₙ,  f_t = -μ fₙ u_t / |u_t| where u_t ≠ 0      a wall with friction     (2)
    box    |f| ≤ F,  f = -F sign u where u ≠ 0                                dry friction of a joint           (3)

and each law is the root of a projection (Alart and Curnier 1991): with z = f - r u,

    fₙ = max(0, zₙ)        f_t = z_t, shortened to μ max(0, zₙ)        f = z, clipped to ±F                     (4)

Newton's method for f - (4) = 0 starts from the solution without the tangents of the cones, which is a convex programme
if A is symmetric (complementarity, or least squares with bounds). If it does not converge from there, it starts from
the results of a sequence of convex problems (`convex`), or of sweeps over the blocks if A is not symmetric. If rows are
redundant, the forces are not unique, and the solution nearest to the start is returned. A problem may have no solution
(sliding with large friction makes A unsymmetric, Painlevé 1895): callers must check `ContactForces.solved`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import scipy  # its packages are imported when they are first used

from appell.compile.ode.newton import ProjectedEquations
from appell.simulation.contact.complementarity import solve_complementarity, square_root
from appell.simulation.contact.convex import convex_rounds

SWEEP_STARTS = 6  # starts of Newton's method from sweeps
SWEEPS_PER_START = 50
SYMMETRY_TOLERANCE = 1e-9  # relative to the largest entry
TARGET_RESIDUAL = 1e-12  # relative to the largest force: aim of Newton's method
MAX_RESIDUAL = 1e-8  # relative to the largest force: accepted as a solution


@dataclass(frozen=True)
class Block:
    """A law: `kind` is push, cone or box; `bound` is μ of a cone, or the largest force of a box in N or N m."""

    kind: str
    bound: float = 0.0

    @property
    def size(self) -> int:
        """Number of rows."""
        return 3 if self.kind == "cone" else 1


PUSH = Block("push")


@dataclass(frozen=True)
class ContactForces:
    """Forces f, the velocities or accelerations u along their rows, and the residual of all laws."""

    f: np.ndarray
    u: np.ndarray
    residual: float  # relative to the largest force

    @property
    def solved(self) -> bool:
        return self.residual <= MAX_RESIDUAL


def solve_blocks(
    A: np.ndarray,
    b: np.ndarray,
    blocks: Sequence[Block],
    guess: np.ndarray | None = None,
    target: float = TARGET_RESIDUAL,
) -> ContactForces:
    """Solve u = A f + b with the laws (1) to (3).

    Parameters
    ----------
    A, b
        Matrix (n, n) and vector (n,).
    blocks
        Laws of the n rows, in order.
    guess
        Forces from which to start first, (n,).
    target
        Relative residual at which to stop.

    Returns
    -------
    ContactForces
        The solution, or the best approximation; check `solved`.
    """
    return BlockProblem(A, blocks).solve(b, guess, target)


class BlockProblem:
    """The problem of `solve_blocks` for one matrix and several b."""

    def __init__(self, A: np.ndarray, blocks: Sequence[Block]):
        self.A, self.laws = A, laws_of(tuple(blocks))

    @cached_property
    def r(self) -> np.ndarray:
        """Step lengths of all entries."""
        return self.laws.steps(self.A)

    @cached_property
    def _newton(self) -> ProjectedEquations:
        """Newton's method for (4)."""
        laws = self.laws
        return ProjectedEquations(self.A, self.r, laws.lower, laws.upper, laws.normal, laws.mu)

    def solve(self, b: np.ndarray, guess: np.ndarray | None = None, target: float = TARGET_RESIDUAL) -> ContactForces:
        """Return the solution for b."""
        if not len(b):
            return ContactForces(np.zeros(0), np.zeros(0), 0.0)
        best, smallest = np.zeros(len(b)), np.inf
        for start in _starts(self.A, b, self.laws, self.r, guess):
            f, error = self._newton.solve(b, start, target)
            if error < smallest:
                best, smallest = f, error
            if smallest <= target:
                break
        return ContactForces(best, self.A.dot(best) + b, smallest)


class Laws:
    """The blocks as arrays: bounds of the entries, and the indices of the rows of cones."""

    def __init__(self, blocks: Sequence[Block]):
        self.blocks = list(blocks)
        sizes = [block.size for block in self.blocks]
        self.first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int) if sizes else np.zeros(0, int)
        cones = [k for k, block in enumerate(self.blocks) if block.kind == "cone"]
        self.mu = np.array([self.blocks[k].bound for k in cones])
        self.normal = self.first[cones]
        self.tangent = self.normal[:, None] + [1, 2]
        self.lower, self.upper = np.zeros(sum(sizes)), np.full(sum(sizes), np.inf)
        for row, block in zip(self.first, self.blocks, strict=True):
            if block.kind == "box":
                self.lower[row], self.upper[row] = -block.bound, block.bound
        self.single = np.ones(len(self.lower), bool)
        self.single[self.tangent] = False

    @cached_property
    def boxed(self) -> bool:
        """Whether there is a box."""
        return any(block.kind == "box" for block in self.blocks)

    def steps(self, A: np.ndarray) -> np.ndarray:
        """Return r of every entry, equal within a block, such that a step of (4) has the size of the forces."""
        r = np.abs(np.diag(A)).copy()
        if len(self.mu):
            cones = np.concatenate([self.normal[:, None], self.tangent], axis=1)
            sizes = np.sqrt((A[cones[:, :, None], cones[:, None, :]] ** 2).sum(axis=(1, 2)))
            r[cones] = sizes[:, None]
        return 1.0 / np.maximum(r, 1e-300)

    def project(self, z: np.ndarray) -> np.ndarray:
        """Return the projection (4)."""
        f = np.minimum(np.maximum(z, self.lower), self.upper)
        if len(self.mu):
            x, y = self.tangent.T
            zx, zy = z[x], z[y]
            radius, length = self.mu * f[self.normal], np.hypot(zx, zy)
            part = np.where(length <= radius, 1.0, radius / np.maximum(length, 1e-300))
            f[x], f[y] = part * zx, part * zy
        return f


@lru_cache(maxsize=64)
def laws_of(blocks: tuple[Block, ...]) -> Laws:
    """Return the laws of blocks; a run has few combinations of them."""
    return Laws(blocks)


def _starts(A: np.ndarray, b: np.ndarray, laws: Laws, r: np.ndarray, guess: np.ndarray | None):
    """Yield starts of Newton's method, the cheapest first."""
    if guess is not None and guess.any():
        yield guess
    f = _without_tangents(A, b, laws)
    yield f
    if np.abs(A - A.T).max() <= SYMMETRY_TOLERANCE * np.abs(A).max():
        yield from convex_rounds(A, b, laws, r, f)
    else:
        for _ in range(SWEEP_STARTS):
            f = _sweep(A, b, laws, r, f)
            yield f
    yield laws.project(np.linalg.lstsq(A, -b, rcond=1e-11)[0])  # all contacts stick


def _without_tangents(A: np.ndarray, b: np.ndarray, laws: Laws) -> np.ndarray:
    """Return the forces of the same problem with walls without friction."""
    f, single = np.zeros(len(b)), laws.single
    part = A[np.ix_(single, single)]
    part = 0.5 * (part + part.T)
    if not laws.boxed:
        pushes = solve_complementarity(part, b[single])
        f[single] = 0.0 if pushes is None else pushes
        return f
    root = square_root(part)
    target = np.linalg.lstsq(root.T, -b[single], rcond=1e-11)[0]
    f[single] = scipy.optimize.lsq_linear(root, target, (laws.lower[single], laws.upper[single]), method="bvls").x
    return f


def _sweep(A, b, laws: Laws, r: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Return the forces after Gauss-Seidel sweeps over the blocks."""
    f, scale = f.copy(), max(float((np.abs(b) * r).max()), 1e-300)
    single = [Laws([block]) for block in laws.blocks]
    spans = [slice(first, first + block.size) for first, block in zip(laws.first, laws.blocks, strict=True)]
    for _ in range(SWEEPS_PER_START):
        change = 0.0
        for law, s in zip(single, spans, strict=True):
            new = law.project(f[s] - r[s] * (A[s] @ f + b[s]))
            change = max(change, float(np.abs(new - f[s]).max()))
            f[s] = new
        if change <= 1e-3 * TARGET_RESIDUAL * scale:
            break
    return f
