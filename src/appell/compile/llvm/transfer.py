"""Transfer of samples between the user's arrays and the block that the body works on.

Every transfer handles the layouts of `operands`; the branches between them never change during a call, so the processor
predicts them.

**Prefetching.** A store to a cache line that is not in the L1 cache waits for it, and all later stores wait behind it,
worst of all those across two lines. Prefetched lines are written twice as fast; non-temporal stores are never better.
So lines are fetched before they are written. While a body computes hundreds of instructions, memory is idle, and the
destinations of its results are known: a line is prefetched every few steps of the body, in the order of addresses. Only
what fits into the L1 cache beside the data of the body is prefetched by the body; larger rows are prefetched while they
are written. (Prefetching them into the L2 cache in the body was slower, because the limited number of outstanding
requests stalls the body.) In a scan the rows of a sample follow each other as steps do, so rows of any length are
prefetched along them.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.compile.llvm.emitter import Emitter, Index, Value
from appell.compile.llvm.lanes import Lanes
from appell.compile.llvm.operands import DenseSamples, LaneSamples, OperandLayout
from appell.compile.llvm.transpose import groups, has_squares, lanes_to_rows, rows_to_lanes, square_to_rows
from appell.compile.llvm.tuning import Tuning
from appell.compile.tape.tape import Array, Tape

LINE = 64  # bytes of a cache line
AnySamples = LaneSamples | DenseSamples
ENTRY = 16  # bytes per result in the table %destinations: address of the first row of a block, and step to the next row


def fills_lines(array: Array, lanes: Lanes) -> bool:
    """Whether a row is long enough to benefit from prefetching."""
    return array.size * lanes.itemsize >= LINE


def prefetched_lines(tape: Tape, lanes: Lanes) -> list[tuple[int, int, int]]:
    """Return result, row and byte at which each line of a block of rows starts, in the order of addresses."""
    return [
        (number, *divmod(byte, array.size * lanes.itemsize))
        for number, array in enumerate(tape.outputs)
        if fills_lines(array, lanes)
        for byte in range(0, array.size * lanes.bytes, LINE)
    ]


def store_destinations(
    emit: Emitter, layouts: Sequence[OperandLayout], samples: AnySamples, table: Value, cached: Value
) -> None:
    """Write the table of a block; rows that are not packed get an address that is in the cache anyway.

    Parameters
    ----------
    emit : emitter of the kernel
    layouts : memory layouts of the results
    samples : samples of the block
    table : address of the table
    cached : address that is in the cache
    """
    for number, layout in enumerate(layouts):
        if layout.packed is not None:
            [first, *_] = samples.rows(emit, layout)
            entry = emit.address(table, number * ENTRY)
            for offset, kind, packed, other in ((0, "ptr", first, cached), (8, "i64", layout.step, "0")):
                value = emit.value(f"select i1 {layout.packed}, {kind} {packed}, {kind} {other}")
                emit.do(f"store {kind} {value}, ptr {emit.address(entry, offset)}, align 8")


class LinePrefetch:
    """Emits prefetches of lines, evenly distributed over `steps` steps; %destinations holds the rows of each result."""

    def __init__(self, lines: list[tuple[int, int, int]], steps: int):
        self._lines, self._steps = lines, steps
        self._step = self._line = 0
        self._destinations: dict[int, tuple[Value, Value]] = {}
        self._rows: dict[tuple[int, int], Value] = {}

    def enter(self) -> None:
        """Start another function, in which no address is known yet."""
        self._destinations, self._rows = {}, {}

    def after_step(self, emit: Emitter) -> None:
        """Emit the prefetches that are due after one more step."""
        self._step += 1
        until = len(self._lines) * self._step // self._steps
        for number, row, byte in self._lines[self._line : until]:
            emit.prefetch(emit.address(self._row(emit, number, row), byte))
        self._line = until

    def _row(self, emit: Emitter, number: int, row: int) -> Value:
        if (number, row) not in self._rows:
            if number not in self._destinations:
                entry = emit.address("%destinations", number * ENTRY)
                first = emit.value(f"load ptr, ptr {entry}, align 8")
                self._destinations[number] = first, emit.value(f"load i64, ptr {emit.address(entry, 8)}, align 8")
            first, step = self._destinations[number]
            self._rows[number, row] = emit.address(first, emit.value(f"mul i64 {step}, {row}"))
        return self._rows[number, row]


PREFETCH_BYTES = 2 * LINE  # by which the prefetch of a row precedes its writing
SCAN_PREFETCH_BYTES = 4 * LINE  # the same in a scan, where the next steps are prefetched
MAX_UNROLLED_BROADCASTS = 40  # of inputs that are the same for all samples


def gather(emit: Emitter, layout: OperandLayout, samples: AnySamples, block: Value) -> None:
    """Read the samples of one input into the block.

    Parameters
    ----------
    emit : emitter of the kernel
    layout : memory layout of the input
    samples : samples of the block
    block : address of the input block
    """
    lanes = emit.lanes
    first = emit.address(block, layout.operand.slots[0] * lanes.bytes)

    def packed(rows: list[Value], start: Index, width: int) -> None:
        kind, offset = f"<{width} x {lanes.scalar}>", emit.times(start, lanes.itemsize)
        loaded = [emit.value(f"load {kind}, ptr {emit.address(row, offset)}, align {lanes.itemsize}") for row in rows]
        target = emit.address(first, emit.times(start, lanes.bytes))
        for k, register in enumerate(rows_to_lanes(emit, loaded, width)):
            emit.store(register, target, k)

    def column(pointer: Value, element: Index) -> None:
        at = emit.address(pointer, layout.offset(emit, element))
        emit.store(emit.value(f"load {lanes.real}, ptr {at}, align {lanes.itemsize}"), first, element)

    def scattered(rows: list[Value], element: Index) -> None:
        offset = layout.offset(emit, element)
        register = "poison"
        for lane, row in enumerate(rows):
            number = emit.value(f"load {lanes.scalar}, ptr {emit.address(row, offset)}, align {lanes.itemsize}")
            register = emit.value(f"insertelement {lanes.real} {register}, {lanes.scalar} {number}, i32 {lane}")
        emit.store(register, first, element)

    def broadcast(element: Index) -> None:
        emit.store(emit.broadcast(emit.address(layout.base, layout.offset(emit, element))), first, element)

    if layout.same is None:
        _choose(emit, layout, samples, packed, column, scattered, squares=False)
        return
    same, different, done = (emit.label(name) for name in ("same", "own", "brought"))
    emit.branch(layout.same, same, different)
    emit.enter(same)
    emit.repeat(layout.operand.array.size, broadcast, unroll=layout.operand.array.size <= MAX_UNROLLED_BROADCASTS)
    emit.jump(done)
    emit.enter(different)
    _choose(emit, layout, samples, packed, column, scattered, squares=False)
    emit.jump(done)
    emit.enter(done)


def scatter(
    emit: Emitter,
    layout: OperandLayout,
    samples: AnySamples,
    block: Value,
    tuning: Tuning,
    prefetched: bool = False,
) -> None:
    """Write the samples of one output from the block; `prefetched` says that its lines are in the L1 cache.

    Parameters
    ----------
    emit : emitter of the kernel
    layout : memory layout of the output
    samples : samples of the block
    block : address of the output block
    tuning : choices for the processor
    prefetched : whether the lines of the output are in the L1 cache
    """
    lanes, operand = emit.lanes, layout.operand

    def get(element: Index, plus: int = 0) -> Value:
        return emit.load(block, operand.slot(emit, element, plus))

    def get_half(element: Index, plus: int, side: int) -> Value:
        begin = emit.times(operand.slot(emit, element, plus), lanes.bytes)
        at = emit.address(emit.address(block, begin), side * lanes.bytes // 2)
        return emit.value(f"load <{lanes.width // 2} x {lanes.scalar}>, ptr {at}, align {lanes.bytes // 2}")

    stream, long = bool(layout.along), fills_lines(operand.array, lanes)
    squares = tuning.squares and has_squares(lanes)

    def packed(rows: list[Value], start: Index, width: int) -> None:
        kind, offset = f"<{width} x {lanes.scalar}>", emit.times(start, lanes.itemsize)
        if squares and width == lanes.width:
            written = square_to_rows(emit, lambda k, side: get_half(start, k, side))
        else:
            written = lanes_to_rows(emit, [get(start, k) for k in range(width)])
        fetch = (stream or (long and not prefetched)) and (not isinstance(offset, int) or offset % LINE == 0)
        for value, row in zip(written, rows, strict=True):
            at = emit.address(row, offset)
            emit.do(f"store {kind} {value}, ptr {at}, align {lanes.itemsize}")
            if fetch:
                emit.prefetch(emit.address(at, SCAN_PREFETCH_BYTES if stream else PREFETCH_BYTES))

    def column(pointer: Value, element: Index) -> None:
        at = emit.address(pointer, layout.offset(emit, element))
        emit.do(f"store {lanes.real} {get(element)}, ptr {at}, align {lanes.itemsize}")
        if long:
            emit.prefetch(emit.address(at, LINE))

    def scattered(rows: list[Value], element: Index) -> None:
        offset, register = layout.offset(emit, element), get(element)
        for lane, row in enumerate(rows):
            number = emit.value(f"extractelement {lanes.real} {register}, i32 {lane}")
            emit.do(f"store {lanes.scalar} {number}, ptr {emit.address(row, offset)}, align {lanes.itemsize}")

    _choose(emit, layout, samples, packed, column, scattered, squares=squares)


def _choose(
    emit: Emitter, layout: OperandLayout, samples: AnySamples, packed, column, scattered, squares: bool
) -> None:
    """Branch on the layout and run the matching transfer."""
    size = layout.operand.array.size
    unroll = size <= samples.unroll
    parts = groups(size, emit.lanes, squares and not unroll)

    def move(rows: list[Value]) -> None:
        each = parts[0][1]
        equal = sum(1 for k, part in enumerate(parts) if part == (k * each, each))
        emit.repeat(equal, lambda k: packed(rows, emit.times(k, each), each), unroll=unroll)
        for start, width in parts[equal:]:
            packed(rows, start, width)

    if isinstance(samples, DenseSamples):
        rows = samples.rows(emit, layout)
        if parts:
            move(rows)
        elif size == 1:
            column(rows[0], 0)
        else:
            emit.repeat(size, lambda element: scattered(rows, element), unroll=False)
        return
    labels = {name: emit.label(name) for name in ("packed", "loose", "column", "scattered", "moved")}
    if layout.packed is not None:
        emit.branch(layout.packed, labels["packed"], labels["loose"])
        emit.enter(labels["packed"])
        move(samples.rows(emit, layout))
        emit.jump(labels["moved"])
        emit.enter(labels["loose"])
    emit.branch(emit.value(f"and i1 {layout.columns}, {samples.complete}"), labels["column"], labels["scattered"])
    emit.enter(labels["column"])
    pointer = emit.address(layout.base, samples.first)
    emit.repeat(size, lambda element: column(pointer, element), unroll=unroll)
    emit.jump(labels["moved"])
    emit.enter(labels["scattered"])
    rows = samples.rows(emit, layout)
    emit.repeat(size, lambda element: scattered(rows, element), unroll=size == 1)
    emit.jump(labels["moved"])
    emit.enter(labels["moved"])
