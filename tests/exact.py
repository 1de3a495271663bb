"""Scalars of 40 digits on which any formula runs; differences over tiny steps give reference derivatives."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from mpmath import MPContext

mp = MPContext()
mp.dps = 40
STEP = 1e-10  # error of central differences: 1e-20, and ten of the digits are lost


class Exact:
    """A number of 40 digits that appell treats as a scalar, not as a Python number."""

    __slots__ = ("x",)

    def __init__(self, x):
        self.x = x

    def sin(self):
        return Exact(mp.sin(self.x))

    def cos(self):
        return Exact(mp.cos(self.x))

    def sqrt(self):
        return Exact(mp.sqrt(self.x))

    def atan2(self, x):
        return Exact(mp.atan2(self.x, _number(x)))

    def atan2_of(self, y):
        return Exact(mp.atan2(y, self.x))

    def level(self):
        return Exact(mp.one)

    def select(self, if_positive, otherwise):
        return Exact(_number(if_positive if self.x > 0 else otherwise))

    def __neg__(self):
        return Exact(-self.x)

    def __float__(self):
        return float(self.x)


def _number(scalar):
    return scalar.x if isinstance(scalar, Exact) else mp.mpf(scalar)


def _operators(function: Callable) -> tuple[Callable, Callable]:
    def left(self, other):
        if isinstance(other, Exact):
            return Exact(function(self.x, other.x))
        return Exact(function(self.x, other)) if isinstance(other, (int, float)) else NotImplemented

    def right(self, other):
        return Exact(function(other, self.x)) if isinstance(other, (int, float)) else NotImplemented

    return left, right


for _name in ("add", "sub", "mul", "truediv"):
    for _method, _prefix in zip(_operators(getattr(operator, _name)), ("__", "__r"), strict=True):
        setattr(Exact, f"{_prefix}{_name}__", _method)


def exact(numbers: Sequence) -> list[Exact]:
    return [Exact(mp.mpf(float(x))) for x in numbers]


def advanced(rate: Callable[[list], list], q: list, time: float) -> list:
    """Return q after a time, by one step of the Runge-Kutta method, with an error of fifth order in the time."""

    def at(slope, part):
        return [x + (part * time) * dx for x, dx in zip(q, slope, strict=True)]

    first = rate(q)
    second = rate(at(first, 0.5))
    third = rate(at(second, 0.5))
    fourth = rate(at(third, 1.0))
    slopes = zip(first, second, third, fourth, strict=True)
    return [x + time * (a + 2.0 * b + 2.0 * c + d) / 6.0 for x, (a, b, c, d) in zip(q, slopes, strict=True)]


def derivative(function: Callable, rate: Callable[[list], list], q: list) -> list:
    """Return d/dt of a function along q̇ = rate(q), by a central difference."""
    ahead, behind = function(advanced(rate, q, STEP)), function(advanced(rate, q, -STEP))
    return [(x - y) / (2.0 * STEP) for x, y in zip(ahead, behind, strict=True)]
