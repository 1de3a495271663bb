"""The body: a tape on one block of samples, in LLVM.

    void @body(inputs, outputs)

`inputs` is a block of registers, one a scalar input, one sample a lane; `outputs` has one register a *distinct* result:
a symmetric matrix has its mirrored elements computed and stored once, and `slots` tells which register holds which.

A sample with an input that is not finite gets NaN for all its results, though folding may have dropped that input from
the tape. 0 x is zero for a finite number and NaN for any other, so the sum of these products over all inputs tells
whether a block needs the rare path that writes the NaNs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from appell.compile.emit.arithmetic import EMIT
from appell.compile.emit.constants import Constants
from appell.compile.emit.emitter import Emitter, Index, Value
from appell.compile.emit.lanes import Lanes
from appell.compile.emit.payne_hanek import reduce_careful, reduce_huge
from appell.compile.emit.residence import Residence, residence, step_defines, step_uses
from appell.compile.emit.schedule import CHUNK, Group, Step, chunks, schedule
from appell.compile.emit.sincos import beyond_mask, reduce, sine_and_cosine
from appell.compile.ops import Op
from appell.compile.tape import Tape

_SUMS = 3  # sums of products that tell of spoilt samples: several, so that no addition has to wait for the one before
FENCE = 40  # steps of a long tape between two fences, which keep the code generator to the order of the schedule
UNROLL = 400  # inputs from which on they are summed in a loop, so that many inputs do not become a long program


def slots(tape: Tape) -> dict[int, int]:
    """The place in the output block of each node that is a result."""
    return {node: slot for slot, node in enumerate(dict.fromkeys(tape.results))}


def body(tape: Tape, lanes: Lanes, fused: bool, chunk: int = CHUNK) -> str:
    """All functions of the body of a tape; `chunk` is the number of steps from which on it is cut."""
    pieces = chunks(schedule(tape), chunk)
    outputs = slots(tape)

    def read(emit: Emitter, number: int) -> Value:
        return emit.load("%inputs", number)

    def write(emit: Emitter, node: int, value: Value) -> None:
        emit.store(value, "%outputs", outputs[node])

    writer = Writer(tape, residence(tape, pieces, lanes), read, write)
    functions = careful_functions(lanes, fused) if has_angles(tape) else []
    constants = Constants(lanes)
    emit = Emitter(lanes, fused, constants)
    spoilt = spoilt_samples(emit, tape.input_size)
    writer.leaves(emit)
    if len(pieces) == 1:
        writer.chunk(emit, pieces[0])
    else:
        waiting = emit.stack(writer.frame.size)
        for number, piece in enumerate(pieces):
            part = Emitter(lanes, fused, constants)
            writer.chunk(part, piece, number)
            part.do("ret void")
            pointers = "ptr noalias %inputs, ptr noalias %outputs, ptr noalias %frame"
            functions.append(part.function(f"define internal void @chunk{number}({pointers}) noinline nounwind"))
            emit.do(f"call void @chunk{number}(ptr %inputs, ptr %outputs, ptr {waiting})")
    poison(emit, spoilt, "%outputs", len(outputs))
    emit.do("ret void")
    header = "define internal void @body(ptr noalias %inputs, ptr noalias %outputs) noinline nounwind"
    return "\n".join([*constants.text(), *functions, emit.function(header)])


def has_angles(tape: Tape) -> bool:
    """Whether there are sines or cosines, which need `careful_functions` in their module."""
    return any(node[0] in (Op.SIN, Op.COS) for node in tape.nodes)


def careful_functions(lanes: Lanes, fused: bool) -> list[str]:
    """What is called for huge angles."""
    return [reduce_huge(), reduce_careful(lanes, fused)]


@dataclass(frozen=True)
class Writer:
    """Writes pieces of the schedule of a tape into functions; what waits between them lies at %frame."""

    tape: Tape
    frame: Residence
    read: Callable[[Emitter, int], Value]  # a scalar input, by its number
    write: Callable[[Emitter, int, Value], None]  # the value of a node that is a result

    def chunk(self, emit: Emitter, steps: list[Step], number: int = 0) -> None:
        """One piece of the schedule; where there are several, `number` tells which."""
        values: dict[int, Value] = {}
        nodes, outputs = self.tape.nodes, frozenset(self.tape.results)
        for count, step in enumerate(steps):
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
                emit.store(value, "%frame", self.frame.slots[node])
        if count % FENCE == 0:
            emit.do('call void asm sideeffect "", "~{memory}"()')
            for node in [node for node in values if self.tape.nodes[node][0] <= Op.INPUT]:
                del values[node]

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
        return emit.load("%frame", self.frame.slots[node])


def _sincos_group(emit: Emitter, group: Group, values: dict[int, Value]) -> None:
    """The sines and cosines of one level: one test, after which angles that are too large are reduced with care."""
    count = len(group.angles)
    reduced = [reduce(emit, values[angle.node]) for angle in group.angles]
    gathered = reduced[0].beyond
    for each in reduced[1:]:
        gathered = emit.integer("or", gathered, each.beyond)
    outside = emit.integer("and", gathered, emit.pattern(beyond_mask(emit.lanes, emit.fused)))
    quick, careful, joined = emit.block, emit.label("careful"), emit.label("joined")
    emit.branch(emit.any_bit(outside), careful, joined)

    emit.enter(careful)
    angles, rests, quadrants = (emit.stack(count) for _ in range(3))
    for k, angle in enumerate(group.angles):
        emit.store(values[angle.node], angles, k)
    emit.do(f"call void @reduce_careful(ptr {angles}, ptr {rests}, ptr {quadrants}, i64 {count})")
    slow = [(emit.load(rests, k), emit.bits(emit.load(quadrants, k))) for k in range(count)]
    emit.jump(joined)

    emit.enter(joined)
    met = [
        (
            emit.phi(emit.lanes.real, (each.rest, quick), (rest, careful)),
            emit.phi(emit.lanes.bits, (each.quadrant, quick), (quadrant, careful)),
        )
        for each, (rest, quadrant) in zip(reduced, slow, strict=True)
    ]
    for angle, (rest, quadrant) in zip(group.angles, met, strict=True):
        for nodes, value in zip((angle.sines, angle.cosines), sine_and_cosine(emit, rest, quadrant), strict=True):
            values |= dict.fromkeys(nodes, value)


def spoilt_samples(emit: Emitter, inputs: int) -> Value:
    """Integers that are zero where all inputs of a sample are finite."""
    sums = [emit.constant(0.0)] * _SUMS
    rounds = inputs // _SUMS if inputs > UNROLL else 0

    def add(number: Index, so_far: list[Value]) -> list[Value]:
        at = emit.address("%inputs", emit.times(number, _SUMS * emit.lanes.bytes))
        return [emit.fma(emit.load(at, k), emit.constant(0.0), so_far[k]) for k in range(_SUMS)]

    if rounds:
        sums = emit.fold(rounds, sums, add)
    for number in range(rounds * _SUMS, inputs):
        k = number % _SUMS
        sums[k] = emit.fma(emit.load("%inputs", number), emit.constant(0.0), sums[k])
    spoilt = emit.bits(sums[0])
    for other in sums[1:]:
        spoilt = emit.integer("or", spoilt, emit.bits(other))
    return spoilt


def poison(emit: Emitter, spoilt: Value, block: Value, count: int, place: Callable[[Index], Index] = lambda k: k):
    """Write NaN over all results of spoilt samples: `count` registers of a block, at the places of their numbers."""
    emit.branch(emit.any_bit(spoilt), "poison", "clean")

    emit.enter("poison")
    bad = emit.integer("icmp ne", spoilt, emit.pattern(0))

    def spoil(number: Index) -> None:
        slot = place(number)
        emit.store(emit.select(bad, emit.constant(math.nan), emit.load(block, slot)), block, slot)

    emit.repeat(count, spoil, unroll=False)
    emit.jump("clean")
    emit.enter("clean")
