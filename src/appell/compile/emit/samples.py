"""The samples of a batch, block by block: as many as there are lanes, and several blocks at once where the body asks.

In the last, incomplete block the lanes beyond the end repeat the last sample: they read what is there and write what is
written anyway, and no mask is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from appell.compile.emit.body import BodyCode
from appell.compile.emit.emitter import Emitter, Index, Value
from appell.compile.emit.operand import Place


@dataclass(frozen=True)
class LaneSamples:
    """One register of samples, as names of LLVM values."""

    numbers: list[Value]  # the sample in each lane
    first: Value  # bytes from the beginning to the first sample, where neighbours are adjacent
    complete: Value  # whether every lane has a sample of its own
    unroll: bool  # whether moves may be written out, which is faster if their code stays in the first cache
    known: dict[int, list[Value]] = field(default_factory=dict)  # by operand: where its samples begin

    def know(self, emit: Emitter, places: list[Place]) -> None:
        """Find out here, once, where the samples of some operands begin."""
        for place in places:
            self.known[place.operand.position] = self._begins(emit, place)

    def rows(self, emit: Emitter, place: Place) -> list[Value]:
        """Pointers to the sample of each lane."""
        begins = self.known.get(place.operand.position) or self._begins(emit, place)
        return [emit.address(place.base, begin) for begin in begins]

    def _begins(self, emit: Emitter, place: Place) -> list[Value]:
        return [emit.value(f"mul i64 {number}, {place.step}") for number in self.numbers]


Turn = Callable[[Index, Callable[[Index], LaneSamples]], None]


def over_samples(emit: Emitter, of: BodyCode, count: Value, turn: Turn) -> None:
    """Run `turn(blocks, samples)` until all of so many samples, one at least, have had theirs.

    `blocks` is how many blocks there are this time, and `samples(block)` tells what is in one of them.
    """
    lanes = emit.lanes
    last = emit.value(f"sub i64 {count}, 1")
    before = emit.block
    emit.jump("turn")
    emit.enter("turn")
    first = emit.phi("i64", ("0", before), ("%next", "written"))
    emit.do(f"%next = add i64 {first}, {lanes.width * of.blocks}")
    blocks: Index = 1
    if of.blocks > 1:
        left = emit.value(f"sub i64 {count}, {first}")
        whole = emit.value(f"udiv i64 {emit.value(f'add i64 {left}, {lanes.width - 1}')}, {lanes.width}")
        blocks = _smaller(emit, whole, str(of.blocks))

    def samples(block: Index) -> LaneSamples:
        start = emit.value(f"add i64 {first}, {emit.times(block, lanes.width)}")
        numbers = [emit.value(f"add i64 {start}, {lane}") for lane in range(lanes.width)]
        return LaneSamples(
            numbers=[_smaller(emit, number, last) for number in numbers],
            first=emit.value(f"mul i64 {start}, {lanes.itemsize}"),
            complete=emit.value(f"icmp ult i64 {numbers[-1]}, {count}"),
            unroll=not of.long,
        )

    turn(blocks, samples)
    emit.jump("written")
    emit.enter("written")
    emit.branch(emit.value(f"icmp ult i64 %next, {count}"), "turn", "ended")
    emit.enter("ended")


def _smaller(emit: Emitter, x: Value, y: Value) -> Value:
    return emit.value(f"select i1 {emit.value(f'icmp ult i64 {x}, {y}')}, i64 {x}, i64 {y}")
