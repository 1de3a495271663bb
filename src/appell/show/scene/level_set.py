"""The surface on which a function is zero, as a mesh: marching tetrahedra.

A box is cut into cubes and each of these into six tetrahedra about one diagonal, so that neighbours fit. A tetrahedron
with corners on both sides is cut by one or two triangles, whose corners are on its edges, found to rounding by halving
them, and shared by all that meet there. Where a function is not a number there is no surface.

What is flat, as that of a plane, needs few triangles: it is cut out of the box as one polygon.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np

from appell.show.scene.scene import Mesh

HALVINGS = 50  # of an edge, in search of its root
NEAR = 1e-7  # of a box: vertices that are as near to each other are one
FLAT = 1e-9  # of its size: how far from a plane a function may be on the grid, to be one

Field = Callable[[np.ndarray], np.ndarray]  # of points (n, 3): (n)

# six tetrahedra of a cube, along its edges from one end of a diagonal to the other, one way about each axis order
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
WAYS = [np.cumsum([np.zeros(3, int), *np.eye(3, dtype=int)[list(order)]], axis=0) for order in permutations(range(3))]
TETRAHEDRA = [(way @ (4, 2, 1)).tolist() for way in WAYS]
# which pairs of corners, negative ones first, make triangles, by the number of positive corners
CUTS: dict[int, list[list[list[int]]]] = {
    1: [[[0, 3], [1, 3], [2, 3]]],
    2: [[[0, 2], [0, 3], [1, 3]], [[0, 2], [1, 3], [1, 2]]],
    3: [[[0, 1], [0, 2], [0, 3]]],
}


def level_set(field: Field, low: np.ndarray, high: np.ndarray, cells: Sequence[int] | np.ndarray) -> Mesh:
    """Where a field is zero in a box with so many cells along each side; faces look to where it is positive."""
    low, high, counts = np.asarray(low, float), np.asarray(high, float), np.asarray(cells, int)
    lines = [np.linspace(a, b, n + 1) for a, b, n in zip(low, high, counts, strict=True)]
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)
    with np.errstate(all="ignore"):
        values = np.asarray(field(grid), float)
    plane = _plane(grid, values)
    if plane is not None:
        return _polygon(*plane, low, high)
    edges, faces = _cut(_tetrahedra(counts), grid, values)
    return _welded(_roots(field, *grid[edges.T]), faces, NEAR * float((high - low).max()))


def thickened(mesh: Mesh, shift: np.ndarray) -> Mesh:
    """A sheet and its copy at some way behind every vertex (n, 3), closed along their borders; flat faces."""
    count = len(mesh.vertices)
    edges = np.concatenate([mesh.faces[:, [i, j]] for i, j in ((0, 1), (1, 2), (2, 0))])
    there = {(a, b) for a, b in edges.tolist()}
    border = np.array([(a, b) for a, b in edges.tolist() if (b, a) not in there], int).reshape(-1, 2)
    a, b = border.T
    sides = np.concatenate([np.column_stack([b, a, a + count]), np.column_stack([b, a + count, b + count])])
    faces = np.concatenate([mesh.faces, mesh.faces[:, ::-1] + count, sides])
    return Mesh(np.concatenate([mesh.vertices, mesh.vertices + shift]), faces)


def _tetrahedra(counts: np.ndarray) -> np.ndarray:
    """The corners of all tetrahedra by their number on the grid: (tetrahedra, 4)."""
    sizes = counts + 1
    strides = np.array([sizes[1] * sizes[2], sizes[2], 1])
    cubes = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3) @ strides
    corners = cubes[:, None] + CORNERS @ strides
    return corners[:, TETRAHEDRA].reshape(-1, 4)


def _cut(tetrahedra: np.ndarray, grid: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The cut edges (edges, 2), from the negative to the positive end, and triangles of them (faces, 3)."""
    known = np.isfinite(values[tetrahedra]).all(axis=1)
    positive = values[tetrahedra] >= 0.0
    sorted_ = np.take_along_axis(tetrahedra, np.argsort(positive, axis=1, kind="stable"), axis=1)  # negative ones first
    triangles = []
    for count, ways in CUTS.items():
        own = sorted_[known & (positive.sum(axis=1) == count)]
        triangles += [np.stack([own[:, pair] for pair in way], axis=1) for way in ways]
    corners = np.concatenate(triangles)
    ends = grid[corners]
    along = (ends[:, :, 1] - ends[:, :, 0]).sum(axis=1)  # towards where it is positive
    share = (values[corners[..., 0]] / (values[corners[..., 0]] - values[corners[..., 1]]))[..., None]
    a, b, c = np.moveaxis(ends[:, :, 0] + share * (ends[:, :, 1] - ends[:, :, 0]), 1, 0)
    wrong = np.einsum("ni,ni->n", np.cross(b - a, c - a), along) < 0.0
    corners[wrong] = corners[wrong][:, ::-1]
    edges, which = np.unique(corners.reshape(-1, 2), axis=0, return_inverse=True)
    return edges, which.reshape(-1, 3)


def _roots(field: Field, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Where the field is zero between points on its negative and on its positive side."""
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        with np.errstate(all="ignore"):
            positive = (np.asarray(field(middle), float) >= 0.0)[:, None]
        low, high = np.where(positive, low, middle), np.where(positive, middle, high)
    return high


def _welded(vertices: np.ndarray, faces: np.ndarray, near: float) -> Mesh:
    """Without triangles that have no area, as there are where a corner of the grid is on the surface."""
    _, first, which = np.unique(np.round(vertices / near), axis=0, return_index=True, return_inverse=True)
    faces = which.reshape(-1)[faces]
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    kept, faces = np.unique(faces, return_inverse=True)
    return Mesh(vertices[first[kept]], faces.reshape(-1, 3), smooth=True)


def _plane(grid: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Normal n and offset d of a field that is n·x - d on the whole grid, if it is."""
    if not np.isfinite(values).all():
        return None
    middle = grid.mean(axis=0)
    whole = np.column_stack([grid - middle, np.ones(len(grid))])
    fit = np.linalg.lstsq(whole, values, rcond=None)[0]
    if np.abs(whole @ fit - values).max() > FLAT * np.abs(values).max() or not fit[:3].any():
        return None
    return fit[:3], float(fit[:3] @ middle - fit[3])


def _polygon(normal: np.ndarray, offset: float, low: np.ndarray, high: np.ndarray) -> Mesh:
    """What a plane has in common with a box, seen from where it is positive."""
    corners = low + CORNERS * (high - low)
    heights = corners @ normal - offset
    pairs = [(i, j) for i in range(8) for j in range(i) if np.abs(CORNERS[i] - CORNERS[j]).sum() == 1]
    cut = [(i, j) for i, j in pairs if (heights[i] >= 0.0) != (heights[j] >= 0.0)]
    if len(cut) < 3:
        return Mesh(np.zeros((0, 3)), np.zeros((0, 3), int))
    points = np.array([(corners[i] * heights[j] - corners[j] * heights[i]) / (heights[j] - heights[i]) for i, j in cut])
    spread = points - points.mean(axis=0)
    first = np.cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    order = np.argsort(np.arctan2(spread @ np.cross(normal, first) / np.linalg.norm(normal), spread @ first))
    return Mesh(points[order], np.array([(0, k, k + 1) for k in range(1, len(cut) - 1)]))
