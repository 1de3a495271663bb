"""The Riccati sweep, compared with one dense linear system of all unknowns."""

from __future__ import annotations

import numpy as np
import pytest

from appell.algebra.loops import UNROLLED
from appell.optimal.sweep import Step, Value, cholesky, lower, solve_positive, stage
from appell.optimal.tiled_sweep import SweepTables, TiledSweep

NX, NU, NP, N = 4, 2, 1, 5


def random_problem(copied: int) -> tuple[list[dict[str, np.ndarray]], np.ndarray, np.ndarray]:
    """Return stages with gaps and a parameter, and the Hessian and gradient of the last knot in (x, p)."""
    rng = np.random.default_rng(3)

    def positive(n: int) -> np.ndarray:
        root = rng.normal(size=(n, n))
        return root @ root.T + np.eye(n)

    stages = []
    for _ in range(N):
        T = np.eye(NX)
        T[:2, 2:] = 0.1 * np.eye(2) if copied else 0.0
        S = rng.normal(size=(NX - copied, NX + NU))
        kept = np.eye(copied, NX + NU)
        stages.append(
            {
                "T": T,
                "S": S,
                "AB": T @ np.vstack([kept, S]),
                "F": rng.normal(size=(NX, 1 + NP)),
                "H": positive(NX + NU + NP),
                "g": rng.normal(size=NX + NU + NP),
            }
        )
    return stages, positive(NX + NP), rng.normal(size=NX + NP)


def dense_solution(stages, H_end, g_end, dx0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x (N+1, NX), u (N, NU) and p by eliminating the states: all are affine in y = (u_0, ..., u_{N-1}, p)."""
    size = N * NU + NP
    x, c = np.zeros((NX, size)), np.array(dx0)
    H, g = np.zeros((size, size)), np.zeros(size)
    to_p = np.eye(NP, size, N * NU)
    states = []
    for k, data in enumerate(stages):
        states.append((x, c))
        to_u = np.eye(NU, size, k * NU)
        Z, z = np.vstack([x, to_u, to_p]), np.concatenate([c, np.zeros(NU + NP)])
        H += Z.T @ data["H"] @ Z
        g += Z.T @ (data["H"] @ z + data["g"])
        A, B = data["AB"][:, :NX], data["AB"][:, NX:]
        x, c = A @ x + B @ to_u + data["F"][:, 1:] @ to_p, A @ c + data["F"][:, 0]
    states.append((x, c))
    Z, z = np.vstack([x, to_p]), np.concatenate([c, np.zeros(NP)])
    y = -np.linalg.solve(H + Z.T @ H_end @ Z, g + Z.T @ (H_end @ z + g_end))
    return np.array([a @ y + b for a, b in states]), y[: N * NU].reshape(N, NU), y[N * NU :]


def parts(H, g, n: int) -> Value:
    """Return the quadratic function of the first n unknowns, with the others as parameters."""
    D = np.zeros((1 + NP, 1 + NP))
    D[0, 1:] = D[1:, 0] = g[n:]
    D[1:, 1:] = H[n:, n:]
    return Value(H[:n, :n].tolist(), np.column_stack([g[:n], H[:n, n:]]).tolist(), D.tolist())


@pytest.mark.parametrize("copied", [0, 2], ids=["dense step", "semi-implicit step"])
def test_the_sweep_solves_the_linear_system_with_gaps_and_a_free_parameter(copied):
    stages, H_end, g_end = random_problem(copied)
    dx0 = np.array([0.3, -0.2, 0.1, 0.5])
    value, gains = parts(H_end, g_end, NX), []
    for data in reversed(stages):
        step = Step(data["T"].tolist(), data["S"].tolist(), copied, data["F"].tolist())
        value, gain, pivot = stage(value, step, parts(data["H"], data["g"], NX + NU), 0.0, NU)
        assert pivot > 0.0
        gains.append(gain)
    W, Y = np.array(value.linear), np.array(value.constant)
    p, good = solve_positive(Y[1:, 1:].tolist(), (-(Y[0, 1:] + W[:, 1:].T @ dx0)).tolist())
    assert good > 0.0
    x, u, p_dense = dense_solution(stages, H_end, g_end, dx0)
    np.testing.assert_allclose(p, p_dense, rtol=1e-10)
    state = dx0
    for k, (data, gain) in enumerate(zip(stages, reversed(gains), strict=True)):
        one_p = np.array([1.0, *p])
        inputs = np.array(gain.feedback) @ state + np.array(gain.feedforward) @ one_p
        np.testing.assert_allclose(inputs, u[k], rtol=1e-9, atol=1e-10)
        state = data["AB"] @ np.concatenate([state, inputs]) + data["F"] @ one_p
        np.testing.assert_allclose(state, x[k + 1], rtol=1e-9, atol=1e-10)


def test_a_matrix_that_is_not_positive_definite_is_flagged_and_gives_finite_numbers():
    matrix = [[1.0, 2.0], [2.0, 1.0]]
    L, inverse, flag = cholesky(matrix, [1.0, 1.0])
    assert flag < 0.0
    assert np.isfinite([*inverse, *L[1]]).all()


@pytest.mark.parametrize("copied", [0, 2, 3], ids=["dense step", "two copied states", "three copied states"])
@pytest.mark.parametrize(("inputs", "forces"), [(2, 0), (5, 3)])
def test_a_sweep_in_tiles_agrees_with_straight_stages(copied, inputs, forces):
    rng, states, steps = np.random.default_rng(1), 6, 3
    size, columns = states + inputs, 1 + NP

    def positive(n: int) -> np.ndarray:
        root = rng.normal(size=(n, n))
        return root @ root.T + np.eye(n)

    def quadratic(n: int) -> Value:
        H = positive(n + columns)
        return Value(H[:n, :n].tolist(), H[:n, n:].tolist(), H[n:, n:].tolist())

    end, knots = quadratic(states), []
    for _ in range(steps):
        T = np.eye(states)
        T[:copied] += rng.normal(size=(copied, states))
        S, offset = rng.normal(size=(states - copied, size)), rng.normal(size=(states, columns))
        step = Step(T.tolist(), S.tolist(), copied, offset.tolist())
        F = rng.normal(size=(forces, size))
        knots.append((step, quadratic(size), F, positive(forces) @ F))

    value, expected = end, []
    for step, cost, F, G in reversed(knots):
        value, gains, _ = stage(value, step, cost._replace(hessian=(cost.hessian + F.T @ G).tolist()), 0.1, inputs)
        expected.insert(0, (value, gains))

    def unpack(after, constant, number):
        half = states * (states + 1) // 2
        V, W, Y = np.zeros((states, states)), np.reshape(after[half:], (states, columns)), np.zeros((columns, columns))
        V[np.tril_indices(states)], Y[np.tril_indices(columns)] = after[:half], constant[:-1]
        full = [(X + np.tril(X, -1).T).tolist() for X in (V, Y)]
        step, cost, F, G = knots[number[0]]
        return Value(full[0], W.tolist(), full[1]), step, cost, F.tolist(), G.tolist()

    def flat(each: Value) -> list[float]:
        return [*lower(each.hessian), *np.ravel(each.linear)]

    values = [*[[]] * steps, flat(end)]
    constant, gain, forward = [[*lower(end.constant), 1.0]], [[]] * steps, [[]] * steps
    numbers = [[k] for k in range(steps)]
    tables = SweepTables(values, constant, [[0.0, 0.1]], gain, forward, lambda k: [(numbers, k)])
    TiledSweep(states, copied, inputs, columns, forces, unpack).run(UNROLLED, tables, steps, None)
    for k, (after, gains) in enumerate(expected):
        np.testing.assert_allclose(values[k], flat(after), rtol=1e-10)
        np.testing.assert_allclose(gain[k], np.ravel(gains.feedback), rtol=1e-10)
        np.testing.assert_allclose(forward[k], np.ravel(gains.feedforward), rtol=1e-10)
    np.testing.assert_allclose(constant[0][:-1], lower(expected[0][0].constant), rtol=1e-10)
    assert constant[0][-1] > 0.0
