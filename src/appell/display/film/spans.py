"""Which samples of a picture a triangle covers, and how near it is there, for many triangles at once.

Samples stand at whole numbers (x, y) of a grid. A level line through the middle corner, by y, cuts a triangle into two
halves, each between two straight sides; a line of samples in a half is a span from side to side. A span covers the
samples from its lower end up to, but not at, its upper one, and a half the lines likewise. Where a side crosses a line
is computed from the lower corner of the side in all triangles that share it: two neighbours never cover a sample twice,
and none falls between them.

Nearness, the reciprocal of the depth in a central projection, is linear in the picture, and so along spans.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

MOST = 2_000_000  # fragments at a time, which bounds the memory


class Fragments(NamedTuple):
    """A sample under a triangle, many times."""

    sample: np.ndarray  # y · width + x
    nearness: np.ndarray
    triangle: np.ndarray


def fragments(corners: np.ndarray, width: int, height: int) -> Iterator[Fragments]:
    """Of triangles (n, 3, 3) whose corners are x, y and nearness; one that is not finite covers nothing."""
    least, most = np.ceil(corners.min(axis=1)), np.ceil(corners.max(axis=1))
    finite = np.flatnonzero(
        np.isfinite(most - least).all(axis=1) & (most > least)[:, :2].all(axis=1)
    )  # small ones may miss all
    corners = corners[finite]
    order = np.argsort(corners[:, :, 1], axis=1)
    low, middle, high = (corners[np.arange(len(corners)), order[:, k]] for k in range(3))
    long, first, second = _slope(low, high), _slope(low, middle), _slope(middle, high)
    cut = low[:, 0] + (middle[:, 1] - low[:, 1]) * long  # where the long side is as high as the middle corner
    left = np.tile(middle[:, 0] < cut, 2)  # whether the two short sides are left of the long one
    short = np.concatenate([low, middle]), np.concatenate([first, second])
    opposite = np.tile(low, (2, 1)), np.tile(long, 2)
    sides = [[np.where(left if k == 0 else ~left, a, b) for a, b in _columns(short, opposite)] for k in range(2)]

    lines = _whole(np.array([[low[:, 1], middle[:, 1]], [middle[:, 1], high[:, 1]]]), height)
    half, y = _ragged(lines[:, 0].ravel(), lines[:, 1].ravel())
    ends = [x[half] + (y - at[half]) * slope[half] for x, at, slope in sides]
    start, end = _whole(np.array(ends), width)
    kept = np.flatnonzero(end > start)
    owner, y, start, end = half[kept] % max(len(finite), 1), y[kept], start[kept], end[kept]
    along, across = _gradient(low, middle, high)
    nearness = low[owner, 2] + along[owner] * (start - low[owner, 0]) + across[owner] * (y - low[owner, 1])
    bounds = np.sort(corners[:, :, 2], axis=1)
    nearness = np.clip(nearness, bounds[owner, 0], bounds[owner, 2])  # seen edge on, a triangle has no slope to trust
    slope, place, number = along[owner], y * width + start, finite[owner]
    for piece in _pieces(end - start):
        span, x = _ragged(np.zeros_like(start[piece]), (end - start)[piece])
        yield Fragments(place[piece][span] + x, nearness[piece][span] + slope[piece][span] * x, number[piece][span])


def _columns(one, other):
    """x, y and slope of both, pairwise."""
    (a, slope_a), (b, slope_b) = one, other
    return (a[:, 0], b[:, 0]), (a[:, 1], b[:, 1]), (slope_a, slope_b)


def _slope(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """How fast x grows with y on a side; a level one crosses no line."""
    rise = high[:, 1] - low[:, 1]
    return (high[:, 0] - low[:, 0]) / np.where(rise > 0.0, rise, 1.0)


def _gradient(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How fast the nearness of triangles grows with x and with y; zero where they have no area."""
    (ux, uy, us), (vx, vy, vs) = (b - a).T, (c - a).T
    area = ux * vy - uy * vx
    area = np.where(area == 0.0, np.inf, area)
    return (us * vy - vs * uy) / area, (vs * ux - us * vx) / area


def _whole(ends: np.ndarray, size: int) -> np.ndarray:
    """The first whole numbers from these on, within [0, size]."""
    return np.clip(np.ceil(ends), 0, size).astype(np.int64)


def _ragged(first: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number of a range and a member of it, for all members of ranges."""
    count = np.maximum(end - first, 0)
    owner = np.repeat(np.arange(len(first)), count)
    return owner, np.arange(len(owner)) + (first - np.cumsum(count) + count)[owner]


def _pieces(counts: np.ndarray) -> Iterator[slice]:
    """Consecutive spans with about MOST samples together."""
    total = np.cumsum(counts)
    first = 0
    while first < len(counts):
        done = total[first - 1] if first else 0
        last = max(int(np.searchsorted(total, done + MOST, side="right")), first + 1)
        yield slice(first, last)
        first = last
