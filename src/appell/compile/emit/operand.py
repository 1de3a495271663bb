"""An operand of the loop: where its samples lie, found out once a call.

NumPy hands the loop a pointer, a step from sample to sample and a stride for every core axis. Three layouts occur:

    packed      the elements of a sample are neighbours, row by row: read a few at once and transpose
    columns     the same element of neighbouring samples is adjacent: one load a register
    scattered   anything else: one load a number

The offsets of the elements of a sample are laid down in a table on the stack, except where the layout is packed.

An operand of a march has axes of steps before those of its array: `at` moves along them. If it is driven, it may well
be the same for all samples (a step of zero): one load a register, and no transposition.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from appell.compile.emit.core_axes import CoreAxes, formula_axes
from appell.compile.emit.emitter import Emitter, Index
from appell.compile.emit.transpose import groups
from appell.compile.formula import Formula
from appell.compile.tape import Array


@dataclass(frozen=True)
class Operand:
    """An argument or result of the tape, as the loop sees it."""

    array: Array
    position: int  # among all operands
    first_stride: int  # where the strides of its core axes begin, in NumPy's list of steps
    slots: tuple[int, ...]  # the place in the block of each element
    axes: int = 0  # core axes before those of the array

    @property
    def table(self) -> str:
        """The global constant that holds the slots, for code that finds them while it runs."""
        return f"@slots{self.position}"

    def slot(self, emit: Emitter, element: Index, plus: int = 0) -> Index:
        """The slot of element + plus."""
        if isinstance(element, int):
            return self.slots[element + plus]
        entry = emit.address(self.table, emit.times(element, 4))
        return emit.value(f"zext i32 {emit.value(f'load i32, ptr {emit.address(entry, 4 * plus)}, align 4')} to i64")


def operands(
    tape: Formula, places: tuple[int, ...], axes: CoreAxes | None = None
) -> tuple[list[Operand], list[Operand]]:
    """All inputs and all outputs; `axes` are their core axes, if they have more than their arrays."""
    slots = [*range(tape.input_size), *places]
    arrays = [*tape.inputs, *tape.outputs]
    found, element, stride = [], 0, len(arrays)
    for position, (array, own) in enumerate(zip(arrays, (axes or formula_axes(tape)).operands, strict=True)):
        before = len(own) - len(array.shape)
        found.append(Operand(array, position, stride, tuple(slots[element : element + array.size]), before))
        element += array.size
        stride += len(own)
    return found[: len(tape.inputs)], found[len(tape.inputs) :]


@dataclass(frozen=True)
class Place:
    """The layout of an operand in this call, as names of LLVM values."""

    operand: Operand
    base: str
    step: str
    packed: str | None  # whether the layout is packed; None if a row is too short to gain by it
    columns: str
    offsets: str = ""  # the table of offsets
    along: tuple[str, ...] = ()  # the strides of the axes before those of the array
    same: str | None = None  # whether all samples are one; None if nobody asks

    def at(self, emit: Emitter, *indices: Index) -> Place:
        """The place moved along these axes."""
        base = self.base
        for stride, index in zip(self.along, indices, strict=True):
            base = emit.address(base, emit.value(f"mul i64 {stride}, {index}"))
        return replace(self, base=base)

    def offset(self, emit: Emitter, element: Index) -> Index:
        """The bytes from the beginning of a sample to one of its elements."""
        if self.operand.array.size == 1:
            return 0
        return emit.value(f"load i64, ptr {emit.address(self.offsets, emit.times(element, 8))}, align 8")


def locate(emit: Emitter, operand: Operand) -> Place:
    """Find out the layout, and lay down the table of offsets where it is needed."""
    array, lanes = operand.array, emit.lanes
    base = emit.value(f"load ptr, ptr {emit.address('%args', 8 * operand.position)}, align 8")
    step = _step(emit, operand.position)
    columns = emit.value(f"icmp eq i64 {step}, {lanes.itemsize}")
    along = tuple(_step(emit, operand.first_stride + axis) for axis in range(operand.axes))
    strides = [_step(emit, operand.first_stride + operand.axes + axis) for axis in range(len(array.shape))]
    same = emit.value(f"icmp eq i64 {step}, 0") if along else None
    found = Place(operand, base, step, None, columns, along=along, same=same)
    if array.size == 1:
        return found
    offsets = emit.stack(array.size, "i64")
    if same or not groups(array.size, lanes):
        _lay_down(emit, array, strides, offsets)
    if not groups(array.size, lanes):
        return replace(found, offsets=offsets)

    packed, size = "true", lanes.itemsize
    for stride, length in zip(reversed(strides), reversed(array.shape), strict=True):
        if length > 1:
            packed = emit.value(f"and i1 {packed}, {emit.value(f'icmp eq i64 {stride}, {size}')}")
        size *= length
    if not same:
        loose, ready = emit.label("loose"), emit.label("ready")
        emit.branch(packed, ready, loose)
        emit.enter(loose)
        _lay_down(emit, array, strides, offsets)
        emit.jump(ready)
        emit.enter(ready)
    return replace(found, packed=packed, offsets=offsets)


def _step(emit: Emitter, index: int) -> str:
    return emit.value(f"load i64, ptr {emit.address('%steps', 8 * index)}, align 8")


def _lay_down(emit: Emitter, array: Array, strides: list[str], offsets: str) -> None:
    """offset = Σ index · stride over the axes, for every element."""

    def one(element: Index) -> None:
        rest, total = element, "0"
        for stride, length in zip(reversed(strides), reversed(array.shape), strict=True):
            index = emit.value(f"urem i64 {rest}, {length}")
            rest = emit.value(f"udiv i64 {rest}, {length}")
            total = emit.value(f"add i64 {total}, {emit.value(f'mul i64 {index}, {stride}')}")
        emit.do(f"store i64 {total}, ptr {emit.address(offsets, emit.times(element, 8))}, align 8")

    emit.repeat(array.size, one, unroll=False)
