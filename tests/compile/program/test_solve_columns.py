"""L D Lᵀ X = B for many columns: straight code factors the matrix, a loop solves several columns per iteration."""

import numpy as np
import pytest

from appell.algebra.loops import Rows
from appell.compile.function import Function

SIZE, COLUMNS = 9, 8
PARENTS = [-1, 0, 1, 1, 3, 0, 5, 5, 7]  # a row is coupled with the rows of its ancestors, as in a tree


def above(k: int) -> list[int]:
    return [] if PARENTS[k] < 0 else [PARENTS[k], *above(PARENTS[k])]


def matrix(x):
    """A symmetric matrix with the pattern of the tree, far from singular."""
    M = [[0.0] * SIZE for _ in range(SIZE)]
    for i in range(SIZE):
        M[i][i] = 10.0 + x[i] * x[i]
        for j in above(i):
            M[i][j] = M[j][i] = x[i] * x[j] * 0.3 + 0.1 * i
    return M


def factors(M):
    """M = Lᵀ D L, from the leaves to the root, so that L has no fill-in."""
    H, D = [list(row) for row in M], [0.0] * SIZE
    L = [[0.0] * SIZE for _ in range(SIZE)]
    for k in reversed(range(SIZE)):
        D[k] = H[k][k]
        for i in above(k):
            L[k][i] = H[k][i] / D[k]
            for j in above(k):
                if j <= i:
                    H[i][j] = H[j][i] = H[i][j] - L[k][i] * H[k][j]
    return L, D


def solver(count: int):
    entries = [(k, i) for k in range(SIZE) for i in above(k)]

    def solve(factored, *columns):
        L, D = dict(zip(entries, factored[SIZE:], strict=True)), factored[:SIZE]
        solutions = []
        for b in columns:
            x = list(b)
            for k in reversed(range(SIZE)):
                for i in above(k):
                    x[i] = x[i] - L[k, i] * x[k]
            x = [value / pivot for value, pivot in zip(x, D, strict=True)]
            for k in range(SIZE):
                for i in above(k):
                    x[k] = x[k] - L[k, i] * x[i]
            solutions.append(x)
        return solutions

    def body(x, B, loops):
        L, D = factors(matrix(x))
        factored = loops.given([[*D, *(L[k][i] for k, i in entries)]])
        right = loops.given([[row[j] for row in B] for j in range(COLUMNS)])
        solution = loops.table(COLUMNS, SIZE)
        iterations = COLUMNS // count
        lanes = [range(j, COLUMNS, count) for j in range(count)]
        reads = [Rows(factored, [0] * iterations), *(Rows(right, lane) for lane in lanes)]
        loops.each([solve], [0] * iterations, reads, [Rows(solution, lane) for lane in lanes])
        return {"X": [list(row) for row in zip(*loops.values(solution), strict=True)]}

    return body


@pytest.mark.parametrize("count", [1, 2, 4])
def test_columns_are_solved_in_place(count):
    shapes = {"x": SIZE, "B": (SIZE, COLUMNS)}
    function = Function.of("solve", shapes, solver(count), loops=True)
    draw = np.random.default_rng(3)
    x, B = draw.normal(size=(13, SIZE)), draw.normal(size=(13, SIZE, COLUMNS))
    M = np.array([matrix(sample) for sample in x.tolist()])
    np.testing.assert_allclose(function(x, B), np.linalg.solve(M, B), rtol=1e-12, atol=1e-13)
    factored = SIZE + sum(len(above(k)) for k in range(SIZE))
    assert function.formula.size == SIZE + 2 * SIZE * COLUMNS + factored  # neither B nor X is copied
