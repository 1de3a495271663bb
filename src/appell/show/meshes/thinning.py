"""Fewer triangles for the same look.

First vertices at one place become one (`welded`), then triangles go. If fast-simplification is there, edges collapse at
the least quadric error. If it is not, or if the outcome strays, vertices are clustered: those in one cell of a grid
become their mean, and a triangle stays where its corners are in three cells; the grid is as fine as the wanted number
T of triangles allows, and what is too thin for it (a rod in one row of cells) is put back from grids of its own.

    no old triangle is farther from the new surface, and no new one from the old, than  2 / √T  of the mesh's size,
    the diagonal of its box, as far as T allows: 2 % for 10 000 triangles, 6 % for 1000

A triangle keeps the side it had: one that would look the other way is turned round. In the end vertices along sharp
edges are doubled, so that a smooth shading is smooth where the surface is (`creased`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from appell.show.scene.scene import Mesh

BUDGET = 60_000  # triangles of a whole robot
FEWEST = 40  # triangles that any mesh may have
REACH = 2.0  # of the size over the root of the number of triangles: how far these may be from the old ones
ROUNDS = 3  # of putting back what was lost
KEPT = 0.7  # of the triangles for the most, if something has to be put back
WELD = 1e-6  # of the size: vertices nearer than this are one
SHARP = math.radians(30.0)  # edges that are seen as such


def thinned(mesh: Mesh, triangles: int) -> Mesh:
    """The mesh with at most so many triangles, welded, and smooth but for its sharp edges."""
    vertices, faces = welded(mesh.vertices, mesh.faces)
    if len(faces) > triangles:
        reach = REACH / math.sqrt(triangles) * size(vertices)
        found = _collapsed(vertices, faces, triangles)
        if found is None or _lost(vertices, faces, *found, reach).any() or _lost(*found, vertices, faces, reach).any():
            found = _fewer(vertices, faces, triangles, reach, ROUNDS)
        vertices, faces = found
    return creased(vertices, faces)


def shares(meshes: Sequence[Mesh], budget: int = BUDGET) -> list[int]:
    """How many triangles each mesh may have: by its surface, no more than it has, and never less than a few."""
    has = np.array([len(mesh.faces) for mesh in meshes])
    surface = np.array([area(mesh) for mesh in meshes])
    share = np.zeros(len(meshes))
    open_ = np.ones(len(meshes), bool)  # those that could use more
    while open_.any() and has.sum() > budget:
        left = budget - share[~open_].sum()
        share[open_] = np.maximum(left * surface[open_] / max(surface[open_].sum(), 1e-300), FEWEST)
        full = open_ & (share >= has)
        if not full.any():
            return [int(number) for number in share]
        share[full] = has[full]
        open_ &= ~full
    return [int(number) for number in has]


def area(mesh: Mesh) -> float:
    return 0.5 * float(np.linalg.norm(_normals(mesh.vertices, mesh.faces), axis=1).sum())


def welded(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices at one place as one; triangles that lose a corner by it, or stand twice, are left out."""
    if not len(faces):
        return vertices, faces
    vertices, faces = np.asarray(vertices, float), np.asarray(faces, np.int64)
    cell = max(WELD * size(vertices), 1e-300)
    return _merged(vertices, faces, np.round((vertices - vertices.min(axis=0)) / cell).astype(np.int64))


def size(vertices: np.ndarray) -> float:
    """The diagonal of the box around them."""
    return float(np.linalg.norm(np.ptp(vertices, axis=0))) if len(vertices) else 0.0


def creased(vertices: np.ndarray, faces: np.ndarray, angle: float = SHARP) -> Mesh:
    """A smooth mesh whose vertices are doubled along edges where the surface bends by more than an angle.

    Corners of two triangles at one vertex stay one vertex if an edge between the two is not sharp: what hangs together
    in this way is a component of a graph of corners.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    count = 3 * len(faces)
    if not count:
        return Mesh(vertices, faces, smooth=True)
    normals = _normals(vertices, faces)
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-300)
    first = np.arange(count)  # the corner at which an edge starts; the next one of its triangle ends it
    second = first - first % 3 + (first + 1) % 3
    corner = faces.reshape(-1)
    low, high = np.minimum(corner[first], corner[second]), np.maximum(corner[first], corner[second])
    order = np.lexsort((high, low))
    a, b = order[:-1], order[1:]  # edges of two triangles stand beside each other
    same = (low[a] == low[b]) & (high[a] == high[b])
    same &= np.einsum("ij,ij->i", normals[a // 3], normals[b // 3]) > math.cos(angle)
    a, b = a[same], b[same]
    crossed = corner[first[a]] != corner[first[b]]  # neighbours run through their edge in opposite senses
    starts, ends = np.where(crossed, second[b], first[b]), np.where(crossed, first[b], second[b])
    pairs = np.concatenate([first[a], second[a]]), np.concatenate([starts, ends])
    graph = coo_array((np.ones(len(pairs[0]), np.int8), pairs), shape=(count, count))
    _, component = connected_components(graph, directed=False)
    _, kept = np.unique(component, return_index=True)
    return Mesh(vertices[corner[kept]], component.reshape(-1, 3).astype(np.int64), smooth=True)


def _fewer(
    vertices: np.ndarray, faces: np.ndarray, triangles: int, reach: float, rounds: int
) -> tuple[np.ndarray, np.ndarray]:
    """So many triangles, none of the old ones farther from them than `reach`, as far as that can be had."""
    if len(faces) <= triangles:
        return vertices, faces
    grid = _common_grid(vertices) if rounds == ROUNDS else _own_grids(vertices, faces)
    points, kept = _clustered(vertices, faces, triangles, *grid)
    lost = _lost(vertices, faces, points, kept, reach)
    if not lost.any() or rounds == 0 or triangles < 2 * FEWEST:
        return points, kept
    points, kept = _clustered(vertices, faces, int(KEPT * triangles), *grid)
    lost = _lost(vertices, faces, points, kept, reach)
    used, others = np.unique(faces[lost], return_inverse=True)
    more, others = _fewer(vertices[used], others.reshape(-1, 3), triangles - len(kept), reach, rounds - 1)
    return np.concatenate([points, more]), np.concatenate([kept, others + len(points)])


def _lost(vertices: np.ndarray, faces: np.ndarray, points: np.ndarray, kept: np.ndarray, reach: float) -> np.ndarray:
    """Which triangles have their middle farther than `reach` from a surface, judged at points spread over it."""
    from scipy.spatial import cKDTree

    if not len(kept):
        return np.ones(len(faces), bool)
    corners = points[kept]
    wanted = np.linalg.norm(_normals(points, kept), axis=1) / (0.5 * reach) ** 2  # points at half a reach
    copies = np.minimum(np.ceil(wanted), 200).astype(np.int64)
    weights = np.random.default_rng(0).dirichlet((1.0, 1.0, 1.0), copies.sum())
    spread = np.einsum("ij,ijk->ik", weights, np.repeat(corners, copies, axis=0))
    middles = vertices[faces].mean(axis=1)
    distance, _ = cKDTree(np.concatenate([points, spread])).query(middles, distance_upper_bound=reach)
    return ~np.isfinite(distance)


def _collapsed(vertices: np.ndarray, faces: np.ndarray, triangles: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Edges collapsed until few enough triangles are left; None if the package is not there or leaves more."""
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
    """Coordinates from 0 to 1 along the size, and the one piece that all vertices belong to."""
    extent = max(size(vertices), 1e-300)
    return (vertices - vertices.min(axis=0)) / extent, np.zeros(len(vertices), np.int64)


def _own_grids(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates from 0 to 1 along the principal axes of each piece that hangs together, and the pieces.

    However thin a rod is, its cells are as thin.
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
    """Vertices of a piece in one cell as one, on the finest grid that leaves few enough triangles."""

    def on_grid(cells: float) -> tuple[np.ndarray, np.ndarray]:
        inside = np.minimum(np.floor(coordinates * cells), math.ceil(cells) - 1).astype(np.int64)
        return _merged(vertices, faces, np.column_stack([piece, inside]))

    coarse, fine = 1.0, max(2.0, 4.0 * math.sqrt(triangles))  # cells along the size
    best = on_grid(coarse)
    while fine / coarse > 1.02:
        cells = math.sqrt(fine * coarse)
        found = on_grid(cells)
        if len(found[1]) <= triangles:
            coarse, best = cells, found
        else:
            fine = cells
    return best


def _merged(vertices: np.ndarray, faces: np.ndarray, cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One vertex a cell, the mean of those in it; triangles between three cells, each once, facing where they did."""
    key = cells[:, 0]
    for column in cells.T[1:]:
        key = np.unique(key, return_inverse=True)[1] * (column.max() + 1) + column
    _, which, counts = np.unique(key, return_inverse=True, return_counts=True)
    points = np.column_stack([np.bincount(which, weights=column) for column in vertices.T]) / counts[:, None]
    kept = which[faces]
    whole = (kept[:, 0] != kept[:, 1]) & (kept[:, 1] != kept[:, 2]) & (kept[:, 2] != kept[:, 0])
    faces, kept = faces[whole], kept[whole]
    turned = np.einsum("ij,ij->i", _normals(vertices, faces), _normals(points, kept)) < 0.0
    kept[turned] = kept[turned, ::-1]
    rolled = np.take_along_axis(kept, (kept.argmin(axis=1)[:, None] + np.arange(3)) % 3, axis=1)
    _, once = np.unique(rolled, axis=0, return_index=True)
    kept = kept[np.sort(once)]
    used, kept = np.unique(kept, return_inverse=True)
    return points[used], kept.reshape(-1, 3)


def _normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Outwards, twice as long as the triangles are large."""
    a, b, c = (vertices[faces[:, i]] for i in range(3))
    return np.cross(b - a, c - a)
