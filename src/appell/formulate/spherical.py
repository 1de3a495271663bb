"""Explicit formulas for M, C, G and the actuator Jacobian of spherical parallel robots. Abedloo et al. 2014.

A leg consists of two arcs between a motor axis u and a platform axis v that intersect in the centre.

Position, with u = P z, v = R v*, and w between the arcs (equation numbers of the paper, with corrections):

    w = P Rz(θ) Rx(α₁) z                                v·w = cos α₂                                        (29) (30)
    C = diag(sin α₁, -sin α₁, cos α₁) Pᵀv               C₂ cos θ + C₁ sin θ = cos α₂ - C₃                   (32) (33)
    θ = atan2(b, a) ± atan2(√(a² + b² - c²), c)         ψ = atan2((n₁ × n₂)·w, n₁·n₂)                       (34) (36)

Velocity, with Ω = E v of the platform, p₁ = v × w, p₂ = u × v and h = p₁·u:

    θ̇ = p₁·Ω / h = jθ v             ψ̇ = p₂·Ω / h = jψ v                                                         (40)
    θ̈ = jθ a + j'θ v                j' = (p/h)ᵀĖ + ((h ṗ - ḣ p)/h²)ᵀE                                           (41)

M, C and G of every body follow from its Jacobian in body coordinates. A body rotates about the fixed centre with
ω = J v and ω̇ = J a + J' v; its inertia about the centre is I, its first moment m ρ:

    M = Jᵀ I J           C = Jᵀ I J' + Jᵀ (J v)~ I J           G = m (ρ~ J)ᵀ Rᵀg           summed over bodies  (17) (20)

    first arc     ω = θ̇ z                       J = z jθ              J' = z j'θ                                    (46)
    second arc    ω = θ̇ c + ψ̇ z,  c = R₂ᵀu      J = c jθ + z jψ
                                                J' = c j'θ + z j'ψ + (c × z) (λ θ̇ jψ + (1 - λ) ψ̇ jθ)              (47)
    platform      ω = RᵀE v                     J = RᵀE               J' = RᵀĖ                                      (48)

The term ψ̇ θ̇ (c × z) of ω̇ can be assigned to ψ̇ or to θ̇: C v is the same for every λ. With λ = 1, all of it on ψ̇,
J' is the rate of the world Jacobian in body axes, and Ṁ - 2C is skew. With the paper's λ = ½ (`HALVES`) it is not:
controllers that rely on xᵀ(Ṁ - 2C)x = 0 for an x other than v must not use it. The rows of the actuator Jacobian are
jθ, (50), and τ = J_act⁻ᵀ Q.

Differentiated poses (`closed_form`) give the same M, G, Q, τ and C v up to rounding. The matrices C differ by
Σ ½ tr(I) Jᵀ(J v)~J over all bodies, which is skew and vanishes when multiplied by v. Poses, energy and frames are those
of the mechanism. Wrenches act on the platform through its Jacobian, eq. (22).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import about_x, about_y, about_z
from appell.algebra.scalar import Matrix, Scalar, Vector, atan2, cos, sin, sqrt
from appell.algebra.vector import Vec3
from appell.formulate.closed_form import inner, total
from appell.formulate.recursion import combine
from appell.model.body import Inertia
from appell.model.mechanism import SphericalDesign, SphericalLeg

Z = Vec3(0.0, 0.0, 1.0)
HALVES = 0.5  # λ of (47) in the paper


@dataclass(frozen=True)
class LegPosition:
    """Position of a leg: its axes in world coordinates, angles, and the rotations of both arcs."""

    u: Vec3
    v: Vec3
    w: Vec3
    theta: Scalar
    psi: Scalar
    R1: Mat3
    R2: Mat3


@dataclass(frozen=True)
class LegRates:
    """Rows of θ̇ = jθ v and ψ̇ = jψ v, coefficients of v in θ̈ and ψ̈, and the values θ̇ and ψ̇."""

    theta: list[Scalar]
    psi: list[Scalar]
    theta_rate: list[Scalar]
    psi_rate: list[Scalar]
    speed: Scalar
    psi_speed: Scalar


def position(leg: SphericalLeg, R: Mat3) -> LegPosition:
    """Position of a leg for the rotation R of the platform, by (29) to (36)."""
    u, v = leg.base @ Z, R @ leg.v_star
    s1, c1 = sin(leg.alpha1), cos(leg.alpha1)
    C = leg.base.T @ v
    a, b, c = -s1 * C.y, s1 * C.x, cos(leg.alpha2) - c1 * C.z
    theta = atan2(b, a) + leg.branch * atan2(sqrt(a * a + b * b - c * c), c)  # (34)
    R1 = leg.base @ about_z(cos(theta), sin(theta))
    w = R1 @ Vec3(0.0, -s1, c1)  # (29)
    n1, n2 = (1.0 / s1) * u.cross(w), (1.0 / sin(leg.alpha2)) * w.cross(v)  # (35)
    psi = atan2(n1.cross(n2).dot(w), n1.dot(n2))  # (36)
    return LegPosition(u, v, w, theta, psi, R1, R1 @ about_x(c1, s1) @ about_z(cos(psi), sin(psi)))  # (27)


def rates(at: LegPosition, E: Sequence[Vec3], E_rate: Sequence[Vec3], velocity: Vector) -> LegRates:
    """Rates of a leg, by (39) to (41); E and Ė by columns."""
    u, v, w = at.u, at.v, at.w
    Omega = combine(E, velocity)
    p1, p2 = v.cross(w), u.cross(v)
    inverse = 1.0 / p1.dot(u)  # 1/h
    theta, psi = ([inverse * p.dot(column) for column in E] for p in (p1, p2))  # (40)
    speed, psi_speed = inverse * p1.dot(Omega), inverse * p2.dot(Omega)

    v_dot, w_dot = Omega.cross(v), speed * u.cross(w)
    p1_dot, p2_dot = v_dot.cross(w) + v.cross(w_dot), u.cross(v_dot)
    growth = inverse * p1_dot.dot(u)  # ḣ/h
    theta_rate, psi_rate = (
        [inverse * (p.dot(rate) + (p_dot - growth * p).dot(column)) for column, rate in zip(E, E_rate, strict=True)]
        for p, p_dot in ((p1, p1_dot), (p2, p2_dot))
    )  # (41)
    return LegRates(theta, psi, theta_rate, psi_rate, speed, psi_speed)


@dataclass(frozen=True)
class SphericalRobot:
    """A spherical robot: its legs, and the inertias of the arcs of every leg and of the platform about the centre."""

    legs: tuple[SphericalLeg, ...]
    arcs: tuple[tuple[Inertia, Inertia], ...]
    platform: Inertia
    gravity: Vec3

    @staticmethod
    def of(design: SphericalDesign, inertias: Sequence[Inertia], gravity: Vec3) -> SphericalRobot:
        *arcs, platform = inertias
        return SphericalRobot(design.legs, tuple(zip(arcs[::2], arcs[1::2], strict=True)), platform, gravity)

    def mass_matrix(self, q: Vector) -> Matrix:
        """M(q), by (17)."""

        def term(body: RotatingBody) -> Matrix:
            momenta = [body.inertia.rotational @ column for column in body.J]
            return [[column.dot(momentum) for momentum in momenta] for column in body.J]

        return total([term(body) for body in _bodies(self, q, [0.0] * 3)])

    def coriolis(self, q: Vector, v: Vector, on_psi: float = 1.0) -> Matrix:
        """C(q, v), by (17), with λ = `on_psi` in (47)."""

        def term(body: RotatingBody) -> Matrix:
            I, omega = body.inertia.rotational, combine(body.J, v)
            moments = [I @ rate + omega.cross(I @ column) for column, rate in zip(body.J, body.J_rate, strict=True)]
            return [[column.dot(moment) for moment in moments] for column in body.J]

        return total([term(body) for body in _bodies(self, q, v, on_psi)])

    def gravity_forces(self, q: Vector) -> list[Scalar]:
        """G(q), by (17)."""
        terms = []
        for body in _bodies(self, q, [0.0] * 3):
            g = body.R.T @ self.gravity
            terms.append([[body.inertia.first.cross(column).dot(g) for column in body.J]])
        return total(terms)[0]

    def actuator_jacobian(self, q: Vector) -> Matrix:
        """J_act(q), by (50)."""
        R, E, E_rate = _rotation(q), _euler(q), _euler_rate(q, [0.0] * 3)
        return [rates(position(leg, R), E, E_rate, [0.0] * 3).theta for leg in self.legs]

    def forces(self, q: Vector, v: Vector, a: Vector) -> list[Scalar]:
        """Q = M a + C v + G."""
        M, C, G = self.mass_matrix(q), self.coriolis(q, v), self.gravity_forces(q)
        rows = zip(M, C, G, strict=True)
        return [inner([inertia], [a]) + inner([velocity], [v]) + weight for inertia, velocity, weight in rows]


@dataclass(frozen=True)
class RotatingBody:
    """A body: its rotation, inertia, and the columns of J and J' in body coordinates."""

    R: Mat3
    inertia: Inertia
    J: list[Vec3]
    J_rate: list[Vec3]


def _bodies(robot: SphericalRobot, q: Vector, v: Vector, on_psi: float = 1.0) -> Iterator[RotatingBody]:
    R, E, E_rate = _rotation(q), _euler(q), _euler_rate(q, v)
    for leg, (first, second) in zip(robot.legs, robot.arcs, strict=True):
        at = position(leg, R)
        rate = rates(at, E, E_rate, v)
        yield RotatingBody(at.R1, first, [j * Z for j in rate.theta], [j * Z for j in rate.theta_rate])  # (46)
        yield _second_arc(second, at, rate, on_psi)
    columns = [R.T @ column for column in E], [R.T @ column for column in E_rate]
    yield RotatingBody(R, robot.platform, *columns)  # (48)


def _second_arc(inertia: Inertia, at: LegPosition, rate: LegRates, on_psi: float) -> RotatingBody:
    """Second arc of a leg, by (47)."""
    c = at.R2.T @ at.u
    by_psi, by_theta = on_psi * rate.speed, (1.0 - on_psi) * rate.psi_speed
    J = [theta * c + psi * Z for theta, psi in zip(rate.theta, rate.psi, strict=True)]
    J_rate = [
        theta_rate * c + psi_rate * Z + (by_psi * psi + by_theta * theta) * c.cross(Z)
        for theta_rate, psi_rate, theta, psi in zip(rate.theta_rate, rate.psi_rate, rate.theta, rate.psi, strict=True)
    ]
    return RotatingBody(at.R2, inertia, J, J_rate)


def _rotation(q: Vector) -> Mat3:
    """Rz(q₁) Ry(q₂) Rx(q₃), (25)."""
    z, y, x = ((cos(angle), sin(angle)) for angle in q)
    return about_z(*z) @ about_y(*y) @ about_x(*x)


def _euler(q: Vector) -> list[Vec3]:
    """Columns of E in Ω = E v, (26)."""
    (c1, s1), (c2, s2) = ((cos(x), sin(x)) for x in q[:2])
    return [Z, Vec3(-s1, c1, 0.0), Vec3(c1 * c2, s1 * c2, -s2)]


def _euler_rate(q: Vector, v: Vector) -> list[Vec3]:
    """Columns of Ė."""
    (c1, s1), (c2, s2) = ((cos(x), sin(x)) for x in q[:2])
    v1, v2 = v[:2]
    third = Vec3(-s1 * c2 * v1 - c1 * s2 * v2, c1 * c2 * v1 - s1 * s2 * v2, -c2 * v2)
    return [Vec3(0.0, 0.0, 0.0), v1 * Vec3(-c1, -s1, 0.0), third]
