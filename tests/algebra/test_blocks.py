"""Block triangular systems, compared with NumPy, and singular blocks."""

import numpy as np
import pytest

import appell as ap
from appell.algebra.solve import BlockTriangular, MatrixBlock


def random_system(rng: np.random.Generator, sizes: list[int]) -> tuple[np.ndarray, list[MatrixBlock]]:
    """Return a block triangular matrix with rows and columns in random order, and its blocks."""
    n = sum(sizes)
    A, blocks, start = np.zeros((n, n)), [], 0
    rows, columns = rng.permutation(n), rng.permutation(n)
    for size in sizes:
        block_rows, block_columns = rows[start : start + size], columns[start : start + size]
        A[np.ix_(block_rows, columns[: start + size])] = rng.normal(size=(size, start + size))
        norm = float(np.linalg.norm(A[np.ix_(block_rows, block_columns)]))
        blocks.append(MatrixBlock(tuple(map(int, block_rows)), tuple(map(int, block_columns)), norm))
        start += size
    return A, blocks


@pytest.mark.parametrize("sizes", [[1], [2, 1], [3, 3], [1, 5, 2], [6]])
def test_blocks_solve_the_system_and_its_transpose(sizes):
    rng = np.random.default_rng(len(sizes))
    A, blocks = random_system(rng, sizes)
    right, system = rng.normal(size=len(A)), BlockTriangular(A.tolist(), blocks)
    bound = 1e-14 * np.linalg.cond(A)
    np.testing.assert_allclose(system.solve(right.tolist()), np.linalg.solve(A, right), rtol=bound, atol=bound)
    np.testing.assert_allclose(
        system.solve_transposed(right.tolist()), np.linalg.solve(A.T, right), rtol=bound, atol=bound
    )


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_a_block_may_have_zeros_anywhere(n):
    block = [MatrixBlock(tuple(range(n)), tuple(range(n)), float(np.sqrt(n)))]
    solve = ap.Function.of("x", {"A": (n, n), "b": n}, lambda A, b: {"x": BlockTriangular(A, block).solve(b)})
    b = np.arange(1.0, n + 1.0)
    for seed in range(8):
        P = np.eye(n)[np.random.default_rng(seed).permutation(n)]
        np.testing.assert_array_equal(solve(P, b), P.T @ b)


def test_a_block_that_is_singular_relative_to_its_size_gives_nan():
    one = [MatrixBlock((0,), (0,), 2.0)]
    solve = ap.Function.of("x", {"A": (1, 1), "b": 1}, lambda A, b: {"x": BlockTriangular(A, one).solve(b)})
    assert solve(np.array([[1e-9]]), np.ones(1))[0] == pytest.approx(1e9)
    assert np.isnan(solve(np.array([[1e-11]]), np.ones(1))[0])


def test_zeros_outside_the_blocks_take_no_operations():
    blocks = [MatrixBlock((k,), (k,), 1.0) for k in range(4)]

    def diagonal(d, b):
        rows = [[d[k] if k == i else 0.0 for k in range(4)] for i in range(4)]
        return {"x": BlockTriangular(rows, blocks).solve(b)}

    assert ap.Function.of("diagonal", {"d": 4, "b": 4}, diagonal).count().add <= 8  # those of the guards
