"""Contact point of a rolling body, and its motion.

The geometric contact point is not fixed to the wheel: it moves along the rim. With x the centre, k the axis of a wheel,
n the normal, r the radius and ρ the vector from the centre to the contact,

    plane      c = k × n,  t = c/|c|  the heading,  e = t × k  up the wheel       ρ = -r e   (a ball: ρ = -r n)     (1)
               ρ̇ = -r ė,  ė = ṫ × k + t × k̇,  ṫ = (ċ - t (t·ċ))/|c|,  ċ = k̇ × n + k × ṅ                             (2)

On a surface φ = 0 with gradient g and Hessian H, the contact is where the rim is tangent to the surface: g·τ = 0,
τ = k × ρ. Newton's method rotates ρ about k, starting from (1) with the normal at the centre; along the motion

    ρ̇ = ω × ρ + μ τ,     0 = d/dt (g·τ)     μ = -(τ·H y + g·(ω × τ)) / (τ·Hτ - g·ρ),     y = ẋ + ω × ρ              (3)

The contact of a ball is the point c of the surface that is nearest to its centre:

    x = c + λ g(c),  φ(c) = 0         B ċ + λ̇ g = ẋ,  g·ċ = 0         B = 1 + λ H                                   (4)

by Newton's method for (c, λ), or directly if φ is the distance, since then n = g(x), ṅ = H(x) ẋ. A wheel that lies
flat, with k parallel to n, has no contact point: NaN.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from appell.algebra.derivative import slopes, value_and_rate
from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.scalar import Scalar, Vector, inverse_sqrt, select, sqrt
from appell.algebra.solve import LDL
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.formulate.constrained.frame_motion import FrameMotion

NEWTON_STEPS = 6  # from an error of 0.1 rad, four steps reach rounding errors and one more converges the derivatives


@dataclass(frozen=True)
class MovingVector:
    """A vector and its time derivative."""

    d: Vec3
    rate: Vec3 = ZERO

    def cross(self, other: MovingVector) -> MovingVector:
        return MovingVector(self.d.cross(other.d), self.rate.cross(other.d) + self.d.cross(other.rate))

    def unit(self) -> MovingVector:
        over = inverse_sqrt(self.d.dot(self.d))
        t = over * self.d
        return MovingVector(t, over * (self.rate - t.dot(self.rate) * t))


def fixed(body: FrameMotion, axis: int) -> MovingVector:
    """An axis fixed to a frame."""
    d = body.axes[axis]
    return MovingVector(d, body.rate(d))


@dataclass(frozen=True)
class RollingContact:
    """Contact of a rolling body, in axes of the view."""

    gap: Scalar
    rho: Vec3
    rho_rate: Vec3
    n: MovingVector
    heading: MovingVector  # tangent to the surface: the rolling direction of a wheel, any smooth direction for a ball

    @property
    def lateral(self) -> MovingVector:
        return self.n.cross(self.heading)


def wheel_on_plane(a: FrameMotion, b: FrameMotion, axis: int, radius: float) -> RollingContact:
    """Contact of a wheel on the x-y plane of b, by (1) and (2)."""
    k, n = fixed(a, axis), fixed(b, 2)
    t = k.cross(n).unit()
    e = t.cross(k)
    rho = -radius * e.d
    return RollingContact((a.x + rho - b.x).dot(n.d), rho, -radius * e.rate, n, t)


def ball_on_plane(a: FrameMotion, b: FrameMotion, radius: float) -> RollingContact:
    """Contact of a ball on the x-y plane of b, by (1)."""
    n, first = fixed(b, 2), fixed(b, 0)
    return RollingContact((a.x - b.x).dot(n.d) - radius, -radius * n.d, -radius * n.rate, n, first)


@dataclass(frozen=True)
class SurfaceField:
    """φ as a function of position, in axes of the view, in which the surface is at rest."""

    function: Callable[[Vector], Scalar]

    def value(self, x: Vec3) -> Scalar:
        return self.function(list(x))

    def gradient(self, x: Vec3) -> Vec3:
        return Vec3.of(slopes(self.function, list(x)))

    def along(self, x: Vec3, direction: Vec3) -> Vec3:
        """H `direction`."""
        return Vec3.of(value_and_rate(lambda at: slopes(self.function, at), list(x), list(direction))[1])

    def hessian(self, x: Vec3) -> Mat3:
        return Mat3.of(self.along(x, unit) for unit in UNITS)

    def normal(self, x: Vec3, rate: Vec3) -> MovingVector:
        """Unit normal at a moving point."""
        return MovingVector(self.gradient(x), self.along(x, rate)).unit()


def wheel_on_surface(a: FrameMotion, field: SurfaceField, axis: int, radius: float) -> RollingContact:
    """Contact of a wheel on a curved surface, by (3)."""
    k = fixed(a, axis)
    start = k.d.cross(field.gradient(a.x))
    rho = (-radius * inverse_sqrt(start.dot(start))) * start.cross(k.d)
    for _ in range(NEWTON_STEPS):
        tau, point = k.d.cross(rho), a.x + rho
        g = field.gradient(point)
        rotated = rho - (g.dot(tau) / (tau.dot(field.along(point, tau)) - g.dot(rho))) * tau
        rho = (radius * inverse_sqrt(rotated.dot(rotated))) * rotated
    tau, point = k.d.cross(rho), a.x + rho
    g, bend, y = field.gradient(point), field.along(point, tau), a.velocity(point)
    mu = (bend.dot(y) + g.dot(a.omega.cross(tau))) / (g.dot(rho) - tau.dot(bend))
    rho_rate = a.omega.cross(rho) + mu * tau
    n = field.normal(point, a.velocity(a.x) + rho_rate)
    return RollingContact(field.value(point) * inverse_sqrt(g.dot(g)), rho, rho_rate, n, k.cross(n).unit())


def ball_on_surface(a: FrameMotion, field: SurfaceField, radius: float) -> RollingContact:
    """Contact of a ball on a curved surface, by (4)."""
    g = field.gradient(a.x)
    point, size = a.x - (radius * inverse_sqrt(g.dot(g))) * g, radius * inverse_sqrt(g.dot(g))
    for _ in range(NEWTON_STEPS):
        g = field.gradient(point)
        B = _Bordered(field, point, size, g)
        step, change = B.solve(a.x - point - size * g, -field.value(point))
        point, size = point + step, size + change
    g = field.gradient(point)
    rate, _ = _Bordered(field, point, size, g).solve(a.velocity(a.x), 0.0)
    return _ball(size * sqrt(g.dot(g)), field.normal(point, rate), radius)


def ball_at_distance(a: FrameMotion, field: SurfaceField, radius: float) -> RollingContact:
    """Contact of a ball on a surface whose φ is the distance, so that its gradient is the unit normal; see (4)."""
    n = MovingVector(field.gradient(a.x), field.along(a.x, a.velocity(a.x)))
    return _ball(field.value(a.x), n, radius)


def _ball(distance: Scalar, n: MovingVector, radius: float) -> RollingContact:
    heading = MovingVector(_other_axis(n.d)).cross(n).unit()
    return RollingContact(distance - radius, -radius * n.d, -radius * n.rate, n, heading)


class _Bordered:
    """The matrix [B g; gᵀ 0] of (4)."""

    def __init__(self, field: SurfaceField, point: Vec3, size: Scalar, g: Vec3):
        self.B, self.g = LDL.of([list(row) for row in (IDENTITY + size * field.hessian(point)).rows]), g

    def solve(self, right: Vec3, last: Scalar) -> tuple[Vec3, Scalar]:
        one, other = (Vec3.of(self.B.solve(list(vector))) for vector in (right, self.g))
        change = (self.g.dot(one) - last) / self.g.dot(other)
        return one - change * other, change


def _other_axis(n: Vec3) -> Vec3:
    """A coordinate axis that is not parallel to a normal: y, or z if the normal is near y."""
    level = 0.81 - n.y * n.y
    return Vec3(0.0, select(level, 1.0, 0.0), select(level, 0.0, 1.0))
