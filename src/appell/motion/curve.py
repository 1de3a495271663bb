"""A motion as piecewise polynomials: every step of the integrator is stored as a Chebyshev series.

On a step from t₀ to t₁, with x = (2t - t₀ - t₁) / (t₁ - t₀) in [-1, 1],

    y(t) = Σₖ cₖ Tₖ(x)                                                                                       (1)

The integrator's interpolant is a polynomial of known degree d, so that d + 1 values at the Chebyshev points determine
(1) exactly. An event in the middle of a step ends its validity early; the series stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import chebyshev


@cache
def nodes(degree: int) -> np.ndarray:
    """Return the extrema of T_degree in [-1, 1], ascending, both ends included."""
    return -np.cos(np.pi * np.arange(degree + 1) / degree)


@cache
def fit_matrix(degree: int) -> np.ndarray:
    """Return the matrix from values at the nodes to coefficients."""
    return np.linalg.inv(chebyshev.chebvander(nodes(degree), degree))


@cache
def value_matrix(degree: int, points: int) -> np.ndarray:
    """Return the matrix from the coefficients of a series to its values at the nodes of degree `points`."""
    return chebyshev.chebvander(nodes(points), degree)


@cache
def ones(count: int) -> np.ndarray:
    """Return Tₖ(1) for k < count."""
    return np.ones(count)


class Piece(NamedTuple):
    """One step: a series over [start, end], valid until `stop`."""

    start: float
    end: float
    stop: float
    series: np.ndarray  # (degree + 1, size of y)

    @staticmethod
    def of(interpolant: Callable[[np.ndarray], np.ndarray], start: float, end: float, degree: int) -> Piece:
        """Return the piece of an interpolant, a function of times (n,) that returns states (size, n)."""
        times = start + (end - start) * 0.5 * (1.0 + nodes(degree))
        return Piece(start, end, end, fit_matrix(degree) @ interpolant(times).T)

    def until(self, stop: float) -> Piece:
        """Return the piece with another end of its validity."""
        return Piece(self.start, self.end, stop, self.series)

    def bent(self, y: np.ndarray) -> Piece:
        """Return the piece with its end moved to y; the states in between move in proportion to time."""
        series, half = self.series.copy(), 0.5 * (y - self.at(self.end))
        series[:2] += half
        return Piece(self.start, self.end, self.stop, series)

    def at(self, t: float) -> np.ndarray:
        """Return the state at a time, (size,)."""
        if t == self.end:
            return ones(len(self.series)) @ self.series
        x = (2.0 * t - self.start - self.end) / (self.end - self.start)
        before, last, polynomials = 1.0, x, [1.0, x]
        for _ in range(len(self.series) - 2):
            before, last = last, 2.0 * x * last - before
            polynomials.append(last)
        return np.array(polynomials) @ self.series

    def over(self, low: float, high: float, points: int) -> np.ndarray:
        """Return the states at the Chebyshev points of a part of the step, (points + 1, size)."""
        degree = len(self.series) - 1
        if low == self.start and high == self.end:
            return value_matrix(degree, points) @ self.series
        times = low + (high - low) * 0.5 * (1.0 + nodes(points))
        x = (2.0 * times - self.start - self.end) / (self.end - self.start)
        return chebyshev.chebvander(x, degree) @ self.series


@dataclass(frozen=True, eq=False)
class Curve:
    """Consecutive pieces; `quaternions` are the index ranges (low, high) of y that are normalised on evaluation."""

    starts: np.ndarray
    ends: np.ndarray
    stops: np.ndarray
    series: np.ndarray  # (pieces, degree + 1, size of y)
    quaternions: tuple[tuple[int, int], ...] = ()

    @staticmethod
    def of(pieces: list[Piece], quaternions: tuple[tuple[int, int], ...] = ()) -> Curve:
        """Return the curve of pieces, whose series may differ in degree."""
        starts, ends, stops = (np.array([getattr(p, name) for p in pieces]) for name in ("start", "end", "stop"))
        return Curve(starts, ends, stops, _stacked([p.series[None] for p in pieces]), quaternions)

    @staticmethod
    def joined(curves: list[Curve], quaternions: tuple[tuple[int, int], ...] = ()) -> Curve:
        """Return one curve of consecutive curves, whose series may differ in degree."""
        starts, ends, stops = (
            np.concatenate([np.zeros(0), *(getattr(c, name) for c in curves)]) for name in ("starts", "ends", "stops")
        )
        return Curve(starts, ends, stops, _stacked([c.series for c in curves]), quaternions)

    def __len__(self) -> int:
        return len(self.starts)

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces."""
        spans = zip(self.starts.tolist(), self.ends.tolist(), self.stops.tolist(), strict=True)
        for (start, end, stop), series in zip(spans, self.series, strict=True):
            yield Piece(start, end, stop, series)

    def before(self, t: np.ndarray) -> np.ndarray:
        """Return the states at times (n,) as `Piece.at` does; where two pieces meet, that of the earlier one."""
        k = np.clip(np.searchsorted(self.ends, t), 0, len(self) - 1)
        start, end = self.starts[k], self.ends[k]
        x = np.where(t == end, 1.0, (2.0 * t - start - end) / (end - start))
        polynomials = np.ones((len(t), 1, self.series.shape[1]))
        polynomials[:, 0, 1] = x
        for order in range(2, polynomials.shape[2]):
            polynomials[:, 0, order] = 2.0 * x * polynomials[:, 0, order - 1] - polynomials[:, 0, order - 2]
        return (polynomials @ self.series[k])[:, 0]

    @property
    def span(self) -> tuple[float, float]:
        """Start and end of the curve, s."""
        return float(self.starts[0]), float(self.stops[-1])

    def __call__(self, t: np.ndarray) -> np.ndarray:
        """Return the states at times of any shape, (*t.shape, size); where two pieces meet, that of the later one."""
        k = np.clip(np.searchsorted(self.starts, t, side="right") - 1, 0, len(self) - 1)
        start, end = self.starts[k], self.ends[k]
        x = (2.0 * t - start - end) / (end - start)
        y = _clenshaw(x[..., None], [self.series[k, order] for order in range(self.series.shape[1])])
        for low, high in self.quaternions:
            y[..., low:high] /= np.linalg.norm(y[..., low:high], axis=-1, keepdims=True)
        return y


def _stacked(series: list[np.ndarray]) -> np.ndarray:
    """Return one array of series (pieces, degree + 1, size); those of a lower degree are filled up with zeros."""
    if not series:
        return np.zeros((0, 1, 0))
    rows = max(part.shape[1] for part in series)
    filled = [
        part if part.shape[1] == rows else np.pad(part, ((0, 0), (0, rows - part.shape[1]), (0, 0))) for part in series
    ]
    return np.concatenate(filled)


def _clenshaw(x, series: list) -> np.ndarray:
    """Return Σ cₖ Tₖ(x) by Clenshaw's recursion."""
    later, latest = np.zeros_like(series[0]), np.zeros_like(series[0])
    for c in series[:0:-1]:
        later, latest = c + 2.0 * x * later - latest, later
    return series[0] + x * later - latest
