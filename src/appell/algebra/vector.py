"""3-vectors over abstract scalars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from appell.algebra.scalar import Scalar, plain


@dataclass(frozen=True, slots=True)
class Vec3:
    """A vector with three components in one coordinate system."""

    x: Scalar
    y: Scalar
    z: Scalar

    @staticmethod
    def of(components: Iterable[Scalar]) -> Vec3:
        """Return the vector of three components; NumPy numbers become Python numbers."""
        return Vec3(*map(plain, components))

    def __iter__(self) -> Iterator[Scalar]:
        return iter((self.x, self.y, self.z))

    def __getitem__(self, k: int) -> Scalar:
        return (self.x, self.y, self.z)[k]

    def __add__(self, other: Vec3) -> Vec3:
        return Vec3(self.x + other.x, self.y + other.y, self.z + other.z)

    def __sub__(self, other: Vec3) -> Vec3:
        return Vec3(self.x - other.x, self.y - other.y, self.z - other.z)

    def __neg__(self) -> Vec3:
        return Vec3(-self.x, -self.y, -self.z)

    def __rmul__(self, scale: Scalar) -> Vec3:
        return Vec3(scale * self.x, scale * self.y, scale * self.z)

    def dot(self, other: Vec3) -> Scalar:
        """Return the scalar product."""
        return self.x * other.x + self.y * other.y + self.z * other.z

    def cross(self, other: Vec3) -> Vec3:
        """Return the vector product self × other."""
        return Vec3(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )


ZERO = Vec3(0.0, 0.0, 0.0)
UNITS = (Vec3(1.0, 0.0, 0.0), Vec3(0.0, 1.0, 0.0), Vec3(0.0, 0.0, 1.0))


def total(vectors: Iterable[Vec3]) -> Vec3:
    """Return the sum of vectors."""
    return sum(vectors, start=ZERO)
