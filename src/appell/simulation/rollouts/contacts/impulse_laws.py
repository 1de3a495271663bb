"""What the impulses along some rows may be, each law solved for its own rows while all others stand still.

With u = A f + b along all rows and A' the part of A that belongs to a law's own,

    range   low ≤ u ≤ high,  f ≥ 0 where u = low,  f ≤ 0 where u = high,  f = 0 between       a wall, two stops  (1)
    cone    (1) for fₙ, low alone;  |f_t| ≤ μ fₙ,  f_t = -μ fₙ u_t / |u_t| where u_t ≠ 0      a rough wall       (2)
    box     |f| ≤ F,  f = -F sign u where u ≠ 0                                               a dry joint        (3)

as in `simulation.blocks`. (1) and (3) have one row, and f follows from u at once. A cone first tries to stick,
z = f - A'⁻¹(u - low n), which is exact if z lies in the cone. Otherwise it slides: fₙ by (1), then f_t = z_t cut to
μ fₙ, with z_t = f_t - r u_t and r = 1/λ, the largest eigenvalue λ of the tangents' part of A'. One such step is not
exact, but whatever stands still under it obeys (2).

A direction in which nothing moves has no impulse; A' of a cone is made larger by a 10⁻¹⁰-th of its trace for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from appell.algebra.cholesky import Cholesky
from appell.algebra.piecewise import clamp, positive
from appell.algebra.scalar import Scalar, Vector, dot, select, sqrt

SOFT = 1e-10  # of the trace
TINY = 1e-30  # below all that matters, and a number in single precision too

Matrix = Sequence[Sequence[Scalar]]


class ImpulseLaw(Protocol):
    """One or more rows. `data` is all that changes with the state: what is computed once, before the sweeps."""

    @property
    def size(self) -> int: ...

    def data(self, A: Matrix) -> list[Scalar]:
        """Of the law's own rows A'."""

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        """f that obeys the law, from f and u with all other impulses as they are."""


@dataclass(frozen=True)
class Range:
    """(1); None: no bound on that side."""

    low: Scalar | None = None
    high: Scalar | None = None

    size: ClassVar[int] = 1

    def data(self, A: Matrix) -> list[Scalar]:
        return [_inverse(A[0][0]), *(x for x in (self.low, self.high) if x is not None)]

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        inverse, *bounds = data
        found: Scalar = 0.0
        if self.low is not None:
            found = found + positive(f[0] + inverse * (bounds[0] - u[0]))
        if self.high is not None:
            found = found - positive(inverse * (u[0] - bounds[-1]) - f[0])
        return [found]


@dataclass(frozen=True)
class Cone:
    """(2); a normal and one or two tangents."""

    low: Scalar
    friction: float
    size: int

    def data(self, A: Matrix) -> list[Scalar]:
        trace = sum((A[k][k] for k in range(self.size)), start=0.0)
        soft = [
            [A[i][j] + (SOFT * trace + TINY if i == j else 0.0) for j in range(self.size)] for i in range(self.size)
        ]
        factor = Cholesky.of(soft)
        units = [factor.solve([float(i == k) for i in range(self.size)]) for k in range(self.size)]
        stick = [select(trace, units[i][j], 0.0) for i in range(self.size) for j in range(i + 1)]
        return [self.low, _inverse(A[0][0]), _inverse(_largest([row[1:] for row in soft[1:]])), *stick]

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        low, inverse, r, *stick = data
        mu, gap = self.friction, [u[0] - low, *u[1:]]
        rows = [
            [stick[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(self.size)] for i in range(self.size)
        ]
        held = [x - dot(row, gap) for x, row in zip(f, rows, strict=True)]
        normal = positive(f[0] + inverse * (low - u[0]))
        rubbed = [x - r * y for x, y in zip(f[1:], u[1:], strict=True)]
        bound = mu * normal
        square = dot(rubbed, rubbed)
        part = select(square - bound * bound, bound / sqrt(square + TINY), 1.0)
        slid = [normal, *(part * x for x in rubbed)]
        reach = mu * positive(held[0])
        sticks = reach * reach - dot(held[1:], held[1:])
        return [select(sticks, x, y) for x, y in zip(held, slid, strict=True)]


@dataclass(frozen=True)
class Box:
    """(3)."""

    bound: Scalar

    size: ClassVar[int] = 1

    def data(self, A: Matrix) -> list[Scalar]:
        return [_inverse(A[0][0]), self.bound]

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        inverse, bound = data
        return [clamp(f[0] - inverse * u[0], -bound, bound)]


def _inverse(x: Scalar) -> Scalar:
    """1/x of what is not negative, 0 of 0."""
    return select(x, 1.0 / (x + TINY), 0.0)


def _largest(A: Matrix) -> Scalar:
    """The largest eigenvalue of a symmetric matrix of one or two rows."""
    if len(A) == 1:
        return A[0][0]
    half, mean = 0.5 * (A[0][0] - A[1][1]), 0.5 * (A[0][0] + A[1][1])
    return mean + sqrt(half * half + A[0][1] * A[0][1] + TINY)  # a root of 0 has no derivative
