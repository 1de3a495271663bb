"""Abstract scalars: the numbers that algorithms compute with, Python floats or traced scalars.

Algorithms do not distinguish the two. The functions below do: they apply `math` to a number, and call the method of the
same name of a traced scalar (`appell.compile.tape.trace`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from functools import reduce
from numbers import Real
from typing import Any

import numpy as np

Scalar = Any  # float or a traced scalar; the two share arithmetic but no base class
Vector = Sequence[Scalar]
Matrix = list[list[Scalar]]  # rows


def is_number(x: Scalar) -> bool:
    """Return whether x is a number of Python or NumPy, not a traced scalar."""
    return isinstance(x, (int, float, np.floating, np.integer))


def plain(x: Scalar) -> Scalar:
    """Return a NumPy number as a Python float, so that nothing is computed in single precision; others unchanged."""
    return float(x) if isinstance(x, np.number) else x


def real_array(values: Any) -> np.ndarray:
    """Return real numbers as an array of floats; raise TypeError, ValueError or OverflowError for anything else.

    Unlike `np.asarray(values, float)`, it does not drop imaginary parts, and accepts neither texts, dates nor None.
    """
    array = np.asarray(values)
    objects = array.dtype.kind == "O" and all(isinstance(x, Real) for x in array.flat)
    if array.dtype.kind not in "biuf" and not objects:
        raise TypeError(f"an array of {array.dtype} is not an array of real numbers")
    return array.astype(float)


def sin(x: Scalar) -> Scalar:
    """Return the sine of a number or traced scalar, in rad."""
    return math.sin(x) if is_number(x) else x.sin()


def cos(x: Scalar) -> Scalar:
    """Return the cosine of a number or traced scalar, in rad."""
    return math.cos(x) if is_number(x) else x.cos()


def sqrt(x: Scalar) -> Scalar:
    """Return the square root of a number or traced scalar."""
    return math.sqrt(x) if is_number(x) else x.sqrt()


def inverse_sqrt(x: Scalar) -> Scalar:
    """Return 1/√x; NaN for numbers that are not positive."""
    return math.nan if is_number(x) and not x > 0.0 else 1.0 / sqrt(x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Return the angle of the point (x, y) in rad, in (-π, π]."""
    if is_number(y) and is_number(x):
        return math.atan2(y, x)
    return y.atan2(x) if not is_number(y) else x.atan2_of(y)


def nearest(x: Scalar) -> Scalar:
    """Return the integer nearest to x; ties go to the even integer."""
    if not is_number(x):
        return x.rint()
    return math.copysign(round(x), x) if math.isfinite(x) else x


def floor(x: Scalar) -> Scalar:
    """Return the largest integer that is not greater than x."""
    rounded = nearest(x)
    return select(rounded - x, rounded - 1.0, rounded)


def level(x: Scalar) -> Scalar:
    """Return a power of two near |x|, by which numbers are scaled exactly before they are squared.

    It is 2^(8k-3) with 2⁻⁴ ≤ |x| / level < 2⁴: the exponent of x with its lowest three bits replaced by 100. Zero and
    numbers near it have the smallest level, numbers that are not finite the largest. Every level has a finite inverse,
    and the sum of four levels is finite.
    """
    if not is_number(x):
        return x.level()
    (bits,) = struct.unpack("<q", struct.pack("<d", x))
    return struct.unpack("<d", struct.pack("<q", bits & (0x7F8 << 52) | 4 << 52))[0]


def dot(x: Vector, y: Vector) -> Scalar:
    """Return Σ xₖ yₖ."""
    return sum((a * b for a, b in zip(x, y, strict=True)), start=0.0)


def select(condition: Scalar, if_positive: Scalar, otherwise: Scalar) -> Scalar:
    """Return `if_positive` where the condition is > 0, else `otherwise`; use it in traced code instead of `if`.

    Parameters
    ----------
    condition : number or traced scalar
    if_positive : the result where the condition is > 0
    otherwise : the result where it is zero, negative or NaN
    """
    if is_number(condition):
        return if_positive if condition > 0 else otherwise
    return condition.select(if_positive, otherwise)


def snap(x: float, tolerance: float = 4e-16) -> float:
    """Return 0, 1 or -1 if x differs from it by rounding only, so that products fold; otherwise x."""
    for exact in (0.0, 1.0, -1.0):
        if abs(x - exact) <= tolerance:
            return exact
    return x


def clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """Return x limited to the interval from `low` to `high`."""
    return select(x - high, high, select(low - x, low, x))


def positive(x: Scalar) -> Scalar:
    """Return x where it is positive, else 0."""
    return select(x, x, 0.0)


def magnitude(x: Scalar) -> Scalar:
    """Return |x|."""
    return select(x, x, -x)


def larger(x: Scalar, y: Scalar) -> Scalar:
    """Return the larger of two scalars."""
    return select(x - y, x, y)


def largest(values: Iterable[Scalar]) -> Scalar:
    """Return the largest of several scalars."""
    return reduce(larger, values)
