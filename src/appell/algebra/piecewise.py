"""Limits and choices over abstract scalars: what an algorithm without branches needs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from appell.algebra.scalar import Scalar, select, sqrt


def clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """x, or the bound that it passes."""
    return select(x - high, high, select(low - x, low, x))


def magnitude(x: Scalar) -> Scalar:
    return select(x, x, -x)


def larger(x: Scalar, y: Scalar) -> Scalar:
    return select(x - y, x, y)


def largest(values: Iterable[Scalar]) -> Scalar:
    return reduce(larger, values)


def smooth_sign(x: Scalar, width: float) -> Scalar:
    """x / √(x² + width²): the sign of x, without a jump within `width` of zero."""
    return x / sqrt(x * x + width * width)
