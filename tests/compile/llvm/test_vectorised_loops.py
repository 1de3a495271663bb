"""Vectorised iterations of one sample have the bits of consecutive iterations in a batch."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appell.algebra.loops import Rows
from appell.compile.function import Function
from appell.compile.llvm.lanes import DOUBLE, FLOAT, Lanes
from appell.compile.llvm.program_body import is_vectorisable
from appell.compile.llvm.schedule import CHUNK_STEPS

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
    return [is_vectorisable(stage, lanes, CHUNK_STEPS) for stage in function.fused.stages if len(stage.order) > 1]


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
        ([0, 1, 2, 3], [4, 5, 6, 7], [[1.0], [2.0], [3.0], [4.0]], False),  # each has its own number
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
