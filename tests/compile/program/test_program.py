"""Programs: evaluation, printing, and the rules that are verified."""

from dataclasses import replace

import numpy as np
import pytest

from appell.compile.program.program import FrameStep, Program, Stage, Window, verify_program
from appell.compile.tape.ops import Op
from appell.compile.tape.tape import Array, Tape
from appell.errors import CompileError
from compile.program.interpreter import run

ADD = Tape(
    "add",
    (Array("x", (1,)), Array("y", (1,)), Array("numbers", (1,))),
    (Array("z", (1,)),),
    ((Op.INPUT, 0), (Op.INPUT, 1), (Op.INPUT, 2), (Op.MUL, 1, 2), (Op.ADD, 0, 3)),
    (4,),
)
STEP = FrameStep(ADD, (Window((0, 3), 1), Window((1, 2), 1)), (Window((3, 3), 1),), ((10.0,), (100.0,)))
SUM = Program("sum", (Array("x", (3,)),), (Array("s", ()),), 4, (Stage((STEP,), (0, 0)),), (3,))


def changed(**parts) -> Program:
    return replace(SUM, stages=(Stage((replace(STEP, **parts),), (0, 0)),))


def test_iterations_run_one_after_the_other():
    assert run(verify_program(SUM), [1.0, 2.0, 3.0]) == (321.0,)


def test_a_program_prints_its_stages():
    assert str(SUM) == (
        "program sum (x[3]) -> (s)\n  frame of 4\n  2 iterations of add (x[1], y[1], numbers[1]) -> (z[1])"
    )


def test_iterations_of_two_kinds_use_their_own_windows():
    other = FrameStep(ADD, (Window((3,), 1), Window((2,), 1)), (Window((3,), 1),), ((1000.0,),))
    first = FrameStep(ADD, (Window((0,), 1), Window((1,), 1)), (Window((3,), 1),), ((10.0,),))
    for order, wanted in (((0, 1), 3021.0), ((0,), 21.0)):
        stage = Stage((first, other)[: len(order)], order)
        assert run(verify_program(replace(SUM, stages=(stage,))), np.array([1.0, 2.0, 3.0])) == (wanted,)


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (changed(reads=(Window((0, 3), 2), Window((1, 2), 1))), "reads"),
        (changed(writes=(Window((3, 3), 2),)), "other widths"),
        (changed(writes=(Window((3, 2), 1),)), "overwrites an input"),
        (changed(reads=(Window((0,), 1), Window((1, 2), 1))), "another number"),
        (changed(numbers=((10.0,),)), "lacks rows of 1 numbers for its 2 iterations"),
        (changed(numbers=((10.0,), (np.inf,))), "not finite"),
        (changed(reads=(Window((0, 4), 1), Window((1, 2), 1))), "beyond the frame"),
        (replace(SUM, results=(4,)), "beyond the frame"),
        (replace(SUM, results=(3, 3)), "2 results"),
    ],
)
def test_a_violated_rule_is_named(wrong, problem):
    with pytest.raises(CompileError, match=problem):
        verify_program(wrong)
