"""Limits and choices over abstract scalars: what an algorithm without branches needs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from appell.algebra.scalar import Scalar, select


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
