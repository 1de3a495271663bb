"""How large things are drawn on a system of any size: rods in proportion to their lengths, frames to all of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.motion.pictures.camera import placed
from appell.motion.pictures.shape import Shape
from appell.motion.pictures.walls import extent

SLENDER = 0.1  # radius of a rod in its length
THINNEST, THICKEST, LEGS = (
    0.003,
    0.045,
    0.028,
)  # and in the size of all; legs of mechanisms are no thicker than the last
SHORT = 0.04  # of the size of all: a shorter line says nothing about how thick rods are
LEAST = 1e-4  # of the size of all: the thinnest sheet that is drawn


@dataclass(frozen=True, eq=False)
class Proportions:
    """The size of a system, the radius of its rods, and the normal of the plane that it lies in, if there is one."""

    size: float
    radius: float
    normal: np.ndarray | None

    @property
    def least(self) -> float:
        return LEAST * self.size


def proportions_of(shape: Shape, q: np.ndarray) -> Proportions:
    """At one configuration (nq), or over several (..., nq)."""
    scene = shape.at(q)
    points = scene.points(scene.bare)
    size = extent(points) if len(points) else 1.0
    lines = [k for k, segment in enumerate(shape.segments) if not segment.rim]
    lengths = np.linalg.norm(np.diff(scene.segments[..., lines, :, :], axis=-2), axis=-1)
    long = lengths[np.isfinite(lengths) & (lengths > SHORT * size)]
    all_of_them = long if long.size else lengths[np.isfinite(lengths) & (lengths > 0.0)]
    usual = float(np.quantile(all_of_them, 0.7)) if all_of_them.size else size
    camera = placed(scene.places, shape.system.gravity) if len(scene.places) else None
    normal = camera.axes[2] if camera is not None and camera.flat else None
    thickest = LEGS if shape.system.tree is None else THICKEST
    return Proportions(size, float(np.clip(SLENDER * usual, THINNEST * size, thickest * size)), normal)
