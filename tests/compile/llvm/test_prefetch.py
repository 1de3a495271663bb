"""Lines that results are written to: all are prefetched, each once, and only if they fit into the L1 cache."""

import pytest

from appell.algebra.loops import Rows
from appell.compile.function import Function
from appell.compile.llvm.kernel import loop_kernel, single_kernel
from appell.compile.llvm.lanes import DOUBLE, FLOAT, Form, Lanes
from appell.compile.llvm.scan import scan_kernel
from appell.compile.llvm.transfer import LINE, prefetched_lines
from appell.compile.program.program import Program
from compile.llvm.tapes import random_tape

LARGE_CACHE_BYTES = 1 << 20
PREFETCH = "@llvm.prefetch.p0("


def of(length=60, results=45):
    return random_tape(1, length, {"x": (9,), "y": ()}, {"z": (results,), "w": (2, 3), "u": (5, 4)})


def prefetches_of_body(text: str) -> int:
    """Count the prefetches in the functions before the kernel itself, which transfers samples."""
    return text.partition("\ndefine void @")[0].count(f"call void {PREFETCH}")


@pytest.mark.parametrize("format", [DOUBLE, FLOAT], ids=["doubles", "floats"])
@pytest.mark.parametrize("register", [32, 64])
def test_consecutive_rows_are_prefetched_line_by_line(format, register):
    tape, lanes = of(), Lanes(format, register)
    lines = prefetched_lines(tape, lanes)
    assert {result for result, *_ in lines} == {0, 2}, "rows of six numbers are shorter than a line"
    for result in (0, 2):
        size = tape.outputs[result].size
        offsets = [row * size * lanes.itemsize + byte for of, row, byte in lines if of == result]
        assert offsets == list(range(0, size * lanes.bytes, LINE))


@pytest.mark.parametrize("chunk", [30, 100_000])
def test_the_body_prefetches_every_line_once(chunk):
    tape = of(800)
    count = len(prefetched_lines(tape, Lanes(DOUBLE, 64)))
    text = loop_kernel(tape, Form(64, chunk, LARGE_CACHE_BYTES))
    assert prefetches_of_body(text) == count == 45 + 20


def test_a_body_that_is_too_short_prefetches_nothing():
    assert prefetches_of_body(loop_kernel(of(100), Form(64, 100_000, LARGE_CACHE_BYTES))) == 0


def test_results_that_exceed_the_l1_cache_are_not_prefetched_by_the_body():
    assert prefetches_of_body(loop_kernel(of(), Form(64, cache=5 << 10))) == 0
    assert prefetches_of_body(loop_kernel(of(), Form(64))) == 0


@pytest.mark.parametrize("chunk", [30, 100_000])
def test_slots_of_results_beyond_the_l1_cache_are_prefetched(chunk):
    tape = of(400)
    assert prefetches_of_body(loop_kernel(tape, Form(64, chunk, 1 << 10))) == len(set(tape.results))


def test_a_frame_beyond_the_l1_cache_is_prefetched_before_it_is_written():
    twice = Function.of("twice", {"q": 20}, _doubled, loops=True).fused
    assert isinstance(twice, Program)
    step = twice.stages[-1].steps[0]  # an earlier stage copies the inputs to a table
    assert prefetches_of_body(loop_kernel(twice, Form(64, cache=1 << 10))) == len(step.tape.results) == 1
    assert prefetches_of_body(loop_kernel(twice, Form(64, cache=LARGE_CACHE_BYTES))) == 0


def _doubled(q, loops):
    table = loops.given([[x] for x in q])
    each = [Rows(table, range(20))]
    loops.each([lambda row: [[row[0] + row[0]]]], [0] * 20, each, each)
    return {"r": [row[0] for row in loops.values(table)]}


def test_without_destinations_nothing_is_prefetched():
    form = Form(64, cache=LARGE_CACHE_BYTES)
    assert prefetches_of_body(single_kernel(of(), form)) == 0
    assert prefetches_of_body(scan_kernel(of(), form, carried=0, held=1)) == 0
