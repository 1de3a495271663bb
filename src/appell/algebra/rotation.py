"""Rotations as products of inexpensive factors, and the pose of one coordinate system in another.

The rotation of a link in its parent is R = E J: the constant placement E times the rotation J of the joint. Applying a
rotation about one coordinate axis to a vector takes 4 multiplications and 2 additions, so Rx(twist) Rz(angle), factor
by factor, takes 8 and 4, while the product matrix takes 9 and 6. The product is computed only if the placement has few
zeros.

Rotating a symmetric tensor about z takes 8 multiplications and 8 additions with the shared term w:

    w = s (S_xx - S_yy) + 2 c S_xy       S'_xx = S_xx - s w      S'_yy = S_yy + s w      S'_xy = c w - S_xy
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from appell.algebra.matrix import IDENTITY, Mat3, outer, skew
from appell.algebra.scalar import Scalar, cos, is_number, level, real_array, select, sin, snap, sqrt
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.errors import ArgumentError, value_text

ORTHONORMAL_TOLERANCE = 1e-10  # largest entry of RᵀR - 1; a larger one causes a relative error of that size in torques
SMALL_SQUARED_ANGLE = 1e-4  # rad²: below it, series of three terms are exact to rounding
MAX_QUOTED = 80  # characters of an invalid argument in a message


@dataclass(frozen=True, slots=True)
class Rotation:
    """A rotation as the product of factors. It maps link coordinates to parent coordinates, its transpose back."""

    factors: tuple[Mat3, ...]

    @property
    def T(self) -> Rotation:
        """The transpose, which is the inverse."""
        return Rotation(tuple(factor.T for factor in reversed(self.factors)))

    @property
    def matrix(self) -> Mat3:
        """The product of the factors."""
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
        """Return R S Rᵀ for a symmetric tensor S."""
        for factor in reversed(self.factors):
            tensor = _conjugate(factor, tensor)
        return tensor


@dataclass(frozen=True, slots=True)
class Twist:
    """Angular velocity of a body and velocity of its point at an origin, or rates and changes of these."""

    angular: Vec3 = ZERO
    linear: Vec3 = ZERO

    def __add__(self, other: Twist) -> Twist:
        return Twist(self.angular + other.angular, self.linear + other.linear)

    def __sub__(self, other: Twist) -> Twist:
        return Twist(self.angular - other.angular, self.linear - other.linear)

    def __rmul__(self, scale: Scalar) -> Twist:
        return Twist(scale * self.angular, scale * self.linear)

    def cross(self, other: Twist) -> Twist:
        """Return (ω, v) × (b, u) = (ω × b, ω × u + v × b)."""
        angular, linear = self.angular, self.linear
        return Twist(angular.cross(other.angular), angular.cross(other.linear) + linear.cross(other.angular))

    def to_inner(self, R: Rotation | Mat3, s: Vec3) -> Twist:
        """Return the twist at the origin s and in the axes R of an inner coordinate system."""
        return Twist(R.T @ self.angular, R.T @ (self.linear + self.angular.cross(s)))


def compose(placement: Mat3, joint: Mat3) -> Rotation:
    """Return E J as factors, or as their product where that takes fewer operations."""
    if _is_identity(placement):
        return Rotation((joint,))
    if _is_identity(joint):
        return Rotation((placement,))
    dense = sum(not is_number(x) or x not in (0.0, 1.0, -1.0) for row in placement.rows for x in row) > 4
    return Rotation((placement @ joint,)) if dense else Rotation((placement, joint))


def about_x(c: Scalar, s: Scalar) -> Mat3:
    """Return the rotation about x by an angle with cosine c and sine s."""
    return Mat3.of([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def about_y(c: Scalar, s: Scalar) -> Mat3:
    """Return the rotation about y by an angle with cosine c and sine s."""
    return Mat3.of([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def about_z(c: Scalar, s: Scalar) -> Mat3:
    """Return the rotation about z by an angle with cosine c and sine s."""
    return Mat3.of([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def about_axis(axis: Vec3, angle: Scalar) -> Mat3:
    """Return the rotation by an angle about a constant unit axis u: u uᵀ + cos (1 - u uᵀ) + sin ũ."""
    along = Mat3.of([snap(x) for x in row] for row in outer(axis, axis).rows)
    return along + cos(angle) * (IDENTITY - along) + sin(angle) * skew(axis)


def of_rotation_vector(r: Vec3) -> Mat3:
    """Return the rotation by the angle t = |r| about r: 1 + (sin t / t) r̃ + ((1 - cos t) / t²) r̃², smooth at r = 0."""
    square = r.dot(r)
    large = square - SMALL_SQUARED_ANGLE
    safe = select(large, square, 1.0)
    t = sqrt(safe)
    first = select(large, sin(t) / t, 1.0 - square * (1.0 / 6.0 - square / 120.0))
    second = select(large, (1.0 - cos(t)) / safe, 0.5 - square * (1.0 / 24.0 - square / 720.0))
    return IDENTITY + first * skew(r) + second * (skew(r) @ skew(r))


def rotation_of_z_to(normal: Vec3) -> Mat3:
    """Return the shortest rotation that takes z to a unit vector n: 1 + ṽ + ṽ² / (1 + n_z) with v = z × n.

    For n_z < 0 the sum 1 + n_z loses digits by cancellation. There ṽ² = |v|² (e eᵀ - 1) with the unit vector e along v,
    and |v|² = 1 - n_z² leaves the factor 1 - n_z.
    """
    length = math.hypot(normal.x, normal.y)
    if length == 0.0:
        return IDENTITY if normal.z > 0.0 else Mat3((UNITS[0], -UNITS[1], -UNITS[2]))
    v = Vec3(-normal.y, normal.x, 0.0)
    if normal.z >= 0.0:
        square = (1.0 / (1.0 + normal.z)) * (skew(v) @ skew(v))
    else:
        e = (1.0 / length) * v
        square = (1.0 - normal.z) * (outer(e, e) - IDENTITY)
    rotation = IDENTITY + skew(v) + square
    return Mat3.of([snap(x) for x in row] for row in rotation.rows)


def of_quaternion(x: Scalar, y: Scalar, z: Scalar, w: Scalar) -> Mat3:
    """Return the rotation of a quaternion p of any non-zero length: 1 + (2/|p|²) (w ũ + ũ ũ), u = (x, y, z).

    p is first scaled by a power of two of its magnitude, which is exact, because the squares of 1e200 and 1e-200 are
    not representable. R does not depend on the length of p, so derivatives may treat this power as a constant.
    """
    normalise = 1.0 / level(level(x) + level(y) + level(z) + level(w))
    x, y, z, w = normalise * x, normalise * y, normalise * z, normalise * w
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


def quaternion_of(R: Mat3) -> tuple[float, float, float, float]:
    """Return the quaternion x y z w of a rotation, computed from its largest component to avoid small divisors."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = (tuple(row) for row in R.rows)
    rows = {
        1.0 + xx + yy + zz: (zy - yz, xz - zx, yx - xy, 1.0 + xx + yy + zz),
        1.0 + xx - yy - zz: (1.0 + xx - yy - zz, xy + yx, xz + zx, zy - yz),
        1.0 - xx + yy - zz: (xy + yx, 1.0 - xx + yy - zz, yz + zy, xz - zx),
        1.0 - xx - yy + zz: (xz + zx, yz + zy, 1.0 - xx - yy + zz, yx - xy),
    }
    row = rows[max(rows)]
    size = math.hypot(*row)
    x, y, z, w = (float(entry) / size for entry in row)
    return x, y, z, w


def _is_identity(m: Mat3) -> bool:
    return all(is_number(x) and x == (i == j) for i, row in enumerate(m.rows) for j, x in enumerate(row))


def _conjugate(factor: Mat3, tensor: Mat3) -> Mat3:
    for axis in range(3):
        if _is_about_axis(factor, axis):
            return _planar_conjugate(factor, tensor, axis)
    half = factor @ tensor
    xx, xy, xz = (half.rows[0].dot(factor.rows[k]) for k in (0, 1, 2))
    yy, yz, zz = half.rows[1].dot(factor.rows[1]), half.rows[1].dot(factor.rows[2]), half.rows[2].dot(factor.rows[2])
    return Mat3.symmetric(xx, xy, xz, yy, yz, zz)


def _is_about_axis(factor: Mat3, axis: int) -> bool:
    """Return whether the literal entries show that the factor is a rotation about a coordinate axis."""
    others = [(axis, k) for k in range(3) if k != axis] + [(k, axis) for k in range(3) if k != axis]
    unit = factor[axis, axis]
    return is_number(unit) and unit == 1.0 and all(is_number(factor[i]) and factor[i] == 0.0 for i in others)


def _planar_conjugate(factor: Mat3, S: Mat3, k: int) -> Mat3:
    i, j = (k + 1) % 3, (k + 2) % 3
    c, s = factor[i, i], factor[j, i]
    w = s * (S[i, i] - S[j, j]) + c * (S[i, j] + S[i, j])
    rotated = {
        (i, i): S[i, i] - s * w,
        (j, j): S[j, j] + s * w,
        (i, j): c * w - S[i, j],
        (i, k): c * S[i, k] - s * S[j, k],
        (j, k): s * S[i, k] + c * S[j, k],
        (k, k): S[k, k],
    }
    return Mat3.of([rotated.get((a, b), rotated.get((b, a))) for b in range(3)] for a in range(3))


@dataclass(frozen=True, slots=True)
class Pose:
    """Position and orientation of an inner coordinate system in an outer one.

    x_outer = rotation @ x_inner + translation, with the translation in m. Both may be given as arrays or lists of
    numbers, of shapes (3, 3) and (3,), the rotation also as a `Rotation` of SciPy.
    """

    rotation: Mat3 = IDENTITY
    translation: Vec3 = ZERO

    def __post_init__(self) -> None:
        if not isinstance(self.rotation, Mat3):
            object.__setattr__(self, "rotation", as_rotation(self.rotation, "the rotation of a pose"))
        if not isinstance(self.translation, Vec3):
            object.__setattr__(self, "translation", as_vector(self.translation, "the translation of a pose"))

    @staticmethod
    def from_matrix(matrix: Any) -> Pose:
        """Return the pose of a homogeneous matrix, an array or nested list of shape (4, 4) or (3, 4)."""
        return as_pose(finite_array(matrix, "the matrix of a pose", (4, 4), (3, 4)), "the matrix of a pose")

    @staticmethod
    def from_rpy(rpy: Vec3, translation: Vec3 = ZERO) -> Pose:
        """Return the pose with roll, pitch and yaw (rad) about the fixed axes x, y, z, in this order, as in URDF."""
        rpy = as_vector(rpy, "rpy of a pose")
        roll, pitch, yaw = ((snap(cos(t)), snap(sin(t))) for t in rpy)
        return Pose(about_z(*yaw) @ about_y(*pitch) @ about_x(*roll), translation)

    def __matmul__(self, inner: Pose) -> Pose:
        inner = inner if isinstance(inner, Pose) else as_pose(inner, "a pose")
        return Pose(self.rotation @ inner.rotation, self.apply(inner.translation))

    def apply(self, point: Vec3) -> Vec3:
        """Return a point of the inner system in outer coordinates."""
        point = point if isinstance(point, Vec3) else as_vector(point, "a point")
        return self.rotation @ point + self.translation

    @property
    def rows(self) -> list[list[Scalar]]:
        """[R s], the first three rows of the homogeneous matrix."""
        return [[*row, x] for row, x in zip(self.rotation.rows, self.translation, strict=True)]

    @property
    def matrix(self) -> list[list[Scalar]]:
        """The homogeneous 4x4 matrix."""
        return [*self.rows, [0.0, 0.0, 0.0, 1.0]]

    @property
    def inverse(self) -> Pose:
        """The pose of the outer system in the inner one."""
        transposed = self.rotation.T
        return Pose(transposed, -(transposed @ self.translation))


def finite_array(values: Any, what: str, *shapes: tuple[int, ...]) -> np.ndarray:
    """Return finite numbers as an array of one of these shapes; raise ArgumentError, which names `what`, otherwise."""
    expected = "finite numbers of shape " + " or ".join(map(str, shapes))
    try:
        numbers = real_array(values)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{what} is {value_text(values)[:MAX_QUOTED]}.", expected=expected) from None
    if numbers.shape not in shapes:
        shape = f"has shape {numbers.shape}" if numbers.ndim else f"is {value_text(values)[:MAX_QUOTED]}"
        raise ArgumentError(f"{what} {shape}.", expected=expected)
    if not np.isfinite(numbers).all():
        raise ArgumentError(f"{what} contains NaN or infinity.", expected=expected)
    return numbers


# ---- Arguments given as arrays, lists, tuples or objects of SciPy


def as_vector(values: Any, what: str) -> Vec3:
    """Return three finite numbers as a vector; `what` is their name in messages."""
    return values if isinstance(values, Vec3) else Vec3.of(finite_array(values, what, (3,)).tolist())


def as_rotation(value: Any, what: str) -> Mat3:
    """Return a rotation given as a matrix of shape (3, 3) or a `Rotation` of SciPy; `what` is its name in messages."""
    if isinstance(value, Mat3):
        return value
    return _proper(finite_array(_matrix_of(value), what, (3, 3)), what)


def as_pose(value: Any, what: str) -> Pose:
    """Return a pose, also of a matrix (4, 4) or (3, 4), of a point (3,) or of a rotation.

    `what` is the name of the argument in messages. A rotation is a matrix (3, 3) or a `Rotation` of SciPy; a rigid
    transform of SciPy or Pinocchio is a pose.
    """
    if isinstance(value, Pose):
        return value
    if isinstance(value, (Vec3, Mat3)):
        return Pose(translation=value) if isinstance(value, Vec3) else Pose(value)
    numbers = finite_array(_matrix_of(value), what, (3,), (3, 3), (3, 4), (4, 4))
    if numbers.ndim == 1:
        return Pose(translation=Vec3.of(numbers.tolist()))
    if numbers[3:].tolist() not in ([], [[0.0, 0.0, 0.0, 1.0]]):
        raise ArgumentError(f"the last row of {what} is {numbers[3].tolist()}.", expected="[0, 0, 0, 1]")
    translation = Vec3.of(numbers[:3, 3].tolist()) if numbers.shape[1] == 4 else ZERO
    return Pose(_proper(numbers[:3, :3], what), translation)


def _matrix_of(value: Any) -> Any:
    """Return the matrix of a rotation or transform of SciPy or Pinocchio; other values unchanged."""
    return value.as_matrix() if callable(getattr(value, "as_matrix", None)) else getattr(value, "homogeneous", value)


def _proper(R: np.ndarray, what: str) -> Mat3:
    error = float(np.abs(R.T @ R - np.eye(3)).max())
    if error > ORTHONORMAL_TOLERANCE:
        raise ArgumentError(f"{what} is not orthonormal (error {error:.1e}).", expected="a rotation matrix")
    if np.linalg.det(R) < 0.0:
        raise ArgumentError(f"{what} is a reflection.", expected="determinant +1")
    return Mat3.of(R.tolist())
