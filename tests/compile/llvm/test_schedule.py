"""The order of computation, and where values are stored between chunks."""

import pytest

from appell.compile.llvm.lanes import DOUBLE, DOUBLES, Form, Lanes
from appell.compile.llvm.schedule import (
    _GROUP_ANGLES,
    Group,
    _depth_first,
    allocate,
    chunks,
    plan_spills,
    schedule,
    step_defines,
    step_uses,
)
from appell.compile.llvm.tuning import tunings
from appell.compile.tape.ops import Op
from compile.llvm.tapes import random_tape, tape

REGISTERS = 14
ORDERS = {
    "of the tape": schedule,
    "from the first": lambda of: _depth_first(of, of.results),
    "from the last": lambda of: _depth_first(of, of.results[::-1]),
}
orders = pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)


@orders
@pytest.mark.parametrize("seed", range(5))
def test_every_step_comes_once_and_after_what_it_uses(seed, order):
    of = random_tape(seed, length=300)
    known = {k for k, (op, *_) in enumerate(of.nodes) if op in (Op.CONST, Op.INPUT)}
    for step in order(of):
        assert set(step_uses(of, step)) <= known
        assert not known & set(step_defines(step))
        known |= set(step_defines(step))
    assert set(of.results) <= known


@orders
@pytest.mark.parametrize("seed", range(5))
def test_every_order_computes_the_same_values(seed, order):
    of = random_tape(seed, length=300)
    computed = {node for step in order(of) for node in step_defines(step)}
    assert computed == {node for step in schedule(of) for node in step_defines(step)}


def test_values_that_no_result_depends_on_are_omitted():
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
def test_an_evicted_value_is_found_in_its_slot_or_among_the_results(seed):
    """Simulate the schedule with registers and slots that hold the names of values."""
    of = random_tape(seed, length=600)
    pieces = chunks(schedule(of), 40)
    where = plan_spills(of, pieces, REGISTERS)
    slots: dict[int, int] = {}
    written: set[int] = set()
    for piece, evicted in zip(pieces, where.evicted, strict=True):
        registers: set[int] = set()
        for step, gone in zip([*piece, None], evicted, strict=True):
            for node, fresh in gone:
                registers.remove(node)
                if fresh:
                    slots[where.slots[node]] = node
            if step is None:
                break
            for node in step_uses(of, step):
                if of.nodes[node][0] > Op.INPUT and node not in registers:
                    assert node in written or slots[where.slots[node]] == node
                    registers.add(node)
            registers.update(step_defines(step))
            written.update(node for node in step_defines(step) if node in of.results)
    assert not written & where.slots.keys(), "a result is written twice"
    assert max(where.slots.values()) < where.size < len(where.slots)


def test_a_value_is_written_once_and_the_one_needed_last_is_evicted_first():
    """x² + k for many k, then their sum from the last to the first: the first ones are live longest."""
    count = REGISTERS + 4
    nodes = [(Op.INPUT, 0), (Op.MUL, 0, 0)] + [(Op.ADD, 1, k + 1) for k in range(count)]
    total = len(nodes) - 1
    for k in range(count - 2, -1, -1):
        nodes.append((Op.ADD, total, k + 2))
        total = len(nodes) - 1
    of = tape({"x": ()}, {"y": ()}, nodes, [total])
    *most, last = schedule(of)
    where = plan_spills(of, [most, [last]], REGISTERS)
    written = [node for entries in where.evicted for entry in entries for node, fresh in entry if fresh]
    assert len(written) == len(set(written))
    within = [node for entry in where.evicted[0][:-1] for node, _ in entry]
    assert within == list(range(2, 2 + len(within)))
    assert within


def test_registers_of_a_short_schedule_are_left_to_llvm():
    of = random_tape(0, length=60)
    pieces = chunks(schedule(of), 300)
    assert len(pieces) == 1
    assert plan_spills(of, pieces, REGISTERS).size == 0


def test_angles_that_are_inputs_share_groups_with_other_angles():
    count = _GROUP_ANGLES + 3
    nodes = [(Op.INPUT, k) for k in range(count)] + [(Op.SIN, k) for k in range(count)]
    nodes += [(Op.ADD, count, count + 1), (Op.COS, 2 * count), (Op.ADD, 2 * count + 1, 2 * count - 1)]
    of = tape({"x": (count,)}, {"y": (count,)}, nodes, [2 * count + 2, *range(count + 1, 2 * count)])
    sizes = [len(step.angles) for step in _depth_first(of, of.results) if isinstance(step, Group)]
    assert sizes == [
        _GROUP_ANGLES,
        1 + 3,
    ]  # the angle that is a sum follows its terms; the remaining angles join its group


def test_limbs_are_computed_one_after_the_other():
    """Eight limbs, traced outward along all of them and then back: only one limb has to be live."""
    limbs, links = 8, 40
    nodes = [(Op.INPUT, k) for k in range(limbs)]
    out = {}
    for link in range(links):
        for limb in range(limbs):
            before = out.get((limb, link - 1), limb)
            nodes.append((Op.MUL, before, limb))
            out[limb, link] = len(nodes) - 1
    back = [out[limb, links - 1] for limb in range(limbs)]
    for link in range(links - 1, -1, -1):
        for limb in range(limbs):
            nodes.append((Op.ADD, back[limb], out[limb, link]))
            back[limb] = len(nodes) - 1
    of = tape({"x": (limbs,)}, {"y": (limbs,)}, nodes, back)
    assert plan_spills(of, chunks(schedule(of), 50), 27).size > limbs * links * 0.9
    wide = Form(64, 50, tuning=tunings()["avx512"])
    assert allocate(of, Lanes(DOUBLE, 64), wide)[1].size <= links
    in_order = chunks(schedule(of), 50)
    assert allocate(of, DOUBLES, Form(chunk=50))[0] == in_order, "narrow registers keep the order of the tape"
