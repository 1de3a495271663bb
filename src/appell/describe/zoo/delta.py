"""The Delta robot: a platform that only translates, on three legs with an arm and a parallelogram each.

In the frame of a leg, rotated by its angle about the vertical so that x points outward, the hip is at (base radius, 0,
0) with its axis along y. With d from the hip to the parallelogram's end on the platform and e = (cos θ, 0, -sin θ),

    dₓ cos θ - d_z sin θ = (d·d + l₁² - l₂²) / 2l₁                                                              (1)

The two bars of a parallelogram stay parallel, and the offset of their ends along y is fixed in the world, so they move
alike and are modelled as one body with the mass of both. A bar rotates at its elbow about y and then about its hinge,
which is perpendicular to y and to the bar:

    e₁ = (d - l₁e) / l₂            e₃ = e₁ × y / |e₁ × y|            e₂ = e₃ × e₁                                (2)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, sqrt
from appell.algebra.vector import Vec3
from appell.describe.legs import Angle, check_branches, check_positive, closing_angle, cylinder, disc, rotation_z
from appell.describe.zoo.recipe import maker
from appell.model.body import Body
from appell.model.mechanism import LegJoint, Mechanism, MovingBody, Pin, Reach

ANGLES = tuple(math.radians(angle) for angle in (0.0, 120.0, 240.0))


@dataclass(frozen=True)
class DeltaLeg:
    """One leg; `offset` is the radius of the platform minus that of the base, m."""

    axes: Mat3
    offset: float
    arm: float
    forearm: float
    branch: int

    def leg_vector(self, q: Sequence[Scalar]) -> Vec3:
        """d, in the frame of the leg."""
        x, y, z = self.axes.T @ Vec3.of(q)
        return Vec3(x + self.offset, y, z)

    def theta(self, q: Sequence[Scalar]) -> Angle:
        """The angle of the arm below the horizontal, by (1); in branch +1 the elbow points outward."""
        d, l1, l2 = self.leg_vector(q), self.arm, self.forearm
        return closing_angle(d.x, -d.z, (d.dot(d) + (l1 * l1 - l2 * l2)) * (0.5 / l1), -self.branch)

    def motor(self, q: Sequence[Scalar]) -> Scalar:
        """The angle of the motor, rad."""
        return self.theta(q).value

    def elbow(self, q: Sequence[Scalar]) -> Vec3:
        """The position of the elbow relative to the hip, m."""
        theta = self.theta(q)
        return self.arm * Vec3(theta.cosine, 0.0, -theta.sine)

    def upper(self, q: Sequence[Scalar]) -> Pose:
        """The pose of the arm."""
        c, s = self.theta(q).cosine, self.theta(q).sine
        return Pose(Mat3.of([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]))

    def lower(self, q: Sequence[Scalar]) -> Pose:
        """(2)."""
        elbow = self.elbow(q)
        e1 = (1.0 / self.forearm) * (self.leg_vector(q) - elbow)
        inverse = 1.0 / sqrt(e1.x * e1.x + e1.z * e1.z)
        e3 = Vec3(-inverse * e1.z, 0.0, inverse * e1.x)
        return Pose(Mat3((e1, e3.cross(e1), e3)).T, elbow)

    def nearest(self, q: Sequence[Scalar]) -> Scalar:
        """The smallest forearm length that reaches the platform, m."""
        return self._to_circle(q, -self.arm)

    def farthest(self, q: Sequence[Scalar]) -> Scalar:
        """The largest forearm length that reaches the platform, m."""
        return self._to_circle(q, self.arm)

    def _to_circle(self, q: Sequence[Scalar], arm: float) -> Scalar:
        """The distance from the platform's end to the nearest (-arm) or farthest (+arm) point of the elbow's circle."""
        d = self.leg_vector(q)
        along = sqrt(d.x * d.x + d.z * d.z) + arm
        return sqrt(along * along + d.y * d.y)


@maker("delta")
def delta(
    base_radius: float = 0.2,
    platform_radius: float = 0.05,
    arm: float = 0.3,
    forearm: float = 0.7,
    branches: Sequence[int] = (1, 1, 1),
    *,
    angles: Sequence[float] = ANGLES,
    arm_mass: float = 0.5,
    forearm_mass: float = 0.2,
    bar_radius: float = 0.01,
    platform: Body | None = None,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    physical: bool = True,
) -> Mechanism:
    """Return a Delta robot with the coordinates q = (x, y, z) of the platform, below the base.

    Parameters
    ----------
    base_radius, platform_radius : distances of the hips and of the platform's joints from the centre, m
    arm, forearm : lengths, m
    branches : +1 (elbow outward) or -1 per leg
    angles : directions of the legs about the vertical, rad
    arm_mass, forearm_mass : kg; that of the forearm is the mass of both bars
    bar_radius : m
    platform : body of the platform; a disc of 0.5 kg by default
    gravity : m/s²
    physical : whether bodies that cannot exist are rejected
    """
    signs = check_branches(branches, 3, "a Delta")
    check_positive(
        "a Delta",
        base_radius=base_radius,
        platform_radius=platform_radius,
        arm=arm,
        forearm=forearm,
        arm_mass=arm_mass,
        forearm_mass=forearm_mass,
        bar_radius=bar_radius,
    )
    bodies, actuators, reaches, pins = [], [], [], []
    axes = [rotation_z(angle) for angle in angles]
    for k, (rotation, sign) in enumerate(zip(axes, signs, strict=True), start=1):
        leg = DeltaLeg(rotation, platform_radius - base_radius, arm, forearm, sign)
        base = Pose(rotation, rotation @ Vec3(base_radius, 0.0, 0.0))
        upper, lower = cylinder(arm_mass, arm, bar_radius), cylinder(forearm_mass, forearm, bar_radius)
        bodies.append(MovingBody(f"arm_{k}", leg.upper, upper, base, [(0, 0, 0), (arm, 0, 0)]))
        bodies.append(MovingBody(f"forearm_{k}", leg.lower, lower, base, [(0, 0, 0), (forearm, 0, 0)]))
        actuators.append(LegJoint(f"theta{k}", leg.motor))
        reaches.append(Reach(f"leg_{k}", "forearm", forearm, leg.nearest, leg.farthest))
        end = rotation @ Vec3(platform_radius, 0.0, 0.0)
        pins.append(Pin(f"arm_{k}", (arm, 0.0, 0.0), f"forearm_{k}"))
        pins.append(Pin(f"forearm_{k}", (forearm, 0.0, 0.0), "platform", tuple(end)))
    hips, ends = ([list(rotation @ Vec3(r, 0.0, 0.0)) for rotation in axes] for r in (base_radius, platform_radius))
    plate = platform or disc(0.5, platform_radius)
    bodies.append(MovingBody("platform", lambda q: Pose(translation=Vec3.of(q)), plate, outline=[*ends, ends[0]]))
    return Mechanism(
        "delta",
        ("x", "y", "z"),
        bodies,
        actuators,
        home=(0.0, 0.0, -0.75 * (arm + forearm)),
        units=("m", "m", "m"),
        ranges=((-0.2, 0.2), (-0.2, 0.2), (-0.9 * (arm + forearm), -0.6 * (arm + forearm))),
        description="Delta robot: a platform that does not turn, held by three arms with parallel forearms",
        reference="round numbers; the geometry of Clavel 1988",
        reaches=reaches,
        pins=pins,
        gravity=Vec3.of(gravity),
        physical=physical,
        outlines=[[*hips, hips[0]]],
    )
