"""A rigid body: its mass, centre of mass and inertia, and whether anything in the world can have them.

The matrix Σ = ∫ r rᵀ dm of any matter is positive semidefinite. With the principal moments λ₁ ≤ λ₂ ≤ λ₃ of the inertia
about the centre of mass this says one thing, λ₃ ≤ λ₁ + λ₂, and that no moment is negative follows from it. Points,
ideal rods and plates reach equality. Printed inertias are rounded, so what counts is the excess

    (λ₃ - λ₁ - λ₂) / λ₃                                                                                         (1)

    up to 1e-6      nothing to say: arithmetic, or seven printed digits (or all moments are below m (10 µm)²: a point)
    up to 1e-2      taken as it is, with a warning that names the excess: three printed digits bring that much
    above           no body has it

A slender body has moments many decades apart. An entry of Σ = ½ tr(I) 1 - I sums three of them in the order in which
nothing is lost, and a moment is taken back as the sum of two entries, so that the small one is not lost beside
large ones, be they numbers or arguments of a function.

Bodies that cannot move on each other are one body. With d from one centre of mass to the other,

    m = m₁ + m₂        c = c₁ + (m₂/m) d        I = I₁ + I₂ + (m₁m₂/m) (d·d 1 - d dᵀ)                            (2)

which never leaves the centres of mass, so that nothing small is lost beside the moments about a distant origin.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from appell.algebra.matrix import IDENTITY, ZEROS, Mat3, outer
from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, select
from appell.algebra.vector import ZERO, Vec3
from appell.errors import ModelError
from appell.model.joints import Partial

POINT = 1e-5  # m; what turns within this radius is a point mass, and the rest of its inertia rounding
ROUNDING = 1e-6  # excess (1) that is not worth a word
LARGEST_EXCESS = 1e-2  # excess (1) that the rounding of three printed digits can bring about
INERTIA_FORMS = "3 numbers (Ixx, Iyy, Izz), 6 (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) or a 3x3 matrix, in kg m²"
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
        return Inertia(mass, Vec3(hx, hy, hz), second_of(Mat3.symmetric(xx, xy, xz, yy, yz, zz)))

    @property
    def pseudo(self) -> list[list[Scalar]]:
        """Σ = ∫ r rᵀ dm with r = (x, y, z, 1), four by four."""
        rows = [[*row, h] for row, h in zip(self.second.rows, self.first, strict=True)]
        return [*rows, [*self.first, self.mass]]

    @property
    def rotational(self) -> Mat3:
        """Inertia tensor about the origin."""
        return rotational_of(self.second)

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


def inertias_of(names: Iterable[str], parameters) -> dict[str, Inertia]:
    """The inertias of some bodies, from ten parameters of each."""
    return {name: Inertia.from_parameters(parameters[10 * k : 10 * k + 10]) for k, name in enumerate(names)}


@dataclass(frozen=True)
class Body:
    """Mass in kg, centre of mass in m, inertia about the centre of mass in kg m², both in link axes.

    Body(2.0, (0.1, 0, 0), (0.01, 0.02, 0.02)): vectors and matrices may be given as any sequences of numbers, the
    inertia as 3 moments, 6 numbers (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) or three rows. `model.shapes` makes textbook bodies.
    """

    mass: float
    com: Vec3 = ZERO
    inertia: Mat3 = ZEROS

    def __post_init__(self):
        if not isinstance(self.com, Vec3):
            if (com := _numbers(self.com)) is None or len(com) != 3:
                raise ModelError(f"a body has its centre of mass at {self.com!r}.", expected="three numbers, in m")
            object.__setattr__(self, "com", Vec3(*com))
        if not isinstance(self.inertia, Mat3):
            if (inertia := inertia_of(self.inertia)) is None:
                raise ModelError(f"a body has inertia {self.inertia!r}.", expected=INERTIA_FORMS)
            object.__setattr__(self, "inertia", inertia)
        try:
            object.__setattr__(self, "mass", float(self.mass))
        except (TypeError, ValueError):
            raise ModelError(f"a body has mass {self.mass!r}.", expected="a number, in kg") from None

    @staticmethod
    def from_parameters(parameters) -> Body:
        """From the ten parameters [m, m c, inertia about the origin]; the mass must not be zero."""
        return Body.from_inertia(Inertia.from_parameters(parameters))

    @staticmethod
    def from_inertia(about_origin: Inertia) -> Body:
        mass = about_origin.mass
        if mass == 0.0:
            raise ModelError("a body of mass 0 has no centre of mass.", expected="a positive mass, in kg")
        com = (1.0 / mass) * about_origin.first
        second = about_origin.second - mass * outer(com, com)
        return Body(mass, com, rotational_of(second))

    def moved(self, pose: Pose) -> Body:
        """The same matter, in the system in which `pose` places the axes of this body."""
        R = pose.rotation
        return Body(self.mass, pose.apply(self.com), Mat3.symmetric(*(R @ self.inertia @ R.T).upper))

    @property
    def about_origin(self) -> Inertia:
        """The distribution that the equations of motion are written in."""
        second = second_of(self.inertia) + self.mass * outer(self.com, self.com)
        return Inertia(self.mass, self.mass * self.com, second)

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

    @property
    def is_nothing(self) -> bool:
        """Whether there is neither mass nor inertia."""
        return self.mass == 0.0 and not any(x for row in self.inertia.rows for x in row)

    @property
    def moments(self) -> tuple[float, float, float]:
        """The principal moments of inertia about the centre of mass in kg m², smallest first."""
        low, middle, high = np.linalg.eigvalsh(np.array([list(row) for row in self.inertia.rows])).tolist()
        return low, middle, high

    def excess(self) -> float:
        """(1): by how much the largest moment is above the sum of the others, as a part of it; at most 0 if not."""
        low, middle, high = self.moments
        size = max(abs(low), abs(high))
        return (high - low - middle) / size if size > self.mass * POINT**2 else 0.0

    def flaw(self) -> str:
        """What no real body can have of this one, as the end of a sentence; empty if all is well."""
        if not self.is_finite:
            return "has a mass, centre of mass or inertia that is not finite"
        if self.mass <= 0.0:
            return f"has mass {self.mass:g} kg, which is not positive"
        size = max(abs(x) for row in self.inertia.rows for x in row)
        pairs = zip(self.inertia.upper, self.inertia.T.upper, strict=True)
        if any(abs(x - y) > 1e-9 * abs(y) + 1e-12 * size for x, y in pairs):
            return "has an inertia matrix that is not symmetric"
        if (excess := self.excess()) <= LARGEST_EXCESS:
            return ""
        listed = ", ".join(f"{moment:.6g}" for moment in self.moments)
        if self.moments[0] < 0.0:
            return f"has principal moments of inertia {listed} kg m²; no body has a negative one"
        above = f"no body has one above the sum of the other two, here it is {100.0 * excess:.3g} % above"
        return f"has principal moments of inertia {listed} kg m²; {above}"

    def doubt(self) -> str:
        """What only the rounding of printed digits excuses, as the end of a sentence; empty if there is none."""
        if not ROUNDING < (excess := self.excess()) <= LARGEST_EXCESS:
            return ""
        listed = ", ".join(f"{moment:.6g}" for moment in self.moments)
        above = f"the largest above the sum of the other two by {excess:.2g} of itself"
        return f"has principal moments of inertia {listed} kg m², {above}, which rounding may have done"


def second_of(rotational: Mat3) -> Mat3:
    """Σ = ½ tr(I) 1 - I, to the last digits of every entry."""
    xx, xy, xz, yy, yz, zz = rotational.upper
    return Mat3.symmetric(_rest(yy, zz, xx), -xy, -xz, _rest(xx, zz, yy), -yz, _rest(xx, yy, zz))


def _rest(one: Scalar, other: Scalar, moment: Scalar) -> Scalar:
    """½ (one + other - moment). Where much cancels, greater - moment does not round: they are within a factor of 2."""
    gap = one - other
    greater, lesser = select(gap, one, other), select(gap, other, one)
    return 0.5 * ((greater - moment) + lesser)


def rotational_of(second: Mat3) -> Mat3:
    """tr(Σ) 1 - Σ, each moment as the sum of two entries."""
    xx, xy, xz, yy, yz, zz = second.upper
    return Mat3.symmetric(yy + zz, -xy, -xz, xx + zz, -yz, xx + yy)


def inertia_of(given: object) -> Mat3 | None:
    """Three moments, six entries of the upper triangle row by row, or three rows, as a matrix; None if it is none."""
    if isinstance(given, Mat3):
        return given
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        return None
    entries = list(given)
    rows = [_numbers(row) for row in entries]
    if len(rows) == 3 and all(row is not None and len(row) == 3 for row in rows):
        return Mat3.of(row for row in rows if row is not None)
    numbers = _numbers(entries)
    if numbers is None or len(numbers) not in (3, 6):
        return None
    if len(numbers) == 6:
        return Mat3.symmetric(*numbers)
    return Mat3.symmetric(numbers[0], 0.0, 0.0, numbers[1], 0.0, numbers[2])


def _numbers(given: object) -> list[float] | None:
    """Real numbers as floats; None if anything else is among them."""
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        return None
    try:
        entries = list(given)
        return None if any(isinstance(x, (str, bytes, bool)) for x in entries) else [float(x) for x in entries]
    except (TypeError, ValueError, OverflowError):
        return None


def welded(one: Body | None, other: Body | None) -> Body | None:
    """(2), in the same axes; None is no matter."""
    if one is None or other is None:
        return one or other
    mass, d = one.mass + other.mass, other.com - one.com
    share = other.mass / mass if mass else 0.0  # two bodies without mass may have inertia
    apart = (one.mass * share) * (d.dot(d) * IDENTITY - outer(d, d))
    com = one.com + share * d
    return Body(mass, com, Mat3.symmetric(*(one.inertia + other.inertia + apart).upper))
