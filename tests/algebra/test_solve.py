"""LDLᵀ factorisation from the leaves: correct, and without operations between branches."""

from __future__ import annotations

import numpy as np

from appell.algebra.solve import LDL
from appell.compile.tape.count import count
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import trace


def test_the_solution_agrees_with_numpy():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(7, 7))
    H, b = root @ root.T + np.eye(7), rng.normal(size=7)
    np.testing.assert_allclose(LDL.of(H.tolist()).solve(b.tolist()), np.linalg.solve(H, b), rtol=1e-12)


def solution(pattern):
    """Return the tape of solving with a matrix that has literal zeros."""
    n = len(pattern)

    def body(h, b):
        H = [[h[max(i, j)][min(i, j)] if pattern[i][j] else 0.0 for j in range(n)] for i in range(n)]
        return {"x": LDL.of(H).solve(b)}

    return trace("solve", [Array("h", (n, n)), Array("b", (n,))], body)


def test_two_branches_take_twice_the_operations_of_one():
    one = np.ones((4, 4), bool)
    two = np.kron(np.eye(2, dtype=bool), one)
    single, double = count(solution(one)), count(solution(two))
    assert double == single + single
