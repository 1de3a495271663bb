"""Small linear systems over abstract scalars, with a guard against singular ones.

The torques of a parallel robot are τ = J⁻ᵀQ, and J may be any matrix. Up to three by three the inverse is the adjugate
over the determinant, and Frobenius' condition number ‖J‖‖J⁻¹‖ comes with it. Larger systems are eliminated with partial
pivoting; a tape cannot branch, so a row is swapped with the pivot's by `select`, which leaves the larger of the two on
top. There the guard is the ratio of ‖J‖ to the smallest pivot.

Beyond the limit the solution is NaN: the square root of a negative number, and not a huge number that looks like one.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.scalar import Scalar, dot, is_number, select, sqrt

Matrix = Sequence[Sequence[Scalar]]
TINY = 1e-300  # so that a matrix of zeros counts as singular


def solve(matrix: Matrix, right: Matrix, limit: float, squares: Scalar | None = None) -> list[list[Scalar]]:
    """X with matrix X = right, NaN where the condition number is above the limit.

    `squares` is what to take for the sum of the squares of the matrix's entries, if that is known from elsewhere.
    """
    by_size = _by_adjugate if len(matrix) <= 3 else _by_elimination
    return by_size(matrix, right, limit, _squares(matrix) if squares is None else squares)


def _by_adjugate(A: Matrix, right: Matrix, limit: float, squares: Scalar) -> list[list[Scalar]]:
    adjugate = _adjugate(A)
    determinant = dot(A[0], [row[0] for row in adjugate])
    guard = limit * limit * (determinant * determinant) - squares * _squares(adjugate)
    scale = guarded_inverse(guard, determinant)
    columns = list(zip(*right, strict=True))
    return [[scale * dot(row, column) for column in columns] for row in adjugate]


def _adjugate(A: Matrix) -> list[list[Scalar]]:
    if len(A) == 1:
        return [[1.0]]
    if len(A) == 2:
        (a, b), (c, d) = A
        return [[d, -b], [-c, a]]

    def cofactor(i: int, j: int) -> Scalar:
        (r, s), (p, q) = ((i + 1) % 3, (i + 2) % 3), ((j + 1) % 3, (j + 2) % 3)
        return A[r][p] * A[s][q] - A[r][q] * A[s][p]

    return [[cofactor(j, i) for j in range(3)] for i in range(3)]


def _by_elimination(matrix: Matrix, right: Matrix, limit: float, squares: Scalar) -> list[list[Scalar]]:
    n = len(matrix)
    rows = [[*left, *sides] for left, sides in zip(matrix, right, strict=True)]
    inverse: list[Scalar] = []
    for k in range(n):
        for i in range(k + 1, n):
            _lift(rows, k, i)
        pivot = rows[k][k]
        inverse.append(guarded_inverse(limit * limit * (pivot * pivot) - squares, pivot))
        for i in range(k + 1, n):
            ratio = rows[i][k] * inverse[k]
            rows[i][k + 1 :] = [x - ratio * y for x, y in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)]
    solution: list[list[Scalar]] = [[] for _ in range(n)]
    for k in range(n - 1, -1, -1):
        known = [rows[k][n:]] + [[-rows[k][i] * x for x in solution[i]] for i in range(k + 1, n)]
        solution[k] = [inverse[k] * sum(column, start=0.0) for column in zip(*known, strict=True)]
    return solution


def _lift(rows: list[list[Scalar]], k: int, i: int) -> None:
    """Swap rows k and i if row i has the larger entry in column k; what is left of column k is all zeros."""
    swap = rows[i][k] * rows[i][k] - rows[k][k] * rows[k][k]
    upper, lower = rows[k], rows[i]
    rows[k] = upper[:k] + [select(swap, y, x) for x, y in zip(upper[k:], lower[k:], strict=True)]
    rows[i] = lower[:k] + [select(swap, x, y) for x, y in zip(upper[k:], lower[k:], strict=True)]


def guarded_inverse(guard: Scalar, divisor: Scalar) -> Scalar:
    """1 / divisor where the guard is positive, else NaN."""
    if is_number(guard):
        return 1.0 / divisor if guard > 0 else float("nan")
    return select(guard, 1.0 / divisor, sqrt(guard - TINY))


def _squares(A: Matrix) -> Scalar:
    return sum((x * x for row in A for x in row), start=0.0)
