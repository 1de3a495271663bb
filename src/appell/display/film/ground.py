"""What tells the size of things: a grid of round distances below them, or behind them if they move in one plane.

The grid is a drawing on a plane without end that fades away from what stands on it, and lies behind everything. A ray
r from the eye e meets the plane n·p = h where p = e + r (h - n·e) / n·r; in pixels, a line is as far away as in metres,
divided by how fast the place changes from pixel to pixel.

The shadow is what lies straight below, drawn soft.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import gaussian_filter

from appell.display.bearing import level_axes
from appell.display.film.eye import Eye
from appell.display.film.spans import fragments

LINES = 8  # about so many across what stands on the ground
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
        power = 10.0 ** math.floor(math.log10(self.size / LINES))
        return power * next(k for k in (1.0, 2.0, 5.0, 10.0) if k * power * LINES >= self.size * (1.0 - 1e-9))

    def lines(self, eye: Eye, width: int, height: int) -> np.ndarray:
        """How much of a line there is in each pixel (height, width), from 0 to 1."""
        y, x = np.mgrid[: height + 1, : width + 1] + 0.5
        place, before = self._met(eye, x, y)
        here = place[:-1, :-1]
        pixel = np.hypot(place[:-1, 1:] - here, place[1:, :-1] - here) + 1e-9 * self.size
        away = np.abs(here / self.step - np.round(here / self.step)) * self.step
        cover = np.clip(1.0 - away / pixel, 0.0, 1.0) * np.clip(0.5 * self.step / pixel, 0.0, 1.0)  # far ones merge
        far = np.linalg.norm(here - self.middle, axis=-1) / (REACH * self.size)
        return np.where(before[:-1, :-1], cover.max(axis=-1) * np.clip(1.5 - 1.5 * far, 0.0, 1.0), 0.0)

    def _met(self, eye: Eye, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where pixels meet the plane, along its axes (..., 2), and whether they do so before the eye."""
        e, rays = self.axes @ eye.place, eye.rays(x, y) @ self.axes.T
        with np.errstate(divide="ignore", invalid="ignore"):
            share = (self.height - e[2]) / rays[..., 2:]
        before = np.isfinite(share) & (share > 0.0)
        return e[:2] + np.where(before, share, 0.0) * rays[..., :2], before[..., 0]

    def under(self, points: np.ndarray) -> np.ndarray:
        """The places (..., 3) on the plane that are straight below points, or above them."""
        return points - (points @ self.axes[2] - self.height)[..., None] * self.axes[2]

    def shadow(self, corners: np.ndarray, eye: Eye, width: int, height: int) -> np.ndarray:
        """How much of the light from above is kept from the ground at pixels (height, width) by triangles."""
        dark = np.zeros((height, width), np.float32)
        for found in fragments(eye.project(self.under(corners)) - [0.5, 0.5, 0.0], width, height):
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
