"""The first crossing on a step: where one of several functions of time first falls below zero.

On an interval each function is replaced by its Chebyshev interpolant of degree N through N + 1 samples,

    p(x) = Σₖ cₖ Tₖ(x),   |f - p| about |c_{N-2}| + |c_{N-1}| + |c_N|                                        (1)

If that tail is above the noise floor, the interval is halved; so p stands for f to DEPTH relative to its size. Then

    p ≥ c₀ - Σ_{k>0} |cₖ|                                                                                    (2)

discards most functions at once. For the others, p is monotone between the roots of p', which are eigenvalues of a small
matrix: its values there and at the ends show every excursion below zero, two crossings within a step and shallow ones
alike. What is guaranteed: no excursion deeper than DEPTH (times the function's size, at least 1) is missed where the
tails (1) have settled, which halving enforces down to MIN_WIDTH of the step; a touch without such an excursion is none,
unless the step ends in it on the way down: the next one would take the wall to be where this one has ended.
The samples are those of a smooth wall along a polynomial of degree 7 or so; a wall with features much finer than a
sixteenth of the way of a step can hide between them, and wants a `max_step`. The crossing itself is a root of f,
bracketed by two of those points, found by Brent's method to the spacing of times.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.polynomial import chebyshev
from scipy.optimize import brentq

from appell.motion.curve import fit_matrix

DEGREE = 16
DEPTH = 1e-12
MIN_WIDTH = 2.0**-12  # of the step
Sampler = Callable[
    [float, float, int], np.ndarray
]  # (low, high, degree) -> values at the Chebyshev points, (degree + 1, K)
Value = Callable[[float, int], float]  # (t, k) -> one function


def first_crossing(
    sample: Sampler, value: Value, low: float, high: float, narrowest: float = MIN_WIDTH
) -> tuple[float, int] | None:
    """The earliest time in [low, high] at which a function falls below zero, and which one it is."""
    return _search(sample, value, low, high, (high - low) * narrowest)


def _search(sample: Sampler, value: Value, low: float, high: float, narrow: float) -> tuple[float, int] | None:
    series = fit_matrix(DEGREE) @ sample(low, high, DEGREE)
    size = np.abs(series)
    scale = np.maximum(size.max(axis=0), 1.0)
    rest = size[1:].sum(axis=0)
    suspects = np.flatnonzero(~(series[0] - rest > 0.0))  # (2)
    if not len(suspects):
        return None
    tails = size[-3:].sum(axis=0)[suspects]
    unsettled = tails > 0.1 * DEPTH * scale[suspects]
    if unsettled.any() and high - low > narrow:
        middle = 0.5 * (low + high)
        return _search(sample, value, low, middle, narrow) or _search(sample, value, middle, high, narrow)
    found = []
    for k in suspects:
        t = _falls(series[:, k], DEPTH * scale[k], partial(_at, value, int(k)), low, high)
        if t is not None:
            found.append((t, int(k)))
    return min(found) if found else None


def _at(value: Value, k: int, t: float) -> float:
    return value(t, k)


def _falls(series: np.ndarray, depth: float, value: Callable[[float], float], low: float, high: float) -> float | None:
    """Where one function first goes below zero by more than `depth`."""
    points = np.concatenate([[-1.0], _turning_points(series), [1.0]])
    values = chebyshev.chebval(points, series)
    below = np.flatnonzero(values < -depth)
    if len(below):
        last = int(below[0])
    elif values[-1] < 0.0 and values.max() > depth:
        last = int(np.flatnonzero(values > 0.0)[-1]) + 1  # on its way down: the next step would begin inside
    else:
        return None
    if last == 0:
        return low
    times = low + (high - low) * 0.5 * (1.0 + points)
    for k in range(last - 1, -1, -1):  # turning points in the noise near zero bracket nothing
        if value(before := float(times[k])) > 0.0:
            break
    else:
        return float(times[last - 1])  # touching already, and about to go in
    after = next((float(x) for x in times[k + 1 : last + 1] if value(float(x)) < 0.0), None)
    if after is None:
        return before
    return float(brentq(value, before, after, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=200))


def _turning_points(series: np.ndarray) -> np.ndarray:
    """Real parts of the roots of p' in (-1, 1), ascending; a point too many does no harm."""
    slope = _slope_matrix(len(series) - 1) @ series
    if abs(slope[0]) > np.abs(slope[1:]).sum():  # p' has no root there
        return np.zeros(0)
    slope = chebyshev.chebtrim(slope, 1e-15 * np.abs(series).max())
    if len(slope) < 2:
        return np.zeros(0)
    roots = np.real(chebyshev.chebroots(slope))
    return np.sort(roots[(roots > -1.0) & (roots < 1.0)])


@cache
def _slope_matrix(degree: int) -> np.ndarray:
    """From the coefficients of p to those of p'."""
    return chebyshev.chebder(np.eye(degree + 1))
