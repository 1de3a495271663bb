"""Sweeps over laws, against the simulator's own solver of the same laws, which is another method."""

from __future__ import annotations

import numpy as np
import pytest

from appell.algebra.loops import UNROLLED
from appell.compile.function import Function
from appell.simulation.contact.blocks import PUSH, Block, solve_blocks
from appell.simulation.rollouts.contacts.impulse_laws import Box, Cone, Range, gauss_seidel


def problem(rng, sizes):
    """A of full rank and b for blocks of these sizes."""
    n = sum(sizes)
    rows = rng.normal(size=(n, n + 2))
    return rows @ rows.T / n + 0.1 * np.eye(n), rng.normal(size=n)


@pytest.mark.parametrize("seed", range(8))
def test_enough_sweeps_find_what_newtons_method_finds(seed):
    rng = np.random.default_rng(seed)
    mu, bound, low = rng.uniform(0.1, 0.6), rng.uniform(0.1, 2.0), rng.normal()
    A, b = problem(rng, [1, 3, 1, 3])
    shift = np.zeros(8)
    shift[[0, 1, 5]] = low
    solution = solve_blocks(A, b - shift, [PUSH, Block("cone", mu), Block("box", bound), Block("cone", mu)])
    assert solution.solved
    laws = [Range(low), Cone(low, mu, 3), Box(bound), Cone(low, mu, 3)]
    f = gauss_seidel(UNROLLED, A.tolist(), b.tolist(), laws, 400)
    np.testing.assert_allclose(f, solution.f, atol=1e-7 * max(1.0, np.abs(solution.f).max()))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("from_zero", [True, False])
def test_sweeps_over_a_factor_of_low_rank_are_sweeps_over_the_matrix(seed, from_zero):
    rng = np.random.default_rng(seed)
    Y, b = rng.normal(size=(14, 3)), rng.normal(size=14)
    laws = [Cone(0.0, 0.4, 3), Cone(0.1, 0.4, 3), Range(0.0), Box(0.3), Cone(0.0, 0.2, 3), Cone(0.0, 0.2, 3)]
    start = None if from_zero else rng.uniform(size=14).tolist()
    by_matrix, by_factor = (
        gauss_seidel(UNROLLED, (Y @ Y.T).tolist(), b.tolist(), laws, 15, start, factor) for factor in (None, Y.tolist())
    )
    np.testing.assert_allclose(by_factor, by_matrix, atol=1e-10 * max(1.0, np.abs(by_matrix).max()))
    assert np.abs(by_matrix).max() > 0.1


@pytest.mark.parametrize("seed", range(4))
def test_a_cone_in_the_plane_is_a_cone_whose_second_tangent_rests(seed):
    rng = np.random.default_rng(seed)
    A, b = problem(rng, [2])
    b[0] = -abs(b[0])
    space, still = np.eye(3), np.zeros(3)
    space[:2, :2], still[:2] = A, b
    solution = solve_blocks(space, still, [Block("cone", 0.4)])
    f = gauss_seidel(UNROLLED, A.tolist(), b.tolist(), [Cone(0.0, 0.4, 2)], 200)
    np.testing.assert_allclose(f, solution.f[:2], atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_range_pushes_at_its_ends_and_nowhere_else(seed):
    rng = np.random.default_rng(seed)
    A, b = problem(rng, [1] * 5)
    low, high = -rng.uniform(0.1, 0.5, 5), rng.uniform(0.1, 0.5, 5)
    laws = [Range(*ends) for ends in zip(low, high, strict=True)]
    f = np.array(gauss_seidel(UNROLLED, A.tolist(), (3 * b).tolist(), laws, 400))
    u = A @ f + 3 * b
    assert (f != 0).any()
    np.testing.assert_allclose(u[f > 0], low[f > 0], atol=1e-9)
    np.testing.assert_allclose(u[f < 0], high[f < 0], atol=1e-9)
    assert ((u >= low - 1e-9) & (u <= high + 1e-9)).all()


def test_one_point_sticks_after_one_sweep():
    rng = np.random.default_rng(5)
    A, b = problem(rng, [3])
    f = gauss_seidel(UNROLLED, A.tolist(), b.tolist(), [Cone(0.0, 1e6, 3)], 1)
    if f[0] > 0.0:
        np.testing.assert_allclose(A @ f + b, 0.0, atol=1e-8)
    else:
        assert b[0] > 0.0


@pytest.mark.parametrize("sweeps", [1, 2, 5])
def test_few_sweeps_over_ranges_and_boxes_never_create_energy(sweeps):
    rng = np.random.default_rng(sweeps)
    for _ in range(20):
        A, b = problem(rng, [1] * 6)
        f = np.array(gauss_seidel(UNROLLED, A.tolist(), b.tolist(), [Range(0.0)] * 3 + [Box(0.4)] * 3, sweeps))
        assert f @ b + 0.5 * f @ A @ f <= 1e-15


def test_a_direction_in_which_nothing_moves_has_no_impulse():
    A = np.diag([0.0, 0.0, 0.0, 2.0])
    f = gauss_seidel(UNROLLED, A.tolist(), [-1.0, 0.0, 0.0, -1.0], [Cone(0.0, 0.5, 3), Range(0.0)], 3)
    np.testing.assert_allclose(f, [0.0, 0.0, 0.0, 0.5])


def test_loops_that_stay_loops_give_the_same_impulses_and_the_code_does_not_grow():
    rng = np.random.default_rng(0)
    A, b = problem(rng, [1, 3])

    def made(sweeps, loops):
        def body(A, b, rolled=UNROLLED):
            return {"f": gauss_seidel(rolled, A, b, [Range(0.0), Cone(0.0, 0.5, 3)], sweeps)}

        return Function.of("gauss_seidel", {"A": (4, 4), "b": 4}, body, loops=loops)

    np.testing.assert_allclose(made(7, True)(A, b), made(7, False)(A, b), atol=1e-14)
    few, many = (made(sweeps, True).formula for sweeps in (3, 300))
    assert [len(step.tape.nodes) for stage in few.stages for step in stage.steps] == [
        len(step.tape.nodes) for stage in many.stages for step in stage.steps
    ]


def scattered(seed, tolerance):
    """Return impulses of many problems of one shape in one call, and of each in a call of its own."""
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(6, 8)) * [[1.0], [1.0], [1.0], [0.3], [0.3], [0.3]]
    A = (Y @ Y.T).tolist()

    def body(b, loops):
        return {"f": gauss_seidel(loops, A, b, [Cone(0.0, 0.5, 3), Cone(0.0, 0.5, 3)], 40, tolerance=tolerance)}

    function = Function.of("sweeps", {"b": 6}, body, loops=True)
    b = rng.normal(size=(37, 6)) * 10.0 ** rng.uniform(-3, 3, (37, 1))
    return np.asarray(function(b)), np.array([function(x) for x in b])


@pytest.mark.parametrize("seed", range(3))
def test_sweeps_that_end_early_are_as_accurate_as_their_tolerance(seed):
    exact, _ = scattered(seed, 0.0)
    early, _ = scattered(seed, 1e-6)
    size = np.abs(exact).max(axis=1, keepdims=True)
    assert np.abs(early - exact).max() > 0.0  # some ended early
    assert (np.abs(early - exact) <= 1e-4 * size).all()


def test_sweeps_that_end_early_do_not_depend_on_other_samples():
    together, alone = scattered(0, 1e-4)
    np.testing.assert_array_equal(together, alone)
