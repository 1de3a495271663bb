"""The rows of bodies that roll and of blades: the velocity of one body against another where they touch.

With c the contact, ρ the way to it from the centre of a, y that from the origin of b, and u, ω of a point of the body,

    V  = uₐ(c) - u_b(c) - W n × y                                      W: the rate of a plate about its normal      (1)
    V̇  = u̇ₐ(c) - u̇_b(c) - W (ṅ × y + n × ẏ)         u̇(c) = u̇ + α × (c - x) + ω × (ċ - u),  ċ = ẋₐ + ρ̇              (2)
    rows V·t, V·l, V·n with γ = V̇·t + V·ṫ ...        t heading, l = n × t, n; the gap of the last has the rate V·n   (3)

ρ̇ is that of the geometric contact, see `contact`. A blade is the row V·s with ρ = 0 and s fixed to a.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.scalar import Scalar
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.constrained.action import Action, Sides
from appell.formulate.constrained.contact import MovingVector, RollingContact, fixed


def contact_actions(labels: Sequence[str], sides: Sides, contact: RollingContact, turning: float) -> list[Action]:
    """The rows of (3)."""
    slip = Slip.of(sides, contact.rho, contact.rho_rate).on_plate(sides, turning, contact.n)
    ways = zip(labels, (None, None, contact.gap), (contact.heading, contact.lateral, contact.n), strict=True)
    return [slip.action(label, gap, way) for label, gap, way in ways]


def skate_action(label: str, sides: Sides, axis: int) -> Action:
    """No velocity along an axis of side a."""
    return Slip.of(sides, ZERO, ZERO).action(label, None, fixed(sides.a, axis))


@dataclass(frozen=True)
class Slip:
    """V and its rate, where two bodies touch."""

    place: MovingVector  # c
    V: Vec3
    rate: Vec3
    plate: Vec3 = ZERO  # the part of V that no velocity of the robot has

    @staticmethod
    def of(sides: Sides, rho: Vec3, rho_rate: Vec3) -> Slip:
        """(1) and (2) on a plate that rests."""
        a, b = sides.a, sides.b
        c, c_rate = a.x + rho, a.velocity(a.x) + rho_rate
        V = a.velocity(c) - b.velocity(c)
        return Slip(MovingVector(c, c_rate), V, a.velocity_rate(c, c_rate) - b.velocity_rate(c, c_rate))

    def on_plate(self, sides: Sides, turning: float, n: MovingVector) -> Slip:
        """On one that turns about its normal, through the origin of b."""
        if not turning:
            return self
        y = MovingVector(self.place.d - sides.b.x, self.place.rate - sides.b.velocity(sides.b.x))
        moved = n.cross(y)
        return Slip(self.place, self.V - turning * moved.d, self.rate - turning * moved.rate, -turning * moved.d)

    def action(self, label: str, gap: Scalar | None, way: MovingVector) -> Action:
        drift, c = self.rate.dot(way.d) + self.V.dot(way.rate), self.place.d
        return Action(label, gap, drift, c, c, force=way.d, offset=self.plate.dot(way.d))
