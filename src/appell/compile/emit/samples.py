"""The samples of a batch, block by block: as many as there are lanes, and several blocks at once where the body asks.

In the last, incomplete block the lanes beyond the end repeat the last sample: they read what is there and write what is
written anyway, and no mask is needed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from appell.compile.emit.emitter import Emitter, Index, Value
from appell.compile.emit.operand import Place


@dataclass(frozen=True)
class LaneSamples:
    """One register of samples, as names of LLVM values."""

    numbers: list[Value]  # the sample in each lane
    first: Value  # bytes from the beginning to the first sample, where neighbours are adjacent
    complete: Value  # whether every lane has a sample of its own
    unroll: bool  # whether moves may be written out, which is faster if their code stays in the first cache
    table: Value = ""  # where `lay_down` has laid down where samples begin, if it has

    def rows(self, emit: Emitter, place: Place) -> list[Value]:
        """Pointers to the sample of each lane."""
        return [emit.address(place.base, begin) for begin in self._begins(emit, place)]

    def lay_down(self, emit: Emitter, places: list[Place], table: Value) -> None:
        """Find out once where the samples of some operands begin, for code that asks again and again."""
        for place in places:
            for lane, begin in enumerate(self._begins(emit, place)):
                emit.do(f"store i64 {begin}, ptr {self._entry(emit, place, lane, table)}, align 8")

    def _begins(self, emit: Emitter, place: Place) -> list[Value]:
        if not self.table:
            return [emit.value(f"mul i64 {number}, {place.step}") for number in self.numbers]
        entries = [self._entry(emit, place, lane, self.table) for lane in range(emit.lanes.width)]
        return [emit.value(f"load i64, ptr {entry}, align 8") for entry in entries]

    def _entry(self, emit: Emitter, place: Place, lane: int, table: Value) -> Value:
        return emit.address(table, 8 * (place.operand.position * emit.lanes.width + lane))


Samples = Callable[[Index], LaneSamples]  # of a block
Turn = Callable[[Index, Samples], None]


def over_samples(emit: Emitter, most: int, unroll: bool, count: Value, turn: Turn) -> None:
    """Run `turn(blocks, samples)` until all of so many samples, one at least, have had theirs.

    `blocks` is how many blocks there are this time, `most` or fewer, and `samples(block)` tells what is in one of them.
    """
    lanes = emit.lanes
    last = emit.value(f"sub i64 {count}, 1")
    before = emit.block
    emit.jump("turn")
    emit.enter("turn")
    first = emit.phi("i64", ("0", before), ("%next", "written"))
    emit.do(f"%next = add i64 {first}, {lanes.width * most}")
    blocks: Index = 1
    if most > 1:
        left = emit.value(f"sub i64 {count}, {first}")
        whole = emit.value(f"udiv i64 {emit.value(f'add i64 {left}, {lanes.width - 1}')}, {lanes.width}")
        blocks = _smaller(emit, whole, str(most))

    def samples(block: Index) -> LaneSamples:
        start = emit.value(f"add i64 {first}, {emit.times(block, lanes.width)}")
        numbers = [emit.value(f"add i64 {start}, {lane}") for lane in range(lanes.width)]
        return LaneSamples(
            numbers=[_smaller(emit, number, last) for number in numbers],
            first=emit.value(f"mul i64 {start}, {lanes.itemsize}"),
            complete=emit.value(f"icmp ult i64 {numbers[-1]}, {count}"),
            unroll=unroll,
        )

    turn(blocks, samples)
    emit.jump("written")
    emit.enter("written")
    emit.branch(emit.value(f"icmp ult i64 %next, {count}"), "turn", "ended")
    emit.enter("ended")


def _smaller(emit: Emitter, x: Value, y: Value) -> Value:
    return emit.value(f"select i1 {emit.value(f'icmp ult i64 {x}, {y}')}, i64 {x}, i64 {y}")
