"""Pictures of a scene at any time: what stands still is drawn once, and each picture only where something moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.display.bearing import bearing
from appell.display.film.canvas import FREE, Canvas
from appell.display.film.cast import Cast, Solid, joined
from appell.display.film.eye import placed
from appell.display.film.ground import LINE, SHADOW, Ground, behind, below
from appell.display.film.light import Light
from appell.display.film.veils import sorted_veils
from appell.display.scene import SHOWN, Scene

PAPER = np.ones(3, np.float32)
FINE = 2  # samples along each side of a pixel
HEADER, FOOTER, MARGIN = 34, 44, 14  # pixels that are kept free above, below and all around


class Studio:
    """A scene before an eye that stands still."""

    def __init__(self, scene: Scene, size: tuple[int, int], layers: Sequence[str] = SHOWN, slower: float = 1.0):
        self.scene, self.size, self.fine = scene, size, FINE
        self.cast = Cast(scene, layers, slower)
        points = self.cast.reach()
        axes = bearing(scene.up, scene.flat, scene.view)
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
        self.eye = placed(points, axes, frame, far=face_on)
        self.canvas = Canvas(self.eye, Light(axes, scene.up), size, FINE)
        self._stand_still()

    def _stand_still(self) -> None:
        """Draw what does not move: the keys and colours of all samples, the veils, where the ground is seen."""
        count = self.canvas.width * self.canvas.height
        self.keys = np.full(count, FREE, np.int64)
        self.colors = np.tile(PAPER, (count, 1))
        if self.ground is not None:
            lines = self.ground.lines(self.eye, *self.size).repeat(self.fine, axis=0).repeat(self.fine, axis=1)
            self.colors += lines.reshape(-1, 1).astype(np.float32) * (LINE - PAPER)
        sample, lit, self.veils = self.canvas.draw(self.cast.still, self.keys)
        self.colors[sample] = lit
        self.free = self.keys == FREE
        whole, dark = self.colors.copy(), np.where(self.free[:, None], np.float32(0.0), self.colors)
        self.veils.over(whole)
        self.veils.over(dark)
        self.plate, self.floor = self._pixels(whole), self._pixels(whole - dark)  # and what the ground has in it

    def at(self, t: float) -> np.ndarray:
        """The picture at a time, (height, width, 3), with nothing written on it."""
        moving, keys = self.cast.at(t), self.keys.copy()
        sample, lit, veils = self.canvas.draw(moving, keys, first=len(self.cast.still.corners))
        arrows = self.cast.struck(t)
        on_top, bright, _ = self.canvas.draw(arrows, np.full_like(keys, FREE) if len(arrows.corners) else keys)
        light = self._light(moving)
        picture = self.plate if light is None else self.plate - self.floor * (1.0 - light)
        picture = (picture * 255.0 + 0.5).astype(np.uint8)

        touched = Touched(np.concatenate([sample, veils.sample, on_top]), self.size, self.fine)
        colors = self.colors[touched.samples]
        if light is not None:
            shade = np.repeat(light[touched.rows, touched.columns], self.fine**2, axis=0)
            colors = np.where(self.free[touched.samples, None], colors * shade, colors)
        colors[touched.numbers(sample)] = lit
        own = veils._replace(sample=touched.numbers(veils.sample))
        sorted_veils(self.veils.within(touched.samples).before(keys[touched.samples]), own).over(colors)
        colors[touched.numbers(on_top)] = bright
        pixels = colors.reshape(-1, self.fine**2, 3).mean(axis=1)
        picture[touched.rows, touched.columns] = (pixels * 255.0 + 0.5).astype(np.uint8)
        return picture

    def _light(self, moving: Solid) -> np.ndarray | None:
        """What the shadows leave of the light on the ground at pixels, (height, width, 1)."""
        if not self.shaded or self.ground is None:
            return None
        solid = joined([self.cast.still, moving])
        dense = solid.corners[solid.colors[:, 3] >= 1.0]
        return 1.0 - SHADOW * self.ground.shadow(dense, self.eye, *self.size)[..., None]

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
