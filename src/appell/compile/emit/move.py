"""Moving samples between the user's arrays and the block that the body works on.

Every move has the ways of `operand`; which one is taken is settled by branches that never change in a call, so
the machine predicts them.

A line of memory that is written without being in a cache is fetched first, and stores wait for it in their order; worst
of all are those across the border of two lines. So lines are fetched before they are written: by the body, where the
first cache has room for them (`ahead`), or else along the rows while they are written. They are written twice as fast;
writing past the caches, which spares the fetching, is never better. In a march the rows of a sample follow each other
as steps do, so that rows of any length are fetched ahead along them.
"""

from __future__ import annotations

from appell.compile.emit.ahead import LINE, fills_lines
from appell.compile.emit.emitter import Emitter, Index, Value
from appell.compile.emit.operand import Place
from appell.compile.emit.samples import LaneSamples
from appell.compile.emit.transpose import groups, is_square, lanes_to_rows, rows_to_lanes, square_to_rows

AHEAD = 2 * LINE  # bytes that the fetching of a row runs ahead of its writing
AHEAD_OF_STEPS = 4 * LINE  # the same in a march, where it is the next steps that are fetched
UNROLL = 40  # elements; beyond it a move is a loop, so that a large matrix does not become a long program


def gather(emit: Emitter, place: Place, samples: LaneSamples, block: Value) -> None:
    """Read the samples of one input into the block."""
    lanes = emit.lanes
    first = emit.address(block, place.operand.slots[0] * lanes.bytes)

    def packed(rows: list[Value], start: Index, width: int) -> None:
        kind, offset = f"<{width} x {lanes.scalar}>", emit.times(start, lanes.itemsize)
        loaded = [emit.value(f"load {kind}, ptr {emit.address(row, offset)}, align {lanes.itemsize}") for row in rows]
        target = emit.address(first, emit.times(start, lanes.bytes))
        for k, register in enumerate(rows_to_lanes(emit, loaded, width)):
            emit.store(register, target, k)

    def column(pointer: Value, element: Index) -> None:
        at = emit.address(pointer, place.offset(emit, element))
        emit.store(emit.value(f"load {lanes.real}, ptr {at}, align {lanes.itemsize}"), first, element)

    def scattered(rows: list[Value], element: Index) -> None:
        offset = place.offset(emit, element)
        register = "poison"
        for lane, row in enumerate(rows):
            number = emit.value(f"load {lanes.scalar}, ptr {emit.address(row, offset)}, align {lanes.itemsize}")
            register = emit.value(f"insertelement {lanes.real} {register}, {lanes.scalar} {number}, i32 {lane}")
        emit.store(register, first, element)

    def spread(element: Index) -> None:
        emit.store(emit.spread(emit.address(place.base, place.offset(emit, element))), first, element)

    if place.same is None:
        _choose(emit, place, samples, packed, column, scattered, squares=False)
        return
    same, own, moved = (emit.label(name) for name in ("same", "own", "brought"))
    emit.branch(place.same, same, own)
    emit.enter(same)
    emit.repeat(place.operand.array.size, spread, unroll=place.operand.array.size <= UNROLL)
    emit.jump(moved)
    emit.enter(own)
    _choose(emit, place, samples, packed, column, scattered, squares=False)
    emit.jump(moved)
    emit.enter(moved)


def scatter(emit: Emitter, place: Place, samples: LaneSamples, block: Value, fetched: bool = False) -> None:
    """Write the samples of one output from the block; `fetched` says that its lines are in the first cache."""
    lanes, operand = emit.lanes, place.operand

    def get(element: Index, plus: int = 0) -> Value:
        return emit.load(block, operand.slot(emit, element, plus))

    def get_half(element: Index, plus: int, side: int) -> Value:
        begin = emit.times(operand.slot(emit, element, plus), lanes.bytes)
        at = emit.address(emit.address(block, begin), side * lanes.bytes // 2)
        return emit.value(f"load <{lanes.width // 2} x {lanes.scalar}>, ptr {at}, align {lanes.bytes // 2}")

    stream, long = bool(place.along), fills_lines(operand.array, lanes)

    def packed(rows: list[Value], start: Index, width: int) -> None:
        kind, offset = f"<{width} x {lanes.scalar}>", emit.times(start, lanes.itemsize)
        if is_square(width, lanes):
            turned = square_to_rows(emit, lambda k, side: get_half(start, k, side))
        else:
            turned = lanes_to_rows(emit, [get(start, k) for k in range(width)])
        fetch = (stream or (long and not fetched)) and (not isinstance(offset, int) or offset % LINE == 0)
        for value, row in zip(turned, rows, strict=True):
            at = emit.address(row, offset)
            emit.do(f"store {kind} {value}, ptr {at}, align {lanes.itemsize}")
            if fetch:
                emit.prefetch(emit.address(at, AHEAD_OF_STEPS if stream else AHEAD))

    def column(pointer: Value, element: Index) -> None:
        at = emit.address(pointer, place.offset(emit, element))
        emit.do(f"store {lanes.real} {get(element)}, ptr {at}, align {lanes.itemsize}")
        if long:
            emit.prefetch(emit.address(at, LINE))

    def scattered(rows: list[Value], element: Index) -> None:
        offset, register = place.offset(emit, element), get(element)
        for lane, row in enumerate(rows):
            number = emit.value(f"extractelement {lanes.real} {register}, i32 {lane}")
            emit.do(f"store {lanes.scalar} {number}, ptr {emit.address(row, offset)}, align {lanes.itemsize}")

    _choose(emit, place, samples, packed, column, scattered, squares=True)


def _choose(emit: Emitter, place: Place, samples: LaneSamples, packed, column, scattered, squares: bool) -> None:
    """Branch on the layout and do the move that fits it."""
    size = place.operand.array.size
    unroll = samples.unroll and size <= UNROLL
    labels = {name: emit.label(name) for name in ("packed", "loose", "column", "scattered", "moved")}
    if place.packed is not None:
        emit.branch(place.packed, labels["packed"], labels["loose"])
        emit.enter(labels["packed"])
        rows = samples.rows(emit, place)
        parts = groups(size, emit.lanes, squares and not unroll)
        each = parts[0][1]
        whole = sum(1 for k, part in enumerate(parts) if part == (k * each, each))
        emit.repeat(whole, lambda k: packed(rows, emit.times(k, each), each), unroll=unroll)
        for start, width in parts[whole:]:
            packed(rows, start, width)
        emit.jump(labels["moved"])
        emit.enter(labels["loose"])
    emit.branch(emit.value(f"and i1 {place.columns}, {samples.complete}"), labels["column"], labels["scattered"])
    emit.enter(labels["column"])
    pointer = emit.address(place.base, samples.first)
    emit.repeat(size, lambda element: column(pointer, element), unroll=unroll)
    emit.jump(labels["moved"])
    emit.enter(labels["scattered"])
    rows = samples.rows(emit, place)
    emit.repeat(size, lambda element: scattered(rows, element), unroll=size == 1)
    emit.jump(labels["moved"])
    emit.enter(labels["moved"])
