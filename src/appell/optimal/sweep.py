"""The Riccati sweep: one Newton step of a multiple-shooting problem, knot by knot.

The step of knot k in tangent coordinates, with gap d and free parameters p, and its stage in z = (x, u):

    x' = A x + B u + F [1; p],    F = [d, f_p]                                                                    (1)
    ½ zᵀ H z + zᵀ C [1; p] + ½ [1; p]ᵀ D [1; p]                                                                  (2)

The value of the remaining knots has the same form in x alone, with V, W and Y in place of H, C and D. The gradient and
the parameters are columns of one right-hand side, so a free parameter costs one column. For a semi-implicit step

    x' = T y,   y = (q, S z),   S = [P Q R]                                                                       (3)

all products have half the rows: V is first transformed to y by T, which is nearly the identity. Any other step has
T = 1 and y = S z with S = [A B]. Elimination of u by Cholesky's method:

    H_uu + ρ = L Lᵀ,  G = L⁻¹ [H_ux, C_u],  V = H_xx - G_xᵀ G_x,  W = C_x - G_xᵀ G_c,  Y = D - G_cᵀ G_c           (4)
    u = -L⁻ᵀ (G_x x + G_c [1; p])                                                                                 (5)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from appell.algebra.scalar import Matrix, Scalar, Vector, dot, is_zero, maximum, select, sqrt

SMALLEST_PIVOT = 1e-14  # relative to the diagonal entry before elimination


class Step(NamedTuple):
    """A linearised step: x' = T (x[:copied], S z) + F [1; p]."""

    transform: Matrix  # (nx, nx)
    map: Matrix  # (nx - copied, nx + nu)
    copied: int
    offset: Matrix  # (nx, 1 + np)


class Value(NamedTuple):
    """A quadratic function ½ xᵀ V x + xᵀ W [1; p] + ½ [1; p]ᵀ Y [1; p]; symmetric matrices in full."""

    hessian: Matrix
    linear: Matrix
    constant: Matrix


class StageGains(NamedTuple):
    """u = feedback x + feedforward [1; p]."""

    feedback: Matrix
    feedforward: Matrix


def product(a: Sequence[Vector], b: Sequence[Vector]) -> Matrix:
    """Return a b without products of numbers that are zero."""
    columns = [list(column) for column in zip(*b, strict=True)]
    return [[sparse_dot(row, column) for column in columns] for row in a]


def sparse_dot(x: Vector, y: Vector) -> Scalar:
    """Return Σ x y without terms that are structurally zero."""
    return sum((a * b for a, b in zip(x, y, strict=True) if not is_zero(a) and not is_zero(b)), start=0.0)


def transposed(a: Sequence[Vector]) -> Matrix:
    """Return the transpose."""
    return [list(column) for column in zip(*a, strict=True)]


def symmetric(size: int, entry) -> Matrix:
    """Return the symmetric matrix with entries entry(i, j) for j ≤ i, each computed once."""
    lower = [[entry(i, j) for j in range(i + 1)] for i in range(size)]
    return [[lower[max(i, j)][min(i, j)] for j in range(size)] for i in range(size)]


def lower(a: Sequence[Vector]) -> list[Scalar]:
    """Return the lower half of a symmetric matrix, row by row."""
    return [a[i][j] for i in range(len(a)) for j in range(i + 1)]


def transformed(value: Value, step: Step, cost: Value) -> Value:
    """Return the value of the next knot as a function of y in (3), with the gaps and the constant of the cost."""
    moved = product(value.hessian, step.offset)
    linear = [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(moved, value.linear, strict=True)]
    twice = product(
        transposed(step.offset),
        [[x + y for x, y in zip(*r, strict=True)] for r in zip(linear, value.linear, strict=True)],
    )
    constant = symmetric(
        len(twice), lambda i, j: value.constant[i][j] + 0.5 * (twice[i][j] + twice[j][i]) + cost.constant[i][j]
    )
    if not step.copied:
        return Value(value.hessian, linear, constant)
    columns, halves = transposed(step.transform), transposed(product(value.hessian, step.transform))  # (3)
    hessian = symmetric(len(value.hessian), lambda i, j: sparse_dot(columns[i], halves[j]))
    return Value(hessian, product(columns, linear), constant)


def stage(value: Value, step: Step, cost: Value, rho: Scalar, inputs: int) -> tuple[Value, StageGains, Scalar]:
    """Eliminate the inputs of one knot.

    Parameters
    ----------
    value : value of the next knot
    step : step to the next knot
    cost : cost of this knot in z = (x, u)
    rho : number added to the diagonal of H_uu
    inputs : number of inputs u

    Returns
    -------
    tuple
        Value of this knot, gains, and the smallest pivot relative to its diagonal entry: not positive if H_uu + ρ is
        not positive definite.
    """
    nx, c = len(value.hessian), step.copied
    hessian, linear, constant = transformed(value, step, cost)
    size = nx + inputs
    block = [row[c:] for row in hessian[c:]]
    mapped = product(block, step.map)  # (nx - c, size)
    left = product([row[c:] for row in hessian[:c]], [row[:c] for row in step.map]) if c else []  # (c, c)
    for row, cross in zip(mapped, hessian[c:], strict=True):
        row[:c] = [x + y for x, y in zip(row[:c], cross[:c], strict=True)]
    map_columns, mapped_columns = transposed(step.map), transposed(mapped)

    def entry(i: int, j: int) -> Scalar:  # j <= i
        total = cost.hessian[i][j] + sparse_dot(map_columns[i], mapped_columns[j])
        return total + left[i][j] + hessian[i][j] if i < c else total

    H = symmetric(size, entry)
    C = product(map_columns, linear[c:])
    C = [[x + y for x, y in zip(*rows, strict=True)] for rows in zip(C, cost.linear, strict=True)]
    for i in range(c):
        C[i] = [x + y for x, y in zip(C[i], linear[i], strict=True)]
    return eliminate(H, C, constant, rho, nx)


def eliminate(H: Matrix, C: Matrix, D: Matrix, rho: Scalar, nx: int) -> tuple[Value, StageGains, Scalar]:
    """Minimise over the last unknowns, from the row `nx` on: equations (4) and (5)."""
    nu, columns = len(H) - nx, len(C[0])
    diagonal = [H[nx + i][nx + i] + rho for i in range(nu)]
    L, inverse, smallest = cholesky([row[nx:] for row in H[nx:]], diagonal)
    G = reduced(L, inverse, [[*H[nx + i][:nx], *C[nx + i]] for i in range(nu)])
    G_columns = transposed(G)
    V = symmetric(nx, lambda i, j: H[i][j] - sparse_dot(G_columns[i], G_columns[j]))
    W = [[C[i][j] - sparse_dot(G_columns[i], G_columns[nx + j]) for j in range(columns)] for i in range(nx)]
    Y = symmetric(columns, lambda i, j: D[i][j] - sparse_dot(G_columns[nx + i], G_columns[nx + j]))
    K = gains_of(L, inverse, G)
    return Value(V, W, Y), StageGains([row[:nx] for row in K], [row[nx:] for row in K]), smallest


def reduced(L: Matrix, inverse: Vector, right: Matrix) -> Matrix:
    """Return G = L⁻¹ right; L without its diagonal, whose inverses are `inverse`."""
    G: Matrix = []
    for i, row in enumerate(right):
        above = transposed(G) or [[] for _ in row]
        G.append([inverse[i] * (x - sparse_dot(L[i][:i], column)) for x, column in zip(row, above, strict=True)])
    return G


def gains_of(L: Matrix, inverse: Vector, G: Matrix) -> Matrix:
    """Return -L⁻ᵀ G."""
    nu = len(G)
    K: Matrix = [[] for _ in range(nu)]
    for i in reversed(range(nu)):
        K[i] = [
            inverse[i] * (-x - sum((L[k][i] * K[k][j] for k in range(i + 1, nu)), start=0.0))
            for j, x in enumerate(G[i])
        ]
    return K


def cholesky(matrix: Matrix, diagonal: Vector) -> tuple[Matrix, list[Scalar], Scalar]:
    """Return L, the inverses of its diagonal, and the smallest pivot relative to its diagonal entry.

    A pivot that is not positive is replaced by 1, so that all numbers stay finite.
    """
    n = len(matrix)
    L: Matrix = []
    inverse: list[Scalar] = []
    smallest: Scalar = 1.0
    for i in range(n):
        row: list[Scalar] = []
        for j in range(i):
            row.append(inverse[j] * (matrix[i][j] - sparse_dot(row, L[j][:j])))
        pivot = diagonal[i] - sparse_dot(row, row)
        scale = maximum(diagonal[i], -diagonal[i])
        good = pivot - SMALLEST_PIVOT * scale
        smallest = select(good, smallest, -1.0)
        inverse.append(1.0 / sqrt(select(good, pivot, 1.0)))
        L.append(row)
    return L, inverse, smallest


def solve_positive(matrix: Matrix, right: Vector) -> tuple[list[Scalar], Scalar]:
    """Return x with matrix x = right, and a number that is positive if the matrix is positive definite."""
    n = len(matrix)
    L, inverse, smallest = cholesky(matrix, [matrix[i][i] for i in range(n)])
    y: list[Scalar] = []
    for i in range(n):
        y.append(inverse[i] * (right[i] - dot(L[i], y)))
    x: list[Scalar] = [0.0] * n
    for i in reversed(range(n)):
        x[i] = inverse[i] * (y[i] - sum((L[k][i] * x[k] for k in range(i + 1, n)), start=0.0))
    return x, smallest
