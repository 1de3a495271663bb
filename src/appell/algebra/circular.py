"""Circular functions of numbers, with the same bits on every system.

C libraries differ in the last digit of a sine or an angle, and constants of robots are computed from them. These
functions use integers: a number x stands for the integer x 2^B. The argument is reduced by multiples of π/2. Taylor
series give sine and cosine, and one division rounds the result. An angle θ = atan2(y, x) is the value θ₀ of the C
library plus the angle that remains,

    tan δ = (y cos θ₀ - x sin θ₀) / (x cos θ₀ + y sin θ₀)          δ = tan δ, to δ³                                 (1)

so that it does not depend on the library. Results are rounded correctly, except where an exact result is within about
2⁻¹⁵ of the distance of two numbers from the middle between them.
"""

from __future__ import annotations

import math

_BITS = 144
_ONE = 1 << _BITS
_EXTRA = 64  # more bits of π/2, because multiples of it are subtracted
_HALF_PI = 0x1921FB54442D18469898CC51701B839A252049C1114CF98E80417  # π/2 with _BITS + _EXTRA bits behind the point
MAX_REDUCED = 2.0**60  # beyond it the library computes
MAX_LINEAR_SINE = 2.0**-27  # sin x = x and cos x = 1 up to here, after rounding
MAX_LINEAR_SLOPE = 2.0**-60  # atan x = x up to here
_SINE = [(-1) ** k * (_ONE // math.factorial(2 * k + 1)) for k in reversed(range(16))]
_COSINE = [(-1) ** k * (_ONE // math.factorial(2 * k)) for k in reversed(range(16))]


def sine(x: float) -> float:
    """Return sin x, x in rad."""
    return x if abs(x) < MAX_LINEAR_SINE else _circle(x)[0] / _ONE if abs(x) < MAX_REDUCED else math.sin(x)


def cosine(x: float) -> float:
    """Return cos x, x in rad."""
    return 1.0 if abs(x) < MAX_LINEAR_SINE else _circle(x)[1] / _ONE if abs(x) < MAX_REDUCED else math.cos(x)


def angle(y: float, x: float) -> float:
    """Return the angle of the point (x, y) in rad, in [-π, π], as `math.atan2`."""
    if x == 0.0 or y == 0.0 or not (math.isfinite(x) and math.isfinite(y)):
        return math.atan2(y, x)
    if abs(y) < MAX_LINEAR_SLOPE * x:
        return y / x
    (n, over), (m, under) = y.as_integer_ratio(), x.as_integer_ratio()
    return _angle(n * under, m * over, math.atan2(y, x))


def arcsine(x: float) -> float:
    """Return the angle in [-π/2, π/2] with the sine x."""
    guess, (n, d) = math.asin(x), x.as_integer_ratio()
    return x if abs(x) < MAX_LINEAR_SINE else _angle(n << _BITS, math.isqrt((d * d - n * n) << 2 * _BITS), guess)


def arccosine(x: float) -> float:
    """Return the angle in [0, π] with the cosine x."""
    guess, (n, d) = math.acos(x), x.as_integer_ratio()
    return _angle(math.isqrt((d * d - n * n) << 2 * _BITS), n << _BITS, guess)


def _circle(x: float) -> tuple[int, int]:
    """Return sin x and cos x as integers."""
    n, d = x.as_integer_ratio()
    fixed = (n << _BITS + _EXTRA) // d
    quarters = (2 * fixed + _HALF_PI) // (2 * _HALF_PI)
    rest = fixed - quarters * _HALF_PI >> _EXTRA
    s, c = _sum(_SINE, rest) * rest >> _BITS, _sum(_COSINE, rest)
    return ((s, c), (c, -s), (-s, -c), (-c, s))[quarters % 4]


def _sum(coefficients: list[int], rest: int) -> int:
    """Return the polynomial of rest² with these coefficients, highest power first."""
    square, total = rest * rest >> _BITS, 0
    for coefficient in coefficients:
        total = (total * square >> _BITS) + coefficient
    return total


def _angle(y: int, x: int, guess: float) -> float:
    """Return the angle of a point from a value near it, by (1)."""
    s, c = _circle(guess)
    n, d = guess.as_integer_ratio()
    return ((n << _BITS) // d + ((y * c - x * s) << _BITS) // (x * c + y * s)) / _ONE
