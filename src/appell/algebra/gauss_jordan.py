"""Linear systems by Gauss-Jordan elimination without pivoting, for matrices that need none.

Every column is cleared above and below its pivot, so that no back substitution follows. Half as dear again as a
symmetric factorisation and blind to symmetry; the papers' simulations use it, and so do comparisons with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.scalar import Scalar


def solve_gauss_jordan(matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """x with matrix x = right."""
    n = len(right)
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for k in range(n):
        inverse = 1.0 / rows[k][k]
        rows[k] = [x * inverse for x in rows[k]]
        for i in range(n):
            if i != k:
                factor = rows[i][k]
                rows[i] = rows[i][: k + 1] + [
                    x - factor * y for x, y in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)
                ]
    return [row[n] for row in rows]
