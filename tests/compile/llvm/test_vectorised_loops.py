"""Vectorised iterations of one sample have the bits of consecutive iterations in a batch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appell.algebra.loops import Rows
from appell.algebra.scalar import cos, exp, sin
from appell.compile.function import Function
from appell.compile.llvm.lanes import DOUBLE, FLOAT, Lanes
from appell.compile.llvm.program_body import is_vectorisable

ONE = Lanes(DOUBLE, 8)


def columns_solved(iterations: int, width: int, extra: int):
    """Each iteration reads its own row and a shared one; some of what it writes are inputs, some is constant."""

    def step(shared, row):
        total = row[0] * shared[0]
        for k, x in enumerate(row):
            total = total - x * shared[k % len(shared)]
        return [[total + k * x for k, x in enumerate(row)] + [row[-1], shared[0], 1.5][:extra], [total, -total]]

    def body(x, y, loops):
        rows = loops.given([[x[k] * y[i] for i in range(width)] for k in range(iterations)])
        long, short = loops.table(iterations, width + extra), loops.table(iterations, 2)
        first, each = [0] * iterations, range(iterations)
        reads = [Rows(loops.given([list(y)]), first), Rows(rows, each)]
        loops.each([step], first, reads, [Rows(long, each), Rows(short, list(each)[::-1])])
        return {"long": loops.values(long), "short": loops.values(short)}

    return Function.of("solved", {"x": iterations, "y": width}, body, loops=True)


def vectorised(function: Function, lanes: Lanes = ONE) -> list[bool]:
    return [is_vectorisable(stage, lanes) for stage in function.fused.stages if len(stage.order) > 1]


@settings(max_examples=25, deadline=None)
@given(
    iterations=st.integers(3, 20),
    width=st.integers(2, 17),
    extra=st.integers(0, 3),
    kind=st.sampled_from([np.float64, np.float32]),
)
def test_one_sample_has_the_bits_that_it_has_in_a_batch(iterations, width, extra, kind):
    function = columns_solved(iterations, width, extra)
    assert vectorised(function) == [True]
    draw = np.random.default_rng(iterations)
    x, y = (draw.normal(size=(5, array.size)).astype(kind) for array in function.inputs)
    alone = function.bind(kind)
    batch = function(x, y)
    for k in range(5):
        alone.x[:], alone.y[:] = x[k], y[k]
        alone()
        np.testing.assert_array_equal(alone.long, batch[0][k])
        np.testing.assert_array_equal(alone.short, batch[1][k])
        for direct, want in zip(function(x[k], y[k]), batch, strict=True):
            np.testing.assert_array_equal(direct, want[k])


def test_a_sample_that_is_not_finite_has_nan_results():
    alone = columns_solved(9, 4, 2).bind()
    alone.x[:], alone.y[:] = 1.0, 2.0
    alone.x[3] = np.nan
    alone()
    assert np.isnan(alone.long).all()


@pytest.mark.parametrize("lanes", [Lanes(DOUBLE, 16), Lanes(DOUBLE, 64), Lanes(FLOAT, 8)], ids=str)
def test_where_lanes_are_samples_iterations_are_consecutive(lanes):
    assert vectorised(columns_solved(9, 4, 2), lanes) == [False]


def loop_of(step, reads, writes, numbers=()):
    def body(x, loops):
        table = loops.given([[x[k], 2.0 * x[k]] for k in range(8)])
        loops.each([step], [0] * 4, [Rows(table, reads)], [Rows(table, writes)], numbers)
        return {"rows": loops.values(table)}

    return Function.of("loop", {"x": 8}, body, loops=True)


def swapped(row, numbers=(1.0,)):
    return [[row[1], numbers[0] * row[0] * row[1]]]


@pytest.mark.parametrize(
    ("reads", "writes", "numbers", "expected"),
    [
        ([0, 1, 2, 3], [4, 5, 6, 7], (), True),
        ([0, 0, 0, 0], [4, 5, 6, 7], (), True),
        ([0, 4, 5, 6], [4, 5, 6, 7], (), False),  # each reads what the one before wrote
        ([1, 2, 3, 4], [0, 1, 2, 3], (), False),  # each overwrites what the one before has read
        ([0, 1, 2, 3], [4, 5, 4, 5], (), False),  # results of later iterations must remain
        ([0, 1, 2, 3], [4, 5, 6, 7], [[1.0], [2.0], [3.0], [4.0]], True),  # each has its own number
    ],
)
def test_only_independent_iterations_are_vectorised(reads, writes, numbers, expected):
    function = loop_of(swapped, reads, writes, numbers)
    assert vectorised(function) == [expected]
    x = np.linspace(-1, 1, 24).reshape(3, 8)
    batch, alone = function(x), function.bind()
    for k in range(3):
        alone.x[:] = x[k]
        alone()
        np.testing.assert_array_equal(alone.rows, batch[k])


def long_steps(iterations: int, length: int):
    """Iterations of two kinds, with sines, numbers and more operations than one function has."""

    def step(shared, row, numbers):
        x, y = row
        for k in range(length):
            x, y = cos(x) * numbers[0] + 0.3 * shared[k % 3] * y, sin(y + 0.1 * k) - 0.1 * x * numbers[1]
        return [[x, y, x + y]]

    def short(shared, row, numbers):
        return [[row[0] * shared[0], exp(row[1]), numbers[1]]]

    def body(x, y, loops):
        rows = loops.given([[x[k], x[-1 - k]] for k in range(iterations)])
        result = loops.table(iterations, 3)
        kinds = [int(k % 4 == 3) for k in range(iterations)]
        numbers = [[0.5 / (k + 1), 0.1 * k] for k in range(iterations)]
        reads = [Rows(loops.given([list(y)]), [0] * iterations), Rows(rows, range(iterations))]
        loops.each([step, short], kinds, reads, [Rows(result, range(iterations))], numbers)
        return {"rows": loops.values(result)}

    return Function.of("long", {"x": iterations, "y": 3}, body, loops=True)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_long_tapes_with_sines_and_numbers_of_several_kinds_have_the_bits_of_a_batch(kind):
    function = long_steps(13, 200)
    assert vectorised(function) == [True]
    draw = np.random.default_rng(4)
    x, y = (draw.uniform(-2, 2, (5, array.size)).astype(kind) for array in function.inputs)
    x[2, 4] = 1e9  # reduced with many digits
    batch = function(x, y)
    assert np.isfinite(batch).all()
    for k in range(5):
        np.testing.assert_array_equal(function(x[k], y[k]), batch[k])
