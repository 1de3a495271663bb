"""The order of computation, and where values wait between chunks."""

import pytest

from appell.compile.emit.schedule import Group, chunks, schedule
from appell.compile.emit.stack_frame import stack_frame, step_defines, step_uses
from appell.compile.ops import Op
from compile.emit.tapes import random_tape, tape


@pytest.mark.parametrize("seed", range(5))
def test_every_step_comes_after_what_it_uses(seed):
    of = random_tape(seed, length=300)
    known = {k for k, (op, *_) in enumerate(of.nodes) if op in (Op.CONST, Op.INPUT)}
    for step in schedule(of):
        assert set(step_uses(of, step)) <= known
        known |= set(step_defines(step))
    assert set(of.results) <= known


def test_values_that_no_result_needs_are_left_out():
    of = tape({"x": ()}, {"y": ()}, [(Op.INPUT, 0), (Op.SIN, 0), (Op.NEG, 0)], [2])
    assert schedule(of) == [2]


def test_sines_and_cosines_of_one_level_form_one_group():
    nodes = [(Op.INPUT, 0), (Op.SIN, 0), (Op.NEG, 1), (Op.INPUT, 1), (Op.COS, 3), (Op.SIN, 2), (Op.COS, 0)]
    of = tape({"x": (2,)}, {"y": (4,)}, nodes, [1, 4, 5, 6])
    first, negated, second = schedule(of)
    assert isinstance(first, Group)
    assert isinstance(second, Group)
    assert negated == 2
    assert [(angle.node, angle.sines, angle.cosines) for angle in first.angles] == [(0, (1,), (6,)), (3, (), (4,))]
    assert [(angle.node, angle.sines, angle.cosines) for angle in second.angles] == [(2, (5,), ())]


@pytest.mark.parametrize("seed", range(5))
def test_a_waiting_value_is_not_overwritten_before_its_last_use(seed):
    of = random_tape(seed, length=600)
    pieces = chunks(schedule(of), 40)
    waiting = stack_frame(of, pieces)
    held: dict[int, int] = {}
    for piece in pieces:
        defined = [node for step in piece for node in step_defines(step)]
        used = {node for step in piece for node in step_uses(of, step)} - set(defined)
        for node in used & set(waiting.slots):
            assert held[waiting.slots[node]] == node
        written = [node for node in defined if node in waiting.slots]
        read = {waiting.slots[node] for node in used if node in waiting.slots}
        assert not read & {waiting.slots[node] for node in written}
        held |= {waiting.slots[node]: node for node in written}
    assert waiting.size < len(waiting.slots)
