"""Meshes of the zero level set of a function, by the marching tetrahedra algorithm.

A box is divided into cubes and each cube into six tetrahedra around one diagonal, so that neighbouring cubes match. A
tetrahedron with corners on both sides of the surface is cut by one or two triangles. Their corners are the roots on its
edges, found by bisection to rounding and shared by all triangles that meet there. Where the function is NaN there is no
surface.

The level set of a linear function is a plane, which is returned as one polygon with few triangles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations

import numpy as np

from appell.show.scene.scene import Mesh

BISECTIONS = 50  # of an edge
WELD_TOLERANCE = 1e-7  # of the box size: closer vertices are merged
LINEARITY_TOLERANCE = 1e-9  # of the largest value: deviation up to which the function is treated as linear

Field = Callable[[np.ndarray], np.ndarray]  # maps points (n, 3) to values (n)

# Six tetrahedra of a cube: the corners of the paths along edges from (0, 0, 0) to (1, 1, 1), one per order of axes.
CORNERS = np.array([[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
PATHS = [np.cumsum([np.zeros(3, int), *np.eye(3, dtype=int)[list(order)]], axis=0) for order in permutations(range(3))]
TETRAHEDRA = [(path @ (4, 2, 1)).tolist() for path in PATHS]
# Triangles by the number of positive corners; each triangle corner is an edge between two corners, negative ones first.
CUTS: dict[int, list[list[list[int]]]] = {
    1: [[[0, 3], [1, 3], [2, 3]]],
    2: [[[0, 2], [0, 3], [1, 3]], [[0, 2], [1, 3], [1, 2]]],
    3: [[[0, 1], [0, 2], [0, 3]]],
}


def level_set(field: Field, low: np.ndarray, high: np.ndarray, cells: Sequence[int] | np.ndarray) -> Mesh:
    """Return the mesh on which a field is zero inside a box.

    Parameters
    ----------
    field : callable
        Maps points (n, 3) to values (n).
    low, high : array_like, shape (3,)
        Corners of the box.
    cells : sequence of int
        Number of cells along each side of the box.

    Returns
    -------
    Mesh
        Its faces point towards positive values. It is empty if the field has no zero in the box.
    """
    low, high, counts = np.asarray(low, float), np.asarray(high, float), np.asarray(cells, int)
    lines = [np.linspace(a, b, n + 1) for a, b, n in zip(low, high, counts, strict=True)]
    grid = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, 3)
    with np.errstate(all="ignore"):
        values = np.asarray(field(grid), float)
    plane = _plane(grid, values)
    if plane is not None:
        return _polygon(*plane, low, high)
    edges, faces = _cut(_tetrahedra(counts), grid, values)
    return _welded(_roots(field, *grid[edges.T]), faces, WELD_TOLERANCE * float((high - low).max()))


def thickened(mesh: Mesh, shift: np.ndarray) -> Mesh:
    """Return a solid between a sheet and its copy displaced by `shift` (n, 3), closed along the border."""
    count = len(mesh.vertices)
    edges = np.concatenate([mesh.faces[:, [i, j]] for i, j in ((0, 1), (1, 2), (2, 0))])
    directed = {(a, b) for a, b in edges.tolist()}
    border = np.array([(a, b) for a, b in edges.tolist() if (b, a) not in directed], int).reshape(-1, 2)
    a, b = border.T
    sides = np.concatenate([np.column_stack([b, a, a + count]), np.column_stack([b, a + count, b + count])])
    faces = np.concatenate([mesh.faces, mesh.faces[:, ::-1] + count, sides])
    return Mesh(np.concatenate([mesh.vertices, mesh.vertices + shift]), faces)


def _tetrahedra(counts: np.ndarray) -> np.ndarray:
    """Return the grid indices of the corners of all tetrahedra: (tetrahedra, 4)."""
    sizes = counts + 1
    strides = np.array([sizes[1] * sizes[2], sizes[2], 1])
    cubes = np.stack(np.meshgrid(*(np.arange(n) for n in counts), indexing="ij"), axis=-1).reshape(-1, 3) @ strides
    corners = cubes[:, None] + CORNERS @ strides
    return corners[:, TETRAHEDRA].reshape(-1, 4)


def _cut(tetrahedra: np.ndarray, grid: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the cut edges (edges, 2), negative end first, and triangles (faces, 3) as indices of edges."""
    known = np.isfinite(values[tetrahedra]).all(axis=1)
    positive = values[tetrahedra] >= 0.0
    sorted_ = np.take_along_axis(tetrahedra, np.argsort(positive, axis=1, kind="stable"), axis=1)  # negative first
    triangles = []
    for count, cuts in CUTS.items():
        selected = sorted_[known & (positive.sum(axis=1) == count)]
        triangles += [np.stack([selected[:, pair] for pair in cut], axis=1) for cut in cuts]
    corners = np.concatenate(triangles)
    ends = grid[corners]
    along = (ends[:, :, 1] - ends[:, :, 0]).sum(axis=1)  # towards positive values
    share = (values[corners[..., 0]] / (values[corners[..., 0]] - values[corners[..., 1]]))[..., None]
    a, b, c = np.moveaxis(ends[:, :, 0] + share * (ends[:, :, 1] - ends[:, :, 0]), 1, 0)
    inverted = np.einsum("ni,ni->n", np.cross(b - a, c - a), along) < 0.0
    corners[inverted] = corners[inverted][:, ::-1]
    edges, which = np.unique(corners.reshape(-1, 2), axis=0, return_inverse=True)
    return edges, which.reshape(-1, 3)


def _roots(field: Field, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the roots of the field between points on its negative and on its positive side, by bisection."""
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        with np.errstate(all="ignore"):
            positive = (np.asarray(field(middle), float) >= 0.0)[:, None]
        low, high = np.where(positive, low, middle), np.where(positive, middle, high)
    return high


def _welded(vertices: np.ndarray, faces: np.ndarray, tolerance: float) -> Mesh:
    """Merge close vertices and remove degenerate triangles, which occur if a grid point is on the surface."""
    _, first, which = np.unique(np.round(vertices / tolerance), axis=0, return_index=True, return_inverse=True)
    faces = which.reshape(-1)[faces]
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    kept, faces = np.unique(faces, return_inverse=True)
    return Mesh(vertices[first[kept]], faces.reshape(-1, 3), smooth=True)


def _plane(grid: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Return n and d if the field is n·x - d on the whole grid, else None."""
    if not np.isfinite(values).all():
        return None
    middle = grid.mean(axis=0)
    design = np.column_stack([grid - middle, np.ones(len(grid))])
    fit = np.linalg.lstsq(design, values, rcond=None)[0]
    residual = np.abs(design @ fit - values).max()
    if residual > LINEARITY_TOLERANCE * np.abs(values).max() or not fit[:3].any():
        return None
    return fit[:3], float(fit[:3] @ middle - fit[3])


def _polygon(normal: np.ndarray, offset: float, low: np.ndarray, high: np.ndarray) -> Mesh:
    """Return the intersection of the plane n·x = d and a box, facing the positive side."""
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
