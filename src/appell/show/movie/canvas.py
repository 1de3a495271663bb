"""Rasterisation of triangles: coverage of samples, depth test, transparency and lighting.

Every sample stores an integer key. Its upper half is the nearness of the nearest triangle, its lower half the index of
that triangle. The larger of two keys belongs to the nearer triangle, so that the result does not depend on the order of
drawing. Lighting is computed for visible samples only.

**Coverage.** Samples are at integer positions (x, y) of a grid. A horizontal line through the middle corner, by y,
divides a triangle into two halves, each between two straight sides; a row of samples in a half is a span from side to
side. A span includes its lower end and excludes its upper end, and a half includes and excludes rows likewise. The
intersection of a side with a row is computed from the lower corner of the side in all triangles that share it, so that
two neighbours never cover a sample twice and leave no gap. Nearness, the reciprocal of the depth in a perspective
projection, is linear in the picture and thus along spans.

**Transparency.** The fragments of transparent triangles are stored per sample and blended from far to near, so that
triangles which intersect each other or solids are drawn correctly.

**Light.** Sky and ground light, one lamp over the viewer's shoulder, specular and rim light, as on the page. Colours c
are blended in linear light, approximated by squares, with the normal n, the lamp direction l, the direction to the
viewer v, and h halfway between l and v:

    c'² = c² (ground + (sky - ground) (1 + n·up) / 2 + lamp max(n·l, 0)) + gloss max(n·h, 0)³² + rim (1 - n·v)³ sky

Surfaces are two-sided: the normal of a back face is reversed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from appell.show.movie.triangles import Triangles
from appell.show.scene.camera import PerspectiveCamera

KEY_BITS = 31  # of the nearness, and of the triangle index
INDEX_MASK = (1 << KEY_BITS) - 1
EMPTY_KEY = -1  # of a sample without a triangle


class Canvas:
    """A picture of `size` pixels, with `samples` samples along each side of a pixel."""

    def __init__(self, camera: PerspectiveCamera, light: Light, size: tuple[int, int], samples: int):
        self.camera, self.light, self.samples = camera, light, samples
        self.width, self.height = size[0] * samples, size[1] * samples

    def positions(self, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions x and y of samples, in pixels."""
        y, x = np.divmod(sample, self.width)
        half, samples = np.float32(0.5), np.float32(self.samples)
        return (x.astype(np.float32) + half) / samples, (y.astype(np.float32) + half) / samples

    def draw(
        self, solid: Triangles, keys: np.ndarray, first: int = 0
    ) -> tuple[np.ndarray, np.ndarray, TransparentSamples]:
        """Draw triangles, with indices from `first`, and update the keys of the samples in place.

        Returns the samples in which opaque triangles are visible, their colours, and the transparent samples in front.
        """
        corners, normals, which = self.camera.cut(solid.corners, solid.normals)
        projected = self.camera.project(corners) * [self.samples, self.samples, 1.0] - [0.5, 0.5, 0.0]
        colors = solid.colors[which]
        facets = Facets(projected, normals, colors)
        hidden = solid.closed[which] & (facets.area > 0.0)  # back faces; y is downwards
        opaque, clear = np.flatnonzero((colors[:, 3] >= 1.0) & ~hidden), np.flatnonzero(colors[:, 3] < 1.0)
        candidates, candidate_keys = self._in_front(projected, opaque, keys, first)
        np.maximum.at(keys, candidates, candidate_keys)
        nearest = np.flatnonzero(keys[candidates] == candidate_keys)
        sample, key = candidates[nearest], candidate_keys[nearest]
        lit = self._lit(facets, sample, (key & INDEX_MASK) - first)
        clear_samples, clear_keys = self._in_front(projected, clear, keys, first)
        index = (clear_keys & INDEX_MASK) - first
        transparent = np.column_stack([self._lit(facets, clear_samples, index), colors[index, 3]])
        return sample, lit, sorted_samples(TransparentSamples(clear_samples, clear_keys, transparent))

    def _in_front(
        self, projected: np.ndarray, which: np.ndarray, keys: np.ndarray, first: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return samples and keys of triangles `which` where they are nearer than the current keys."""
        samples, nearer = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for piece in fragments(projected[which], self.width, self.height):
            nearness = (piece.nearness * (self.camera.near * 2.0**KEY_BITS)).astype(np.int64)
            key = (nearness << KEY_BITS) | (which + first)[piece.triangle]
            visible = np.flatnonzero(key > keys[piece.sample])
            samples.append(piece.sample[visible])
            nearer.append(key[visible])
        return np.concatenate(samples), np.concatenate(nearer)

    def _lit(self, facets: Facets, sample: np.ndarray, triangle: np.ndarray) -> np.ndarray:
        """Return the colours (n, 3) of triangles at samples, with lighting."""
        y, x = np.divmod(sample, self.width)
        normals = facets.normals_at(triangle, x.astype(np.float32), y.astype(np.float32))
        rays = self.camera.rays(*self.positions(sample))
        return self.light.on(facets.colors[triangle, :3], normals, rays)


class Facets:
    """Interpolation of normals over triangles; in a perspective projection corners are weighted by their nearness."""

    def __init__(self, projected: np.ndarray, normals: np.ndarray, colors: np.ndarray):
        self.colors = colors
        a, p, q = projected[:, 0], projected[:, 1] - projected[:, 0], projected[:, 2] - projected[:, 0]
        self.area = p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]  # twice the area; positive if clockwise in the picture
        area = np.where(self.area == 0.0, np.inf, self.area)
        weighted = normals * projected[:, :, 2:] / projected[:, :1, 2:]
        self.origin = a[:, :2].astype(np.float32)
        # gradients of the weights of the second and the third corner, and the normals that they add
        self.second = (np.column_stack([q[:, 1], -q[:, 0]]) / area[:, None]).astype(np.float32)
        self.third = (np.column_stack([-p[:, 1], p[:, 0]]) / area[:, None]).astype(np.float32)
        self.base = weighted[:, 0].astype(np.float32)
        self.differences = (weighted[:, 1:] - weighted[:, :1]).astype(np.float32)

    def normals_at(self, triangle: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the normals (n, 3) of triangles at positions, not normalised."""
        offset = np.column_stack([x, y]) - self.origin[triangle]
        second = np.clip(np.einsum("ni,ni->n", self.second[triangle], offset), 0.0, 1.0)
        third = np.clip(np.einsum("ni,ni->n", self.third[triangle], offset), 0.0, 1.0)
        differences = self.differences[triangle]
        return self.base[triangle] + second[:, None] * differences[:, 0] + third[:, None] * differences[:, 1]


MAX_FRAGMENTS = 2_000_000  # processed at a time, which bounds the memory


class Fragments(NamedTuple):
    """Samples covered by triangles."""

    sample: np.ndarray  # y · width + x
    nearness: np.ndarray
    triangle: np.ndarray


def fragments(corners: np.ndarray, width: int, height: int) -> Iterator[Fragments]:
    """Yield the samples covered by triangles.

    Parameters
    ----------
    corners : ndarray, shape (n, 3, 3)
        x, y and nearness of the three corners of each triangle, x and y in samples. Triangles with non-finite corners
        are skipped.
    width, height : size of the grid in samples

    Yields
    ------
    Fragments
        In pieces of about MAX_FRAGMENTS samples.
    """
    lowest, highest = np.ceil(corners.min(axis=1)), np.ceil(corners.max(axis=1))
    # triangles that are finite and whose bounding box contains samples
    drawn = np.flatnonzero(np.isfinite(highest - lowest).all(axis=1) & (highest > lowest)[:, :2].all(axis=1))
    corners = corners[drawn]
    order = np.argsort(corners[:, :, 1], axis=1)
    low, middle, high = (corners[np.arange(len(corners)), order[:, k]] for k in range(3))
    long, first, second = _slope(low, high), _slope(low, middle), _slope(middle, high)
    cut = low[:, 0] + (middle[:, 1] - low[:, 1]) * long  # x of the long side at the y of the middle corner
    left = np.tile(middle[:, 0] < cut, 2)  # whether the two short sides are left of the long one
    short = np.concatenate([low, middle]), np.concatenate([first, second])
    opposite = np.tile(low, (2, 1)), np.tile(long, 2)
    sides = [[np.where(left if k == 0 else ~left, a, b) for a, b in _columns(short, opposite)] for k in range(2)]

    lines = _ceil(np.array([[low[:, 1], middle[:, 1]], [middle[:, 1], high[:, 1]]]), height)
    half, y = _ragged(lines[:, 0].ravel(), lines[:, 1].ravel())
    ends = [x[half] + (y - at[half]) * slope[half] for x, at, slope in sides]
    start, end = _ceil(np.array(ends), width)
    kept = np.flatnonzero(end > start)
    owner, y, start, end = half[kept] % max(len(drawn), 1), y[kept], start[kept], end[kept]
    along, across = _gradient(low, middle, high)
    nearness = low[owner, 2] + along[owner] * (start - low[owner, 0]) + across[owner] * (y - low[owner, 1])
    bounds = np.sort(corners[:, :, 2], axis=1)
    nearness = np.clip(
        nearness, bounds[owner, 0], bounds[owner, 2]
    )  # the slope of a triangle seen edge on is not reliable
    slope, sample, triangle = along[owner], y * width + start, drawn[owner]
    for piece in _pieces(end - start):
        span, x = _ragged(np.zeros_like(start[piece]), (end - start)[piece])
        yield Fragments(sample[piece][span] + x, nearness[piece][span] + slope[piece][span] * x, triangle[piece][span])


def _columns(one, other):
    """Return pairs of x, of y and of slope of two sides."""
    (a, slope_a), (b, slope_b) = one, other
    return (a[:, 0], b[:, 0]), (a[:, 1], b[:, 1]), (slope_a, slope_b)


def _slope(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return dx/dy of a side; horizontal sides cross no row."""
    rise = high[:, 1] - low[:, 1]
    return (high[:, 0] - low[:, 0]) / np.where(rise > 0.0, rise, 1.0)


def _gradient(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of the nearness of triangles with respect to x and y; zero without area."""
    (ux, uy, us), (vx, vy, vs) = (b - a).T, (c - a).T
    area = ux * vy - uy * vx
    area = np.where(area == 0.0, np.inf, area)
    return (us * vy - vs * uy) / area, (vs * ux - us * vx) / area


def _ceil(ends: np.ndarray, size: int) -> np.ndarray:
    """Round up to integers within [0, size]."""
    return np.clip(np.ceil(ends), 0, size).astype(np.int64)


def _ragged(first: np.ndarray, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of the range and the value, for all integers in the ranges [first, end)."""
    count = np.maximum(end - first, 0)
    owner = np.repeat(np.arange(len(first)), count)
    return owner, np.arange(len(owner)) + (first - np.cumsum(count) + count)[owner]


def _pieces(counts: np.ndarray) -> Iterator[slice]:
    """Yield slices of consecutive spans with about MAX_FRAGMENTS samples together."""
    total = np.cumsum(counts)
    first = 0
    while first < len(counts):
        done = total[first - 1] if first else 0
        last = max(int(np.searchsorted(total, done + MAX_FRAGMENTS, side="right")), first + 1)
        yield slice(first, last)
        first = last


class TransparentSamples(NamedTuple):
    """Samples of transparent triangles, sorted by sample and then from far to near."""

    sample: np.ndarray
    key: np.ndarray  # the larger, the nearer
    color: np.ndarray  # (n, 4)

    def before(self, keys: np.ndarray) -> TransparentSamples:
        """Return those in front of the nearest opaque triangle of each sample."""
        return self._selected(np.flatnonzero(self.key > keys[self.sample]))

    def within(self, samples: np.ndarray) -> TransparentSamples:
        """Return those at the given samples, with positions in this list as sample numbers."""
        start, end = np.searchsorted(self.sample, samples), np.searchsorted(self.sample, samples, side="right")
        count = end - start
        selected = self._selected(np.arange(count.sum()) + np.repeat(start - np.cumsum(count) + count, count))
        return selected._replace(sample=np.repeat(np.arange(len(samples)), count))

    def over(self, colors: np.ndarray) -> None:
        """Blend them over the colours of all samples (samples, 3), in place."""
        first = np.flatnonzero(np.diff(self.sample, prepend=-1))
        rank = np.arange(len(self.sample)) - np.repeat(first, np.diff(first, append=len(self.sample)))
        for k in range(int(rank.max(initial=-1)) + 1):
            now = np.flatnonzero(rank == k)
            at, share = self.sample[now], self.color[now, 3:]
            colors[at] += share * (self.color[now, :3] - colors[at])

    def _selected(self, which: np.ndarray) -> TransparentSamples:
        return TransparentSamples(self.sample[which], self.key[which], self.color[which])


def sorted_samples(*samples: TransparentSamples) -> TransparentSamples:
    """Concatenate and sort transparent samples."""
    joined = TransparentSamples(*(np.concatenate(parts) for parts in zip(*samples, strict=True)))
    return joined._selected(np.lexsort((joined.key, joined.sample)))


SKY_LIGHT, GROUND_LIGHT = np.array([0.62, 0.65, 0.70], np.float32), np.array([0.30, 0.30, 0.31], np.float32)
LAMP_STRENGTH, GLOSS_STRENGTH, RIM_STRENGTH = 0.55, 0.10, 0.10
LAMP_DIRECTION = (-0.42, 0.66, 0.62)  # right, up and towards the viewer


class Light:
    """The lights of a picture with these camera axes."""

    def __init__(self, axes: np.ndarray, up):
        lamp = np.array(LAMP_DIRECTION) @ axes
        self.lamp = (lamp / np.linalg.norm(lamp)).astype(np.float32)
        self.up = np.asarray(up, np.float32)

    def on(self, colors: np.ndarray, normals: np.ndarray, rays: np.ndarray) -> np.ndarray:
        """Return the lit colours (n, 3) of surfaces with normals (n, 3), seen along rays (n, 3) of any length."""
        n, view = _unit(normals), -_unit(rays)
        front = np.einsum("ni,ni->n", n, view)
        n *= np.where(front < 0.0, np.float32(-1.0), np.float32(1.0))[:, None]
        gloss = np.maximum(np.einsum("ni,ni->n", n, _unit(view + self.lamp)), 0.0)
        for _ in range(5):
            gloss *= gloss  # to the power of 32
        rim, high, lit = (
            1.0 - np.abs(front),
            0.5 + 0.5 * (np.einsum("ni,i->n", n, self.up)),
            LAMP_STRENGTH * np.maximum(np.einsum("ni,i->n", n, self.lamp), 0.0),
        )
        light = GROUND_LIGHT + (SKY_LIGHT - GROUND_LIGHT) * high[:, None] + lit[:, None]
        mixed = colors * colors * light + (GLOSS_STRENGTH * gloss)[:, None]
        mixed = mixed + (RIM_STRENGTH * rim * rim * rim)[:, None] * SKY_LIGHT
        return np.sqrt(np.minimum(mixed, 1.0))


def _unit(vectors: np.ndarray) -> np.ndarray:
    size = np.sqrt(np.einsum("ni,ni->n", vectors, vectors))
    return vectors / np.maximum(size, 1e-12)[:, None]
