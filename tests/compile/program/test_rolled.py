"""Traced loops compute what the same body computes on plain numbers."""

import numpy as np
import pytest

from appell.algebra.loops import UNROLLED, Rows
from appell.compile.function import Function
from appell.compile.program.roll import roll
from appell.compile.tape.formula import fused, unrolled
from appell.compile.tape.tape import arrays
from appell.errors import TraceError
from compile.program.interpreter import run
from looped_functions import SHAPES, SIZE, chain

CHAIN = roll("chain", arrays(SHAPES), chain)
SAMPLES = np.random.default_rng(0).normal(size=(2, 13, SIZE))
EVERY, NONE = range(SIZE), [0] * SIZE


def test_a_program_computes_what_its_body_computes_on_numbers():
    for q, v in SAMPLES.transpose(1, 0, 2):
        wanted = chain(q.tolist(), v.tolist(), UNROLLED)
        for result, name in zip(run(CHAIN, q, v), wanted, strict=True):
            np.testing.assert_allclose(result, wanted[name], rtol=1e-14, atol=1e-14)


def test_machine_code_of_a_program_agrees_with_the_interpreter():
    function = Function(CHAIN)
    q, v = SAMPLES
    results = function(q, v)
    for k in range(len(q)):
        for wanted, one in zip(run(fused(CHAIN), q[k], v[k]), results, strict=True):
            np.testing.assert_allclose(one[k], wanted, rtol=1e-13, atol=1e-14)


def test_an_unrolled_program_is_the_same_function():
    for one, other in zip(Function(CHAIN)(*SAMPLES), Function(unrolled(CHAIN))(*SAMPLES), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-14)


def test_bodies_are_traced_once_and_tables_of_inputs_are_not_copied():
    def body(q, v, loops):
        pairs = loops.given(list(zip(q, v, strict=True)))
        out = loops.table(SIZE, 1)
        loops.each([lambda pair: [[pair[0] * pair[1]]]], NONE, [Rows(pairs, EVERY)], [Rows(out, EVERY)])
        return {"out": loops.values(out)}

    program = roll("products", arrays(SHAPES), body)
    assert [len(stage.order) for stage in program.stages] == [SIZE]
    assert program.size == 3 * SIZE


def test_slots_are_reused_after_their_last_read():
    def body(q, v, loops):
        table = loops.given([[x * y] for x, y in zip(q, v, strict=True)])
        for _ in range(20):
            after = loops.table(SIZE, 1)
            loops.each([lambda row: [[row[0] + 1.0]]], NONE, [Rows(table, EVERY)], [Rows(after, EVERY)])
            table = after
        return {"out": loops.values(table)}

    assert roll("long", arrays(SHAPES), body).size == 4 * SIZE


def test_values_read_from_a_table_do_not_change_when_it_is_overwritten():
    def body(q, v, loops):
        table = loops.given([[x] for x in q])
        old = [row[0] for row in loops.values(table)]
        twice = [Rows(table, EVERY)]
        loops.each([lambda row: [[2.0 * row[0]]]], NONE, twice, twice)
        new = [row[0] for row in loops.values(table)]
        loops.each([lambda row: [[2.0 * row[0]]]], NONE, twice, twice)
        return {
            "old": old,
            "new": new,
            "sum": [a + b for a, b in zip(old, new, strict=True)],
            "last": loops.values(table),
        }

    q = np.arange(1.0, SIZE + 1.0)
    old, new, total, last = run(roll("twice", arrays(SHAPES), body), q, q)
    assert (old.tolist(), new.tolist(), total.tolist()) == (q.tolist(), (2 * q).tolist(), (3 * q).tolist())
    assert last.ravel().tolist() == (4 * q).tolist()


def test_two_tables_of_the_same_values_are_independent():
    def body(q, v, loops):
        first = loops.given([[x + 1.0] for x in q])
        second = loops.given(loops.values(first))
        write = [Rows(first, EVERY)]
        loops.each([lambda row: [[-row[0]]]], NONE, write, write)
        return {"first": loops.values(first), "second": loops.values(second)}

    q = np.arange(SIZE, dtype=float)
    first, second = run(roll("views", arrays(SHAPES), body), q, q)
    assert (first.ravel().tolist(), second.ravel().tolist()) == ((-q - 1).tolist(), (q + 1).tolist())


def test_identical_iterations_are_all_run():
    def body(q, v, loops):
        table = loops.given([[q[0]]])
        row = [Rows(table, NONE)]
        loops.each([lambda x: [[2.0 * x[0]]]], NONE, row, row)
        return {"x": loops.values(table)[0]}

    assert Function.of("doubled", SHAPES, body, loops=True)(np.ones(SIZE), np.ones(SIZE)) == 2.0**SIZE


def test_numbers_that_are_the_same_in_all_iterations_are_constants():
    def body(q, v, loops):
        table, out = loops.given([[x] for x in q]), loops.table(SIZE, 1)
        numbers = [[0.0, 1.0, float(k)] for k in EVERY]
        loops.each(
            [lambda row, n: [[row[0] * n[1] + n[0] * row[0] + n[2]]]],
            NONE,
            [Rows(table, EVERY)],
            [Rows(out, EVERY)],
            numbers,
        )
        return {"out": loops.values(out)}

    [stage] = roll("folded", arrays(SHAPES), body).stages
    assert stage.steps[0].numbers == tuple((float(k),) for k in EVERY)
    assert Function.of("folded", SHAPES, body, loops=True).count().total == SIZE


@pytest.mark.parametrize(
    ("problem", "each"),
    [
        ("before it is written", lambda loops, t: loops.each([lambda x: [x]], [0], [Rows(loops.table(1, 1), [0])], [])),
        ("another number of iterations", lambda loops, t: loops.each([lambda x: [x]], [0, 0], [Rows(t, [0])], [])),
        ("kind 2", lambda loops, t: loops.each([lambda x: [x]], [2], [Rows(t, [0])], [])),
        ("row of 2", lambda loops, t: loops.each([lambda x: [[*x, 1.0]]], [0], [Rows(t, [0])], [Rows(t, [0])])),
        ("writes row 9", lambda loops, t: loops.each([lambda x: [x]], [0], [Rows(t, [0])], [Rows(t, [9])])),
        ("before it is written", lambda loops, t: loops.values(loops.table(1, 1))),
        ("rows of", lambda loops, t: loops.given([[1.0], [1.0, 2.0]])),
        ("a table holds 'x'", lambda loops, t: loops.given([["x"]])),
    ],
)
def test_an_invalid_loop_is_named(problem, each):
    def body(q, v, loops):
        each(loops, loops.given([[q[0]]]))
        return {"x": q}

    with pytest.raises(TraceError, match=problem):
        roll("wrong", arrays(SHAPES), body)


def test_a_body_that_uses_a_scalar_from_outside_is_rejected():
    def body(q, v, loops):
        table = loops.given([[x] for x in q])
        row = [Rows(table, EVERY)]
        loops.each([lambda x: [[q[0]]]], NONE, row, row)
        return {"x": q}

    with pytest.raises(TraceError, match="another trace"):
        roll("outside", arrays(SHAPES), body)


def test_iterations_of_a_kind_may_have_no_row_of_a_table():
    rows = [k if k % 2 else None for k in EVERY]

    def body(q, v, loops):
        out = loops.table(SIZE, 1)
        first = loops.given([[x] for x in q])
        steps = [lambda one, _: [[2.0 * one[0]], []], lambda one, other: [[one[0] * other[0]], [one[0]]]]
        pairs, seen = loops.given([[x] for x in v]), loops.given([[0.0] for _ in q])
        kinds = [k % 2 for k in EVERY]
        loops.each(steps, kinds, [Rows(first, EVERY), Rows(pairs, rows)], [Rows(out, EVERY), Rows(seen, rows)])
        return {"out": loops.values(out), "seen": loops.values(seen)}

    q, v = SAMPLES
    out, seen = Function.of("some", SHAPES, body, loops=True)(q, v)
    odd = np.arange(SIZE) % 2
    np.testing.assert_array_equal(out[..., 0], np.where(odd, q * v, 2.0 * q))
    np.testing.assert_array_equal(seen[..., 0], np.where(odd, q, 0.0))
    for name, values in body(q[0].tolist(), v[0].tolist(), UNROLLED).items():
        np.testing.assert_array_equal({"out": out, "seen": seen}[name][0], values)

    def mixed(q, v, loops):
        out = loops.table(SIZE, 1)
        first = loops.given([[x] for x in q])
        loops.each([lambda one: [one or [0.0]]], NONE, [Rows(first, rows)], [Rows(out, EVERY)])
        return {"out": loops.values(out)}

    with pytest.raises(TraceError, match="some iterations of a body have a row"):
        roll("mixed", arrays(SHAPES), mixed)


def test_a_body_of_several_loops_is_traced_once_and_loops_that_are_equal_share_their_machine_code():
    calls = []

    def double(row):
        calls.append(row)
        return [[2.0 * x + 1.0 for x in row]]

    def body(x, loops):
        table = loops.given([[value * 1.0 + 0.5] for value in x])
        every = Rows(table, range(len(x)))
        for _ in range(3):
            loops.each([double], [0] * len(x), [every], [every])
        return {"y": [row[0] for row in loops.values(table)]}

    program = roll("repeated", arrays({"x": 8}), body)
    loops = [stage for stage in program.stages if len(stage.order) == 8]
    assert len(calls) == 1
    assert len(loops) == 3
    assert len(set(loops)) == 1
    function = Function.of("repeated", {"x": 8}, body, loops=True)
    x = np.linspace(-1.0, 2.0, 40).reshape(5, 8)
    assert np.abs(function(x) - (8.0 * (x + 0.5) + 7.0)).max() < 1e-14
