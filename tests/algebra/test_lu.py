import numpy as np
import pytest

import appell as ap
from appell.algebra.lu import LU, Pivot


def any_order(n: int, rng: np.random.Generator, least: float = 1e-9) -> list[Pivot]:
    return [Pivot(int(i), int(k), least) for i, k in zip(rng.permutation(n), rng.permutation(n), strict=True)]


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_any_order_of_pivots_solves_the_system_and_its_transpose(n):
    rng = np.random.default_rng(n)
    A, right = rng.normal(size=(n, n)) + 3.0 * np.eye(n), rng.normal(size=n)
    lu = LU.of(A.tolist(), any_order(n, rng))
    # each step loses a few digits at the most: pivots were not chosen by size
    np.testing.assert_allclose(lu.solve(right.tolist()), np.linalg.solve(A, right), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(lu.solve_transposed(right.tolist()), np.linalg.solve(A.T, right), rtol=1e-9, atol=1e-9)


def test_a_pivot_below_its_least_makes_everything_that_needs_it_nan():
    order = [Pivot(0, 0, 1e-6), Pivot(1, 1, 1e-6)]
    solve = ap.Function.of("solve", {"A": (2, 2), "b": 2}, lambda A, b: {"x": LU.of(A, order).solve(b)})
    A, b = np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 4.0])
    assert solve(A, b).tolist() == [1.0, 1.0]
    A[1, 1] = 1e-7
    assert np.isnan(solve(A, b)).all()


def test_literal_zeros_cost_nothing():
    order = [Pivot(k, k, 0.0) for k in range(4)]

    def arrow(d, b):
        rows = [[d[k] if k == i else 0.0 for k in range(4)] for i in range(4)]
        return {"x": LU.of(rows, order).solve(b)}

    count = ap.Function.of("diagonal", {"d": 4, "b": 4}, arrow).count()
    assert count.add <= 4  # the guards, and no elimination
