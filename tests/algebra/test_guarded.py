"""Small linear systems, compared with NumPy, and singular systems."""

from __future__ import annotations

import numpy as np
import pytest

from appell.algebra.solve import solve
from appell.compile.function import Function
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import trace


def solver(n, limit=1e10):
    def body(A, b):
        return {"x": [row[0] for row in solve(A, [[x] for x in b], limit)]}

    return Function(trace("solve", [Array("A", (n, n)), Array("b", (n,))], body))


@pytest.mark.parametrize("n", range(1, 8))
def test_solutions_agree_with_numpy(n):
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(200, n, n)), rng.normal(size=(200, n))
    theirs = np.linalg.solve(A, b[..., None])[..., 0]
    error = np.abs(solver(n)(A, b) - theirs).max(axis=1) / np.abs(theirs).max(axis=1)
    assert (error < 1e-14 * np.linalg.cond(A) ** (2 if n <= 3 else 1) + 1e-13).all()  # the adjugate may lose cond² bits


@pytest.mark.parametrize("n", [2, 3, 5, 6])
def test_a_zero_in_the_pivot_position_is_handled_by_pivoting(n):
    rng = np.random.default_rng(n)
    A = np.roll(np.eye(n), 1, axis=0) + 0.1 * np.tril(rng.normal(size=(n, n)), -2)
    b = rng.normal(size=n)
    assert A[0, 0] == 0.0
    assert np.allclose(solver(n)(A, b), np.linalg.solve(A, b), rtol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
def test_only_the_samples_with_singular_systems_give_nan(n):
    rng = np.random.default_rng(n)
    A, b = rng.normal(size=(3, n, n)), rng.normal(size=(3, n))
    A[1, -1] = A[1, 0] if n > 1 else 0.0
    A[2] = 0.0
    with np.errstate(all="ignore"):
        x = solver(n)(A, b)
    assert np.isfinite(x[0]).all()
    assert np.isnan(x[1:]).all()


def test_the_limit_is_the_condition_number():
    for condition in (1e3, 1e5):
        A = np.diag([1.0, 1.0, 1.0 / condition])
        with np.errstate(all="ignore"):
            x = solver(3, limit=1e4)(A, np.ones(3))
        assert np.isnan(x).all() == (condition > 1e4)
