"""Mesh simplification: fewer triangles for nearly the same surface.

Coincident vertices are merged first (`welded`). If the package fast-simplification is installed, edges are then
collapsed in order of quadric error. If it is not installed, or if its result deviates too much, vertices are clustered:
the vertices in one cell of a grid are replaced by their mean, and a triangle is kept if its corners are in three cells.
The grid is as fine as the requested number T of triangles allows. Parts that are too thin for the grid (a rod in one
row of cells) are simplified separately on grids of their own and added.

    no old triangle is farther from the new surface, and no new one from the old, than  2 / √T  of the mesh's size,
    the diagonal of its bounding box, as far as T allows: 2 % for 10 000 triangles, 6 % for 1000

Triangles keep their orientation. Finally, vertices along sharp edges are duplicated, so that shading is smooth only
where the surface is (`creased`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from appell.show.scene.scene import Mesh

BUDGET = 120_000  # triangles of a complete robot: about 1.5 MB of a page
MIN_TRIANGLES = 40  # per mesh, whatever the budget
DEVIATION_FACTOR = 2.0  # allowed deviation times √T, relative to the mesh size
MAX_RECOVERY_ROUNDS = 3  # rounds of adding lost thin parts
MAIN_SHARE = 0.7  # share of the triangles for the main grid if thin parts must be added
WELD_TOLERANCE = 1e-6  # relative to the mesh size: closer vertices are merged
CREASE_ANGLE_RAD = math.radians(30.0)  # sharper edges are shaded as edges


def simplified(mesh: Mesh, triangles: int) -> Mesh:
    """Return the mesh with at most this number of triangles, welded, and smooth except along sharp edges."""
    vertices, faces = welded(mesh.vertices, mesh.faces)
    if len(faces) > triangles:
        allowed = DEVIATION_FACTOR / math.sqrt(triangles) * size(vertices)
        fewer = _collapsed(vertices, faces, triangles)
        if (
            fewer is None
            or _lost(vertices, faces, *fewer, allowed).any()
            or _lost(*fewer, vertices, faces, allowed).any()
        ):
            fewer = _fewer(vertices, faces, triangles, allowed, MAX_RECOVERY_ROUNDS)
        vertices, faces = fewer
    return creased(vertices, faces)


def triangle_shares(meshes: Sequence[Mesh], budget: int = BUDGET) -> list[int]:
    """Distribute a budget of triangles to meshes in proportion to their area.

    No mesh gets more triangles than it has, or fewer than MIN_TRIANGLES, so that the sum may exceed the budget.
    """
    counts = np.array([len(mesh.faces) for mesh in meshes])
    surface = np.array([area(mesh) for mesh in meshes])
    share = np.zeros(len(meshes))
    unsaturated = np.ones(len(meshes), bool)  # meshes that could use more triangles
    while unsaturated.any() and counts.sum() > budget:
        left = budget - share[~unsaturated].sum()
        share[unsaturated] = np.maximum(
            left * surface[unsaturated] / max(surface[unsaturated].sum(), 1e-300), MIN_TRIANGLES
        )
        full = unsaturated & (share >= counts)
        if not full.any():
            return [int(number) for number in share]
        share[full] = counts[full]
        unsaturated &= ~full
    return [int(number) for number in counts]


def area(mesh: Mesh) -> float:
    """Return the surface area of a mesh, in m²."""
    return 0.5 * float(np.linalg.norm(_normals(mesh.vertices, mesh.faces), axis=1).sum())


def welded(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge coincident vertices and remove triangles that become degenerate or duplicate."""
    if not len(faces):
        return vertices, faces
    vertices, faces = np.asarray(vertices, float), np.asarray(faces, np.int64)
    cell = max(WELD_TOLERANCE * size(vertices), 1e-300)
    return _merged(vertices, faces, np.round((vertices - vertices.min(axis=0)) / cell).astype(np.int64))


def size(vertices: np.ndarray) -> float:
    """Return the diagonal of the bounding box of vertices (n, 3)."""
    return float(np.linalg.norm(np.ptp(vertices, axis=0))) if len(vertices) else 0.0


def creased(vertices: np.ndarray, faces: np.ndarray, angle: float = CREASE_ANGLE_RAD) -> Mesh:
    """Return a smooth mesh whose vertices are duplicated along edges where the surface bends by more than an angle.

    Corners of two triangles share a vertex if the edge between the triangles is not sharp. The vertices of the result
    are therefore the connected components of a graph of triangle corners.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = 3 * len(faces)
    if not count:
        return Mesh(vertices, faces, smooth=True)
    normals = _normals(vertices, faces)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    first = np.arange(count)  # corner at which an edge starts; it ends at the next corner of the triangle
    second = first - first % 3 + (first + 1) % 3
    corner = faces.reshape(-1)
    low, high = np.minimum(corner[first], corner[second]), np.maximum(corner[first], corner[second])
    order = np.lexsort((high, low))
    a, b = order[:-1], order[1:]  # shared edges are adjacent in this order
    same = (low[a] == low[b]) & (high[a] == high[b])
    same &= np.einsum("ij,ij->i", normals[a // 3], normals[b // 3]) > math.cos(angle)
    a, b = a[same], b[same]
    crossed = corner[first[a]] != corner[first[b]]  # neighbours traverse their edge in opposite directions
    starts, ends = np.where(crossed, second[b], first[b]), np.where(crossed, first[b], second[b])
    pairs = np.concatenate([first[a], second[a]]), np.concatenate([starts, ends])
    graph = coo_array((np.ones(len(pairs[0]), np.int8), pairs), shape=(count, count))
    _, component = connected_components(graph, directed=False)
    _, kept = np.unique(component, return_index=True)
    return Mesh(vertices[corner[kept]], component.reshape(-1, 3).astype(np.int64), smooth=True)


def _fewer(
    vertices: np.ndarray, faces: np.ndarray, triangles: int, allowed: float, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """Cluster to at most `triangles`, and add parts of the old surface that are farther than `allowed` from the new."""
    if len(faces) <= triangles:
        return vertices, faces
    grid = _common_grid(vertices) if rounds == MAX_RECOVERY_ROUNDS else _own_grids(vertices, faces)
    points, kept = _clustered(vertices, faces, triangles, *grid)
    lost = _lost(vertices, faces, points, kept, allowed)
    if not len(kept) and rounds:  # all pieces are smaller than a cell
        return _fewer(vertices, faces, triangles, allowed, rounds - 1)
    if not lost.any() or rounds == 0 or triangles < 2 * MIN_TRIANGLES:
        return points, kept
    points, kept = _clustered(vertices, faces, int(MAIN_SHARE * triangles), *grid)
    lost = _lost(vertices, faces, points, kept, allowed)
    used, others = np.unique(faces[lost], return_inverse=True)
    more, others = _fewer(vertices[used], others.reshape(-1, 3), triangles - len(kept), allowed, rounds - 1)
    return np.concatenate([points, more]), np.concatenate([kept, others + len(points)])


def _lost(vertices: np.ndarray, faces: np.ndarray, points: np.ndarray, kept: np.ndarray, allowed: float) -> np.ndarray:
    """Return which triangles have their centroid farther than `allowed` from a surface, sampled at random points."""
    from scipy.spatial import cKDTree

    if not len(kept):
        return np.ones(len(faces), bool)
    corners = points[kept]
    wanted = np.linalg.norm(_normals(points, kept), axis=1) / (0.5 * allowed) ** 2  # spacing of half the distance
    copies = np.minimum(np.ceil(wanted), 200).astype(np.int64)
    weights = np.random.default_rng(0).dirichlet((1.0, 1.0, 1.0), copies.sum())
    spread = np.einsum("ij,ijk->ik", weights, np.repeat(corners, copies, axis=0))
    middles = vertices[faces].mean(axis=1)
    distance, _ = cKDTree(np.concatenate([points, spread])).query(middles, distance_upper_bound=allowed)
    return ~np.isfinite(distance)


def _collapsed(vertices: np.ndarray, faces: np.ndarray, triangles: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Collapse edges until at most `triangles` are left; None without the package, or if it leaves more."""
    try:
        import fast_simplification
    except ImportError:
        return None
    middle, extent = vertices.mean(axis=0), max(size(vertices), 1e-300)  # its thresholds are absolute
    points, kept = fast_simplification.simplify(
        np.ascontiguousarray((vertices - middle) / extent), faces.astype(np.int32), target_count=max(triangles, 4)
    )
    points, kept = np.asarray(points, float) * extent + middle, np.asarray(kept, np.int64)
    if not 0 < len(kept) <= triangles:
        return None
    used, kept = np.unique(kept, return_inverse=True)
    return points[used], kept.reshape(-1, 3)


def _common_grid(vertices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates relative to the mesh size, and one piece number for all vertices."""
    extent = max(size(vertices), 1e-300)
    return (vertices - vertices.min(axis=0)) / extent, np.zeros(len(vertices), np.int64)


def _own_grids(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return coordinates from 0 to 1 along the principal axes of each connected piece, and the piece numbers.

    The cells of a thin rod are as thin as the rod.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    ends = np.concatenate([faces[:, 0], faces[:, 1]]), np.concatenate([faces[:, 1], faces[:, 2]])
    graph = coo_array((np.ones(len(ends[0]), np.int8), ends), shape=(len(vertices), len(vertices)))
    count, piece = connected_components(graph, directed=False)
    numbers = np.bincount(piece)[:, None]
    middle = np.column_stack([np.bincount(piece, weights=x) for x in vertices.T]) / numbers
    arms = vertices - middle[piece]
    second = [np.bincount(piece, weights=arms[:, i] * arms[:, j]) for i in range(3) for j in range(3)]
    _, axes = np.linalg.eigh(np.stack(second, axis=-1).reshape(-1, 3, 3))
    along = np.einsum("ij,ijk->ik", arms, axes[piece])
    low, high = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    np.minimum.at(low, piece, along)
    np.maximum.at(high, piece, along)
    return (along - low[piece]) / np.maximum(high - low, 1e-300)[piece], piece


def _clustered(
    vertices: np.ndarray, faces: np.ndarray, triangles: int, coordinates: np.ndarray, piece: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Merge the vertices of a piece in each cell, on the finest grid that leaves at most `triangles`."""

    def on_grid(cells: float) -> tuple[np.ndarray, np.ndarray]:
        inside = np.minimum(np.floor(coordinates * cells), math.ceil(cells) - 1).astype(np.int64)
        return _merged(vertices, faces, np.column_stack([piece, inside]))

    coarse, fine = 1.0, max(2.0, 4.0 * math.sqrt(triangles))  # cells per mesh size
    best = on_grid(coarse)
    while fine / coarse > 1.02:
        cells = math.sqrt(fine * coarse)
        clustered = on_grid(cells)
        if len(clustered[1]) <= triangles:
            coarse, best = cells, clustered
        else:
            fine = cells
    return best


def _merged(vertices: np.ndarray, faces: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replace the vertices in a cell by their mean; keep triangles between three cells once, with their orientation."""
    key = cells[:, 0]
    for column in cells.T[1:]:
        key = np.unique(key, return_inverse=True)[1] * (column.max() + 1) + column
    _, which, counts = np.unique(key, return_inverse=True, return_counts=True)
    points = np.column_stack([np.bincount(which, weights=column) for column in vertices.T]) / counts[:, None]
    kept = which[faces]
    proper = (kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])
    faces, kept = faces[proper], kept[proper]
    inverted = np.einsum("ij,ij->i", _normals(vertices, faces), _normals(points, kept)) < 0.0
    kept[inverted] = kept[inverted, ::-1]
    rolled = np.take_along_axis(kept, (kept.argmin(axis=1)[:, None] + np.arange(3)) % 3, axis=1)
    _, once = np.unique(rolled, axis=0, return_index=True)
    kept = kept[np.sort(once)]
    used, kept = np.unique(kept, return_inverse=True)
    return points[used], kept.reshape(-1, 3)


def _normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return outward normals whose length is twice the area of the triangle."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return np.cross(b - a, c - a)
