"""Samples of a picture, each with what is nearest there.

A sample keeps a whole number: its upper half is the nearness of what is nearest there, its lower half the number of
the triangle. The larger of two numbers is the nearer triangle, whatever the order in which they come. Only what is
seen in the end is lit.
"""

from __future__ import annotations

import numpy as np

from appell.display.film.cast import Solid
from appell.display.film.eye import Eye
from appell.display.film.light import Light
from appell.display.film.spans import fragments
from appell.display.film.veils import Veils, sorted_veils

BITS = 31  # of a nearness, and of the number of a triangle
NUMBER = (1 << BITS) - 1
FREE = -1  # in a sample with nothing in it


class Canvas:
    """A picture of some pixels, with `fine` samples along each side of a pixel."""

    def __init__(self, eye: Eye, light: Light, size: tuple[int, int], fine: int):
        self.eye, self.light, self.fine = eye, light, fine
        self.width, self.height = size[0] * fine, size[1] * fine

    def positions(self, sample: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where samples are, x and y in pixels."""
        y, x = np.divmod(sample, self.width)
        half, fine = np.float32(0.5), np.float32(self.fine)
        return (x.astype(np.float32) + half) / fine, (y.astype(np.float32) + half) / fine

    def draw(self, solid: Solid, keys: np.ndarray, first: int = 0) -> tuple[np.ndarray, np.ndarray, Veils]:
        """Put triangles, numbered from `first` on, before what the samples show, and change their keys.

        Returns the samples in which they are seen, with their colours, and the veils in front of all that.
        """
        corners, normals, which = self.eye.cut(solid.corners, solid.normals)
        flat = self.eye.project(corners) * [self.fine, self.fine, 1.0] - [0.5, 0.5, 0.0]
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
        veil = np.column_stack([self._lit(facets, veiled, number), colors[number, 3]])
        return sample, lit, sorted_veils(Veils(veiled, near, veil))

    def _before(self, flat: np.ndarray, which: np.ndarray, keys: np.ndarray, first: int):
        """Samples and keys of some triangles, where they are nearer than what is there."""
        samples, found = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        for piece in fragments(flat[which], self.width, self.height):
            nearness = (piece.nearness * (self.eye.near * 2.0**BITS)).astype(np.int64)
            key = (nearness << BITS) | (which + first)[piece.triangle]
            before = np.flatnonzero(key > keys[piece.sample])
            samples.append(piece.sample[before])
            found.append(key[before])
        return np.concatenate(samples), np.concatenate(found)

    def _lit(self, facets: Facets, sample: np.ndarray, triangle: np.ndarray) -> np.ndarray:
        """The colours (n, 3) of triangles at samples."""
        y, x = np.divmod(sample, self.width)
        normals = facets.normals_at(triangle, x.astype(np.float32), y.astype(np.float32))
        rays = self.eye.rays(*self.positions(sample))
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
