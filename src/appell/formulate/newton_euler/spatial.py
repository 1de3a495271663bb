"""Spatial vectors and articulated inertias: wrenches, and the matrices that map twists to wrenches.

A twist is the angular velocity and the velocity of the origin, a wrench the force and the moment about the origin. An
inertia maps one to the other; it is a symmetric 6x6 matrix in blocks,

    n = I ω + H v            f = Hᵀ ω + M v                                                                     (1)

with H = h~ and M = m 1 for a rigid body. About an origin at -s, in the same axes, it becomes

    M' = M          H' = H + s~ M          I' = I - H s~ + s~ H'ᵀ                                              (2)

The cross product of a twist with a wrench is

    (ω, v) ×* (n, f) = (ω × n + v × f, ω × f)                                                                   (3)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appell.algebra.matrix import IDENTITY, ZEROS, Mat3, outer, skew
from appell.algebra.rotation import Rotation, Twist
from appell.algebra.scalar import Scalar, is_number
from appell.algebra.vector import ZERO, Vec3
from appell.model.body import Inertia


@dataclass(frozen=True)
class Wrench:
    """Force and moment about the origin."""

    force: Vec3 = ZERO
    moment: Vec3 = ZERO

    def __add__(self, other: Wrench) -> Wrench:
        return Wrench(self.force + other.force, self.moment + other.moment)

    def __sub__(self, other: Wrench) -> Wrench:
        return Wrench(self.force - other.force, self.moment - other.moment)

    def __rmul__(self, scale: Scalar) -> Wrench:
        return Wrench(scale * self.force, scale * self.moment)

    def crossed_by(self, twist: Twist) -> Wrench:
        """(ω, v) ×* of this wrench, by (3)."""
        angular, linear = twist.angular, twist.linear
        return Wrench(angular.cross(self.force), angular.cross(self.moment) + linear.cross(self.force))

    def power(self, twist: Twist) -> Scalar:
        return self.moment.dot(twist.angular) + self.force.dot(twist.linear)

    def to_parent(self, R: Rotation, s: Vec3) -> Wrench:
        """Transform from the link's origin and axes to those of the parent."""
        force = R @ self.force
        return Wrench(force, R @ self.moment + s.cross(force))


@dataclass(frozen=True)
class ArticulatedInertia:
    """Blocks of the matrix (1)."""

    I: Mat3 = ZEROS
    H: Mat3 = ZEROS
    M: Mat3 = ZEROS

    @staticmethod
    def of(body: Inertia) -> ArticulatedInertia:
        return ArticulatedInertia(body.rotational, skew(body.first), body.mass * IDENTITY)

    def __add__(self, other: ArticulatedInertia) -> ArticulatedInertia:
        return ArticulatedInertia(self.I + other.I, self.H + other.H, self.M + other.M)

    def __matmul__(self, twist: Twist) -> Wrench:
        return Wrench(self.H.T @ twist.angular + self.M @ twist.linear, self.I @ twist.angular + self.H @ twist.linear)

    def less(self, wrenches: Sequence[Wrench], weighted: Sequence[Wrench]) -> ArticulatedInertia:
        """A - Σ U Vᵀ over pairs of wrenches, where the sum is symmetric."""
        I, H, M = self.I, self.H, self.M
        for U, V in zip(wrenches, weighted, strict=True):
            I = mirrored(I - outer(U.moment, V.moment))
            H = H - outer(U.moment, V.force)
            M = mirrored(M - outer(U.force, V.force))
        return ArticulatedInertia(I, H, M)

    def without(self, twists: Iterable[Twist]) -> ArticulatedInertia:
        """The inertia with exact zeros for twists along an axis, of an inertia that does not resist these twists."""
        free = {k for k in map(_axis, twists) if k is not None}
        angular, linear = ([k + start not in free for k in range(3)] for start in (0, 3))
        return ArticulatedInertia(
            _masked(self.I, angular, angular), _masked(self.H, angular, linear), _masked(self.M, linear, linear)
        )

    def to_parent(self, R: Rotation, s: Vec3) -> ArticulatedInertia:
        """Transform from the link's origin and axes to those of the parent."""
        rotated = R @ (R @ self.H.T).T
        return ArticulatedInertia(R.conjugate(self.I), rotated, R.conjugate(self.M)).shifted(s)

    def shifted(self, s: Vec3) -> ArticulatedInertia:
        """Inertia about another origin, by (2)."""
        S = skew(s)
        H = self.H + S @ self.M
        return ArticulatedInertia(mirrored(self.I - self.H @ S + S @ H.T), H, self.M)


def _axis(twist: Twist) -> int | None:
    """Coordinate axis about which (0, 1, 2) or along which (3, 4, 5) a constant unit twist moves; None for others."""
    entries = (*twist.angular, *twist.linear)
    if not all(map(is_number, entries)) or sorted(map(abs, entries)) != [0.0] * 5 + [1.0]:
        return None
    return next(k for k, x in enumerate(entries) if x)


def _masked(m: Mat3, rows: Sequence[bool], columns: Sequence[bool]) -> Mat3:
    return Mat3.of([x if rows[i] and columns[j] else 0.0 for j, x in enumerate(row)] for i, row in enumerate(m.rows))


def mirrored(m: Mat3) -> Mat3:
    """Copy the upper half of a symmetric matrix to the lower, so that each entry is computed once."""
    return Mat3.symmetric(*m.upper)
