"""π to as many bits as anyone asks for, so that no table of its digits has to be believed.

    π = 16 arctan(1/5) - 4 arctan(1/239)                                        (Machin 1706)
    arctan(1/m) = 1/m - 1/(3 m³) + 1/(5 m⁵) - …

Everything the machine code knows about the circle is cut from these integers: the pieces of π/2 that reduce a moderate
angle and the window of 2/π that reduces a huge one.
"""

from __future__ import annotations

import math
from functools import cache

_GUARD = 64  # bits that absorb the truncation of some hundred terms


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
    """⌊π 2^bits⌋, give or take one."""
    wide = bits + _GUARD
    return (16 * _arctan_of_inverse(5, wide) - 4 * _arctan_of_inverse(239, wide)) >> _GUARD


@cache
def two_over_pi(bits: int) -> int:
    """⌊2/π 2^bits⌋, give or take one."""
    return (2 << (2 * bits + _GUARD)) // pi(bits + _GUARD)


def pieces(multiple: float, widths: tuple[int, ...]) -> tuple[float, ...]:
    """`multiple` · π as a sum of numbers, each but the last cut to so many bits, the last rounded to them."""
    bits = 400
    rest = pi(bits) * int(multiple * 4) // 4
    parts = []
    for position, width in enumerate(widths):
        shift = max(rest.bit_length() - width, 0)
        half = (1 << shift) >> 1 if position == len(widths) - 1 else 0
        part = (rest + half) >> shift << shift
        parts.append(math.ldexp(part >> shift, shift - bits))
        rest -= part
    return tuple(parts)
