"""Scalars of 60 digits: formulas that run on any scalar run on these, and differences of tiny steps judge derivatives."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import mpmath
from mpmath import mpf

DIGITS = 60
STEP = mpf(10) ** -15  # central differences over it miss by its square, 1e-30, and lose 15 of 60 digits


class Exact:
    """A number of 60 digits that is a scalar to appell, and no Python number."""

    __slots__ = ("x",)

    def __init__(self, x):
        with mpmath.workdps(DIGITS):
            self.x = x.x if isinstance(x, Exact) else mpf(x)

    def sin(self):
        return _made(mpmath.sin, self)

    def cos(self):
        return _made(mpmath.cos, self)

    def sqrt(self):
        return _made(mpmath.sqrt, self)

    def atan2(self, x):
        return _made(mpmath.atan2, self, x)

    def atan2_of(self, y):
        return _made(mpmath.atan2, y, self)

    def level(self):
        return Exact(1)

    def select(self, if_positive, otherwise):
        return Exact(if_positive if self.x > 0 else otherwise)

    def __neg__(self):
        return _made(operator.neg, self)

    def __abs__(self):
        return _made(abs, self)

    def __float__(self):
        return float(self.x)


def _made(function: Callable, *operands) -> Exact:
    with mpmath.workdps(DIGITS):
        return Exact(function(*(Exact(operand).x for operand in operands)))


def _operators(function: Callable) -> tuple[Callable, Callable]:
    def known(other) -> bool:
        return isinstance(other, (Exact, int, float))

    def left(self, other):
        return _made(function, self, other) if known(other) else NotImplemented

    def right(self, other):
        return _made(function, other, self) if known(other) else NotImplemented

    return left, right


for _name in ("add", "sub", "mul", "truediv"):
    for _method, _prefix in zip(_operators(getattr(operator, _name)), ("__", "__r"), strict=True):
        setattr(Exact, f"{_prefix}{_name}__", _method)


def exact(numbers: Sequence) -> list[Exact]:
    return [Exact(float(x)) for x in numbers]


def moved(rate: Callable[[list], list], q: list, time) -> list:
    """q after a time, by one step of Runge and Kutta's method: the error is of the order of the time's fifth power."""

    def at(slope, part):
        return [x + (part * time) * dx for x, dx in zip(q, slope, strict=True)]

    first = rate(q)
    second = rate(at(first, 0.5))
    third = rate(at(second, 0.5))
    fourth = rate(at(third, 1.0))
    slopes = zip(first, second, third, fourth, strict=True)
    return [x + time * (a + 2.0 * b + 2.0 * c + d) / 6.0 for x, (a, b, c, d) in zip(q, slopes, strict=True)]


def derivative(function: Callable, rate: Callable[[list], list], q: list) -> list[Exact]:
    """d/dt of what a function gives along q̇ = rate(q), by a central difference."""
    step = Exact(STEP)
    ahead, behind = function(moved(rate, q, step)), function(moved(rate, q, -step))
    return [(x - y) / (2.0 * step) for x, y in zip(ahead, behind, strict=True)]
