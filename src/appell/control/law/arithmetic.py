"""Limits and roundings over abstract scalars: what a tape, which has no branch and no integer, needs for control."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from appell.algebra.scalar import Scalar, select, sqrt

SHIFT = 1.5 * 2.0**52  # in this binade doubles are whole numbers, so that adding it rounds
WHOLE = 2.0**51  # `nearest` holds below this magnitude


def clamp(x: Scalar, low: Scalar, high: Scalar) -> Scalar:
    """x, or the bound that it passes."""
    return select(x - high, high, select(low - x, low, x))


def magnitude(x: Scalar) -> Scalar:
    return select(x, x, -x)


def larger(x: Scalar, y: Scalar) -> Scalar:
    return select(x - y, x, y)


def largest(values: Iterable[Scalar]) -> Scalar:
    return reduce(larger, values)


def nearest(x: Scalar) -> Scalar:
    """The whole number nearest to x, the even one of two, for |x| < 2⁵¹: the converter's and the encoder's step.

    Adding `SHIFT` leaves no bits for a fraction. The builder folds no sum of two constants and a value, and compiled
    code keeps the order of operations, so that the two additions survive.
    """
    return (x + SHIFT) - SHIFT


def floor(x: Scalar) -> Scalar:
    """The whole number at or below x."""
    rounded = nearest(x)
    return select(rounded - x, rounded - 1.0, rounded)


def smooth_sign(x: Scalar, width: float) -> Scalar:
    """x / √(x² + width²): the sign of x, without a jump within `width` of zero."""
    return x / sqrt(x * x + width * width)


def lerp(start: Scalar, end: Scalar, part: Scalar) -> Scalar:
    return start + part * (end - start)
