"""Loops that are skipped where a flag is zero: machine code and exported C have the same bits."""

import ctypes

import numpy as np
import pytest

from appell.algebra.loops import Rows
from appell.algebra.scalar import select
from appell.compile.function import Function
from appell.compile.program.reverse import Gradient, NotReversibleError, reverse
from appell.compile.program.roll import roll
from appell.compile.scan import Scan
from appell.compile.tape.tape import arrays
from appell.errors import TraceError
from c_libraries import address, library


def bits(results):
    return [np.ascontiguousarray(result).tobytes() for result in results]


def skipping(x, state, loops):
    """Newton's iteration for a root of x, four at a time, until the residual is small; skipped after that."""
    table, flag = loops.table(5, 1), loops.table(1, 1)
    given, number = loops.given([[x]]), loops.given([[state]])
    loops.each([lambda y: [y]], [0], [Rows(number, [0])], [Rows(table, [0])])
    loops.each(
        [lambda x, y: [[select(abs(y[0] * y[0] - x[0]) - 1e-9, 1.0, 0.0)]]],
        [0],
        [Rows(given, [0]), Rows(table, [0])],
        [Rows(flag, [0])],
    )
    loops.each(
        [lambda y, x: [[0.5 * (y[0] + x[0] / y[0])]]],
        [0] * 4,
        [Rows(table, range(4)), Rows(given, [0] * 4)],
        [Rows(table, range(1, 5))],
        when=(flag, 0),
    )
    due, (first, *_, last) = loops.values(flag)[0][0], [row[0] for row in loops.values(table)]
    return {"state": select(due, last, first), "due": due}


def test_a_loop_is_skipped_if_its_flag_is_zero_in_all_samples(tmp_path):
    scan = Scan.of(
        "newton", {"state": ()}, {"x": ()}, {"t": ()}, lambda state, x, t, loops: skipping(x, state, loops), loops=True
    )
    x, start, clock = np.array([1.0, 2.0, 9.0, 1e6, 4.0]), np.array([1.0, 1.0, 3.0, 1.0, 1.5]), np.zeros(8)
    result = scan(start, x, clock)
    np.testing.assert_allclose(result.state[:, -1], np.sqrt(x), rtol=1e-8)
    assert result.due.sum(axis=1).tolist() == [0, 1, 0, 4, 1]
    step = Function(scan.step.formula)
    assert [stage.flag is not None for stage in step.formula.stages].count(True) == 1
    for k in range(5):
        assert bits(scan(start[k], x[k], clock)) == bits(part[k] for part in result)
    exported = library(step.to_c("newton"), tmp_path)
    out, due = np.empty(()), np.empty(())
    for k in range(5):
        value = start[k].copy()
        for row in range(8):
            exported.newton(
                ctypes.c_double(value), ctypes.c_double(x[k]), ctypes.c_double(0.0), address(out), address(due)
            )
            assert (out, due) == (result.state[k, row], result.due[k, row])
            value = out.copy()
    batch = np.empty((2, 5))
    exported.newton_batch(ctypes.c_size_t(5), *map(address, (start, x, np.zeros(5), batch[0], batch[1])))
    assert bits(batch) == bits((result.state[:, 0], result.due[:, 0]))


def test_reverse_mode_rejects_programs_with_loops_that_are_skipped():
    program = roll("skip", arrays({"x": (), "state": ()}), skipping)
    with pytest.raises(NotReversibleError, match="may be skipped"):
        reverse(program, "back", program.inputs, {"state": 1.0}, [Gradient("dx", "x")])


@pytest.mark.parametrize(("width", "written"), [(2, True), (1, False)])
def test_a_flag_that_is_not_one_written_number_is_rejected(width, written):
    def body(x, loops):
        rows, result = loops.given([x]), loops.table(1, 2)
        flag = loops.given([x[:width]]) if written else loops.table(1, width)
        loops.each([lambda row: [row]], [0], [Rows(rows, [0])], [Rows(result, [0])], when=(flag, 0))
        return {"y": loops.values(result)[0]}

    with pytest.raises(TraceError, match=f"flag of a loop is row 0 of a table of width {width}"):
        roll("wrong", arrays({"x": 2}), body)
