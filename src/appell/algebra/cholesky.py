"""Symmetric positive definite systems by Cholesky's factorisation, H = Lᵀ L, from the last row up.

    l_kk = √(h_kk - Σ l_jk²)        l_ki = (h_ki - Σ l_jk l_ji) / l_kk        j > k > i                         (1)

Like `solve.LDL` it starts at the leaves of a tree, so that literal zeros where branches do not meet stay zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.scalar import Scalar, sqrt


@dataclass(frozen=True)
class Cholesky:
    """The factor below its diagonal, and one over its diagonal."""

    rows: list[list[Scalar]]
    inverse: list[Scalar]

    @staticmethod
    def of(matrix: Sequence[Sequence[Scalar]]) -> Cholesky:
        n = len(matrix)
        L = [list(row) for row in matrix]
        inverse: list[Scalar] = [0.0] * n
        for k in reversed(range(n)):
            inverse[k] = 1.0 / sqrt(L[k][k])
            for i in range(k):
                L[k][i] = L[k][i] * inverse[k]  # (1)
            for i in range(k):
                for j in range(i + 1):
                    L[i][j] = L[i][j] - L[k][i] * L[k][j]
        return Cholesky(L, inverse)

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """x with matrix x = right."""
        x = list(right)
        for k in reversed(range(len(x))):
            x[k] = x[k] * self.inverse[k]
            for i in range(k):
                x[i] = x[i] - self.rows[k][i] * x[k]
        for k in range(len(x)):
            for i in range(k):
                x[k] = x[k] - self.rows[k][i] * x[i]
            x[k] = x[k] * self.inverse[k]
        return x
