"""Exponential, logarithm, power, hyperbolic tangent, arcsine, arccosine and error function of all lanes of a register.

As in `trigonometry`, nothing is called and nothing branches, and the same lines write the C code, so that every width
and the exported code give the same bits. The polynomials are minimax polynomials, found by `lab/tools/minimax.py`;
their errors are stated relative to the function that they approximate, for doubles and for floats.

**Exponential.**

    k = round(x / ln 2)        r = x - k ln 2, |r| ≤ ½ ln 2        eˣ = 2ᵏ (1 + p),   p = r + r² E(r)             (1)

ln 2 is divided into a short part, whose product with k is exact, and the rest. E: 2^-57.8, 2^-28.2. The factor 2ᵏ is
applied in two halves, because it may overflow or underflow although the result does not.

**Logarithm.** x = 2ᵏ m with √½ ≤ m < √2, and with f = m - 1, s = f / (2 + f), z = s²:

    log m = 2 artanh s = 2 s + s z L(z) = f - (½ f² - s (½ f² + z L(z)))                                          (2)

L: 2^-59.5, 2^-30.2. The last form adds small terms to f, which is exact.

**Power.** xʸ = e^(y log |x|), with the sign of x for odd integers y. The logarithm is a sum of two numbers, because its
error is multiplied by up to 745: s, s² and

    log m = 2 s + s z (2/3 + z W(z)),                 W: 2^-73.5, 2^-36.8                                          (3)

are sums of two numbers each (Dekker 1971), accurate to about 2^-66 and 2^-34. The special cases are those of C's pow.

**Hyperbolic tangent.**

    tanh x = x + x z T(z), z = x², if |x| ≤ 0.6;      1 - 2 / (e²ˣ + 1) otherwise            T: 2^-57.7, 2^-28.4   (4)

**Arcsine and arccosine.** With z = x², s = |x| if |x| ≤ ½ and z = (1 - |x|)/2, s = √z otherwise,

    t = s + s z A(z) = arcsin s                                                              A: 2^-55.9, 2^-27.6   (5)

is arcsin |x| or half of arccos |x|; the other values are differences from π/2 and π. The square root is corrected by
(z - s²) / 2s.

**Error function.**

    erf x = x + x P(z), z = x², if |x| ≤ 1;           1 - e^(x C(x)) otherwise,                                    (6)

P: 2^-56.0, 2^-29.2. C approximates log(erfc x)/x up to the number from which on erf x is rounded to 1; since e^(x C)
is subtracted from 1, its error may grow with 1/erfc x: 2^-57.9, 2^-28.6 of erf x.

The largest errors that were measured are in docs/decisions/0065-operations-without-libm.md.
"""

from __future__ import annotations

import math
from functools import cache

from appell.compile.llvm.emitter import Emitter, Value
from appell.compile.llvm.lanes import DOUBLE, FLOAT, Lanes
from appell.compile.llvm.trigonometry import divided, pieces

# Coefficients of E, L, W, T, A, P and C, the lowest power first
EXPONENTIAL = {
    DOUBLE: (
        0.5000000000000011,
        0.16666666666666424,
        0.04166666666652556,
        0.008333333333483621,
        0.0013888888944840268,
        0.00019841269533463533,
        2.4801491862792095e-05,
        2.7557560921164157e-06,
        2.763068597790323e-07,
        2.5008344344636277e-08,
    ),
    FLOAT: (
        0.4999999403953552,
        0.1666652113199234,
        0.04166829213500023,
        0.0083687212318182,
        0.001381874200887978,
    ),
}
LOGARITHM = {
    DOUBLE: (
        0.6666666666666735,
        0.39999999999409336,
        0.28571428743693,
        0.22222198428041692,
        0.18183572417518878,
        0.15313830202775744,
        0.14798282044608851,
    ),
    FLOAT: (
        0.6666677594184875,
        0.39977577328681946,
        0.2987106740474701,
    ),
}
POWER = {
    DOUBLE: (
        0.3999999999999998,
        0.2857142857144385,
        0.22222222217785295,
        0.18181818844686762,
        0.15384558373785753,
        0.13336266822982498,
        0.11675730059519461,
        0.11982198705549169,
    ),
    FLOAT: (
        0.40000152587890625,
        0.2854709029197693,
        0.23419632017612457,
    ),
}
TANGENT = {
    DOUBLE: (
        -0.33333333333333126,
        0.13333333333299768,
        -0.053968253949324245,
        0.02186948800279462,
        -0.008863226775580105,
        0.003592037327992344,
        -0.0014552149238782645,
        0.0005871864050653982,
        -0.00023039162517436406,
        7.930672480167841e-05,
        -1.7174515249551252e-05,
    ),
    FLOAT: (
        -0.33333298563957214,
        0.13331936299800873,
        -0.05378471687436104,
        0.02079862542450428,
        -0.005897966213524342,
    ),
}
ARCSINE = {
    DOUBLE: (
        0.16666666666665403,
        0.07500000000338608,
        0.044642856826929166,
        0.03038195919726393,
        0.022371756553646913,
        0.01735972800213132,
        0.013884999959470928,
        0.01217079457910108,
        0.006520977675572992,
        0.019547816465057915,
        -0.0162555455939936,
        0.0319341292647599,
    ),
    FLOAT: (
        0.16666752099990845,
        0.07495306432247162,
        0.04546976462006569,
        0.024180850014090538,
        0.04216623306274414,
    ),
}
ERROR = {
    DOUBLE: (
        0.12837916709551256,
        -0.37612638903183343,
        0.1128379167093694,
        -0.02686617064195554,
        0.005223977596687706,
        -0.0008548325481603702,
        0.00012055280353078768,
        -1.492446183199763e-05,
        1.6444087091941332e-06,
        -1.6183350436737023e-07,
        1.3613141438994075e-08,
        -7.599505061910232e-10,
    ),
    FLOAT: (
        0.12837916612625122,
        -0.3761262595653534,
        0.11283578723669052,
        -0.02685343287885189,
        0.005187594331800938,
        -0.000800443347543478,
        7.838238525437191e-05,
    ),
}
COMPLEMENT = {
    DOUBLE: (
        -1.128379110826322,
        -0.636620252975597,
        -0.1027708257960896,
        0.019124961251249434,
        0.00021204275705681363,
        -0.0016926165139531072,
        0.000574667537742811,
        9.678546775396725e-07,
        -9.54822687668733e-05,
        5.6036482470914115e-05,
        -2.0350600571220135e-05,
        5.38502033997048e-06,
        -1.0780771492626148e-06,
        1.6301478618132858e-07,
        -1.812950423977481e-08,
        1.4023031200551569e-09,
        -6.744045914823948e-11,
        1.5186501010566197e-12,
    ),
    FLOAT: (
        -1.128480076789856,
        -0.635831356048584,
        -0.10511628538370132,
        0.02279854193329811,
        -0.0031869644299149513,
        0.0002106440661009401,
    ),
}

MAX_EXPONENT = {DOUBLE: 750.0, FLOAT: 110.0}  # beyond it, the exponential is 0 or infinite
HALF_BIAS = {DOUBLE: 1100, FLOAT: 160}  # k + 2 HALF_BIAS > 0 for every k
LN2_BITS = {DOUBLE: (42, 53), FLOAT: (15, 24)}  # of the parts of ln 2: the first times k is exact
MAX_TANH_ARGUMENT = {DOUBLE: 22.0, FLOAT: 10.0}  # from here on, tanh is rounded to 1
MAX_ERF_ARGUMENT = {DOUBLE: 5.95, FLOAT: 4.0}  # from here on, erf is rounded to 1
MAX_POWER_EXPONENT = {DOUBLE: 2.0**65, FLOAT: 2.0**33}  # from here on, every power but those of ±1 is 0 or infinite


@cache
def _ln2(lanes: Lanes) -> tuple[float, ...]:
    """Return ln 2 = 2 artanh(1/3) in two parts."""
    bits = 200
    term, total, n = (2 << bits) // 3, 0, 1
    while term:
        total += term // n
        term //= 9
        n += 2
    return divided(total, bits, LN2_BITS[lanes.format])


# ---- sums of two numbers


def _exact_product(emit: Emitter, x: Value, y: Value) -> tuple[Value, Value]:
    """Return x y, rounded, and its error."""
    product = emit.mul(x, y)
    if emit.fused:
        return product, emit.fms(x, y, product)
    (a, b), (c, d) = _halves(emit, x), _halves(emit, y)
    crossed = emit.add(emit.add(emit.sub(emit.mul(a, c), product), emit.mul(a, d)), emit.mul(b, c))
    return product, emit.add(crossed, emit.mul(b, d))


def _halves(emit: Emitter, x: Value) -> tuple[Value, Value]:
    """Return x as a sum of two numbers of half as many digits."""
    mask = emit.pattern(-(1 << (emit.lanes.fraction // 2 + 1)))
    high = emit.number(emit.integer("and", emit.bits(x), mask))
    return high, emit.sub(x, high)


def _rest(emit: Emitter, x: Value, y: Value, z: Value) -> Value:
    """Return z - x y for a z near x y, without rounding the product."""
    if emit.fused:
        return emit.fnma(x, y, z)
    product, error = _exact_product(emit, x, y)
    return emit.sub(emit.sub(z, product), error)


def _exact_sum(emit: Emitter, large: Value, small: Value) -> tuple[Value, Value]:
    """Return the sum, rounded, and its error."""
    total = emit.add(large, small)
    return total, emit.sub(small, emit.sub(total, large))


# ---- numbers


def _is_above(emit: Emitter, x: Value, limit: float) -> Value:
    """Return where a number x that is not negative exceeds a limit; NaN does."""
    return emit.greater(emit.bits(x), emit.pattern(emit.lanes.pattern_of(limit)))


def _is_zero(emit: Emitter, size: Value) -> Value:
    return emit.greater(emit.pattern(1), emit.bits(size))


def _limited(emit: Emitter, x: Value, limit: float) -> Value:
    """Return x with a magnitude of at most `limit`; NaN becomes the limit."""
    signed = emit.flip(emit.constant(limit), emit.signs(emit.bits(x)))
    return emit.select(_is_above(emit, emit.absolute(x), limit), signed, x)


def _nan_from(emit: Emitter, x: Value, result: Value) -> Value:
    """Return the result, NaN where x is."""
    return emit.select(emit.compare("uno", x, x), emit.constant(math.nan), result)


def _square(emit: Emitter, x: Value) -> Value:
    return emit.fma(x, x, emit.constant(emit.lanes.format.underflow_guard))


# ---- exponential


def _reduced(emit: Emitter, x: Value, low: Value | None = None) -> tuple[Value, Value]:
    """Return k + 2 HALF_BIAS as integers and p of e^(x + low) = 2ᵏ (1 + p), by equation (1)."""
    lanes = emit.lanes
    middle = lanes.magic + 2 * HALF_BIAS[lanes.format]
    rounded = emit.fma(x, emit.constant(1 / math.log(2)), emit.constant(middle))
    k = emit.sub(rounded, emit.constant(middle))
    high, rest = (emit.constant(part) for part in _ln2(lanes))
    r = emit.fnma(k, high, x)
    r = emit.fnma(k, rest, r) if low is None else emit.sub(r, emit.fms(k, rest, low))
    p = emit.fma(_square(emit, r), emit.polynomial(r, EXPONENTIAL[lanes.format]), r)
    return emit.integer("sub", emit.bits(rounded), emit.pattern(lanes.pattern_of(lanes.magic))), p


def _power_of_two(emit: Emitter, exponent: Value, bias: int) -> Value:
    """Return 2^(exponent - bias)."""
    lanes = emit.lanes
    shift = emit.pattern((lanes.pattern_of(1.0) >> lanes.fraction) - bias)
    return emit.number(emit.integer("shl", emit.integer("add", exponent, shift), emit.pattern(lanes.fraction)))


def _scaled(emit: Emitter, exponent: Value, p: Value) -> Value:
    """Return 2ᵏ (1 + p)."""
    half, bias = emit.integer("lshr", exponent, emit.pattern(1)), HALF_BIAS[emit.lanes.format]
    other = emit.integer("sub", exponent, half)
    scaled = emit.mul(emit.add(p, emit.constant(1.0)), _power_of_two(emit, half, bias))
    return emit.mul(scaled, _power_of_two(emit, other, bias))


def exp(emit: Emitter, x: Value) -> Value:
    """Return eˣ."""
    is_nan, limited = emit.compare("uno", x, x), _limited(emit, x, MAX_EXPONENT[emit.lanes.format])
    result = _scaled(emit, *_reduced(emit, emit.select(is_nan, emit.constant(0.0), limited)))  # raise no overflow
    return emit.select(is_nan, emit.constant(math.nan), result)


# ---- logarithm and power


def _split(emit: Emitter, x: Value) -> tuple[Value, Value]:
    """Return k and m of a positive x = 2ᵏ m with √½ ≤ m < √2."""
    lanes, fraction = emit.lanes, emit.pattern(emit.lanes.fraction)
    lift = lanes.fraction + 2
    tiny = emit.greater(emit.pattern(1 << lanes.fraction), emit.bits(x))  # a subnormal number
    bits = emit.bits(emit.select(tiny, emit.mul(x, emit.constant(2.0**lift)), x))
    bias = (lanes.pattern_of(1.0) >> lanes.fraction) + 1
    offset = (bias << lanes.fraction) - lanes.pattern_of(math.sqrt(0.5))
    exponent = emit.integer("lshr", emit.integer("add", bits, emit.pattern(offset)), fraction)
    moved = emit.integer("sub", bits, emit.integer("shl", exponent, fraction))
    m = emit.number(emit.integer("add", moved, emit.pattern(bias << lanes.fraction)))
    integer = emit.number(emit.integer("or", exponent, emit.pattern(lanes.pattern_of(2.0**lanes.fraction))))
    zero = 2.0**lanes.fraction + bias
    return emit.sub(integer, emit.select(tiny, emit.constant(zero + lift), emit.constant(zero))), m


def log(emit: Emitter, x: Value) -> Value:
    """Return the natural logarithm of x, by equation (2)."""
    lanes, size, sign = emit.lanes, emit.absolute(x), emit.bits(x)
    k, m = _split(emit, size)
    f = emit.sub(m, emit.constant(1.0))
    s = emit.div(f, emit.add(f, emit.constant(2.0)))
    z, half = emit.mul(s, s), emit.mul(emit.mul(f, emit.constant(0.5)), f)
    high, low = (emit.constant(part) for part in _ln2(lanes))
    series = emit.mul(z, emit.polynomial(z, LOGARITHM[lanes.format]))
    correction = emit.fma(s, emit.add(half, series), emit.mul(k, low))
    result = emit.fma(k, high, emit.sub(f, emit.sub(half, correction)))
    result = emit.select(_is_above(emit, size, _largest(lanes)), x, result)
    beyond = emit.select(_is_zero(emit, size), emit.constant(-math.inf), emit.constant(math.nan))
    return emit.select(emit.greater(emit.pattern(1), sign), beyond, result)


def _largest(lanes: Lanes) -> float:
    """Return the largest finite number."""
    return (2.0 - 2.0**-lanes.fraction) * 2.0 ** (lanes.pattern_of(1.0) >> lanes.fraction)


def _long_log(emit: Emitter, size: Value) -> tuple[Value, Value]:
    """Return log |x| as a sum of two numbers, by equation (3)."""
    lanes, constant = emit.lanes, emit.constant
    k, m = _split(emit, size)
    one = constant(1.0)
    f = emit.sub(m, one)
    d, d_low = _exact_sum(emit, one, m)
    inverse = emit.div(one, d)
    s = emit.mul(f, inverse)
    s_low = emit.mul(emit.fnma(s, d_low, _rest(emit, s, d, f)), inverse)
    z, z_error = _exact_product(emit, s, s)
    z_low = emit.fma(emit.add(s, s), s_low, z_error)

    third_bits = lanes.fraction + 1
    third, third_low = divided((2 << 200) // 3, 200, (third_bits, third_bits))
    u, u_error = _exact_sum(emit, constant(third), emit.mul(z, emit.polynomial(z, POWER[lanes.format])))
    u_low = emit.add(u_error, constant(third_low))
    v, v_error = _exact_product(emit, z, u)
    v_low = emit.add(v_error, emit.fma(z, u_low, emit.mul(z_low, u)))
    q, q_error = _exact_product(emit, s, v)
    q_low = emit.add(q_error, emit.fma(s, v_low, emit.mul(s_low, v)))
    part, part_error = _exact_sum(emit, emit.add(s, s), q)
    part_low = emit.add(part_error, emit.add(q_low, emit.add(s_low, s_low)))

    high, low = (constant(piece) for piece in _ln2(lanes))
    total, error = _exact_sum(emit, emit.mul(k, high), part)
    return _exact_sum(emit, total, emit.add(error, emit.fma(k, low, part_low)))


def power(emit: Emitter, x: Value, y: Value) -> Value:
    """Return xʸ."""
    lanes, constant, pattern = emit.lanes, emit.constant, emit.pattern
    size, exponent = emit.absolute(x), emit.absolute(y)
    high, low = _long_log(emit, size)
    limited = _limited(emit, y, MAX_POWER_EXPONENT[lanes.format])
    product, error = _exact_product(emit, limited, high)
    rest = emit.fma(limited, low, error)
    top, is_nan = MAX_EXPONENT[lanes.format], emit.compare("uno", x, y)
    rest = emit.select(_is_above(emit, emit.absolute(product), top), constant(0.0), rest)
    bounded = emit.select(is_nan, constant(0.0), _limited(emit, product, top))
    result = _scaled(emit, *_reduced(emit, bounded, rest))

    sign_x, sign_y = emit.signs(emit.bits(x)), emit.signs(emit.bits(y))
    is_zero, is_infinite = _is_zero(emit, size), _is_above(emit, size, _largest(lanes))
    shrinks = emit.greater(pattern(0), sign_y)  # of an infinite x; of 0 the opposite
    of_infinite = emit.select(shrinks, constant(0.0), constant(math.inf))
    of_zero = emit.select(shrinks, constant(math.inf), constant(0.0))
    result = emit.select(is_zero, of_zero, emit.select(is_infinite, of_infinite, result))

    digits = 2.0**lanes.fraction  # larger numbers are integers; the sum shows the lowest digit of smaller ones
    shifted = emit.add(exponent, constant(digits))
    is_small = emit.greater(pattern(lanes.pattern_of(digits)), emit.bits(exponent))
    integer = emit.select(is_small, emit.sub(shifted, constant(digits)), exponent)
    last = emit.bits(emit.select(is_small, shifted, exponent))
    odd = emit.integer("shl", last, pattern(lanes.integer_bits - 1))
    is_even = _is_above(emit, exponent, 2.0 * digits - 1.0)
    is_fractional = emit.integer("icmp ne", emit.bits(integer), emit.bits(exponent))
    negated = emit.flip(result, emit.integer("and", sign_x, odd))
    undefined = emit.select(is_zero, result, emit.select(is_infinite, result, constant(math.nan)))
    of_fraction = emit.select(emit.greater(pattern(0), sign_x), undefined, result)
    result = emit.select(is_fractional, of_fraction, emit.select(is_even, result, negated))
    result = emit.select(is_nan, constant(math.nan), result)
    is_one = emit.integer("icmp eq", emit.bits(x), pattern(lanes.pattern_of(1.0)))
    return emit.select(is_one, constant(1.0), emit.select(_is_zero(emit, exponent), constant(1.0), result))


# ---- functions of bounded range


def tanh(emit: Emitter, x: Value) -> Value:
    """Return the hyperbolic tangent, by equation (4)."""
    lanes, size, one = emit.lanes, emit.absolute(x), emit.constant(1.0)
    limited = _limited(emit, size, MAX_TANH_ARGUMENT[lanes.format])
    exponent, p = _reduced(emit, emit.add(limited, limited))
    scale = _power_of_two(emit, exponent, 2 * HALF_BIAS[lanes.format])
    large = emit.sub(one, emit.div(emit.constant(2.0), emit.fma(scale, p, emit.add(scale, one))))
    z = _square(emit, limited)
    small = emit.fma(emit.mul(z, emit.polynomial(z, TANGENT[lanes.format])), size, size)
    result = emit.flip(emit.select(_is_above(emit, size, 0.6), large, small), emit.signs(emit.bits(x)))
    return _nan_from(emit, x, result)


def erf(emit: Emitter, x: Value) -> Value:
    """Return the error function, by equation (6)."""
    lanes, size, one = emit.lanes, emit.absolute(x), emit.constant(1.0)
    limited = _limited(emit, size, MAX_ERF_ARGUMENT[lanes.format])
    exponent, p = _reduced(emit, emit.mul(limited, emit.polynomial(limited, COMPLEMENT[lanes.format])))
    scale = _power_of_two(emit, exponent, 2 * HALF_BIAS[lanes.format])
    large = emit.sub(one, emit.fma(scale, p, scale))
    small = emit.fma(emit.polynomial(_square(emit, limited), ERROR[lanes.format]), size, size)
    result = emit.flip(emit.select(_is_above(emit, size, 1.0), large, small), emit.signs(emit.bits(x)))
    return _nan_from(emit, x, result)


def _half_angle(emit: Emitter, size: Value) -> tuple[Value, Value, Value]:
    """Return where |x| > ½, and t of equation (5) as a sum of s and a smaller number."""
    steep = _is_above(emit, size, 0.5)
    z = emit.mul(emit.sub(emit.constant(1.0), size), emit.constant(0.5))
    root = emit.sqrt(emit.select(steep, z, emit.constant(0.25)))
    z = emit.select(steep, z, _square(emit, size))
    s = emit.select(steep, root, size)
    correction = emit.div(_rest(emit, root, root, z), emit.add(emit.add(root, root), _guard(emit)))
    correction = emit.select(steep, correction, emit.constant(0.0))
    series = emit.mul(z, emit.polynomial(z, ARCSINE[emit.lanes.format]))
    return steep, s, emit.fma(series, s, correction)


def _guard(emit: Emitter) -> Value:
    """Return a number that changes no sum but that of zeros."""
    return emit.constant(emit.lanes.format.underflow_guard)


def arcsin(emit: Emitter, x: Value) -> Value:
    """Return the arcsine, in [-π/2, π/2]."""
    size, digits = emit.absolute(x), emit.lanes.fraction + 1
    steep, s, rest = _half_angle(emit, size)
    right, right_low = (emit.constant(part) for part in pieces(0.5, (digits, digits)))
    across = emit.sub(emit.sub(right, emit.add(s, s)), emit.sub(emit.add(rest, rest), right_low))
    return emit.flip(emit.select(steep, across, emit.add(s, rest)), emit.signs(emit.bits(x)))


def arccos(emit: Emitter, x: Value) -> Value:
    """Return the arccosine, in [0, π]."""
    size, digits, sign = emit.absolute(x), emit.lanes.fraction + 1, emit.signs(emit.bits(x))
    steep, s, rest = _half_angle(emit, size)
    right, right_low = (emit.constant(part) for part in pieces(0.5, (digits, digits)))
    straight, straight_low = (emit.constant(part) for part in pieces(1.0, (digits, digits)))
    near = emit.sub(right, emit.add(emit.flip(s, sign), emit.sub(emit.flip(rest, sign), right_low)))
    ahead = emit.add(s, rest)
    behind = emit.sub(emit.sub(straight, emit.add(s, s)), emit.sub(emit.add(rest, rest), straight_low))
    beyond = emit.select(emit.greater(emit.pattern(0), sign), behind, emit.add(ahead, ahead))
    return emit.select(steep, beyond, near)
