"""Symmetric positive semidefinite systems A x = b over abstract scalars, without pivoting and without branches.

A = L D Lᵀ is factorised in row order. A row whose pivot is a small fraction of its diagonal entry depends on the rows
before it and is dropped: its column of L, including the diagonal, and its 1/D are zero.

    L D Lᵀ x = b,  z = L⁻¹ b                x = L⁻ᵀ D⁺ z             zero in the dropped rows                       (1)

z of a dropped row is the part of b that A x cannot reach. The solution of least norm, which is the pseudoinverse times
b, follows from N = LᵀL, with ones on the diagonal for dropped rows, by one refinement:

    x = L N⁻¹ D⁺ N⁻¹ Lᵀ b                   x ← x + L N⁻¹ D⁺ N⁻¹ Lᵀ (b - A x)                                      (2)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.scalar import Matrix, Scalar, Vector, dot, select
from appell.algebra.solve import LDL

DROP_RATIO = 1e-11  # pivot, as a fraction of the diagonal entry, up to which a row counts as dependent
SINGULAR_RATIO = 1e-6  # fraction up to which a row that is not dropped counts as nearly dependent


@dataclass(frozen=True)
class SemidefiniteLDL:
    """Factors of A; `kept` is 1 for rows that are kept, 0 for others, `near` is positive for rows nearly dropped."""

    matrix: Sequence[Vector]
    lower: Matrix  # below the diagonal, row by row
    inverse_pivots: list[Scalar]
    kept: list[Scalar]
    near: list[Scalar]

    @staticmethod
    def of(matrix: Sequence[Vector]) -> SemidefiniteLDL:
        """Factorise a matrix, of which only the lower half is read."""
        n = len(matrix)
        lower: Matrix = [[] for _ in range(n)]
        scaled: Matrix = [[] for _ in range(n)]  # L D
        inverse, kept, near = [], [], []
        for k in range(n):
            pivot = matrix[k][k]
            for x, y in zip(scaled[k], lower[k], strict=True):
                pivot = pivot - x * y
            keep = pivot - DROP_RATIO * matrix[k][k]
            kept.append(select(keep, 1.0, 0.0))
            near.append(SINGULAR_RATIO * matrix[k][k] - pivot)
            inverse.append(select(keep, 1.0 / select(keep, pivot, 1.0), 0.0))
            for i in range(k + 1, n):
                entry = matrix[i][k]
                for x, y in zip(scaled[i], lower[k], strict=True):
                    entry = entry - x * y
                scaled[i].append(entry)
                lower[i].append(entry * inverse[k])
        return SemidefiniteLDL(matrix, lower, inverse, kept, near)

    def reduce(self, right: Vector) -> list[Scalar]:
        """z = L⁻¹ b."""
        z: list[Scalar] = []
        for row, b in zip(self.lower, right, strict=True):
            for x, y in zip(row, z, strict=True):
                b = b - x * y
            z.append(b)
        return z

    def back_substitute(self, z: Vector) -> list[Scalar]:
        """x of (1) from z."""
        x = [inverse * b for inverse, b in zip(self.inverse_pivots, z, strict=True)]
        for k in range(len(x) - 1, -1, -1):
            for i in range(k + 1, len(x)):
                x[k] = x[k] - self.lower[i][k] * x[i]
        return x

    def solve(self, right: Vector) -> list[Scalar]:
        """x of (1)."""
        return self.back_substitute(self.reduce(right))

    def inverse(self) -> Matrix:
        """A⁺ of (1), symmetric: the inverse of the kept rows and columns, zero in the others."""
        n = len(self.lower)
        columns: Matrix = []
        for j in range(n):
            z = [0.0] * j + [1.0]
            for k in range(j + 1, n):
                z.append(-dot(self.lower[k][j:], z[j:]))
            columns.append(self.back_substitute(z))
        return [[columns[min(i, j)][max(i, j)] for j in range(n)] for i in range(n)]

    def least_norm(self, right: Vector) -> list[Scalar]:
        """x of (2)."""
        n = len(self.lower)
        L = [[*row, self.kept[k], *[0.0] * (n - 1 - k)] for k, row in enumerate(self.lower)]
        columns = list(zip(*L, strict=True))
        N = [[dot(columns[i][i:], columns[j][i:]) for j in range(i + 1)] for i in range(n)]
        for k in range(n):
            N[k][k] = N[k][k] + (1.0 - self.kept[k])
        gram = LDL.of([[N[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)])

        def apply(b: Vector) -> list[Scalar]:
            half = gram.solve([dot(column, b) for column in columns])
            scaled = gram.solve([inverse * x for inverse, x in zip(self.inverse_pivots, half, strict=True)])
            return [dot(row, scaled) for row in L]

        x = apply(right)
        full = [[self.matrix[max(i, j)][min(i, j)] for j in range(n)] for i in range(n)]
        rest = [b - dot(row, x) for b, row in zip(right, full, strict=True)]
        return [p + d for p, d in zip(x, apply(rest), strict=True)]
