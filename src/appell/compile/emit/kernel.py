"""A kernel: the LLVM module of one tape for one floating-point format. There are two kinds.

    void @loop(args, dims, steps, data)    the inner loop of a generalised ufunc: NumPy's own calling convention
    void @single(addresses)                one sample, packed arrays; the addresses of all inputs, then all outputs

Both bring their samples into the block that `@body` reads, and carry its results away. A single sample fills all lanes,
so it has the bits that it would have in any batch.
"""

from __future__ import annotations

from appell.compile.emit.body import BodyCode
from appell.compile.emit.emitter import Emitter, Index
from appell.compile.emit.form import Form
from appell.compile.emit.lanes import Format, Lanes
from appell.compile.emit.layout import body, layout
from appell.compile.emit.memory import GLOBAL, Memory
from appell.compile.emit.move import LaneSamples, gather, scatter
from appell.compile.emit.operand import Operand, locate, operands
from appell.compile.formula import Formula


def loop_kernel(tape: Formula, number: Format, fused: bool, form: Form) -> str:
    """The module of the ufunc's loop."""
    lanes = Lanes(number, form.register)
    found = body(tape, lanes, fused, form)
    return _module(tape, found.text, _loop(tape, Emitter(lanes, fused), found))


def single_kernel(tape: Formula, number: Format, fused: bool, form: Form) -> str:
    """The module of the function for one sample."""
    lanes = Lanes(number, form.register)
    return _module(tape, body(tape, lanes, fused, form).text, _single(tape, Emitter(lanes, fused)))


def _module(tape: Formula, *functions: str) -> str:
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
    count = emit.value("load i64, ptr %dims, align 8")
    last = emit.value(f"sub i64 {count}, 1")
    sources = [locate(emit, operand) for operand in inputs]
    targets = [locate(emit, operand) for operand in outputs]
    before = emit.block
    emit.branch(emit.value(f"icmp eq i64 {count}, 0"), "end", "turn")

    emit.enter("turn")
    first = emit.phi("i64", ("0", before), ("%next", "written"))
    emit.do(f"%next = add i64 {first}, {lanes.width * of.blocks}")
    blocks: Index = 1
    if of.blocks > 1:
        left = emit.value(f"sub i64 {count}, {first}")
        whole = emit.value(f"udiv i64 {emit.value(f'add i64 {left}, {lanes.width - 1}')}, {lanes.width}")
        blocks = _smaller(emit, whole, str(of.blocks))

    def samples(block: Index) -> LaneSamples:
        start = emit.value(f"add i64 {first}, {emit.times(block, lanes.width)}")
        numbers = [emit.value(f"add i64 {start}, {lane}") for lane in range(lanes.width)]
        return LaneSamples(
            numbers=[_smaller(emit, number, last) for number in numbers],
            first=emit.value(f"mul i64 {start}, {lanes.itemsize}"),
            complete=emit.value(f"icmp ult i64 {numbers[-1]}, {count}"),
            unroll=not of.long,
        )

    def bring(block: Index) -> None:
        here, at = samples(block), emit.address(taken, emit.times(block, shape.taken * lanes.bytes))
        for place in sources:
            gather(emit, place, here, at)

    def carry_away(block: Index) -> None:
        here, at = samples(block), emit.address(given, emit.times(block, (shape.given or 0) * lanes.bytes))
        for place in targets:
            scatter(emit, place, here, at)

    emit.repeat(blocks, bring, unroll=True)
    emit.do(f"call void @body(ptr {taken}, ptr {given}, i64 {blocks})")
    emit.repeat(blocks, carry_away, unroll=True)
    emit.jump("written")

    emit.enter("written")
    emit.branch(emit.value(f"icmp ult i64 %next, {count}"), "turn", "end")
    emit.enter("end")
    memory.release()
    emit.do("ret void")
    return emit.function("define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind")


def _smaller(emit: Emitter, x: str, y: str) -> str:
    return emit.value(f"select i1 {emit.value(f'icmp ult i64 {x}, {y}')}, i64 {x}, i64 {y}")


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
        value = emit.value(f"load {lanes.scalar}, ptr {number(operand, element)}, align {lanes.itemsize}")
        lane = emit.value(f"insertelement {lanes.real} poison, {lanes.scalar} {value}, i32 0")
        zeros = f"<{lanes.width} x i32> zeroinitializer"
        every = emit.value(f"shufflevector {lanes.real} {lane}, {lanes.real} poison, {zeros}")
        emit.store(every, emit.address(taken, operand.slots[0] * lanes.bytes), element)

    def take(operand: Operand, element: Index) -> None:
        source = emit.address(given, emit.times(operand.slot(emit, element), lanes.bytes))
        value = emit.value(f"load {lanes.scalar}, ptr {source}, align {lanes.itemsize}")
        emit.do(f"store {lanes.scalar} {value}, ptr {number(operand, element)}, align {lanes.itemsize}")

    for operand in inputs:
        emit.repeat(operand.array.size, lambda element, of=operand: fill(of, element), unroll)
    emit.do(f"call void @body(ptr {taken}, ptr {given}, i64 1)")
    for operand in outputs:
        emit.repeat(operand.array.size, lambda element, of=operand: take(of, element), unroll)
    memory.release()
    emit.do("ret void")
    return emit.function("define void @single(ptr %addresses) nounwind")
