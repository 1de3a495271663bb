"""Sine and cosine of a whole register, without branches and without a mathematical library.

    k = round(x · 2/π)            r = x - k π/2,   |r| ≤ π/4                      (1)
    sin r = r + r·z·S(z)          cos r = 1 + z·C(z)          z = r²              (2)
    k mod 4 = 0, 1, 2, 3:         sin x = s, c, -s, -c        cos x = c, -s, -c, s (3)

(1) Adding 1.5 · 2^fraction to x · 2/π rounds it to an integer, whose lowest bits are then the lowest bits of the sum: k
as a number and its quadrant cost one fused instruction. π/2 is cut into pieces (Cody and Waite 1980). With fused
instructions x - k·p₁ is exact, being a multiple of the last bit of p₁ and below one; without them the pieces are so
short that k·p is exact.

(2) S and C are minimax polynomials for the relative error on |r| ≤ 1.002 π/4, found by Remez' exchange: 2^-57.9 and
2^-53.8 for doubles, 2^-27.9 and 2^-24.6 for floats. z = r² + 2^-1000 has the same bits as r² for every r that z can
change, but never underflows, so a tiny angle raises no flag; for the same reason r·z is never formed.

(1) holds only while k is small. The caller tests `Reduced.beyond` and takes the careful way (`payne_hanek`) for the
rest. The result is within 1.5 units in the last place. The sine of -0 is +0, the one sign that C gives otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from appell.compile.emit.circle import pieces
from appell.compile.emit.emitter import Emitter, Value
from appell.compile.emit.lanes import DOUBLE, FLOAT, NARROW, Lanes


@dataclass(frozen=True)
class Series:
    """What the formulas need for one format."""

    sine: tuple[float, ...]
    cosine: tuple[float, ...]
    fused: tuple[int, ...]  # bits of the pieces of π/2 where x y + z rounds once
    unfused: tuple[int, ...]  # and where it rounds twice
    fused_limit: int  # |k| < 2^limit keeps r as good as the machine can tell
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
    """The fast way holds for |k| < 2^limit."""
    return SERIES[lanes.format].fused_limit if fused else SERIES[lanes.format].unfused_limit


@dataclass(frozen=True)
class Reduced:
    """An angle less a whole number of right angles."""

    rest: Value  # r
    quadrant: Value  # integers whose two lowest bits are k mod 4
    beyond: Value  # integers that have a bit of `beyond_mask` set where k is too large, or no number


def beyond_mask(lanes: Lanes, fused: bool) -> int:
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
    # k + 2^limit, which lies in [0, 2^(limit+1)) for every k that is small enough: no bit of `magic` stands there
    return Reduced(rest, quadrant, emit.integer("xor", quadrant, emit.pattern(lanes.pattern_of(lanes.magic))))


def sine_and_cosine(emit: Emitter, r: Value, quadrant: Value) -> tuple[Value, Value]:
    """Equations (2) and (3)."""
    lanes, series = emit.lanes, SERIES[emit.lanes.format]
    z = emit.fma(r, r, emit.constant(lanes.format.smallest))
    sine = emit.fma(emit.mul(z, emit.polynomial(z, series.sine)), r, r)
    cosine = emit.fma(z, emit.polynomial(z, series.cosine), emit.constant(1.0))

    swap, sine_sign, cosine_sign = _signs(emit, quadrant)
    return (
        emit.flip(emit.select(swap, cosine, sine), sine_sign),
        emit.flip(emit.select(swap, sine, cosine), cosine_sign),
    )


def _signs(emit: Emitter, quadrant: Value) -> tuple[Value, Value, Value]:
    """Where the two change places, and the bits that change their signs, by equation (3).

    Wide registers are selected by masks, which a test gives, and one instruction does three logical operations; others
    are selected by sign bits.
    """
    top = emit.lanes.integer_bits - 1
    second = emit.integer("shl", quadrant, emit.pattern(top - 1))
    if emit.lanes.bytes > NARROW:
        odd = emit.integer("and", quadrant, emit.pattern(1))
        beside = emit.integer("add", second, emit.pattern(1 << (top - 1)))
        return emit.integer("icmp ne", odd, emit.pattern(0)), emit.signs(second), emit.signs(beside)
    odd, sine_sign = emit.integer("shl", quadrant, emit.pattern(top)), emit.signs(second)
    return emit.greater(emit.pattern(0), odd), sine_sign, emit.integer("xor", sine_sign, odd)
