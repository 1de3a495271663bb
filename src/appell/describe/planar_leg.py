"""A planar leg with two links: a motor at a fixed point, an elbow, and a pin on a platform or another leg.

With d from the motor to the pin and e = (cos θ, sin θ) along the first link, |d - l₁e| = l₂ is

    dₓ cos θ + d_y sin θ = (d·d + l₁² - l₂²) / 2l₁                                                              (1)

All motion is in the xy plane, with angles about z. In branch +1 the elbow is to the left of the line from motor to pin.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, atan2, cos, sin, sqrt
from appell.algebra.vector import Vec3
from appell.describe.legs import Angle, check_positive, closing_angle, cylinder
from appell.errors import ArgumentError, value_text
from appell.model.body import Body
from appell.model.mechanism import LegJoint, MovingBody, Pin, Reach


@dataclass(frozen=True)
class Links:
    """The two links of a leg: lengths in m, masses in kg, and the radius of the cylindrical bars in m."""

    first: float
    second: float
    first_mass: float
    second_mass: float
    radius: float = 0.01

    def bodies(self, owner: str) -> tuple[Body, Body]:
        """Return both links as bodies; `owner` names the mechanism in errors."""
        check_positive(owner, **{f"links.{name}": size for name, size in vars(self).items()})
        return (
            cylinder(self.first_mass, self.first, self.radius),
            cylinder(self.second_mass, self.second, self.radius),
        )


@dataclass(frozen=True)
class PlanarLeg:
    """A leg in the xy plane.

    Parameters
    ----------
    name : name of the leg, used in the names of its bodies and joints
    motor : position (x, y) of the motor, m
    pin : function that returns the position (x, y) of the end of the second link for coordinates q
    links : lengths and masses of the two links
    branch : +1 or -1, the side of the elbow
    """

    name: str
    motor: tuple[float, float]
    pin: Callable[[Sequence[Scalar]], tuple[Scalar, Scalar]]
    links: Links
    branch: int

    def leg_vector(self, q: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
        """d, from the motor to the pin."""
        x, y = self.pin(q)
        return x - self.motor[0], y - self.motor[1]

    def theta(self, q: Sequence[Scalar]) -> Angle:
        """The angle of the motor, by (1)."""
        (x, y), l1, l2 = self.leg_vector(q), self.links.first, self.links.second
        c = (x * x + y * y + (l1 * l1 - l2 * l2)) * (0.5 / l1)
        return closing_angle(x, y, c, self.branch)  # (1)

    def second_direction(self, q: Sequence[Scalar]) -> Angle:
        """The direction of the second link, from elbow to pin."""
        (x, y), theta, l1, inverse = self.leg_vector(q), self.theta(q), self.links.first, 1.0 / self.links.second
        return Angle(inverse * (x - l1 * theta.cosine), inverse * (y - l1 * theta.sine))

    def first(self, q: Sequence[Scalar]) -> Pose:
        """The pose of the first link relative to the motor."""
        return Pose(self.theta(q).about_z)

    def second(self, q: Sequence[Scalar]) -> Pose:
        """The pose of the second link relative to the motor."""
        theta, l1 = self.theta(q), self.links.first
        return Pose(self.second_direction(q).about_z, Vec3(l1 * theta.cosine, l1 * theta.sine, 0.0))

    def elbow(self, q: Sequence[Scalar]) -> Scalar:
        """The angle from the first link to the second, rad."""
        one, two = self.theta(q), self.second_direction(q)
        return atan2(one.cosine * two.sine - one.sine * two.cosine, one.cosine * two.cosine + one.sine * two.sine)

    def distance(self, q: Sequence[Scalar]) -> Scalar:
        """The distance from motor to pin, m."""
        x, y = self.leg_vector(q)
        return sqrt(x * x + y * y)

    # ---- the parts of the leg in a mechanism

    def bodies(self, owner: str) -> list[MovingBody]:
        """Return both links as moving bodies; `owner` names the mechanism in errors."""
        base = Pose(translation=Vec3(*self.motor, 0.0))
        first, second = self.links.bodies(owner)
        return [
            MovingBody(f"first_link_{self.name}", self.first, first, base, [(0, 0, 0), (self.links.first, 0, 0)]),
            MovingBody(f"second_link_{self.name}", self.second, second, base, [(0, 0, 0), (self.links.second, 0, 0)]),
        ]

    @property
    def actuator(self) -> LegJoint:
        """The motor."""
        return LegJoint(f"theta_{self.name}", lambda q: self.theta(q).value)

    @property
    def passive(self) -> LegJoint:
        """The elbow joint."""
        return LegJoint(f"elbow_{self.name}", self.elbow)

    def pins(self) -> list[Pin]:
        """The pins at the motor and at the elbow."""
        first, second = (f"{which}_link_{self.name}" for which in ("first", "second"))
        motor = (*self.motor, 0.0)
        return [Pin(first, other_point=motor), Pin(first, (self.links.first, 0.0, 0.0), second)]

    def pin_to(self, body: str, point: Sequence[float]) -> Pin:
        """The pin between the end of the leg and a point of another body."""
        return Pin(f"second_link_{self.name}", (self.links.second, 0.0, 0.0), body, point)

    @property
    def reach(self) -> Reach:
        """The condition that the second link reaches the pin."""
        l1 = self.links.first
        return Reach(
            self.name,
            "second link",
            self.links.second,
            lambda q: abs(self.distance(q) - l1),
            lambda q: self.distance(q) + l1,
        )


def on_circle(radius: float, angle: float) -> tuple[float, float]:
    """Return the point (x, y) of a circle at an angle in rad."""
    return radius * cos(angle), radius * sin(angle)


def plane_points(given: Sequence[Sequence[float]], count: int, what: str) -> list[tuple[float, float]]:
    """Return `count` points (x, y) of the plane; raise ArgumentError if there are more, fewer or non-finite ones."""
    try:
        points = [(float(x), float(y)) for x, y in given]
    except (TypeError, ValueError, OverflowError):
        points = []
    if len(points) != count or not all(math.isfinite(x) for point in points for x in point):
        raise ArgumentError(f"{what} are {value_text(given)}.", expected=f"{count} points (x, y), in m")
    return points


def rotated(angle: Angle, x: float, y: float) -> tuple[Scalar, Scalar]:
    """Rotate the point (x, y) about the origin."""
    return angle.cosine * x - angle.sine * y, angle.sine * x + angle.cosine * y
