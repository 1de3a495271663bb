"""The first zero crossing on a step: the time at which one of several functions first falls below zero.

On an interval each function is replaced by its Chebyshev interpolant of degree N through N + 1 samples,

    p(x) = Σₖ cₖ Tₖ(x),   |f - p| about |c_{N-2}| + |c_{N-1}| + |c_N|                                        (1)

If this tail is above the noise floor, the interval is halved, so that p approximates f to DEPTH relative to its size.
Then

    p ≥ c₀ - Σ_{k>0} |cₖ|                                                                                    (2)

excludes most functions at once. For the others, p is monotone between the roots of p', which are eigenvalues of a small
matrix for each quarter of the interval that (2) for p' and -p' does not exclude: the values there and at the ends show
every excursion below zero, including two crossings within a step and shallow ones. Guarantee: no excursion deeper than
DEPTH (times the function's size, at least 1) is missed where the tails (1) have converged, which halving enforces down
to MIN_WIDTH of the step. A touch without such an excursion is not a crossing, unless the step ends in it on the way
down: the next step would take the wall to be where this one ended.
The samples are those of a smooth wall along a polynomial of about degree 7; features of a wall much finer than a
sixteenth of the path of a step can be missed and require a `max_step`. The crossing itself is a root of f, bracketed by
two of those points and computed by Brent's method to the spacing of floating-point times. The search starts near the
root of p, which is sufficient where a caller needs an estimate only.

A function may have conditions: it counts only while all of them are positive, and only if it was not below zero at the
start of the step or has risen above zero since. (2) with opposite signs excludes functions whose conditions fail on the
whole interval.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial

import numpy as np
import scipy  # its packages are imported when they are first used
from numpy.polynomial import chebyshev

from appell.motion.curve import fit_matrix, nodes

DEGREE = 16
DEPTH = 1e-12  # relative to the size of a function (at least 1): shallower excursions are noise
MIN_WIDTH = 2.0**-12  # of the step
PARTS = 4  # of the interval, for the search for turning points
ROOT_DISTANCE = 1e-8  # of the interval: distance from the root of p within which the root of f is searched first
Sampler = Callable[[float, float, int], np.ndarray]  # (low, high, degree) -> values at the nodes, (degree + 1, K)
Value = Callable[[float, int], float]  # (t, k) -> value of function k
Conditions = Callable[[np.ndarray, np.ndarray], np.ndarray]  # (times, functions) -> values, (times, functions, C)


def first_crossing(
    sample: Sampler,
    value: Value,
    low: float,
    high: float,
    min_width: float = MIN_WIDTH,
    conditions: Conditions | None = None,
    is_estimate: Callable[[float], bool] = lambda t: False,
) -> tuple[float, int] | None:
    """Return the earliest time in [low, high] at which a function falls below zero, and its index; None if none does.

    Parameters
    ----------
    sample
        Function (low, high, degree) -> values of all K functions at the Chebyshev points of an interval,
        (degree + 1, K).
    value
        Function (t, k) -> value of function k.
    low, high
        The interval, s.
    min_width
        Narrowest interval of the search, as a fraction of the interval.
    conditions
        Function (times, k) -> conditions of functions k. None: all functions count at all times.
    is_estimate
        Function t -> whether the root of p is sufficient for a crossing near t.
    """
    return _search(sample, value, low, high, (high - low) * min_width, conditions, is_estimate)


def _search(
    sample: Sampler,
    value: Value,
    low: float,
    high: float,
    min_width: float,
    conditions: Conditions | None,
    is_estimate: Callable[[float], bool],
) -> tuple[float, int] | None:
    series = fit_matrix(DEGREE) @ sample(low, high, DEGREE)
    size = np.abs(series)
    scale = np.maximum(size.max(axis=0), 1.0)
    variation = size[1:].sum(axis=0)
    candidates = np.flatnonzero(~(series[0] - variation > 0.0))  # (2)
    if conditions is not None and len(candidates):
        times = low + (high - low) * 0.5 * (1.0 + nodes(DEGREE))
        allowed = np.einsum("ij,jkc->ikc", fit_matrix(DEGREE), conditions(times, candidates))
        candidates = candidates[(allowed[0] + np.abs(allowed[1:]).sum(axis=0) > 0.0).all(axis=-1)]
    if not len(candidates):
        return None
    tails = size[-3:].sum(axis=0)[candidates]
    unresolved = tails > 0.1 * DEPTH * scale[candidates]
    if unresolved.any() and high - low > min_width:
        middle = 0.5 * (low + high)
        return _search(sample, value, low, middle, min_width, conditions, is_estimate) or _search(
            sample, value, middle, high, min_width, conditions, is_estimate
        )
    crossings = []
    for k in candidates:
        function = partial(_at, value, int(k))
        for t in _falls(series[:, k], DEPTH * scale[k], function, low, high, conditions is None, is_estimate):
            if conditions is None or (conditions(np.array([t]), np.array([k])) > 0.0).all():
                crossings.append((t, int(k)))
                break
    return min(crossings) if crossings else None


def _at(value: Value, k: int, t: float) -> float:
    return value(t, k)


def _falls(
    series: np.ndarray,
    depth: float,
    value: Callable[[float], float],
    low: float,
    high: float,
    from_below: bool,
    is_estimate: Callable[[float], bool],
) -> Iterator[float]:
    """Yield the times at which one function falls below zero by more than `depth`.

    A function that is below zero at the start falls there if `from_below`, otherwise not before it has risen.
    """
    points = np.concatenate([[-1.0], _turning_points(series), [1.0]])
    times = low + (high - low) * 0.5 * (1.0 + points)
    values = np.cos(np.arccos(points)[:, None] * np.arange(len(series))) @ series
    if from_below and values[0] < -depth:
        yield low
    first = 0
    while len(above := np.flatnonzero(values[first:] >= -depth)):
        first += int(above[0])
        below = np.flatnonzero(values[first:] < -depth)
        if len(below):
            last = first + int(below[0])
        elif values[-1] < 0.0 and values[first:].max() > depth:
            last = int(np.flatnonzero(values > 0.0)[-1]) + 1  # on the way down: the next step would start inside
        else:
            return
        x = (
            _series_root(series, points[last - 1], points[last])
            if values[last - 1] > 0.0 > values[last]
            else points[last]
        )
        estimate = low + (high - low) * 0.5 * (1.0 + float(x))
        if is_estimate(estimate):
            yield estimate
        else:
            yield _root(value, times[first : last + 1], estimate, ROOT_DISTANCE * (high - low))
        first = last if len(below) else len(values)


def _series_root(series: np.ndarray, before: float, after: float) -> float:
    """Return a root of p between two of its points, or the second one if p does not fall below zero between them."""
    constant, *others = series.tolist()
    others.reverse()

    def value(x: float) -> float:
        """Return p(x) by Clenshaw's recurrence."""
        last, before_last = 0.0, 0.0
        for coefficient in others:
            last, before_last = coefficient + 2.0 * x * last - before_last, last
        return constant + x * last - before_last

    return scipy.optimize.brentq(value, before, after, xtol=1e-15) if value(before) > 0.0 > value(after) else after


def _root(value: Callable[[float], float], times: np.ndarray, estimate: float, near: float) -> float:
    """Return the last root between turning points of a function that falls below zero at the last of them."""
    low, high = max(estimate - near, float(times[0])), min(estimate + near, float(times[-1]))
    if value(low) > 0.0 > value(high):
        return _brent(value, low, high)
    for k in range(len(times) - 2, -1, -1):  # turning points in the noise near zero do not bracket a root
        if value(before := float(times[k])) > 0.0:
            break
    else:
        return float(times[-2])  # already at zero, and about to fall below it
    after = next((float(x) for x in times[k + 1 :] if value(float(x)) < 0.0), None)
    if after is None:
        return before
    return _brent(value, before, after)


def _brent(value: Callable[[float], float], before: float, after: float) -> float:
    return float(scipy.optimize.brentq(value, before, after, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=200))


def _turning_points(series: np.ndarray) -> np.ndarray:
    """Return the real parts of the roots of p' in (-1, 1), ascending; additional points do no harm."""
    slope = _slope_matrix(len(series) - 1) @ series
    parts = (_part_matrix(len(slope) - 1) @ slope).reshape(PARTS, -1)
    noise, turning_points = 1e-15 * np.abs(series).max(), []
    for k in np.flatnonzero(2.0 * np.abs(parts[:, 0]) <= np.abs(parts).sum(axis=1)):  # elsewhere p' has no root
        part = chebyshev.chebtrim(parts[k], noise)
        if len(part) > 1:
            roots = np.real(chebyshev.chebroots(part))
            turning_points.append(-1.0 + (2.0 * k + 1.0 + roots[np.abs(roots) < 1.0 + 1e-9]) / PARTS)
    return np.clip(np.sort(np.concatenate(turning_points)), -1.0, 1.0) if turning_points else np.zeros(0)


@cache
def _part_matrix(degree: int) -> np.ndarray:
    """Return the matrix from the coefficients of a series to those of the series on PARTS equal parts of [-1, 1]."""
    starts = -1.0 + 2.0 * np.arange(PARTS) / PARTS
    points = starts[:, None] + (1.0 + nodes(degree)) / PARTS
    return np.concatenate([fit_matrix(degree) @ chebyshev.chebvander(x, degree) for x in points])


@cache
def _slope_matrix(degree: int) -> np.ndarray:
    """Return the matrix from the coefficients of p to those of p'."""
    return chebyshev.chebder(np.eye(degree + 1))
