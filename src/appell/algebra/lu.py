"""Square systems over abstract scalars, eliminated in an order that was chosen beforehand.

A tape cannot look for pivots. Whoever knows the matrix at some samples says which entry (row i, column j) comes first,
second and so on; with literal zeros in the matrix, everything that an order of few fill-ins leaves out folds away.

    A = L U,  step k:    m_r = A_rj / A_ij,    A_r ← A_r - m_r A_i      for the rows r that come after i       (1)

Where a pivot is smaller than its least, the solution is NaN and not a huge number that looks like one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.guarded import guarded_inverse
from appell.algebra.scalar import Scalar, Vector, is_number


@dataclass(frozen=True)
class Pivot:
    """Which entry is eliminated with, and the size below which it counts as zero."""

    row: int
    column: int
    least: float


@dataclass(frozen=True)
class LU:
    """`entries` holds U where rows and columns come after a pivot, and the m of (1) below it."""

    entries: list[list[Scalar]]
    pivots: Sequence[Pivot]
    inverse: list[Scalar]

    @staticmethod
    def of(matrix: Sequence[Vector], pivots: Sequence[Pivot]) -> LU:
        A = [list(row) for row in matrix]
        inverse: list[Scalar] = []
        for k, pivot in enumerate(pivots):
            upper, later = A[pivot.row], pivots[k + 1 :]
            entry = upper[pivot.column]
            inverse.append(guarded_inverse(entry * entry - pivot.least * pivot.least, entry))
            for row in (A[other.row] for other in later):
                ratio = row[pivot.column] * inverse[k]
                row[pivot.column] = ratio
                if not _is_zero(ratio):
                    for other in later:
                        row[other.column] = row[other.column] - ratio * upper[other.column]
        return LU(A, pivots, inverse)

    @property
    def diagonal(self) -> list[Scalar]:
        """The pivots' entries, in their order."""
        return [self.entries[pivot.row][pivot.column] for pivot in self.pivots]

    def solve(self, right: Vector) -> list[Scalar]:
        """x with A x = right."""
        y = list(right)
        for k, pivot in enumerate(self.pivots):
            for other in self.pivots[k + 1 :]:
                y[other.row] = y[other.row] - self.entries[other.row][pivot.column] * y[pivot.row]
        x: list[Scalar] = [0.0] * len(y)
        for k in range(len(self.pivots) - 1, -1, -1):
            pivot = self.pivots[k]
            upper, found = self.entries[pivot.row], y[pivot.row]
            for other in self.pivots[k + 1 :]:
                found = found - upper[other.column] * x[other.column]
            x[pivot.column] = self.inverse[k] * found
        return x

    def solve_transposed(self, right: Vector) -> list[Scalar]:
        """z with Aᵀ z = right."""
        t = list(right)
        for k, pivot in enumerate(self.pivots):
            t[pivot.column] = self.inverse[k] * t[pivot.column]
            for other in self.pivots[k + 1 :]:
                t[other.column] = t[other.column] - self.entries[pivot.row][other.column] * t[pivot.column]
        z: list[Scalar] = [0.0] * len(t)
        for k in range(len(self.pivots) - 1, -1, -1):
            pivot = self.pivots[k]
            found = t[pivot.column]
            for other in self.pivots[k + 1 :]:
                found = found - self.entries[other.row][pivot.column] * z[other.row]
            z[pivot.row] = found
        return z


def _is_zero(x: Scalar) -> bool:
    return is_number(x) and x == 0.0
