"""The angle of a point, atan2(y, x), for a whole register without branches.

    n, d = min(|x|, |y|), max(|x|, |y|)                                           (1)
    arctan(n/d)  =  arctan t,         t = n/d               if n ≤ d tan π/8      (2)
                    π/4 + arctan t,   t = (n - d)/(n + d)   otherwise
    arctan t = t + t·z·A(z),   z = t²,   |t| ≤ tan π/8                            (3)

The octant then adds a multiple of π/4 and mirrors, the sign of y is laid over the result. A is the minimax polynomial
of Remez' exchange, 2^-59.4 for doubles and 2^-30.5 for floats. Signed zeros, the point (0, 0) and infinities give what
C's atan2 gives; NaN gives NaN. Comparisons are made on bits, which raise no flag.
"""

from __future__ import annotations

import math

from appell.compile.emit.circle import pieces
from appell.compile.emit.emitter import Emitter, Value
from appell.compile.emit.lanes import DOUBLE, FLOAT

ARCTANGENT = {
    DOUBLE: (
        -0.3333333333333319,
        0.1999999999995242,
        -0.1428571428007244,
        0.1111111077695608,
        -0.09090897562741204,
        0.0769205661340427,
        -0.06663061676928236,
        0.05847571057606151,
        -0.05037828086606128,
        0.03802601340427461,
        -0.017863921899679835,
    ),
    FLOAT: (
        -0.33333316445350647,
        0.19998468458652496,
        -0.14243417978286743,
        0.10592629760503769,
        -0.06074477732181549,
    ),
}


def atan2(emit: Emitter, y: Value, x: Value) -> Value:
    """The angle from the x axis to the point (x, y), in [-π, π]."""
    lanes = emit.lanes
    constant = emit.constant
    wide, tall = emit.absolute(x), emit.absolute(y)
    steep = emit.greater(emit.bits(tall), emit.bits(wide))
    behind = emit.greater(emit.pattern(0), emit.bits(x))
    n, d = emit.select(steep, wide, tall), emit.select(steep, tall, wide)
    n, d = _tame(emit, n, d, either=(steep, behind))

    middle = emit.greater(emit.bits(n), emit.bits(emit.mul(d, constant(math.tan(math.pi / 8)))))  # (2)
    above, below = emit.select(middle, emit.sub(n, d), n), emit.select(middle, emit.add(n, d), d)
    t = emit.div(above, below)
    z = emit.fma(t, t, constant(lanes.format.smallest))
    angle = emit.fma(emit.mul(z, emit.polynomial(z, ARCTANGENT[lanes.format])), t, t)  # (3)

    eighths = emit.select(middle, constant(1.0), constant(0.0))
    for mirrored, whole in ((steep, 2.0), (behind, 4.0)):
        eighths = emit.select(mirrored, emit.sub(constant(whole), eighths), eighths)
        angle = emit.select(mirrored, emit.neg(angle), angle)
    high, low = pieces(0.25, (lanes.fraction + 1, lanes.fraction + 1))
    total = emit.fma(eighths, constant(high), emit.fma(eighths, constant(low), angle))
    signed = emit.flip(total, emit.signs(emit.bits(y)))
    return emit.select(emit.compare("uno", x, y), constant(math.nan), signed)


def _tame(emit: Emitter, n: Value, d: Value, either: tuple[Value, Value]) -> tuple[Value, Value]:
    """The same ratio, from numbers whose sum is finite and whose larger is not zero.

    Where a multiple of π/4 is added to it, a ratio that would underflow makes no difference, and is replaced by zero.
    """
    lanes, constant, pattern = emit.lanes, emit.constant, emit.pattern
    one, zero = constant(1.0), constant(0.0)
    infinity = lanes.pattern_of(math.inf)
    bits_n, bits_d = emit.bits(n), emit.bits(d)
    far_below = emit.greater(emit.integer("sub", bits_d, bits_n), pattern(100 << lanes.fraction))
    for added in either:
        n = emit.select(emit.both(far_below, added), zero, n)
    huge = emit.greater(bits_d, pattern(infinity - (4 << lanes.fraction)))
    scale = emit.select(huge, constant(0.125), one)
    n, d = emit.mul(n, scale), emit.mul(d, scale)
    infinite_n, infinite_d = (emit.greater(bits, pattern(infinity - 1)) for bits in (bits_n, bits_d))
    n = emit.select(infinite_d, emit.select(infinite_n, one, zero), n)
    d = emit.select(infinite_d, one, emit.select(emit.greater(pattern(1), bits_d), one, d))
    return n, d
