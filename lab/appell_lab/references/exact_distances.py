"""Distances of shapes by enumeration of features in extended precision (80 bits), for arrays of pairs.

The results of `appell.formulate.distance.closest` are compared with these. Outside, the distance is the smallest one of
all pairs of features (ends, edges, corners); inside, it is the smallest overlap along the normals of all facets of the
Minkowski difference. Arguments are arrays with the pairs along the first axis: center (n, 3), axes (n, 3, 3) and half
sizes (n, k) of either shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

LD = np.longdouble
Shapes = tuple[Any, Any, Any]  # centers, axes, sizes


def extended(*arrays: Any) -> list[Any]:
    """Return arrays in extended precision."""
    return [np.asarray(array, float).astype(LD) for array in arrays]


def _dot(a: Any, b: Any) -> Any:
    return (a * b).sum(axis=-1)


def _local(shapes: Shapes, points: Any) -> Any:
    """Return points in the axes of shapes."""
    return (shapes[1] * (points - shapes[0])[:, :, None]).sum(axis=1)


def _corners(shapes: Shapes) -> Iterator[Any]:
    center, axes, half = shapes
    for signs in product((-1, 1), repeat=3):
        yield center + (axes * (np.array(signs, LD) * half)[:, None, :]).sum(axis=-1)


def _edges(shapes: Shapes) -> Iterator[tuple[Any, Any]]:
    """Yield the ends of the twelve edges of boxes."""
    corners = list(_corners(shapes))
    for i, j in product(range(8), repeat=2):
        if i < j and (i ^ j) in (1, 2, 4):
            yield corners[i], corners[j]


def _ends(shapes: Shapes) -> tuple[Any, Any]:
    center, axes, half = shapes
    along = axes[:, :, 2] * half
    return center - along, center + along


def _point_segment2(p: Any, a: Any, b: Any) -> Any:
    u = b - a
    length2 = _dot(u, u)
    t = np.clip(_dot(p - a, u) / np.where(length2 > 0, length2, 1), 0, 1)
    r = p - a - t[:, None] * u
    return _dot(r, r)


def segments2(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return squared distances of segments: the smallest one of four ends and of the interior of both."""
    best = np.minimum(
        np.minimum(_point_segment2(a, c, d), _point_segment2(b, c, d)),
        np.minimum(_point_segment2(c, a, b), _point_segment2(d, a, b)),
    )
    u, v, w = b - a, d - c, c - a
    across = np.cross(u, v)
    size2 = _dot(across, across)
    safe = np.where(size2 > 0, size2, 1)
    s, t = _dot(np.cross(w, v), across) / safe, _dot(np.cross(w, u), across) / safe
    within = (size2 > 0) & (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
    return np.where(within, np.minimum(best, _dot(w, across) ** 2 / safe), best)


def _point_box2(shapes: Shapes, points: Any) -> Any:
    y = _local(shapes, points)
    r = np.maximum(np.abs(y) - shapes[2], 0)
    return _dot(r, r)


def _width(shapes: Shapes, normal: Any, kind: str) -> Any:
    """Half the extent of shapes along unit normals."""
    along = np.abs((shapes[1] * normal[:, :, None]).sum(axis=1))
    return along[:, 2] * shapes[2][:, 0] if kind == "segment" else (along * shapes[2]).sum(axis=1)


def _overlap(one: Shapes, other: Shapes, kind: str, normals: Iterator[Any]) -> Any:
    best = np.full(len(one[0]), np.inf, LD)
    for normal in normals:
        size = np.sqrt(_dot(normal, normal))
        valid = size > 1e-10
        unit = normal / np.where(valid, size, 1)[:, None]
        overlap = _width(one, unit, kind) + _width(other, unit, "box") - np.abs(_dot(one[0] - other[0], unit))
        best = np.where(valid, np.minimum(best, overlap), best)
    return best


def sphere_sphere(one: Shapes, other: Shapes) -> Any:
    r = one[0] - other[0]
    return np.sqrt(_dot(r, r)) - one[2][:, 0] - other[2][:, 0]


def sphere_capsule(one: Shapes, other: Shapes) -> Any:
    low, high = _ends((other[0], other[1], other[2][:, 1:]))
    return np.sqrt(_point_segment2(one[0], low, high)) - one[2][:, 0] - other[2][:, 0]


def capsule_capsule(one: Shapes, other: Shapes) -> Any:
    ends = (*_ends((one[0], one[1], one[2][:, 1:])), *_ends((other[0], other[1], other[2][:, 1:])))
    return np.sqrt(segments2(*ends)) - one[2][:, 0] - other[2][:, 0]


def sphere_box(one: Shapes, other: Shapes) -> Any:
    beyond = np.abs(_local(other, one[0])) - other[2]
    inside = (beyond <= 0).all(axis=1)
    return np.where(inside, beyond.max(axis=1), np.sqrt(_point_box2(other, one[0]))) - one[2][:, 0]


def capsule_box(one: Shapes, other: Shapes) -> Any:
    core = (one[0], one[1], one[2][:, 1:])
    u = one[1][:, :, 2]
    axes = [other[1][:, :, k] for k in range(3)]
    overlap = _overlap(core, other, "segment", iter([*axes, *(np.cross(axis, u) for axis in axes)]))
    low, high = _ends(core)
    square = np.minimum(_point_box2(other, low), _point_box2(other, high))
    for a, b in _edges(other):
        square = np.minimum(square, segments2(low, high, a, b))
    return np.where(overlap > 0, -overlap, np.sqrt(square)) - one[2][:, 0]


def box_box(one: Shapes, other: Shapes) -> Any:
    first, second = ([shapes[1][:, :, k] for k in range(3)] for shapes in (one, other))
    normals = [*first, *second, *(np.cross(a, b) for a, b in product(first, second))]
    overlap = _overlap(one, other, "box", iter(normals))
    square = np.full(len(one[0]), np.inf, LD)
    for corner in _corners(one):
        square = np.minimum(square, _point_box2(other, corner))
    for corner in _corners(other):
        square = np.minimum(square, _point_box2(one, corner))
    for a, b in _edges(one):
        for c, d in _edges(other):
            square = np.minimum(square, segments2(a, b, c, d))
    return np.where(overlap > 0, -overlap, np.sqrt(square))


def sphere_cylinder(one: Shapes, other: Shapes) -> Any:
    y = _local(other, one[0])
    beyond, above = np.hypot(y[:, 0], y[:, 1]) - other[2][:, 0], np.abs(y[:, 2]) - other[2][:, 1]
    outside = np.hypot(np.maximum(beyond, 0), np.maximum(above, 0))
    return np.where((beyond <= 0) & (above <= 0), np.maximum(beyond, above), outside) - one[2][:, 0]


def sphere_arc(one: Shapes, other: Shapes) -> Any:
    y, (radius, half) = _local(other, one[0]), other[2][:, :2].T
    angle = np.arctan2(y[:, 1], y[:, 0])
    candidates = []
    for phi in (np.where(np.abs(angle) <= half, angle, half), half, -half):
        near = np.stack([radius * np.cos(phi), radius * np.sin(phi), np.zeros_like(phi)], axis=-1)
        candidates.append(_dot(y - near, y - near))
    return np.sqrt(np.minimum.reduce(candidates)) - one[2][:, 0] - other[2][:, 2]


def _height(other: Shapes, points: Any) -> Any:
    return _local(other, points)[:, 2]


def sphere_plane(one: Shapes, other: Shapes) -> Any:
    return _height(other, one[0]) - one[2][:, 0]


def capsule_plane(one: Shapes, other: Shapes) -> Any:
    low, high = _ends((one[0], one[1], one[2][:, 1:]))
    return np.minimum(_height(other, low), _height(other, high)) - one[2][:, 0]


def box_plane(one: Shapes, other: Shapes) -> Any:
    return np.minimum.reduce([_height(other, corner) for corner in _corners(one)])


def cylinder_plane(one: Shapes, other: Shapes) -> Any:
    n = (one[1] * other[1][:, :, 2][:, :, None]).sum(axis=1)
    return _height(other, one[0]) - one[2][:, 0] * np.hypot(n[:, 0], n[:, 1]) - one[2][:, 1] * np.abs(n[:, 2])


def arc_plane(one: Shapes, other: Shapes) -> Any:
    n = (one[1] * other[1][:, :, 2][:, :, None]).sum(axis=1)
    radius, half = one[2][:, :2].T
    angle = np.arctan2(-n[:, 1], -n[:, 0])
    heights = [
        radius * (n[:, 0] * np.cos(phi) + n[:, 1] * np.sin(phi))
        for phi in (np.where(np.abs(angle) <= half, angle, half), half, -half)
    ]
    return _height(other, one[0]) + np.minimum.reduce(heights) - one[2][:, 2]


KINDS: dict[str, Callable[[Shapes, Shapes], Any]] = {
    function.__name__: function
    for function in (
        *(sphere_sphere, sphere_capsule, capsule_capsule, sphere_box, capsule_box, box_box, sphere_cylinder),
        *(sphere_arc, sphere_plane, capsule_plane, box_plane, cylinder_plane, arc_plane),
    )
}
