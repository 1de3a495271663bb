"""Closed meshes of simple solids: solids of revolution about z, tubes along polylines, boxes and prisms.

Solids are centred at their origin unless stated otherwise, and faces are counter-clockwise seen from outside. Round
solids are shaded smoothly, with normals averaged over the faces around a vertex. Where a profile has a sharp edge, two
additional rings close to it keep the normals of both sides apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from appell.errors import ArgumentError, check_number
from appell.show.scene.poses import pose_along
from appell.show.scene.scene import AT_ORIGIN, WORLD, Color, Mesh, ScenePart

SIDES = 20  # of round solids
EDGE_RING_DISTANCE = 0.02  # of the radius: distance of the additional rings from a sharp edge
SHAFT_RADIUS = 0.35  # of an arrow, relative to the radius of its head
HEAD_SLOPE = 0.25  # radius over length of an arrow's head
MAX_HEAD_SHARE = 0.35  # of an arrow's length
RED, GREEN, BLUE = (0.84, 0.15, 0.16, 1.0), (0.17, 0.63, 0.17, 1.0), (0.12, 0.35, 0.85, 1.0)
MITRE_LIMIT = 4.0  # maximum stretch of the ring at a sharp bend of a tube
Points = Sequence[Sequence[float]] | Sequence[np.ndarray] | np.ndarray
_cached = lru_cache(maxsize=1024)  # equal parts share a mesh, which is then stored once in a page


@_cached
def box(x: float, y: float, z: float) -> Mesh:
    """Return a box with these edge lengths, in m."""
    _check("box", x=x, y=y, z=z)
    half = 0.5 * np.array([x, y, z], float)
    corners = half * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return _mesh(corners, [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))], smooth=False)


@_cached
def sphere(radius: float, sides: int = SIDES) -> Mesh:
    """Return a sphere."""
    _check("sphere", radius=radius)
    return ellipsoid(radius, radius, radius, sides)


@_cached
def ellipsoid(x: float, y: float, z: float, sides: int = SIDES) -> Mesh:
    """Return an ellipsoid with these half axes."""
    _check("ellipsoid", x=x, y=y, z=z)
    ball = _revolved(_arc(1.0, -90.0, 90.0, sides // 2), sides)
    return _mesh(ball.vertices * np.array([x, y, z], float), ball.faces)


@_cached
def cylinder(radius: float, length: float, sides: int = SIDES) -> Mesh:
    """Return a cylinder along z from -length/2 to length/2."""
    return cone(radius, radius, length, sides)


@_cached
def cone(bottom: float, top: float, length: float, sides: int = SIDES) -> Mesh:
    """Return a truncated cone along z with radius `bottom` at -length/2 and `top` at length/2; one may be 0."""
    _check("cone", length=length, **{"larger radius": max(bottom, top)})
    check_number("the smaller radius of a cone", min(bottom, top), least=0.0)
    low, high = -0.5 * length, 0.5 * length
    return _revolved(_edged([(0.0, low), (bottom, low), (top, high), (0.0, high)]), sides)


@_cached
def capsule(radius: float, length: float, sides: int = SIDES) -> Mesh:
    """Return a cylinder along z with hemispherical ends; `length` is the distance of their centres."""
    _check("capsule", radius=radius)
    check_number("the length of a capsule", length, least=0.0)
    return rod(radius, radius, length, sides)


@_cached
def rod(bottom: float, top: float, length: float, sides: int = SIDES) -> Mesh:
    """Return the convex hull of two spheres along z, whose centres are `length` apart."""
    _check("rod", bottom=bottom, top=top)
    if length <= abs(bottom - top):  # one sphere contains the other
        shift = 0.5 * length * (1.0 if top > bottom else -1.0)
        ball = sphere(max(bottom, top), sides)
        return _mesh(ball.vertices + np.array([0.0, 0.0, shift]), ball.faces)
    tangent = math.degrees(math.asin((bottom - top) / length))  # latitude at which the cone touches both spheres
    rings = max(3, sides // 4)
    end = np.array([0.0, 0.5 * length])
    low, high = _arc(bottom, -90.0, tangent, rings) - end, _arc(top, tangent, 90.0, rings) + end
    return _revolved([*low, *high], sides)


@_cached
def arrow(length: float, radius: float = 0.0, sides: int = 12) -> Mesh:
    """Return an arrow along z from the origin; `radius` of the head is proportional to the length if 0."""
    radius = radius or 0.06 * length
    _check("arrow", length=length, radius=radius)
    neck = length - min(MAX_HEAD_SHARE * length, radius / HEAD_SLOPE)
    shaft = SHAFT_RADIUS * radius
    return _revolved(_edged([(0.0, 0.0), (shaft, 0.0), (shaft, neck), (radius, neck), (0.0, length)]), sides)


def triad(
    length: float, body: int = WORLD, pose: Sequence[float] = AT_ORIGIN, layer: str = "frames", name: str = ""
) -> tuple[ScenePart, ...]:
    """Return the axes x, y, z of a frame as arrows in red, green and blue."""
    colors: tuple[Color, ...] = (RED, GREEN, BLUE)
    shaft = arrow(length, 0.07 * length)
    return tuple(
        ScenePart(shaft, body, pose_along(axis, pose), color, layer, name)
        for axis, color in zip(np.eye(3), colors, strict=True)
    )


def tube(points: Points, radius: float, sides: int = 12) -> Mesh:
    """Return a tube around a polyline, mitred at its corners; closed if the last point equals the first."""
    _check("tube", radius=radius)
    line = np.array(points, float).reshape(-1, 3)
    distances = np.linalg.norm(np.diff(line, axis=0), axis=1)
    line = line[np.append(True, distances > 1e-9 * max(distances.max(initial=0.0), radius))]
    if len(line) < 2 or not np.isfinite(line).all():
        raise ArgumentError("the points of the tube are not distinct.", expected="a line of positive length, in m")
    closed = len(line) > 3 and bool(np.allclose(line[0], line[-1], rtol=0.0, atol=1e-9 * distances.max()))
    line = line[:-1] if closed else line
    along = np.diff(np.concatenate([line, line[:1]]) if closed else line, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    inward = np.concatenate([along[-1:], along]) if closed else np.concatenate([along[:1], along])
    outward = along if closed else np.concatenate([along, along[-1:]])
    rings = _carried_rings(line, inward[: len(line)], outward, radius, sides)
    caps = [] if closed else [line[:1], line[-1:]]
    vertices = np.concatenate([rings.reshape(-1, 3), *caps])
    faces = _bands(len(line), sides, closed)
    if closed:
        faces = _untwisted(faces, rings)
    else:
        faces += _lids(len(line), sides)
    return _mesh(vertices, faces)


def prism(polygon: Points, thickness: float) -> Mesh:
    """Return a plate on a convex polygon in space, with half its thickness on either side."""
    _check("prism", thickness=thickness)
    corners = np.array(polygon, float).reshape(-1, 3)
    count, middle = len(corners), corners.mean(axis=0)
    normal = np.cross(corners - middle, np.roll(corners, -1, axis=0) - middle).sum(axis=0)
    if count < 3 or np.linalg.norm(normal) == 0.0:
        raise ArgumentError("the polygon of the prism has no area.", expected="three or more corners, not on a line")
    half = 0.5 * thickness * normal / np.linalg.norm(normal)
    vertices = np.concatenate([corners - half, corners + half])
    faces = [face for k in range(1, count - 1) for face in ((0, k + 1, k), (count, count + k, count + k + 1))]
    for k in range(count):
        this, next_ = k, (k + 1) % count
        faces += [(this, next_, next_ + count), (this, next_ + count, this + count)]
    return _mesh(vertices, faces, smooth=False)


def _check(solid: str, **sizes: float) -> None:
    for name, size in sizes.items():
        check_number(f"the {name} of a {solid}", size, least=0.0, above=True)


def _mesh(vertices, faces, smooth: bool = True) -> Mesh:
    """Return a mesh with read-only arrays, because parts share them."""
    arrays = np.array(vertices, float), np.array(faces, int)
    for array in arrays:
        array.setflags(write=False)
    return Mesh(*arrays, smooth=smooth)


def _arc(radius: float, low: float, high: float, steps: int) -> np.ndarray:
    """Return points (r, z) on a circle between two latitudes in degrees."""
    latitude = np.radians(np.linspace(low, high, steps + 1))
    return radius * np.column_stack([np.cos(latitude), np.sin(latitude)])


def _edged(profile: Sequence[tuple[float, float]]) -> list[np.ndarray]:
    """Add points close to the corners of a profile, so that smooth shading keeps its edges sharp."""
    points = [np.array(point, float) for point in profile]
    points = [p for k, p in enumerate(points) if not k or np.any(p != points[k - 1])]
    near = EDGE_RING_DISTANCE * max(p[0] for p in points)
    edged = [points[0]]
    for before, after in pairwise(points):
        length = np.linalg.norm(after - before)
        step = min(near, 0.25 * length) / length * (after - before)
        edged += [p for p, off_axis in ((before + step, before[0] > 0.0), (after - step, after[0] > 0.0)) if off_axis]
        edged.append(after)
    return edged


def _revolved(profile: Points, sides: int) -> Mesh:
    """Return the solid of revolution about z of a profile (r, z) that starts and ends on the axis, with rising z."""
    inner = np.array(profile, float)[1:-1]
    angles = 2.0 * np.pi * np.arange(sides) / sides
    circle = np.column_stack([np.cos(angles), np.sin(angles), np.ones(sides)])
    rings = circle * np.column_stack([inner[:, 0], inner[:, 0], inner[:, 1]])[:, None]
    poles = [[0.0, 0.0, profile[0][1]], [0.0, 0.0, profile[-1][1]]]
    return _mesh(np.concatenate([rings.reshape(-1, 3), poles]), _bands(len(inner), sides) + _lids(len(inner), sides))


def _bands(rings: int, sides: int, closed: bool = False) -> list[tuple[int, int, int]]:
    """Return the triangles between consecutive rings, two per side."""
    faces = []
    for k in range(rings if closed else rings - 1):
        for i in range(sides):
            j = (i + 1) % sides
            a, b = k * sides + i, k * sides + j
            c, d = (k + 1) % rings * sides + i, (k + 1) % rings * sides + j
            faces += [(a, b, d), (a, d, c)]
    return faces


def _lids(rings: int, sides: int) -> list[tuple[int, int, int]]:
    """Return the triangles that close the first and the last ring; their poles are the two vertices after all rings."""
    first, last, base = rings * sides, rings * sides + 1, (rings - 1) * sides
    low = [(first, (i + 1) % sides, i) for i in range(sides)]
    return low + [(last, base + i, base + (i + 1) % sides) for i in range(sides)]


def _carried_rings(line: np.ndarray, inward: np.ndarray, outward: np.ndarray, radius: float, sides: int) -> np.ndarray:
    """Return a ring around every point, without twist, in the plane that bisects the bend: (points, sides, 3)."""
    across = np.eye(3)[np.argmin(np.abs(inward[0]))]
    angles = 2.0 * np.pi * np.arange(sides) / sides
    rings = []
    for point, before, after in zip(line, inward, outward, strict=True):
        across = across - (across @ before) * before
        across /= np.linalg.norm(across)
        ring = radius * (np.outer(np.cos(angles), across) + np.outer(np.sin(angles), np.cross(before, across)))
        middle = before + after
        size = np.linalg.norm(middle)
        normal = middle / size if size > 2.0 / MITRE_LIMIT else before  # no mitre if the line nearly reverses
        rings.append(point + ring - np.outer(ring @ normal / (before @ normal), before))
        across = across - 2.0 * (across @ after) / (size**2 or 1.0) * middle  # parallel transport
    return np.array(rings)


def _untwisted(faces: list, rings: np.ndarray) -> list:
    """Join the last band of a closed tube to the first ring with the shift that makes its edges shortest."""
    count, sides = rings.shape[:2]
    distances = [np.linalg.norm(np.roll(rings[0], -shift, axis=0) - rings[-1]) for shift in range(sides)]
    shift = int(np.argmin(distances))

    def joined(vertex: int) -> int:
        return (vertex + shift) % sides if vertex < sides else vertex

    start = 2 * sides * (count - 1)
    return faces[:start] + [tuple(joined(vertex) for vertex in face) for face in faces[start:]]
