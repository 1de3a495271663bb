"""3x3 matrices over abstract scalars."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import overload

from appell.algebra.scalar import Scalar
from appell.algebra.vector import UNITS, ZERO, Vec3


@dataclass(frozen=True, slots=True)
class Mat3:
    """A 3x3 matrix, stored as three rows."""

    rows: tuple[Vec3, Vec3, Vec3]

    @staticmethod
    def of(rows: Iterable[Iterable[Scalar]]) -> Mat3:
        """Return the matrix with the given rows."""
        a, b, c = (Vec3.of(row) for row in rows)
        return Mat3((a, b, c))

    @staticmethod
    def symmetric(xx: Scalar, xy: Scalar, xz: Scalar, yy: Scalar, yz: Scalar, zz: Scalar) -> Mat3:
        """Return the symmetric matrix with the given entries on and above the diagonal."""
        return Mat3((Vec3(xx, xy, xz), Vec3(xy, yy, yz), Vec3(xz, yz, zz)))

    def __getitem__(self, index: tuple[int, int]) -> Scalar:
        return self.rows[index[0]][index[1]]

    @property
    def T(self) -> Mat3:
        """The transpose."""
        a, b, c = self.rows
        return Mat3((Vec3(a.x, b.x, c.x), Vec3(a.y, b.y, c.y), Vec3(a.z, b.z, c.z)))

    @property
    def trace(self) -> Scalar:
        """The sum of the diagonal."""
        return self[0, 0] + self[1, 1] + self[2, 2]

    @property
    def upper(self) -> tuple[Scalar, ...]:
        """The entries xx, xy, xz, yy, yz, zz, in the order of `symmetric`."""
        return (self[0, 0], self[0, 1], self[0, 2], self[1, 1], self[1, 2], self[2, 2])

    def __add__(self, other: Mat3) -> Mat3:
        (a, b, c), (x, y, z) = self.rows, other.rows
        return Mat3((a + x, b + y, c + z))

    def __sub__(self, other: Mat3) -> Mat3:
        (a, b, c), (x, y, z) = self.rows, other.rows
        return Mat3((a - x, b - y, c - z))

    def __rmul__(self, scale: Scalar) -> Mat3:
        a, b, c = self.rows
        return Mat3((scale * a, scale * b, scale * c))

    @overload
    def __matmul__(self, other: Vec3) -> Vec3: ...
    @overload
    def __matmul__(self, other: Mat3) -> Mat3: ...
    def __matmul__(self, other):
        if isinstance(other, Vec3):
            a, b, c = self.rows
            return Vec3(a.dot(other), b.dot(other), c.dot(other))
        (a, b, c), (x, y, z) = self.rows, other.T.rows
        return Mat3(
            (
                Vec3(a.dot(x), a.dot(y), a.dot(z)),
                Vec3(b.dot(x), b.dot(y), b.dot(z)),
                Vec3(c.dot(x), c.dot(y), c.dot(z)),
            )
        )


IDENTITY = Mat3(UNITS)
ZEROS = Mat3((ZERO, ZERO, ZERO))


def skew(v: Vec3) -> Mat3:
    """Return ṽ, the matrix with ṽ u = v × u."""
    return Mat3.of([[0.0, -v.z, v.y], [v.z, 0.0, -v.x], [-v.y, v.x, 0.0]])


def axial(m: Mat3) -> Vec3:
    """Return the vector a with ã = m - mᵀ."""
    return Vec3(m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1])


def axial_of_product(m: Mat3, s: Mat3) -> Vec3:
    """Return axial(m s) for a symmetric s; using its symmetry, 15 multiplications instead of 18."""
    return Vec3(
        m[2, 0] * s[0, 1] - m[1, 0] * s[0, 2] + m[2, 1] * s[1, 1] - m[1, 2] * s[2, 2] + (m[2, 2] - m[1, 1]) * s[1, 2],
        m[0, 1] * s[1, 2] - m[2, 1] * s[0, 1] + m[0, 2] * s[2, 2] - m[2, 0] * s[0, 0] + (m[0, 0] - m[2, 2]) * s[0, 2],
        m[1, 2] * s[0, 2] - m[0, 2] * s[1, 2] + m[1, 0] * s[0, 0] - m[0, 1] * s[1, 1] + (m[1, 1] - m[0, 0]) * s[0, 1],
    )


def outer(u: Vec3, v: Vec3) -> Mat3:
    """Return u vᵀ."""
    return Mat3((u.x * v, u.y * v, u.z * v))


def symmetric_product(u: Vec3, v: Vec3) -> Mat3:
    """Return u vᵀ + v uᵀ; entries above and below the diagonal are computed once."""
    return Mat3.symmetric(
        2.0 * (u.x * v.x),
        u.x * v.y + u.y * v.x,
        u.x * v.z + u.z * v.x,
        2.0 * (u.y * v.y),
        u.y * v.z + u.z * v.y,
        2.0 * (u.z * v.z),
    )
