"""Building blocks for the legs of parallel robots, over abstract scalars.

The elbow of most legs moves on a circle, and the second link fixes the distance from the elbow to the point that the
leg holds. Together this gives

    a cos θ + b sin θ = c                                                                                       (1)

With D = a² + b² and s = √(D - c²), which is real only within reach of the leg, both solutions
θ = atan2(b, a) ± atan2(s, c) satisfy

    D cos θ = a c ∓ b s              D sin θ = b c ± a s                                                        (2)

so that a rotation by θ needs no trigonometric functions.
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
    """An angle given by its cosine and sine."""

    def __init__(self, cosine: Scalar, sine: Scalar):
        self.cosine = cosine
        self.sine = sine

    @property
    def value(self) -> Scalar:
        """The angle in (-π, π], rad."""
        return atan2(self.sine, self.cosine)

    @property
    def about_z(self) -> Mat3:
        """The rotation about z by this angle."""
        c, s = self.cosine, self.sine
        return Mat3.of([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def closing_angle(a: Scalar, b: Scalar, c: Scalar, branch: int) -> Angle:
    """Return the solution θ of (1), computed by (2).

    Parameters
    ----------
    a, b, c : coefficients of (1), scalars
    branch : +1 or -1, the sign of s in (2)
    """
    D = a * a + b * b
    s = branch * sqrt(D - c * c)
    inverse = 1.0 / D
    return Angle((a * c - b * s) * inverse, (b * c + a * s) * inverse)


def check_branches(branches: Sequence[int], legs: int, owner: str) -> tuple[int, ...]:
    """Return the branches as a tuple of +1 and -1.

    Parameters
    ----------
    branches : one of +1 and -1 per leg
    legs : number of legs
    owner : name of the mechanism in messages

    Raises
    ------
    ArgumentError
        If there are more or fewer branches than legs, or other values.
    """
    try:
        signs = tuple(int(b) for b in branches)
    except (TypeError, ValueError):
        signs = ()
    if (
        len(signs) != legs
        or any(b not in (1, -1) for b in signs)
        or any(b != g for b, g in zip(signs, branches, strict=True))
    ):
        raise ArgumentError(f"{owner} has branches {branches!r}.", expected=f"{legs} numbers, each 1 or -1")
    return signs


def check_positive(owner: str, **sizes: float) -> None:
    """Raise ArgumentError for the first size that is not a positive number."""
    for name, size in sizes.items():
        if not (isinstance(size, (int, float)) and 0.0 < size < float("inf")):
            raise ArgumentError(f"{owner} has {name} = {size!r}.", expected="a positive number")


def rotation_zyx(yaw: Scalar, pitch: Scalar, roll: Scalar) -> Mat3:
    """Return the rotation Rz(yaw) Ry(pitch) Rx(roll).

    Parameters
    ----------
    yaw, pitch, roll : angles, rad
    """
    (cz, sz), (cy, sy), (cx, sx) = ((cos(t), sin(t)) for t in (yaw, pitch, roll))
    return Mat3.of(
        [
            [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
            [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
            [-sy, cy * sx, cy * cx],
        ]
    )


def rotation_z(angle: float) -> Mat3:
    """Return a constant rotation about z by an angle in rad, with exact zeros and ones."""
    c, s = snap(cos(angle)), snap(sin(angle))
    return Mat3.of([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_x(angle: float) -> Mat3:
    """Return a constant rotation about x by an angle in rad, with exact zeros and ones."""
    c, s = snap(cos(angle)), snap(sin(angle))
    return Mat3.of([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def norm(v: Vec3) -> Scalar:
    """Return the length of a vector."""
    return sqrt(v.dot(v))


def cylinder(mass: float, length: float, radius: float, axis: int = 0) -> Body:
    """Return a solid cylinder that starts at the origin.

    Parameters
    ----------
    mass : kg
    length, radius : m
    axis : 0, 1 or 2 for x, y or z
    """
    com = [0.5 * length if k == axis else 0.0 for k in range(3)]
    return shapes.cylinder(mass, radius, length, shapes.AXES[axis], com)


def disc(mass: float, radius: float, thickness: float = 0.01) -> Body:
    """Return a flat cylinder in the xy plane with its centre at the origin.

    Parameters
    ----------
    mass : kg
    radius, thickness : m
    """
    return shapes.cylinder(mass, radius, thickness)


def diagonal(xx: float, yy: float, zz: float) -> Mat3:
    """Return the inertia matrix of three principal moments.

    Parameters
    ----------
    xx, yy, zz : moments, kg m²
    """
    return Mat3.symmetric(xx, 0.0, 0.0, yy, 0.0, zz)
