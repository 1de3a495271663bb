"""Closest points of two convex shapes in closed form, over abstract scalars.

Every shape is a core and a radius around it: a sphere is a point, a capsule a segment, an arc a circular arc; boxes,
cylinders and half-spaces have radius 0. With the closest points a₁, a₂ of the cores, the unit normal n from body 2 to
body 1 and the signed distance δ of the cores,

    a₁ - a₂ = δ n          d = δ - r₁ - r₂          p₁ = a₁ - r₁ n          p₂ = a₂ + r₂ n                     (1)

**Segments** c₁ + s u and c₂ + t v with unit directions, |s| ≤ h₁, |t| ≤ h₂, and w = c₁ - c₂. With b = u·v,

    s = cl((u × v)·(v × w) / |u × v|²)     t = cl(b s + v·w)     s = cl(b t - u·w)                            (2)

is exact for every convex quadratic. (u × v)·(v × w) = b (v·w) - u·w: the products of vectors lose no digits where the
axes are nearly parallel, and the difference on the right does (5e-9 m instead of 1e-15 m for axes that nearly touch).

**Segment and box.** With y = c + t u in axes of the box, g(t) = u·(y - clamp(y, -h, h)) is half of the derivative of
the squared distance: monotone and linear between the six points where y crosses a plane of a face. One secant between
the last of these points (and ends) with g < 0 and the first with g > 0 is exact; of zeros, the middle is taken.   (3)

**Boxes.** Outside each other, the closest points are on an edge of the first box, or at a corner of the second one.

**Overlap.** The depth of polytopes is the smallest overlap along the normals of the facets of their Minkowski
difference (separating axes): faces, and products of edges. The closest points follow from the axis: a corner of one
body on a face of the other, or the points where two edges cross.                                                    (4)

Distances are continuous. Normals and closest points jump at switches: parallel segments, touching axes (where any
normal across the axes is valid), and between faces inside boxes and cylinders. `smooth` p > 0 replaces the distance δ
of segments by

    δ² = min |w + s u - t v|² + p² (s² + t²) + ε²        ε = p (r₁ + r₂)                                      (5)

whose gradient is Lipschitz continuous; δ exceeds the distance by at most p √(h₁² + h₂² + (r₁ + r₂)²).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, abs, cos, exp, log, maximum, minimum, select, sign, sin, sqrt
from appell.algebra.vector import UNITS, Vec3, total

TOUCHING_M = 1e-12  # distance of cores below which their difference has no direction
TIE = 1e-12  # sine of an angle below which an edge counts as parallel to a plane
PARALLEL_EDGES = 1e-10  # sine of an angle below which two edges have no common normal
MIN_DIVISOR = 1e-300
MAX_LENGTH_M = 1e300  # beyond every length


@dataclass(frozen=True)
class Solid:
    """A shape in the world: its core (one of those in `PAIRS`) and the radius around it.

    `size` holds half lengths of the core: of a segment along z (0 for a point), of the sides of a box, radius and half
    length of a cylinder along z; radius and half angle (rad) of an arc about z, in the x-y plane, with its middle on x.
    A plane is the half-space z ≤ 0. Hulls have a `polytope`.
    """

    core: str
    size: tuple[float, ...]
    radius: float
    pose: Pose
    polytope: Any = None  # `hulls.Polytope`

    @property
    def axis(self) -> Vec3:
        return self.pose.rotation.T.rows[2]


class Closest(NamedTuple):
    """Signed distance, unit normal from body 2 to body 1, and closest points of two bodies, in the world."""

    distance: Scalar
    normal: Vec3
    point1: Vec3
    point2: Vec3

    @property
    def swapped(self) -> Closest:
        return Closest(self.distance, -self.normal, self.point2, self.point1)


def closest(one: Solid, other: Solid, smooth: float = 0.0) -> Closest:
    """Distance and closest points of two shapes, by (1)."""
    if (one.core, other.core) not in PAIRS:
        return closest(other, one, smooth).swapped
    return with_radii(PAIRS[one.core, other.core](one, other, smooth), one, other)


def with_radii(cores: Closest, one: Solid, other: Solid) -> Closest:
    """The result (1) for two shapes from that for their cores."""
    n = cores.normal
    return Closest(
        cores.distance - (one.radius + other.radius), n, cores.point1 - one.radius * n, cores.point2 + other.radius * n
    )


def has_closed_form(one: str, other: str) -> bool:
    """Return whether two cores have a closed form."""
    return (one, other) in PAIRS or (other, one) in PAIRS


def is_hull_pair(one: str, other: str) -> bool:
    """Return whether two cores are compared as polytopes, by `formulate.distance.hulls`."""
    return "hull" in (one, other) and {one, other} <= {"hull", "box", "segment", "point"}


# ---- scalars and vectors


def _limit(x: Scalar, bound: float) -> Scalar:
    return maximum(minimum(x, bound), -bound)


def _side(x: Scalar) -> Scalar:
    """1 or -1."""
    return select(x, 1.0, -1.0)


def _end(x: Scalar) -> Scalar:
    """1, -1, or 0 where x vanishes up to rounding: the middle of an edge or a face that is parallel to a plane."""
    return select(abs(x) - TIE, sign(x), 0.0)


def choose(condition: Scalar, one: Vec3, other: Vec3) -> Vec3:
    """`one` where the condition is > 0, else `other`."""
    return Vec3.of(select(condition, x, y) for x, y in zip(one, other, strict=True))


def _across(u: Vec3) -> Vec3:
    """A vector across a unit vector, not shorter than 0.7."""
    return choose(0.5 - u.x * u.x, Vec3(0.0, -u.z, u.y), Vec3(u.z, 0.0, -u.x))


def _apart(r: Vec3, instead: Vec3) -> tuple[Scalar, Vec3]:
    """Length and direction of r = a₁ - a₂; the direction of `instead` where r vanishes."""
    square = r.dot(r)
    apart = square - TOUCHING_M**2
    direction = choose(apart, r, instead)
    inverse = 1.0 / sqrt(select(apart, square, instead.dot(instead)))
    return select(apart, square * inverse, 0.0), inverse * direction


def _clamped(y: Vec3, half: Sequence[float]) -> Vec3:
    return Vec3.of(_limit(x, h) for x, h in zip(y, half, strict=True))


# ---- segments, which include points


def _segments(one: Solid, other: Solid, smooth: float) -> Closest:
    (h1,), (h2,), u, v = one.size, other.size, one.axis, other.axis
    x1, x2 = one.pose.translation, other.pose.translation
    w, more = x1 - x2, smooth * smooth
    s: Scalar
    t: Scalar
    if one.core == other.core == "point":
        r, s, t, instead = w, 0.0, 0.0, UNITS[2]
    elif one.core == "point":
        s, t, instead = 0.0, _limit(v.dot(w) / (1.0 + more), h2), _across(v)
        r = w - t * v
    else:
        b, c, f, across = u.dot(v), u.dot(w), v.dot(w), u.cross(v)
        sine2 = across.dot(across)
        divisor = sine2 + more * (2.0 + more) if smooth else maximum(sine2, MIN_DIVISOR)
        s = _limit((across.dot(v.cross(w)) - more * c) / divisor, h1)  # (2)
        t = _limit((b * s + f) / (1.0 + more), h2)
        s = _limit((b * t - c) / (1.0 + more), h1)
        r = w + s * u - t * v
        instead = choose(sine2 - TIE**2, across, _across(u))
    a1, a2 = x1 + s * u, x2 + t * v
    if smooth:
        rounding = smooth * (one.radius + other.radius)
        distance = sqrt(r.dot(r) + more * (s * s + t * t) + rounding * rounding)  # (5)
        return Closest(distance, (1.0 / distance) * r, a1, a2)
    distance, normal = _apart(r, instead)
    return Closest(distance, normal, a1, a2)


# ---- half-spaces


def _on_plane(support: Callable[[Solid, Vec3], Vec3]) -> Callable[[Solid, Solid, float], Closest]:
    """Distance to a half-space from the lowest point of a core, `support(solid, normal in axes of the solid)`."""

    def lowest(one: Solid, plane: Solid, smooth: float) -> Closest:
        n = plane.axis
        if smooth and one.core == "segment":
            return _smooth_on_plane(one, plane, smooth)
        point = one.pose.apply(support(one, one.pose.rotation.T @ n))
        height = n.dot(point - plane.pose.translation)
        return Closest(height, n, point, point - height * n)

    return lowest


def _smooth_on_plane(one: Solid, plane: Solid, smooth: float) -> Closest:
    """-τ ln Σ exp(-height / τ) of the ends, which is below the lower end by at most τ ln 2; τ = p r."""
    n, tau = plane.axis, smooth * one.radius
    slope, center = one.size[0] * n.dot(one.axis), one.pose.translation
    height, lower = n.dot(center - plane.pose.translation), abs(slope)
    ratio = exp(-2.0 * lower / tau)
    share = (1.0 - ratio) / (1.0 + ratio)  # of the lower end less that of the upper one
    point = center - (_side(slope) * share * one.size[0]) * one.axis
    at = n.dot(point - plane.pose.translation)
    return Closest(height - lower - tau * log(1.0 + ratio), n, point, point - at * n)


def _segment_end(one: Solid, n: Vec3) -> Vec3:
    return Vec3(0.0, 0.0, -one.size[0] * _end(n.z) if one.core == "segment" else 0.0)


def _box_corner(one: Solid, n: Vec3) -> Vec3:
    return Vec3.of(-h * _end(x) for x, h in zip(n, one.size, strict=True))


def _hull_vertex(one: Solid, n: Vec3) -> Vec3:
    first, *rest = (Vec3.of(vertex) for vertex in one.polytope.vertices)
    lowest, height = first, n.dot(first)
    for vertex in rest:
        other = n.dot(vertex)
        lowest, height = choose(height - other, vertex, lowest), minimum(height, other)
    return lowest


def _cylinder_rim(one: Solid, n: Vec3) -> Vec3:
    level = n.x * n.x + n.y * n.y
    scale = select(level - TIE**2, -one.size[0] / sqrt(maximum(level, TIE**2)), 0.0)
    return Vec3(scale * n.x, scale * n.y, -one.size[1] * _end(n.z))


def _arc_point(one: Solid, n: Vec3) -> Vec3:
    return _nearest_on_arc(one.size, Vec3(-n.x, -n.y, 0.0))


# ---- a point or a segment and another core; vectors are in axes of the second body


def _in_axes_of(other: Solid, one: Solid) -> Vec3:
    return other.pose.rotation.T @ (one.pose.translation - other.pose.translation)


def _in_world(solid: Solid, distance: Scalar, normal: Vec3, point1: Vec3) -> Closest:
    """Result for the first point and the normal in axes of a solid."""
    n, p = solid.pose.rotation @ normal, solid.pose.apply(point1)
    return Closest(distance, n, p, p - distance * n)


def _point_to_box(one: Solid, box: Solid, smooth: float) -> Closest:
    y = _in_axes_of(box, one)
    r = y - _clamped(y, box.size)
    depth, normal = -MAX_LENGTH_M, UNITS[2]
    for x, h, unit in zip(y, box.size, UNITS, strict=True):
        deeper = (abs(x) - h) - depth
        depth, normal = select(deeper, abs(x) - h, depth), choose(deeper, _side(x) * unit, normal)
    return _in_world(box, *_outside_or(r, depth, normal), y)


def _outside_or(r: Vec3, depth: Scalar, normal: Vec3) -> tuple[Scalar, Vec3]:
    """Length and direction of r; where r vanishes, the depth inside with its normal."""
    square = r.dot(r)
    outside = square - TOUCHING_M**2
    inverse = 1.0 / sqrt(select(outside, square, 1.0))
    return select(outside, square * inverse, depth), choose(outside, inverse * r, normal)


def _along_segment(c: Vec3, u: Vec3, length: float, half: Sequence[float]) -> Scalar:
    """The t in [-length, length] at which c + t u is nearest to a box, by (3)."""

    def slope(t: Scalar) -> Scalar:
        y = c + t * u
        return u.dot(y - _clamped(y, half))

    inverses = [1.0 / select(abs(x) - MIN_DIVISOR, x, MIN_DIVISOR) for x in u]
    kinks = [
        _limit((h * side - x) * inverse, length)
        for x, h, inverse in zip(c, half, inverses, strict=True)
        for side in (-1.0, 1.0)
    ]
    first, last = slope(-length), slope(length)
    low, low_slope, high, high_slope = -length, minimum(first, 0.0), length, maximum(last, 0.0)
    zero_from, zero_to = MAX_LENGTH_M, -MAX_LENGTH_M
    for t, g in [(-length, first), *((t, slope(t)) for t in kinks), (length, last)]:
        later, earlier = select(-g, t - low, -1.0), select(g, high - t, -1.0)
        low, low_slope = select(later, t, low), select(later, g, low_slope)
        high, high_slope = select(earlier, t, high), select(earlier, g, high_slope)
        zero_from, zero_to = (
            minimum(zero_from, select(abs(g), MAX_LENGTH_M, t)),
            maximum(zero_to, select(abs(g), -MAX_LENGTH_M, t)),
        )
    secant = low - (high - low) * (low_slope / maximum(high_slope - low_slope, MIN_DIVISOR))
    return select(zero_to + length + 1.0, 0.5 * (zero_from + zero_to), _limit(secant, length))


def _segment_to_box(one: Solid, box: Solid, smooth: float) -> Closest:
    (length,), half = one.size, box.size
    c, u = _in_axes_of(box, one), box.pose.rotation.T @ one.axis
    y = c + _along_segment(c, u, length, half) * u
    deepest = Overlap(MAX_LENGTH_M, UNITS[2], 0.0, 0.0, UNITS[2], UNITS[2])
    for i, unit in enumerate(UNITS):
        deepest = deepest.or_face(half[i] + length * abs(u[i]) - abs(c[i]), _side(c[i]) * unit, 0.0)
    for unit in UNITS:
        axis = u.cross(unit)
        deepest = deepest.or_edges(axis, c, _extent(axis, UNITS, half), u, unit)
    n = deepest.normal
    inside = deepest.point1(c - (length * _end(n.dot(u))) * u, _corner(n, UNITS, half))
    r = y - _clamped(y, half)
    distance, normal = _outside_or(r, -deepest.size, n)
    return _in_world(box, distance, normal, choose(r.dot(r) - TOUCHING_M**2, y, inside))


class Overlap(NamedTuple):
    """The smallest overlap of two polytopes among some separating axes, by (4)."""

    size: Scalar
    normal: Vec3
    is_edge: Scalar  # > 0: the axis is across the edges `edge1` and `edge2`
    is_face1: Scalar  # > 0: the axis is the normal of a face of body 1; otherwise of body 2
    edge1: Vec3
    edge2: Vec3

    def or_face(self, size: Scalar, normal: Vec3, is_face1: float) -> Overlap:
        """The smaller of this overlap and that along the normal of a face."""
        smaller = self.size - size
        return self._replace(
            size=select(smaller, size, self.size),
            normal=choose(smaller, normal, self.normal),
            is_face1=select(smaller, is_face1, self.is_face1),
        )

    def or_edges(self, axis: Vec3, c: Vec3, extent: Scalar, edge1: Vec3, edge2: Vec3) -> Overlap:
        """The smaller of this overlap and that across two edges; `extent` is that of both bodies along the axis."""
        square, offset = axis.dot(axis), c.dot(axis)
        inverse = 1.0 / sqrt(maximum(square, PARALLEL_EDGES**2))
        size = inverse * (extent - abs(offset))
        smaller = select(square - PARALLEL_EDGES**2, self.size - size - TIE, -1.0)
        return Overlap(
            select(smaller, size, self.size),
            choose(smaller, (_side(offset) * inverse) * axis, self.normal),
            select(smaller, 1.0, self.is_edge),
            self.is_face1,
            choose(smaller, edge1, self.edge1),
            choose(smaller, edge2, self.edge2),
        )

    def point1(self, corner1: Vec3, corner2: Vec3) -> Vec3:
        """The closest point of body 1, from the corners of both bodies that overlap most along the normal."""
        across = self.edge1.cross(self.edge2)
        along = across.dot(self.edge2.cross(corner1 - corner2)) / maximum(across.dot(across), MIN_DIVISOR)
        on_face = choose(self.is_face1, corner2 - self.size * self.normal, corner1)
        return choose(self.is_edge, corner1 + along * self.edge1, on_face)


def _extent(axis: Vec3, edges: Sequence[Vec3], half: Sequence[float]) -> Scalar:
    return sum((h * abs(axis.dot(edge)) for edge, h in zip(edges, half, strict=True)), start=0.0)


def _corner(n: Vec3, edges: Sequence[Vec3], half: Sequence[float]) -> Vec3:
    """The corner of a box at the origin that is farthest along n."""
    return total((h * _end(n.dot(edge))) * edge for edge, h in zip(edges, half, strict=True))


def _boxes(one: Solid, other: Solid, smooth: float) -> Closest:
    (h1, h2), c = (one.size, other.size), _in_axes_of(other, one)
    axes = other.pose.rotation.T @ one.pose.rotation
    edges = axes.T.rows
    point, r = c, c - _clamped(c, h2)  # the centre, which is never nearer than the boundary outside
    square: Scalar = MAX_LENGTH_M
    for i, edge in enumerate(edges):
        j, k = (i + 1) % 3, (i + 2) % 3
        for side_j, side_k in ((-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)):
            middle = c + (side_j * h1[j]) * edges[j] + (side_k * h1[k]) * edges[k]
            y = middle + _along_segment(middle, edge, h1[i], h2) * edge
            difference = y - _clamped(y, h2)
            nearer = square - difference.dot(difference)
            square = select(nearer, difference.dot(difference), square)
            point, r = choose(nearer, y, point), choose(nearer, difference, r)
    for signs in product((-1.0, 1.0), repeat=3):
        corner = Vec3.of(sign_of * h for sign_of, h in zip(signs, h2, strict=True))
        y = axes.T @ (corner - c)  # in axes of the first box
        clamped = _clamped(y, h1)
        difference = clamped - y
        nearer = square - difference.dot(difference)
        square = select(nearer, difference.dot(difference), square)
        point, r = choose(nearer, c + axes @ clamped, point), choose(nearer, axes @ difference, r)
    deepest = Overlap(MAX_LENGTH_M, UNITS[2], 0.0, 0.0, UNITS[2], UNITS[2])
    for i, unit in enumerate(UNITS):
        deepest = deepest.or_face(h2[i] + _extent(unit, edges, h1) - abs(c[i]), _side(c[i]) * unit, 0.0)
    for i, edge in enumerate(edges):
        offset = c.dot(edge)
        deepest = deepest.or_face(h1[i] + _extent(edge, UNITS, h2) - abs(offset), _side(offset) * edge, 1.0)
    for edge, unit in product(edges, UNITS):
        axis = edge.cross(unit)
        deepest = deepest.or_edges(axis, c, _extent(axis, edges, h1) + _extent(axis, UNITS, h2), edge, unit)
    n = deepest.normal
    inside = deepest.point1(c - _corner(n, edges, h1), _corner(n, UNITS, h2))
    # an edge may be outside although the boxes overlap: then all axes overlap
    apart = -deepest.size + TOUCHING_M
    distance, normal = _outside_or(choose(apart, r, Vec3(0.0, 0.0, 0.0)), -deepest.size, n)
    return _in_world(other, distance, normal, choose(select(apart, r.dot(r) - TOUCHING_M**2, -1.0), point, inside))


def _to_cylinder(one: Solid, cylinder: Solid, smooth: float) -> Closest:
    (radius, half), y = cylinder.size, _in_axes_of(cylinder, one)
    level = sqrt(y.x * y.x + y.y * y.y)
    off_axis = level - TOUCHING_M
    inverse = select(off_axis, 1.0 / select(off_axis, level, 1.0), 0.0)
    outward, cap = Vec3(select(off_axis, inverse * y.x, 1.0), inverse * y.y, 0.0), _side(y.z) * UNITS[2]
    beyond, above = level - radius, abs(y.z) - half
    r = maximum(beyond, 0.0) * outward + maximum(above, 0.0) * cap
    nearer_wall = beyond - above
    distance, n = _outside_or(r, select(nearer_wall, beyond, above), choose(nearer_wall, outward, cap))
    return _in_world(cylinder, distance, n, y)


def _to_arc(one: Solid, arc: Solid, smooth: float) -> Closest:
    y = _in_axes_of(arc, one)
    distance, n = _apart(y - _nearest_on_arc(arc.size, y), UNITS[2])
    return _in_world(arc, distance, n, y)


def _nearest_on_arc(size: Sequence[float], y: Vec3) -> Vec3:
    radius, angle = size
    level = sqrt(y.x * y.x + y.y * y.y)
    scale = radius / maximum(level, MIN_DIVISOR)
    end = Vec3(radius * cos(angle), radius * sin(angle) * _side(y.y), 0.0)
    within = y.x - level * cos(angle)
    return choose(select(level - TOUCHING_M, within, -1.0), Vec3(scale * y.x, scale * y.y, 0.0), end)


Pair = Callable[[Solid, Solid, float], Closest]


PAIRS: dict[tuple[str, str], Pair] = {
    ("point", "point"): _segments,
    ("point", "segment"): _segments,
    ("segment", "segment"): _segments,
    ("point", "box"): _point_to_box,
    ("segment", "box"): _segment_to_box,
    ("box", "box"): _boxes,
    ("point", "cylinder"): _to_cylinder,
    ("point", "arc"): _to_arc,
    ("point", "plane"): _on_plane(_segment_end),
    ("segment", "plane"): _on_plane(_segment_end),
    ("box", "plane"): _on_plane(_box_corner),
    ("hull", "plane"): _on_plane(_hull_vertex),
    ("cylinder", "plane"): _on_plane(_cylinder_rim),
    ("arc", "plane"): _on_plane(_arc_point),
}
