"""The turns of a stage: a loop over the rows of its table, with the code of every step written once.

    row = table                          kind = row[0], where there are several
    windows = frame + row[…]             the tape, on what the windows and the row hold
    row += its size                      until the table ends

A turn reads before it writes. Inputs whose slots the same turn overwrites are therefore loaded before anything is
stored: into registers, or, where the tape is so long that it is cut into chunks, onto the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from appell.compile.emit.emitter import Emitter, Value
from appell.compile.emit.residence import residence
from appell.compile.emit.schedule import chunks, schedule
from appell.compile.emit.turn_table import Anchor, RowShape, row_shape, turn_table
from appell.compile.emit.writer import Writer, frame_on_stack
from appell.compile.program import FrameStep, Stage


def stage_functions(
    name: str, stage: Stage, emitter: Callable[[], Emitter], chunk: int, large: bool = False
) -> list[str]:
    """The function @name(frame) that takes all turns of a stage, and what it calls and reads.

    Slots of a `large` frame are not in the first cache, and are fetched before they are written.
    """
    emit = emitter()
    lanes, several = emit.lanes, len(stage.steps) > 1
    shapes = [row_shape(step, several, lanes) for step in stage.steps]
    table = turn_table(stage, shapes, lanes)
    functions: list[str] = []

    def turn(kind: int) -> None:
        code = _StepCode(f"{name}_{kind}", stage.steps[kind], shapes[kind])
        functions.extend(code.write(emit, emitter, chunk, large))

    functions.append(constant(f"{name}_table", table))
    if len(stage.order) == 1:
        emit.do(f"%row = getelementptr i8, ptr @{name}_table, i64 0")
        turn(0)
    else:
        _loop(emit, f"@{name}_table", len(table), shapes, turn)
    emit.do("ret void")
    functions.append(emit.function(f"define internal void @{name}(ptr %inputs) noinline nounwind"))
    return functions


def _loop(emit: Emitter, table: str, size: int, shapes: list[RowShape], turn) -> None:
    emit.jump("turn")
    emit.enter("turn")
    emit.do(f"%row = phi ptr [ {table}, %entry ], [ %next, %taken ]")
    kinds = [f"kind{k}" for k in range(len(shapes))]
    if len(shapes) > 1:
        kind = emit.value("load i64, ptr %row, align 8")
        others = " ".join(f"i64 {k}, label %{label}" for k, label in enumerate(kinds) if k)
        emit.do(f"switch i64 {kind}, label %{kinds[0]} [ {others} ]")
    else:
        emit.jump(kinds[0])
    ends = []
    for k, (label, shape) in enumerate(zip(kinds, shapes, strict=True)):
        emit.enter(label)
        turn(k)
        ends.append((str(shape.size), emit.block))
        emit.jump("taken")
    emit.enter("taken")
    advance = emit.phi("i64", *ends)
    emit.do(f"%next = getelementptr i8, ptr %row, i64 {advance}")
    end = f"getelementptr (i8, ptr {table}, i64 {size})"
    emit.branch(emit.value(f"icmp eq ptr %next, {end}"), "ended", "turn")
    emit.enter("ended")


def constant(name: str, content: bytes) -> str:
    """Bytes that code reads, as a constant of its module."""
    text = content.hex("\\")
    return f'@{name} = private unnamed_addr constant [{len(content)} x i8] c"\\{text}", align 64'


@dataclass(frozen=True)
class _StepCode:
    """The code of one turn of a step, in functions where %inputs is the frame and %row the row of the table."""

    name: str
    step: FrameStep
    shape: RowShape

    def write(self, emit: Emitter, emitter: Callable[[], Emitter], chunk: int, large: bool) -> list[str]:
        """Write the turn, and hand back the functions that it calls."""
        tape = self.step.tape
        pieces = chunks(schedule(tape), chunk)
        waiting = residence(tape, pieces, emit.lanes)
        early = self._overwritten()
        operands = _Operands(self.step, self.shape)
        prepare = operands.prepare if large else None
        writer = Writer(tape, waiting, operands.read, operands.write, operands.reread, prepare=prepare)
        operands.enter(emit)
        held = {number: operands.read(emit, number) for number in early}
        if len(pieces) == 1:
            operands.held = held
            writer.leaves(emit)
            writer.chunk(emit, pieces[0])
            return []
        kept, frame = emit.stack(len(early)), frame_on_stack(emit, waiting)
        for k, value in enumerate(held.values()):
            emit.store(value, kept, k)
        operands.held = held
        writer.leaves(emit)
        functions = []
        for number, piece in enumerate(pieces):
            part = emitter()
            operands.enter(part)
            operands.held = {number: part.load("%kept", k) for k, number in enumerate(early)}
            writer.chunk(part, piece, number)
            part.do("ret void")
            pointers = "ptr %inputs, ptr %row, ptr noalias %kept, ptr noalias %frame"
            functions.append(part.function(f"define internal void @{self.name}_{number}({pointers}) noinline nounwind"))
            emit.do(f"call void @{self.name}_{number}(ptr %inputs, ptr %row, ptr {kept}, ptr {frame})")
        return functions

    def _overwritten(self) -> list[int]:
        """The inputs whose slots some turn overwrites."""
        found: set[int] = set()
        for turn in range(len((self.step.reads + self.step.writes)[0].starts)):
            written = {slot for window in self.step.writes for slot in window.slots(turn)}
            read = (slot for window in self.step.reads for slot in window.slots(turn))
            found |= {number for number, slot in enumerate(read) if slot in written}
        return sorted(found & self.step.tape.reads)


class _Operands:
    """Where a turn finds its inputs and puts its results."""

    def __init__(self, step: FrameStep, shape: RowShape):
        self.shape = shape
        self.held: dict[int, Value] = {}
        self._pointers: dict[int | None, Value] = {}
        self._sources = [
            (anchor, k * window.stride)
            for anchor, window in zip(shape.reads, step.reads, strict=True)
            for k in range(window.width)
        ]
        self._targets: dict[int, list[tuple[Anchor, int]]] = {}
        places = (
            (anchor, k * window.stride)
            for anchor, window in zip(shape.writes, step.writes, strict=True)
            for k in range(window.width)
        )
        for node, place in zip(step.tape.results, places, strict=True):
            self._targets.setdefault(node, []).append(place)

    def enter(self, emit: Emitter) -> None:
        """Find the windows, at the beginning of a function."""
        self._pointers = {None: "%inputs"}
        for anchor in (*self.shape.reads, *self.shape.writes):
            if anchor.entry in self._pointers or anchor.entry is None:
                continue
            moved = emit.value(f"load i64, ptr {emit.address('%row', anchor.entry)}, align 8")
            self._pointers[anchor.entry] = emit.address("%inputs", moved)

    def read(self, emit: Emitter, number: int) -> Value:
        if number in self.held:
            return self.held[number]
        if number < len(self._sources):
            anchor, offset = self._sources[number]
            return emit.load(self._pointers[anchor.entry], anchor.slot + offset)
        ahead = (number - len(self._sources)) * emit.lanes.itemsize
        return emit.spread(emit.address("%row", self.shape.numbers + ahead))

    def write(self, emit: Emitter, node: int, value: Value) -> None:
        for anchor, offset in self._targets[node]:
            emit.store(value, self._pointers[anchor.entry], anchor.slot + offset)

    def reread(self, emit: Emitter, node: int) -> Value:
        anchor, offset = self._targets[node][0]
        return emit.load(self._pointers[anchor.entry], anchor.slot + offset)

    def prepare(self, emit: Emitter, node: int) -> None:
        for anchor, offset in self._targets[node]:
            slot = (anchor.slot + offset) * emit.lanes.bytes
            emit.prefetch(emit.address(self._pointers[anchor.entry], slot))
