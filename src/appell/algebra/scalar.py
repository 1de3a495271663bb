"""Abstract scalars: the numbers that algorithms compute with, Python floats or traced scalars.

Algorithms do not distinguish the two. The functions below do: they apply `math` to a number, and call the method of the
same name of a traced scalar (`appell.compile.tape.trace`).
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from appell.algebra.circular import angle, arccosine, arcsine, cosine, sine
from appell.errors import ArgumentError

Scalar = Any  # float or a traced scalar; the two share arithmetic but no base class
Vector = Sequence[Scalar]
Matrix = list[list[Scalar]]  # rows


def is_number(x: Scalar) -> bool:
    """Return whether x is a number of Python or NumPy, not a traced scalar."""
    return isinstance(x, (int, float, np.floating, np.integer))


def is_zero(x: Scalar) -> bool:
    """Return whether x is the number 0; a traced scalar is not, whatever its value."""
    return is_number(x) and x == 0.0


def plain(x: Scalar) -> Scalar:
    """Return a NumPy number as a Python float, so that nothing is computed in single precision; others unchanged."""
    return float(x) if isinstance(x, (np.floating, np.integer)) else x


def real_array(values: Any) -> np.ndarray:
    """Return real numbers as an array of floats; raise TypeError, ValueError or OverflowError for anything else.

    Unlike `np.asarray(values, float)`, it does not drop imaginary parts, and accepts neither texts, dates nor None.
    """
    array = np.asarray(values)
    objects = array.dtype.kind == "O" and all(isinstance(x, Real) for x in array.flat)
    if array.dtype.kind not in "biuf" and not objects:
        raise TypeError(f"an array of {array.dtype} is not an array of real numbers")
    return array.astype(float)


def _method(x: Any, name: str) -> Callable[..., Any]:
    """Return the method of a traced scalar by its name."""
    if (method := getattr(x, name, None)) is None:
        function = name.removesuffix("_of").replace("fabs", "abs")
        raise ArgumentError(
            f"ap.{function} is called with a value of type {type(x).__name__}.",
            expected="a number or a traced scalar",
            hint=f"Call ap.{function} for every element of a list, or NumPy's function for an array of numbers.",
        )
    return method


def sin(x: Scalar) -> Scalar:
    """Return the sine of a number or traced scalar, in rad."""
    return sine(float(x)) if is_number(x) else _method(x, "sin")()


def cos(x: Scalar) -> Scalar:
    """Return the cosine of a number or traced scalar, in rad."""
    return cosine(float(x)) if is_number(x) else _method(x, "cos")()


def sqrt(x: Scalar) -> Scalar:
    """Return the square root of a number or traced scalar."""
    return math.sqrt(x) if is_number(x) else _method(x, "sqrt")()


def exp(x: Scalar) -> Scalar:
    """Return eˣ of a number or traced scalar.

    >>> import appell as ap
    >>> ap.exp(0.0), ap.exp(1000.0), ap.exp(-1000.0)
    (1.0, inf, 0.0)
    """
    return _of_number(math.exp, np.exp, x) if is_number(x) else _method(x, "exp")()


def log(x: Scalar) -> Scalar:
    """Return the natural logarithm of a number or traced scalar: -inf for 0, NaN for negative numbers.

    >>> import appell as ap
    >>> ap.log(1.0), ap.log(0.0), ap.log(-1.0)
    (0.0, -inf, nan)
    """
    return _of_number(math.log, np.log, x) if is_number(x) else _method(x, "log")()


def tanh(x: Scalar) -> Scalar:
    """Return the hyperbolic tangent of a number or traced scalar.

    >>> import appell as ap
    >>> ap.tanh(-20.0)
    -1.0
    """
    return math.tanh(x) if is_number(x) else _method(x, "tanh")()


def arcsin(x: Scalar) -> Scalar:
    """Return the arcsine of a number or traced scalar in rad, in [-π/2, π/2]; NaN if |x| > 1.

    >>> import math, appell as ap
    >>> ap.arcsin(1.0) == math.pi / 2, ap.arcsin(2.0)
    (True, nan)
    """
    return _of_number(arcsine, np.arcsin, float(x)) if is_number(x) else _method(x, "arcsin")()


def arccos(x: Scalar) -> Scalar:
    """Return the arccosine of a number or traced scalar in rad, in [0, π]; NaN if |x| > 1.

    >>> import appell as ap
    >>> ap.arccos(1.0), ap.arccos(2.0)
    (0.0, nan)
    """
    return _of_number(arccosine, np.arccos, float(x)) if is_number(x) else _method(x, "arccos")()


def erf(x: Scalar) -> Scalar:
    """Return the error function of a number or traced scalar, 2/√π ∫₀ˣ exp(-t²) dt.

    >>> import appell as ap
    >>> ap.erf(0.0), ap.erf(6.0)
    (0.0, 1.0)
    """
    return math.erf(x) if is_number(x) else _method(x, "erf")()


def power(x: Scalar, y: Scalar) -> Scalar:
    """Return xʸ of numbers or traced scalars, with the special cases of C and NumPy.

    A negative x with a y that is not an integer gives NaN. `x ** 3` of a traced scalar is a product; `power(x, 3.0)` is
    more accurate for high powers, and slower.

    >>> import appell as ap
    >>> ap.power(2.0, -1.0), ap.power(-8.0, 3.0), ap.power(-8.0, 0.5), ap.power(0.0, -1.0)
    (0.5, -512.0, nan, inf)
    """
    if is_number(x) and is_number(y):
        return _of_number(math.pow, np.power, x, y)
    return _method(y, "power_of")(x) if is_number(x) else _method(x, "power")(y)


def _of_number(function: Callable[..., float], numpy_function: Callable[..., Any], *x: float) -> float:
    """Return a function of `math`; where it raises an error, infinity or NaN as NumPy does."""
    try:
        return function(*x)
    except (OverflowError, ValueError):
        with np.errstate(all="ignore"):
            return float(numpy_function(*map(float, x)))


def abs(x: Scalar) -> Scalar:
    """Return |x| of a number or traced scalar. The derivative at 0 is -1, that of `select(x, x, -x)`.

    >>> import appell as ap
    >>> ap.abs(-2.5)
    2.5
    """
    return math.fabs(x) if is_number(x) else _method(x, "fabs")()


def sign(x: Scalar) -> Scalar:
    """Return 1, 0 or -1 with the sign of a number or traced scalar, NaN for NaN. The derivative is 0 everywhere.

    >>> import appell as ap
    >>> ap.sign(-2.5), ap.sign(0.0)
    (-1.0, 0.0)
    """
    return float(np.sign(x)) if is_number(x) else _method(x, "sign")()


def minimum(x: Scalar, y: Scalar) -> Scalar:
    """Return the smaller of two numbers or traced scalars, NaN if one of them is NaN.

    Where they are equal, the derivative is that of y, as of `select(y - x, x, y)`.

    >>> import math, appell as ap
    >>> ap.minimum(1.0, 2.0), ap.minimum(1.0, math.nan)
    (1.0, nan)
    """
    if is_number(x) and is_number(y):
        return -maximum(-x, -y)
    return _method(y, "minimum_of")(x) if is_number(x) else _method(x, "minimum")(y)


def maximum(x: Scalar, y: Scalar) -> Scalar:
    """Return the larger of two numbers or traced scalars, NaN if one of them is NaN.

    Where they are equal, the derivative is that of y, as of `select(x - y, x, y)`.

    >>> import math, appell as ap
    >>> ap.maximum(1.0, 2.0), ap.maximum(math.nan, 2.0)
    (2.0, nan)
    """
    if is_number(x) and is_number(y):
        if x == y:
            return float(y if math.copysign(1.0, x) < 0.0 else x)
        return float(x if x > y or x != x else y)
    return _method(y, "maximum_of")(x) if is_number(x) else _method(x, "maximum")(y)


def inverse_sqrt(x: Scalar) -> Scalar:
    """Return 1/√x; NaN for numbers that are not positive."""
    return math.nan if is_number(x) and not x > 0.0 else 1.0 / sqrt(x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Return the angle of the point (x, y) in rad, in (-π, π]."""
    if is_number(y) and is_number(x):
        return angle(float(y), float(x))
    return _method(y, "atan2")(x) if not is_number(y) else _method(x, "atan2_of")(y)


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
    total: Scalar = 0.0
    for a, b in zip(x, y, strict=True):  # `sum` rounds differently since Python 3.12
        total = total + a * b
    return total


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
