"""The factorisation from the leaves up: right, and without work where branches do not meet."""

from __future__ import annotations

import numpy as np

from appell.algebra.solve import LDL
from appell.compile.tape.count import count
from appell.compile.tape.tape import Array
from appell.compile.tape.trace import trace


def test_the_solution_is_that_of_numpy():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(7, 7))
    H, b = root @ root.T + np.eye(7), rng.normal(size=7)
    np.testing.assert_allclose(LDL.of(H.tolist()).solve(b.tolist()), np.linalg.solve(H, b), rtol=1e-12)


def solution(pattern):
    """The tape of solving with a matrix whose zeros are literal."""
    n = len(pattern)

    def body(h, b):
        H = [[h[max(i, j)][min(i, j)] if pattern[i][j] else 0.0 for j in range(n)] for i in range(n)]
        return {"x": LDL.of(H).solve(b)}

    return trace("solve", [Array("h", (n, n)), Array("b", (n,))], body)


def test_two_branches_cost_twice_one_branch():
    one = np.ones((4, 4), bool)
    two = np.kron(np.eye(2, dtype=bool), one)
    single, double = count(solution(one)), count(solution(two))
    assert double == single + single
