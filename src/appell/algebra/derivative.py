"""The derivative of arithmetic as it is done: numbers that remember what they were made of.

A recorded scalar holds its value and, for each operand, the local derivative; walking back from a result adds up the
derivative by every variable in one sweep. Values and derivatives are abstract scalars again, so that a gradient can be
traced into a tape like any other algorithm. Sums, differences and products are known: what polynomials need.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from appell.algebra.scalar import Scalar, is_number


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
