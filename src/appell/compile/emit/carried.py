"""The block of a march: what is carried from step to step lies where the body reads it.

    taken   the inputs, as the body reads them: carried, held, driven
    given   the results, the carried ones first

After a step the carried results are copied to where the next one reads them. A program has one frame for both, and its
turns write there as they like. So held inputs that they write over are kept aside and put back after each step, and
carried results that lie among the inputs go through a block of their own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from appell.compile.emit.emitter import Emitter, Index, Value
from appell.compile.emit.layout import BlockLayout
from appell.compile.emit.memory import Memory

_UNROLL = 40  # registers; more of them are copied in a loop

Moves = list[tuple[int, int, int]]  # slots: from, to, and how many in a row


@dataclass(frozen=True)
class CarriedBlock:
    """The blocks of a step that is repeated, and what has to be moved between two steps."""

    emit: Emitter
    layout: BlockLayout
    blocks: tuple[Value, Value]  # the first block of inputs, the first of results
    aside: Value  # room for what is kept aside, if anything is
    restored: Moves  # held inputs that have to be put back, from `aside`
    crossing: Moves  # carried results that go through `aside`, if they do
    carried: Moves  # carried results, to the inputs

    @classmethod
    def reserve(
        cls, emit: Emitter, memory: Memory, layout: BlockLayout, blocks: int, carried: int, still: int
    ) -> CarriedBlock:
        """Room for so many blocks, of which so many slots are carried, and so many do not change in a step."""
        found = layout.reserve(memory, blocks)
        lost = [slot for slot in range(carried, still) if slot in layout.overwritten]
        results = layout.places[:carried]
        crossed = layout.given is None and min(results) < carried
        aside = memory.block(len(lost) + carried * crossed) if lost or crossed else ""
        through = range(len(lost), len(lost) + carried)
        return cls(
            *(emit, layout, found, aside),
            restored=_runs(zip(range(len(lost)), lost, strict=True)),
            crossing=_runs(zip(results, through, strict=True)) if crossed else [],
            carried=_runs(zip(through if crossed else results, range(carried), strict=True)),
        )

    def taken(self, block: Index) -> Value:
        return self._block(0, self.layout.taken, block)

    def given(self, block: Index) -> Value:
        return self._block(1, self.layout.given or 0, block)

    def begin(self) -> None:
        """Before the first step, with the inputs in their places: keep aside what will be lost."""
        self._copy(self.taken(0), self.aside, [(there, here, length) for here, there, length in self.restored])

    def carry_on(self, block: Index) -> None:
        """After a step: what it carries is what the next one begins with."""
        self._copy(self.given(block), self.aside, self.crossing)
        self._copy(self.aside if self.crossing else self.given(block), self.taken(block), self.carried)
        self._copy(self.aside, self.taken(block), self.restored)

    def _block(self, side: int, registers: int, block: Index) -> Value:
        return self.emit.address(self.blocks[side], self.emit.times(block, registers * self.emit.lanes.bytes))

    def _copy(self, source: Value, target: Value, moves: Moves) -> None:
        emit, width = self.emit, self.emit.lanes.bytes
        for first, to, length in moves:
            source_at, target_at = emit.address(source, first * width), emit.address(target, to * width)

            def one(k: Index, here: Value = source_at, there: Value = target_at) -> None:
                emit.store(emit.load(here, k), there, k)

            emit.repeat(length, one, unroll=length <= _UNROLL)


def _runs(pairs: Iterable[tuple[int, int]]) -> Moves:
    """Pairs of slots, from and to, as stretches of neighbours."""
    found: Moves = []
    for source, target in pairs:
        if found and (source - found[-1][0], target - found[-1][1]) == (found[-1][2],) * 2:
            found[-1] = (*found[-1][:2], found[-1][2] + 1)
        else:
            found.append((source, target, 1))
    return found
