"""A kernel: the LLVM module of one tape for one floating-point format. There are two kinds.

    void @loop(args, dims, steps, data)    the inner loop of a generalised ufunc: NumPy's own calling convention
    void @single(addresses)                one sample, packed arrays; the addresses of all inputs, then all outputs

Both bring their samples into the block that `@body` reads, and carry its results away. A single sample fills all lanes,
so it has the bits that it would have in any batch.
"""

from __future__ import annotations

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
    return _module(tape, body(tape, lanes, fused, form.chunk), _loop(tape, Emitter(lanes, fused)))


def single_kernel(tape: Formula, number: Format, fused: bool, form: Form) -> str:
    """The module of the function for one sample."""
    lanes = Lanes(number, form.register)
    return _module(tape, body(tape, lanes, fused, form.chunk), _single(tape, Emitter(lanes, fused)))


def _module(tape: Formula, *functions: str) -> str:
    _, outputs = operands(tape, layout(tape).places)
    metadata = ["!0 = !{i32 1}", "!1 = !{}", ""]
    return "\n".join([*(_table(operand) for operand in outputs), *functions, GLOBAL, *metadata])


def _table(operand: Operand) -> str:
    """Where in the output block each element of a result lies."""
    entries = ", ".join(f"i32 {slot}" for slot in operand.slots)
    return f"{operand.table} = private unnamed_addr constant [{len(operand.slots)} x i32] [{entries}], align 16"


def _loop(tape: Formula, emit: Emitter) -> str:
    lanes, shape = emit.lanes, layout(tape)
    inputs, outputs = operands(tape, shape.places)
    memory = Memory(emit)
    taken, given = shape.blocks(memory)
    count = emit.value("load i64, ptr %dims, align 8")
    last = emit.value(f"sub i64 {count}, 1")
    sources = [locate(emit, operand) for operand in inputs]
    targets = [locate(emit, operand, count) for operand in outputs]
    before = emit.block
    emit.branch(emit.value(f"icmp eq i64 {count}, 0"), "end", "block")

    emit.enter("block")
    first = emit.phi("i64", ("0", before), ("%next", "written"))
    emit.do(f"%next = add i64 {first}, {lanes.width}")
    samples = LaneSamples(
        numbers=[_smaller(emit, emit.value(f"add i64 {first}, {lane}"), last) for lane in range(lanes.width)],
        first=emit.value(f"mul i64 {first}, {lanes.itemsize}"),
        complete=emit.value(f"icmp ule i64 %next, {count}"),
    )
    for place in sources:
        gather(emit, place, samples, taken)
    emit.do(f"call void @body(ptr {taken}, ptr {given})")
    for place in targets:
        scatter(emit, place, samples, given)
    emit.jump("written")

    emit.enter("written")
    emit.branch(emit.value(f"icmp ult i64 %next, {count}"), "block", "end")
    emit.enter("end")
    if any(place.streamed for place in targets):
        emit.do("fence seq_cst")  # what was streamed must be seen by whoever sees that the loop has ended
    memory.release()
    emit.do("ret void")
    return emit.function("define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind")


def _smaller(emit: Emitter, x: str, y: str) -> str:
    return emit.value(f"select i1 {emit.value(f'icmp ult i64 {x}, {y}')}, i64 {x}, i64 {y}")


def _single(tape: Formula, emit: Emitter) -> str:
    lanes, shape = emit.lanes, layout(tape)
    inputs, outputs = operands(tape, shape.places)
    memory = Memory(emit)
    taken, given = shape.blocks(memory)
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
    emit.do(f"call void @body(ptr {taken}, ptr {given})")
    for operand in outputs:
        emit.repeat(operand.array.size, lambda element, of=operand: take(of, element), unroll)
    memory.release()
    emit.do("ret void")
    return emit.function("define void @single(ptr %addresses) nounwind")
