"""Rows to lanes and back: a few neighbouring elements of every sample, turned in registers.

Samples lie in memory row by row, but a register holds one element of many samples. Reading a group of elements of every
sample at once and transposing it costs two shuffles a register instead of one load a number. The machine shuffles
cheaply inside 128-bit halves, so rows k and k + W/2 are first laid side by side; then each half is transposed:

    floats    0abcd|4abcd  1abcd|5abcd  2abcd|6abcd  3abcd|7abcd   ->   0a1a2a3a|4a5a6a7a  0b1b2b3b|4b5b6b7b  …
    doubles   0ab|2ab      1ab|3ab                                 ->   0a1a|2a3a          0b1b|2b3b

(digits are samples, letters elements). Four doubles a row fill a register already and are transposed as they are. A
transposition is its own inverse, so both directions share it.
"""

from __future__ import annotations

from appell.compile.emit.emitter import Emitter
from appell.compile.emit.lanes import DOUBLES, Lanes


def groups(size: int, lanes: Lanes) -> list[tuple[int, int]]:
    """First element and number of elements of the groups that cover a row; the last two may overlap.

    Empty if the row is too short to be worth a transposition.
    """
    if lanes is DOUBLES and (size in (2, 3) or size % 4 == 2):
        whole = [(start, 4) for start in range(0, size - 3, 4)]
        return whole + [(start, 2) for start in range(len(whole) * 4, size - 1)]
    if size < 4:
        return []
    whole = [(start, 4) for start in range(0, size - 3, 4)]
    return whole if size % 4 == 0 else [*whole, (size - 4, 4)]


def rows_to_lanes(emit: Emitter, rows: list[str], elements: int) -> list[str]:
    """One row a sample in, one register an element out."""
    if elements == emit.lanes.width:
        return _transpose_whole(emit, rows)
    half = len(rows) // 2
    kind = f"<{elements} x {emit.lanes.scalar}>"
    side_by_side = ", ".join(f"i32 {k}" for k in range(2 * elements))
    joined = [
        emit.value(f"shufflevector {kind} {rows[k]}, {kind} {rows[k + half]}, <{2 * elements} x i32> <{side_by_side}>")
        for k in range(half)
    ]
    return _transpose_halves(emit, joined)


def lanes_to_rows(emit: Emitter, registers: list[str]) -> list[str]:
    """One register an element in, one row a sample out."""
    elements = len(registers)
    if elements == emit.lanes.width:
        return _transpose_whole(emit, registers)
    joined = _transpose_halves(emit, registers)
    halves = (tuple(range(elements)), tuple(range(elements, 2 * elements)))
    return [_shuffle(emit, pair, "poison", half) for half in halves for pair in joined]


def split(emit: Emitter, row: str, size: int, width: int) -> list[str]:
    """A row of `size` elements in pieces of `width`."""
    if size == width:
        return [row]
    kind = f"<{size} x {emit.lanes.scalar}>"
    pieces = (", ".join(f"i32 {k}" for k in range(start, start + width)) for start in range(0, size, width))
    return [emit.value(f"shufflevector {kind} {row}, {kind} poison, <{width} x i32> <{piece}>") for piece in pieces]


def _shuffle(emit: Emitter, x: str, y: str, order: tuple[int, ...]) -> str:
    indices = ", ".join(f"i32 {k}" for k in order)
    real = emit.lanes.real
    return emit.value(f"shufflevector {real} {x}, {real} {y}, <{len(order)} x i32> <{indices}>")


def _transpose_whole(emit: Emitter, rows: list[str]) -> list[str]:
    """Four by four doubles."""
    a, b, c, d = rows
    even, odd = (0, 4, 2, 6), (1, 5, 3, 7)
    low, high = (0, 1, 4, 5), (2, 3, 6, 7)
    even_ab, odd_ab = _shuffle(emit, a, b, even), _shuffle(emit, a, b, odd)
    even_cd, odd_cd = _shuffle(emit, c, d, even), _shuffle(emit, c, d, odd)
    return [
        _shuffle(emit, even_ab, even_cd, low),
        _shuffle(emit, odd_ab, odd_cd, low),
        _shuffle(emit, even_ab, even_cd, high),
        _shuffle(emit, odd_ab, odd_cd, high),
    ]


def _transpose_halves(emit: Emitter, registers: list[str]) -> list[str]:
    """Each 128-bit half for itself: two by two doubles, or four by four floats."""
    if len(registers) == 2:
        a, b = registers
        return [_shuffle(emit, a, b, (0, 4, 2, 6)), _shuffle(emit, a, b, (1, 5, 3, 7))]
    a, b, c, d = registers
    low, high = (0, 8, 1, 9, 4, 12, 5, 13), (2, 10, 3, 11, 6, 14, 7, 15)
    first, second = (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15)
    low_ab, high_ab = _shuffle(emit, a, b, low), _shuffle(emit, a, b, high)
    low_cd, high_cd = _shuffle(emit, c, d, low), _shuffle(emit, c, d, high)
    return [
        _shuffle(emit, low_ab, low_cd, first),
        _shuffle(emit, low_ab, low_cd, second),
        _shuffle(emit, high_ab, high_cd, first),
        _shuffle(emit, high_ab, high_cd, second),
    ]
