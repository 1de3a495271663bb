"""Linear systems over abstract scalars.

Symmetric positive definite systems are factorised from the last row up, by LDLᵀ or by Cholesky's method, H = Lᵀ L:

    l_kk = √(h_kk - Σ l_jk²)        l_ki = (h_ki - Σ l_jk l_ji) / l_kk        j > k > i                         (1)

For the inertia matrix of a tree, eliminating leaves first creates no fill-in between branches: the literal zeros there
fold away, so entries between branches take no operations.

Gauss-Jordan elimination without pivoting clears every column above and below its pivot, so no back substitution
follows. It is 50 % more expensive than a symmetric factorisation; the simulations of the papers and the comparisons
with them use it.

`solve` is for small systems with any matrix, and guards against singular ones: the torques of a parallel robot are
τ = J⁻ᵀQ, and J may be singular. Up to 3x3 the inverse is the adjugate divided by the determinant, which also gives the
Frobenius condition number ‖J‖‖J⁻¹‖. Larger systems are eliminated with partial pivoting. A tape cannot branch, so rows
are swapped by `select`, which moves the larger entry to the pivot row; the guard is the ratio of ‖J‖ to the smallest
pivot. Beyond the limit the solution is NaN, computed as the square root of a negative number, instead of a huge number
that could be mistaken for a result.

A block triangular matrix with blocks known in advance is solved block by block:

    block k:    A_kk x_k = right_k - Σ A_kj x_j  over the preceding blocks j                                      (2)

Each block is inverted once by `solve`, whatever its pattern of zeros; a singular block gives NaN. Entries that do not
appear in (2) are not read, and literal zeros take no operations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from appell.algebra.scalar import Scalar, Vector, dot, is_number, select, sqrt

Rows = Sequence[Vector]
SMALLEST_GUARD = 1e-300  # subtracted so that a guard of exactly 0, such as that of a zero matrix, counts as singular


def solve(matrix: Rows, right: Rows, limit: float, squares: Scalar | None = None) -> list[list[Scalar]]:
    """Return X with matrix X = right, or NaN where the condition number exceeds the limit.

    Parameters
    ----------
    matrix : square matrix, as rows
    right : right-hand sides, as rows
    limit : largest condition number that counts as regular
    squares : sum of the squares of the matrix's entries, if already known; computed otherwise
    """
    method = _by_adjugate if len(matrix) <= 3 else _by_elimination
    return method(matrix, right, limit, _squares(matrix) if squares is None else squares)


def _by_adjugate(A: Rows, right: Rows, limit: float, squares: Scalar) -> list[list[Scalar]]:
    adjugate = _adjugate(A)
    determinant = dot(A[0], [row[0] for row in adjugate])
    guard = limit * limit * (determinant * determinant) - squares * _squares(adjugate)
    scale = guarded_inverse(guard, determinant)
    columns = list(zip(*right, strict=True))
    return [[scale * dot(row, column) for column in columns] for row in adjugate]


def _adjugate(A: Rows) -> list[list[Scalar]]:
    if len(A) == 1:
        return [[1.0]]
    if len(A) == 2:
        (a, b), (c, d) = A
        return [[d, -b], [-c, a]]

    def cofactor(i: int, j: int) -> Scalar:
        (r, s), (p, q) = ((i + 1) % 3, (i + 2) % 3), ((j + 1) % 3, (j + 2) % 3)
        return A[r][p] * A[s][q] - A[r][q] * A[s][p]

    return [[cofactor(j, i) for j in range(3)] for i in range(3)]


def _by_elimination(matrix: Rows, right: Rows, limit: float, squares: Scalar) -> list[list[Scalar]]:
    n = len(matrix)
    rows = [[*left, *sides] for left, sides in zip(matrix, right, strict=True)]
    inverse: list[Scalar] = []
    for k in range(n):
        for i in range(k + 1, n):
            _move_pivot_up(rows, k, i)
        pivot = rows[k][k]
        inverse.append(guarded_inverse(limit * limit * (pivot * pivot) - squares, pivot))
        for i in range(k + 1, n):
            ratio = rows[i][k] * inverse[k]
            rows[i][k + 1 :] = [x - ratio * y for x, y in zip(rows[i][k + 1 :], rows[k][k + 1 :], strict=True)]
    solution: list[list[Scalar]] = [[] for _ in range(n)]
    for k in range(n - 1, -1, -1):
        terms = [rows[k][n:]] + [[-rows[k][i] * x for x in solution[i]] for i in range(k + 1, n)]
        solution[k] = [inverse[k] * sum(column, start=0.0) for column in zip(*terms, strict=True)]
    return solution


def _move_pivot_up(rows: list[list[Scalar]], k: int, i: int) -> None:
    """Swap rows k and i if row i has the larger entry in column k; entries left of column k are zero already."""
    swap = rows[i][k] * rows[i][k] - rows[k][k] * rows[k][k]
    upper, lower = rows[k], rows[i]
    rows[k] = upper[:k] + [select(swap, y, x) for x, y in zip(upper[k:], lower[k:], strict=True)]
    rows[i] = lower[:k] + [select(swap, x, y) for x, y in zip(upper[k:], lower[k:], strict=True)]


def guarded_inverse(guard: Scalar, divisor: Scalar) -> Scalar:
    """Return 1 / divisor where the guard is positive, else NaN."""
    if is_number(guard):
        return 1.0 / divisor if guard > 0 else float("nan")
    return select(guard, 1.0 / divisor, sqrt(guard - SMALLEST_GUARD))


def _squares(A: Rows) -> Scalar:
    return sum((x * x for row in A for x in row), start=0.0)


@dataclass(frozen=True)
class LDL:
    """The factors of H = Lᵀ D L with a unit lower triangular L; `inverse_pivots` holds 1 / D."""

    lower: list[list[Scalar]]
    inverse_pivots: list[Scalar]

    @staticmethod
    def of(matrix: Sequence[Sequence[Scalar]], limit: float | None = None) -> LDL:
        """Factorise a matrix; with a limit, factors are NaN where elimination reduces a pivot by more than 1/limit."""
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
        """Return x with H x = right."""
        return self.solve_lower(self.solve_upper(right))

    def solve_upper(self, right: Sequence[Scalar]) -> list[Scalar]:
        """Return L⁻ᵀ right."""
        x = list(right)
        for k in range(len(x) - 1, -1, -1):
            for i in range(k):
                x[i] = x[i] - self.lower[k][i] * x[k]
        return x

    def solve_lower(self, right: Sequence[Scalar]) -> list[Scalar]:
        """Return L⁻¹ D⁻¹ right."""
        x = list(right)
        for k in range(len(x)):
            x[k] = self.inverse_pivots[k] * x[k]
            for i in range(k):
                x[k] = x[k] - self.lower[k][i] * x[i]
        return x

    def inverse(self) -> list[list[Scalar]]:
        """Return H⁻¹ = L⁻¹ D⁻¹ L⁻ᵀ.

        Computed column by column from the diagonal down: L H⁻¹ = D⁻¹ L⁻ᵀ is 1 / D on the diagonal and 0 below.
        """
        n = len(self.lower)
        inverse: list[list[Scalar]] = [[0.0] * n for _ in range(n)]
        for j in range(n):
            for k in range(j, n):
                entry = self.inverse_pivots[k] if k == j else 0.0
                for i in range(k):
                    entry = entry - self.lower[k][i] * inverse[i][j]
                inverse[k][j] = inverse[j][k] = entry
        return inverse


@dataclass(frozen=True)
class Cholesky:
    """The factor L of H = Lᵀ L: its entries below the diagonal, and the inverse of its diagonal."""

    rows: list[list[Scalar]]
    inverse: list[Scalar]

    @staticmethod
    def of(matrix: Sequence[Sequence[Scalar]]) -> Cholesky:
        """Factorise a symmetric positive definite matrix; ZeroDivisionError if a constant pivot is not positive."""
        n = len(matrix)
        L = [list(row) for row in matrix]
        inverse: list[Scalar] = [0.0] * n
        for k in reversed(range(n)):
            if is_number(L[k][k]) and L[k][k] < 0.0:
                raise ZeroDivisionError(f"pivot {k} of a matrix that must be positive definite is {L[k][k]:g}")
            inverse[k] = 1.0 / sqrt(L[k][k])
            for i in range(k):
                L[k][i] = L[k][i] * inverse[k]  # (1)
            for i in range(k):
                for j in range(i + 1):
                    L[i][j] = L[i][j] - L[k][i] * L[k][j]
        return Cholesky(L, inverse)

    def solve(self, right: Sequence[Scalar]) -> list[Scalar]:
        """Return x with matrix x = right."""
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


def solve_gauss_jordan(matrix: Sequence[Sequence[Scalar]], right: Sequence[Scalar]) -> list[Scalar]:
    """Return x with matrix x = right, by Gauss-Jordan elimination without pivoting."""
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


BLOCK_CONDITION_LIMIT = 1e10  # condition number of a block, by its nominal size, above which it counts as singular


@dataclass(frozen=True)
class MatrixBlock:
    """Rows and columns of a matrix that are solved together, and the typical magnitude of their entries."""

    rows: tuple[int, ...]
    columns: tuple[int, ...]
    size: float


@dataclass(frozen=True)
class BlockTriangular:
    """A matrix and its diagonal blocks, ordered so that each depends on preceding ones only."""

    matrix: Sequence[Vector]
    blocks: Sequence[MatrixBlock]

    @cached_property
    def inverses(self) -> list[list[list[Scalar]]]:
        """The inverse of each block."""
        return [self._inverse(block) for block in self.blocks]

    def _inverse(self, block: MatrixBlock) -> list[list[Scalar]]:
        n = len(block.rows)
        entries = [[self.matrix[i][k] for k in block.columns] for i in block.rows]
        identity = [[float(i == k) for k in range(n)] for i in range(n)]
        return solve(entries, identity, BLOCK_CONDITION_LIMIT, block.size * block.size)

    def solve(self, right: Vector) -> list[Scalar]:
        """Return x with A x = right, by (2)."""
        x: list[Scalar] = [0.0] * len(right)
        solved: list[int] = []
        for block, inverse in zip(self.blocks, self.inverses, strict=True):
            rest = [_less(right[i], (self.matrix[i][k] * x[k] for k in solved)) for i in block.rows]
            for k, row in zip(block.columns, inverse, strict=True):
                x[k] = dot(row, rest)
            solved += block.columns
        return x

    def solve_transposed(self, right: Vector) -> list[Scalar]:
        """Return z with Aᵀ z = right."""
        z: list[Scalar] = [0.0] * len(right)
        solved: list[int] = []
        for block, inverse in zip(reversed(self.blocks), reversed(self.inverses), strict=True):
            rest = [_less(right[k], (self.matrix[i][k] * z[i] for i in solved)) for k in block.columns]
            for i, column in zip(block.rows, zip(*inverse, strict=True), strict=True):
                z[i] = dot(column, rest)
            solved += block.rows
        return z


def _less(x: Scalar, terms) -> Scalar:
    for term in terms:
        x = x - term
    return x
