"""The Stewart-Gough platform: six actuated lengths between base and platform give it all six degrees of freedom.

With a on the base, b on the platform and s = p + R b - a, the length of a leg is |s|. A leg is a cylinder on a
universal joint at a, and a piston that slides in it. In the frame of a leg, whose x axis is the first axis of that
joint,

    e₃ = s / |s|            e₂ = e₃ × x / |e₃ × x|            e₁ = e₂ × e₃                                       (1)

The upper joint is a ball joint. Coordinates: q = (x, y, z, yaw, pitch, roll) with R = Rz(yaw) Ry(pitch) Rx(roll).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, atan2, cos, select, sin, sqrt
from appell.algebra.vector import Vec3
from appell.describe.legs import check_positive, cylinder, disc, norm, rotation_z, rotation_zyx
from appell.describe.zoo.recipe import maker
from appell.errors import ArgumentError, value_text
from appell.model.body import Body
from appell.model.mechanism import LegJoint, Mechanism, MovingBody, Pin, Reach


@dataclass(frozen=True)
class PlatformLeg:
    """One leg: `anchor` on the base, `tip` on the platform, `axes` of its frame, limits `stroke` of its length, m."""

    axes: Mat3
    anchor: Vec3
    tip: Vec3
    stroke: tuple[float, float] | None

    def leg_vector(self, q: Sequence[Scalar]) -> Vec3:
        """s, in the frame of the leg."""
        x, y, z, yaw, pitch, roll = q
        return self.axes.T @ (Vec3(x, y, z) + rotation_zyx(yaw, pitch, roll) @ self.tip - self.anchor)

    def length(self, q: Sequence[Scalar]) -> Scalar:
        """The length of the leg, m."""
        return norm(self.leg_vector(q))

    def driven_length(self, q: Sequence[Scalar]) -> Scalar:
        """The length, NaN outside the stroke."""
        length = self.length(q)
        if self.stroke is None:
            return length
        for margin in (length - self.stroke[0], self.stroke[1] - length):
            length = select(-margin, sqrt(margin), length)
        return length

    def orientation(self, q: Sequence[Scalar]) -> Mat3:
        """(1)."""
        s = self.leg_vector(q)
        e3 = (1.0 / norm(s)) * s
        inverse = 1.0 / sqrt(e3.y * e3.y + e3.z * e3.z)
        e2 = Vec3(0.0, inverse * e3.z, -inverse * e3.y)
        return Mat3((e2.cross(e3), e2, e3)).T

    def cylinder(self, q: Sequence[Scalar]) -> Pose:
        """The pose of the cylinder."""
        return Pose(self.orientation(q))

    def piston(self, q: Sequence[Scalar]) -> Pose:
        """The pose of the piston."""
        return Pose(self.orientation(q), self.leg_vector(q))


@maker("stewart-gough")
def stewart_gough(
    base_radius: float = 0.5,
    platform_radius: float = 0.3,
    height: float = 0.6,
    *,
    base_spread: float = math.radians(20.0),
    platform_spread: float = math.radians(100.0),
    base_anchors: Sequence[Sequence[float]] | None = None,
    platform_anchors: Sequence[Sequence[float]] | None = None,
    cylinder_mass: float = 1.0,
    cylinder_length: float = 0.4,
    piston_mass: float = 0.5,
    piston_length: float = 0.4,
    bar_radius: float = 0.02,
    home: Sequence[float] | None = None,
    platform: Body | None = None,
    stroke: tuple[float, float] | None = None,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    physical: bool = True,
) -> Mechanism:
    """Return a Stewart-Gough platform with the coordinates q = (x, y, z, yaw, pitch, roll) of the platform.

    Parameters
    ----------
    base_radius, platform_radius : radii of the circles of joints, m
    height : height of the platform at home, m
    base_spread, platform_spread : angle between the two joints of a pair, rad
    base_anchors, platform_anchors : six points (x, y, z) each, m, in the order of the legs, instead of circles
    cylinder_mass, piston_mass : kg
    cylinder_length, piston_length, bar_radius : dimensions of the bars, m; a cylinder starts at the base joint, a
    piston
        at the platform joint
    home : initial pose (x, y, z, yaw, pitch, roll), instead of `height`
    platform : body of the platform; by default a disc of 5 kg with the platform radius, or with the root mean square
        distance of `platform_anchors`
    stroke : shortest and longest length of a leg, m; outside this range a leg is out of reach
    gravity : m/s²
    physical : whether bodies that cannot exist are rejected
    """
    check_positive(
        "a Stewart-Gough platform",
        base_radius=base_radius,
        platform_radius=platform_radius,
        height=height,
        cylinder_mass=cylinder_mass,
        cylinder_length=cylinder_length,
        piston_mass=piston_mass,
        piston_length=piston_length,
        bar_radius=bar_radius,
    )
    if stroke is not None and not 0.0 < stroke[0] < stroke[1]:
        raise ArgumentError(f"a Stewart-Gough platform has stroke {stroke}.", expected="0 < shortest < longest")
    anchors = _pairs(base_radius, base_spread) if base_anchors is None else _points(base_anchors)
    tips = _pairs(platform_radius, platform_spread) if platform_anchors is None else _points(platform_anchors)
    if platform_anchors is not None:
        platform_radius = max(math.sqrt(sum(tip.dot(tip) for tip in tips) / 6), bar_radius)
    start = (0.0, 0.0, height, 0.0, 0.0, 0.0) if home is None else tuple(float(x) for x in home)
    outer, inner = (
        cylinder(cylinder_mass, cylinder_length, bar_radius, 2),
        cylinder(piston_mass, piston_length, bar_radius, 2),
    )
    inner = Body(inner.mass, -inner.com, inner.inertia)
    bodies, actuators, reaches, pins = [], [], [], []
    for k, (anchor, tip) in enumerate(zip(anchors, tips, strict=True), start=1):
        leg = PlatformLeg(_axes(anchor, tip, start, k), anchor, tip, stroke)
        base = Pose(leg.axes, anchor)
        bodies.append(MovingBody(f"cylinder_{k}", leg.cylinder, outer, base, [(0, 0, 0), (0, 0, cylinder_length)]))
        bodies.append(MovingBody(f"piston_{k}", leg.piston, inner, base, [(0, 0, 0), (0, 0, -piston_length)]))
        actuators.append(LegJoint(f"length{k}", leg.driven_length, "m"))
        pins.append(Pin(f"cylinder_{k}", other_point=tuple(anchor)))
        pins.append(Pin(f"piston_{k}", other="platform", other_point=tuple(tip)))
        if stroke is not None:
            reaches.append(Reach(f"leg_{k}", "length", leg.length, *stroke))
    ring, plate = [list(tip) for tip in tips], platform or disc(5.0, platform_radius, 0.02)
    bodies.append(MovingBody("platform", _platform, plate, outline=[*ring, ring[0]]))
    return Mechanism(
        "stewart-gough",
        ("x", "y", "z", "yaw", "pitch", "roll"),
        bodies,
        actuators,
        home=start,
        units=("m", "m", "m", "rad", "rad", "rad"),
        ranges=_ranges(start),
        description="Stewart-Gough platform: six legs of variable length between two rings",
        reference="round numbers; the geometry of Gough, Whitehall 1962 and Stewart 1965",
        reaches=reaches,
        pins=pins,
        gravity=Vec3.of(gravity),
        physical=physical,
        outlines=[[list(a) for a in (*anchors, anchors[0])]],
    )


def _platform(q: Sequence[Scalar]) -> Pose:
    x, y, z, yaw, pitch, roll = q
    return Pose(rotation_zyx(yaw, pitch, roll), Vec3(x, y, z))


def _points(given: Sequence[Sequence[float]]) -> list[Vec3]:
    """Return six points; raise ArgumentError unless there are six finite ones."""
    try:
        points = [Vec3(*(float(x) for x in point)) for point in given]
    except (TypeError, ValueError, OverflowError):
        points = []
    if len(points) != 6 or not all(math.isfinite(x) for point in points for x in point):
        problem = f"a Stewart-Gough platform has the anchors {value_text(given)}."
        raise ArgumentError(problem, expected="six points (x, y, z), finite, in m")
    return points


def _axes(anchor: Vec3, tip: Vec3, home: Sequence[float], number: int) -> Mat3:
    """Return the axes of a leg: x is horizontal and, so that (1) is regular, not along the leg at home."""
    if len(home) != 6:
        raise ArgumentError(f"a Stewart-Gough platform has home {tuple(home)}.", expected="x, y, z, yaw, pitch, roll")
    axes = rotation_z(atan2(anchor.y, anchor.x) + math.pi / 2)
    leg_vector = PlatformLeg(axes, anchor, tip, None).leg_vector(home)
    if not norm(leg_vector) > 0.0:
        problem = f"leg {number} of a Stewart-Gough platform has length 0 at home: its two anchors coincide."
        raise ArgumentError(problem, expected="different anchors, or a different home")
    return axes if abs(leg_vector.x) < 0.9 * norm(leg_vector) else rotation_z(atan2(anchor.y, anchor.x))


def _ranges(home: Sequence[float]) -> tuple[tuple[float, float], ...]:
    """Return coordinate ranges about home: ±0.1 m horizontally, ±15 % of the height vertically, ±0.3 rad."""
    half_widths = (0.1, 0.1, 0.15 * (abs(home[2]) or 1.0), 0.3, 0.3, 0.3)
    return tuple((x - d, x + d) for x, d in zip(home, half_widths, strict=True))


def _pairs(radius: float, spread: float) -> list[Vec3]:
    angles = [math.radians(120.0 * k) + sign * spread / 2 for k in range(3) for sign in (-1, 1)]
    return [radius * Vec3(cos(angle), sin(angle), 0.0) for angle in angles]
