"""Fetching ahead: while a body computes, the lines of memory that its results go to come into the first cache.

A store to a line that is not in the first cache waits for it, and all later stores wait behind it. A body has hundreds
of instructions during which memory has nothing to do, and results do not care when they are computed but where they
go, which is known before. So a line is fetched every few steps of the body, in the order of addresses, and when the
samples are written all their lines are there.

Only what the first cache can hold, besides what the body itself keeps there, is fetched. What is larger is fetched
while it is written (`move`): fetched by the body into the second cache it was slower, because it comes from so far away
that the few requests that a core can have under way keep the body waiting.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.compile.emit.emitter import Emitter, Value
from appell.compile.emit.lanes import Lanes
from appell.compile.emit.operand import Place
from appell.compile.emit.samples import LaneSamples
from appell.compile.tape import Array, Tape

LINE = 64  # bytes that caches hold together
ENTRY = 16  # bytes in the table %near for a result: where its first row of a block begins, and the way to the next row


def fills_lines(array: Array, lanes: Lanes) -> bool:
    """Whether a row is so long that fetching its lines pays."""
    return array.size * lanes.itemsize >= LINE


def fetched_lines(tape: Tape, lanes: Lanes) -> list[tuple[int, int, int]]:
    """The result, the row and the byte where each line of a block of rows begins, in the order of addresses."""
    return [
        (number, *divmod(byte, array.size * lanes.itemsize))
        for number, array in enumerate(tape.outputs)
        if fills_lines(array, lanes)
        for byte in range(0, array.size * lanes.bytes, LINE)
    ]


def tell_near(emit: Emitter, places: Sequence[Place], samples: LaneSamples, table: Value, elsewhere: Value) -> None:
    """Write the table of a block: where rows are not packed, it leads to memory that is in the cache anyway."""
    for number, place in enumerate(places):
        if place.packed is not None:
            [first, *_] = samples.rows(emit, place)
            entry = emit.address(table, number * ENTRY)
            for offset, kind, near, far in ((0, "ptr", first, elsewhere), (8, "i64", place.step, "0")):
                told = emit.value(f"select i1 {place.packed}, {kind} {near}, {kind} {far}")
                emit.do(f"store {kind} {told}, ptr {emit.address(entry, offset)}, align 8")


class LineFetching:
    """Fetches lines, evenly spread over so many steps; %near tells where the rows of each result lie."""

    def __init__(self, lines: list[tuple[int, int, int]], steps: int):
        self._lines, self._steps = lines, steps
        self._step = self._line = 0
        self._near: dict[int, tuple[Value, Value]] = {}
        self._rows: dict[tuple[int, int], Value] = {}

    def enter(self) -> None:
        """Begin another function, which knows no addresses yet."""
        self._near, self._rows = {}, {}

    def after_step(self, emit: Emitter) -> None:
        self._step += 1
        until = len(self._lines) * self._step // self._steps
        for number, row, byte in self._lines[self._line : until]:
            emit.prefetch(emit.address(self._row(emit, number, row), byte))
        self._line = until

    def _row(self, emit: Emitter, number: int, row: int) -> Value:
        if (number, row) not in self._rows:
            if number not in self._near:
                entry = emit.address("%near", number * ENTRY)
                first = emit.value(f"load ptr, ptr {entry}, align 8")
                self._near[number] = first, emit.value(f"load i64, ptr {emit.address(entry, 8)}, align 8")
            first, step = self._near[number]
            self._rows[number, row] = emit.address(first, emit.value(f"mul i64 {step}, {row}"))
        return self._rows[number, row]
