"""The block of a march: what is carried from step to step lies where the body reads it.

    taken   the inputs, as the body reads them: carried, held, driven
    given   the results, the carried ones first

After a step the carried results are copied to where the next one reads them; what is held stays where it is, since no
body writes over its inputs. A program has one frame for both, and a carried result may be an input of another name:
then all of them go through a block of their own.
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
    first: tuple[Value, Value]  # the first block of inputs, the first of results
    carried: int  # slots
    aside: Value = ""  # where carried results go first, if they must

    @classmethod
    def reserve(cls, emit: Emitter, memory: Memory, layout: BlockLayout, blocks: int, carried: int) -> CarriedBlock:
        """Room for so many blocks, of which so many slots are carried."""
        first = layout.reserve(memory, blocks)
        crossing = layout.given is None and min(layout.places[:carried]) < carried
        return cls(emit, layout, first, carried, memory.block(carried) if crossing else "")

    def taken(self, block: Index) -> Value:
        return self._block(0, self.layout.taken, block)

    def given(self, block: Index) -> Value:
        return self._block(1, self.layout.given or 0, block)

    def carry_on(self, block: Index) -> None:
        """After a step: what it carries is what the next one begins with."""
        places, inputs = self.layout.places[: self.carried], range(self.carried)
        source, target = self.given(block), self.taken(block)
        if self.aside:
            self._copy(source, self.aside, places, inputs)
            self._copy(self.aside, target, inputs, inputs)
        else:
            self._copy(source, target, places, inputs)

    def _block(self, side: int, registers: int, block: Index) -> Value:
        return self.emit.address(self.first[side], self.emit.times(block, registers * self.emit.lanes.bytes))

    def _copy(self, source: Value, target: Value, here: Iterable[int], there: Iterable[int]) -> None:
        emit, width = self.emit, self.emit.lanes.bytes
        for first, to, length in _runs(zip(here, there, strict=True)):
            pointers = emit.address(source, first * width), emit.address(target, to * width)

            def one(k: Index, of: tuple[Value, Value] = pointers) -> None:
                emit.store(emit.load(of[0], k), of[1], k)

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
