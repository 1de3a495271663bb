"""The LLVM instructions of every op of a tape, one row per op.

Sine and cosine are not in this table: they are computed in groups behind a test, because huge angles need another
algorithm; see `body`. The functions of `elementary` are written once per module and called: a policy network has
hundreds of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from appell.compile.llvm import elementary
from appell.compile.llvm.emitter import Emitter, Value
from appell.compile.llvm.trigonometry import atan2
from appell.compile.tape.ops import TRANSCENDENTAL, Op


def _select(emit: Emitter, x: Value, y: Value, z: Value) -> Value:
    """Return y where x > 0, else z; bits are compared, since a floating-point comparison raises a flag on NaN."""
    above_zero = emit.greater(emit.bits(x), emit.pattern(0))
    return emit.select(emit.conditions("and", above_zero, emit.compare("ord", x, x)), y, z)


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


def _sign(emit: Emitter, x: Value) -> Value:
    size, constant = emit.bits(emit.absolute(x)), emit.constant
    signed = emit.flip(constant(1.0), emit.signs(emit.bits(x)))
    result = emit.select(emit.greater(emit.pattern(1), size), constant(0.0), signed)
    return emit.select(emit.compare("uno", x, x), constant(math.nan), result)


def _extreme(emit: Emitter, x: Value, y: Value, largest: bool) -> Value:
    """Return the larger or smaller of two numbers; -0 is smaller than 0.

    The bits of numbers, read as integers, have the order of the numbers, except that of two negative numbers.
    """
    p, q = emit.bits(x), emit.bits(y)
    both_negative = emit.greater(emit.pattern(0), emit.integer("and", p, q))
    exceeds = emit.conditions("xor", emit.greater(p, q), both_negative)
    chosen = emit.select(exceeds, *((x, y) if largest else (y, x)))
    return emit.select(emit.compare("uno", x, y), emit.constant(math.nan), chosen)


def _shared(function: Callable[..., Value]) -> Callable[..., Value]:
    """Return a row for a long function: a call of a function of the module, if there is a module."""

    def emit_call(emit: Emitter, *operands: Value) -> Value:
        if emit.constants is None:
            return function(emit, *operands)
        return emit.constants.call(emit, function, operands)

    return emit_call


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
    Op.ABS: Emitter.absolute,
    Op.SIGN: _sign,
    Op.MINIMUM: partial(_extreme, largest=False),
    Op.MAXIMUM: partial(_extreme, largest=True),
    **{op: _shared(getattr(elementary, op.name.lower())) for op in TRANSCENDENTAL},
    Op.FMA: Emitter.fma,
    Op.FMS: Emitter.fms,
    Op.FNMA: Emitter.fnma,
}
