"""Pieces that legs are made of, over abstract scalars.

The elbow of most legs sweeps a circle, and its second link fixes the distance from there to the point that it holds.
Both together say

    a cos θ + b sin θ = c                                                                                       (1)

With D = a² + b² and s = √(D - c²), real only where the leg reaches, both solutions θ = atan2(b, a) ± atan2(s, c) have

    D cos θ = a c ∓ b s              D sin θ = b c ± a s                                                        (2)

so that a rotation by θ needs no trigonometric function at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from appell.algebra.matrix import Mat3
from appell.algebra.scalar import Scalar, atan2, cos, sin, snap, sqrt
from appell.algebra.vector import Vec3
from appell.errors import ArgumentError
from appell.model import shapes
from appell.model.body import Body


class Angle:
    """An angle known by its cosine and sine."""

    def __init__(self, cosine: Scalar, sine: Scalar):
        self.cosine = cosine
        self.sine = sine

    @property
    def value(self) -> Scalar:
        """In (-π, π]."""
        return atan2(self.sine, self.cosine)

    @property
    def about_z(self) -> Mat3:
        c, s = self.cosine, self.sine
        return Mat3.of([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def closing_angle(a: Scalar, b: Scalar, c: Scalar, branch: int) -> Angle:
    """θ of (1), by (2); `branch` is +1 or -1."""
    D = a * a + b * b
    s = branch * sqrt(D - c * c)
    inverse = 1.0 / D
    return Angle((a * c - b * s) * inverse, (b * c + a * s) * inverse)


def check_branches(branches: Sequence[int], legs: int, owner: str) -> tuple[int, ...]:
    """The branches as given, or an error: one of +1 and -1 for every leg."""
    try:
        found = tuple(int(b) for b in branches)
    except (TypeError, ValueError):
        found = ()
    if (
        len(found) != legs
        or any(b not in (1, -1) for b in found)
        or any(b != g for b, g in zip(found, branches, strict=True))
    ):
        raise ArgumentError(f"{owner} has branches {branches!r}.", expected=f"{legs} numbers, each 1 or -1")
    return found


def check_positive(owner: str, **sizes: float) -> None:
    """An error for the first size that is not a positive number."""
    for name, size in sizes.items():
        if not (isinstance(size, (int, float)) and 0.0 < size < float("inf")):
            raise ArgumentError(f"{owner} has {name} = {size!r}.", expected="a positive number")


def rotation_zyx(yaw: Scalar, pitch: Scalar, roll: Scalar) -> Mat3:
    """Rz(yaw) Ry(pitch) Rx(roll)."""
    (cz, sz), (cy, sy), (cx, sx) = ((cos(t), sin(t)) for t in (yaw, pitch, roll))
    return Mat3.of(
        [
            [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
            [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
            [-sy, cy * sx, cy * cx],
        ]
    )


def turn_z(angle: float) -> Mat3:
    """A constant rotation about z, its zeros and ones exact."""
    c, s = snap(cos(angle)), snap(sin(angle))
    return Mat3.of([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def turn_x(angle: float) -> Mat3:
    """The same about x."""
    c, s = snap(cos(angle)), snap(sin(angle))
    return Mat3.of([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def norm(v: Vec3) -> Scalar:
    """The length of a vector."""
    return sqrt(v.dot(v))


def cylinder(mass: float, length: float, radius: float, axis: int = 0) -> Body:
    """A solid cylinder from the origin along a coordinate axis."""
    com = [0.5 * length if k == axis else 0.0 for k in range(3)]
    return shapes.cylinder(mass, radius, length, shapes.AXES[axis], com)


def disc(mass: float, radius: float, thickness: float = 0.01) -> Body:
    """A flat cylinder in the xy plane, its centre at the origin."""
    return shapes.cylinder(mass, radius, thickness)


def diagonal(xx: float, yy: float, zz: float) -> Mat3:
    """The inertia matrix of three principal moments."""
    return Mat3.symmetric(xx, 0.0, 0.0, yy, 0.0, zz)
