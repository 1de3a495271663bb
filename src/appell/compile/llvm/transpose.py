"""Transposition in registers: from rows of samples to lanes and back.

Samples are stored row by row, but a register holds one element of many samples. Reading a group of e elements of every
sample at once and transposing it costs a few shuffles per register instead of one load per number. A register holds
more samples than a group has elements, so rows k, k + e, k + 2e, … are first put side by side; then the register is a
row of e x e blocks, each transposed separately:

    floats    0abcd|4abcd  1abcd|5abcd  2abcd|6abcd  3abcd|7abcd   ->   0a1a2a3a|4a5a6a7a  0b1b2b3b|4b5b6b7b  …
    doubles   0ab|2ab      1ab|3ab                                 ->   0a1a|2a3a          0b1b|2b3b

(digits are samples, letters elements). Shuffles inside 16 bytes, two doubles or four floats, are cheap. A larger block
is a square of such small ones: they are transposed one by one and then exchanged with their mirror image across the
diagonal. A transposition is its own inverse, so both directions share it.

Wide registers write groups of as many elements as there are lanes (*squares*), which makes the base regressor of a
PUMA 9 % faster; in narrow registers such groups are up to 10 % slower. The table of `tuning` says where they are used.
"""

from __future__ import annotations

from collections.abc import Callable

from appell.compile.llvm.emitter import Emitter, Value
from appell.compile.llvm.lanes import Lanes

_CHEAP_SHUFFLE_BYTES = 16  # shuffles within 16 bytes are cheap
_MAX_GROUP_BYTES = 32  # of a row that are moved at once


def groups(size: int, lanes: Lanes, squares: bool = False) -> list[tuple[int, int]]:
    """Return first element and number of elements of the groups that cover a row; the last two may overlap.

    The list is empty if the row is too short to be worth a transposition. With `squares`, the first groups have as many
    elements as there are lanes.
    """
    small, large = _CHEAP_SHUFFLE_BYTES // lanes.itemsize, min(_MAX_GROUP_BYTES, lanes.bytes) // lanes.itemsize
    if size < small or lanes.width == 1:
        return []
    parts: list[tuple[int, int]] = []
    if squares:
        parts = [(start, lanes.width) for start in range(0, size - lanes.width + 1, lanes.width)]
    done = len(parts) * lanes.width
    parts += [(start, large) for start in range(done, size - large + 1, large)]
    rest = (size - done) % large
    if 0 < rest <= small:
        parts.append((size - small, small))
    elif rest:
        parts += [(size - large, large)] if size >= large else [(0, small), (size - small, small)]
    return parts


def has_squares(lanes: Lanes) -> bool:
    """Return whether `square_to_rows` applies: half of a register is at least a block of cheap shuffles."""
    return lanes.bytes >= 2 * _CHEAP_SHUFFLE_BYTES


def rows_to_lanes(emit: Emitter, rows: list[Value], elements: int) -> list[Value]:
    """Convert one row per sample to one register per element."""
    return _transpose(emit, [_side_by_side(emit, rows[k::elements], elements) for k in range(elements)])


def lanes_to_rows(emit: Emitter, registers: list[Value]) -> list[Value]:
    """Convert one register per element to one row per sample."""
    elements, width = len(registers), emit.lanes.width
    pieces = [_split(emit, register, width, elements) for register in _transpose(emit, registers)]
    return [piece for block in zip(*pieces, strict=True) for piece in block]


def square_to_rows(emit: Emitter, read: Callable[[int, int], Value]) -> list[Value]:
    """Convert as many elements as there are lanes to one row per sample; `read(element, half)` reads half a register.

    Two half registers are joined while they are read, which takes no shuffle; two rows of blocks remain.
    """
    half = emit.lanes.width // 2
    rows: list[Value] = []
    for side in (0, 1):
        pairs = [[read(k, side), read(k + half, side)] for k in range(half)]
        rows += _transpose(emit, [_side_by_side(emit, pair, half) for pair in pairs])
    return rows


def _split(emit: Emitter, row: Value, size: int, width: int) -> list[Value]:
    """A row of `size` elements in pieces of `width`."""
    if size == width:
        return [row]
    return [_shuffle(emit, size, row, "poison", range(start, start + width)) for start in range(0, size, width)]


def _side_by_side(emit: Emitter, rows: list[Value], size: int) -> Value:
    """Rows of `size` elements as one."""
    while len(rows) > 1:
        pairs = zip(rows[::2], rows[1::2], strict=True)
        rows, size = [_shuffle(emit, size, x, y, range(2 * size)) for x, y in pairs], 2 * size
    return rows[0]


def _shuffle(emit: Emitter, size: int, x: Value, y: Value, order) -> Value:
    """Elements of x and y, two rows of `size` elements, numbered consecutively."""
    kind, indices = f"<{size} x {emit.lanes.scalar}>", ", ".join([f"i32 {k}" for k in order])
    return emit.value(f"shufflevector {kind} {x}, {kind} {y}, <{len(order)} x i32> <{indices}>")


def _transpose(emit: Emitter, registers: list[Value]) -> list[Value]:
    """Transpose the blocks of the registers separately; a block is as many elements wide as there are registers."""
    small = _CHEAP_SHUFFLE_BYTES // emit.lanes.itemsize
    transposed: list[Value] = []
    for start in range(0, len(registers), small):
        transposed += _transpose_small(emit, registers[start : start + small])
    distance = small
    while distance < len(registers):
        transposed = _exchange(emit, transposed, distance)
        distance *= 2
    return transposed


def _exchange(emit: Emitter, registers: list[Value], distance: int) -> list[Value]:
    """Swap the elements right of the diagonal of blocks of 2 x `distance` with those below it."""
    width = emit.lanes.width
    left = [k if not k & distance else width + k - distance for k in range(width)]
    right = [k + distance if not k & distance else width + k for k in range(width)]
    exchanged = list(registers)
    for k in range(len(registers)):
        if not k & distance:
            x, y = registers[k], registers[k + distance]
            exchanged[k] = _shuffle(emit, width, x, y, left)
            exchanged[k + distance] = _shuffle(emit, width, x, y, right)
    return exchanged


def _transpose_small(emit: Emitter, registers: list[Value]) -> list[Value]:
    """Transpose every 16 bytes: two by two doubles, or four by four floats."""
    if len(registers) == 2:
        return _interleave(emit, registers, 2, 1)
    a, b, c, d = registers
    low_ab, high_ab = _interleave(emit, [a, b], 4, 1)
    low_cd, high_cd = _interleave(emit, [c, d], 4, 1)
    return _interleave(emit, [low_ab, low_cd], 4, 2) + _interleave(emit, [high_ab, high_cd], 4, 2)


def _interleave(emit: Emitter, pair: list[Value], block: int, piece: int) -> list[Value]:
    """Pieces of x and y alternately in each block: first those of the lower halves, then those of the upper ones."""
    width = emit.lanes.width
    orders = []
    for half in (0, block // 2):
        order = []
        for start in range(0, width, block):
            for k in range(start + half, start + half + block // 2, piece):
                order += [*range(k, k + piece), *range(width + k, width + k + piece)]
        orders.append(order)
    x, y = pair
    return [_shuffle(emit, width, x, y, order) for order in orders]
