"""Pictures of a scene at any time: what stands still is drawn once, and each picture only where something moves.

What tells the size of things: a grid of round distances below them, or behind them if they move in one plane.

The grid is a drawing on a plane without end that fades away from what stands on it, and lies behind everything. A ray
r from the camera e meets the plane n·p = h where p = e + r (h - n·e) / n·r; in pixels, a line is as far away as in
metres, divided by how fast the place changes from pixel to pixel.

The shadow is what lies straight below, drawn soft.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter

from appell.show.movie.canvas import FREE, Canvas, Light, fragments, sorted_samples
from appell.show.movie.triangles import SceneTriangles, Triangles, joined
from appell.show.scene.camera import PerspectiveCamera, grid_step, level_axes, perspective_camera, view_axes
from appell.show.scene.scene import DEFAULT_LAYERS, Scene

PAPER = np.ones(3, np.float32)
FINE = 2  # samples along each side of a pixel
HEADER, FOOTER, MARGIN = 34, 44, 14  # pixels that are kept free above, below and all around


class Renderer:
    """A scene in front of a camera that does not move."""

    def __init__(
        self, scene: Scene, size: tuple[int, int], layers: Sequence[str] = DEFAULT_LAYERS, slower: float = 1.0
    ):
        self.scene, self.size, self.fine = scene, size, FINE
        self.triangles = SceneTriangles(scene, layers, slower)
        points = self.triangles.reach()
        axes = view_axes(scene.up, scene.flat, scene.view)
        face_on = scene.flat is not None and scene.view is None
        width, height = size
        frame = (MARGIN, HEADER + MARGIN, width - MARGIN, height - FOOTER - MARGIN)
        self.shaded = len(points) > 0 and not face_on and bool(axes[2] @ np.asarray(scene.up, float) > 0.0)
        self.ground: Ground | None = None
        if self.shaded:
            self.ground = below(points, scene.up)
            points = np.concatenate([points, self.ground.under(points)])  # their shadows are in the picture too
        elif len(points) and face_on:
            self.ground = behind(points, axes)
        self.camera = perspective_camera(points, axes, frame, far=face_on)
        self.canvas = Canvas(self.camera, Light(axes, scene.up), size, FINE)
        self._stand_still()

    def _stand_still(self) -> None:
        """Draw what does not move: the keys and colours of all samples, transparent ones, where the ground is seen."""
        count = self.canvas.width * self.canvas.height
        self.keys = np.full(count, FREE, np.int64)
        self.colors = np.tile(PAPER, (count, 1))
        if self.ground is not None:
            lines = self.ground.lines(self.camera, *self.size).repeat(self.fine, axis=0).repeat(self.fine, axis=1)
            self.colors += lines.reshape(-1, 1).astype(np.float32) * (LINE - PAPER)
        sample, lit, self.transparent = self.canvas.draw(self.triangles.still, self.keys)
        self.colors[sample] = lit
        self.free = self.keys == FREE
        whole, dark = self.colors.copy(), np.where(self.free[:, None], np.float32(0.0), self.colors)
        self.transparent.over(whole)
        self.transparent.over(dark)
        self.plate, self.floor = self._pixels(whole), self._pixels(whole - dark)  # and what the ground has in it

    def at(self, t: float) -> np.ndarray:
        """The picture at a time, (height, width, 3), with nothing written on it."""
        moving, keys = self.triangles.at(t), self.keys.copy()
        sample, lit, transparent = self.canvas.draw(moving, keys, first=len(self.triangles.still.corners))
        arrows = self.triangles.struck(t)
        on_top, bright, _ = self.canvas.draw(arrows, np.full_like(keys, FREE) if len(arrows.corners) else keys)
        light = self._light(moving)
        picture = self.plate if light is None else self.plate - self.floor * (1.0 - light)
        picture = (picture * 255.0 + 0.5).astype(np.uint8)

        touched = Touched(np.concatenate([sample, transparent.sample, on_top]), self.size, self.fine)
        colors = self.colors[touched.samples]
        if light is not None:
            shade = np.repeat(light[touched.rows, touched.columns], self.fine**2, axis=0)
            colors = np.where(self.free[touched.samples, None], colors * shade, colors)
        colors[touched.numbers(sample)] = lit
        own = transparent._replace(sample=touched.numbers(transparent.sample))
        sorted_samples(self.transparent.within(touched.samples).before(keys[touched.samples]), own).over(colors)
        colors[touched.numbers(on_top)] = bright
        pixels = colors.reshape(-1, self.fine**2, 3).mean(axis=1)
        picture[touched.rows, touched.columns] = (pixels * 255.0 + 0.5).astype(np.uint8)
        return picture

    def _light(self, moving: Triangles) -> np.ndarray | None:
        """What the shadows leave of the light on the ground at pixels, (height, width, 1)."""
        if not self.shaded or self.ground is None:
            return None
        solid = joined([self.triangles.still, moving])
        dense = solid.corners[solid.colors[:, 3] >= 1.0]
        return 1.0 - SHADOW * self.ground.shadow(dense, self.camera, *self.size)[..., None]

    def _pixels(self, samples: np.ndarray) -> np.ndarray:
        """The means over pixels, (height, width, ...)."""
        width, height = self.size
        return samples.reshape(height, self.fine, width, self.fine, -1).mean(axis=(1, 3))


class Touched:
    """The pixels that some samples are in, and all samples of these pixels, one pixel after the other."""

    def __init__(self, samples: np.ndarray, size: tuple[int, int], fine: int):
        self.fine, self.across = fine, size[0] * fine
        marked = np.zeros(size[::-1], bool)
        y, x = np.divmod(samples, self.across)
        marked[y // fine, x // fine] = True
        self.rows, self.columns = np.nonzero(marked)
        self.place = np.zeros(size[::-1], np.int64)
        self.place[self.rows, self.columns] = np.arange(len(self.rows)) * fine**2
        dy, dx = np.divmod(np.arange(fine**2), fine)
        all_y, all_x = self.rows[:, None] * fine + dy, self.columns[:, None] * fine + dx
        self.samples = (all_y * self.across + all_x).ravel()

    def numbers(self, samples: np.ndarray) -> np.ndarray:
        """Where samples stand among `samples`."""
        y, x = np.divmod(samples, self.across)
        (row, dy), (column, dx) = np.divmod(y, self.fine), np.divmod(x, self.fine)
        return self.place[row, column] + dy * self.fine + dx


REACH = 1.3  # of its size: where the grid has faded away
LINE, SHADOW = np.array([0.78, 0.80, 0.83], np.float32), 0.30  # colour of a line; how dark a shadow is
SOFT, WIDE = 1 / 160, 2.5  # the blur of a shadow, in widths of a picture, and how far it reaches, in blurs


@dataclass(frozen=True, eq=False)
class Ground:
    """A plane: its axes as rows, the last one its normal, how high it is along that, and what stands on it."""

    axes: np.ndarray
    height: float
    middle: np.ndarray  # (2), along the first two axes
    size: float

    @property
    def step(self) -> float:
        """The distance of two lines: 1, 2 or 5 times a power of ten, in m."""
        return grid_step(self.size)

    def lines(self, camera: PerspectiveCamera, width: int, height: int) -> np.ndarray:
        """How much of a line there is in each pixel (height, width), from 0 to 1."""
        y, x = np.mgrid[: height + 1, : width + 1] + 0.5
        place, before = self._met(camera, x, y)
        here = place[:-1, :-1]
        pixel = np.hypot(place[:-1, 1:] - here, place[1:, :-1] - here) + 1e-9 * self.size
        away = np.abs(here / self.step - np.round(here / self.step)) * self.step
        cover = np.clip(1.0 - away / pixel, 0.0, 1.0) * np.clip(0.5 * self.step / pixel, 0.0, 1.0)  # far ones merge
        far = np.linalg.norm(here - self.middle, axis=-1) / (REACH * self.size)
        return np.where(before[:-1, :-1], cover.max(axis=-1) * np.clip(1.5 - 1.5 * far, 0.0, 1.0), 0.0)

    def _met(self, camera: PerspectiveCamera, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where pixels meet the plane, along its axes (..., 2), and whether they do so before the camera."""
        e, rays = self.axes @ camera.position, camera.rays(x, y) @ self.axes.T
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (self.height - e[2]) / rays[..., 2:]
        before = np.isfinite(share) & (share > 0.0)
        return e[:2] + np.where(before, share, 0.0) * rays[..., :2], before[..., 0]

    def under(self, points: np.ndarray) -> np.ndarray:
        """The places (..., 3) on the plane that are straight below points, or above them."""
        return points - (points @ self.axes[2] - self.height)[..., None] * self.axes[2]

    def shadow(self, corners: np.ndarray, camera: PerspectiveCamera, width: int, height: int) -> np.ndarray:
        """How much of the light from above is kept from the ground at pixels (height, width) by triangles."""
        dark = np.zeros((height, width), np.float32)
        for found in fragments(camera.project(self.under(corners)) - [0.5, 0.5, 0.0], width, height):
            dark.ravel()[found.sample] = 1.0
        rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
        if len(rows):
            blur = SOFT * width
            rim = math.ceil(WIDE * blur) + 1
            low, left = max(rows[0] - rim, 0), max(columns[0] - rim, 0)
            box = slice(low, rows[-1] + rim + 1), slice(left, columns[-1] + rim + 1)
            dark[box] = gaussian_filter(dark[box], blur, truncate=WIDE)
        return dark


def below(points: np.ndarray, up) -> Ground:
    """The level ground under points (n, 3): at height 0 if they are not far above it, else where the lowest are."""
    own = _about(points, level_axes(np.asarray(up, float)), low=True)
    return replace(own, height=0.0) if 0.0 < own.height < own.size else own


def behind(points: np.ndarray, axes: np.ndarray) -> Ground:
    """The plane through the middle of points, across the view."""
    return _about(points, axes, low=False)


def _about(points: np.ndarray, axes: np.ndarray, low: bool) -> Ground:
    local = points @ axes.T
    bottom, top = local.min(axis=0), local.max(axis=0)
    size = max(float((top - bottom).max()), 0.05)
    return Ground(axes, float(bottom[2] if low else (bottom[2] + top[2]) / 2.0), (bottom + top)[:2] / 2.0, size)
