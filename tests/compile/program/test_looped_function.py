"""Functions of programs support everything that functions of tapes do."""

import pickle

import numpy as np
import pytest

from appell.algebra.loops import UNROLLED, Rows
from appell.compile.function import Function
from appell.compile.tape.count import OpCount
from looped_functions import SHAPES, SIZE, chain

LOOPED = Function.of("chain", SHAPES, chain, "A chain.", "robot 'x'", loops=True)
STRAIGHT = Function.of("chain", SHAPES, lambda q, v: chain(q, v, UNROLLED))
Q, V = np.random.default_rng(0).uniform(0.5, 1.5, (2, 5, SIZE))


def products(q, v, loops):
    rows = [Rows(loops.given([[x] for x in q]), range(SIZE)), Rows(loops.given([[x] for x in v]), range(SIZE))]
    table = loops.table(SIZE, 2)
    loops.each([lambda x, y: [[x[0] * y[0], 0.0]]], [0] * SIZE, rows, [Rows(table, range(SIZE))])
    return {"p": loops.values(table)}


def total(q, v, loops):
    table, all_of_them = loops.given([[0.0]]), [0] * SIZE
    rows = [Rows(loops.given([[x] for x in q]), range(SIZE)), Rows(table, all_of_them)]
    loops.each([lambda x, total_row: [[total_row[0] + x[0] * x[0]]]], all_of_them, rows, [Rows(table, all_of_them)])
    return {"s": loops.values(table)[0][0]}


def test_repr_shows_arguments_results_and_owner():
    assert repr(LOOPED) == "<Function chain(q[7], v[7]) -> ends[5], rows[7, 2], same[7] of robot 'x'>"
    assert (LOOPED.name, LOOPED.__name__, LOOPED.__doc__) == ("chain", "chain", "A chain.")


def test_all_iterations_are_counted():
    one = Function.of("products", SHAPES, products, loops=True)
    assert one.count() == OpCount(mul=SIZE)
    assert LOOPED.count().trig == 8  # a sine and a cosine in each of four iterations


def test_a_program_pickles_by_content():
    copy = pickle.loads(pickle.dumps(LOOPED))
    assert copy.formula == LOOPED.formula
    assert copy.formula.digest == LOOPED.formula.digest
    for one, other in zip(copy(Q, V), LOOPED(Q, V), strict=True):
        np.testing.assert_array_equal(one, other)


def test_programs_that_differ_in_a_number_have_different_digests():
    def body(factor):
        def made(q, v, loops):
            table = loops.table(2, 1)
            rows = [Rows(loops.given([[q[0]]]), [0, 0])]
            loops.each([lambda x, n: [[x[0] * n[0]]]], [0, 0], rows, [Rows(table, [0, 1])], [[2.0], [factor]])
            return {"x": loops.values(table)}

        return Function.of("f", SHAPES, made, loops=True).formula

    assert body(3.0).digest == body(3.0).digest
    assert body(3.0).digest != body(3.0000000000000004).digest


@pytest.mark.parametrize("wrt", ["q", "v"])
def test_a_program_can_be_differentiated(wrt):
    for one, other in zip(LOOPED.jacobian(wrt)(Q, V), STRAIGHT.jacobian(wrt)(Q, V), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


def test_a_program_has_columns_zeros_gradients_and_pullbacks():
    both = Function.of("products", SHAPES, products, loops=True)
    np.testing.assert_array_equal(both.columns([0])(Q, V)[..., 0], Q * V)
    np.testing.assert_array_equal(both.structural_zeros, [[False, True]] * SIZE)
    np.testing.assert_array_equal(both.pullback("q")(Q, V, np.ones((SIZE, 2))), V)
    np.testing.assert_array_equal(Function.of("total", SHAPES, total, loops=True).gradient("q")(Q, V), 2 * Q)


def test_batches_broadcast_and_fill_out():
    want = LOOPED(Q, V)
    out = tuple(np.empty_like(x) for x in want)
    assert LOOPED(Q, V, out=out)[1] is out[1]
    for k in range(5):
        for one, all_of_them in zip(LOOPED(Q[k], V[k]), out, strict=True):
            np.testing.assert_array_equal(one, all_of_them[k])
    np.testing.assert_array_equal(LOOPED(Q[:, None], V[None])[1][2, 3], LOOPED(Q[2], V[3])[1])
    assert LOOPED(Q.astype("f"), V.astype("f"))[0].dtype == np.float32
