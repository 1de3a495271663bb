"""Symmetric positive definite systems by Cholesky's factorisation, H = Lᵀ L, from the last row up.

    l_kk = √(h_kk - Σ l_jk²)        l_ki = (h_ki - Σ l_jk l_ji) / l_kk        j > k > i                         (1)

Like `solve.LDL` it starts at the leaves of a tree, so that literal zeros where branches do not meet stay zeros.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.scalar import Scalar, sqrt


def solve_cholesky(matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """x with matrix x = right."""
    n = len(right)
    L = [list(row) for row in matrix]
    inverse: list[Scalar] = [0.0] * n
    for k in reversed(range(n)):
        inverse[k] = 1.0 / sqrt(L[k][k])
        for i in range(k):
            L[k][i] = L[k][i] * inverse[k]  # (1)
        for i in range(k):
            for j in range(i + 1):
                L[i][j] = L[i][j] - L[k][i] * L[k][j]
    x = list(right)
    for k in reversed(range(n)):
        x[k] = x[k] * inverse[k]
        for i in range(k):
            x[i] = x[i] - L[k][i] * x[k]
    for k in range(n):
        for i in range(k):
            x[k] = x[k] - L[k][i] * x[i]
        x[k] = x[k] * inverse[k]
    return x
