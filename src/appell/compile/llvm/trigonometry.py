"""Sine, cosine and arctangent of all lanes of a register, without branches and without a mathematical library.

**Constants.** π is computed to any number of bits, so no table of its digits has to be trusted:

    π = 16 arctan(1/5) - 4 arctan(1/239)                                        (Machin 1706)
    arctan(1/m) = 1/m - 1/(3 m³) + 1/(5 m⁵) - …

The parts of π/2 that reduce a moderate angle and the window of 2/π that reduces a huge one are taken from these
integers.

**Sine and cosine.**

    k = round(x · 2/π)            r = x - k π/2,   |r| ≤ π/4                      (1)
    sin r = r + r·z·S(z)          cos r = 1 + z·C(z)          z = r²              (2)
    k mod 4 = 0, 1, 2, 3:         sin x = s, c, -s, -c        cos x = c, -s, -c, s (3)

(1) Adding 1.5 · 2^fraction to x · 2/π rounds it to an integer, whose lowest bits are then the lowest bits of the sum: k
as a number and its quadrant cost one fused instruction. π/2 is divided into parts (Cody and Waite 1980). With fused
instructions x - k·p₁ is exact, since it is a multiple of the last bit of p₁ and below one; without them the parts are
short enough for k·p to be exact.

(2) S and C are minimax polynomials for the relative error on |r| ≤ 1.002 π/4, found by Remez' exchange algorithm:
2^-57.9 and 2^-53.8 for doubles, 2^-27.9 and 2^-24.6 for floats. z = r² + 2^-1000 has the same bits as r² for every r
that z can change, but never underflows, so a tiny angle raises no flag; for the same reason r·z is never formed.

(1) holds only while k is small. The caller tests `Reduced.beyond` and calls `@sincos_careful` for the other angles. The
result is within 1.5 units in the last place. The sine of -0 is +0, the only sign that differs from C.

**Huge angles** (Payne and Hanek 1983). A number is x = m · 2^e with an integer m below 2^53. Of the infinitely many
bits of 2/π, those above 2^(2-e) contribute full revolutions and those far below 2^-e nothing a double can represent, so
a window of 192 bits is sufficient:

    w = ⌊2/π · 2^(e+190)⌋ mod 2^192         x · 2/π mod 4 = (m w mod 2^192) / 2^190      (4)

with an error below 2^-137. No double comes closer than 2^-62 to a multiple of π/2, so 75 correct bits remain. The
nearest integer is the quadrant; the fraction times π/2 is the rest. LLVM has 256-bit integers, so this is one routine.
`@sincos_careful` processes a list of registers: lanes in the fast range get the bits of the fast algorithm, the others
those of this routine, and numbers that are not finite NaN.

**Arctangent.** The angle of a point, atan2(y, x):

    n, d = min(|x|, |y|), max(|x|, |y|)                                           (5)
    arctan(n/d)  =  arctan t,         t = n/d               if n ≤ d tan π/8      (6)
                    π/4 + arctan t,   t = (n - d)/(n + d)   otherwise
    arctan t = t + t·z·A(z),   z = t²,   |t| ≤ tan π/8                            (7)

The octant then adds a multiple of π/4 and mirrors, and the sign of y is applied to the result. A is a minimax
polynomial with an error of 2^-59.4 for doubles and 2^-30.5 for floats. Signed zeros, the point (0, 0) and infinities
give the results of C's atan2; NaN gives NaN. Comparisons are made on bits, which raise no flag.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

from appell.compile.llvm.emitter import Emitter, Index, Value
from appell.compile.llvm.lanes import DOUBLE, FLOAT, NARROW_BYTES, Lanes

_GUARD_BITS = 64  # absorb the truncation errors of a few hundred terms


def _arctan_of_inverse(m: int, bits: int) -> int:
    power = (1 << bits) // m
    total, k = power, 1
    while power:
        power //= -m * m
        k += 2
        total += power // k
    return total


@cache
def pi(bits: int) -> int:
    """⌊π 2^bits⌋ ± 1."""
    wide = bits + _GUARD_BITS
    return (16 * _arctan_of_inverse(5, wide) - 4 * _arctan_of_inverse(239, wide)) >> _GUARD_BITS


@cache
def two_over_pi(bits: int) -> int:
    """⌊2/π 2^bits⌋ ± 1."""
    return (2 << (2 * bits + _GUARD_BITS)) // pi(bits + _GUARD_BITS)


def pieces(multiple: float, widths: tuple[int, ...]) -> tuple[float, ...]:
    """`multiple` · π as a sum of numbers with these widths in bits, truncated except for the last, which is rounded."""
    bits = 400
    return divided(pi(bits) * int(multiple * 4) // 4, bits, widths)


def divided(number: int, bits: int, widths: tuple[int, ...]) -> tuple[float, ...]:
    """Return number / 2^bits as a sum of floats with these widths in bits, truncated except for the last.

    Parameters
    ----------
    number : positive integer
    bits : bits after the point
    widths : significant bits of each part; the last part is rounded
    """
    rest, parts = number, []
    for position, width in enumerate(widths):
        shift = max(rest.bit_length() - width, 0)
        half = (1 << shift) >> 1 if position == len(widths) - 1 else 0
        part = (rest + half) >> shift << shift
        parts.append(math.ldexp(part >> shift, shift - bits))
        rest -= part
    return tuple(parts)


@dataclass(frozen=True)
class Series:
    """Coefficients and limits for one number format."""

    sine: tuple[float, ...]
    cosine: tuple[float, ...]
    fused: tuple[int, ...]  # bits of the parts of π/2 where x y + z rounds once
    unfused: tuple[int, ...]  # and where it rounds twice
    fused_limit: int  # |k| < 2^limit keeps r accurate to the last bit
    unfused_limit: int


SERIES = {
    DOUBLE: Series(
        sine=(
            -0.1666666666666663,
            0.008333333333321896,
            -0.00019841269829405203,
            2.7557313555265916e-06,
            -2.50507370917345e-08,
            1.5895594190389256e-10,
        ),
        cosine=(
            -0.499999999999994,
            0.04166666666648426,
            -0.0013888888870299291,
            2.480157854608405e-05,
            -2.755522595460807e-07,
            2.0629666249629093e-09,
        ),
        fused=(53, 53, 53),
        unfused=(33, 33, 33, 53),
        fused_limit=40,
        unfused_limit=20,
    ),
    FLOAT: Series(
        sine=(-0.16666653752326965, 0.008332151919603348, -0.00019514010637067258),
        cosine=(-0.4999988377094269, 0.04165568947792053, -0.0013590677408501506),
        fused=(24, 24, 24),
        unfused=(10, 11, 11, 11, 24),
        fused_limit=16,
        unfused_limit=13,
    ),
}


def limit(lanes: Lanes, fused: bool) -> int:
    """Return the limit of the fast algorithm, which is accurate for |k| < 2^limit."""
    return SERIES[lanes.format].fused_limit if fused else SERIES[lanes.format].unfused_limit


@dataclass(frozen=True)
class Reduced:
    """An angle minus a multiple of π/2."""

    rest: Value  # r
    quadrant: Value  # integers whose two lowest bits are k mod 4
    beyond: Value  # integers that have a bit of `beyond_mask` set where k is too large or NaN


def beyond_mask(lanes: Lanes, fused: bool) -> int:
    """Return the bits of `Reduced.beyond` that are set where k is too large."""
    return -(2 << limit(lanes, fused))


def reduce(emit: Emitter, x: Value) -> Reduced:
    """Equation (1)."""
    lanes = emit.lanes
    series = SERIES[lanes.format]
    middle = lanes.magic + 2.0 ** limit(lanes, emit.fused)  # its two lowest bits are zero, like those of `magic`
    rounded = emit.fma(x, emit.constant(2 / math.pi), emit.constant(middle))
    k = emit.sub(rounded, emit.constant(middle))
    rest = x
    for piece in pieces(0.5, series.fused if emit.fused else series.unfused):
        rest = emit.fnma(k, emit.constant(piece), rest)
    quadrant = emit.bits(rounded)
    # k + 2^limit is in [0, 2^(limit+1)) for every k that is small enough, and `magic` has no bits there
    return Reduced(rest, quadrant, emit.integer("xor", quadrant, emit.pattern(lanes.pattern_of(lanes.magic))))


def sine_and_cosine(emit: Emitter, r: Value, quadrant: Value) -> tuple[Value, Value]:
    """Equations (2) and (3)."""
    lanes, series = emit.lanes, SERIES[emit.lanes.format]
    z = emit.fma(r, r, emit.constant(lanes.format.underflow_guard))
    sine = emit.fma(emit.mul(z, emit.polynomial(z, series.sine)), r, r)
    cosine = emit.fma(z, emit.polynomial(z, series.cosine), emit.constant(1.0))

    swap, sine_sign, cosine_sign = _signs(emit, quadrant)
    return (
        emit.flip(emit.select(swap, cosine, sine), sine_sign),
        emit.flip(emit.select(swap, sine, cosine), cosine_sign),
    )


def _signs(emit: Emitter, quadrant: Value) -> tuple[Value, Value, Value]:
    """Return where sine and cosine are exchanged, and the bits that change their signs, by equation (3).

    Wide registers are selected by masks, which a test computes, and one instruction performs three logical operations;
    narrow registers are selected by sign bits.
    """
    top = emit.lanes.integer_bits - 1
    second = emit.integer("shl", quadrant, emit.pattern(top - 1))
    if emit.lanes.bytes > NARROW_BYTES:
        odd = emit.integer("and", quadrant, emit.pattern(1))
        beside = emit.integer("add", second, emit.pattern(1 << (top - 1)))
        return emit.integer("icmp ne", odd, emit.pattern(0)), emit.signs(second), emit.signs(beside)
    odd, sine_sign = emit.integer("shl", quadrant, emit.pattern(top)), emit.signs(second)
    return emit.greater(emit.pattern(0), odd), sine_sign, emit.integer("xor", sine_sign, odd)


DIGITS = 1168  # bits of 2/π after the point: 190 beyond the largest exponent of a double, 971
_TABLE_BYTES = 160  # the digits, and zeros above the point for angles near one
FRACTION = 190

_REDUCE_HUGE = """
@digits = private unnamed_addr constant [{bytes} x i8] [{digits}], align 32

define internal {{ double, i64 }} @reduce_huge(double %x) noinline nounwind {{
entry:
  %bits = bitcast double %x to i64
  %shifted = lshr i64 %bits, 52
  %exponent = and i64 %shifted, 2047
  %finite = icmp ne i64 %exponent, 2047
  br i1 %finite, label %number, label %nothing
number:
  %fraction = and i64 %bits, 4503599627370495
  %mantissa = or i64 %fraction, 4503599627370496
  %position = sub i64 {position}, %exponent
  %byte = lshr i64 %position, 3
  %bit = and i64 %position, 7
  %window = getelementptr i8, ptr @digits, i64 %byte
  %coarse = load i256, ptr %window, align 1
  %bit.wide = zext i64 %bit to i256
  %fine = lshr i256 %coarse, %bit.wide
  %mantissa.wide = zext i64 %mantissa to i256
  %product = mul i256 %fine, %mantissa.wide
  %turn = shl i256 %product, 64
  %nearest = add i256 %turn, {half}
  %quadrant.wide = lshr i256 %nearest, 254
  %whole = shl i256 %quadrant.wide, 254
  %rest = sub i256 %turn, %whole
  %below = icmp slt i256 %rest, 0
  %opposite = sub i256 0, %rest
  %size = select i1 %below, i256 %opposite, i256 %rest
  %zeros = call i256 @llvm.ctlz.i256(i256 %size, i1 false)
  %normal = shl i256 %size, %zeros
  %leading.wide = lshr i256 %normal, 192
  %leading = trunc i256 %leading.wide to i128
  %angle.wide = mul i128 %leading, {half_pi}
  %angle.high = lshr i128 %angle.wide, 65
  %angle.integer = trunc i128 %angle.high to i64
  %angle.scaled = sitofp i64 %angle.integer to double
  %zeros.narrow = trunc i256 %zeros to i64
  %scale.exponent = sub i64 963, %zeros.narrow
  %scale.bits = shl i64 %scale.exponent, 52
  %scale = bitcast i64 %scale.bits to double
  %angle = fmul double %angle.scaled, %scale
  %angle.negative = fneg double %angle
  %positive = select i1 %below, double %angle.negative, double %angle
  %quadrant = trunc i256 %quadrant.wide to i64
  %mirrored = sub i64 0, %quadrant
  %mirror = icmp slt i64 %bits, 0
  %negative = fneg double %positive
  %r = select i1 %mirror, double %negative, double %positive
  %k = select i1 %mirror, i64 %mirrored, i64 %quadrant
  %pair = insertvalue {{ double, i64 }} undef, double %r, 0
  %both = insertvalue {{ double, i64 }} %pair, i64 %k, 1
  ret {{ double, i64 }} %both
nothing:
  %nan = fsub double %x, %x
  %none = insertvalue {{ double, i64 }} zeroinitializer, double %nan, 0
  ret {{ double, i64 }} %none
}}
"""


def reduce_huge() -> str:
    """Return the function `@reduce_huge` for one double that is not small; equation (4)."""
    table = two_over_pi(DIGITS).to_bytes(_TABLE_BYTES, "little")
    return _REDUCE_HUGE.format(
        bytes=_TABLE_BYTES,
        digits=", ".join(f"i8 {byte}" for byte in table),
        position=DIGITS - FRACTION + 1075,
        half=1 << 253,
        half_pi=pi(62),
    )


def sincos_careful(lanes: Lanes, fused: bool) -> str:
    """Return the function `@sincos_careful_8(angles, sines, cosines, count)`, for `count` registers of eight angles."""
    emit = Emitter(lanes, fused)
    rests, quadrants = emit.stack(1), emit.stack(1)
    emit.jump("register")

    emit.enter("register")
    number = emit.phi("i64", ("0", "entry"), ("%next", "finish"))
    x = emit.load("%angles", number)
    outside = emit.integer("and", reduce(emit, x).beyond, emit.pattern(beyond_mask(lanes, fused)))
    far = emit.integer("icmp ne", outside, emit.pattern(0))
    near = reduce(emit, emit.select(far, emit.constant(0.0), x))
    emit.store(near.rest, rests)
    emit.store(emit.number(near.quadrant), quadrants)
    emit.repeat(lanes.width, lambda lane: _reduce_lane(emit, x, far, lane, rests, quadrants), unroll=False)
    emit.jump("finish")

    emit.enter("finish")
    rest, quadrant = emit.load(rests), emit.bits(emit.load(quadrants))
    sine, cosine = sine_and_cosine(emit, rest, quadrant)
    emit.store(sine, "%sines", number)
    emit.store(cosine, "%cosines", number)
    emit.do(f"%next = add i64 {number}, 1")
    emit.branch(emit.value("icmp eq i64 %next, %count"), "end", "register")
    emit.enter("end")
    emit.do("ret void")
    return emit.function(
        f"define internal void @sincos_careful_{lanes.width}(ptr %angles, ptr %sines, ptr %cosines, i64 %count) "
        "noinline nounwind"
    )


def _reduce_lane(emit: Emitter, x: Value, far: Value, lane: Index, rests: str, quadrants: str) -> None:
    """Replace the result of the fast algorithm in one lane, if its angle is too large."""
    lanes = emit.lanes
    huge, after = emit.label("huge"), emit.label("after")
    emit.branch(emit.value(f"extractelement <{lanes.width} x i1> {far}, i64 {lane}"), huge, after)
    emit.enter(huge)
    angle = emit.value(f"extractelement {lanes.real} {x}, i64 {lane}")
    if lanes.scalar != "double":
        angle = emit.value(f"fpext {lanes.scalar} {angle} to double")
    pair = emit.value(f"call {{ double, i64 }} @reduce_huge(double {angle})")
    rest, quadrant = (emit.value(f"extractvalue {{ double, i64 }} {pair}, {k}") for k in (0, 1))
    if lanes.scalar != "double":
        rest = emit.value(f"fptrunc double {rest} to {lanes.scalar}")
        quadrant = emit.value(f"trunc i64 {quadrant} to {lanes.integer}")
    offset = emit.times(lane, lanes.itemsize)
    emit.do(f"store {lanes.scalar} {rest}, ptr {emit.address(rests, offset)}, align {lanes.itemsize}")
    emit.do(f"store {lanes.integer} {quadrant}, ptr {emit.address(quadrants, offset)}, align {lanes.itemsize}")
    emit.jump(after)
    emit.enter(after)


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
    """Return the angle from the x axis to the point (x, y), in [-π, π]."""
    lanes = emit.lanes
    constant = emit.constant
    wide, tall = emit.absolute(x), emit.absolute(y)
    steep = emit.greater(emit.bits(tall), emit.bits(wide))
    behind = emit.greater(emit.pattern(0), emit.bits(x))
    n, d = emit.select(steep, wide, tall), emit.select(steep, tall, wide)
    n, d = _safe_ratio(emit, n, d, offset=(steep, behind))

    middle = emit.greater(emit.bits(n), emit.bits(emit.mul(d, constant(math.tan(math.pi / 8)))))  # (6)
    above, below = emit.select(middle, emit.sub(n, d), n), emit.select(middle, emit.add(n, d), d)
    t = emit.div(above, below)
    z = emit.fma(t, t, constant(lanes.format.underflow_guard))
    angle = emit.fma(emit.mul(z, emit.polynomial(z, ARCTANGENT[lanes.format])), t, t)  # (7)

    eighths = emit.select(middle, constant(1.0), constant(0.0))
    for mirrored, total_eighths in ((steep, 2.0), (behind, 4.0)):
        eighths = emit.select(mirrored, emit.sub(constant(total_eighths), eighths), eighths)
        angle = emit.select(mirrored, emit.neg(angle), angle)
    high, low = pieces(0.25, (lanes.fraction + 1, lanes.fraction + 1))
    total = emit.fma(eighths, constant(high), emit.fma(eighths, constant(low), angle))
    signed = emit.flip(total, emit.signs(emit.bits(y)))
    return emit.select(emit.compare("uno", x, y), constant(math.nan), signed)


def _safe_ratio(emit: Emitter, n: Value, d: Value, offset: tuple[Value, Value]) -> tuple[Value, Value]:
    """Return numerator and denominator of the same ratio with a finite sum and a denominator that is not zero.

    Where a condition of `offset` holds, a multiple of π/4 is added to the arctangent; a ratio that would underflow then
    makes no difference and is replaced by zero.
    """
    lanes, constant, pattern = emit.lanes, emit.constant, emit.pattern
    one, zero = constant(1.0), constant(0.0)
    infinity = lanes.pattern_of(math.inf)
    bits_n, bits_d = emit.bits(n), emit.bits(d)
    far_below = emit.greater(emit.integer("sub", bits_d, bits_n), pattern(100 << lanes.fraction))
    for condition in offset:
        n = emit.select(emit.conditions("and", far_below, condition), zero, n)
    huge = emit.greater(bits_d, pattern(infinity - (4 << lanes.fraction)))
    scale = emit.select(huge, constant(0.125), one)
    n, d = emit.mul(n, scale), emit.mul(d, scale)
    infinite_n, infinite_d = (emit.greater(bits, pattern(infinity - 1)) for bits in (bits_n, bits_d))
    n = emit.select(infinite_d, emit.select(infinite_n, one, zero), n)
    d = emit.select(infinite_d, one, emit.select(emit.greater(pattern(1), bits_d), one, d))
    return n, d
