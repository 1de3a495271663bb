"""The order of computation, and where values wait between chunks."""

import pytest

from appell.compile.emit.lanes import DOUBLES
from appell.compile.emit.residence import ROOM, residence, step_defines, step_uses
from appell.compile.emit.schedule import Group, chunks, schedule
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
def test_a_value_that_left_its_register_is_found_in_its_slot(seed):
    """Run the schedule on registers and slots that hold the names of values."""
    of = random_tape(seed, length=600)
    pieces = chunks(schedule(of), 40)
    where = residence(of, pieces, DOUBLES)
    slots: dict[int, int] = {}
    for piece, leaving in zip(pieces, where.leaving, strict=True):
        registers: set[int] = set()
        for step, gone in zip([*piece, None], leaving, strict=True):
            for node, fresh in gone:
                registers.remove(node)
                if fresh:
                    slots[where.slots[node]] = node
            if step is None:
                break
            for node in step_uses(of, step):
                if of.nodes[node][0] > Op.INPUT and node not in registers:
                    assert slots[where.slots[node]] == node
                    registers.add(node)
            registers.update(step_defines(step))
    assert max(where.slots.values()) < where.size < len(where.slots)


def test_a_value_is_written_once_and_the_one_needed_last_leaves_first():
    """x² + k for many k, then their sum from the last to the first: the first ones wait longest."""
    count = ROOM + 4
    nodes = [(Op.INPUT, 0), (Op.MUL, 0, 0)] + [(Op.ADD, 1, k + 1) for k in range(count)]
    total = len(nodes) - 1
    for k in range(count - 2, -1, -1):
        nodes.append((Op.ADD, total, k + 2))
        total = len(nodes) - 1
    of = tape({"x": ()}, {"y": ()}, nodes, [total])
    *most, last = schedule(of)
    where = residence(of, [most, [last]], DOUBLES)
    written = [node for entries in where.leaving for entry in entries for node, fresh in entry if fresh]
    assert len(written) == len(set(written))
    within = [node for entry in where.leaving[0][:-1] for node, _ in entry]
    assert within == list(range(2, 2 + len(within)))
    assert within


def test_a_short_schedule_is_left_to_the_code_generator():
    of = random_tape(0, length=60)
    pieces = chunks(schedule(of))
    assert len(pieces) == 1
    assert residence(of, pieces, DOUBLES).size == 0
