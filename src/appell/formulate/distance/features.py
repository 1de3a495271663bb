"""Contacts of two shapes as pairs of features: points, lines, faces and circles, over abstract scalars.

The distance of two shapes has kinks where the closest features change. The gap of one pair of features is smooth:

    point, face        d = n·(c - x) - r                          n: normal of the face                       (1)
    ball, ball         d = ±(|e| - R) - r,  n = ±e/|e|            e = w, or w - v (v·w) across a line along v (2)
    line, line         d = n·w - r,  n = ±u × v/|u × v|           w = x₁ - x₂                                 (3)
    circle, face       d = n·(x - ρ n'/|n'| - X) - r              n' = n less its part along the axis         (4)
    ball, circle       d = |e| - r                                e from the nearest point of the circle      (5)

The lower sign in (2) is a wall around the ball. A pair can touch where all of its `conditions` are positive: the
closest points lie within the features, and the normal is one of both bodies there. Features of a manifold (the corners
of a face, the crossings of two edges) are contacts of their own, identified by the names of both features.

Motion. With the closest points p₁, p₂ and the velocities vᵢ(p) of the bodies' points,

    s = v₁(p₁) - v₂(p₂)       ḋ = n·s       d̈ = n·ṡ + ṅ·s       ṡ = Σ ± (Aᵢ + αᵢ × ρᵢ + ωᵢ × ρ̇ᵢ)             (6)

where ρᵢ = pᵢ - xᵢ is the arm from the origin of the body. ṅ and ρ̇ᵢ contain the relative curvature of the surfaces; they
follow from (1) to (5) with dual numbers. A point that sticks or rolls has ṡ = 0 along both tangents.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import NamedTuple

from appell.algebra.derivative import value_and_rate
from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector, cos, maximum, select, sin, sqrt
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.formulate.distance.closest import Solid
from appell.formulate.kinematics import contact_axes

OUTSIDE_M = 5e-8  # a corner touches a face up to this distance beyond its edge
INSIDE_M = 2.5e-8  # the crossing of two edges touches from this distance before their ends on, so that none is missed
CONE_TOLERANCE = 1e-6  # sine: tolerance of normals
PARALLEL = 1e-6  # sine of an angle below which lines do not cross, and below which a circle is parallel to a face
MIN_SIDE = 1.5  # of n·(sum of the normals of faces): at least 2 where sharp edges touch, which determines the sign of n
UNBOUNDED_M = 1e6
PLAUSIBLE_DEPTH = 0.2  # of the smallest half side: a point that is deeper touches another face
RIM_POINTS = 8  # on which a cylinder stands
STANDING_RAD = 1e-3  # a cylinder that is tilted by more stands on its rim
MIN_SQUARED_M2 = 1e-24  # a shorter vector has no direction


class FeatureGap(NamedTuple):
    """Gap, unit normal from body 2 to body 1 and closest points of two features, and the conditions of contact."""

    gap: Scalar
    normal: Vec3
    point1: Vec3
    point2: Vec3
    conditions: list[Scalar]


class FeaturePair(NamedTuple):
    """Features of two solids: `data` in the axes of the solids, for `touch`; body 1 is the second solid if swapped."""

    kind: str
    swapped: bool
    data: tuple[float, ...]
    names: tuple[str, str]  # of the feature of the first solid and of that of the second one


def touch(kind: str, data: Vector, one: Pose, other: Pose) -> FeatureGap:
    """Gap and closest points of two features of bodies at their poses, by (1) to (5)."""
    return KINDS[kind].touch(data, one, other)


# ---- the five kinds of gaps


def _vector(data: Vector, k: int) -> Vec3:
    return Vec3(data[k], data[k + 1], data[k + 2])


def _within(x: Scalar, bound: Scalar, tolerance: float) -> Scalar:
    """Positive for |x| < bound + tolerance."""
    return (bound * bound - x * x) / (2.0 * bound) + tolerance


def _result(gap: Scalar, normal: Vec3, core: Vec3, radius: Scalar, conditions: list[Scalar]) -> FeatureGap:
    point1 = core - radius * normal
    return FeatureGap(gap, normal, point1, point1 - gap * normal, conditions)


def _point_face(data: Vector, one: Pose, other: Pose) -> FeatureGap:
    """c, r; n, offset, two axes with their bounds, roundness; signs and cosine of the corner; largest depth."""
    c, n = one.apply(_vector(data, 0)), other.rotation @ _vector(data, 4)
    w = c - other.translation
    gap = n.dot(w) - data[7] - data[3]  # (1)
    x, y = w.dot(other.rotation @ _vector(data, 8)), w.dot(other.rotation @ _vector(data, 12))
    local = one.rotation.T @ n
    conditions = [
        _within(sqrt(maximum(x * x + data[16] * y * y, MIN_SQUARED_M2)), data[11], OUTSIDE_M),
        _within(y, data[15], OUTSIDE_M),
        *(CONE_TOLERANCE - local[i] * data[17 + i] for i in range(2)),
        CONE_TOLERANCE - local[2] * data[19] - data[20],
        gap + data[21],
    ]
    return _result(gap, n, c, data[3], conditions)


def _ball(data: Vector, one: Pose, other: Pose) -> FeatureGap:
    """c, r; center, direction and half length of a line, sign and radius around it; middle and cosine of an arc; cones.

    The cone of a feature is given by up to three outward directions: other points of its body are nearer to a point
    on the inner side of one of them.
    """
    c, v = one.apply(_vector(data, 0)), other.rotation @ _vector(data, 7)
    w = c - other.apply(_vector(data, 4))
    along = v.dot(w)
    e = w - along * v
    length = sqrt(maximum(e.dot(e), MIN_SQUARED_M2))
    normal = (data[11] / length) * e
    gap = data[11] * (length - data[12]) - data[3]  # (2)
    middle = one.rotation @ _vector(data, 13)
    conditions = [
        _within(along, data[10], OUTSIDE_M),
        -normal.dot(middle) - data[16],
        *(OUTSIDE_M - e.dot(one.rotation @ _vector(data, k)) for k in (17, 20, 23)),
        *(OUTSIDE_M + e.dot(other.rotation @ _vector(data, k)) for k in (26, 29, 32)),
    ]
    return _result(gap, normal, c, data[3], conditions)


def _lines(data: Vector, one: Pose, other: Pose) -> FeatureGap:
    """x₁, u, h₁; x₂, v, h₂; r₁, r₂; whether round; normals of the faces at both edges; largest depth."""
    x, u = one.apply(_vector(data, 0)), one.rotation @ _vector(data, 3)
    v = other.rotation @ _vector(data, 10)
    w, c = x - other.apply(_vector(data, 7)), u.cross(v)
    faces1 = [one.rotation @ _vector(data, k) for k in (17, 20)]
    faces2 = [other.rotation @ _vector(data, k) for k in (23, 26)]
    outward = data[16] * w + (1.0 - data[16]) * (faces2[0] + faces2[1] - faces1[0] - faces1[1])
    sine2 = c.dot(c)
    divisor = maximum(sine2, MIN_SQUARED_M2)
    side = c.dot(outward)
    n = select(side, 1.0, -1.0) / sqrt(divisor) * c
    s = c.dot(v.cross(w)) / divisor
    t = c.dot(u.cross(w)) / divisor
    gap = n.dot(w) - data[14] - data[15]  # (3)
    conditions = [
        _within(s, data[6], -INSIDE_M),
        _within(t, data[13], -INSIDE_M),
        sine2 - PARALLEL**2,
        data[16] + (1.0 - data[16]) * (side * side - MIN_SIDE**2 * sine2),
        *(CONE_TOLERANCE - n.dot(face) for face in faces1),
        *(CONE_TOLERANCE + n.dot(face) for face in faces2),
        gap + data[29],
    ]
    return _result(gap, n, x + s * u, data[14], conditions)


def _circle_face(data: Vector, one: Pose, other: Pose) -> FeatureGap:
    """x, axis, ρ, r; n, offset; middle and cosine of an arc."""
    x, axis = one.apply(_vector(data, 0)), one.rotation @ _vector(data, 3)
    n, middle = other.rotation @ _vector(data, 8), one.rotation @ _vector(data, 12)
    across = n - n.dot(axis) * axis
    sine2 = across.dot(across)
    lowest = (-1.0 / sqrt(maximum(sine2, MIN_SQUARED_M2))) * across
    core = x + data[6] * lowest
    gap = n.dot(core - other.translation) - data[11] - data[7]  # (4)
    return _result(gap, n, core, data[7], [sine2 - PARALLEL**2, lowest.dot(middle) - data[15]])


def _ball_circle(data: Vector, one: Pose, other: Pose) -> FeatureGap:
    """c, r; x, axis, ρ, r₂; middle and cosine of an arc; side of the cylinder for its rim, or 0."""
    c, axis = one.apply(_vector(data, 0)), other.rotation @ _vector(data, 7)
    w, middle = c - other.apply(_vector(data, 4)), other.rotation @ _vector(data, 12)
    level = w - w.dot(axis) * axis
    outward = (1.0 / sqrt(maximum(level.dot(level), MIN_SQUARED_M2))) * level
    e = w - data[10] * outward
    length = sqrt(maximum(e.dot(e), MIN_SQUARED_M2))
    gap = length - data[11] - data[3]  # (5)
    conditions = [
        outward.dot(middle) - data[15],
        OUTSIDE_M + data[16] * e.dot(axis),
        OUTSIDE_M + data[16] * data[16] * e.dot(outward),
    ]
    return _result(gap, (1.0 / length) * e, c, data[3], conditions)


class Kind(NamedTuple):
    """A kind of feature pairs: its formula, and the number of entries of `data` and of conditions."""

    touch: Callable[[Vector, Pose, Pose], FeatureGap]
    size: int
    conditions: int


KINDS = {
    "point-face": Kind(_point_face, 22, 6),
    "ball": Kind(_ball, 35, 8),
    "lines": Kind(_lines, 30, 9),
    "circle-face": Kind(_circle_face, 16, 2),
    "ball-circle": Kind(_ball_circle, 17, 3),
}


# ---- motion


class BodyMotion(NamedTuple):
    """Pose of a body in the world, velocity of its origin and angular velocity, and their rates at a = 0."""

    pose: Pose
    velocity: Vec3
    omega: Vec3
    acceleration: Vec3
    alpha: Vec3

    @staticmethod
    def of(values: Vector) -> BodyMotion:
        """From 24 numbers: rotation by rows, position, velocity, angular velocity, and both rates."""
        vectors = [_vector(values, k) for k in range(0, 24, 3)]
        return BodyMotion(Pose(Mat3.of(vectors[:3]), vectors[3]), *vectors[4:])


class TouchMotion(NamedTuple):
    """Motion at a contact by (6), along its axes: the normal and two tangents; `touch` is its geometry."""

    touch: FeatureGap
    axes: tuple[Vec3, Vec3, Vec3]
    speed: list[Scalar]
    drift: list[Scalar]  # rates of `speed` at a = 0


def touch_motion(kind: str, data: Vector, one: BodyMotion, other: BodyMotion) -> TouchMotion:
    """Motion of two bodies at a pair of features, by (6)."""
    bodies = (one, other)

    def geometry(x: Vector) -> list[list[Scalar]]:
        at = touch(kind, data, *(Pose(Mat3.of([x[k : k + 3], x[k + 3 : k + 6], x[k + 6 : k + 9]]),
                                      _vector(x, k + 9)) for k in (0, 12)))  # fmt: skip
        return [list(at.normal), list(at.point1), list(at.point2), [at.gap], at.conditions]

    values, rates = [], []
    for body in bodies:
        columns = body.pose.rotation.T.rows
        turned = Mat3.of(body.omega.cross(column) for column in columns).T
        values += [*(x for row in body.pose.rotation.rows for x in row), *body.pose.translation]
        rates += [*(x for row in turned.rows for x in row), *body.velocity]
    value, rate = value_and_rate(geometry, values, rates)
    normal, *points = (Vec3.of(x) for x in value[:3])
    normal_rate, *point_rates = (Vec3.of(x) for x in rate[:3])
    slip, slip_rate = ZERO, ZERO
    for body, point, point_rate, sign in zip(bodies, points, point_rates, (1.0, -1.0), strict=True):
        arm, arm_rate = point - body.pose.translation, point_rate - body.velocity
        slip = slip + sign * (body.velocity + body.omega.cross(arm))
        slip_rate = slip_rate + sign * (body.acceleration + body.alpha.cross(arm) + body.omega.cross(arm_rate))
    axes = contact_axes(normal)
    drift = [axis.dot(slip_rate) for axis in axes]
    drift[0] = drift[0] + normal_rate.dot(slip)
    return TouchMotion(
        FeatureGap(value[3][0], normal, points[0], points[1], value[4]), axes, [axis.dot(slip) for axis in axes], drift
    )


# ---- the features of solids, as numbers in their axes


class _Point(NamedTuple):
    name: str
    at: Vec3
    radius: float
    signs: Vec3 = ZERO  # outward directions of a corner along the axes
    cosine: float = 0.0  # least cosine of the angle between the normal and the z axis
    cone: tuple[Vec3, ...] = ()  # outward directions


class _Line(NamedTuple):
    name: str
    at: Vec3
    along: Vec3
    half: float
    radius: float
    faces: tuple[Vec3, Vec3] = (ZERO, ZERO)  # normals of the faces at a sharp edge


class _Face(NamedTuple):
    name: str
    normal: Vec3
    offset: float
    axes: tuple[Vec3, Vec3]
    bounds: tuple[float, float] = (UNBOUNDED_M, UNBOUNDED_M)
    depth: float = UNBOUNDED_M
    roundness: float = 0.0


class _Circle(NamedTuple):
    name: str
    at: Vec3
    radius: float
    thickness: float
    cosine: float = -2.0  # of half the angle of an arc, whose middle is on x
    side: float = 0.0  # of the cylinder for its rim


def _signed(k: int, sign: float) -> str:
    return f"{'+' if sign > 0.0 else '-'}{'xyz'[k]}"


def _points(solid: Solid) -> list[_Point]:
    if solid.core == "point":
        return [_Point("center", ZERO, solid.radius)]
    if solid.core == "segment":
        ends = ((1.0, "end +z"), (-1.0, "end -z"))
        return [
            _Point(name, Vec3(0.0, 0.0, sign * solid.size[0]), solid.radius, cone=(sign * UNITS[2],))
            for sign, name in ends
        ]
    if solid.core == "arc":
        radius, angle = solid.size
        ends = ((1.0, "end +y"), (-1.0, "end -y"))
        return [
            _Point(
                name,
                Vec3(radius * cos(angle), sign * radius * sin(angle), 0.0),
                solid.radius,
                cone=(Vec3(-sin(angle), sign * cos(angle), 0.0),),
            )
            for sign, name in ends
        ]
    if solid.core == "box":
        corners = [Vec3(*signs) for signs in product((1.0, -1.0), repeat=3)]
        return [
            _Point(
                f"corner {' '.join(_signed(k, x) for k, x in enumerate(signs))}",
                Vec3.of(x * h for x, h in zip(signs, solid.size, strict=True)),
                0.0,
                signs,
                cone=tuple(sign * unit for sign, unit in zip(signs, UNITS, strict=True)),
            )
            for signs in corners
        ]
    return []


def _edges(solid: Solid) -> Iterator[_Line]:
    if solid.core == "segment":
        yield _Line("axis", ZERO, UNITS[2], solid.size[0], solid.radius)
    if solid.core == "box":
        h = solid.size
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            for a, b in product((1.0, -1.0), repeat=2):
                at = (a * h[j]) * UNITS[j] + (b * h[k]) * UNITS[k]
                name = f"edge {_signed(j, a)} {_signed(k, b)}"
                yield _Line(name, at, UNITS[i], h[i], 0.0, (a * UNITS[j], b * UNITS[k]))


def _faces(solid: Solid) -> Iterator[_Face]:
    if solid.core == "plane":
        yield _Face("face", UNITS[2], 0.0, (UNITS[0], UNITS[1]))
    if solid.core == "box":
        h = solid.size
        for i, sign in product(range(3), (1.0, -1.0)):
            j, k = (i + 1) % 3, (i + 2) % 3
            depth = PLAUSIBLE_DEPTH * min(h)
            yield _Face(f"face {_signed(i, sign)}", sign * UNITS[i], h[i], (UNITS[j], UNITS[k]), (h[j], h[k]), depth)
    if solid.core == "cylinder":
        radius, half = solid.size
        for sign in (1.0, -1.0):
            name, bounds = f"cap {_signed(2, sign)}", (radius, UNBOUNDED_M)
            depth = PLAUSIBLE_DEPTH * min(solid.size)
            yield _Face(name, sign * UNITS[2], half, (UNITS[0], UNITS[1]), bounds, depth, 1.0)


def _circles(solid: Solid) -> Iterator[_Circle]:
    if solid.core == "cylinder":
        for sign in (1.0, -1.0):
            at = Vec3(0.0, 0.0, sign * solid.size[1])
            yield _Circle(f"rim {_signed(2, sign)}", at, solid.size[0], 0.0, side=sign)
    if solid.core == "arc":
        yield _Circle("arc", ZERO, solid.size[0], solid.radius, cos(solid.size[1]))


def _point_on_face(point: _Point, face: _Face) -> tuple[float, ...]:
    return (
        *point.at, point.radius, *face.normal, face.offset, *face.axes[0], face.bounds[0], *face.axes[1],
        face.bounds[1], face.roundness, *point.signs, point.cosine,
        face.depth,
    )  # fmt: skip


def _ball_at(point: _Point, line: _Line | _Point) -> tuple[float, ...]:
    """Data of a ball and a line or another ball."""
    along, half, cone = (
        (line.along, line.half, line.faces) if isinstance(line, _Line) else (ZERO, UNBOUNDED_M, line.cone)
    )
    inner = (*point.at, point.radius, *line.at, *along, half, 1.0, line.radius, *ZERO, -2.0)
    return (*inner, *_cone(point.cone), *_cone(cone))


def _ball_within(at: Vec3, radius: float, along: Vec3, around: float, cosine: float = -2.0) -> tuple[float, ...]:
    """Data of a ball, or of an arc, and a wall with radius `around` around it."""
    middle = UNITS[0] if cosine > -1.0 else ZERO
    return (*at, radius, *ZERO, *along, UNBOUNDED_M, -1.0, around, *middle, cosine, *_cone(()), *_cone(()))


def _cone(directions: tuple[Vec3, ...]) -> tuple[float, ...]:
    """Three directions as numbers; those that are missing are zero."""
    return tuple(x for direction in (*directions, ZERO, ZERO, ZERO)[:3] for x in direction)


def _crossing(one: _Line, other: _Line) -> tuple[float, ...]:
    radius = one.radius + other.radius
    depth = PLAUSIBLE_DEPTH * min(one.half, other.half)
    return (
        *one.at, *one.along, one.half, *other.at, *other.along, other.half, one.radius, other.radius,
        float(radius > 0.0), *one.faces[0], *one.faces[1], *other.faces[0], *other.faces[1], depth,
    )  # fmt: skip


def _rim_points(solid: Solid) -> Iterator[_Point]:
    """Points on which a cylinder stands; their signs require that its axis is the normal up to STANDING_RAD."""
    radius, half = solid.size
    for sign, k in product((1.0, -1.0), range(RIM_POINTS)):
        angle = 2.0 * math.pi * k / RIM_POINTS
        at = Vec3(radius * cos(angle), radius * sin(angle), sign * half)
        yield _Point(f"rim {_signed(2, sign)} {k}", at, 0.0, Vec3(0.0, 0.0, sign), cos(STANDING_RAD))


HOLLOW = ("hollow sphere", "hollow cylinder")  # walls around other solids; `size` is the radius
SUPPORTED = {
    frozenset(pair)
    for pair in (
        *product(("point", "segment", "box"), repeat=2),
        *product(("point", "segment", "box", "cylinder", "arc"), ("plane",)),
        *product(("point", "segment", "box"), HOLLOW),
        ("point", "cylinder"),
        ("point", "arc"),
        ("arc", "hollow cylinder"),
    )
}


def has_features(one: str, other: str) -> bool:
    """Return whether two cores have pairs of features."""
    return frozenset((one, other)) in SUPPORTED


def feature_pairs(one: Solid, other: Solid) -> list[FeaturePair]:
    """All pairs of features at which two solids can touch; their poses are not used."""
    pairs = [FeaturePair(kind, False, data, names) for kind, data, names in _ordered(one, other)]
    back = [FeaturePair(kind, True, data, names[::-1]) for kind, data, names in _ordered(other, one)]
    symmetric = [
        FeaturePair("lines", False, _crossing(a, b), (a.name, b.name)) for a in _edges(one) for b in _edges(other)
    ] + [
        FeaturePair("ball", False, _ball_at(a, b), (a.name, b.name))
        for a, b in product(_points(one), _points(other))
        if a.radius + b.radius > 0.0
    ]
    return pairs + back + symmetric


def _ordered(one: Solid, other: Solid) -> Iterator[tuple[str, tuple[float, ...], tuple[str, str]]]:
    """Features whose first body is `one`."""
    points = _points(one)
    for point, face in product(points, _faces(other)):
        if other.core != "cylinder" or one.core == "point":
            yield "point-face", _point_on_face(point, face), (point.name, face.name)
    for point, line in product(points, _edges(other)):
        if point.radius + line.radius > 0.0:
            yield "ball", _ball_at(point, line), (point.name, line.name)
    if one.core == "point" and other.core == "cylinder":
        side = _Line("side", ZERO, UNITS[2], other.size[1], other.size[0])
        yield "ball", _ball_at(points[0], side), ("center", "side")
    if one.core == "point":
        for circle in _circles(other):
            rim = (*circle.at, *UNITS[2], circle.radius, circle.thickness, *UNITS[0], circle.cosine, circle.side)
            yield "ball-circle", (*ZERO, one.radius, *rim), ("center", circle.name)
    if other.core == "plane":
        for circle in _circles(one):
            data = (*circle.at, *UNITS[2], circle.radius, circle.thickness, *UNITS[2], 0.0, *UNITS[0], circle.cosine)
            yield "circle-face", data, (circle.name, "face")
        if one.core == "cylinder":
            for point, face in product(_rim_points(one), _faces(other)):
                yield "point-face", _point_on_face(point, face), (point.name, face.name)
    if other.core in HOLLOW:
        (radius,) = other.size
        along = UNITS[2] if other.core == "hollow cylinder" else ZERO
        for point in points:
            yield "ball", _ball_within(point.at, point.radius, along, radius), (point.name, "wall")
        for circle in _circles(one):
            data = _ball_within(ZERO, circle.radius + circle.thickness, along, radius, circle.cosine)
            yield "ball", data, (circle.name, "wall")
