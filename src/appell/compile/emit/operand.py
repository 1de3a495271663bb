"""An operand of the loop: where its samples lie, found out once a call.

NumPy hands the loop a pointer, a step from sample to sample and a stride for every core axis. Three layouts occur:

    packed      the elements of a sample are neighbours, row by row: read a few at once and transpose
    columns     the same element of neighbouring samples is adjacent: one load a register
    scattered   anything else: one load a number

The offsets of the elements of a sample are laid down in a table on the stack, except where the layout is packed.
"""

from __future__ import annotations

from dataclasses import dataclass

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


def operands(tape: Formula, places: tuple[int, ...]) -> tuple[list[Operand], list[Operand]]:
    """All inputs and all outputs."""
    slots = [*range(tape.input_size), *places]
    arrays = [*tape.inputs, *tape.outputs]
    found, element, stride = [], 0, len(arrays)
    for position, array in enumerate(arrays):
        found.append(Operand(array, position, stride, tuple(slots[element : element + array.size])))
        element += array.size
        stride += len(array.shape)
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
    if array.size == 1:
        return Place(operand, base, step, None, columns)
    strides = [_step(emit, operand.first_stride + axis) for axis in range(len(array.shape))]
    offsets = emit.stack(array.size, "i64")
    if not groups(array.size, lanes):
        _lay_down(emit, array, strides, offsets)
        return Place(operand, base, step, None, columns, offsets)

    packed, size = "true", lanes.itemsize
    for stride, length in zip(reversed(strides), reversed(array.shape), strict=True):
        if length > 1:
            packed = emit.value(f"and i1 {packed}, {emit.value(f'icmp eq i64 {stride}, {size}')}")
        size *= length
    loose, ready = emit.label("loose"), emit.label("ready")
    emit.branch(packed, ready, loose)
    emit.enter(loose)
    _lay_down(emit, array, strides, offsets)
    emit.jump(ready)
    emit.enter(ready)
    return Place(operand, base, step, packed, columns, offsets)


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
