"""Pictures of a scene at any time: static parts are drawn once, and each picture only where something moves.

A grid with round spacing shows the scale. It is below the scene, or behind a planar scene. It is drawn on an infinite
plane, fades with the distance from the scene, and is behind everything else. A ray r from the camera e meets the plane
n·p = h at p = e + r (h - n·e) / n·r. The distance of a pixel from a grid line in pixels is its distance in metres
divided by the change of p per pixel.

The shadow is the blurred vertical projection of the scene onto the ground.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter

from appell.show.movie.canvas import EMPTY_KEY, Canvas, Light, fragments, sorted_samples
from appell.show.movie.triangles import SceneTriangles, Triangles, joined
from appell.show.scene.camera import PerspectiveCamera, grid_step, level_axes, perspective_camera, view_axes
from appell.show.scene.scene import DEFAULT_LAYERS, Scene

BACKGROUND = np.ones(3, np.float32)
SAMPLES_PER_SIDE = 2  # of a pixel
HEADER_PX, FOOTER_PX, MARGIN_PX = 34, 44, 14  # kept free at the top, at the bottom and on all sides


class Renderer:
    """Renders a scene with a fixed camera."""

    def __init__(
        self, scene: Scene, size: tuple[int, int], layers: Sequence[str] = DEFAULT_LAYERS, slower: float = 1.0
    ):
        self.scene, self.size, self.samples = scene, size, SAMPLES_PER_SIDE
        self.triangles = SceneTriangles(scene, layers, slower)
        points = self.triangles.extent()
        axes = view_axes(scene.up, scene.flat, scene.view)
        face_on = scene.flat is not None and scene.view is None
        width, height = size
        frame = (MARGIN_PX, HEADER_PX + MARGIN_PX, width - MARGIN_PX, height - FOOTER_PX - MARGIN_PX)
        self.shaded = len(points) > 0 and not face_on and bool(axes[2] @ np.asarray(scene.up, float) > 0.0)
        self.ground: Ground | None = None
        if self.shaded:
            self.ground = below(points, scene.up, scene.floor)
            points = np.concatenate([points, self.ground.under(points)])  # include the shadows
        elif len(points) and face_on:
            self.ground = behind(points, axes)
        self.camera = perspective_camera(points, axes, frame, far=face_on)
        self.canvas = Canvas(self.camera, Light(axes, scene.up), size, SAMPLES_PER_SIDE)
        self._draw_static()

    def _draw_static(self) -> None:
        """Draw static parts: keys and colours of all samples, transparent samples, and where the ground is visible."""
        count = self.canvas.width * self.canvas.height
        self.keys = np.full(count, EMPTY_KEY, np.int64)
        self.colors = np.tile(BACKGROUND, (count, 1))
        if self.ground is not None:
            lines = self.ground.lines(self.camera, *self.size).repeat(self.samples, axis=0).repeat(self.samples, axis=1)
            self.colors += lines.reshape(-1, 1).astype(np.float32) * (GRID_COLOR - BACKGROUND)
        sample, lit, self.transparent = self.canvas.draw(self.triangles.static, self.keys)
        self.colors[sample] = lit
        self.empty = self.keys == EMPTY_KEY
        complete, without_ground = self.colors.copy(), np.where(self.empty[:, None], np.float32(0.0), self.colors)
        self.transparent.over(complete)
        self.transparent.over(without_ground)
        self.static, self.ground_part = self._pixels(complete), self._pixels(complete - without_ground)

    def at(self, t: float) -> np.ndarray:
        """Return the picture at a time, (height, width, 3) of bytes, without captions."""
        moving, keys = self.triangles.at(t), self.keys.copy()
        sample, lit, transparent = self.canvas.draw(moving, keys, first=len(self.triangles.static.corners))
        arrows = self.triangles.arrows_at(t)
        on_top, arrow_colors, _ = self.canvas.draw(
            arrows, np.full_like(keys, EMPTY_KEY) if len(arrows.corners) else keys
        )
        light = self._light(moving)
        picture = self.static if light is None else self.static - self.ground_part * (1.0 - light)
        picture = (picture * 255.0 + 0.5).astype(np.uint8)

        changed = ChangedPixels(np.concatenate([sample, transparent.sample, on_top]), self.size, self.samples)
        colors = self.colors[changed.samples]
        if light is not None:
            shade = np.repeat(light[changed.rows, changed.columns], self.samples**2, axis=0)
            colors = np.where(self.empty[changed.samples, None], colors * shade, colors)
        colors[changed.indices(sample)] = lit
        moving_transparent = transparent._replace(sample=changed.indices(transparent.sample))
        static_transparent = self.transparent.within(changed.samples).before(keys[changed.samples])
        sorted_samples(static_transparent, moving_transparent).over(colors)
        colors[changed.indices(on_top)] = arrow_colors
        pixels = colors.reshape(-1, self.samples**2, 3).mean(axis=1)
        picture[changed.rows, changed.columns] = (pixels * 255.0 + 0.5).astype(np.uint8)
        return picture

    def _light(self, moving: Triangles) -> np.ndarray | None:
        """Return the share of light on the ground that shadows leave at each pixel, (height, width, 1)."""
        if not self.shaded or self.ground is None:
            return None
        solid = joined([self.triangles.static, moving])
        opaque = solid.corners[solid.colors[:, 3] >= 1.0]
        return 1.0 - SHADOW_STRENGTH * self.ground.shadow(opaque, self.camera, *self.size)[..., None]

    def _pixels(self, samples: np.ndarray) -> np.ndarray:
        """Average samples over pixels: (height, width, ...)."""
        width, height = self.size
        return samples.reshape(height, self.samples, width, self.samples, -1).mean(axis=(1, 3))


class ChangedPixels:
    """The pixels that contain the given samples, and all samples of these pixels, pixel by pixel."""

    def __init__(self, samples: np.ndarray, size: tuple[int, int], per_side: int):
        self.per_side, self.stride = per_side, size[0] * per_side
        marked = np.zeros(size[::-1], bool)
        y, x = np.divmod(samples, self.stride)
        marked[y // per_side, x // per_side] = True
        self.rows, self.columns = np.nonzero(marked)
        self.first = np.zeros(size[::-1], np.int64)  # index of the first sample of a pixel
        self.first[self.rows, self.columns] = np.arange(len(self.rows)) * per_side**2
        dy, dx = np.divmod(np.arange(per_side**2), per_side)
        all_y, all_x = self.rows[:, None] * per_side + dy, self.columns[:, None] * per_side + dx
        self.samples = (all_y * self.stride + all_x).ravel()

    def indices(self, samples: np.ndarray) -> np.ndarray:
        """Return the positions of samples in `self.samples`."""
        y, x = np.divmod(samples, self.stride)
        (row, dy), (column, dx) = np.divmod(y, self.per_side), np.divmod(x, self.per_side)
        return self.first[row, column] + dy * self.per_side + dx


GRID_FADE_DISTANCE = 1.3  # in sizes of the scene: where the grid has faded out
GRID_COLOR = np.array([0.78, 0.80, 0.83], np.float32)
SHADOW_STRENGTH = 0.30
SHADOW_BLUR = 1 / 160  # standard deviation, in widths of the picture
SHADOW_BLUR_RANGE = 2.5  # standard deviations after which the blur is truncated


@dataclass(frozen=True, eq=False)
class Ground:
    """The plane of the grid: its axes as rows with the normal last, its height along the normal, and its extent."""

    axes: np.ndarray
    height: float
    middle: np.ndarray  # (2), of the scene, along the first two axes
    size: float  # of the scene, in m

    @property
    def step(self) -> float:
        """Spacing of the grid lines in m."""
        return grid_step(self.size)

    def lines(self, camera: PerspectiveCamera, width: int, height: int) -> np.ndarray:
        """Return the coverage of each pixel (height, width) by grid lines, from 0 to 1."""
        y, x = np.mgrid[: height + 1, : width + 1] + 0.5
        points, visible = self._intersections(camera, x, y)
        here = points[:-1, :-1]
        pixel = np.hypot(points[:-1, 1:] - here, points[1:, :-1] - here) + 1e-9 * self.size
        distance = np.abs(here / self.step - np.round(here / self.step)) * self.step
        density = np.clip(0.5 * self.step / pixel, 0.0, 1.0)  # fade where lines are closer than pixels
        cover = np.clip(1.0 - distance / pixel, 0.0, 1.0) * density
        far = np.linalg.norm(here - self.middle, axis=-1) / (GRID_FADE_DISTANCE * self.size)
        return np.where(visible[:-1, :-1], cover.max(axis=-1) * np.clip(1.5 - 1.5 * far, 0.0, 1.0), 0.0)

    def _intersections(self, camera: PerspectiveCamera, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return where the rays of pixels meet the plane (..., 2), and whether this is in front of the camera."""
        e, rays = self.axes @ camera.position, camera.rays(x, y) @ self.axes.T
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (self.height - e[2]) / rays[..., 2:]
        in_front = np.isfinite(share) & (share > 0.0)
        return e[:2] + np.where(in_front, share, 0.0) * rays[..., :2], in_front[..., 0]

    def under(self, points: np.ndarray) -> np.ndarray:
        """Project points (..., 3) onto the plane along its normal."""
        return points - (points @ self.axes[2] - self.height)[..., None] * self.axes[2]

    def shadow(self, corners: np.ndarray, camera: PerspectiveCamera, width: int, height: int) -> np.ndarray:
        """Return the share of light from above that triangles block at each pixel of the ground, (height, width)."""
        dark = np.zeros((height, width), np.float32)
        corners = corners[(corners @ self.axes[2] > self.height).any(axis=1)]  # the ground hides what is below it
        for piece in fragments(camera.project(self.under(corners)) - [0.5, 0.5, 0.0], width, height):
            dark.ravel()[piece.sample] = 1.0
        rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
        if len(rows):
            blur = SHADOW_BLUR * width
            rim = math.ceil(SHADOW_BLUR_RANGE * blur) + 1
            low, left = max(rows[0] - rim, 0), max(columns[0] - rim, 0)
            box = slice(low, rows[-1] + rim + 1), slice(left, columns[-1] + rim + 1)
            dark[box] = gaussian_filter(dark[box], blur, truncate=SHADOW_BLUR_RANGE)
        return dark


def below(points: np.ndarray, up, floor: float | None = None) -> Ground:
    """Return the horizontal ground of points (n, 3): at `floor`, else at 0 if that is close below, else the lowest."""
    ground = _plane_through(points, level_axes(np.asarray(up, float)), low=True)
    if floor is None and 0.0 < ground.height < ground.size:
        floor = 0.0
    return ground if floor is None else replace(ground, height=floor)


def behind(points: np.ndarray, axes: np.ndarray) -> Ground:
    """Return the plane through the centre of points (n, 3), perpendicular to the view."""
    return _plane_through(points, axes, low=False)


def _plane_through(points: np.ndarray, axes: np.ndarray, low: bool) -> Ground:
    local = points @ axes.T
    bottom, top = local.min(axis=0), local.max(axis=0)
    size = max(float((top - bottom).max()), 0.05)
    return Ground(axes, float(bottom[2] if low else (bottom[2] + top[2]) / 2.0), (bottom + top)[:2] / 2.0, size)
