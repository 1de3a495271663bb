"""The table of a stage: for each turn a row of what only this turn knows.

    kind      where the stage has several steps: whose turn it is
    moves     how many bytes windows have moved since the first turn; windows that move alike share one entry
    numbers   the numbers of the turn, in the format of the kernel

A window that begins in the same slot in every turn needs no entry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.compile.emit.lanes import Lanes
from appell.compile.program import FrameStep, Stage, Window

WORD = 8  # bytes of a kind and of a move, and what every row is a multiple of


@dataclass(frozen=True)
class Anchor:
    """Where a window begins: a slot that is known now, moved by what the row says at `entry`, if anything."""

    entry: int | None
    slot: int


@dataclass(frozen=True)
class RowShape:
    """How the rows of one step are laid out; entries are bytes from the beginning of the row."""

    reads: tuple[Anchor, ...]
    writes: tuple[Anchor, ...]
    moves: tuple[tuple[int, ...], ...]  # slots, a column for each entry
    numbers: int  # where the numbers begin
    size: int


def row_shape(step: FrameStep, several: bool, lanes: Lanes) -> RowShape:
    """The layout of a step's rows in a stage of several steps, or of this one."""
    columns: dict[tuple[int, ...], int] = {}

    def anchor(window: Window) -> Anchor:
        first = window.starts[0]
        moves = tuple(start - first for start in window.starts)
        if not any(moves):
            return Anchor(None, first)
        entry = columns.setdefault(moves, WORD * (several + len(columns)))
        return Anchor(entry, first)

    reads, writes = (tuple(map(anchor, windows)) for windows in (step.reads, step.writes))
    numbers = WORD * (several + len(columns))
    width = len(step.numbers[0]) if step.numbers else 0
    size = max(WORD, -(-(numbers + width * lanes.itemsize) // WORD) * WORD)  # the loop counts rows by their size
    return RowShape(reads, writes, tuple(columns), numbers, size)


def turn_table(stage: Stage, shapes: list[RowShape], lanes: Lanes) -> bytes:
    """All rows, in order of the turns."""
    several = len(stage.steps) > 1
    taken = [0] * len(stage.steps)
    rows = []
    for kind in stage.order:
        step, shape, turn = stage.steps[kind], shapes[kind], taken[kind]
        taken[kind] += 1
        words = [kind] * several + [column[turn] * lanes.bytes for column in shape.moves]
        numbers = np.array(step.numbers[turn] if step.numbers else (), dtype=f"<f{lanes.itemsize}")
        rows.append((np.array(words, "<i8").tobytes() + numbers.tobytes()).ljust(shape.size, b"\0"))
    return b"".join(rows)
