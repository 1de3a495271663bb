"""Contact points of two shapes, a fixed number per pair, over abstract scalars.

A kernel that moves many robots does not branch, so every pair of shapes has a fixed number of points, at all states:

    sphere and another shape    1    the closest points
    capsule, half-space         2    the balls at both ends
    capsule, capsule or box     3    balls of the capsule: the nearest one, and both ends of the stretch in front of the
                                     other capsule, or of the nearest face of the box                                (1)
    box, half-space             4    the corners of the face that is turned most towards the plane
    cylinder, half-space        4    the lowest point of each rim, and two points of the lower rim at ±120° from it
    box, box                    4    of the common polygon of two faces, or 1 crossing of two edges                  (2)

All points except those of (2) state a condition that the bodies satisfy exactly: a ball or a corner of one body is
outside of the other body. Distances are positive where the bodies are apart, so a point that will touch soon is known
before it does.

(2) Two boxes are separated most along one of 15 axes: normals of faces, and products of edges. Along the normal of a
face, the polygon that it has in common with the opposite face of the other box has at most 8 corners: the edges of the
opposite face, clipped, and corners of the face inside of the other one. Four of them are used: the farthest in a
direction, the farthest from it, and the farthest on both sides of the line through both. SLOPE metres of height count
as one metre of distance, so that the deepest corner is not left out where it matters. Along a product of edges, the
edges cross at one point. Points that do not exist have the distance ABSENT_DISTANCE_M.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, abs, cos, maximum, minimum, select, sin, sqrt
from appell.algebra.vector import UNITS, Vec3, total
from appell.formulate.distance.closest import PARALLEL_EDGES, TIE, Solid, closest

ABSENT_DISTANCE_M = 1e30
SLOPE = 1.0 / 30.0  # m of height per m of distance, for the choice of four corners
COSINE, SINE = cos(0.5), sin(0.5)  # direction of the first corner of (2); no axis of symmetry
OUTSIDE_M = 1e-6  # a corner touches a face up to this distance beyond its edge
EDGE_PREFERENCE = 1e-3  # of the smallest half side: products of edges must separate boxes by this much more than faces
MIN_DIVISOR = 1e-30


class ContactPoint(NamedTuple):
    """Distance of two bodies at a point, unit normal from body 2 to body 1, and the point between both bodies."""

    distance: Scalar
    normal: Vec3
    point: Vec3


def contact_points(one: Solid, other: Solid) -> list[ContactPoint]:
    """Return the contact points of two solids in the world."""
    if (one.core, other.core) in MANIFOLDS:
        return MANIFOLDS[one.core, other.core](one, other)
    return [point._replace(normal=-point.normal) for point in contact_points(other, one)]


def point_count(one: str, other: str) -> int:
    """Return the number of contact points of two cores; 0 if they have none."""
    if (one, other) not in MANIFOLDS and (other, one) not in MANIFOLDS:
        return 0
    return COUNTS.get((one, other), COUNTS.get((other, one), 1))


def _nearest(one: Solid, other: Solid) -> list[ContactPoint]:
    distance, normal, point1, point2 = closest(one, other)
    return [ContactPoint(distance, normal, 0.5 * (point1 + point2))]


def _choose(condition: Scalar, one: Vec3, other: Vec3) -> Vec3:
    return Vec3.of(select(condition, x, y) for x, y in zip(one, other, strict=True))


def _side(x: Scalar) -> Scalar:
    return select(x, 1.0, -1.0)


def _limit(x: Scalar, bound: Scalar) -> Scalar:
    return maximum(minimum(x, bound), -bound)


# ---- capsules, by (1)


def _ball(capsule: Solid, s: Scalar) -> Solid:
    """The ball of a capsule at s m from its centre."""
    return replace(
        capsule,
        core="point",
        size=(0.0,),
        pose=Pose(capsule.pose.rotation, capsule.pose.translation + s * capsule.axis),
    )


def _balls(one: Solid, other: Solid, stretch: Sequence[Scalar]) -> list[ContactPoint]:
    return [point for s in stretch for point in _nearest(_ball(one, s), other)]


def _capsule_on_plane(one: Solid, plane: Solid) -> list[ContactPoint]:
    return _balls(one, plane, (one.size[0], -one.size[0]))


def _capsules(one: Solid, other: Solid) -> list[ContactPoint]:
    u, w = one.axis, other.pose.translation - one.pose.translation
    along, reach = u.dot(w), other.size[0] * u.dot(other.axis)
    return _nearest(one, other) + _balls(
        one, other, [_limit(along + side * reach, one.size[0]) for side in (1.0, -1.0)]
    )


def _capsule_on_box(one: Solid, box: Solid) -> list[ContactPoint]:
    (length,), nearest = one.size, _nearest(one, box)[0]
    turn = box.pose.rotation.T
    c, u, n = turn @ (one.pose.translation - box.pose.translation), turn @ one.axis, turn @ nearest.normal
    low, high = -length, length
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        is_normal = minimum(abs(n[i]) - abs(n[j]), abs(n[i]) - abs(n[k]))
        inverse = 1.0 / select(abs(u[i]) - TIE, u[i], TIE)
        ends = [(side * box.size[i] - c[i]) * inverse for side in (1.0, -1.0)]
        low = maximum(low, select(is_normal, -length, minimum(*ends)))
        high = minimum(high, select(is_normal, length, maximum(*ends)))
    core = nearest.point + (0.5 * nearest.distance + one.radius) * nearest.normal
    at = _limit(one.axis.dot(core - one.pose.translation), length)
    is_stretch = high - low
    return [nearest, *_balls(one, box, [select(is_stretch, x, at) for x in (low, high)])]


# ---- boxes and cylinders on a half-space


def _above(plane: Solid, points: Sequence[Vec3]) -> list[ContactPoint]:
    n = plane.axis
    heights = [n.dot(point - plane.pose.translation) for point in points]
    return [ContactPoint(h, n, point - (0.5 * h) * n) for h, point in zip(heights, points, strict=True)]


class _Face(NamedTuple):
    """A face of a box: outward normal, the axes of the face and their half lengths, half length along the normal."""

    normal: Vec3
    axes: tuple[Vec3, Vec3]
    bounds: tuple[Scalar, Scalar]
    height: Scalar

    def or_if(self, condition: Scalar, other: _Face) -> _Face:
        """The other face if the condition is positive."""
        return _Face(
            _choose(condition, other.normal, self.normal),
            (_choose(condition, other.axes[0], self.axes[0]), _choose(condition, other.axes[1], self.axes[1])),
            (select(condition, other.bounds[0], self.bounds[0]), select(condition, other.bounds[1], self.bounds[1])),
            select(condition, other.height, self.height),
        )

    def corners(self, center: Vec3) -> list[Vec3]:
        """The corners in their order around the face of a box with this centre."""
        middle = center + self.height * self.normal
        a, b = (bound * axis for bound, axis in zip(self.bounds, self.axes, strict=True))
        return [middle + a + b, middle - a + b, middle - a - b, middle + a - b]


def _face_along(n: Vec3, edges: Sequence[Vec3], half: Sequence[Scalar]) -> _Face:
    """The face of a box that is turned most towards n."""
    faces, sizes = [], []
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        cosine = n.dot(edges[i])
        faces.append(_Face(_side(cosine) * edges[i], (edges[j], edges[k]), (half[j], half[k]), half[i]))
        sizes.append(abs(cosine))
    face = faces[0].or_if(sizes[1] - sizes[0], faces[1])
    return face.or_if(sizes[2] - maximum(sizes[0], sizes[1]), faces[2])


def _box_on_plane(one: Solid, plane: Solid) -> list[ContactPoint]:
    edges = one.pose.rotation.T.rows
    return _above(plane, _face_along(-plane.axis, edges, one.size).corners(one.pose.translation))


def _cylinder_on_plane(one: Solid, plane: Solid) -> list[ContactPoint]:
    (radius, half), n = one.size, one.pose.rotation.T @ plane.axis
    level = n.x * n.x + n.y * n.y
    is_tilted, scale = level - TIE**2, -radius / sqrt(maximum(level, TIE**2))
    x, y = select(is_tilted, scale * n.x, radius), select(is_tilted, scale * n.y, 0.0)
    lower = -_side(n.z) * half
    sine = 0.5 * math.sqrt(3.0)
    points = [Vec3(x, y, lower), Vec3(x, y, -lower)]
    points += [Vec3(-0.5 * x - side * sine * y, side * sine * x - 0.5 * y, lower) for side in (1.0, -1.0)]
    return _above(plane, [one.pose.apply(point) for point in points])


# ---- boxes, by (2); vectors are in axes of the second box


def _boxes(one: Solid, other: Solid) -> list[ContactPoint]:
    turn = other.pose.rotation.T
    c, edges = turn @ (one.pose.translation - other.pose.translation), (turn @ one.pose.rotation).T.rows
    origin = Vec3(0.0, 0.0, 0.0)
    boxes = ((c, edges, one.size), (origin, UNITS, other.size))

    # the face that separates the boxes most; its outward normal points to the other box
    apart: Scalar = -ABSENT_DISTANCE_M
    face, of_first = _Face(UNITS[2], (UNITS[0], UNITS[1]), (0.0, 0.0), 0.0), 0.0
    for is_first, ((_, axes, half), (_, axes2, half2)) in ((0.0, boxes[::-1]), (1.0, boxes)):
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            offset = c.dot(axes[i])
            gap = abs(offset) - half[i] - _extent(axes[i], axes2, half2)
            normal = (_side(offset) * (1.0 - 2.0 * is_first)) * axes[i]
            larger = gap - apart
            face = face.or_if(larger, _Face(normal, (axes[j], axes[k]), (half[j], half[k]), half[i]))
            apart, of_first = select(larger, gap, apart), select(larger, is_first, of_first)
    centers = [_choose(of_first, first, second) for first, second in ((c, origin), (origin, c))]
    opposite_edges = [_choose(of_first, unit, edge) for unit, edge in zip(UNITS, edges, strict=True)]
    opposite_half = [select(of_first, h2, h1) for h1, h2 in zip(one.size, other.size, strict=True)]
    opposite = _face_along(-face.normal, opposite_edges, opposite_half).corners(centers[1])
    normal = _choose(of_first, -face.normal, face.normal)  # from the second box to the first one
    polygon = _common_polygon(face, centers[0], opposite)

    # the edges that separate the boxes most
    crossing = _Crossing(-ABSENT_DISTANCE_M, origin, origin, -1.0)
    for i, j in product(range(3), repeat=2):
        crossing = crossing.or_edges(c, edges, one.size, other.size, i, j)
    margin = EDGE_PREFERENCE * min(*one.size, *other.size)
    is_edge = minimum(crossing.apart - apart - margin, crossing.within)
    crossings = [(crossing.apart, crossing.point), *([(ABSENT_DISTANCE_M, origin)] * 3)]
    n = other.pose.rotation @ _choose(is_edge, crossing.normal, normal)
    return [
        ContactPoint(select(is_edge, apart, distance), n, other.pose.apply(_choose(is_edge, crossing_point, point)))
        for (distance, point), (apart, crossing_point) in zip(polygon, crossings, strict=True)
    ]


def _extent(axis: Vec3, edges: Sequence[Vec3], half: Sequence[Scalar]) -> Scalar:
    return sum((h * abs(axis.dot(edge)) for edge, h in zip(edges, half, strict=True)), start=0.0)


def _common_polygon(face: _Face, center: Vec3, corners: Sequence[Vec3]) -> list[tuple[Scalar, Vec3]]:
    """Four corners of the polygon that a face has in common with another one: their heights above it, and points."""
    bounds = [bound + OUTSIDE_M for bound in face.bounds]
    local = []
    for corner in corners:
        w = corner - center
        local.append(Vec3(face.axes[0].dot(w), face.axes[1].dot(w), face.normal.dot(w) - face.height))
    candidates: list[tuple[Scalar, Vec3]] = []  # > 0 if it exists, and the corner
    for k in range(4):
        start, along = local[k], local[(k + 1) % 4] - local[k]
        low, high = 0.0, 1.0
        for x, u, bound in zip(start, along, bounds, strict=False):
            inverse = 1.0 / select(abs(u) - TIE, u, TIE)
            ends = (-bound - x) * inverse, (bound - x) * inverse
            low, high = maximum(low, minimum(*ends)), minimum(high, maximum(*ends))
        is_inside = high - low
        candidates.append((is_inside, start + high * along))
        candidates.append((minimum(is_inside, low), start + low * along))  # low = 0: the end of the edge before
    middle = 0.5 * (local[0] + local[2])
    p, q = 0.5 * (local[0] - local[1]), 0.5 * (local[0] - local[3])
    inverse = 1.0 / _away_from_zero(p.x * q.y - p.y * q.x)
    for side_x, side_y in product((1.0, -1.0), repeat=2):
        x, y = side_x * bounds[0], side_y * bounds[1]
        a = inverse * ((x - middle.x) * q.y - (y - middle.y) * q.x)
        b = inverse * ((y - middle.y) * p.x - (x - middle.x) * p.y)
        candidates.append((1.0 - maximum(abs(a), abs(b)), Vec3(x, y, middle.z + a * p.z + b * q.z)))
    first = _farthest(candidates, lambda x: COSINE * x.x + SINE * x.y)
    second = _farthest(candidates, lambda x: _level(x - first))
    along = (1.0 / maximum(_level(second - first), MIN_DIVISOR)) * (second - first)

    def left(x: Vec3) -> Scalar:
        return along.x * (x.y - first.y) - along.y * (x.x - first.x)

    third, fourth = _farthest(candidates, left), _farthest(candidates, lambda x: -left(x))
    chosen = []
    for corner in (first, second, third, fourth):
        height = face.height + select(0.5 * ABSENT_DISTANCE_M - corner.z, 0.5 * corner.z, 0.0)
        point = center + total(x * axis for x, axis in zip((corner.x, corner.y), face.axes, strict=True))
        chosen.append((corner.z, point + height * face.normal))
    return chosen


def _level(x: Vec3) -> Scalar:
    return sqrt(x.x * x.x + x.y * x.y + MIN_DIVISOR)


def _farthest(candidates: Sequence[tuple[Scalar, Vec3]], reach: Callable[[Vec3], Scalar]) -> Vec3:
    """The corner with the largest reach less height / SLOPE."""
    best, corner = -ABSENT_DISTANCE_M, Vec3(0.0, 0.0, ABSENT_DISTANCE_M)
    for exists, candidate in candidates:
        score = reach(candidate) - candidate.z / SLOPE
        farther = select(exists, score - best, -1.0)
        best, corner = select(farther, score, best), _choose(farther, candidate, corner)
    return corner


def _away_from_zero(x: Scalar) -> Scalar:
    return select(abs(x) - MIN_DIVISOR, x, MIN_DIVISOR)


class _Crossing(NamedTuple):
    """The edges of two boxes that separate them most: distance, normal, point, and > 0 if they cross within both."""

    apart: Scalar
    normal: Vec3
    point: Vec3
    within: Scalar

    def or_edges(
        self, c: Vec3, edges: Sequence[Vec3], half1: Sequence[float], half2: Sequence[float], i: int, j: int
    ) -> _Crossing:
        """This crossing, or that of edges i and j of both boxes if it is farther apart."""
        u, v = edges[i], UNITS[j]
        axis = u.cross(v)
        square, offset = axis.dot(axis), c.dot(axis)
        inverse = 1.0 / sqrt(maximum(square, PARALLEL_EDGES**2))
        apart = inverse * (abs(offset) - _extent(axis, edges, half1) - _extent(axis, UNITS, half2))
        n = (_side(offset) * inverse) * axis
        x1 = c - total((half1[k] * _side(n.dot(edges[k]))) * edges[k] for k in range(3) if k != i)
        x2 = total((half2[k] * _side(n[k])) * UNITS[k] for k in range(3) if k != j)
        w, divisor = x1 - x2, maximum(square, PARALLEL_EDGES**2)
        s, t = axis.dot(v.cross(w)) / divisor, axis.dot(u.cross(w)) / divisor
        within = minimum(half1[i] - abs(s), half2[j] - abs(t))
        farther = select(square - PARALLEL_EDGES**2, apart - self.apart, -1.0)
        point = 0.5 * (x1 + s * u + x2 + t * v)
        return _Crossing(
            select(farther, apart, self.apart),
            _choose(farther, n, self.normal),
            _choose(farther, point, self.point),
            select(farther, within, self.within),
        )


MANIFOLDS: dict[tuple[str, str], Callable[[Solid, Solid], list[ContactPoint]]] = {
    ("point", "point"): _nearest,
    ("point", "segment"): _nearest,
    ("point", "box"): _nearest,
    ("point", "cylinder"): _nearest,
    ("point", "arc"): _nearest,
    ("point", "plane"): _nearest,
    ("segment", "segment"): _capsules,
    ("segment", "box"): _capsule_on_box,
    ("segment", "plane"): _capsule_on_plane,
    ("box", "box"): _boxes,
    ("box", "plane"): _box_on_plane,
    ("cylinder", "plane"): _cylinder_on_plane,
}
COUNTS = {  # of pairs with more than one point
    ("segment", "plane"): 2,
    ("segment", "segment"): 3,
    ("segment", "box"): 3,
    ("box", "plane"): 4,
    ("cylinder", "plane"): 4,
    ("box", "box"): 4,
}
