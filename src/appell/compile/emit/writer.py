"""Writing the steps of a schedule, piece by piece, into functions.

What waits between pieces, or for a register, lies in a frame. On machines with wide registers an address up to 128
registers away from a pointer takes one byte of an instruction, any other four; so %frame points to the middle of the
slots that are used most.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from appell.compile.emit.arithmetic import EMIT
from appell.compile.emit.emitter import Emitter, Value
from appell.compile.emit.residence import Residence, step_defines, step_uses
from appell.compile.emit.schedule import Group, Step
from appell.compile.emit.sincos import beyond_mask, reduce, sine_and_cosine
from appell.compile.ops import Op
from appell.compile.tape import Tape

FENCE = 40  # steps of a long tape between two fences, which keep the code generator to the order of the schedule
SOON = 60  # steps before a result is written, in which its place can be fetched
MIDDLE = 128  # the slot at which %frame points


def frame_on_stack(emit: Emitter, frame: Residence, blocks: int = 1) -> Value:
    """Room for the frames of so many blocks, and what %frame is for the first."""
    return emit.address(emit.stack(frame.size * blocks), MIDDLE * emit.lanes.bytes)


@dataclass(frozen=True)
class Writer:
    """Writes pieces of the schedule of a tape into functions; what waits between them lies at %frame."""

    tape: Tape
    frame: Residence
    read: Callable[[Emitter, int], Value]  # a scalar input, by its number
    write: Callable[[Emitter, int, Value], None]  # the value of a node that is a result
    reread: Callable[[Emitter, int], Value] | None = None  # a result that has been written; for several pieces
    after_step: Callable[[Emitter], None] = lambda emit: None  # what else is done, step by step
    prepare: Callable[[Emitter, int], None] | None = None  # fetches the memory that a result will be written to

    @cached_property
    def _outputs(self) -> frozenset[int]:
        return frozenset(self.tape.results)

    def chunk(self, emit: Emitter, steps: list[Step], number: int = 0) -> None:
        """One piece of the schedule; where there are several, `number` tells which."""
        values: dict[int, Value] = {}
        nodes, outputs = self.tape.nodes, self._outputs
        self._prepare(emit, steps[:SOON])
        for count, step in enumerate(steps):
            self._prepare(emit, steps[count + SOON : count + SOON + 1])
            self._depart(emit, values, number, count)
            for node in step_uses(self.tape, step):
                if node not in values:
                    values[node] = self._fetch(emit, node)
            if isinstance(step, Group):
                _sincos_group(emit, step, values)
            else:
                op, *reads = nodes[step]
                values[step] = EMIT[op](emit, *[values[k] for k in reads])
            for node in step_defines(step):
                if node in outputs:
                    self.write(emit, node, values[node])
            self.after_step(emit)
        self._depart(emit, values, number, len(steps))

    def _depart(self, emit: Emitter, values: dict[int, Value], number: int, count: int) -> None:
        """Let go of the values that leave their registers before a step.

        What has been read before a fence is read again after it, and so no register has to hold it.
        """
        if not self.frame.leaving:
            return
        for node, fresh in self.frame.leaving[number][count]:
            value = values.pop(node)
            if fresh:
                emit.store(value, "%frame", self.frame.slots[node] - MIDDLE)
        if count % FENCE == 0:
            emit.do('call void asm sideeffect "", "~{memory}"()')
            for node in [node for node in values if self.tape.nodes[node][0] <= Op.INPUT]:
                del values[node]

    def _prepare(self, emit: Emitter, steps: list[Step]) -> None:
        if self.prepare is not None:
            for node in [node for step in steps for node in step_defines(step)]:
                if node in self._outputs:
                    self.prepare(emit, node)

    def leaves(self, emit: Emitter) -> None:
        """Results that are constants or inputs."""
        for node in dict.fromkeys(self.tape.results):
            if self.tape.nodes[node][0] in (Op.CONST, Op.INPUT):
                self.write(emit, node, self._fetch(emit, node))

    def _fetch(self, emit: Emitter, node: int) -> Value:
        """A value that this function has not seen yet."""
        op, *operands = self.tape.nodes[node]
        if op == Op.CONST:
            return emit.constant(operands[0])
        if op == Op.INPUT:
            return self.read(emit, operands[0])
        if self.reread is not None and node in self._outputs:
            return self.reread(emit, node)
        return emit.load("%frame", self.frame.slots[node] - MIDDLE)


def _sincos_group(emit: Emitter, group: Group, values: dict[int, Value]) -> None:
    """The sines and cosines of one level: one test, the fast way inline, the careful way as a call."""
    count = len(group.angles)
    reduced = [reduce(emit, values[angle.node]) for angle in group.angles]
    gathered = reduced[0].beyond
    for each in reduced[1:]:
        gathered = emit.integer("or", gathered, each.beyond)
    outside = emit.integer("and", gathered, emit.pattern(beyond_mask(emit.lanes, emit.fused)))
    fast, careful, joined = (emit.label(name) for name in ("fast", "careful", "joined"))
    emit.branch(emit.any_bit(outside), careful, fast)

    emit.enter(fast)
    quick = [sine_and_cosine(emit, each.rest, each.quadrant) for each in reduced]
    emit.jump(joined)

    emit.enter(careful)
    angles, sines, cosines = (emit.stack(count) for _ in range(3))
    for k, angle in enumerate(group.angles):
        emit.store(values[angle.node], angles, k)
    emit.do(f"call void @sincos_careful(ptr {angles}, ptr {sines}, ptr {cosines}, i64 {count})")
    slow = [(emit.load(sines, k), emit.load(cosines, k)) for k in range(count)]
    emit.jump(joined)

    emit.enter(joined)
    for angle, quick_pair, slow_pair in zip(group.angles, quick, slow, strict=True):
        for nodes, one, other in zip((angle.sines, angle.cosines), quick_pair, slow_pair, strict=True):
            if nodes:
                values |= dict.fromkeys(nodes, emit.phi(emit.lanes.real, (one, fast), (other, careful)))
