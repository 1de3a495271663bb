"""Automatic differentiation over abstract scalars, for code that must not depend on the compiler.

Forward mode, `Dual`: a scalar together with its rate along a motion.

    (x, ẋ) + (y, ẏ) = (x + y, ẋ + ẏ)        (x, ẋ)(y, ẏ) = (xy, ẋy + xẏ)        f(x, ẋ) = (f(x), f'(x) ẋ)

A user's function over scalars is differentiated by calling it with dual numbers where the compiler is not available,
such as while a robot is built. Value and rate are abstract scalars again: traced scalars give a traced rate, and nested
duals a second derivative. The function must not refer to other dual numbers: their rates would be counted as part of
the same motion.

Reverse mode, `Recorded`: a scalar together with its operands and the local derivative for each of them. One pass from
the result back to the variables accumulates the derivative with respect to every variable. Values and derivatives are
abstract scalars again, so a gradient can be traced like any other algorithm. Sums, differences and products are
supported, which is enough for polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from appell.algebra.scalar import (
    Scalar,
    Vector,
    arccos,
    arcsin,
    atan2,
    cos,
    erf,
    exp,
    is_number,
    level,
    log,
    maximum,
    minimum,
    nearest,
    power,
    select,
    sign,
    sin,
    sqrt,
    tanh,
)


@dataclass(frozen=True, slots=True, eq=False)
class Dual:
    """A scalar and its rate: forward-mode differentiation."""

    value: Scalar
    rate: Scalar

    def __add__(self, other):
        y = _dual(other)
        return NotImplemented if y is None else Dual(self.value + y.value, self.rate + y.rate)

    def __sub__(self, other):
        y = _dual(other)
        return NotImplemented if y is None else Dual(self.value - y.value, self.rate - y.rate)

    def __rsub__(self, other):
        y = _dual(other)
        return NotImplemented if y is None else y - self

    def __mul__(self, other):
        y = _dual(other)
        if y is None:
            return NotImplemented
        return Dual(self.value * y.value, self.rate * y.value + self.value * y.rate)

    def __truediv__(self, other):
        y = _dual(other)
        if y is None:
            return NotImplemented
        quotient = self.value / y.value
        return Dual(quotient, (self.rate - quotient * y.rate) / y.value)

    def __rtruediv__(self, other):
        y = _dual(other)
        return NotImplemented if y is None else y / self

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self):
        return Dual(-self.value, -self.rate)

    def __pos__(self):
        return self

    def __pow__(self, exponent):
        if not isinstance(exponent, (int, np.integer)):
            return self.sqrt() if is_number(exponent) and exponent == 0.5 else self.power(exponent)
        lower_power = self.value ** (exponent - 1) if exponent != 1 else 1.0
        return Dual(self.value * lower_power, exponent * lower_power * self.rate)

    def __rpow__(self, base):
        return self.power_of(base)

    def __abs__(self):
        return self.fabs()

    # ---- functions, under the names that algebra.scalar calls

    def sin(self):
        return Dual(sin(self.value), cos(self.value) * self.rate)

    def cos(self):
        return Dual(cos(self.value), -(sin(self.value) * self.rate))

    def sqrt(self):
        root = sqrt(self.value)
        return Dual(root, 0.5 * self.rate / root)

    def atan2(self, x):
        return _atan2(self, _as_dual(x))

    def atan2_of(self, y):
        return _atan2(_as_dual(y), self)

    def exp(self):
        value = exp(self.value)
        return Dual(value, value * self.rate)

    def log(self):
        return Dual(log(self.value), self.rate / self.value)

    def tanh(self):
        value = tanh(self.value)
        return Dual(value, (1.0 - value) * (1.0 + value) * self.rate)

    def arcsin(self):
        return Dual(arcsin(self.value), self.rate / sqrt((1.0 - self.value) * (1.0 + self.value)))

    def arccos(self):
        return Dual(arccos(self.value), -self.rate / sqrt((1.0 - self.value) * (1.0 + self.value)))

    def erf(self):
        slope = 2.0 / math.sqrt(math.pi) * exp(-(self.value * self.value))
        return Dual(erf(self.value), slope * self.rate)

    def power(self, y):
        return _power(self, _as_dual(y))

    def power_of(self, x):
        return _power(_as_dual(x), self)

    def fabs(self):
        return Dual(abs(self.value), select(self.value, self.rate, -self.rate))

    def sign(self):
        return Dual(sign(self.value), 0.0)

    def minimum(self, y):
        return _extreme(minimum, self, _as_dual(y))

    def minimum_of(self, x):
        return _extreme(minimum, _as_dual(x), self)

    def maximum(self, y):
        return _extreme(maximum, self, _as_dual(y))

    def maximum_of(self, x):
        return _extreme(maximum, _as_dual(x), self)

    def rint(self):
        return Dual(nearest(self.value), 0.0)

    def level(self):
        return Dual(level(self.value), 0.0)

    def select(self, if_positive, otherwise):
        x, y = _as_dual(if_positive), _as_dual(otherwise)
        return Dual(select(self.value, x.value, y.value), select(self.value, x.rate, y.rate))


def value_and_rate(function: Callable[[Vector], Any], x: Vector, rate: Vector) -> tuple[Any, Any]:
    """Return the value of a function and its rate along a motion of its arguments.

    Parameters
    ----------
    function : a function of a list of scalars that returns a scalar, or nested lists of scalars
    x : the arguments
    rate : the rates of the arguments

    Returns
    -------
    value, rate : nested like the result of the function
    """
    result = function([Dual(value, change) for value, change in zip(x, rate, strict=True)])
    return _part(result, "value"), _part(result, "rate")


def slopes(function: Callable[[Vector], Scalar], x: Vector) -> list[Scalar]:
    """Return ∂function/∂x of a scalar function, one evaluation per entry of x."""
    units = [[float(i == k) for i in range(len(x))] for k in range(len(x))]
    return [value_and_rate(function, x, unit)[1] for unit in units]


def _atan2(y: Dual, x: Dual) -> Dual:
    square = x.value * x.value + y.value * y.value
    return Dual(atan2(y.value, x.value), (x.value * y.rate - y.value * x.rate) / square)


def _power(x: Dual, y: Dual) -> Dual:
    value, rate = power(x.value, y.value), 0.0
    if not is_number(x.rate) or x.rate != 0.0:
        rate = y.value * power(x.value, y.value - 1.0) * x.rate
    if not is_number(y.rate) or y.rate != 0.0:
        rate = rate + select(abs(x.value), value * log(x.value), 0.0) * y.rate
    return Dual(value, rate)


def _extreme(function: Callable[[Scalar, Scalar], Scalar], x: Dual, y: Dual) -> Dual:
    """Return the smaller or larger of two numbers; where they are equal, the rate is that of y."""
    condition = y.value - x.value if function is minimum else x.value - y.value
    return Dual(function(x.value, y.value), select(condition, x.rate, y.rate))


def _part(nested: Any, name: str) -> Any:
    if isinstance(nested, (list, tuple)):
        return [_part(part, name) for part in nested]
    return getattr(_as_dual(nested), name)


def _as_dual(x: Any) -> Dual:
    return x if isinstance(x, Dual) else Dual(x, 0.0)


def _dual(x: Any) -> Dual | None:
    """Return a scalar as a Dual, or None if `x` is not a scalar."""
    if isinstance(x, Dual):
        return x
    return Dual(x, 0.0) if is_number(x) or hasattr(x, "sqrt") else None


class Recorded:
    """A scalar, its operands and the derivative with respect to each of them: reverse-mode differentiation."""

    __slots__ = ("number", "operands", "record", "value")

    def __init__(self, record: list[Recorded], value: Scalar, operands: tuple[tuple[Recorded, Scalar], ...] = ()):
        self.record, self.value, self.operands = record, value, operands
        self.number = len(record)
        record.append(self)

    def __add__(self, other):
        if isinstance(other, Recorded):
            return Recorded(self.record, self.value + other.value, ((self, 1.0), (other, 1.0)))
        return Recorded(self.record, self.value + other, ((self, 1.0),)) if _is_scalar(other) else NotImplemented

    def __mul__(self, other):
        if isinstance(other, Recorded):
            return Recorded(self.record, self.value * other.value, ((self, other.value), (other, self.value)))
        if not _is_scalar(other):
            return NotImplemented
        if is_number(other) and other == 0.0:
            return 0.0
        return Recorded(self.record, other * self.value, ((self, other),))

    def __neg__(self):
        return Recorded(self.record, -self.value, ((self, -1.0),))

    def __sub__(self, other):
        return NotImplemented if not _is_scalar(other) else self + (-other)

    def __rsub__(self, other):
        return -self + other

    __radd__, __rmul__ = __add__, __mul__


def _is_scalar(x: Any) -> bool:
    return is_number(x) or isinstance(x, Recorded) or hasattr(x, "sqrt")


def gradient(function: Callable[[Sequence[Scalar]], Scalar], at: Sequence[Scalar]) -> list[Scalar]:
    """Return ∂function/∂x at x, in one pass from the result back to the variables."""
    record: list[Recorded] = []
    variables = [Recorded(record, value) for value in at]
    result = function(variables)
    adjoint: dict[int, Scalar] = {result.number: 1.0} if isinstance(result, Recorded) else {}
    for node in reversed(record[len(variables) :]):
        if (outer := adjoint.pop(node.number, None)) is not None:
            for operand, slope in node.operands:
                adjoint[operand.number] = adjoint.get(operand.number, 0.0) + outer * slope
    return [adjoint.get(variable.number, 0.0) for variable in variables]
