"""Symmetric positive definite systems over abstract scalars, factorised from the last row up.

For the inertia matrix of a tree, eliminating leaves first creates no entries where two branches do not meet: with
literal zeros there, the folding scalars skip all their work, so that branches cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.guarded import guarded_inverse
from appell.algebra.scalar import Scalar


@dataclass(frozen=True)
class LDL:
    """H = Lᵀ D L with a unit lower triangular L; `inverse_pivots` holds 1 / D."""

    lower: list[list[Scalar]]
    inverse_pivots: list[Scalar]

    @staticmethod
    def of(matrix: Sequence[Sequence[Scalar]], limit: float | None = None) -> LDL:
        """The factors; with a limit they are NaN where a pivot is that much smaller than it was before."""
        H = [list(row) for row in matrix]
        inverse: list[Scalar] = [0.0] * len(H)
        for k in range(len(H) - 1, -1, -1):
            pivot = H[k][k]
            inverse[k] = 1.0 / pivot if limit is None else guarded_inverse(limit * pivot - matrix[k][k], pivot)
            for i in range(k):
                ratio = H[k][i] * inverse[k]
                for j in range(i + 1):
                    H[i][j] = H[i][j] - ratio * H[k][j]
            for i in range(k):
                H[k][i] = H[k][i] * inverse[k]
        return LDL(H, inverse)

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x with H x = right."""
        return self.lowered(self.raised(right))

    def raised(self, right: Sequence[Scalar]) -> list[Scalar]:
        """L⁻ᵀ right."""
        x = list(right)
        for k in range(len(x) - 1, -1, -1):
            for i in range(k):
                x[i] = x[i] - self.lower[k][i] * x[k]
        return x

    def lowered(self, right: Sequence[Scalar]) -> list[Scalar]:
        """L⁻¹ D⁻¹ right."""
        x = list(right)
        for k in range(len(x)):
            x[k] = self.inverse_pivots[k] * x[k]
            for i in range(k):
                x[k] = x[k] - self.lower[k][i] * x[i]
        return x

    def inverse(self) -> list[list[Scalar]]:
        """H⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ, column by column from the diagonal down: L H⁻¹ = D⁻¹ L⁻ᵀ has 1 / D there and 0 below."""
        n = len(self.lower)
        found: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
        for j in range(n):
            for k in range(j, n):
                entry = self.inverse_pivots[k] if k == j else 0.0
                for i in range(k):
                    entry = entry - self.lower[k][i] * found[i][j]
                found[k][j] = found[j][k] = entry
        return found
