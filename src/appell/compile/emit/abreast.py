"""Turns abreast: where a kernel has one sample, the lanes of a register are turns of a loop.

A single sample leaves a machine of eight lanes idle seven times. But turns that do not read what other turns write can
be taken at once, one a lane:

    windows that stand still     one number for all lanes
    windows that move            the rows of the turns, turned in registers (`transpose`), as the samples of a batch are
    lanes beyond the last turn   repeat it: they read what is there and write what is written anyway

Every lane does the arithmetic of its turn, so the bits are those of turns that follow each other.
"""

from __future__ import annotations

from appell.compile.emit.body import Writer, has_angles
from appell.compile.emit.emitter import Emitter, Value
from appell.compile.emit.lanes import Lanes
from appell.compile.emit.residence import residence
from appell.compile.emit.schedule import chunks, schedule
from appell.compile.emit.transpose import groups, lanes_to_rows, rows_to_lanes
from appell.compile.emit.turn_table import Anchor, RowShape, row_shape, turn_table
from appell.compile.emit.turns import constant
from appell.compile.program import FrameStep, Stage, Window

ABREAST = 64  # bytes of a register of turns; a machine of narrower ones takes several
FEWEST = 3  # turns that are worth it


def go_abreast(stage: Stage, lanes: Lanes, chunk: int) -> bool:
    """Whether the turns of a stage can be taken at once: there is one sample, and no turn waits for another."""
    if lanes.width > 1 or len(stage.steps) > 1 or len(stage.order) < FEWEST:
        return False
    step, turns = stage.steps[0], range(len(stage.order))
    if step.numbers or has_angles(step.tape) or len(chunks(schedule(step.tape), chunk)) > 1:
        return False
    if any(window.stride != 1 or (window.width and not groups(window.width, _wide(lanes))) for window in _moving(step)):
        return False
    read, written = (
        [slot for window in windows for turn in turns for slot in window.slots(turn)]
        for windows in (step.reads, step.writes)
    )
    return len(set(written)) == len(written) and not set(written) & set(read)


def abreast_functions(name: str, stage: Stage, lanes: Lanes, fused: bool, chunk: int) -> list[str]:
    """The function @name(frame) that takes all turns of such a stage, and the table that it reads."""
    [step] = stage.steps
    emit = Emitter(_wide(lanes), fused)
    shape = row_shape(step, several=False, lanes=lanes)
    width = emit.lanes.width
    rows = turn_table(stage, [shape], lanes)
    rounds = -(-len(stage.order) // width)
    rows += rows[-shape.size :] * (rounds * width - len(stage.order))

    def take(number) -> None:
        row = emit.address(f"@{name}_table", emit.times(number, width * shape.size))
        operands = _Operands(emit, step, shape, lanes, row)
        writer = Writer(step.tape, residence(step.tape, [[]], emit.lanes), operands.read, operands.write)
        writer.leaves(emit)
        writer.chunk(emit, chunks(schedule(step.tape), chunk)[0])

    emit.repeat(rounds, take, unroll=rounds == 1)
    emit.do("ret void")
    header = f"define internal void @{name}(ptr %inputs) noinline nounwind"
    return [constant(f"{name}_table", rows), emit.function(header)]


def _wide(lanes: Lanes) -> Lanes:
    return Lanes(lanes.format, ABREAST)


def _moving(step: FrameStep) -> list[Window]:
    return [window for window in (*step.reads, *step.writes) if len(set(window.starts)) > 1]


class _Operands:
    """Where the turns of one round find their inputs and put their results."""

    def __init__(self, emit: Emitter, step: FrameStep, shape: RowShape, lanes: Lanes, table: Value):
        self._emit, self._slot = emit, lanes.bytes
        self._rows: dict[int | None, list[Value]] = {}  # by the entry of its moves, where a window begins
        for anchor in (*shape.reads, *shape.writes):
            if anchor.entry is not None and anchor.entry not in self._rows:
                self._rows[anchor.entry] = [
                    self._moved(table, lane * shape.size + anchor.entry) for lane in range(emit.lanes.width)
                ]
        self._standing: dict[int, int] = {}  # the slots of inputs that are the same for all turns
        self._held: dict[int, Value] = {}  # the others
        first = 0
        for anchor, window in zip(shape.reads, step.reads, strict=True):
            if anchor.entry is None:
                self._standing |= {first + k: anchor.slot + k * window.stride for k in range(window.width)}
            else:
                taken = self._taken(anchor, window.width)
                self._held |= {first + k: value for k, value in taken.items()}
            first += window.width
        self._targets: dict[int, list[tuple[_Gathered, int]]] = {}
        nodes = iter(step.tape.results)
        for anchor, window in zip(shape.writes, step.writes, strict=True):
            own = [next(nodes) for _ in range(window.width)]
            for start, size in groups(window.width, emit.lanes):
                gathered = _Gathered(anchor, start, [None] * size)
                for k, node in enumerate(own[start : start + size]):
                    self._targets.setdefault(node, []).append((gathered, k))

    def read(self, emit: Emitter, number: int) -> Value:
        if number in self._held:
            return self._held[number]
        return emit.spread(emit.address("%inputs", self._standing[number] * self._slot))

    def write(self, emit: Emitter, node: int, value: Value) -> None:
        """Keep a result until its neighbours are there, then write them for all turns."""
        for gathered, k in self._targets[node]:
            gathered.values[k] = value
            if None not in gathered.values:
                self._give(gathered)

    def _moved(self, table: Value, entry: int) -> Value:
        move = self._emit.value(f"load i64, ptr {self._emit.address(table, entry)}, align 8")
        return self._emit.address("%inputs", move)

    def _taken(self, anchor: Anchor, width: int) -> dict[int, Value]:
        """The inputs of a window that moves, a turn in each lane."""
        emit, lanes = self._emit, self._emit.lanes
        found: dict[int, Value] = {}
        for start, size in groups(width, lanes):
            kind, offset = f"<{size} x {lanes.scalar}>", (anchor.slot + start) * self._slot
            rows = [emit.address(row, offset) for row in self._rows[anchor.entry]]
            loaded = [emit.value(f"load {kind}, ptr {row}, align {lanes.itemsize}") for row in rows]
            found |= dict(enumerate(rows_to_lanes(emit, loaded, size), start))
        return found

    def _give(self, gathered: _Gathered) -> None:
        emit, lanes = self._emit, self._emit.lanes
        kind = f"<{len(gathered.values)} x {lanes.scalar}>"
        offset = (gathered.anchor.slot + gathered.start) * self._slot
        turned = lanes_to_rows(emit, gathered.values)
        for value, row in zip(turned, self._rows[gathered.anchor.entry], strict=True):
            emit.do(f"store {kind} {value}, ptr {emit.address(row, offset)}, align {lanes.itemsize}")


class _Gathered:
    """A few neighbouring results of a window, as they become known."""

    def __init__(self, anchor: Anchor, start: int, values: list):
        self.anchor, self.start, self.values = anchor, start, values
