"""Forces of contact and dry friction together: what pushes, what rubs within a cone, what is held within a bound.

Forces f act along rows whose velocities (at an impact) or accelerations (in a phase) are u = A f + b. Each block of
them has one of three laws,

    push   f ≥ 0 ⊥ u ≥ 0                                                      a smooth wall, a stop             (1)
    cone   fₙ ≥ 0 ⊥ uₙ ≥ 0,  |f_t| ≤ μ fₙ,  f_t = -μ fₙ u_t / |u_t| where u_t ≠ 0      a wall with friction     (2)
    box    |f| ≤ F,  f = -F sign u where u ≠ 0                                dry friction of a joint           (3)

and each is the root of a projection (Alart and Curnier 1991): with z = f - r u,

    fₙ = max(0, zₙ)        f_t = z_t, shortened to μ max(0, zₙ)        f = z, clipped to ±F                     (4)

Newton's method on f - (4) = 0 starts from the solution without the cones' tangents, which is a convex programme if A is
symmetric (complementarity, or least squares with bounds). If that is too far away, it starts from a row of convex
problems (`convex`), or from sweeps over the blocks if A is not symmetric. Where rows are redundant the forces are not
unique; the solution nearest to the start is taken. A problem may have no solution (sliding with much friction makes A
unsymmetric, Painlevé 1895): the residual says so, and callers must ask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import lsq_linear

from appell.simulation.contact.complementarity import solve_complementarity, square_root
from appell.simulation.contact.convex import convex_rounds

ROUNDS = 6
SWEEPS = 50
NEWTON = 40
PATIENCE = 8  # steps of Newton's method that bring nothing
SYMMETRIC = 1e-9  # of the largest entry
AIM = 1e-12  # of the largest force: what Newton's method goes for
SOLVED = 1e-8  # of the largest force: what passes as a solution


@dataclass(frozen=True)
class Block:
    """A law: `kind` is push, cone or box; `bound` is μ of a cone, N or N m of a box."""

    kind: str
    bound: float = 0.0

    @property
    def size(self) -> int:
        return 3 if self.kind == "cone" else 1


PUSH = Block("push")


@dataclass(frozen=True)
class Balance:
    """Forces, what they leave of the motion along their rows, and how far they are from obeying all laws."""

    f: np.ndarray
    u: np.ndarray
    residual: float  # relative to the largest force at hand

    @property
    def solved(self) -> bool:
        return self.residual <= SOLVED


def solve_blocks(
    A: np.ndarray, b: np.ndarray, blocks: Sequence[Block], guess: np.ndarray | None = None, aim: float = AIM
) -> Balance:
    """f and u of (1) to (3), or the nearest that was found: look at `solved`.

    A `guess` is where to start first; a residual of `aim` is good enough.
    """
    laws = Laws(blocks)
    if not len(b):
        return Balance(np.zeros(0), np.zeros(0), 0.0)
    r = laws.steps(A)
    scale = max(float((np.abs(b) * r).max()), 1e-300)
    best, smallest = np.zeros(len(b)), np.inf
    for start in _starts(A, b, laws, r, scale, guess):
        f, error = _newton(A, b, laws, r, start, aim * scale)
        if error < smallest:
            best, smallest = f, error
        if smallest <= aim * scale:
            break
    return Balance(best, A @ best + b, smallest / scale)


class Laws:
    """The blocks as arrays: bounds of single entries, and the places of the cones."""

    def __init__(self, blocks: Sequence[Block]):
        self.blocks = list(blocks)
        sizes = [block.size for block in self.blocks]
        self.first = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(int) if sizes else np.zeros(0, int)
        cones = [k for k, block in enumerate(self.blocks) if block.kind == "cone"]
        self.mu = np.array([self.blocks[k].bound for k in cones])
        self.normal = self.first[cones]
        self.tangent = self.normal[:, None] + [1, 2]
        self.lower, self.upper = np.zeros(sum(sizes)), np.full(sum(sizes), np.inf)
        for place, block in zip(self.first, self.blocks, strict=True):
            if block.kind == "box":
                self.lower[place], self.upper[place] = -block.bound, block.bound
        self.single = np.ones(len(self.lower), bool)
        self.single[self.tangent] = False

    @cached_property
    def boxed(self) -> bool:
        return any(block.kind == "box" for block in self.blocks)

    def steps(self, A: np.ndarray) -> np.ndarray:
        """r of every entry, one number a block: so that a step of (4) is of the size of the forces."""
        r = np.abs(np.diag(A)).copy()
        if len(self.mu):
            places = np.concatenate([self.normal[:, None], self.tangent], axis=1)
            sizes = np.linalg.norm(A[places[:, :, None], places[:, None, :]], 2, axis=(1, 2))
            r[places] = sizes[:, None]
        return 1.0 / np.maximum(r, 1e-300)

    def project(self, z: np.ndarray) -> np.ndarray:
        """(4)."""
        f = np.clip(z, self.lower, self.upper)
        if len(self.mu):
            t = z[self.tangent]
            radius, length = self.mu * f[self.normal], np.hypot(t[:, 0], t[:, 1])
            f[self.tangent] = np.where(length <= radius, 1.0, radius / np.maximum(length, 1e-300))[:, None] * t
        return f

    def slope(self, z: np.ndarray) -> np.ndarray:
        """The derivative of (4) by z."""
        W = np.diag(((z > self.lower) & (z < self.upper) & self.single).astype(float))
        for n, (i, j), mu in zip(self.normal, self.tangent, self.mu, strict=True):
            if z[n] <= 0.0:
                continue
            length, radius = float(np.hypot(z[i], z[j])), mu * z[n]
            if length <= radius:
                W[i, i] = W[j, j] = 1.0
            else:
                x, y, part = z[i] / length, z[j] / length, radius / length
                W[i, n], W[j, n] = mu * x, mu * y
                W[i, i], W[i, j], W[j, i], W[j, j] = part * y * y, -part * x * y, -part * x * y, part * x * x
        return W


def _starts(A: np.ndarray, b: np.ndarray, laws: Laws, r: np.ndarray, scale: float, guess: np.ndarray | None):
    """Where Newton's method may start, one after the other."""
    if guess is not None and guess.any():
        yield guess
    f = _without_tangents(A, b, laws)
    yield f
    if np.abs(A - A.T).max() <= SYMMETRIC * np.abs(A).max():
        yield from convex_rounds(A, b, laws, r, f)
    else:
        for _ in range(ROUNDS):
            f = _swept(A, b, laws, r, f, scale)
            yield f
    yield laws.project(np.linalg.lstsq(A, -b, rcond=1e-11)[0])  # all stick: a jam


def _without_tangents(A: np.ndarray, b: np.ndarray, laws: Laws) -> np.ndarray:
    """What smooth walls and the joints would do."""
    f, single = np.zeros(len(b)), laws.single
    part = A[np.ix_(single, single)]
    part = 0.5 * (part + part.T)
    if not laws.boxed:
        pushes = solve_complementarity(part, b[single])
        f[single] = 0.0 if pushes is None else pushes
        return f
    root = square_root(part)
    target = np.linalg.lstsq(root.T, -b[single], rcond=1e-11)[0]
    f[single] = lsq_linear(root, target, (laws.lower[single], laws.upper[single]), method="bvls").x
    return f


def _swept(A, b, laws: Laws, r: np.ndarray, f: np.ndarray, scale: float) -> np.ndarray:
    """Block by block, each with the others' latest forces."""
    f = f.copy()
    single = [Laws([block]) for block in laws.blocks]
    places = [slice(first, first + block.size) for first, block in zip(laws.first, laws.blocks, strict=True)]
    for _ in range(SWEEPS):
        moved = 0.0
        for law, s in zip(single, places, strict=True):
            new = law.project(f[s] - r[s] * (A[s] @ f + b[s]))
            moved = max(moved, float(np.abs(new - f[s]).max()))
            f[s] = new
        if moved <= 1e-3 * AIM * scale:
            break
    return f


def _newton(A, b, laws: Laws, r: np.ndarray, f: np.ndarray, aim: float) -> tuple[np.ndarray, float]:
    """Newton's method on f - (4) = 0; the best point met, within its laws, and its error."""
    best, smallest, met = f, np.inf, 0
    identity = np.eye(len(f))
    dz = identity - r[:, None] * A
    for step in range(NEWTON):
        z = f - r * (A @ f + b)
        error = f - laws.project(z)
        size = float(np.abs(error).max())
        if not np.isfinite(size):
            break
        if size < smallest:
            best, smallest, met = f, size, step
        if size <= 1e-3 * aim or step > met + PATIENCE:
            break
        f = f - np.linalg.lstsq(identity - laws.slope(z) @ dz, error, rcond=1e-13)[0]
    best = laws.project(best)
    return best, float(np.abs(best - laws.project(best - r * (A @ best + b))).max())
