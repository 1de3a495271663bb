"""Symmetric positive definite systems over abstract scalars, factorised from the last row up.

For the inertia matrix of a tree, eliminating leaves first creates no entries where two branches do not meet: with
literal zeros there, the folding scalars skip all their work, so that branches cost nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.scalar import Scalar


@dataclass(frozen=True)
class LDL:
    """H = Lᵀ D L with a unit lower triangular L; `inverse_pivots` holds 1 / D."""

    lower: list[list[Scalar]]
    inverse_pivots: list[Scalar]

    @staticmethod
    def of(matrix: Sequence[Sequence[Scalar]]) -> LDL:
        H = [list(row) for row in matrix]
        inverse: list[Scalar] = [0.0] * len(H)
        for k in range(len(H) - 1, -1, -1):
            inverse[k] = 1.0 / H[k][k]
            for i in range(k):
                ratio = H[k][i] * inverse[k]
                for j in range(i + 1):
                    H[i][j] = H[i][j] - ratio * H[k][j]
            for i in range(k):
                H[k][i] = H[k][i] * inverse[k]
        return LDL(H, inverse)

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x with H x = right."""
        x = list(right)
        n = len(x)
        for k in range(n - 1, -1, -1):
            for i in range(k):
                x[i] = x[i] - self.lower[k][i] * x[k]
        for k in range(n):
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
