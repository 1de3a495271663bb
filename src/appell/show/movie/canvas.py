"""Samples of a picture: which triangles cover them, what is nearest there, its colour, and what is seen through.

A sample keeps a whole number: its upper half is the nearness of what is nearest there, its lower half the number of
the triangle. The larger of two numbers is the nearer triangle, whatever the order in which they come. Only what is
seen in the end is lit.

**Coverage.** Samples stand at whole numbers (x, y) of a grid. A level line through the middle corner, by y, cuts a
triangle into two halves, each between two straight sides; a line of samples in a half is a span from side to side. A
span covers the samples from its lower end up to, but not at, its upper one, and a half the lines likewise. Where a side
crosses a line is computed from the lower corner of the side in all triangles that share it: two neighbours never cover
a sample twice, and none falls between them. Nearness, the reciprocal of the depth in a central projection, is linear in
the picture, and so along spans.

**Transparency.** Transparent triangles are kept sample by sample. Sorted from far to near they are laid over what is
behind them, so that those which pierce each other, or solids, are right as well.

**Light.** Sky and ground, one lamp over the viewer's shoulder, a gloss and a rim, as on the page. Colours c are mixed
as light, that is squared, with the normal n, the lamp l, the viewer v and h halfway between them:

    c'² = c² (ground + (sky - ground) (1 + n·up) / 2 + lamp max(n·l, 0)) + gloss max(n·h, 0)³² + rim (1 - n·v)³ sky

Surfaces have no inside: what is seen from behind is lit as if it were turned around.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from appell.show.movie.triangles import Triangles
from appell.show.scene.camera import PerspectiveCamera

BITS = 31  # of a nearness, and of the number of a triangle
NUMBER = (1 << BITS) - 1
FREE = -1  # in a sample with nothing in it


class Canvas:
    """A picture of some pixels, with `fine` samples along each side of a pixel."""

    def __init__(self, camera: PerspectiveCamera, light: Light, size: tuple[int, int], fine: int):
        self.camera, self.light, self.fine = camera, light, fine
        self.width, self.height = size[0] * fine, size[1] * fine

    def positions(self, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where samples are, x and y in pixels."""
        y, x = np.divmod(sample, self.width)
        half, fine = np.float32(0.5), np.float32(self.fine)
        return (x.astype(np.float32) + half) / fine, (y.astype(np.float32) + half) / fine

    def draw(
        self, solid: Triangles, keys: np.ndarray, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, TransparentSamples]:
        """Put triangles, numbered from `first` on, before what the samples show, and change their keys.

        Returns the samples in which they are seen, with their colours, and the transparent samples in front of them.
        """
        corners, normals, which = self.camera.cut(solid.corners, solid.normals)
        flat = self.camera.project(corners) * [self.fine, self.fine, 1.0] - [0.5, 0.5, 0.0]
        colors = solid.colors[which]
        facets = Facets(flat, normals, colors)
        hidden = solid.closed[which] & (facets.area > 0.0)  # y is downwards
        dense, clear = np.flatnonzero((colors[:, 3] >= 1.0) & ~hidden), np.flatnonzero(colors[:, 3] < 1.0)
        found = self._before(flat, dense, keys, first)
        np.maximum.at(keys, *found)
        won = np.flatnonzero(keys[found[0]] == found[1])
        sample, key = found[0][won], found[1][won]
        lit = self._lit(facets, sample, (key & NUMBER) - first)
        veiled, near = self._before(flat, clear, keys, first)
        number = (near & NUMBER) - first
        transparent = np.column_stack([self._lit(facets, veiled, number), colors[number, 3]])
        return sample, lit, sorted_samples(TransparentSamples(veiled, near, transparent))

    def _before(self, flat: np.ndarray, which: np.ndarray, keys: np.ndarray, first: int):
        """Samples and keys of some triangles, where they are nearer than what is there."""
        samples, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for piece in fragments(flat[which], self.width, self.height):
            nearness = (piece.nearness * (self.camera.near * 2.0**BITS)).astype(np.int64)
            key = (nearness << BITS) | (which + first)[piece.triangle]
            before = np.flatnonzero(key > keys[piece.sample])
            samples.append(piece.sample[before])
            found.append(key[before])
        return np.concatenate(samples), np.concatenate(found)

    def _lit(self, facets: Facets, sample: np.ndarray, triangle: np.ndarray) -> np.ndarray:
        """The colours (n, 3) of triangles at samples."""
        y, x = np.divmod(sample, self.width)
        normals = facets.normals_at(triangle, x.astype(np.float32), y.astype(np.float32))
        rays = self.camera.rays(*self.positions(sample))
        return self.light.on(facets.colors[triangle, :3], normals, rays)


class Facets:
    """Normals all over triangles, from those at the corners: in a central projection these count by their nearness."""

    def __init__(self, flat: np.ndarray, normals: np.ndarray, colors: np.ndarray):
        self.colors = colors
        a, p, q = flat[:, 0], flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0]
        self.area = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]  # twice; positive if the corners turn right
        area = np.where(self.area == 0.0, np.inf, self.area)
        weighted = normals * flat[:, :, 2:] / flat[:, :1, 2:]
        self.origin = a[:, :2].astype(np.float32)
        # the shares of the second and the third corner at a place, and what they bring
        self.second = (np.column_stack([q[:, 1], -q[:, 0]]) / area[:, None]).astype(np.float32)
        self.third = (np.column_stack([-p[:, 1], p[:, 0]]) / area[:, None]).astype(np.float32)
        self.base = weighted[:, 0].astype(np.float32)
        self.turns = (weighted[:, 1:] - weighted[:, :1]).astype(np.float32)

    def normals_at(self, triangle: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(n, 3), not of unit length."""
        place = np.column_stack([x, y]) - self.origin[triangle]
        second = np.clip(np.einsum("ni,ni->n", self.second[triangle], place), 0.0, 1.0)
        third = np.clip(np.einsum("ni,ni->n", self.third[triangle], place), 0.0, 1.0)
        turns = self.turns[triangle]
        return self.base[triangle] + second[:, None] * turns[:, 0] + third[:, None] * turns[:, 1]


MOST_FRAGMENTS = 2_000_000  # fragments at a time, which bounds the memory


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
        last = max(int(np.searchsorted(total, done + MOST_FRAGMENTS, side="right")), first + 1)
        yield slice(first, last)
        first = last


class TransparentSamples(NamedTuple):
    """Triangles that let light through, at samples; sorted by sample, and then from far to near."""

    sample: np.ndarray
    key: np.ndarray  # the larger, the nearer
    color: np.ndarray  # (n, 4)

    def before(self, keys: np.ndarray) -> TransparentSamples:
        """Those in front of what is nearest in each sample."""
        return self._picked(np.flatnonzero(self.key > keys[self.sample]))

    def within(self, samples: np.ndarray) -> TransparentSamples:
        """Those at some samples, which are then numbered as they stand in the list."""
        start, end = np.searchsorted(self.sample, samples), np.searchsorted(self.sample, samples, side="right")
        count = end - start
        found = self._picked(np.arange(count.sum()) + np.repeat(start - np.cumsum(count) + count, count))
        return found._replace(sample=np.repeat(np.arange(len(samples)), count))

    def over(self, colors: np.ndarray) -> None:
        """Lay them over the colours of all samples (samples, 3), in place."""
        first = np.flatnonzero(np.diff(self.sample, prepend=-1))
        rank = np.arange(len(self.sample)) - np.repeat(first, np.diff(first, append=len(self.sample)))
        for k in range(int(rank.max(initial=-1)) + 1):
            now = np.flatnonzero(rank == k)
            at, share = self.sample[now], self.color[now, 3:]
            colors[at] += share * (self.color[now, :3] - colors[at])

    def _picked(self, which: np.ndarray) -> TransparentSamples:
        return TransparentSamples(self.sample[which], self.key[which], self.color[which])


def sorted_samples(*samples: TransparentSamples) -> TransparentSamples:
    """All of them, in order."""
    joined = TransparentSamples(*(np.concatenate(parts) for parts in zip(*samples, strict=True)))
    return joined._picked(np.lexsort((joined.key, joined.sample)))


SKY_LIGHT, GROUND_LIGHT = np.array([0.62, 0.65, 0.70], np.float32), np.array([0.30, 0.30, 0.31], np.float32)
LAMP, GLOSS, RIM = 0.55, 0.10, 0.10
SHOULDER = (-0.42, 0.66, 0.62)  # where the lamp is: right, up and towards the viewer


class Light:
    """The lights of a picture that is seen along these axes."""

    def __init__(self, axes: np.ndarray, up):
        lamp = np.array(SHOULDER) @ axes
        self.lamp = (lamp / np.linalg.norm(lamp)).astype(np.float32)
        self.up = np.asarray(up, np.float32)

    def on(self, colors: np.ndarray, normals: np.ndarray, rays: np.ndarray) -> np.ndarray:
        """Colours (n, 3) with normals of any length, seen along rays of any length."""
        n, view = _unit(normals), -_unit(rays)
        front = np.einsum("ni,ni->n", n, view)
        n *= np.where(front < 0.0, np.float32(-1.0), np.float32(1.0))[:, None]
        gloss = np.maximum(np.einsum("ni,ni->n", n, _unit(view + self.lamp)), 0.0)
        for _ in range(5):
            gloss *= gloss  # to the power of 32
        rim, high, lit = (
            1.0 - np.abs(front),
            0.5 + 0.5 * (np.einsum("ni,i->n", n, self.up)),
            LAMP * np.maximum(np.einsum("ni,i->n", n, self.lamp), 0.0),
        )
        light = GROUND_LIGHT + (SKY_LIGHT - GROUND_LIGHT) * high[:, None] + lit[:, None]
        mixed = colors * colors * light + (GLOSS * gloss)[:, None] + (RIM * rim * rim * rim)[:, None] * SKY_LIGHT
        return np.sqrt(np.minimum(mixed, 1.0))


def _unit(vectors: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.einsum("ni,ni->n", vectors, vectors))
    return vectors / np.maximum(size, 1e-12)[:, None]
