"""A kernel: the LLVM module of one formula, a tape or a program, for one number format. There are three kinds.

    void @loop(args, dims, steps, data)    the inner loop of a generalised ufunc, in NumPy's calling convention
    void @single(addresses)                one sample, packed arrays; the addresses of all inputs, then of all outputs
    void @scan(args, dims, steps, data)    the loop of a repeated step: see `scan`

All of them copy samples into the block that `@body` reads, and copy its results to their arrays. A single sample fills
all lanes, so it has the same bits as in any batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from appell.compile.llvm.body import BodyCode, slots, tape_body
from appell.compile.llvm.emitter import GLOBAL, Emitter, Index, Memory, Value
from appell.compile.llvm.lanes import Form
from appell.compile.llvm.operands import (
    DenseSamples,
    LaneSamples,
    Operand,
    operand_layout,
    operands,
    over_dense_samples,
    over_samples,
)
from appell.compile.llvm.program_body import program_body
from appell.compile.llvm.transfer import ENTRY, gather, scatter, store_destinations
from appell.compile.program.program import Program
from appell.compile.tape.formula import Formula

_MAX_UNROLLED_NUMBERS = 200  # of a single sample; more are copied in loops


@dataclass(frozen=True)
class BlockLayout:
    """The blocks that a body works on; the inputs come first in the input block."""

    inputs: int  # registers of the input block
    outputs: int | None  # registers of the output block; None if the results are in the input block
    result_slots: tuple[int, ...]  # index of each result in its block

    def reserve(self, memory: Memory, blocks: int) -> tuple[Value, Value]:
        """Allocate `blocks` input blocks and as many output blocks, one after the other."""
        first = memory.block(self.inputs * blocks)
        return first, first if self.outputs is None else memory.block(self.outputs * blocks)


def layout(formula: Formula) -> BlockLayout:
    """Return where the body of a formula reads its inputs and writes its results."""
    if isinstance(formula, Program):
        return BlockLayout(formula.size, None, formula.results)
    slot_of = slots(formula)
    return BlockLayout(formula.input_size, len(slot_of), tuple(slot_of[node] for node in formula.results))


def body(formula: Formula, form: Form, prefetch: bool = False) -> BodyCode:
    """Return all functions of the body; with `prefetch` it may prefetch the lines that its results are written to."""
    if isinstance(formula, Program):
        return BodyCode(program_body(formula, form))
    return tape_body(formula, form, prefetch)


def loop_kernel(formula: Formula, form: Form) -> str:
    """Return the module of the ufunc's loop, for a fused formula."""
    code = body(formula, form, prefetch=True)
    return module(formula, code.text, loop_function(formula, form, code))


def single_kernel(formula: Formula, form: Form) -> str:
    """Return the module of the function for one sample, for a fused formula."""
    return module(formula, body(formula, form).text, single_function(formula, form))


def module(formula: Formula, *functions: str) -> str:
    """Return the functions of a kernel and the globals they refer to, as one module."""
    _, outputs = operands(formula, layout(formula).result_slots)
    return "\n".join([*(_table(operand) for operand in outputs), *functions, GLOBAL, "!0 = !{}", ""])


def _table(operand: Operand) -> str:
    """Return the constant table of the slots of a result in the output block."""
    entries = ", ".join(f"i32 {slot}" for slot in operand.slots)
    return f"{operand.table} = private unnamed_addr constant [{len(operand.slots)} x i32] [{entries}], align 16"


def loop_function(formula: Formula, form: Form, code: BodyCode) -> str:
    """Return the function @loop, which calls the body `code`."""
    emit, shape = Emitter(form.lanes, form.fused), layout(formula)
    memory = Memory(emit, form.max_stack)
    inputs, outputs = operands(formula, shape.result_slots)
    input_block, output_block = shape.reserve(memory, 1)
    destinations = emit.stack(len(outputs) * ENTRY // 8, "i64") if code.prefetches else "null"
    count = emit.value("load i64, ptr %dims, align 8")
    sources = [operand_layout(emit, operand) for operand in inputs]
    targets = [operand_layout(emit, operand) for operand in outputs]
    emit.branch(emit.value(f"icmp eq i64 {count}, 0"), "end", "begin")
    emit.enter("begin")

    def iteration(samples: Callable[[], LaneSamples | DenseSamples]) -> None:
        block = samples()
        for source in sources:
            gather(emit, source, block, input_block)
        if code.prefetches:
            store_destinations(emit, targets, block, destinations, output_block)
        emit.do(f"call void @body(ptr {input_block}, ptr {output_block}, ptr {destinations})")
        block = samples()  # computed again: nothing is kept in registers across the call
        for target in targets:
            scatter(emit, target, block, output_block, form.tuning, prefetched=code.prefetches)

    unroll = 0 if code.long else form.tuning.unrolled
    done = over_dense_samples(emit, [*sources, *targets], unroll, count, iteration)
    emit.branch(emit.value(f"icmp eq i64 {done}, {count}"), "end", "rest")
    emit.enter("rest")
    over_samples(emit, 1, unroll, count, lambda _, samples: iteration(lambda: samples(0)), done)
    emit.jump("end")
    emit.enter("end")
    memory.release()
    emit.do("ret void")
    return emit.function("define void @loop(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind")


def single_function(formula: Formula, form: Form) -> str:
    """Return the function @single."""
    emit, lanes, shape = Emitter(form.lanes, form.fused), form.lanes, layout(formula)
    memory = Memory(emit, form.max_stack)
    inputs, outputs = operands(formula, shape.result_slots)
    input_block, output_block = shape.reserve(memory, 1)
    unroll = formula.input_size + len(formula.results) <= _MAX_UNROLLED_NUMBERS

    def address(operand: Operand, element: Index) -> Value:
        base = emit.value(f"load ptr, ptr {emit.address('%addresses', 8 * operand.position)}, align 8")
        return emit.address(base, emit.times(element, lanes.itemsize))

    def read(operand: Operand, element: Index) -> None:
        register = emit.broadcast(address(operand, element))
        emit.store(register, emit.address(input_block, operand.slots[0] * lanes.bytes), element)

    def write(operand: Operand, element: Index) -> None:
        source = emit.address(output_block, emit.times(operand.slot(emit, element), lanes.bytes))
        value = emit.value(f"load {lanes.scalar}, ptr {source}, align {lanes.itemsize}")
        emit.do(f"store {lanes.scalar} {value}, ptr {address(operand, element)}, align {lanes.itemsize}")

    for operand in inputs:
        emit.repeat(operand.array.size, lambda element, of=operand: read(of, element), unroll)
    emit.do(f"call void @body(ptr {input_block}, ptr {output_block}, ptr null)")
    for operand in outputs:
        emit.repeat(operand.array.size, lambda element, of=operand: write(of, element), unroll)
    memory.release()
    emit.do("ret void")
    return emit.function("define void @single(ptr %addresses) nounwind")
