"""Closed meshes of simple solids: what is round comes from one profile turned about z, what is bent from one ring.

All stand about their origin, and faces turn left about the normal outwards. Round ones are smooth, so normals are
averaged over the faces about a vertex; where a profile has an edge, two more rings close to it keep the averages of
both sides apart, and the edge sharp.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from appell.errors import ArgumentError, check_number
from appell.show.scene.poses import turned_to
from appell.show.scene.scene import AT_ORIGIN, WORLD, Color, Mesh, ScenePart

SIDES = 20  # of what is round
EDGE = 0.02  # of a radius: how far the rings are that keep an edge sharp
SHAFT, HEAD, POINT = (
    0.35,
    0.25,
    0.35,
)  # of an arrow: radius of the shaft in those of the head, the head's share, its most
RED, GREEN, BLUE = (0.84, 0.15, 0.16, 1.0), (0.17, 0.63, 0.17, 1.0), (0.12, 0.35, 0.85, 1.0)
MITRE = 4.0  # how much longer than wide the ring at a sharp bend of a tube may be
Points = Sequence[Sequence[float]] | Sequence[np.ndarray] | np.ndarray
_kept = lru_cache(maxsize=1024)  # equal parts share a mesh, which then travels once


@_kept
def box(x: float, y: float, z: float) -> Mesh:
    """Edges of these lengths."""
    _check("box", x=x, y=y, z=z)
    half = 0.5 * np.array([x, y, z], float)
    corners = half * np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return _mesh(corners, [face for a, b, c, d in quads for face in ((a, b, c), (a, c, d))], smooth=False)


@_kept
def sphere(radius: float, sides: int = SIDES) -> Mesh:
    _check("sphere", radius=radius)
    return ellipsoid(radius, radius, radius, sides)


@_kept
def ellipsoid(x: float, y: float, z: float, sides: int = SIDES) -> Mesh:
    """With these half axes."""
    _check("ellipsoid", x=x, y=y, z=z)
    ball = _revolved(_arc(1.0, -90.0, 90.0, sides // 2), sides)
    return _mesh(ball.vertices * np.array([x, y, z], float), ball.faces)


@_kept
def cylinder(radius: float, length: float, sides: int = SIDES) -> Mesh:
    """Along z, from -length/2 to length/2."""
    return cone(radius, radius, length, sides)


@_kept
def cone(bottom: float, top: float, length: float, sides: int = SIDES) -> Mesh:
    """Along z, from one radius at -length/2 to another at length/2; one of them may be 0."""
    _check("cone", length=length, **{"larger radius": max(bottom, top)})
    check_number("the smaller radius of a cone", min(bottom, top), least=0.0)
    low, high = -0.5 * length, 0.5 * length
    return _revolved(_edged([(0.0, low), (bottom, low), (top, high), (0.0, high)]), sides)


@_kept
def capsule(radius: float, length: float, sides: int = SIDES) -> Mesh:
    """A cylinder along z with round ends; `length` is between their centres."""
    _check("capsule", radius=radius)
    check_number("the length of a capsule", length, least=0.0)
    return rod(radius, radius, length, sides)


@_kept
def rod(bottom: float, top: float, length: float, sides: int = SIDES) -> Mesh:
    """Two balls about the ends of a length along z, and the cone that touches both: round where it meets others."""
    _check("rod", bottom=bottom, top=top)
    if length <= abs(bottom - top):  # one ball is in the other
        shift = 0.5 * length * (1.0 if top > bottom else -1.0)
        ball = sphere(max(bottom, top), sides)
        return _mesh(ball.vertices + np.array([0.0, 0.0, shift]), ball.faces)
    tangent = math.degrees(math.asin((bottom - top) / length))  # the latitude where the cone touches both
    rings = max(3, sides // 4)
    end = np.array([0.0, 0.5 * length])
    low, high = _arc(bottom, -90.0, tangent, rings) - end, _arc(top, tangent, 90.0, rings) + end
    return _revolved([*low, *high], sides)


@_kept
def arrow(length: float, radius: float = 0.0, sides: int = 12) -> Mesh:
    """Along z from the origin, with a head of this radius, or one that suits the length."""
    radius = radius or 0.06 * length
    _check("arrow", length=length, radius=radius)
    neck = length - min(POINT * length, radius / HEAD)
    thin = SHAFT * radius
    return _revolved(_edged([(0.0, 0.0), (thin, 0.0), (thin, neck), (radius, neck), (0.0, length)]), sides)


def triad(
    length: float, body: int = WORLD, pose: Sequence[float] = AT_ORIGIN, layer: str = "frames", name: str = ""
) -> tuple[ScenePart, ...]:
    """The axes x, y, z of a frame as arrows in red, green and blue."""
    colors: tuple[Color, ...] = (RED, GREEN, BLUE)
    shaft = arrow(length, 0.07 * length)
    return tuple(
        ScenePart(shaft, body, turned_to(axis, pose), color, layer, name)
        for axis, color in zip(np.eye(3), colors, strict=True)
    )


def tube(points: Points, radius: float, sides: int = 12) -> Mesh:
    """Round about a polyline, mitred at its corners; joined end to end if its last point is its first."""
    _check("tube", radius=radius)
    line = np.array(points, float).reshape(-1, 3)
    apart = np.linalg.norm(np.diff(line, axis=0), axis=1)
    line = line[np.append(True, apart > 1e-9 * max(apart.max(initial=0.0), radius))]
    if len(line) < 2 or not np.isfinite(line).all():
        raise ArgumentError("a tube has no two points that differ.", expected="a line of some length, in m")
    closed = len(line) > 3 and bool(np.allclose(line[0], line[-1], rtol=0.0, atol=1e-9 * apart.max()))
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
    """A plate over a convex polygon in space, half its thickness to either side."""
    _check("prism", thickness=thickness)
    corners = np.array(polygon, float).reshape(-1, 3)
    count, middle = len(corners), corners.mean(axis=0)
    normal = np.cross(corners - middle, np.roll(corners, -1, axis=0) - middle).sum(axis=0)
    if count < 3 or np.linalg.norm(normal) == 0.0:
        raise ArgumentError("a prism has no area.", expected="three corners or more, not on one line")
    half = 0.5 * thickness * normal / np.linalg.norm(normal)
    vertices = np.concatenate([corners - half, corners + half])
    faces = [face for k in range(1, count - 1) for face in ((0, k + 1, k), (count, count + k, count + k + 1))]
    for k in range(count):
        here, after = k, (k + 1) % count
        faces += [(here, after, after + count), (here, after + count, here + count)]
    return _mesh(vertices, faces, smooth=False)


def _check(what: str, **sizes: float) -> None:
    for name, size in sizes.items():
        check_number(f"the {name} of a {what}", size, least=0.0, above=True)


def _mesh(vertices, faces, smooth: bool = True) -> Mesh:
    """With arrays that nobody changes, since parts share them."""
    arrays = np.array(vertices, float), np.array(faces, int)
    for array in arrays:
        array.setflags(write=False)
    return Mesh(*arrays, smooth=smooth)


def _arc(radius: float, low: float, high: float, steps: int) -> np.ndarray:
    """(r, z) on a circle between two latitudes in degrees."""
    latitude = np.radians(np.linspace(low, high, steps + 1))
    return radius * np.column_stack([np.cos(latitude), np.sin(latitude)])


def _edged(profile: Sequence[tuple[float, float]]) -> list[np.ndarray]:
    """A profile of straight lines, with a point on each close to every corner between them."""
    points = [np.array(point, float) for point in profile]
    points = [p for k, p in enumerate(points) if not k or np.any(p != points[k - 1])]
    near = EDGE * max(p[0] for p in points)
    found = [points[0]]
    for before, after in pairwise(points):
        length = np.linalg.norm(after - before)
        step = min(near, 0.25 * length) / length * (after - before)
        found += [p for p, wanted in ((before + step, before[0] > 0.0), (after - step, after[0] > 0.0)) if wanted]
        found.append(after)
    return found


def _revolved(profile: Points, sides: int) -> Mesh:
    """A profile (r, z) from the axis back to the axis, upwards, turned about z."""
    inner = np.array(profile, float)[1:-1]
    turn = 2.0 * np.pi * np.arange(sides) / sides
    circle = np.column_stack([np.cos(turn), np.sin(turn), np.ones(sides)])
    rings = circle * np.column_stack([inner[:, 0], inner[:, 0], inner[:, 1]])[:, None]
    poles = [[0.0, 0.0, profile[0][1]], [0.0, 0.0, profile[-1][1]]]
    return _mesh(np.concatenate([rings.reshape(-1, 3), poles]), _bands(len(inner), sides) + _lids(len(inner), sides))


def _bands(rings: int, sides: int, closed: bool = False) -> list[tuple[int, int, int]]:
    """Two triangles for every side between one ring and the next."""
    faces = []
    for k in range(rings if closed else rings - 1):
        for i in range(sides):
            j = (i + 1) % sides
            a, b = k * sides + i, k * sides + j
            c, d = (k + 1) % rings * sides + i, (k + 1) % rings * sides + j
            faces += [(a, b, d), (a, d, c)]
    return faces


def _lids(rings: int, sides: int) -> list[tuple[int, int, int]]:
    """Triangles from the first and the last ring to the two vertices behind all rings."""
    first, last, base = rings * sides, rings * sides + 1, (rings - 1) * sides
    low = [(first, (i + 1) % sides, i) for i in range(sides)]
    return low + [(last, base + i, base + (i + 1) % sides) for i in range(sides)]


def _carried_rings(line: np.ndarray, inward: np.ndarray, outward: np.ndarray, radius: float, sides: int) -> np.ndarray:
    """A ring about every point, carried without a twist, in the plane that halves the bend: (points, sides, 3)."""
    across = np.eye(3)[np.argmin(np.abs(inward[0]))]
    turn = 2.0 * np.pi * np.arange(sides) / sides
    rings = []
    for point, before, after in zip(line, inward, outward, strict=True):
        across = across - (across @ before) * before
        across /= np.linalg.norm(across)
        ring = radius * (np.outer(np.cos(turn), across) + np.outer(np.sin(turn), np.cross(before, across)))
        middle = before + after
        size = np.linalg.norm(middle)
        normal = middle / size if size > 2.0 / MITRE else before  # where it nearly turns back, straight across
        rings.append(point + ring - np.outer(ring @ normal / (before @ normal), before))
        across = across - 2.0 * (across @ after) / (size**2 or 1.0) * middle  # the smallest turn from one to the other
    return np.array(rings)


def _untwisted(faces: list, rings: np.ndarray) -> list:
    """The last band of a closed tube joined to the first ring by the shift that makes its lines shortest."""
    count, sides = rings.shape[:2]
    apart = [np.linalg.norm(np.roll(rings[0], -shift, axis=0) - rings[-1]) for shift in range(sides)]
    shift = int(np.argmin(apart))

    def joined(vertex: int) -> int:
        return (vertex + shift) % sides if vertex < sides else vertex

    start = 2 * sides * (count - 1)
    return faces[:start] + [tuple(joined(vertex) for vertex in face) for face in faces[start:]]
