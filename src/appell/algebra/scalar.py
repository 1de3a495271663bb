"""Numbers that algorithms compute with: a Python float, or the traced scalar of `appell.compile.tape.trace`.

An algorithm never asks which of the two it has. The functions below do: a number goes to `math`, a traced scalar to its
own method of the same name.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

import numpy as np

Scalar = Any  # float or a traced scalar; the two share arithmetic but no base class
Vector = Sequence[Scalar]
Matrix = list[list[Scalar]]  # rows


def is_number(x: Scalar) -> bool:
    """True for a literal number, of Python or of NumPy; false for a traced scalar."""
    return isinstance(x, (int, float, np.floating, np.integer))


def plain(x: Scalar) -> Scalar:
    """A number of NumPy as one of Python, which does not compute in single precision; anything else as it is."""
    return float(x) if isinstance(x, np.number) else x


def sin(x: Scalar) -> Scalar:
    """The sine of a number or a traced scalar."""
    return math.sin(x) if is_number(x) else x.sin()


def cos(x: Scalar) -> Scalar:
    """The cosine of a number or a traced scalar."""
    return math.cos(x) if is_number(x) else x.cos()


def sqrt(x: Scalar) -> Scalar:
    """The square root of a number or a traced scalar."""
    return math.sqrt(x) if is_number(x) else x.sqrt()


def inverse_sqrt(x: Scalar) -> Scalar:
    """1/√x; not a number for the number 0 and what is below it."""
    return math.nan if is_number(x) and not x > 0.0 else 1.0 / sqrt(x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """The angle of the point (x, y), in (-π, π]."""
    if is_number(y) and is_number(x):
        return math.atan2(y, x)
    return y.atan2(x) if not is_number(y) else x.atan2_of(y)


def nearest(x: Scalar) -> Scalar:
    """The whole number nearest to x, of two the even one."""
    if not is_number(x):
        return x.rint()
    return math.copysign(round(x), x) if math.isfinite(x) else x


def floor(x: Scalar) -> Scalar:
    """The whole number at or below x."""
    rounded = nearest(x)
    return select(rounded - x, rounded - 1.0, rounded)


def level(x: Scalar) -> Scalar:
    """A power of two of the size of x, by which numbers can be scaled exactly before they are squared.

    It is 2^(8k-3) with 2⁻⁴ ≤ |x| / level < 2⁴: the exponent of x with its lowest three bits replaced by 100. The
    least of them belongs to zero and all numbers near it, the greatest also to what is not finite; they have inverses,
    and four of them a sum.
    """
    if not is_number(x):
        return x.level()
    (bits,) = struct.unpack("<q", struct.pack("<d", x))
    return struct.unpack("<d", struct.pack("<q", bits & (0x7F8 << 52) | 4 << 52))[0]


def dot(x: Vector, y: Vector) -> Scalar:
    """Σ xₖ yₖ."""
    return sum((a * b for a, b in zip(x, y, strict=True)), start=0.0)


def select(condition: Scalar, if_positive: Scalar, otherwise: Scalar) -> Scalar:
    """`if_positive` where the condition is > 0, else `otherwise`: the branch that a tape can hold."""
    if is_number(condition):
        return if_positive if condition > 0 else otherwise
    return condition.select(if_positive, otherwise)


def snap(x: float, tolerance: float = 4e-16) -> float:
    """A number, or the 0, 1 or -1 that it misses by rounding, so that products with it fold away."""
    for exact in (0.0, 1.0, -1.0):
        if abs(x - exact) <= tolerance:
            return exact
    return x


def clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """x, or the bound that it passes."""
    return select(x - high, high, select(low - x, low, x))


def positive(x: Scalar) -> Scalar:
    """x where it is positive, else 0."""
    return select(x, x, 0.0)


def magnitude(x: Scalar) -> Scalar:
    return select(x, x, -x)


def larger(x: Scalar, y: Scalar) -> Scalar:
    return select(x - y, x, y)


def largest(values: Iterable[Scalar]) -> Scalar:
    return reduce(larger, values)
