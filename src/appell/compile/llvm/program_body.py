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
from dataclasses import dataclass, replace

import numpy as np

from appell.compile.llvm.body import (
    Writer,
    chunk_functions,
    frame_on_stack,
    has_angles,
    nonfinite_samples,
    overwrite_nonfinite,
    slots,
)
from appell.compile.llvm.emitter import Constants, Emitter, Index, Value
from appell.compile.llvm.lanes import Form, Lanes
from appell.compile.llvm.schedule import allocate, chunks, plan_spills, schedule
from appell.compile.llvm.transpose import groups, lanes_to_rows, rows_to_lanes
from appell.compile.llvm.trigonometry import reduce_huge, sincos_careful
from appell.compile.program.program import FrameStep, Program, Stage, Window, window_slots

WORD = 8  # bytes of a kind and of an offset; rows are multiples of it
VECTOR_BYTES = 64  # of a register of iterations; a machine with narrower registers uses several
MIN_ITERATIONS = 3  # per step that are worth vectorising
MAX_STACK_BYTES = 1 << 18  # of the inputs and results of a register of iterations


@dataclass(frozen=True)
class Anchor:
    """Start of a window: a constant slot, plus the offset that the row holds at `entry`, if any."""

    entry: int | None
    slot: int


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
            return Anchor(None, first)
        entry = columns.setdefault(offsets, WORD * (several + len(columns)))
        return Anchor(entry, first)

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
    name: str, stage: Stage, emitter: Callable[[], Emitter], form: Form, large: bool = False
) -> list[str]:
    """Return the function @name(frame) that runs all iterations of a stage, and the functions and tables it uses.

    Slots of a `large` frame are not in the L1 cache, so they are prefetched before they are written.

    Parameters
    ----------
    name : name of the function
    stage : loop of a program
    emitter : returns the emitter of a new function
    form : form of the kernel
    large : whether the frame exceeds the L1 cache
    """
    emit = emitter()
    lanes, several = emit.lanes, len(stage.steps) > 1
    shapes = [row_shape(step, several, lanes) for step in stage.steps]
    table = iteration_table(stage, shapes, lanes)
    functions: list[str] = []

    def iteration(kind: int) -> None:
        code = _StepCode(f"{name}_{kind}", stage.steps[kind], shapes[kind])
        functions.extend(code.write(emit, emitter, form, large))

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

    def write(self, emit: Emitter, emitter: Callable[[], Emitter], form: Form, large: bool) -> list[str]:
        """Write the iteration and return the functions that it calls."""
        tape = self.step.tape
        pieces = chunks(schedule(tape, form.tuning.angles), form.chunk, form.tuning.undivided)
        spills = plan_spills(tape, pieces, form.tuning.registers(emit.lanes.bytes))
        early = overwritten_inputs(self.step)
        operands = _StepOperands(self.step, self.shape)
        prefetch = operands.prefetch if large else None
        writer = Writer(tape, spills, operands.read, operands.write, operands.reread, prefetch=prefetch)
        operands.enter(emit)
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
            operands.enter(part)
            operands.held = {number: part.load("%saved", k) for k, number in enumerate(early)}
            writer.chunk(part, piece, number)
            part.do("ret void")
            pointers = "ptr %inputs, ptr %row, ptr noalias %saved, ptr noalias %frame"
            functions.append(part.function(f"define internal void @{self.name}_{number}({pointers}) noinline nounwind"))
            emit.do(f"call void @{self.name}_{number}(ptr %inputs, ptr %row, ptr {saved}, ptr {frame})")
        return functions


def overwritten_inputs(step: FrameStep) -> list[int]:
    """Return the inputs of a step whose slots the same iteration overwrites."""
    overwritten: set[int] = set()
    first = 0
    writes = [(window, *_extent(window)) for window in step.writes if window.width]
    for read in step.reads:
        lowest, end_of_read = _extent(read) if read.width else (0, 0)
        for written, lowest_written, end_of_written in writes:
            if end_of_read <= lowest_written or end_of_written <= lowest:
                continue
            distances = np.unique(np.subtract(read.starts, written.starts))  # from what is written to what is read
            end = written.width * written.stride
            starts = distances[(distances > -read.width * read.stride) & (distances < end)]
            slots = starts[:, None] + np.arange(read.width) * read.stride
            inside = (slots >= 0) & (slots < end) & (slots % written.stride == 0)
            overwritten |= {first + k for k in np.flatnonzero(inside.any(axis=0)).tolist()}
        first += read.width
    return sorted(overwritten & step.tape.reads)


def _extent(window: Window) -> tuple[int, int]:
    """Return the first slot of all iterations, and the one after the last."""
    return min(window.starts), max(window.starts) + window.width * window.stride


class _StepOperands:
    """Slots from which an iteration reads its inputs and to which it writes its results."""

    def __init__(self, step: FrameStep, shape: RowShape):
        self.shape = shape
        self.held: dict[int, Value] = {}
        self._pointers: dict[int | None, Value] = {}  # by entry of an anchor
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

    def enter(self, emit: Emitter) -> None:
        """Compute the pointers to the windows, at the start of a function."""
        self._pointers = {None: "%inputs"}
        for anchor in (*self.shape.reads, *self.shape.writes):
            if anchor.entry is not None and anchor.entry not in self._pointers:
                offset = emit.value(f"load i64, ptr {emit.address('%row', anchor.entry)}, align 8")
                self._pointers[anchor.entry] = emit.address("%inputs", offset)

    def read(self, emit: Emitter, number: int) -> Value:
        if number in self.held:
            return self.held[number]
        if number < len(self._sources):
            anchor, offset = self._sources[number]
            return emit.load(self._pointers[anchor.entry], anchor.slot + offset)
        offset = self.shape.numbers + (number - len(self._sources)) * emit.lanes.itemsize
        return emit.broadcast(emit.address("%row", offset))

    def write(self, emit: Emitter, node: int, value: Value) -> None:
        for anchor, offset in self._targets[node]:
            emit.store(value, self._pointers[anchor.entry], anchor.slot + offset)

    def reread(self, emit: Emitter, node: int) -> Value:
        anchor, offset = self._targets[node][0]
        return emit.load(self._pointers[anchor.entry], anchor.slot + offset)

    def prefetch(self, emit: Emitter, node: int) -> None:
        for anchor, offset in self._targets[node]:
            slot = (anchor.slot + offset) * emit.lanes.bytes
            emit.prefetch(emit.address(self._pointers[anchor.entry], slot))


def is_vectorisable(stage: Stage, lanes: Lanes) -> bool:
    """Return whether lanes can be iterations: the kernel has one sample, and the iterations are independent."""
    if lanes.width > 1 or len(stage.order) < MIN_ITERATIONS * len(stage.steps):
        return False
    if any((step.tape.input_size + len(step.tape.results)) * VECTOR_BYTES > MAX_STACK_BYTES for step in stage.steps):
        return False
    read, written = (
        np.concatenate([window_slots(side(step), stage.order.count(k)).ravel() for k, step in enumerate(stage.steps)])
        for side in (lambda step: step.reads, lambda step: step.writes)
    )
    return np.unique(written).size == written.size and not np.isin(written, read).any()


def vectorised_functions(name: str, stage: Stage, form: Form, constants: Constants) -> list[str]:
    """Return the function @name(frame) that runs all iterations of a vectorisable stage, and what it uses."""
    emit, functions = Emitter(_wide(form.lanes), form.fused, constants), []
    for kind, step in enumerate(stage.steps):
        functions += _VectorCode(f"{name}_{kind}", step, emit, form).write(constants)
    emit.do("ret void")
    return [*functions, emit.function(f"define internal void @{name}(ptr %inputs) noinline nounwind")]


def _wide(lanes: Lanes) -> Lanes:
    return Lanes(lanes.format, VECTOR_BYTES)


class _VectorCode:
    """The code of all iterations of a step, one iteration per lane: gather the inputs, run the tape, scatter."""

    def __init__(self, name: str, step: FrameStep, emit: Emitter, form: Form):
        self.name, self.step, self.emit, self.form = name, step, emit, form
        self.shape = row_shape(step, several=False, lanes=form.lanes)
        self._inputs, self._outputs = emit.stack(step.tape.input_size), emit.stack(len(slots(step.tape)))
        self._pieces, self._spills = allocate(step.tape, emit.lanes, form)
        self._held: dict[int, Value] = {}  # inputs of a short tape that move, in registers
        self._fixed: dict[int, int] = {}  # slots of inputs that are the same for all iterations
        first = 0
        for anchor, window in zip(self.shape.reads, step.reads, strict=True):
            if anchor.entry is None:
                self._fixed |= {first + k: anchor.slot + k * window.stride for k in range(window.width)}
            first += window.width
        self._is_short = len(self._pieces) == 1 and step.tape.input_size - len(self._fixed) <= form.tuning.unrolled

    def write(self, constants: Constants) -> list[str]:
        """Write the iterations and return the functions and the table that they use."""
        emit, shape, step = self.emit, self.shape, self.step
        iterations, width = len((step.reads + step.writes)[0].starts), emit.lanes.width
        rows = iteration_table(Stage((step,), (0,) * iterations), [shape], self.form.lanes)
        rounds = -(-iterations // width)
        rows += rows[-shape.size :] * (rounds * width - iterations)
        emit.repeat(rounds, self._round, unroll=rounds == 1)
        return [constant(f"{self.name}_table", rows), *([] if self._is_short else self._tape(constants))]

    def _writer(self, inputs: Value, outputs: Value, frame: Value) -> Writer:
        """Return the writer of the tape on a block of inputs, a block of results, and the frame of the program."""
        slot_of = slots(self.step.tape)

        def read(emit: Emitter, number: int) -> Value:
            if number in self._held:
                return self._held[number]
            if number in self._fixed:
                return emit.broadcast(emit.address(frame, self._fixed[number] * self.form.lanes.bytes))
            return emit.load(inputs, number)

        return Writer(
            self.step.tape,
            self._spills,
            read,
            lambda emit, node, value: emit.store(value, outputs, slot_of[node]),
            lambda emit, node: emit.load(outputs, slot_of[node]),
        )

    def _tape(self, constants: Constants) -> list[str]:
        """Return the functions of a tape that is divided."""
        writer = self._writer("%inputs", "%outputs", "%destinations")

        def piece(emit: Emitter, number: int) -> None:
            if number == 0:
                writer.leaves(emit)
            writer.chunk(emit, self._pieces[number], number)
            emit.do("ret void")

        def emitter() -> Emitter:
            return Emitter(self.emit.lanes, self.form.fused, constants)

        return chunk_functions(f"{self.name}_tape", len(self._pieces), self._spills, emitter, piece)

    def _round(self, number: Index) -> None:
        """Write a register of iterations."""
        emit, shape, slot = self.emit, self.shape, self.form.lanes.bytes
        table = emit.address(f"@{self.name}_table", emit.times(number, emit.lanes.width * shape.size))
        rows = [emit.address(table, lane * shape.size) for lane in range(emit.lanes.width)]
        starts: dict[int | None, list[Value]] = {None: ["%inputs"] * len(rows)}  # in each lane, by entry of the offset
        for anchor in (*shape.reads, *shape.writes):
            if anchor.entry not in starts:
                entries = [emit.address(row, anchor.entry or 0) for row in rows]
                offsets = [emit.value(f"load i64, ptr {entry}, align 8") for entry in entries]
                starts[anchor.entry] = [emit.address("%inputs", offset) for offset in offsets]
        first = 0
        for anchor, window in zip(shape.reads, self.step.reads, strict=True):
            if anchor.entry is not None:
                pointers = [emit.address(start, anchor.slot * slot) for start in starts[anchor.entry]]
                self._gather(pointers, window.width, window.stride, first)
            first += window.width
        self._gather([emit.address(row, shape.numbers) for row in rows], self.step.tape.input_size - first, 1, first)
        if self._is_short:
            writer = self._writer(self._inputs, self._outputs, "%inputs")
            writer.leaves(emit)
            writer.chunk(emit, self._pieces[0])
        else:
            emit.do(f"call void @{self.name}_tape(ptr {self._inputs}, ptr {self._outputs}, ptr %inputs)")
        slot_of, nodes = slots(self.step.tape), iter(self.step.tape.results)
        for anchor, window in zip(shape.writes, self.step.writes, strict=True):
            pointers = [emit.address(start, anchor.slot * slot) for start in starts[anchor.entry]]
            self._scatter(pointers, window.stride, [slot_of[next(nodes)] for _ in range(window.width)])

    def _gather(self, rows: list[Value], width: int, stride: int, target: int) -> None:
        """Read a window of every lane into the block of inputs, from register `target` on."""
        emit, lanes = self.emit, self.emit.lanes
        first = emit.address(self._inputs, target * lanes.bytes)

        def group(start: Index, size: int) -> None:
            kind, offset = f"<{size} x {lanes.scalar}>", emit.times(start, lanes.itemsize)
            at = [emit.address(row, offset) for row in rows]
            loaded = [emit.value(f"load {kind}, ptr {row}, align {lanes.itemsize}") for row in at]
            registers = rows_to_lanes(emit, loaded, size)
            if self._is_short:
                self._held |= dict(enumerate(registers, target + int(start)))
                return
            block = emit.address(first, emit.times(start, lanes.bytes))
            for k, register in enumerate(registers):
                emit.store(register, block, k)

        def single(k: Index) -> None:
            register, offset = "poison", emit.times(k, stride * lanes.itemsize)
            for lane, row in enumerate(rows):
                number = emit.value(f"load {lanes.scalar}, ptr {emit.address(row, offset)}, align {lanes.itemsize}")
                register = emit.value(f"insertelement {lanes.real} {register}, {lanes.scalar} {number}, i32 {lane}")
            if self._is_short:
                self._held[target + int(k)] = register
            else:
                emit.store(register, first, k)

        self._transfer(width, stride, group, single, loop=not self._is_short)

    def _scatter(self, rows: list[Value], stride: int, registers: list[int]) -> None:
        """Write registers of the block of results to a window of every lane."""
        emit, lanes = self.emit, self.emit.lanes

        def get(k: Index, plus: int = 0) -> Value:
            if isinstance(k, int):
                return emit.load(self._outputs, registers[k + plus])
            return emit.load(emit.address(self._outputs, (registers[0] + plus) * lanes.bytes), k)

        def group(start: Index, size: int) -> None:
            kind, offset = f"<{size} x {lanes.scalar}>", emit.times(start, lanes.itemsize)
            for value, row in zip(lanes_to_rows(emit, [get(start, k) for k in range(size)]), rows, strict=True):
                emit.do(f"store {kind} {value}, ptr {emit.address(row, offset)}, align {lanes.itemsize}")

        def single(k: Index) -> None:
            register, offset = get(k), emit.times(k, stride * lanes.itemsize)
            for lane, row in enumerate(rows):
                number = emit.value(f"extractelement {lanes.real} {register}, i32 {lane}")
                emit.do(f"store {lanes.scalar} {number}, ptr {emit.address(row, offset)}, align {lanes.itemsize}")

        adjacent = all(register == registers[0] + k for k, register in enumerate(registers))
        self._transfer(len(registers), stride, group, single, loop=adjacent)

    def _transfer(self, width: int, stride: int, group, single, loop: bool = True) -> None:
        """Transfer the elements of a window in groups, if they are adjacent in memory, else one by one."""
        emit, unroll = self.emit, not loop or width <= self.form.tuning.unrolled
        parts = groups(width, emit.lanes) if stride == 1 else []
        if not parts:
            emit.repeat(width, single, unroll)
            return
        each = parts[0][1]
        equal = sum(1 for k, part in enumerate(parts) if part == (k * each, each))
        emit.repeat(equal, lambda k: group(emit.times(k, each), each), unroll)
        for start, size in parts[equal:]:
            group(start, size)


def program_body(program: Program, form: Form) -> str:
    """Return all functions and constants of the body of a fused program."""
    lanes, fused = form.lanes, form.fused
    large = 0 < form.cache < program.size * lanes.bytes
    functions = []
    constants, wide_constants = (Constants(each, program.constants) for each in (lanes, _wide(lanes)))
    emit = Emitter(lanes, fused, constants)
    vectorised = [is_vectorisable(stage, lanes) for stage in program.stages]
    with_angles = [any(has_angles(step.tape) for step in stage.steps) for stage in program.stages]
    if any(with_angles):
        kinds = sorted({wide for wide, angles in zip(vectorised, with_angles, strict=True) if angles})
        functions += [reduce_huge(), *(sincos_careful(_wide(lanes) if wide else lanes, fused) for wide in kinds)]
    nonfinite = nonfinite_samples(emit, program.input_size)
    names: dict[Stage, str] = {}  # loops that differ only in their flag share their code
    for number, stage in enumerate(program.stages):
        loop, new_name = replace(stage, flag=None), f"stage{number}"
        name = names.setdefault(loop, new_name)
        if name == new_name and vectorised[number]:
            functions += vectorised_functions(name, stage, form, wide_constants)
        elif name == new_name:
            functions += stage_functions(name, stage, lambda: Emitter(lanes, fused, constants), form, large)
        call = f"call void @{name}(ptr %inputs)"
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
    return "\n".join([*constants.text(), *wide_constants.text(), *functions, emit.function(header)])


def _is_set(emit: Emitter, flag: int) -> Value:
    """Return whether a slot of the frame is not zero in any sample; bits are compared, which raises no flag."""
    size = emit.bits(emit.absolute(emit.load("%inputs", flag)))
    return emit.any(emit.integer("icmp ne", size, emit.pattern(0)))


def _table(results: list[int]) -> str:
    entries = ", ".join(f"i64 {slot}" for slot in results)
    return f"@results = private unnamed_addr constant [{len(results)} x i64] [{entries}], align 8"
