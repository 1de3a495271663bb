"""Rotations as products of cheap factors, and the pose of one coordinate system in another.

A joint turns its link by R = E J: the constant placement E times the joint's own rotation J. Applied one after the
other, a rotation about one axis costs 4 multiplications and 2 additions, so that Rx(twist) Rz(angle) costs 8 and 4
where the product matrix costs 9 and 6. Only a placement without zeros is worth multiplying out.

A symmetric tensor turns about z at 8 multiplications and 8 additions through the shared term w:

    w = s (S_xx - S_yy) + 2 c S_xy       S'_xx = S_xx - s w      S'_yy = S_yy + s w      S'_xy = c w - S_xy
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import overload

from appell.algebra.matrix import IDENTITY, Mat3, outer, skew
from appell.algebra.scalar import Scalar, cos, is_number, level, sin, snap
from appell.algebra.vector import ZERO, Vec3


@dataclass(frozen=True, slots=True)
class Rotation:
    """The product of its factors; turns link coordinates into parent coordinates, its transpose the other way."""

    factors: tuple[Mat3, ...]

    @property
    def T(self) -> Rotation:
        return Rotation(tuple(factor.T for factor in reversed(self.factors)))

    @property
    def matrix(self) -> Mat3:
        product = IDENTITY
        for factor in self.factors:
            product = product @ factor
        return product

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Mat3) -> Mat3: ...
    def __matmul__(self, other):
        for factor in reversed(self.factors):
            other = factor @ other
        return other

    def conjugate(self, tensor: Mat3) -> Mat3:
        """R S Rᵀ of a symmetric tensor S."""
        for factor in reversed(self.factors):
            tensor = _conjugate(factor, tensor)
        return tensor


def compose(placement: Mat3, joint: Mat3) -> Rotation:
    """E J, multiplied out where that saves work."""
    if _is_identity(placement):
        return Rotation((joint,))
    if _is_identity(joint):
        return Rotation((placement,))
    dense = sum(not is_number(x) or x not in (0.0, 1.0, -1.0) for row in placement.rows for x in row) > 4
    return Rotation((placement @ joint,)) if dense else Rotation((placement, joint))


def about_axis(axis: Vec3, angle: Scalar) -> Mat3:
    """Rotation by an angle about a constant unit axis u: u uᵀ + cos (1 - u uᵀ) + sin ũ."""
    along = Mat3.of([snap(x) for x in row] for row in outer(axis, axis).rows)
    return along + cos(angle) * (IDENTITY - along) + sin(angle) * skew(axis)


def of_quaternion(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> Mat3:
    """Rotation of a quaternion of any length but zero: 1 + (2/|p|²) (w ũ + ũ ũ), u = (x, y, z).

    A power of two of the size of p is taken out first, exactly: neither 1e200 nor 1e-200 has a square. R does not
    change along p, so a derivative that takes the power for a constant misses nothing.
    """
    out = 1.0 / level(level(x) + level(y) + level(z) + level(w))
    x, y, z, w = out * x, out * y, out * z, out * w
    scale = 2.0 / (x * x + y * y + z * z + w * w)
    sx, sy, sz = scale * x, scale * y, scale * z
    xx, xy, xz, yy, yz, zz = sx * x, sx * y, sx * z, sy * y, sy * z, sz * z
    wx, wy, wz = sx * w, sy * w, sz * w
    return Mat3.of(
        [
            [1.0 - (yy + zz), xy - wz, xz + wy],
            [xy + wz, 1.0 - (xx + zz), yz - wx],
            [xz - wy, yz + wx, 1.0 - (xx + yy)],
        ]
    )


def _is_identity(m: Mat3) -> bool:
    return all(is_number(x) and x == (i == j) for i, row in enumerate(m.rows) for j, x in enumerate(row))


def _conjugate(factor: Mat3, tensor: Mat3) -> Mat3:
    for axis in range(3):
        if _turns_about(factor, axis):
            return _planar_conjugate(factor, tensor, axis)
    half = factor @ tensor
    xx, xy, xz = (half.rows[0].dot(factor.rows[k]) for k in (0, 1, 2))
    yy, yz, zz = half.rows[1].dot(factor.rows[1]), half.rows[1].dot(factor.rows[2]), half.rows[2].dot(factor.rows[2])
    return Mat3.symmetric(xx, xy, xz, yy, yz, zz)


def _turns_about(factor: Mat3, axis: int) -> bool:
    """Whether the factor leaves a coordinate axis where it is, by its literal entries alone."""
    others = [(axis, k) for k in range(3) if k != axis] + [(k, axis) for k in range(3) if k != axis]
    unit = factor[axis, axis]
    return is_number(unit) and unit == 1.0 and all(is_number(factor[i]) and factor[i] == 0.0 for i in others)


def _planar_conjugate(factor: Mat3, S: Mat3, k: int) -> Mat3:
    i, j = (k + 1) % 3, (k + 2) % 3
    c, s = factor[i, i], factor[j, i]
    w = s * (S[i, i] - S[j, j]) + c * (S[i, j] + S[i, j])
    turned = {
        (i, i): S[i, i] - s * w,
        (j, j): S[j, j] + s * w,
        (i, j): c * w - S[i, j],
        (i, k): c * S[i, k] - s * S[j, k],
        (j, k): s * S[i, k] + c * S[j, k],
        (k, k): S[k, k],
    }
    return Mat3.of([turned.get((a, b), turned.get((b, a))) for b in range(3)] for a in range(3))


@dataclass(frozen=True, slots=True)
class Pose:
    """Where one coordinate system stands in another: x_outer = rotation @ x_inner + translation."""

    rotation: Mat3 = IDENTITY
    translation: Vec3 = ZERO

    @staticmethod
    def from_rpy(rpy: Vec3, translation: Vec3 = ZERO) -> Pose:
        """Roll, pitch and yaw about the fixed axes x, y, z, in that order, as in URDF."""
        (sr, cr), (sp, cp), (sy, cy) = ((snap(math.sin(t)), snap(math.cos(t))) for t in rpy)
        turn_x = Mat3.of([[1.0, 0.0, 0.0], [0.0, cr, -sr], [0.0, sr, cr]])
        turn_y = Mat3.of([[cp, 0.0, sp], [0.0, 1.0, 0.0], [-sp, 0.0, cp]])
        turn_z = Mat3.of([[cy, -sy, 0.0], [sy, cy, 0.0], [0.0, 0.0, 1.0]])
        return Pose(turn_z @ turn_y @ turn_x, translation)

    def __matmul__(self, inner: Pose) -> Pose:
        return Pose(self.rotation @ inner.rotation, self.apply(inner.translation))

    def apply(self, point: Vec3) -> Vec3:
        return self.rotation @ point + self.translation

    @property
    def rows(self) -> list[list[Scalar]]:
        """[R s], three rows of four."""
        return [[*row, x] for row, x in zip(self.rotation.rows, self.translation, strict=True)]

    @property
    def matrix(self) -> list[list[Scalar]]:
        """The homogeneous 4x4 matrix."""
        return [*self.rows, [0.0, 0.0, 0.0, 1.0]]

    @property
    def inverse(self) -> Pose:
        back = self.rotation.T
        return Pose(back, -(back @ self.translation))
