"""The body of a program with loops, on one block of samples, in LLVM.

    void @body(frame, frame, null)     the stages one after the other
    void @stage3(frame)                the iterations of a stage; a stage of one iteration is straight code

The frame is one block of registers for inputs, results and everything between: one register per slot, one sample per
lane. The code of every step is written once. What changes between iterations is stored in a table, one row each:

    kind       which step the iteration runs, if the stage has several
    offsets    bytes by which windows have moved since the first iteration; windows that move alike share one entry
    numbers    the constants of the iteration, in the format of the kernel

    row = table
    windows = frame + row[…]           the tape of step row[0], on the contents of the windows and the row
    row += its size                    until the end of the table

A window that begins in the same slot in every iteration needs no entry. An iteration reads before it writes: inputs
whose slots the same iteration overwrites are loaded before anything is stored, into registers or, if the tape is
divided into chunks, onto the stack.

**Vectorised iterations.** With one sample, the lanes of a register are iterations of a loop. This is possible if no
iteration reads or overwrites what another one writes:

    fixed windows                   one number for all lanes
    moving windows                  the rows of the iterations, transposed in registers like the samples of a batch
    lanes beyond the last iteration repeat it: they read valid data and write what is written anyway

Every lane performs the arithmetic of its iteration, so the bits are those of consecutive iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from appell.compile.llvm.body import (
    Writer,
    careful_functions,
    frame_on_stack,
    has_angles,
    nonfinite_samples,
    overwrite_nonfinite,
)
from appell.compile.llvm.emitter import Constants, Emitter, Index, Value
from appell.compile.llvm.lanes import Form, Lanes
from appell.compile.llvm.schedule import chunks, plan_spills, schedule
from appell.compile.llvm.transpose import groups, lanes_to_rows, rows_to_lanes
from appell.compile.program.program import FrameStep, Program, Stage, Window, window_slots

WORD = 8  # bytes of a kind and of an offset; rows are multiples of it
VECTOR_BYTES = 64  # of a register of iterations; a machine with narrower registers uses several
MIN_ITERATIONS = 3  # that are worth vectorising


@dataclass(frozen=True)
class Anchor:
    """Start of a window: a constant slot, plus the offset that the row holds at `entry`, if any.

    A window of a matrix moves by `shift` slots per column.
    """

    entry: int | None
    slot: int
    shift: int = 0


@dataclass(frozen=True)
class RowShape:
    """Layout of the table rows of one step; entries are bytes from the start of the row."""

    reads: tuple[Anchor, ...]
    writes: tuple[Anchor, ...]
    offsets: tuple[tuple[int, ...], ...]  # in slots, one column per entry
    numbers: int  # entry at which the constants start
    size: int


def row_shape(step: FrameStep, several: bool, lanes: Lanes) -> RowShape:
    """Return the layout of the rows of a step; `several` says whether its stage has several steps."""
    columns: dict[tuple[int, ...], int] = {}

    def anchor(window: Window) -> Anchor:
        first = window.starts[0]
        offsets = tuple(start - first for start in window.starts)
        if not any(offsets):
            return Anchor(None, first, window.shift)
        entry = columns.setdefault(offsets, WORD * (several + len(columns)))
        return Anchor(entry, first, window.shift)

    reads, writes = (tuple(map(anchor, windows)) for windows in (step.reads, step.writes))
    numbers = WORD * (several + len(columns))
    width = len(step.numbers[0]) if step.numbers else 0
    size = max(WORD, -(-(numbers + width * lanes.itemsize) // WORD) * WORD)  # the loop counts rows by their size
    return RowShape(reads, writes, tuple(columns), numbers, size)


def iteration_table(stage: Stage, shapes: list[RowShape], lanes: Lanes) -> bytes:
    """Return all rows, in the order of the iterations."""
    several = len(stage.steps) > 1
    done = [0] * len(stage.steps)
    rows = []
    for kind in stage.order:
        step, shape, iteration = stage.steps[kind], shapes[kind], done[kind]
        done[kind] += 1
        words = [kind] * several + [column[iteration] * lanes.bytes for column in shape.offsets]
        numbers = np.array(step.numbers[iteration] if step.numbers else (), dtype=f"<f{lanes.itemsize}")
        rows.append((np.array(words, "<i8").tobytes() + numbers.tobytes()).ljust(shape.size, b"\0"))
    return b"".join(rows)


def stage_functions(
    name: str, stage: Stage, emitter: Callable[[], Emitter], chunk: int, large: bool = False
) -> list[str]:
    """Return the function @name(frame) that runs all iterations of a stage, and the functions and tables it uses.

    Slots of a `large` frame are not in the L1 cache, so they are prefetched before they are written.

    Parameters
    ----------
    name : name of the function
    stage : loop of a program
    emitter : returns the emitter of a new function
    chunk : steps per function
    large : whether the frame exceeds the L1 cache
    """
    emit = emitter()
    lanes, several = emit.lanes, len(stage.steps) > 1
    shapes = [row_shape(step, several, lanes) for step in stage.steps]
    table = iteration_table(stage, shapes, lanes)
    functions: list[str] = []

    def iteration(kind: int) -> None:
        code = _StepCode(f"{name}_{kind}", stage.steps[kind], shapes[kind], stage.columns)

        def column(number: Index) -> None:
            functions.extend(code.write(emit, emitter, chunk, large, number))

        emit.repeat(stage.columns, column, unroll=stage.columns == 1)

    functions.append(constant(f"{name}_table", table))
    if len(stage.order) == 1:
        emit.do(f"%row = getelementptr i8, ptr @{name}_table, i64 0")
        iteration(0)
    else:
        _loop(emit, f"@{name}_table", len(table), shapes, iteration)
    emit.do("ret void")
    functions.append(emit.function(f"define internal void @{name}(ptr %inputs) noinline nounwind"))
    return functions


def _loop(emit: Emitter, table: str, size: int, shapes: list[RowShape], iteration) -> None:
    emit.jump("iteration")
    emit.enter("iteration")
    emit.do(f"%row = phi ptr [ {table}, %entry ], [ %next, %latch ]")
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
        iteration(k)
        ends.append((str(shape.size), emit.block))
        emit.jump("latch")
    emit.enter("latch")
    advance = emit.phi("i64", *ends)
    emit.do(f"%next = getelementptr i8, ptr %row, i64 {advance}")
    end = f"getelementptr (i8, ptr {table}, i64 {size})"
    emit.branch(emit.value(f"icmp eq ptr %next, {end}"), "ended", "iteration")
    emit.enter("ended")


def constant(name: str, content: bytes) -> str:
    """Return the definition of a constant that holds these bytes."""
    text = content.hex("\\")
    return f'@{name} = private unnamed_addr constant [{len(content)} x i8] c"\\{text}", align 64'


@dataclass(frozen=True)
class _StepCode:
    """The code of one iteration of a step, in functions where %inputs is the frame and %row the row of the table."""

    name: str
    step: FrameStep
    shape: RowShape
    columns: int

    def write(self, emit: Emitter, emitter: Callable[[], Emitter], chunk: int, large: bool, column: Index) -> list[str]:
        """Write one column of the iteration and return the functions that it calls."""
        tape = self.step.tape
        pieces = chunks(schedule(tape), chunk)
        spills = plan_spills(tape, pieces, emit.lanes)
        early = self._overwritten()
        operands = _StepOperands(self.step, self.shape)
        prefetch = operands.prefetch if large else None
        writer = Writer(tape, spills, operands.read, operands.write, operands.reread, prefetch=prefetch)
        operands.enter(emit, column)
        held = {number: operands.read(emit, number) for number in early}
        if len(pieces) == 1:
            operands.held = held
            writer.leaves(emit)
            writer.chunk(emit, pieces[0])
            return []
        saved, frame = emit.stack(len(early)), frame_on_stack(emit, spills)
        for k, value in enumerate(held.values()):
            emit.store(value, saved, k)
        operands.held = held
        writer.leaves(emit)
        functions = []
        for number, piece in enumerate(pieces):
            part = emitter()
            operands.enter(part, "%column")
            operands.held = {number: part.load("%saved", k) for k, number in enumerate(early)}
            writer.chunk(part, piece, number)
            part.do("ret void")
            pointers = "ptr %inputs, ptr %row, i64 %column, ptr noalias %saved, ptr noalias %frame"
            functions.append(part.function(f"define internal void @{self.name}_{number}({pointers}) noinline nounwind"))
            arguments = f"ptr %inputs, ptr %row, i64 {column}, ptr {saved}, ptr {frame}"
            emit.do(f"call void @{self.name}_{number}({arguments})")
        return functions

    def _overwritten(self) -> list[int]:
        """Return the inputs whose slots an iteration overwrites."""
        step = self.step
        iterations = len((step.reads + step.writes)[0].starts)
        read, written = (window_slots(side, iterations, self.columns) for side in (step.reads, step.writes))
        evaluations = np.arange(iterations * self.columns).reshape(iterations, self.columns, 1)
        size = 1 + max(read.max(initial=0), written.max(initial=0))  # pairs of evaluation and slot become one number
        overwritten = np.isin(read + size * evaluations, written + size * evaluations).any(axis=(0, 1))
        return sorted(set(np.flatnonzero(overwritten).tolist()) & step.tape.reads)


class _StepOperands:
    """Slots from which an iteration reads its inputs and to which it writes its results."""

    def __init__(self, step: FrameStep, shape: RowShape):
        self.shape = shape
        self.held: dict[int, Value] = {}
        self._pointers: dict[tuple[int | None, int], Value] = {}  # by entry and shift of an anchor
        self._sources = [
            (anchor, k * window.stride)
            for anchor, window in zip(shape.reads, step.reads, strict=True)
            for k in range(window.width)
        ]
        self._targets: dict[int, list[tuple[Anchor, int]]] = {}
        targets = (
            (anchor, k * window.stride)
            for anchor, window in zip(shape.writes, step.writes, strict=True)
            for k in range(window.width)
        )
        for node, target in zip(step.tape.results, targets, strict=True):
            self._targets.setdefault(node, []).append(target)

    def enter(self, emit: Emitter, column: Index) -> None:
        """Compute the pointers to the windows of a column, at the start of a function."""
        rows: dict[int | None, Value] = {None: "%inputs"}
        self._pointers = {}
        for anchor in (*self.shape.reads, *self.shape.writes):
            if anchor.entry not in rows:
                offset = emit.value(f"load i64, ptr {emit.address('%row', anchor.entry or 0)}, align 8")
                rows[anchor.entry] = emit.address("%inputs", offset)
            if (key := (anchor.entry, anchor.shift)) not in self._pointers:
                moved = emit.times(column, anchor.shift * emit.lanes.bytes) if anchor.shift else 0
                self._pointers[key] = emit.address(rows[anchor.entry], moved)

    def _pointer(self, anchor: Anchor) -> Value:
        return self._pointers[anchor.entry, anchor.shift]

    def read(self, emit: Emitter, number: int) -> Value:
        if number in self.held:
            return self.held[number]
        if number < len(self._sources):
            anchor, offset = self._sources[number]
            return emit.load(self._pointer(anchor), anchor.slot + offset)
        offset = self.shape.numbers + (number - len(self._sources)) * emit.lanes.itemsize
        return emit.broadcast(emit.address("%row", offset))

    def write(self, emit: Emitter, node: int, value: Value) -> None:
        for anchor, offset in self._targets[node]:
            emit.store(value, self._pointer(anchor), anchor.slot + offset)

    def reread(self, emit: Emitter, node: int) -> Value:
        anchor, offset = self._targets[node][0]
        return emit.load(self._pointer(anchor), anchor.slot + offset)

    def prefetch(self, emit: Emitter, node: int) -> None:
        for anchor, offset in self._targets[node]:
            slot = (anchor.slot + offset) * emit.lanes.bytes
            emit.prefetch(emit.address(self._pointer(anchor), slot))


def is_vectorisable(stage: Stage, lanes: Lanes, chunk: int) -> bool:
    """Return whether lanes can be iterations: the kernel has one sample, and the iterations are independent."""
    if lanes.width > 1 or len(stage.steps) > 1 or stage.columns > 1 or len(stage.order) < MIN_ITERATIONS:
        return False
    step = stage.steps[0]
    if step.numbers or has_angles(step.tape) or len(chunks(schedule(step.tape), chunk)) > 1:
        return False
    if any(window.stride != 1 or (window.width and not groups(window.width, _wide(lanes))) for window in _moving(step)):
        return False
    read, written = (window_slots(windows, len(stage.order)) for windows in (step.reads, step.writes))
    return np.unique(written).size == written.size and not np.isin(written, read).any()


def vectorised_functions(name: str, stage: Stage, form: Form) -> list[str]:
    """Return the function @name(frame) that runs all iterations of a vectorisable stage, and the table it reads."""
    [step], lanes = stage.steps, form.lanes
    emit = Emitter(_wide(lanes), form.fused)
    shape = row_shape(step, several=False, lanes=lanes)
    width = emit.lanes.width
    rows = iteration_table(stage, [shape], lanes)
    rounds = -(-len(stage.order) // width)
    rows += rows[-shape.size :] * (rounds * width - len(stage.order))

    def vector_iteration(number: Index) -> None:
        row = emit.address(f"@{name}_table", emit.times(number, width * shape.size))
        operands = _VectorOperands(emit, step, shape, lanes, row)
        writer = Writer(step.tape, plan_spills(step.tape, [[]], emit.lanes), operands.read, operands.write)
        writer.leaves(emit)
        writer.chunk(emit, chunks(schedule(step.tape), form.chunk)[0])

    emit.repeat(rounds, vector_iteration, unroll=rounds == 1)
    emit.do("ret void")
    header = f"define internal void @{name}(ptr %inputs) noinline nounwind"
    return [constant(f"{name}_table", rows), emit.function(header)]


def _wide(lanes: Lanes) -> Lanes:
    return Lanes(lanes.format, VECTOR_BYTES)


def _moving(step: FrameStep) -> list[Window]:
    return [window for window in (*step.reads, *step.writes) if len(set(window.starts)) > 1]


class _VectorOperands:
    """Slots from which the iterations of one vector read their inputs and to which they write their results."""

    def __init__(self, emit: Emitter, step: FrameStep, shape: RowShape, lanes: Lanes, table: Value):
        self._emit, self._slot = emit, lanes.bytes
        self._rows: dict[int | None, list[Value]] = {}  # start of a window in each lane, by the entry of its offset
        for anchor in (*shape.reads, *shape.writes):
            if anchor.entry is not None and anchor.entry not in self._rows:
                self._rows[anchor.entry] = [
                    self._start(table, lane * shape.size + anchor.entry) for lane in range(emit.lanes.width)
                ]
        self._fixed: dict[int, int] = {}  # slots of inputs that are the same for all iterations
        self._held: dict[int, Value] = {}  # the other inputs
        first = 0
        for anchor, window in zip(shape.reads, step.reads, strict=True):
            if anchor.entry is None:
                self._fixed |= {first + k: anchor.slot + k * window.stride for k in range(window.width)}
            else:
                loaded = self._loaded(anchor, window.width)
                self._held |= {first + k: value for k, value in loaded.items()}
            first += window.width
        self._targets: dict[int, list[tuple[_Gathered, int]]] = {}
        nodes = iter(step.tape.results)
        for anchor, window in zip(shape.writes, step.writes, strict=True):
            written = [next(nodes) for _ in range(window.width)]
            for start, size in groups(window.width, emit.lanes):
                gathered = _Gathered(anchor, start, [None] * size)
                for k, node in enumerate(written[start : start + size]):
                    self._targets.setdefault(node, []).append((gathered, k))

    def read(self, emit: Emitter, number: int) -> Value:
        if number in self._held:
            return self._held[number]
        return emit.broadcast(emit.address("%inputs", self._fixed[number] * self._slot))

    def write(self, emit: Emitter, node: int, value: Value) -> None:
        """Store results for all iterations as soon as all results of their group are known."""
        for gathered, k in self._targets[node]:
            gathered.values[k] = value
            if None not in gathered.values:
                self._store(gathered)

    def _start(self, table: Value, entry: int) -> Value:
        offset = self._emit.value(f"load i64, ptr {self._emit.address(table, entry)}, align 8")
        return self._emit.address("%inputs", offset)

    def _loaded(self, anchor: Anchor, width: int) -> dict[int, Value]:
        """Load the inputs of a moving window, one iteration per lane."""
        emit, lanes = self._emit, self._emit.lanes
        inputs: dict[int, Value] = {}
        for start, size in groups(width, lanes):
            kind, offset = f"<{size} x {lanes.scalar}>", (anchor.slot + start) * self._slot
            rows = [emit.address(row, offset) for row in self._rows[anchor.entry]]
            loaded = [emit.value(f"load {kind}, ptr {row}, align {lanes.itemsize}") for row in rows]
            inputs |= dict(enumerate(rows_to_lanes(emit, loaded, size), start))
        return inputs

    def _store(self, gathered: _Gathered) -> None:
        emit, lanes = self._emit, self._emit.lanes
        kind = f"<{len(gathered.values)} x {lanes.scalar}>"
        offset = (gathered.anchor.slot + gathered.start) * self._slot
        rows = lanes_to_rows(emit, gathered.values)
        for value, row in zip(rows, self._rows[gathered.anchor.entry], strict=True):
            emit.do(f"store {kind} {value}, ptr {emit.address(row, offset)}, align {lanes.itemsize}")


class _Gathered:
    """A group of neighbouring results of a window; None where a result is not known yet."""

    def __init__(self, anchor: Anchor, start: int, values: list):
        self.anchor, self.start, self.values = anchor, start, values


def program_body(program: Program, form: Form) -> str:
    """Return all functions and constants of the body of a fused program."""
    lanes, fused = form.lanes, form.fused
    chunk, large = form.chunk, 0 < form.cache < program.size * lanes.bytes
    functions = []
    if any(has_angles(step.tape) for stage in program.stages for step in stage.steps):
        functions += careful_functions(lanes, fused)
    constants = Constants(lanes)
    emit = Emitter(lanes, fused, constants)
    nonfinite = nonfinite_samples(emit, program.input_size)
    for number, stage in enumerate(program.stages):
        name = f"stage{number}"
        if is_vectorisable(stage, lanes, chunk):
            functions += vectorised_functions(name, stage, form)
        else:
            functions += stage_functions(name, stage, lambda: Emitter(lanes, fused, constants), chunk, large)
        call = f"call void @stage{number}(ptr %inputs)"
        if stage.flag is None:
            emit.do(call)
        else:
            emit.when(_is_set(emit, stage.flag), lambda text=call: emit.do(text))
    results = list(dict.fromkeys(program.results))
    functions.append(_table(results))

    def slot(number: Index) -> Index:
        return emit.value(f"load i64, ptr {emit.address('@results', emit.times(number, 8))}, align 8")

    overwrite_nonfinite(emit, nonfinite, len(results), slot)
    emit.do("ret void")
    header = "define internal void @body(ptr %inputs, ptr %outputs, ptr %destinations) noinline nounwind"
    return "\n".join([*constants.text(), *functions, emit.function(header)])


def _is_set(emit: Emitter, flag: int) -> Value:
    """Return whether a slot of the frame is not zero in any sample; bits are compared, which raises no flag."""
    size = emit.bits(emit.absolute(emit.load("%inputs", flag)))
    return emit.any(emit.integer("icmp ne", size, emit.pattern(0)))


def _table(results: list[int]) -> str:
    entries = ", ".join(f"i64 {slot}" for slot in results)
    return f"@results = private unnamed_addr constant [{len(results)} x i64] [{entries}], align 8"
