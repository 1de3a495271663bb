"""Walls as meshes about a robot: where their gap is zero, in a box about the points that it reaches.

A wall is whatever has a gap(x, y, z) over scalars, as the surfaces of a simulation have: it is traced, and evaluated on
a grid. If everything moves in one plane, a wall is a strip along that plane with a thickness, to be seen face on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.display.level_set import level_set, thickened
from appell.display.scene import Mesh, ScenePart
from appell.errors import ArgumentError
from appell.model.constrained import ConstrainedRobot
from appell.model.constraint import Prescribed, Rolling
from appell.model.system import System
from appell.motion.pictures.camera import level_axes
from appell.motion.pictures.walls import box_about, extent, gap_of
from appell.motion.staging.paint import LIGHT, paint

ROOM = (0.3, 1.0, 2.0, 4.0)  # of the robot's size about it, until a wall is in the box
CELLS, FLAT_CELLS = 26, 72  # along the longest side of the box
STRIP = 0.03  # of the robot's size: half the width of a strip, and its thickness
CLEAR, SOLID = 0.28, 0.85  # opacity of surfaces that are looked through, and of strips


def wall_parts(
    walls: Sequence[Any], points: np.ndarray, up: np.ndarray, normal: np.ndarray | None
) -> tuple[list[ScenePart], list[str]]:
    """The parts of walls about these points (n, 3), and a note for each that is too far away to be seen."""
    parts, notes = [], []
    for k, wall in enumerate(walls):
        if not callable(getattr(wall, "gap", None)):
            raise ArgumentError(f"wall {k} is {wall!r}.", expected="what has a gap(x, y, z), such as ap.Plane()")
        name = type(wall).__name__.lower()
        mesh = wall_mesh(wall, points, up, normal)
        if mesh is None:
            notes.append(f"wall {k}, a {name}, is too far away to be seen.")
        else:
            color = paint(LIGHT, SOLID if normal is not None else CLEAR)
            parts.append(ScenePart(mesh, color=color, layer="walls", name=name))
    return parts, notes


def rolled_on(system: System) -> list[Any]:
    """The curved surfaces on which wheels or balls of a system roll."""
    if not isinstance(system, ConstrainedRobot):
        return []
    plain = [own.constraint if isinstance(own, Prescribed) else own for own in system.constraints]
    return [own.wall for own in plain if isinstance(own, Rolling) and own.wall is not None]


def wall_mesh(wall: Any, points: np.ndarray, up: np.ndarray, normal: np.ndarray | None) -> Mesh | None:
    """Of one wall; None if it is nowhere near."""
    gap, size = gap_of(wall), extent(points)
    frame = level_axes(up if normal is None else normal)  # the last axis up, or across the plane of the motion
    low, high = box_about(wall, points, frame)
    across = points @ frame[2]
    for room in ROOM:
        bottom, top = low - room * size, high + room * size
        if normal is not None:
            center = 0.5 * (across.min() + across.max())
            bottom[2], top[2] = center - STRIP * size, center + STRIP * size
        share = (top - bottom) / (top - bottom).max()
        cells = np.ceil(CELLS * share) if normal is None else np.array([*np.ceil(FLAT_CELLS * share[:2]), 1])
        mesh = level_set(lambda x: gap(x @ frame), bottom, top, cells.astype(int))
        if len(mesh.faces):
            mesh = Mesh(mesh.vertices @ frame, mesh.faces, mesh.smooth)
            return mesh if normal is None else thickened(mesh, _behind(gap, mesh.vertices, STRIP * size))
    return None


def _behind(gap: Function, places: np.ndarray, depth: float) -> np.ndarray:
    """The way from places on a wall to some depth behind it: (places, 3)."""
    gradient = gap.jacobian("x")(places)
    sizes = np.linalg.norm(gradient, axis=-1, keepdims=True)
    return -depth * gradient / np.where(sizes > 0.0, sizes, 1.0)
