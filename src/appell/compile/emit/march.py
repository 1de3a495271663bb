"""The kernel of a march: a step repeated on every block of samples, with its state in the block that `@body` reads.

    void @march(args, dims, steps, data)   the inner loop of a generalised ufunc; r rows of e steps are two of its dims

    for every block of samples
        bring what is carried and held
        r times
            e times
                bring what is driven in this step
                @body
                after the last of the e steps: carry all results away
                the carried results are what the next step begins with

Samples come first and steps second, so that a state never leaves the first cache. Where samples begin in arrays is
found once a block. A driven array that is the same for all samples, such as a clock, is read once and spread over the
lanes. A very short step waits for the one before it longer than it computes; so a few blocks take it abreast, and the
machine works on one while another waits. Longer ones have enough to do, and more samples at once are more places in
memory at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from appell.compile.emit.body import BodyCode
from appell.compile.emit.carried import CarriedBlock
from appell.compile.emit.core_axes import EVERY, ROWS, march_axes
from appell.compile.emit.emitter import Emitter, Index, Value
from appell.compile.emit.form import Form
from appell.compile.emit.kernel import module
from appell.compile.emit.lanes import Format, Lanes
from appell.compile.emit.layout import body, layout
from appell.compile.emit.memory import Memory
from appell.compile.emit.move import gather, scatter
from appell.compile.emit.operand import Place, locate, operands
from appell.compile.emit.samples import LaneSamples, Samples, over_samples
from appell.compile.emit.schedule import schedule, weight
from appell.compile.formula import Formula
from appell.compile.tape import Tape

ABREAST = 4  # blocks that take a short step before any takes the next
SHORT = 100  # steps of a schedule: a pendulum, a cart with a pole


def march_kernel(tape: Formula, number: Format, fused: bool, form: Form, carried: int, held: int) -> str:
    """The module of the loop of a march: so many inputs are carried, so many held, and the others driven."""
    lanes = Lanes(number, form.register)
    found = body(tape, lanes, fused, form)
    return module(tape, found.text, _march(tape, Emitter(lanes, fused), found, carried, carried + held))


def _march(tape: Formula, emit: Emitter, of: BodyCode, carried: int, still: int) -> str:
    axes, memory, shape = march_axes(tape, still), Memory(emit), layout(tape)
    inputs, outputs = operands(tape, shape.places, axes)
    abreast = of.blocks if of.blocks > 1 or of.long else _abreast(tape)
    size = sum(operand.array.size for operand in inputs[:carried])
    state = CarriedBlock.reserve(emit, memory, shape, abreast, size)
    begins = emit.stack(abreast * len(axes.operands) * emit.lanes.width, "i64")
    count, rows, every = (
        emit.value(f"load i64, ptr {emit.address('%dims', 8 * k)}, align 8")
        for k in (0, axes.dimension(ROWS), axes.dimension(EVERY))
    )
    sources, targets = ([locate(emit, operand) for operand in each] for each in (inputs, outputs))
    code = _MarchCode(emit, state, every, begins, sources[:still], sources[still:], targets, of.blocks > 1)
    steps = emit.value(f"mul i64 {emit.value(f'mul i64 {count}, {rows}')}, {every}")
    emit.branch(emit.value(f"icmp eq i64 {steps}, 0"), "end", "begin")
    emit.enter("begin")

    def turn(blocks: Index, samples: Samples) -> None:
        def step(row: Index) -> None:
            emit.repeat(every, lambda k: code.step(blocks, samples, row, k), unroll=False)

        emit.repeat(blocks, lambda block: code.begin(samples(block), block), unroll=True)
        emit.repeat(rows, step, unroll=False)

    over_samples(emit, abreast, not of.long, count, turn)
    emit.jump("end")
    emit.enter("end")
    memory.release()
    emit.do("ret void")
    return emit.function("define void @march(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind")


@dataclass(frozen=True)
class _MarchCode:
    """What is done with a block; where its samples begin in the arrays of every step is in its part of `begins`."""

    emit: Emitter
    state: CarriedBlock
    every: Value
    begins: Value
    standing: list[Place]
    driven: list[Place]
    targets: list[Place]
    together: bool  # whether the body runs on all blocks itself

    def begin(self, samples: LaneSamples, block: Index) -> None:
        samples.lay_down(self.emit, [*self.driven, *self.targets], self._table(block))
        for place in self.standing:
            gather(self.emit, place, samples, self.state.taken(block))

    def step(self, blocks: Index, samples: Samples, row: Index, k: Index) -> None:
        """Take a step with all blocks; after the last of a row, tell where it has led."""
        emit = self.emit
        last = emit.value(f"icmp eq i64 {emit.value(f'add i64 {k}, 1')}, {self.every}")

        def here(block: Index) -> LaneSamples:
            return replace(samples(block), table=self._table(block))

        def bring(block: Index) -> None:
            for place in self.driven:
                gather(emit, place.at(emit, row, k), here(block), self.state.taken(block))

        def tell(block: Index) -> None:
            for place in self.targets:
                scatter(emit, place.at(emit, row), here(block), self.state.given(block))

        def whole(block: Index) -> None:
            bring(block)
            self._run(block, 1)
            emit.when(last, lambda: tell(block))
            self.state.carry_on(block)

        if not self.together:
            emit.repeat(blocks, whole, unroll=True)
            return
        emit.repeat(blocks, bring, unroll=False)
        self._run(0, blocks)
        emit.when(last, lambda: emit.repeat(blocks, tell, unroll=False))
        emit.repeat(blocks, self.state.carry_on, unroll=False)

    def _run(self, first: Index, blocks: Index) -> None:
        pointers = self.state.taken(first), self.state.given(first), "null"
        self.emit.do(f"call void @body({', '.join(f'ptr {each}' for each in pointers)}, i64 {blocks})")

    def _table(self, block: Index) -> Value:
        operands = len(self.standing) + len(self.driven) + len(self.targets)
        return self.emit.address(self.begins, self.emit.times(block, 8 * operands * self.emit.lanes.width))


def _abreast(tape: Formula) -> int:
    """How many blocks take a step before any of them takes the next."""
    short = isinstance(tape, Tape) and sum(map(weight, schedule(tape))) <= SHORT
    return ABREAST if short else 1
