"""Walls as lines: where their gap is zero on slices through the box in which the robot moves, at round distances.

A wall is whatever has a gap(x, y, z) over scalars, as the surfaces of a simulation have. Slicing treats a plane, a tube
and an implicit function alike. Where there is no wall, a grid below the robot is what tells its size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.motion.pictures.camera import Camera

SLICES = 8  # about so many across the box
FINE = 90  # cells along each side of a slice
ROOM = (0.12, 0.5, 1.5, 4.0)  # of the robot's size about it, until a wall is in the box
LARGEST = 4.0  # robot's sizes: a round wall up to this is shown whole


def spacing(size: float) -> float:
    """The round distance of which there are about SLICES in a size: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(size / SLICES))
    return power * next(k for k in (1.0, 2.0, 5.0, 10.0) if k * power * SLICES >= size * (1.0 - 1e-9))


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


def wall_lines(wall: Any, points: np.ndarray, camera: Camera, step: float) -> list[np.ndarray]:
    """Polylines (n, 3) in the world on a wall about these points; none if it is far away."""
    gap, size = gap_of(wall), extent(points)
    frame = camera.axes if camera.flat else camera.ground
    low, high = box_about(wall, points, frame)
    for room in ROOM:
        if found := _slices(gap, frame, low - room * size, high + room * size, 0.0 if camera.flat else step):
            return found
    return []


def floor_lines(points: np.ndarray, camera: Camera, step: float) -> list[np.ndarray]:
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
        rows, columns = (np.linspace(low[i], high[i], FINE + 1) for i in (first, second))
        middle = [0.5 * (low[2] + high[2])]
        places = np.arange(math.ceil(low[k] / step), math.floor(high[k] / step) + 1) * step if step else middle
        for place in places:
            grid = np.empty((FINE + 1, FINE + 1, 3))
            grid[..., first], grid[..., second] = np.meshgrid(rows, columns)
            grid[..., k] = place
            values = gap(grid @ frame)
            if np.nanmax(np.abs(values)) > 1e-9:  # else the slice lies in the wall
                for line in contour_generator(rows, columns, values).lines(0.0):
                    whole = np.empty((len(line), 3))
                    whole[:, [first, second]], whole[:, k] = line, place
                    found.append(whole @ frame)
    return found
