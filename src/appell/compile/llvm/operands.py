"""Operands of a ufunc's loop: their core axes, their memory layout, and the samples of a batch.

**Core axes** in NumPy's notation: "(6),(r,e)->(r,6)". An axis is a length, or a name for a length that a call
determines. NumPy passes a loop one length for every *different* axis, in the order of first occurrence, and one stride
for every axis of every operand.

    a formula    each operand has the axes of its array
    a scan       driven inputs have axes of rows and steps before them, (r, e), and results have rows, (r)

**Layout.** NumPy passes a pointer, a step from sample to sample and a stride for every core axis. Three layouts occur;
which one is determined once per call:

    packed      the elements of a sample are adjacent, row by row: read a few at once and transpose
    columns     the same element of neighbouring samples is adjacent: one load per register
    scattered   anything else: one load per number

Unless the layout is packed, the offsets of the elements of a sample are stored in a table on the stack. An operand of a
scan has axes of steps before those of its array: `at` moves along them. A driven input may be the same for all samples
(a step of zero): one load per register and no transposition.

**Samples** are processed in blocks of as many as there are lanes. In the last, incomplete block the lanes beyond the
end repeat the last sample: they read valid data and write what is written anyway, so no mask is needed.

If all operands are contiguous, the rows of a block follow each other at distances that are known now. A loop of its own
processes the complete blocks: no layout is chosen and no address of a row computed. In wide registers this saves 5 % of
the inverse dynamics of an arm in double precision, and 20 % in single precision.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from appell.compile.llvm.emitter import Emitter, Index, Value
from appell.compile.llvm.transpose import groups
from appell.compile.tape.formula import Formula
from appell.compile.tape.tape import Array

Axes = tuple[int | str, ...]
ROWS, EVERY = "r", "e"


@dataclass(frozen=True)
class CoreAxes:
    """The axes of all inputs and all outputs."""

    inputs: tuple[Axes, ...]
    outputs: tuple[Axes, ...]

    @property
    def operands(self) -> tuple[Axes, ...]:
        """Axes of all inputs, then of all outputs."""
        return self.inputs + self.outputs

    @property
    def signature(self) -> str:
        """Signature in NumPy's notation."""
        sides = (",".join(f"({','.join(map(str, axes))})" for axes in side) for side in (self.inputs, self.outputs))
        return "->".join(sides)

    def dimension(self, axis: int | str) -> int:
        """Return the index of the length of an axis in NumPy's list; index 0 is the length of the batch."""
        return 1 + [*dict.fromkeys(each for axes in self.operands for each in axes)].index(axis)


def formula_axes(formula: Formula) -> CoreAxes:
    """Return the axes of a formula's arrays."""
    return CoreAxes(tuple(x.shape for x in formula.inputs), tuple(x.shape for x in formula.outputs))


def scan_axes(formula: Formula, fixed: int) -> CoreAxes:
    """Return the axes of the scan of a formula; the first `fixed` inputs are carried or held, the others driven."""
    plain = formula_axes(formula)
    driven: list[Axes] = [(ROWS, EVERY, *axes) for axes in plain.inputs[fixed:]]
    return CoreAxes((*plain.inputs[:fixed], *driven), tuple((ROWS, *axes) for axes in plain.outputs))


@dataclass(frozen=True)
class Operand:
    """An argument or result of the formula, as an operand of the loop."""

    array: Array
    position: int  # among all operands
    first_stride: int  # where the strides of its core axes begin, in NumPy's list of steps
    slots: tuple[int, ...]  # index in the block of each element
    axes: int = 0  # core axes before those of the array

    @property
    def table(self) -> str:
        """The global constant that holds the slots, for code with variable indices."""
        return f"@slots{self.position}"

    def slot(self, emit: Emitter, element: Index, plus: int = 0) -> Index:
        """Return the slot of element + plus."""
        if isinstance(element, int):
            return self.slots[element + plus]
        entry = emit.address(self.table, emit.times(element, 4))
        return emit.value(f"zext i32 {emit.value(f'load i32, ptr {emit.address(entry, 4 * plus)}, align 4')} to i64")


def operands(
    formula: Formula, result_slots: tuple[int, ...], axes: CoreAxes | None = None
) -> tuple[list[Operand], list[Operand]]:
    """Return all inputs and all outputs; `axes` are their core axes, if they have more than their arrays."""
    slots = [*range(formula.input_size), *result_slots]
    arrays = [*formula.inputs, *formula.outputs]
    all_operands, element, stride = [], 0, len(arrays)
    for position, (array, core) in enumerate(zip(arrays, (axes or formula_axes(formula)).operands, strict=True)):
        before = len(core) - len(array.shape)
        all_operands.append(Operand(array, position, stride, tuple(slots[element : element + array.size]), before))
        element += array.size
        stride += len(core)
    return all_operands[: len(formula.inputs)], all_operands[len(formula.inputs) :]


@dataclass(frozen=True)
class OperandLayout:
    """Memory layout of an operand in this call, as names of LLVM values."""

    operand: Operand
    base: str
    step: str
    packed: str | None  # whether the layout is packed; None if a row is too short to benefit
    columns: str
    contiguous: str = "false"  # whether the rows of all samples follow each other
    offsets: str = ""  # the table of offsets
    along: tuple[str, ...] = ()  # the strides of the axes before those of the array
    same: str | None = None  # whether all samples are the same; None if not a scan

    def at(self, emit: Emitter, *indices: Index) -> OperandLayout:
        """Return the layout moved along the axes before those of the array."""
        base = self.base
        for stride, index in zip(self.along, indices, strict=True):
            base = emit.address(base, emit.value(f"mul i64 {stride}, {index}"))
        return replace(self, base=base)

    def offset(self, emit: Emitter, element: Index) -> Index:
        """Return the number of bytes from the start of a sample to one of its elements."""
        if self.operand.array.size == 1:
            return 0
        return emit.value(f"load i64, ptr {emit.address(self.offsets, emit.times(element, 8))}, align 8")


def operand_layout(emit: Emitter, operand: Operand) -> OperandLayout:
    """Determine the layout of an operand, and store the table of offsets where it is needed."""
    array, lanes = operand.array, emit.lanes
    base = emit.value(f"load ptr, ptr {emit.address('%args', 8 * operand.position)}, align 8")
    step = _step(emit, operand.position)
    columns = emit.value(f"icmp eq i64 {step}, {lanes.itemsize}")
    along = tuple(_step(emit, operand.first_stride + axis) for axis in range(operand.axes))
    strides = [_step(emit, operand.first_stride + operand.axes + axis) for axis in range(len(array.shape))]
    same = emit.value(f"icmp eq i64 {step}, 0") if along else None
    packed, size = "true", lanes.itemsize
    for stride, length in zip(reversed(strides), reversed(array.shape), strict=True):
        if length > 1:
            packed = emit.value(f"and i1 {packed}, {emit.value(f'icmp eq i64 {stride}, {size}')}")
        size *= length
    contiguous = emit.value(f"and i1 {packed}, {emit.value(f'icmp eq i64 {step}, {size}')}")
    layout = OperandLayout(operand, base, step, None, columns, contiguous, along=along, same=same)
    if array.size == 1:
        return layout
    offsets = emit.stack(array.size, "i64")
    if same or not groups(array.size, lanes):
        _store_offsets(emit, array, strides, offsets)
    if not groups(array.size, lanes):
        return replace(layout, offsets=offsets)

    if not same:
        loose, ready = emit.label("loose"), emit.label("ready")
        emit.branch(packed, ready, loose)
        emit.enter(loose)
        _store_offsets(emit, array, strides, offsets)
        emit.jump(ready)
        emit.enter(ready)
    return replace(layout, packed=packed, offsets=offsets)


def _step(emit: Emitter, index: int) -> str:
    return emit.value(f"load i64, ptr {emit.address('%steps', 8 * index)}, align 8")


def _store_offsets(emit: Emitter, array: Array, strides: list[str], offsets: str) -> None:
    """Store offset = Σ index · stride over the axes, for every element."""

    def one(element: Index) -> None:
        rest, total = element, "0"
        for stride, length in zip(reversed(strides), reversed(array.shape), strict=True):
            index = emit.value(f"urem i64 {rest}, {length}")
            rest = emit.value(f"udiv i64 {rest}, {length}")
            total = emit.value(f"add i64 {total}, {emit.value(f'mul i64 {index}, {stride}')}")
        emit.do(f"store i64 {total}, ptr {emit.address(offsets, emit.times(element, 8))}, align 8")

    emit.repeat(array.size, one, unroll=False)


@dataclass(frozen=True)
class LaneSamples:
    """One register of samples, as names of LLVM values."""

    numbers: list[Value]  # the sample in each lane
    first: Value  # bytes from the start of the array to the first sample, in the layout `columns`
    complete: Value  # whether every lane has its own sample
    unroll: int  # numbers of the longest transfer that is not a loop; 0 if such code would leave the L1 cache
    table: Value = ""  # where `store_starts` has stored the starts of samples, if it has

    def rows(self, emit: Emitter, layout: OperandLayout) -> list[Value]:
        """Return pointers to the sample of each lane."""
        return [emit.address(layout.base, start) for start in self._starts(emit, layout)]

    def store_starts(self, emit: Emitter, layouts: list[OperandLayout], table: Value) -> None:
        """Compute the starts of the samples of some operands once, for code that needs them repeatedly."""
        for layout in layouts:
            for lane, start in enumerate(self._starts(emit, layout)):
                emit.do(f"store i64 {start}, ptr {self._entry(emit, layout, lane, table)}, align 8")

    def _starts(self, emit: Emitter, layout: OperandLayout) -> list[Value]:
        if not self.table:
            return [emit.value(f"mul i64 {number}, {layout.step}") for number in self.numbers]
        entries = [self._entry(emit, layout, lane, self.table) for lane in range(emit.lanes.width)]
        return [emit.value(f"load i64, ptr {entry}, align 8") for entry in entries]

    def _entry(self, emit: Emitter, layout: OperandLayout, lane: int, table: Value) -> Value:
        return emit.address(table, 8 * (layout.operand.position * emit.lanes.width + lane))


@dataclass(frozen=True)
class DenseSamples:
    """One register of samples of contiguous operands, every lane with its own sample."""

    first: Value  # number of the first sample
    unroll: int  # as in `LaneSamples`

    def rows(self, emit: Emitter, layout: OperandLayout) -> list[Value]:
        """Return pointers to the sample of each lane."""
        size = layout.operand.array.size * emit.lanes.itemsize
        start = emit.address(layout.base, emit.times(self.first, size))
        return [emit.address(start, lane * size) for lane in range(emit.lanes.width)]


Samples = Callable[[Index], LaneSamples]  # of a block
Iteration = Callable[[Index, Samples], None]


def over_dense_samples(
    emit: Emitter,
    layouts: list[OperandLayout],
    unroll: int,
    count: Value,
    block: Callable[[Callable[[], DenseSamples]], None],
) -> Value:
    """Emit the loop over complete blocks, if all operands are contiguous, and return the number of samples in them.

    Parameters
    ----------
    emit : emitter of the function
    layouts : memory layouts of all operands
    unroll : numbers of the longest transfer that is not a loop
    count : number of samples
    block : called once with a function that returns the samples of a block
    """
    contiguous = "true"
    for layout in layouts:
        contiguous = emit.value(f"and i1 {contiguous}, {layout.contiguous}")
    complete = emit.value(f"and i64 {count}, {-emit.lanes.width}")
    complete = emit.value(f"select i1 {contiguous}, i64 {complete}, i64 0")
    before = emit.block
    emit.branch(emit.value(f"icmp eq i64 {complete}, 0"), "sparse", "dense")
    emit.enter("dense")
    first = emit.phi("i64", ("0", before), ("%following", "filled"))
    emit.do(f"%following = add i64 {first}, {emit.lanes.width}")
    block(lambda: DenseSamples(first, unroll))
    emit.jump("filled")
    emit.enter("filled")
    emit.branch(emit.value(f"icmp ult i64 %following, {complete}"), "dense", "sparse")
    emit.enter("sparse")
    return complete


def over_samples(
    emit: Emitter, max_blocks: int, unroll: int, count: Value, iteration: Iteration, begin: Value = "0"
) -> None:
    """Emit the loop over the samples of a batch, of which there is at least one.

    Parameters
    ----------
    emit : emitter of the function
    max_blocks : blocks of samples per iteration, at most
    unroll : numbers of the longest transfer that is not a loop
    count : number of samples
    iteration : called once as `iteration(blocks, samples)`: the number of blocks of an iteration, and a function that
        returns the samples of a block
    begin : number of the first sample
    """
    lanes = emit.lanes
    last = emit.value(f"sub i64 {count}, 1")
    before = emit.block
    emit.jump("iteration")
    emit.enter("iteration")
    first = emit.phi("i64", (begin, before), ("%next", "written"))
    emit.do(f"%next = add i64 {first}, {lanes.width * max_blocks}")
    blocks: Index = 1
    if max_blocks > 1:
        left = emit.value(f"sub i64 {count}, {first}")
        left_blocks = emit.value(f"udiv i64 {emit.value(f'add i64 {left}, {lanes.width - 1}')}, {lanes.width}")
        blocks = _smaller(emit, left_blocks, str(max_blocks))

    def samples(block: Index) -> LaneSamples:
        start = emit.value(f"add i64 {first}, {emit.times(block, lanes.width)}")
        numbers = [emit.value(f"add i64 {start}, {lane}") for lane in range(lanes.width)]
        return LaneSamples(
            numbers=[_smaller(emit, number, last) for number in numbers],
            first=emit.value(f"mul i64 {start}, {lanes.itemsize}"),
            complete=emit.value(f"icmp ult i64 {numbers[-1]}, {count}"),
            unroll=unroll,
        )

    iteration(blocks, samples)
    emit.jump("written")
    emit.enter("written")
    emit.branch(emit.value(f"icmp ult i64 %next, {count}"), "iteration", "ended")
    emit.enter("ended")


def _smaller(emit: Emitter, x: Value, y: Value) -> Value:
    return emit.value(f"select i1 {emit.value(f'icmp ult i64 {x}, {y}')}, i64 {x}, i64 {y}")
