"""Kinematics of a spherical leg: two arcs between a motor axis u and a platform axis v that meet in the centre.

Position, with u = P z, v = R v*, and w between the arcs (equation numbers of the paper, as corrected):

    w = P Rz(θ) Rx(α₁) z                                v·w = cos α₂                                        (29) (30)
    C = diag(sin α₁, -sin α₁, cos α₁) Pᵀv               C₂ cos θ + C₁ sin θ = cos α₂ - C₃                   (32) (33)
    θ = atan2(b, a) ± atan2(√(a² + b² - c²), c)         ψ = atan2((n₁ × n₂)·w, n₁·n₂)                       (34) (36)

Velocity, with Ω = E v of the platform, p₁ = v × w, p₂ = u × v and h = p₁·u:

    θ̇ = p₁·Ω / h = jθ v             ψ̇ = p₂·Ω / h = jψ v                                                         (40)
    θ̈ = jθ a + j'θ v                j' = (p/h)ᵀĖ + ((h ṗ - ḣ p)/h²)ᵀE                                           (41)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from appell.algebra.matrix import Mat3
from appell.algebra.scalar import Scalar, Vector, atan2, cos, sin, sqrt
from appell.algebra.vector import Vec3
from appell.model.spherical_design import SphericalLeg

Z = Vec3(0.0, 0.0, 1.0)
Row = list[Scalar]


@dataclass(frozen=True)
class LegPosition:
    """Axes in world coordinates, angles, and the rotations of both arcs."""

    u: Vec3
    v: Vec3
    w: Vec3
    theta: Scalar
    psi: Scalar
    R1: Mat3
    R2: Mat3


@dataclass(frozen=True)
class LegRates:
    """The rows of θ̇ = jθ v and ψ̇ = jψ v, the coefficients of v in θ̈ and ψ̈, and θ̇ and ψ̇ themselves."""

    theta: Row
    psi: Row
    theta_rate: Row
    psi_rate: Row
    speed: Scalar
    psi_speed: Scalar


def position(leg: SphericalLeg, R: Mat3) -> LegPosition:
    """(29) to (36)."""
    u, v = leg.base @ Z, R @ leg.v_star
    s1, c1 = math.sin(leg.alpha1), math.cos(leg.alpha1)
    C = leg.base.T @ v
    a, b, c = -s1 * C.y, s1 * C.x, math.cos(leg.alpha2) - c1 * C.z
    theta = atan2(b, a) + leg.branch * atan2(sqrt(a * a + b * b - c * c), c)  # (34)
    R1 = leg.base @ _about_z(theta)
    w = R1 @ Vec3(0.0, -s1, c1)  # (29)
    n1, n2 = (1.0 / s1) * u.cross(w), (1.0 / math.sin(leg.alpha2)) * w.cross(v)  # (35)
    psi = atan2(n1.cross(n2).dot(w), n1.dot(n2))  # (36)
    tilt = Mat3.of([[1.0, 0.0, 0.0], [0.0, c1, -s1], [0.0, s1, c1]])
    return LegPosition(u, v, w, theta, psi, R1, R1 @ tilt @ _about_z(psi))  # (27)


def rates(at: LegPosition, E: Sequence[Vec3], E_rate: Sequence[Vec3], velocity: Vector) -> LegRates:
    """(39) to (41); E and Ė by columns."""
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


def _about_z(angle: Scalar) -> Mat3:
    c, s = cos(angle), sin(angle)
    return Mat3.of([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def combine(vectors: Sequence[Vec3], weights: Vector) -> Vec3:
    return sum((weight * vector for weight, vector in zip(weights, vectors, strict=True)), start=Vec3(0.0, 0.0, 0.0))
