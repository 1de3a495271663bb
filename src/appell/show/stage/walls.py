"""Walls about a robot, as lines in figures and as meshes in scenes: where their gap is zero.

A wall is whatever has a gap(x, y, z) over scalars, as the surfaces of a simulation have: it is traced, and evaluated on
a grid in a box about the points that the robot reaches. This treats a plane, a tube and an implicit function alike.
Lines are those of zero gap on slices through the box, at round distances; where there is no wall, a grid below the
robot shows its size. If everything moves in one plane, the mesh of a wall is a strip along that plane with a thickness,
to be seen face on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.errors import ArgumentError
from appell.model.constraint import Prescribed, Rolling
from appell.model.system import System
from appell.show.scene.camera import ParallelCamera, level_axes
from appell.show.scene.level_set import level_set, thickened
from appell.show.scene.scene import LIGHT_METAL, Mesh, ScenePart, paint

SLICE_CELLS = 90  # cells along each side of a slice
ROOM_OF_LINES = (0.12, 0.5, 1.5, 4.0)  # of the robot's size about it, until a wall is in the box
LARGEST = 4.0  # robot's sizes: a round wall up to this is shown whole


def extent(points: np.ndarray, walls: Iterable[Any] = ()) -> float:
    """The largest size of a cloud of points along the axes, or of round walls about it; at least 5 cm."""
    size = max(float(np.ptp(points, axis=0).max()), 0.05)
    return max([size, *(2.0 * wall.radius for wall in walls if getattr(wall, "radius", math.inf) <= LARGEST * size)])


def gap_of(wall: Any) -> Function:
    """gap(x) of a wall, compiled."""
    return Function.of("gap", {"x": 3}, lambda x: {"gap": wall.gap(*x)})


def box_about(wall: Any, points: np.ndarray, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest corner, in axes that are the rows of `frame`, of points and of a round wall about them."""
    local = points @ frame.T
    low, high = local.min(axis=0), local.max(axis=0)
    if (radius := getattr(wall, "radius", math.inf)) <= LARGEST * extent(points):
        middle = frame @ np.array([*wall.center], float)
        low, high = np.minimum(low, middle - radius), np.maximum(high, middle + radius)
    return low, high


def wall_lines(wall: Any, points: np.ndarray, camera: ParallelCamera, step: float) -> list[np.ndarray]:
    """Polylines (n, 3) in the world on a wall about these points; none if it is far away."""
    gap, size = gap_of(wall), extent(points)
    frame = camera.axes if camera.flat else camera.ground
    low, high = box_about(wall, points, frame)
    for room in ROOM_OF_LINES:
        if found := _slices(gap, frame, low - room * size, high + room * size, 0.0 if camera.flat else step):
            return found
    return []


def floor_lines(points: np.ndarray, camera: ParallelCamera, step: float) -> list[np.ndarray]:
    """A grid below these points, level against gravity, its lines at multiples of the step."""
    local = points @ camera.ground.T
    low, high = np.floor(local.min(axis=0) / step - 0.5) * step, np.ceil(local.max(axis=0) / step + 0.5) * step
    level, lines = local[:, 2].min(), []
    for k in range(2):
        for at in np.arange(low[k], high[k] + 0.5 * step, step):
            ends = np.array([low, high])
            ends[:, k], ends[:, 2] = at, level
            lines.append(ends @ camera.ground)
    return lines


def _slices(gap: Function, frame: np.ndarray, low: np.ndarray, high: np.ndarray, step: float) -> list[np.ndarray]:
    """The lines of zero gap on slices across the rows of `frame`; with no step, on the one through the middle."""
    from contourpy import contour_generator

    found: list[np.ndarray] = []
    for k in range(3) if step else (2,):
        first, second = [i for i in range(3) if i != k]
        rows, columns = (np.linspace(low[i], high[i], SLICE_CELLS + 1) for i in (first, second))
        middle = [0.5 * (low[2] + high[2])]
        places = np.arange(math.ceil(low[k] / step), math.floor(high[k] / step) + 1) * step if step else middle
        for place in places:
            grid = np.empty((SLICE_CELLS + 1, SLICE_CELLS + 1, 3))
            grid[..., first], grid[..., second] = np.meshgrid(rows, columns)
            grid[..., k] = place
            values = gap(grid @ frame)
            if np.nanmax(np.abs(values)) > 1e-9:  # else the slice lies in the wall
                for line in contour_generator(rows, columns, values).lines(0.0):
                    whole = np.empty((len(line), 3))
                    whole[:, [first, second]], whole[:, k] = line, place
                    found.append(whole @ frame)
    return found


ROOM_OF_MESHES = (0.3, 1.0, 2.0, 4.0)  # of the robot's size about it, until a wall is in the box
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
            color = paint(LIGHT_METAL, SOLID if normal is not None else CLEAR)
            parts.append(ScenePart(mesh, color=color, layer="walls", name=name))
    return parts, notes


def rolled_on(system: System) -> list[Any]:
    """The curved surfaces on which wheels or balls of a system roll."""
    if not system.is_constrained:
        return []
    plain = [own.constraint if isinstance(own, Prescribed) else own for own in system.constraints]
    return [own.wall for own in plain if isinstance(own, Rolling) and own.wall is not None]


def wall_mesh(wall: Any, points: np.ndarray, up: np.ndarray, normal: np.ndarray | None) -> Mesh | None:
    """Of one wall; None if it is nowhere near."""
    gap, size = gap_of(wall), extent(points)
    frame = level_axes(up if normal is None else normal)  # the last axis up, or across the plane of the motion
    low, high = box_about(wall, points, frame)
    across = points @ frame[2]
    for room in ROOM_OF_MESHES:
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
