"""Convex hulls of points: vertices, faces and edges, reduced to few vertices with a stated error.

A hull of few vertices of a body and a radius around it contain the body: the radius is the largest distance of the
other vertices from the reduced hull. Vertices are added where the reduced hull is farthest from the body.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

COPLANAR = 1e-9  # sine of the angle between faces that count as one
FLAT = 1e-9  # extent across a plane or a line, relative to the largest one, of points that count as in it


@dataclass(frozen=True, eq=False)
class Hull:
    """A convex hull; flat and straight ones have artificial faces at their sides, so that edges turn by less than 180°.

    `triangles` are indices of vertices, counterclockwise seen from outside; a flat hull has both sides, a straight one
    has none.
    """

    vertices: np.ndarray  # (vertices, 3), m
    triangles: np.ndarray  # (triangles, 3)
    normals: np.ndarray  # (faces, 3), outward unit normals; triangles in one plane are one face
    edges: np.ndarray  # (edges, 3): a vertex of the edge, and both of its faces
    volume: float  # m³

    @property
    def heights(self) -> np.ndarray:
        """The largest height (faces,) of the hull along each normal, m."""
        return np.asarray((self.vertices @ self.normals.T).max(axis=0))


def convex_hull(points: np.ndarray) -> Hull:
    """Return the convex hull of at least two different points (n, 3)."""
    from scipy import spatial

    points = np.unique(np.asarray(points, float), axis=0)
    center = points.mean(axis=0)
    _, extents, axes = np.linalg.svd(points - center, full_matrices=False)
    rank = int((extents > FLAT * extents[0]).sum())
    if rank < 3:
        return _flat_hull(points, center, axes, rank)
    hull = spatial.ConvexHull(points)
    number = np.zeros(len(points), int)
    number[hull.vertices] = np.arange(len(hull.vertices))
    normals = hull.equations[:, :3]
    a, b, c = (points[hull.simplices[:, k]] for k in range(3))
    inward = (np.cross(b - a, c - a) * normals).sum(axis=1) < 0.0
    triangles = np.where(inward[:, None], hull.simplices[:, [0, 2, 1]], hull.simplices)
    one, corner = np.nonzero(hull.neighbors > np.arange(len(normals))[:, None])  # edges, each once
    other = hull.neighbors[one, corner]
    face = _joined(normals, one, other)
    faces = np.array([normals[face == k].mean(axis=0) for k in range(face.max() + 1)])
    is_edge = face[one] != face[other]
    start = hull.simplices[one, (corner + 1) % 3]  # a neighbour lies opposite to its corner
    edges = np.column_stack([number[start], face[one], face[other]])[is_edge]
    faces /= np.linalg.norm(faces, axis=1)[:, None]
    return Hull(points[hull.vertices], number[triangles], faces, edges, float(hull.volume))


def _joined(normals: np.ndarray, one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the number of the face of each triangle; neighbours in one plane belong to one face."""
    from scipy import sparse

    turn = np.linalg.norm(np.cross(normals[one], normals[other]), axis=1)
    same = (turn < COPLANAR) & ((normals[one] * normals[other]).sum(axis=1) > 0.0)
    graph = sparse.coo_matrix((np.ones(same.sum()), (one[same], other[same])), (len(normals),) * 2)
    return np.asarray(sparse.csgraph.connected_components(graph, directed=False)[1])


def _flat_hull(points: np.ndarray, center: np.ndarray, axes: np.ndarray, rank: int) -> Hull:
    """Return the hull of points in a plane or, with rank 1, on a line along the first of `axes`."""
    from scipy import spatial

    along, across, normal = axes[0], axes[1], np.cross(axes[0], axes[1])
    if rank == 1:
        height = (points - center) @ along
        ends = points[[int(height.argmin()), int(height.argmax())]]
        sides = np.array([across, normal, -across, -normal])
        edges = np.array([[0, k, (k + 1) % 4] for k in range(4)])
        return Hull(ends, np.empty((0, 3), int), sides, edges, 0.0)
    corners = points[spatial.ConvexHull((points - center) @ axes[:2].T).vertices]  # counterclockwise about `normal`
    count = len(corners)
    outward = np.cross(np.roll(corners, -1, axis=0) - corners, normal)
    outward /= np.linalg.norm(outward, axis=1)[:, None]
    fan = np.array([[0, k, k + 1] for k in range(1, count - 1)])
    edges = np.array([[k, side, 2 + k] for k in range(count) for side in (0, 1)])
    normals = np.concatenate([[normal, -normal], outward])
    return Hull(corners, np.concatenate([fan, fan[:, [0, 2, 1]]]), normals, edges, 0.0)


def reduced_hull(points: np.ndarray, count: int) -> tuple[Hull, float]:
    """Return a hull of at most `count` vertices of the hull of points, and the radius that covers the others, in m."""
    complete = convex_hull(points)
    if len(complete.vertices) <= count or not complete.volume:
        return complete, 0.0
    vertices = complete.vertices
    chosen = list(dict.fromkeys([*vertices.argmin(axis=0).tolist(), *vertices.argmax(axis=0).tolist()]))
    while True:
        hull = convex_hull(vertices[chosen])
        height = (vertices @ hull.normals.T - hull.heights).max(axis=1)  # at most the distance
        farthest = int(height.argmax())
        if len(chosen) >= count or farthest in chosen:
            break
        chosen.append(farthest)
    return hull, float(_distances(vertices, hull).max()) * (1.0 + 1e-9)


def _distances(points: np.ndarray, hull: Hull) -> np.ndarray:
    """Return the distances (n,) of points from a hull; 0 inside."""
    a, b, c = (hull.vertices[hull.triangles[:, k]][None] for k in range(3))
    x = points[:, None]
    n = np.cross(b - a, c - a)
    height = ((x - a) * n).sum(axis=2) / np.linalg.norm(n, axis=2)
    squares, within = [], np.ones(height.shape, bool)
    for p, e in ((a, b - a), (b, c - b), (c, a - c)):
        share = np.clip(((x - p) * e).sum(axis=2) / (e * e).sum(axis=2), 0.0, 1.0)
        squares.append(((x - p - share[..., None] * e) ** 2).sum(axis=2))
        within &= (np.cross(e, x - p) * n).sum(axis=2) >= 0.0
    distance = np.where(within, np.abs(height), np.sqrt(np.min(squares, axis=0))).min(axis=1)
    outside = (points @ hull.normals.T - hull.heights).max(axis=1)
    return np.where(outside > 0.0, distance, 0.0)
