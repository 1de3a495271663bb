"""Closed-form dynamics of spherical parallel robots: M, C and G of every body from its Jacobian in body coordinates.

A body turns about the fixed centre with ω = J v and ω̇ = J a + J' v, inertia I about the centre and first moment m ρ:

    M = Jᵀ I J           C = Jᵀ I J' + Jᵀ (J v)~ I J           G = m (ρ~ J)ᵀ Rᵀg           summed over bodies  (17) (20)

    first arc     ω = θ̇ z                       J = z jθ              J' = z j'θ                                    (46)
    second arc    ω = θ̇ c + ψ̇ z,  c = R₂ᵀu      J = c jθ + z jψ
                                                J' = c j'θ + z j'ψ + (c × z) (λ θ̇ jψ + (1 - λ) ψ̇ jθ)              (47)
    platform      ω = RᵀE v                     J = RᵀE               J' = RᵀĖ                                      (48)

The term ψ̇ θ̇ (c × z) of ω̇ may stand on ψ̇ or on θ̇: C v is the same for every λ. With λ = 1, the whole of it on ψ̇, J' is
the rate of the world's Jacobian seen in body axes, and Ṁ - 2C is skew. The paper has λ = ½, `HALVES`, and it is not:
controllers that rely on xᵀ(Ṁ - 2C)x = 0 for an x other than v must not use it. The actuators' Jacobian has the rows jθ,
(50), and τ = J_act⁻ᵀ Q.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from appell.algebra.matrix import Mat3
from appell.algebra.scalar import Scalar, Vector, cos, sin
from appell.algebra.vector import Vec3
from appell.formulate.closed_form import total
from appell.formulate.spherical.leg import LegPosition, LegRates, Z, combine, position, rates
from appell.model.body import Inertia
from appell.model.spherical_design import SphericalDesign, SphericalLeg

Matrix = list[list[Scalar]]
HALVES = 0.5  # λ of the paper


@dataclass(frozen=True)
class SphericalRobot:
    """A design, the inertias about the centre of the first and the second arc of every leg and of the platform."""

    legs: tuple[SphericalLeg, ...]
    arcs: tuple[tuple[Inertia, Inertia], ...]
    platform: Inertia
    gravity: Vec3

    @staticmethod
    def of(design: SphericalDesign, inertias: Sequence[Inertia], gravity: Vec3) -> SphericalRobot:
        *arcs, platform = inertias
        return SphericalRobot(design.legs, tuple(zip(arcs[::2], arcs[1::2], strict=True)), platform, gravity)


@dataclass(frozen=True)
class Turning:
    """A body: its rotation, inertia, and the columns of J and J' in body coordinates."""

    R: Mat3
    inertia: Inertia
    J: list[Vec3]
    J_rate: list[Vec3]


def mass_matrix(robot: SphericalRobot, q: Vector) -> Matrix:
    """M(q), by (17)."""

    def share(body: Turning) -> Matrix:
        momenta = [body.inertia.rotational @ column for column in body.J]
        return [[column.dot(momentum) for momentum in momenta] for column in body.J]

    return total([share(body) for body in _bodies(robot, q, [0.0] * 3)])


def coriolis(robot: SphericalRobot, q: Vector, v: Vector, on_psi: float = 1.0) -> Matrix:
    """C(q, v), by (17), with λ = `on_psi` in (47)."""

    def share(body: Turning) -> Matrix:
        I, omega = body.inertia.rotational, combine(body.J, v)
        moments = [I @ rate + omega.cross(I @ column) for column, rate in zip(body.J, body.J_rate, strict=True)]
        return [[column.dot(moment) for moment in moments] for column in body.J]

    return total([share(body) for body in _bodies(robot, q, v, on_psi)])


def gravity(robot: SphericalRobot, q: Vector) -> list[Scalar]:
    """G(q), by (17)."""
    shares = []
    for body in _bodies(robot, q, [0.0] * 3):
        g = body.R.T @ robot.gravity
        shares.append([[body.inertia.first.cross(column).dot(g) for column in body.J]])
    return total(shares)[0]


def actuator_jacobian(robot: SphericalRobot, q: Vector) -> Matrix:
    """J_act(q), by (50)."""
    R, E, E_rate = _rotation(q), _euler(q), _euler_rate(q, [0.0] * 3)
    return [rates(position(leg, R), E, E_rate, [0.0] * 3).theta for leg in robot.legs]


def _bodies(robot: SphericalRobot, q: Vector, v: Vector, on_psi: float = 1.0) -> Iterator[Turning]:
    R, E, E_rate = _rotation(q), _euler(q), _euler_rate(q, v)
    for leg, (first, second) in zip(robot.legs, robot.arcs, strict=True):
        at = position(leg, R)
        rate = rates(at, E, E_rate, v)
        yield Turning(at.R1, first, [j * Z for j in rate.theta], [j * Z for j in rate.theta_rate])  # (46)
        yield _second_arc(second, at, rate, on_psi)
    yield Turning(R, robot.platform, [R.T @ column for column in E], [R.T @ column for column in E_rate])  # (48)


def _second_arc(inertia: Inertia, at: LegPosition, rate: LegRates, on_psi: float) -> Turning:
    """(47)."""
    c = at.R2.T @ at.u
    by_psi, by_theta = on_psi * rate.speed, (1.0 - on_psi) * rate.psi_speed
    J = [theta * c + psi * Z for theta, psi in zip(rate.theta, rate.psi, strict=True)]
    J_rate = [
        theta * c + psi * Z + (by_psi * own_psi + by_theta * own_theta) * c.cross(Z)
        for theta, psi, own_theta, own_psi in zip(rate.theta_rate, rate.psi_rate, rate.theta, rate.psi, strict=True)
    ]
    return Turning(at.R2, inertia, J, J_rate)


def _rotation(q: Vector) -> Mat3:
    """Rz(q₁) Ry(q₂) Rx(q₃), (25)."""
    (c1, s1), (c2, s2), (c3, s3) = ((cos(x), sin(x)) for x in q)
    about_z = Mat3.of([[c1, -s1, 0.0], [s1, c1, 0.0], [0.0, 0.0, 1.0]])
    about_y = Mat3.of([[c2, 0.0, s2], [0.0, 1.0, 0.0], [-s2, 0.0, c2]])
    about_x = Mat3.of([[1.0, 0.0, 0.0], [0.0, c3, -s3], [0.0, s3, c3]])
    return about_z @ about_y @ about_x


def _euler(q: Vector) -> list[Vec3]:
    """The columns of E in Ω = E v, (26)."""
    (c1, s1), (c2, s2) = ((cos(x), sin(x)) for x in q[:2])
    return [Z, Vec3(-s1, c1, 0.0), Vec3(c1 * c2, s1 * c2, -s2)]


def _euler_rate(q: Vector, v: Vector) -> list[Vec3]:
    """The columns of Ė."""
    (c1, s1), (c2, s2) = ((cos(x), sin(x)) for x in q[:2])
    v1, v2 = v[:2]
    third = Vec3(-s1 * c2 * v1 - c1 * s2 * v2, c1 * c2 * v1 - s1 * s2 * v2, -c2 * v2)
    return [Vec3(0.0, 0.0, 0.0), v1 * Vec3(-c1, -s1, 0.0), third]
