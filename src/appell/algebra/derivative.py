"""Derivatives over abstract scalars, for code that must not depend on the compiler: rates forward, gradients backward.

Derivatives along a motion, over abstract scalars: numbers that carry their rate.

    (x, ẋ) + (y, ẏ) = (x + y, ẋ + ẏ)        (x, ẋ)(y, ẏ) = (xy, ẋy + xẏ)        f(x, ẋ) = (f(x), f'(x) ẋ)

What a user writes over scalars is differentiated by calling it on these, wherever a compiler is not at hand, as when a
robot is made. Value and rate are scalars again: traced ones give a rate that is traced, and pairs of pairs a second
derivative. A function must not hold scalars that have a rate themselves, which would be taken for the same motion's.

The derivative of arithmetic as it is done: numbers that remember what they were made of.

A recorded scalar holds its value and, for each operand, the local derivative; walking back from a result adds up the
derivative by every variable in one sweep. Values and derivatives are abstract scalars again, so that a gradient can be
traced into a tape like any other algorithm. Sums, differences and products are known: what polynomials need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from appell.algebra.scalar import Scalar, Vector, atan2, cos, is_number, level, nearest, select, sin, sqrt


@dataclass(frozen=True, slots=True, eq=False)
class Dual:
    """A scalar and its rate."""

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
        if exponent == 0.5:
            return self.sqrt()
        below = self.value ** (exponent - 1) if exponent != 1 else 1.0
        return Dual(self.value * below, exponent * below * self.rate)

    def __abs__(self):
        return self.select(self, -self)

    # ---- functions, by the names that algebra.scalar looks for

    def sin(self):
        return Dual(sin(self.value), cos(self.value) * self.rate)

    def cos(self):
        return Dual(cos(self.value), -(sin(self.value) * self.rate))

    def sqrt(self):
        root = sqrt(self.value)
        return Dual(root, 0.5 * self.rate / root)

    def atan2(self, x):
        return _angle(self, _known(x))

    def atan2_of(self, y):
        return _angle(_known(y), self)

    def rint(self):
        return Dual(nearest(self.value), 0.0)

    def level(self):
        return Dual(level(self.value), 0.0)

    def select(self, if_positive, otherwise):
        x, y = _known(if_positive), _known(otherwise)
        return Dual(select(self.value, x.value, y.value), select(self.value, x.rate, y.rate))


def value_and_rate(function: Callable[[Vector], Any], x: Vector, rate: Vector) -> tuple[Any, Any]:
    """What a function of a list of scalars gives, nested as it nests it, and its rate along a motion of x."""
    found = function([Dual(value, change) for value, change in zip(x, rate, strict=True)])
    return _part(found, "value"), _part(found, "rate")


def slopes(function: Callable[[Vector], Scalar], x: Vector) -> list[Scalar]:
    """∂function/∂x of a scalar function."""
    units = [[float(i == k) for i in range(len(x))] for k in range(len(x))]
    return [value_and_rate(function, x, unit)[1] for unit in units]


def _angle(y: Dual, x: Dual) -> Dual:
    square = x.value * x.value + y.value * y.value
    return Dual(atan2(y.value, x.value), (x.value * y.rate - y.value * x.rate) / square)


def _part(nested: Any, name: str) -> Any:
    if isinstance(nested, (list, tuple)):
        return [_part(part, name) for part in nested]
    return getattr(_known(nested), name)


def _known(x: Any) -> Dual:
    return x if isinstance(x, Dual) else Dual(x, 0.0)


def _dual(x: Any) -> Dual | None:
    """A scalar with its rate; None for what is no scalar."""
    if isinstance(x, Dual):
        return x
    return Dual(x, 0.0) if is_number(x) or hasattr(x, "sqrt") else None


class Recorded:
    """A scalar and how it came about."""

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
    """∂function/∂x at x, by one sweep from the result back to the variables."""
    record: list[Recorded] = []
    variables = [Recorded(record, value) for value in at]
    result = function(variables)
    change: dict[int, Scalar] = {result.number: 1.0} if isinstance(result, Recorded) else {}
    for node in reversed(record[len(variables) :]):
        if (here := change.pop(node.number, None)) is not None:
            for operand, slope in node.operands:
                change[operand.number] = change.get(operand.number, 0.0) + here * slope
    return [change.get(variable.number, 0.0) for variable in variables]
