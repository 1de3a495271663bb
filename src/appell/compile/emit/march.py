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
lanes.
"""

from __future__ import annotations

from collections.abc import Callable

from appell.compile.emit.body import BodyCode
from appell.compile.emit.carried import CarriedBlock
from appell.compile.emit.core_axes import EVERY, ROWS, march_axes
from appell.compile.emit.emitter import Emitter, Index
from appell.compile.emit.form import Form
from appell.compile.emit.kernel import module
from appell.compile.emit.lanes import Format, Lanes
from appell.compile.emit.layout import body, layout
from appell.compile.emit.memory import Memory
from appell.compile.emit.move import gather, scatter
from appell.compile.emit.operand import Place, locate, operands
from appell.compile.emit.samples import LaneSamples, over_samples
from appell.compile.formula import Formula


def march_kernel(tape: Formula, number: Format, fused: bool, form: Form, carried: int, held: int) -> str:
    """The module of the loop of a march: so many inputs are carried, so many held, and the others driven."""
    lanes = Lanes(number, form.register)
    found = body(tape, lanes, fused, form)
    return module(tape, found.text, _march(tape, Emitter(lanes, fused), found, carried, carried + held))


def _march(tape: Formula, emit: Emitter, of: BodyCode, carried: int, still: int) -> str:
    shape, axes = layout(tape), march_axes(tape, still)
    inputs, outputs = operands(tape, shape.places, axes)
    memory = Memory(emit)
    size = sum(operand.array.size for operand in inputs[:carried])
    state = CarriedBlock.reserve(emit, memory, shape, of.blocks, size)
    count, rows, every = (
        emit.value(f"load i64, ptr {emit.address('%dims', 8 * k)}, align 8")
        for k in (0, axes.dimension(ROWS), axes.dimension(EVERY))
    )
    sources, targets = ([locate(emit, operand) for operand in each] for each in (inputs, outputs))
    steps = emit.value(f"mul i64 {emit.value(f'mul i64 {count}, {rows}')}, {every}")
    emit.branch(emit.value(f"icmp eq i64 {steps}, 0"), "end", "begin")
    emit.enter("begin")

    def turn(blocks: Index, samples: Callable[[Index], LaneSamples]) -> None:
        here = _known(emit, samples, [*sources[still:], *targets]) if blocks == 1 else samples

        def begin(block: Index) -> None:
            for place in sources[:still]:
                gather(emit, place, here(block), state.taken(block))

        def step(row: Index, k: Index) -> None:
            def bring(block: Index) -> None:
                for place in sources[still:]:
                    gather(emit, place.at(emit, row, k), here(block), state.taken(block))

            def carry_away(block: Index) -> None:
                for place in targets:
                    scatter(emit, place.at(emit, row), here(block), state.given(block))

            emit.repeat(blocks, bring, unroll=True)
            emit.do(f"call void @body(ptr {state.taken(0)}, ptr {state.given(0)}, i64 {blocks})")
            tell, on = emit.label("tell"), emit.label("on")
            taken = emit.value(f"add i64 {k}, 1")
            emit.branch(emit.value(f"icmp eq i64 {taken}, {every}"), tell, on)
            emit.enter(tell)
            emit.repeat(blocks, carry_away, unroll=True)
            emit.jump(on)
            emit.enter(on)
            emit.repeat(blocks, state.carry_on, unroll=True)

        emit.repeat(blocks, begin, unroll=True)
        emit.repeat(rows, lambda row: emit.repeat(every, lambda k: step(row, k), unroll=False), unroll=False)

    over_samples(emit, of, count, turn)
    emit.jump("end")
    emit.enter("end")
    memory.release()
    emit.do("ret void")
    return emit.function("define void @march(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind")


def _known(
    emit: Emitter, samples: Callable[[Index], LaneSamples], places: list[Place]
) -> Callable[[Index], LaneSamples]:
    """The samples of the one block that there is, looked up now."""
    only = samples(0)
    only.know(emit, places)
    return lambda block: only
