"""A kernel: the LLVM module of one tape for one floating-point format. There are two kinds.

    void @loop(args, dims, steps, data)    the inner loop of a generalised ufunc: NumPy's own calling convention
    void @single(addresses)                one sample, packed arrays; the addresses of all inputs, then all outputs

Both bring their samples into the block that `@body` reads, and carry its results away. A single sample fills all lanes,
so it has the bits that it would have in any batch.
"""

from __future__ import annotations

from appell.compile.emit.ahead import ENTRY, tell_near
from appell.compile.emit.body import BodyCode
from appell.compile.emit.emitter import Emitter, Index
from appell.compile.emit.form import Form
from appell.compile.emit.lanes import Format, Lanes
from appell.compile.emit.layout import body, layout
from appell.compile.emit.memory import GLOBAL, Memory
from appell.compile.emit.move import gather, scatter
from appell.compile.emit.operand import Operand, locate, operands
from appell.compile.emit.samples import Samples, over_samples
from appell.compile.formula import Formula


def loop_kernel(tape: Formula, number: Format, fused: bool, form: Form) -> str:
    """The module of the ufunc's loop."""
    lanes = Lanes(number, form.register)
    found = body(tape, lanes, fused, form, ahead=True)
    return module(tape, found.text, _loop(tape, Emitter(lanes, fused), found))


def single_kernel(tape: Formula, number: Format, fused: bool, form: Form) -> str:
    """The module of the function for one sample."""
    lanes = Lanes(number, form.register)
    return module(tape, body(tape, lanes, fused, form).text, _single(tape, Emitter(lanes, fused)))


def module(tape: Formula, *functions: str) -> str:
    """The functions of a kernel, and what they refer to."""
    _, outputs = operands(tape, layout(tape).places)
    metadata = ["!0 = !{}", ""]
    return "\n".join([*(_table(operand) for operand in outputs), *functions, GLOBAL, *metadata])


def _table(operand: Operand) -> str:
    """Where in the output block each element of a result lies."""
    entries = ", ".join(f"i32 {slot}" for slot in operand.slots)
    return f"{operand.table} = private unnamed_addr constant [{len(operand.slots)} x i32] [{entries}], align 16"


def _loop(tape: Formula, emit: Emitter, of: BodyCode) -> str:
    lanes, shape = emit.lanes, layout(tape)
    inputs, outputs = operands(tape, shape.places)
    memory = Memory(emit)
    taken, given = shape.reserve(memory, of.blocks)
    near = emit.stack(of.blocks * len(outputs) * ENTRY // 8, "i64") if of.ahead else "null"
    count = emit.value("load i64, ptr %dims, align 8")
    sources = [locate(emit, operand) for operand in inputs]
    targets = [locate(emit, operand) for operand in outputs]
    emit.branch(emit.value(f"icmp eq i64 {count}, 0"), "end", "begin")
    emit.enter("begin")

    def turn(blocks: Index, samples: Samples) -> None:
        def bring(block: Index) -> None:
            here, at = samples(block), emit.address(taken, emit.times(block, shape.taken * lanes.bytes))
            for place in sources:
                gather(emit, place, here, at)
            if of.ahead:
                tell_near(emit, targets, here, emit.address(near, emit.times(block, len(targets) * ENTRY)), given)

        def carry_away(block: Index) -> None:
            here, at = samples(block), emit.address(given, emit.times(block, (shape.given or 0) * lanes.bytes))
            for place in targets:
                scatter(emit, place, here, at, fetched=of.ahead)

        emit.repeat(blocks, bring, unroll=True)
        emit.do(f"call void @body(ptr {taken}, ptr {given}, ptr {near}, i64 {blocks})")
        emit.repeat(blocks, carry_away, unroll=True)

    over_samples(emit, of.blocks, not of.long, count, turn)
    emit.jump("end")
    emit.enter("end")
    memory.release()
    emit.do("ret void")
    return emit.function("define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind")


def _single(tape: Formula, emit: Emitter) -> str:
    lanes, shape = emit.lanes, layout(tape)
    inputs, outputs = operands(tape, shape.places)
    memory = Memory(emit)
    taken, given = shape.reserve(memory, 1)
    unroll = tape.input_size + len(tape.results) <= 200

    def number(operand: Operand, element: Index) -> str:
        base = emit.value(f"load ptr, ptr {emit.address('%addresses', 8 * operand.position)}, align 8")
        return emit.address(base, emit.times(element, lanes.itemsize))

    def fill(operand: Operand, element: Index) -> None:
        every = emit.spread(number(operand, element))
        emit.store(every, emit.address(taken, operand.slots[0] * lanes.bytes), element)

    def take(operand: Operand, element: Index) -> None:
        source = emit.address(given, emit.times(operand.slot(emit, element), lanes.bytes))
        value = emit.value(f"load {lanes.scalar}, ptr {source}, align {lanes.itemsize}")
        emit.do(f"store {lanes.scalar} {value}, ptr {number(operand, element)}, align {lanes.itemsize}")

    for operand in inputs:
        emit.repeat(operand.array.size, lambda element, of=operand: fill(of, element), unroll)
    emit.do(f"call void @body(ptr {taken}, ptr {given}, ptr null, i64 1)")
    for operand in outputs:
        emit.repeat(operand.array.size, lambda element, of=operand: take(of, element), unroll)
    memory.release()
    emit.do("ret void")
    return emit.function("define void @single(ptr %addresses) nounwind")
