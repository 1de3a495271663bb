"""Cholesky, Gauss-Jordan and LDLᵀ solvers, and gradients by recorded arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from appell.algebra.derivative import gradient
from appell.algebra.vector import Vec3
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import trace
from appell.formulate.formulations import SOLVERS


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_a_solver_solves_a_positive_definite_system(name, n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n))
    matrix, right = root @ root.T + np.eye(n), rng.normal(size=n)
    solution = SOLVERS[name].solve(matrix.tolist(), right.tolist())
    assert np.allclose(solution, np.linalg.solve(matrix, right), rtol=1e-10)


@pytest.mark.parametrize("name", ["ldl", "cholesky"])
def test_zeros_between_branches_take_no_operations(name):
    """An arrow matrix, like that of a star of n branches, has no fill-in if eliminated from the leaves."""

    def solve(diagonal, arm, right):
        n = len(diagonal)
        matrix = [[diagonal[i] if i == j else 0.0 for j in range(n)] for i in range(n)]
        for i in range(1, n):
            matrix[i][0] = matrix[0][i] = arm[i - 1]
        return {"x": SOLVERS[name].solve(matrix, right)}

    def work(n):
        return len(trace("arrow", [Array("d", (n,)), Array("a", (n - 1,)), Array("b", (n,))], solve))

    assert work(12) - work(11) == work(6) - work(5)


def test_the_gradient_of_a_polynomial_is_exact():
    def f(x):
        u, v, w = x
        return 3.0 * u * v - (w - 2.0) * w * u + (1.0 - v) + (-u) * 0.5 + 0.0 * v

    u, v, w = 0.7, -1.3, 2.1
    expected = [3 * v - (w - 2) * w - 0.5, 3 * u - 1.0, -(2 * w - 2) * u]
    assert np.allclose(gradient(f, [u, v, w]), expected, rtol=1e-14)


def test_the_gradient_of_a_function_of_vectors():
    fixed = Vec3(1.0, 2.0, 3.0)

    def f(x):
        scaled = x[0] * fixed + Vec3(x[1], 0.0, x[2])
        return scaled.dot(scaled)

    a, b, c = 0.5, -1.0, 2.0
    w = np.array([a + b, 2 * a, 3 * a + c])
    assert np.allclose(gradient(f, [a, b, c]), [2 * w @ [1, 2, 3], 2 * w[0], 2 * w[2]])


def test_a_function_that_ignores_its_variables_has_gradient_zero():
    assert gradient(lambda x: 3.0, [1.0, 2.0]) == [0.0, 0.0]
