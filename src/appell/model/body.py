"""A rigid body: its mass, centre of mass and inertia, and whether anything in the world can have them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from appell.algebra.matrix import IDENTITY, ZEROS, Mat3, outer
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar
from appell.algebra.vector import ZERO, Vec3
from appell.model.joints import Partial

TRIANGLE_TOLERANCE = 1e-6  # relative; published inertias are rounded to a few digits
PARAMETER_NAMES = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


@dataclass(frozen=True)
class Inertia:
    """A mass distribution about the origin of its link, linear in the ten inertial parameters.

    `first` is ∫ r dm and `second` is ∫ r rᵀ dm. The rotational inertia about the origin is tr(second) 1 - second.
    """

    mass: Scalar = 0.0
    first: Vec3 = ZERO
    second: Mat3 = ZEROS

    @staticmethod
    def from_parameters(parameters) -> Inertia:
        """From [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz], inertia about the origin."""
        mass, hx, hy, hz, xx, xy, yy, xz, yz, zz = parameters
        half = 0.5 * (xx + yy + zz)
        return Inertia(mass, Vec3(hx, hy, hz), Mat3.symmetric(half - xx, -xy, -xz, half - yy, -yz, half - zz))

    @property
    def pseudo(self) -> list[list[Scalar]]:
        """Σ = ∫ r rᵀ dm with r = (x, y, z, 1), four by four."""
        rows = [[*row, h] for row, h in zip(self.second.rows, self.first, strict=True)]
        return [*rows, [*self.first, self.mass]]

    @property
    def rotational(self) -> Mat3:
        """Inertia tensor about the origin."""
        return self.second.trace * IDENTITY - self.second

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.mass + other.mass, self.first + other.first, self.second + other.second)

    def impulse(self, partial: Partial) -> tuple[Vec3, Vec3]:
        """Force and moment about the origin that a velocity field b × r + u asks of this matter: ∫ ṙ dm, ∫ r × ṙ dm."""
        b, u = partial.angular, partial.linear
        return self.mass * u + b.cross(self.first), self.rotational @ b + self.first.cross(u)

    def seen_from(self, pose: Pose) -> Inertia:
        """The same matter about the origin and in the axes of the system in which `pose` places this one."""
        turned, s = pose.rotation @ self.first, pose.translation
        second = pose.rotation @ self.second @ pose.rotation.T
        return Inertia(
            self.mass,
            turned + self.mass * s,
            second + outer(s, turned) + outer(turned, s) + self.mass * outer(s, s),
        )


@dataclass(frozen=True)
class Body:
    """Mass in kg, centre of mass in m, inertia about the centre of mass in kg m², both in link axes."""

    mass: float
    com: Vec3
    inertia: Mat3

    @staticmethod
    def from_parameters(parameters) -> Body:
        """From the ten parameters [m, m c, inertia about the origin]; the mass must not be zero."""
        return Body.from_inertia(Inertia.from_parameters(parameters))

    @staticmethod
    def from_inertia(about_origin: Inertia) -> Body:
        mass = about_origin.mass
        com = (1.0 / mass) * about_origin.first
        second = about_origin.second - mass * outer(com, com)
        return Body(mass, com, Mat3.symmetric(*(second.trace * IDENTITY - second).upper))

    def moved(self, pose: Pose) -> Body:
        """The same matter, in the system in which `pose` places the axes of this body."""
        R = pose.rotation
        return Body(self.mass, pose.apply(self.com), Mat3.symmetric(*(R @ self.inertia @ R.T).upper))

    @property
    def about_origin(self) -> Inertia:
        """The distribution that the equations of motion are written in."""
        second = (0.5 * self.inertia.trace) * IDENTITY - self.inertia
        return Inertia(self.mass, self.mass * self.com, second + self.mass * outer(self.com, self.com))

    @property
    def parameters(self) -> tuple[float, ...]:
        """[m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz], inertia about the link's origin."""
        whole = self.about_origin
        xx, xy, xz, yy, yz, zz = whole.rotational.upper
        return (whole.mass, *whole.first, xx, xy, yy, xz, yz, zz)

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are, those about the link's origin included."""
        entries = (x for row in self.inertia.rows for x in row)
        return all(math.isfinite(x) for x in (*self.com, *entries, *self.parameters))

    def flaw(self) -> str:
        """What no real body can have of this one, as the end of a sentence; empty if all is well."""
        if not self.is_finite:
            return "has a mass, centre of mass or inertia that is not finite"
        if self.mass <= 0.0:
            return f"has mass {self.mass:g} kg, which is not positive"
        matrix = np.array([list(row) for row in self.inertia.rows])
        if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12 * np.abs(matrix).max()):
            return "has an inertia matrix that is not symmetric"
        moments = np.linalg.eigvalsh(matrix)
        listed = ", ".join(f"{moment:.6g}" for moment in moments)
        if moments[0] <= 0.0:
            return f"has principal moments of inertia {listed} kg m², which are not all positive"
        if moments[0] + moments[1] < moments[2] * (1.0 - TRIANGLE_TOLERANCE):
            return f"has principal moments of inertia {listed} kg m²; no body has one above the sum of the other two"
        return ""
