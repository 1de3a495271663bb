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

ROOM = 1 << 20
FETCH = "@llvm.prefetch.p0("


def of(length=60, results=45):
    return random_tape(1, length, {"x": (9,), "y": ()}, {"z": (results,), "w": (2, 3), "u": (5, 4)})


def fetched_by_the_body(text: str) -> int:
    """In the functions before the kernel itself, which moves samples."""
    return text.partition("\ndefine void @")[0].count(f"call void {FETCH}")


@pytest.mark.parametrize("number", [DOUBLE, FLOAT], ids=["doubles", "floats"])
@pytest.mark.parametrize("register", [32, 64])
def test_rows_that_follow_each_other_are_fetched_line_by_line(number, register):
    tape, lanes = of(), Lanes(number, register)
    found = prefetched_lines(tape, lanes)
    assert {result for result, *_ in found} == {0, 2}, "rows of six numbers fill no line"
    for result in (0, 2):
        size = tape.outputs[result].size
        places = [row * size * lanes.itemsize + byte for of, row, byte in found if of == result]
        assert places == list(range(0, size * lanes.bytes, LINE))


@pytest.mark.parametrize("chunk", [30, 100_000])
def test_the_body_fetches_every_line_once(chunk):
    tape = of(800)
    lines = len(prefetched_lines(tape, Lanes(DOUBLE, 64)))
    text = loop_kernel(tape, DOUBLE, True, Form(64, chunk, ROOM))
    assert fetched_by_the_body(text) == lines == 45 + 20


def test_a_body_that_is_over_before_its_lines_come_fetches_none():
    assert fetched_by_the_body(loop_kernel(of(100), DOUBLE, True, Form(64, 100_000, ROOM))) == 0


def test_nothing_is_fetched_that_the_first_cache_has_no_room_for():
    assert fetched_by_the_body(loop_kernel(of(), DOUBLE, True, Form(64, cache=5 << 10))) == 0
    assert fetched_by_the_body(loop_kernel(of(), DOUBLE, True, Form(64))) == 0


@pytest.mark.parametrize("chunk", [30, 100_000])
def test_where_results_wait_beyond_the_first_cache_their_places_are_fetched(chunk):
    tape = of(400)
    assert fetched_by_the_body(loop_kernel(tape, DOUBLE, True, Form(64, chunk, 1 << 10))) == len(set(tape.results))


def test_a_frame_beyond_the_first_cache_is_fetched_before_it_is_written():
    twice = Function.of("twice", {"q": 20}, _doubled, loops=True).fused
    assert isinstance(twice, Program)
    turn = twice.stages[-1].steps[0]  # before it, inputs are copied into a table
    assert fetched_by_the_body(loop_kernel(twice, DOUBLE, True, Form(64, cache=1 << 10))) == len(turn.tape.results) == 1
    assert fetched_by_the_body(loop_kernel(twice, DOUBLE, True, Form(64, cache=ROOM))) == 0


def _doubled(q, loops):
    table = loops.given([[x] for x in q])
    each = [Rows(table, range(20))]
    loops.each([lambda row: [[row[0] + row[0]]]], [0] * 20, each, each)
    return {"r": [row[0] for row in loops.values(table)]}


def test_where_nobody_tells_where_results_go_nothing_is_fetched():
    form = Form(64, cache=ROOM)
    assert fetched_by_the_body(single_kernel(of(), DOUBLE, True, form)) == 0
    assert fetched_by_the_body(scan_kernel(of(), DOUBLE, True, form, carried=0, held=1)) == 0
