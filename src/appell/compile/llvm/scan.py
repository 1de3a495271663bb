"""The kernel of a scan: a step repeated on every block of samples, with its state in the block that `@body` reads.

    void @scan(args, dims, steps, data)   the inner loop of a generalised ufunc; r rows of e steps are two of its dims

    for every block of samples
        read the carried and the held inputs
        r times
            e times
                read the driven inputs of this step
                @body
                after the last of the e steps: write all results
                copy the carried results to the carried inputs of the next step

The loop over samples is outside and the loop over steps inside, so that a state never leaves the L1 cache. The starts
of samples in arrays are computed once per block. A driven array that is the same for all samples, such as a clock, is
read once and broadcast to the lanes. A very short step waits for the previous one longer than it computes, so several
blocks are interleaved: the processor works on one while another waits. Longer steps have enough to do, and more samples
at once touch more memory at once.

The input block holds the inputs as the body reads them: carried, held, driven; the output block holds the results, the
carried ones first. Held inputs stay in place, since no body overwrites its inputs. A program has one frame for both
blocks, and a carried result may be an input of another name: then all carried results are copied through a third block.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from appell.compile.llvm.body import BodyCode
from appell.compile.llvm.emitter import Emitter, Index, Memory, Value
from appell.compile.llvm.kernel import BlockLayout, body, layout, module
from appell.compile.llvm.lanes import Form
from appell.compile.llvm.operands import (
    EVERY,
    ROWS,
    LaneSamples,
    OperandLayout,
    Samples,
    operand_layout,
    operands,
    over_samples,
    scan_axes,
)
from appell.compile.llvm.program_body import VECTOR_BYTES
from appell.compile.llvm.schedule import schedule, weight
from appell.compile.llvm.transfer import gather, scatter
from appell.compile.llvm.tuning import Tuning
from appell.compile.tape.formula import Formula
from appell.compile.tape.tape import Tape

INTERLEAVED_BLOCKS = 4  # blocks that run a short step before any of them runs the next
MAX_INTERLEAVED_STEPS = 100  # steps of a schedule (a pendulum, a cart with a pole); longer ones are not interleaved
_MAX_UNROLLED_REGISTERS = 40  # more are copied in a loop


def scan_kernel(formula: Formula, form: Form, carried: int, held: int) -> str:
    """Return the module of the loop of a scan: the first inputs are carried, the next ones held, the others driven.

    Parameters
    ----------
    formula : fused formula of one step
    form : number format, machine and options of code generation
    carried, held : numbers of carried and held inputs
    """
    code = body(formula, form)
    return module(formula, code.text, scan_function(formula, form, code, carried, held))


def interleaved_blocks(formula: Formula) -> int:
    """Return the number of blocks that run a step before any of them runs the next."""
    short = isinstance(formula, Tape) and sum(map(weight, schedule(formula))) <= MAX_INTERLEAVED_STEPS
    return INTERLEAVED_BLOCKS if short else 1


def scan_function(formula: Formula, form: Form, code: BodyCode, carried: int, held: int) -> str:
    """Return the function @scan, which calls the body `code`; the other parameters are those of `scan_kernel`."""
    emit, shape, fixed = Emitter(form.lanes, form.fused), layout(formula), carried + held
    axes, memory = scan_axes(formula, fixed), Memory(emit, form.max_stack)
    max_blocks = 1 if code.long else interleaved_blocks(formula)
    unroll = 0 if code.long else form.tuning.unrolled
    inputs, outputs = operands(formula, shape.result_slots, axes)
    size = sum(operand.array.size for operand in inputs[:carried])
    state = _State.reserve(emit, memory, shape, max_blocks, size)
    starts = emit.stack(max_blocks * len(axes.operands) * emit.lanes.width, "i64")
    count, rows, every = (
        emit.value(f"load i64, ptr {emit.address('%dims', 8 * k)}, align 8")
        for k in (0, axes.dimension(ROWS), axes.dimension(EVERY))
    )
    sources, targets = ([operand_layout(emit, operand) for operand in each] for each in (inputs, outputs))
    blocks_code = _ScanCode(emit, state, every, starts, sources[:fixed], sources[fixed:], targets, form.tuning)
    steps = emit.value(f"mul i64 {emit.value(f'mul i64 {count}, {rows}')}, {every}")
    emit.branch(emit.value(f"icmp eq i64 {steps}, 0"), "end", "begin")
    emit.enter("begin")

    def iteration(blocks: Index, samples: Samples) -> None:
        def step(row: Index, k: Index) -> None:
            last = emit.value(f"icmp eq i64 {emit.value(f'add i64 {k}, 1')}, {every}")
            emit.repeat(blocks, lambda block: blocks_code.step(block, samples(block), row, k, last), unroll=True)

        emit.repeat(blocks, lambda block: blocks_code.begin(block, samples(block)), unroll=True)
        emit.repeat(rows, lambda row: emit.repeat(every, lambda k: step(row, k), unroll=False), unroll=False)

    over_samples(emit, max_blocks, unroll, count, iteration)
    emit.jump("end")
    emit.enter("end")
    memory.release()
    emit.do("ret void")
    return emit.function("define void @scan(ptr %args, ptr %dims, ptr %steps, ptr %data) nounwind")


@dataclass(frozen=True)
class _State:
    """The input and output blocks of a repeated step."""

    emit: Emitter
    layout: BlockLayout
    first: tuple[Value, Value]  # the first input block, the first output block
    carried: int  # slots
    crossing: Value = ""  # where carried results are copied first, if inputs and results overlap

    @classmethod
    def reserve(cls, emit: Emitter, memory: Memory, layout: BlockLayout, blocks: int, carried: int) -> _State:
        """Allocate `blocks` blocks of which `carried` slots are carried."""
        first = layout.reserve(memory, blocks)
        crossing = layout.outputs is None and min(layout.result_slots[:carried]) < carried
        return cls(emit, layout, first, carried, memory.block(carried) if crossing else "")

    def inputs(self, block: Index) -> Value:
        return self._block(0, self.layout.inputs, block)

    def outputs(self, block: Index) -> Value:
        return self._block(1, self.layout.outputs or 0, block)

    def carry(self, block: Index) -> None:
        """Copy the carried results of a step to the inputs of the next one."""
        results, inputs = self.layout.result_slots[: self.carried], range(self.carried)
        source, target = self.outputs(block), self.inputs(block)
        if self.crossing:
            self._copy(source, self.crossing, results, inputs)
            self._copy(self.crossing, target, inputs, inputs)
        else:
            self._copy(source, target, results, inputs)

    def _block(self, side: int, registers: int, block: Index) -> Value:
        return self.emit.address(self.first[side], self.emit.times(block, registers * self.emit.lanes.bytes))

    def _copy(self, source: Value, target: Value, from_slots: Iterable[int], to_slots: Iterable[int]) -> None:
        emit, lanes = self.emit, self.emit.lanes
        for first, to, length in _runs(zip(from_slots, to_slots, strict=True)):
            pointers = emit.address(source, first * lanes.bytes), emit.address(target, to * lanes.bytes)
            for many in (max(1, VECTOR_BYTES // lanes.bytes), 1):  # slots of one sample are copied several at a time
                kind, count = f"<{many * lanes.width} x {lanes.scalar}>", length // many

                def one(k: Index, of: tuple[Value, Value] = pointers, kind: str = kind, many: int = many) -> None:
                    source, target = (emit.address(pointer, emit.times(k, many * lanes.bytes)) for pointer in of)
                    value = emit.value(f"load {kind}, ptr {source}, align {lanes.bytes}")
                    emit.do(f"store {kind} {value}, ptr {target}, align {lanes.bytes}")

                if count:
                    emit.repeat(count, one, unroll=count <= _MAX_UNROLLED_REGISTERS)
                copied = count * many * lanes.bytes
                pointers = emit.address(pointers[0], copied), emit.address(pointers[1], copied)
                length -= count * many


def _runs(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Return pairs of slots, from and to, as runs of neighbours: (from, to, length)."""
    runs: list[tuple[int, int, int]] = []
    for source, target in pairs:
        if runs and (source - runs[-1][0], target - runs[-1][1]) == (runs[-1][2],) * 2:
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
        else:
            runs.append((source, target, 1))
    return runs


@dataclass(frozen=True)
class _ScanCode:
    """The code of one block; its part of `starts` holds where its samples start in the arrays of every step."""

    emit: Emitter
    state: _State
    every: Value
    starts: Value
    fixed: list[OperandLayout]
    driven: list[OperandLayout]
    targets: list[OperandLayout]
    tuning: Tuning

    def begin(self, block: Index, samples: LaneSamples) -> None:
        samples.store_starts(self.emit, [*self.driven, *self.targets], self._table(block))
        for source in self.fixed:
            gather(self.emit, source, samples, self.state.inputs(block))

    def step(self, block: Index, samples: LaneSamples, row: Index, k: Index, last: Value) -> None:
        """Run a step; after the last one of a row, write its results."""
        emit, samples = self.emit, replace(samples, table=self._table(block))

        def write() -> None:
            for target in self.targets:
                scatter(emit, target.at(emit, row), samples, self.state.outputs(block), self.tuning)

        for source in self.driven:
            gather(emit, source.at(emit, row, k), samples, self.state.inputs(block))
        emit.do(f"call void @body(ptr {self.state.inputs(block)}, ptr {self.state.outputs(block)}, ptr null)")
        emit.when(last, write)
        self.state.carry(block)

    def _table(self, block: Index) -> Value:
        operands = len(self.fixed) + len(self.driven) + len(self.targets)
        return self.emit.address(self.starts, self.emit.times(block, 8 * operands * self.emit.lanes.width))
