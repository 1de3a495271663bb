"""Tables of a program that is being traced: blocks of slots that get their place in the frame at the end.

Time counts what is done one after the other: straight code at even times, a loop at every odd one. A block is written
and read at some times and holds its slots from the first of them to the last; before and after, others may have them.

A table has its own block, or sees the block of another: a table that is given what lies in the frame already (function
inputs, or values of another table, evenly spaced) copies nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(eq=False)
class SlotBlock:
    """Neighbouring slots, and the times at which they are written and read."""

    size: int
    writes: list[int] = field(default_factory=list)  # times, in order
    reads: list[int] = field(default_factory=list)
    start: int = -1  # in the frame, once it is known

    @property
    def version(self) -> int:
        """How often the block has been written."""
        return len(self.writes)

    @property
    def span(self) -> tuple[int, int]:
        """The first and the last time at which the slots are needed."""
        return min(self.writes + self.reads), max(self.writes + self.reads)


@dataclass(eq=False)
class RolledTable:
    """Rows of `width` slots, `stride` apart, in a block; `starts` is where each row begins, `written` which exist."""

    block: SlotBlock
    starts: list[int]
    width: int
    stride: int
    written: set[int]

    @classmethod
    def fresh(cls, rows: int, width: int) -> RolledTable:
        return cls(SlotBlock(rows * width), [row * width for row in range(rows)], width, 1, set())

    def offsets(self, row: int) -> range:
        """The slots of a row, counted from the beginning of the block."""
        start = self.starts[row]
        return range(start, start + self.width * self.stride, self.stride) if self.width else range(0)


@dataclass(frozen=True)
class Leaf:
    """What a traced scalar stands for that no arithmetic made: a slot of a block, as it was after some writes."""

    block: SlotBlock
    offset: int
    version: int

    def overwritten(self, time: int) -> int | None:
        """When the slot was written anew, if that was before this time."""
        later = self.block.writes[self.version :]
        return later[0] if later and later[0] < time else None


def seen(leaves: Sequence[Sequence[Leaf]], width: int) -> RolledTable | None:
    """The table whose rows are these leaves where they lie, or None if they do not lie evenly in one block."""
    block = leaves[0][0].block
    if any(leaf.block is not block or leaf.version != block.version for row in leaves for leaf in row):
        return None
    stride = leaves[0][1].offset - leaves[0][0].offset if width > 1 else 1
    if stride == 0 or any(leaf.offset != row[0].offset + k * stride for row in leaves for k, leaf in enumerate(row)):
        return None
    return RolledTable(block, [row[0].offset for row in leaves], width, stride, set(range(len(leaves))))


def place(blocks: Sequence[SlotBlock]) -> int:
    """Give every block its place in the frame, the first as it is; how many slots that takes.

    Blocks that are needed at different times may share slots.
    """
    placed: list[SlotBlock] = []
    size = 0
    for block in sorted(blocks, key=lambda block: (block.span[0], -block.size)):
        begin = block.span[0]
        placed = [other for other in placed if other.span[1] >= begin]
        start = 0
        for other in sorted(placed, key=lambda other: other.start):
            if other.start - start >= block.size:
                break
            start = max(start, other.start + other.size)
        block.start = start
        placed.append(block)
        size = max(size, start + block.size)
    return size
