"""Angles of any size: the careful way round the circle (Payne and Hanek 1983).

A number is x = m · 2^e with an integer m below 2^53. Of the endless bits of 2/π, those above 2^(2-e) contribute whole
turns and those far below 2^-e nothing that a double can show, so a window of 192 bits holds all that matters:

    w = ⌊2/π · 2^(e+190)⌋ mod 2^192         x · 2/π mod 4 = (m w mod 2^192) / 2^190      (1)

with an error below 2^-137. No double comes closer than 2^-62 to a multiple of π/2, so 75 good bits remain. The nearest
integer is the quadrant; the fraction times π/2 is the rest. LLVM knows 256-bit integers, which makes this one routine.

`@sincos_careful` serves a whole list of registers: lanes in the fast range get the very bits of the fast way, the
others this routine, numbers that are not finite NaN.
"""

from __future__ import annotations

from appell.compile.emit.circle import pi, two_over_pi
from appell.compile.emit.emitter import Emitter, Index, Value
from appell.compile.emit.lanes import Lanes
from appell.compile.emit.sincos import beyond_mask, reduce, sine_and_cosine

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
    """The routine on one double, any that is not small."""
    table = two_over_pi(DIGITS).to_bytes(_TABLE_BYTES, "little")
    return _REDUCE_HUGE.format(
        bytes=_TABLE_BYTES,
        digits=", ".join(f"i8 {byte}" for byte in table),
        position=DIGITS - FRACTION + 1075,
        half=1 << 253,
        half_pi=pi(62),
    )


def sincos_careful(lanes: Lanes, fused: bool) -> str:
    """`void @sincos_careful(angles, sines, cosines, count)`: blocks of registers, whatever is in them."""
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
    emit.repeat(lanes.width, lambda lane: _mend(emit, x, far, lane, rests, quadrants), unroll=False)
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
        "define internal void @sincos_careful(ptr %angles, ptr %sines, ptr %cosines, i64 %count) noinline nounwind"
    )


def _mend(emit: Emitter, x: Value, far: Value, lane: Index, rests: str, quadrants: str) -> None:
    """Replace what the fast way has found for one lane, if that lane is beyond it."""
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
