"""Walls around a robot, as lines in figures and as meshes in scenes: the zero level set of their gap function.

A wall is any object with a function gap(x, y, z) of scalars, such as the surfaces of a simulation. The function is
traced and evaluated on a grid in a box around the points that the robot reaches, so that a plane, a tube and an
implicit function are treated alike. Lines are the contours of zero gap on slices through the box with round spacing.
Without walls, a grid below the robot shows the scale. In a planar scene, the mesh of a wall is a strip across the plane
with some thickness, which is visible face on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.errors import ArgumentError
from appell.model.constraint import Constraint, Prescribed, Rolling
from appell.model.system import System
from appell.show.scene.camera import ParallelCamera, level_axes
from appell.show.scene.level_set import level_set, thickened
from appell.show.scene.scene import LIGHT_METAL, Mesh, ScenePart, paint

SLICE_CELLS = 90  # cells along each side of a slice
LINE_MARGINS = (0.12, 0.5, 1.5, 4.0)  # of the box, in sizes of the robot; increased until a wall is in the box
MAX_ROUND_WALL = 4.0  # radius in sizes of the robot up to which a round wall is shown completely


def extent(points: np.ndarray, walls: Iterable[Any] = ()) -> float:
    """Return the largest side of the bounding box of points and of round walls around them, at least 0.05 m."""
    size = max(float(np.ptp(points, axis=0).max()), 0.05)
    return max(
        [size, *(2.0 * wall.radius for wall in walls if getattr(wall, "radius", math.inf) <= MAX_ROUND_WALL * size)]
    )


def gap_of(wall: Any) -> Function:
    """Return the compiled gap function gap(x) of a wall."""
    return Function.of("gap", {"x": 3}, lambda x: {"gap": wall.gap(*x)})


def box_about(wall: Any, points: np.ndarray, frame: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the corners of the bounding box of points and of a round wall around them, in the rows of `frame`."""
    local = points @ frame.T
    low, high = local.min(axis=0), local.max(axis=0)
    if (radius := getattr(wall, "radius", math.inf)) <= MAX_ROUND_WALL * extent(points):
        middle = frame @ np.array([*wall.center], float)
        low, high = np.minimum(low, middle - radius), np.maximum(high, middle + radius)
    return low, high


def wall_lines(wall: Any, points: np.ndarray, camera: ParallelCamera, step: float) -> list[np.ndarray]:
    """Return polylines (n, 3) on a wall around points; none if the wall is far away."""
    gap, size = gap_of(wall), extent(points)
    frame = camera.axes if camera.flat else camera.ground
    low, high = box_about(wall, points, frame)
    for margin in LINE_MARGINS:
        if lines := _slices(gap, frame, low - margin * size, high + margin * size, 0.0 if camera.flat else step):
            return lines
    return []


def floor_lines(points: np.ndarray, camera: ParallelCamera, step: float) -> list[np.ndarray]:
    """Return the lines of a horizontal grid below points, at multiples of the step."""
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
    """Return contours of zero gap on slices perpendicular to the rows of `frame`; on the middle slice if step is 0."""
    from contourpy import contour_generator

    contours: list[np.ndarray] = []
    for k in range(3) if step else (2,):
        first, second = [i for i in range(3) if i != k]
        rows, columns = (np.linspace(low[i], high[i], SLICE_CELLS + 1) for i in (first, second))
        middle = [0.5 * (low[2] + high[2])]
        offsets = np.arange(math.ceil(low[k] / step), math.floor(high[k] / step) + 1) * step if step else middle
        for offset in offsets:
            grid = np.empty((SLICE_CELLS + 1, SLICE_CELLS + 1, 3))
            grid[..., first], grid[..., second] = np.meshgrid(rows, columns)
            grid[..., k] = offset
            values = gap(grid @ frame)
            if np.nanmax(np.abs(values)) > 1e-9:  # otherwise the slice is part of the wall
                for line in contour_generator(rows, columns, values).lines(0.0):
                    points = np.empty((len(line), 3))
                    points[:, [first, second]], points[:, k] = line, offset
                    contours.append(points @ frame)
    return contours


MESH_MARGINS = (0.3, 1.0, 2.0, 4.0)  # of the box, in sizes of the robot; increased until a wall is in the box
CELLS, PLANAR_CELLS = 26, 72  # along the longest side of the box
STRIP_SIZE = 0.03  # half the width of a strip, and its thickness, in sizes of the robot
SURFACE_OPACITY, STRIP_OPACITY = 0.28, 0.85
LEVEL_TOLERANCE = 1e-6  # of the cosine between the normal of a plane and the vertical


def wall_parts(
    walls: Sequence[Any], points: np.ndarray, up: np.ndarray, normal: np.ndarray | None
) -> tuple[list[ScenePart], list[str]]:
    """Return the parts of walls around points (n, 3), and a note for each wall that is too far away."""
    parts, notes = [], []
    for k, wall in enumerate(walls):
        if not callable(getattr(wall, "gap", None)):
            raise ArgumentError(f"wall {k} is {wall!r}.", expected="an object with gap(x, y, z), such as ap.Plane()")
        name = type(wall).__name__.lower()
        mesh = wall_mesh(wall, points, up, normal)
        if mesh is None:
            notes.append(f"wall {k} ({name}) is too far away to be shown.")
        else:
            color = paint(LIGHT_METAL, STRIP_OPACITY if normal is not None else SURFACE_OPACITY)
            parts.append(ScenePart(mesh, color=color, layer="walls", name=name))
    return parts, notes


def rolling_surfaces(system: System) -> list[Any]:
    """Return the curved surfaces on which wheels or balls of a system roll."""
    return [item.wall for item in _rolling(system) if item.wall is not None]


def floor_heights(walls: Iterable[Any], systems: Iterable[System], up: np.ndarray) -> list[float]:
    """Return the heights along `up`, in m, of horizontal planes with free space above, and of planes under wheels."""
    planes = [wall for wall in walls if hasattr(wall, "normal") and hasattr(wall, "offset")]
    heights = [float(wall.offset) for wall in planes if np.dot([*wall.normal], up) > 1.0 - LEVEL_TOLERANCE]
    on_ground = any(item.on is None for system in systems for item in _rolling(system))
    return [*heights, 0.0] if on_ground and up[2] > 1.0 - LEVEL_TOLERANCE else heights


def drawn_constraints(system: System) -> list[Constraint]:
    """Return the constraints of a system, without the prescribed motions around some of them; none of a tree."""
    constraints = system.constraints if system.is_constrained else ()
    return [item.constraint if isinstance(item, Prescribed) else item for item in constraints]


def _rolling(system: System) -> list[Rolling]:
    return [item for item in drawn_constraints(system) if isinstance(item, Rolling)]


def wall_mesh(wall: Any, points: np.ndarray, up: np.ndarray, normal: np.ndarray | None) -> Mesh | None:
    """Return the mesh of a wall around points (n, 3); None if it is far away."""
    gap, size = gap_of(wall), extent(points)
    frame = level_axes(up if normal is None else normal)  # last axis up, or normal to the plane of a planar scene
    low, high = box_about(wall, points, frame)
    across = points @ frame[2]
    for margin in MESH_MARGINS:
        bottom, top = low - margin * size, high + margin * size
        if normal is not None:
            center = 0.5 * (across.min() + across.max())
            bottom[2], top[2] = center - STRIP_SIZE * size, center + STRIP_SIZE * size
        share = (top - bottom) / (top - bottom).max()
        cells = np.ceil(CELLS * share) if normal is None else np.array([*np.ceil(PLANAR_CELLS * share[:2]), 1])
        mesh = level_set(lambda x: gap(x @ frame), bottom, top, cells.astype(int))
        if len(mesh.faces):
            mesh = Mesh(mesh.vertices @ frame, mesh.faces, mesh.smooth)
            return mesh if normal is None else thickened(mesh, _behind(gap, mesh.vertices, STRIP_SIZE * size))
    return None


def _behind(gap: Function, points: np.ndarray, depth: float) -> np.ndarray:
    """Return the vectors (n, 3) from points (n, 3) on a wall to a depth behind it."""
    gradient = gap.jacobian("x")(points)
    sizes = np.linalg.norm(gradient, axis=-1, keepdims=True)
    return -depth * gradient / np.where(sizes > 0.0, sizes, 1.0)
