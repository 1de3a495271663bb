"""The Agile Wrist: a platform that rotates about a fixed centre, held by three legs with two arcs each.

Every joint axis passes through the centre: u of the motor, w between the arcs, v on the platform, with angles α₁ from u
to w and α₂ from w to v. In the frame P = Rz(λ) Rx(γ - π) of a leg, whose z axis is u,

    w = Rz(θ) Rx(α₁) z = (sin α₁ sin θ, -sin α₁ cos θ, cos α₁)            v = PᵀR v*,  v* = Rz(η) Rx(-β) z      (1)

and w·v = cos α₂ is the equation a cos θ + b sin θ = c of `legs`. An arc lies in the plane of its two axes at
r (0, -sin s, cos s), s in [0, α]. The first arc is rotated by Rz(θ), the second by the matrix with columns

    e₃ = w        e₂ = (w cos α₂ - v) / sin α₂        e₁ = e₂ × e₃ = w × v / sin α₂                              (2)

which contains the angle ψ of its joint implicitly. Coordinates: R = Rz(q₁) Ry(q₂) Rx(q₃). Abedloo et al. 2014.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from appell.algebra.matrix import IDENTITY, Mat3, outer
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, arccos, arcsin, atan2, cos, sin
from appell.algebra.vector import Vec3
from appell.describe.legs import (
    Angle,
    check_branches,
    check_positive,
    closing_angle,
    norm,
    rotation_x,
    rotation_z,
    rotation_zyx,
)
from appell.describe.values import inertia_matrix, vector
from appell.describe.zoo.recipe import maker
from appell.errors import ArgumentError
from appell.model.body import Body, Inertia
from appell.model.mechanism import LegJoint, Mechanism, MovingBody, Pin, Reach, SphericalDesign, SphericalLeg

Z = Vec3(0.0, 0.0, 1.0)
OWNER = "an agile wrist"
ARCS = math.radians(80.0), math.radians(70.0)  # α₁, α₂
TILT, LEAN = arccos(math.sqrt(3.0) / 3.0), arcsin(math.sqrt(3.0) / 3.0)  # γ, β
THIRDS = 0.0, math.radians(120.0), math.radians(240.0)


class WristLeg(SphericalLeg):
    """The leg of the paper, with its poses in the frame P of the leg and without trigonometric functions of θ and ψ."""

    def v(self, q: Sequence[Scalar]) -> Vec3:
        """The platform's axis, in the frame of the leg."""
        return self.base.T @ (rotation_zyx(*q) @ self.v_star)

    def theta(self, q: Sequence[Scalar]) -> Angle:
        """The angle of the motor, by (1)."""
        v, sine = self.v(q), sin(self.alpha1)
        c = cos(self.alpha2) - cos(self.alpha1) * v.z
        return closing_angle(-sine * v.y, sine * v.x, c, self.branch)

    def motor(self, q: Sequence[Scalar]) -> Scalar:
        """The angle of the motor, rad."""
        return self.theta(q).value

    def w(self, q: Sequence[Scalar]) -> Vec3:
        """The axis between the arcs, in the frame of the leg."""
        theta, sine = self.theta(q), sin(self.alpha1)
        return Vec3(sine * theta.sine, -sine * theta.cosine, cos(self.alpha1))

    def first_pose(self, q: Sequence[Scalar]) -> Pose:
        """The pose of the first arc."""
        return Pose(self.theta(q).about_z)

    def second_pose(self, q: Sequence[Scalar]) -> Pose:
        """(2)."""
        v, w, inverse = self.v(q), self.w(q), 1.0 / sin(self.alpha2)
        columns = inverse * w.cross(v), inverse * (cos(self.alpha2) * w - v), w
        return Pose(Mat3.of(columns).T)

    def psi(self, q: Sequence[Scalar]) -> Scalar:
        """The angle about w from the plane of the first arc, u × w / sin α₁, to that of the second, w × v / sin α₂."""
        v, w = self.v(q), self.w(q)
        n1, n2 = Z.cross(w), w.cross(v)
        return atan2(n1.cross(n2).dot(w), n1.dot(n2))

    def inclination(self, q: Sequence[Scalar]) -> Scalar:
        """The angle from u to v, in degrees."""
        v = self.v(q)
        return math.degrees(1.0) * atan2(norm(Z.cross(v)), v.z)


def arc(density: float, radius: float, angle: float) -> Body:
    """Return a thin arc of uniform line density (kg/m) at r (0, -sin s, cos s), s in [0, angle]."""
    a = angle
    yy, zz = a / 2 - sin(2 * a) / 4, a / 2 + sin(2 * a) / 4
    yz = -(sin(a) ** 2) / 2
    first = density * radius**2 * Vec3(0.0, -(1.0 - cos(a)), sin(a))
    return Body.from_inertia(
        Inertia(density * radius * a, first, density * radius**3 * Mat3.symmetric(0.0, 0.0, 0.0, yy, yz, zz))
    )


PerLeg = float | Sequence[float]  # one number for all legs, or one per leg


@maker("agile-wrist")
def agile_wrist(
    radius: float = 0.1,
    platform_com: Sequence[float] = (0.0, 0.0, 0.0),
    branches: Sequence[int] = (1, 1, 1),
    *,
    alpha1: PerLeg = ARCS[0],
    alpha2: PerLeg = ARCS[1],
    gamma: PerLeg = TILT,
    beta: PerLeg = LEAN,
    eta: Sequence[float] = THIRDS,
    lambdas: Sequence[float] = THIRDS,
    density: float = 1.378,
    platform_mass: float = 1.351,
    platform_inertia: Sequence = (38.29e-4, 38.29e-4, 4.5e-4),
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
    physical: bool = True,
) -> Mechanism:
    """Return the robot of the paper; all numbers can be changed, and each leg may have different angles.

    Parameters
    ----------
    radius : radius of the arcs, m
    platform_com : centre of mass of the platform, m
    branches : +1 or -1 per leg, the solution of (1)
    alpha1, alpha2 : angles of the first and second arc, rad; one number, or one per leg
    gamma, beta : inclination of the motors and of the platform's axes, rad; one number, or one per leg
    eta, lambdas : angles of the platform's axes and of the motors about the vertical, rad, one per leg
    density : line density of the arcs, kg/m
    platform_mass : kg
    platform_inertia : inertia of the platform about the centre, kg m²: three principal moments, six numbers
        (xx, xy, xz, yy, yz, zz) or a 3x3 matrix
    gravity : m/s²
    physical : whether bodies that cannot exist are rejected

    Notes
    -----
    The paper does not give the radius of the arcs or the centre of mass of the platform. With the centre of mass
    0.05165 m from the centre, the inertia of the platform would be that of a flat plate, to the printed digits.
    `Dynamics(wrist, "explicit")` uses the equations of the paper.
    """
    signs = check_branches(branches, len(lambdas), OWNER)
    check_positive(OWNER, radius=radius, density=density)
    angles = {"alpha1": alpha1, "alpha2": alpha2, "gamma": gamma, "beta": beta, "eta": eta}
    each = {name: _per_leg(name, given, len(lambdas)) for name, given in angles.items()}
    _check_arcs(each)
    legs = [
        WristLeg(
            rotation_z(azimuth) @ rotation_x(tilt - math.pi),
            rotation_z(seat) @ (rotation_x(-lean) @ Z),
            first,
            second,
            sign,
        )
        for azimuth, first, second, tilt, lean, seat, sign in zip(lambdas, *each.values(), signs, strict=True)
    ]
    parts, driven, passive, reaches, pins = [], [], [], [], []
    for k, leg in enumerate(legs, start=1):
        for name, pose, angle in (("first", leg.first_pose, leg.alpha1), ("second", leg.second_pose, leg.alpha2)):
            body, line = arc(density, radius, angle), _arc_outline(radius, angle)
            parts.append(MovingBody(f"{name}_arc_{k}", pose, body, Pose(leg.base), line))
        driven.append(LegJoint(f"theta{k}", leg.motor))
        passive.append(LegJoint(f"psi{k}", leg.psi))
        reaches.append(_reach(k, leg))
        first_end, second_end = (_arc_outline(radius, angle)[-1] for angle in (leg.alpha1, leg.alpha2))
        pins.append(Pin(f"first_arc_{k}", first_end, f"second_arc_{k}", (0.0, 0.0, radius)))
        pins.append(Pin(f"second_arc_{k}", second_end, "platform", [radius * x for x in leg.v_star]))
    tips = [[radius * x for x in leg.v_star] for leg in legs]
    platform = _platform(platform_mass, platform_com, platform_inertia)
    parts.append(
        MovingBody("platform", lambda q: Pose(rotation_zyx(*q)), platform, outline=[*tips, tips[0], (0, 0, 0)])
    )
    return Mechanism(
        "agile-wrist",
        ("yaw", "pitch", "roll"),
        tuple(parts),
        tuple(driven),
        home=(0.0, 0.0, 0.0),
        passive=tuple(passive),
        reaches=tuple(reaches),
        pins=pins,
        ranges=((-0.6, 0.6),) * 3,
        gravity=Vec3.of(float(x) for x in gravity),
        physical=physical,
        outlines=tuple([(0.0, 0.0, 0.0), [radius * x for x in leg.base @ Z]] for leg in legs),
        design=SphericalDesign(tuple(legs)),
        description="Agile Wrist: a spherical parallel robot of three legs",
        reference="Abedloo, Molaei, Taghirad 2014 (closed-form dynamics of spherical parallel manipulators)",
    )


def _per_leg(name: str, given: PerLeg, legs: int) -> tuple[float, ...]:
    angles = np.broadcast_to(np.asarray(given, float), (legs,)) if np.ndim(given) == 0 else np.asarray(given, float)
    if angles.shape != (legs,) or not np.isfinite(angles).all():
        raise ArgumentError(f"{OWNER} has {name} = {given!r}.", expected=f"one finite angle, or {legs} (one per leg)")
    return tuple(angles.tolist())


def _check_arcs(each: Mapping[str, Sequence[float]]) -> None:
    for name in ("alpha1", "alpha2"):
        for k, angle in enumerate(each[name], start=1):
            if not 0.0 < angle < math.pi:
                raise ArgumentError(
                    f"{OWNER} has {name} = {angle:g} rad on leg {k}.", expected="an angle between 0 and π"
                )


def _reach(k: int, leg: WristLeg) -> Reach:
    """The reach of a leg: α₂ must be between |angle(u, v) - α₁| and angle(u, v) + α₁, modulo the full circle."""
    first = math.degrees(leg.alpha1)

    def least(q: Sequence[Scalar]) -> Scalar:
        return abs(leg.inclination(q) - first)

    def most(q: Sequence[Scalar]) -> Scalar:
        return 180.0 - abs(180.0 - (leg.inclination(q) + first))

    return Reach(f"leg_{k}", "second arc", math.degrees(leg.alpha2), least, most, "deg")


def _platform(mass: float, com: Sequence[float], inertia: Sequence) -> Body:
    owner = f"the platform of {OWNER}"
    about_centre, c = inertia_matrix(inertia, owner), vector(com, f"the centre of mass of {owner}")
    return Body(mass, c, about_centre - mass * (c.dot(c) * IDENTITY - outer(c, c)))


def _arc_outline(radius: float, angle: float) -> list[tuple[float, float, float]]:
    steps = [angle * k / 24 for k in range(25)]
    return [(0.0, -radius * sin(s), radius * cos(s)) for s in steps]
