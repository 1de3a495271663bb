"""The LLVM instructions of every op of a tape, one row per op.

Sine and cosine are not in this table: they are computed in groups behind a test, because huge angles need another
algorithm; see `body`.
"""

from __future__ import annotations

from collections.abc import Callable

from appell.compile.llvm.emitter import Emitter, Value
from appell.compile.llvm.trigonometry import atan2
from appell.compile.tape.ops import Op


def _select(emit: Emitter, x: Value, y: Value, z: Value) -> Value:
    """Return y where x > 0, else z; bits are compared, since a floating-point comparison raises a flag on NaN."""
    above_zero = emit.greater(emit.bits(x), emit.pattern(0))
    return emit.select(emit.both(above_zero, emit.compare("ord", x, x)), y, z)


def _round(emit: Emitter, x: Value) -> Value:
    """Round to the nearest integer, ties to even.

    |x| + 2^fraction has no bits left for the fractional part of x, and larger numbers have no fractional part. LLVM's
    rounding is not used: on machines without such an instruction it calls a library.
    """
    lanes, size = emit.lanes, emit.absolute(x)
    limit = 2.0**lanes.fraction
    rounded = emit.sub(emit.add(size, emit.constant(limit)), emit.constant(limit))
    small = emit.greater(emit.pattern(lanes.pattern_of(limit)), emit.bits(size))
    return emit.select(small, emit.flip(rounded, emit.signs(emit.bits(x))), x)


def _level(emit: Emitter, x: Value) -> Value:
    """Keep the bits of the exponent above its lowest three and set the third of these: see `algebra.scalar.level`."""
    lanes = emit.lanes
    lowest = lanes.fraction + 3
    masked = emit.integer("and", emit.bits(x), emit.pattern((1 << (lanes.integer_bits - 1)) - (1 << lowest)))
    return emit.number(emit.integer("or", masked, emit.pattern(4 << lanes.fraction)))


EMIT: dict[Op, Callable[..., Value]] = {
    Op.ADD: Emitter.add,
    Op.SUB: Emitter.sub,
    Op.MUL: Emitter.mul,
    Op.DIV: Emitter.div,
    Op.NEG: Emitter.neg,
    Op.SQRT: Emitter.sqrt,
    Op.ATAN2: atan2,
    Op.SELECT: _select,
    Op.ROUND: _round,
    Op.LEVEL: _level,
    Op.FMA: Emitter.fma,
    Op.FMS: Emitter.fms,
    Op.FNMA: Emitter.fnma,
}
