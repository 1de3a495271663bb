"""The rows of bodies that roll and of blades: the velocity of one body against another where they touch.

With ρ from the centre of a to the contact, y from the origin of b to it, and W the rate of a plate about its normal,

    V  = uₐ + ωₐ × ρ - u_b - ω_b × y - W n × y                                                                      (1)
    V̇  = u̇ₐ + αₐ × ρ + ωₐ × ρ̇ - u̇_b - α_b × y - ω_b × ẏ - W (ṅ × y + n × ẏ),     ẏ = uₐ + ρ̇ - u_b                    (2)
    rows V·t, V·l, V·n with γ = V̇·t + V·ṫ ...        t heading, l = n × t, n; the gap of the last has the rate V·n   (3)

ρ̇ is that of the geometric contact, see `contact`. A blade is the row V·s with ρ = 0 and s fixed to a.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.scalar import Scalar
from appell.algebra.vector import ZERO, Vec3
from appell.formulate.constrained.action import Action, Sides
from appell.formulate.constrained.contact import Contact, Turning, fixed


def contact_actions(labels: Sequence[str], sides: Sides, contact: Contact, turning: float) -> list[Action]:
    """The rows of (3)."""
    V, V_rate = _slip(sides, contact.rho, contact.rho_rate)
    n, plate, plate_rate = contact.n, ZERO, ZERO
    if turning:
        y, y_rate = _from_b(sides, contact.rho, contact.rho_rate)
        plate, plate_rate = -turning * n.d.cross(y), -turning * (n.rate.cross(y) + n.d.cross(y_rate))
    gaps = (None, None, contact.gap)
    ways = (contact.heading, contact.lateral, n)
    return [
        _action(label, gap, sides, contact.rho, way, (V + plate, V_rate + plate_rate), plate)
        for label, gap, way in zip(labels, gaps, ways, strict=True)
    ]


def skate_action(label: str, sides: Sides, axis: int) -> Action:
    """No velocity along an axis of side a."""
    return _action(label, None, sides, ZERO, fixed(sides.a, axis), _slip(sides, ZERO, ZERO), ZERO)


def _action(
    label: str, gap: Scalar | None, sides: Sides, rho: Vec3, way: Turning, slip: tuple[Vec3, Vec3], plate: Vec3
) -> Action:
    V, V_rate = slip
    place = sides.a.x + rho
    drift = V_rate.dot(way.d) + V.dot(way.rate)
    return Action(label, gap, drift, place, place, force=way.d, offset=plate.dot(way.d))


def _slip(sides: Sides, rho: Vec3, rho_rate: Vec3) -> tuple[Vec3, Vec3]:
    """(1) and (2) without the plate."""
    a, b = sides.a, sides.b
    y, y_rate = _from_b(sides, rho, rho_rate)
    place = a.x + rho
    V_rate = a.acceleration(a.x) + a.alpha.cross(rho) + a.omega.cross(rho_rate)
    back = b.acceleration(b.x) + b.alpha.cross(y) + b.omega.cross(y_rate)
    return a.velocity(place) - b.velocity(place), V_rate - back


def _from_b(sides: Sides, rho: Vec3, rho_rate: Vec3) -> tuple[Vec3, Vec3]:
    """y and its rate."""
    a, b = sides.a, sides.b
    return a.x + rho - b.x, a.velocity(a.x) + rho_rate - b.velocity(b.x)
