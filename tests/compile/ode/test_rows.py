"""Rates with linear equations, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from appell.compile.native.bound import caller
from appell.compile.ode.rows import RowSystem, solver

C1, C2 = 60.0, 900.0


def solved(arrays):
    """Return ȧ, λ and the rank computed by the machine code."""
    rows, code = RowSystem([], arrays, C1, C2), solver()
    caller("solve", np.array([code.address, rows.cells.array.ctypes.data], np.uintp), code, rows)()
    return arrays["a"], rows.forces, rows.rank


@pytest.mark.parametrize(("n", "r"), [(1, 1), (6, 0), (7, 3), (18, 12), (25, 25)])
def test_forces_along_independent_and_mixed_rows_satisfy_their_equations(n, r):
    rng = np.random.default_rng(n)
    Q, array = rng.normal(size=(n, n)), rng.normal(size=(3 * r + 3, n))
    M, rows, mixed = Q @ Q.T + n * np.eye(n), 3 * np.arange(r), np.arange(1, r, 4)
    drift, speed = rng.normal(size=(2, 3 * r + 3))
    gap, slope = rng.uniform(1.0, 2.0, (2, r + 1))
    slots, mix, free = rng.permutation(r)[: r // 2], rng.normal(size=(len(mixed), 2)), rng.normal(size=n)
    names = {"M": M, "array": array, "drift": drift, "speed": speed, "gap": gap, "slope": slope, "rows": rows}
    locked = np.zeros(0, int)
    a, forces, rank = solved(names | {"slots": slots, "mixed": mixed, "mix": mix, "locked": locked, "a": free.copy()})
    B = array[rows]
    F = B.copy()
    F[mixed] -= mix[:, :1] * array[rows[mixed] + 1] + mix[:, 1:] * array[rows[mixed] + 2]
    b = drift[rows] + C1 * speed[rows]
    b[: len(slots)] += C2 * gap[slots] / slope[slots]
    assert rank == r
    np.testing.assert_allclose(M @ (a - free), F.T @ forces, atol=1e-9 * (1.0 + np.abs(F.T @ forces).max(initial=0.0)))
    np.testing.assert_allclose(B @ a, -b, atol=1e-9 * np.abs(b).max(initial=1.0))


def test_forces_along_redundant_rows_have_the_least_norm():
    rng = np.random.default_rng(0)
    array = rng.normal(size=(4, 6))[rng.integers(0, 4, 11)] * rng.uniform(0.5, 2.0, (11, 1))
    Q, free = rng.normal(size=(6, 6)), rng.normal(size=6)
    M, drift, none = Q @ Q.T + np.eye(6), array @ rng.normal(size=6), np.zeros(0, int)
    names = {"M": M, "array": array, "drift": drift, "speed": 0.0 * drift, "gap": drift, "slope": drift}
    indices = {"rows": np.arange(11), "slots": none, "mixed": none, "mix": np.zeros((0, 2)), "locked": np.array([2])}
    a, forces, rank = solved(names | indices | {"a": free.copy()})
    A = array @ np.linalg.solve(M, array.T)
    expected = np.linalg.lstsq(A, -(array @ free + drift), rcond=1e-11)[0]
    assert rank == np.linalg.matrix_rank(array)
    np.testing.assert_allclose(forces, expected, atol=1e-12)
    a_expected = free + np.linalg.solve(M, array.T @ expected)
    a_expected[2] = 0.0  # locked
    np.testing.assert_allclose(a, a_expected, atol=1e-11)
