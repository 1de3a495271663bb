"""Rigid bodies: mass, centre of mass and inertia, and the check that they are physically possible.

The matrix Σ = ∫ r rᵀ dm of any mass distribution is positive semidefinite. In terms of the principal moments
λ₁ ≤ λ₂ ≤ λ₃ of the inertia about the centre of mass, this is the single condition λ₃ ≤ λ₁ + λ₂; it implies that no
moment is negative. Points, ideal rods and plates reach equality. Because printed inertias are rounded, the relative
excess decides:

    (λ₃ - λ₁ - λ₂) / λ₃                                                                                         (1)

    up to 1e-6      accepted: rounding of arithmetic or of seven printed digits
    up to 1e-2      accepted with a warning that states the excess: rounding of three printed digits
    above           rejected

A body whose moments are all below m (10 µm)² is a point, and its excess counts as 0.

The moments of a slender body can differ by many decades. An entry of Σ = ½ tr(I) 1 - I sums three of them in the order
that loses no digits, and a moment is recovered as the sum of two entries. A small moment is thus not lost next to large
ones, whether moments are numbers or arguments of a function.

Bodies that are rigidly connected are one body. With d from one centre of mass to the other,

    m = m₁ + m₂        c = c₁ + (m₂/m) d        I = I₁ + I₂ + (m₁m₂/m) (d·d 1 - d dᵀ)                            (2)

These formulas use inertias about centres of mass only, so that small moments are not lost next to moments about a
distant origin.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from appell.algebra.matrix import IDENTITY, ZEROS, Mat3, outer
from appell.algebra.rotation import Pose, as_pose
from appell.algebra.scalar import Scalar, select
from appell.algebra.vector import ZERO, Vec3
from appell.errors import ModelError, is_finite, value_text
from appell.model.joints import Partial

POINT_RADIUS_M = 1e-5  # a body with a smaller radius of gyration is a point mass; its inertia is rounding error
NEGLIGIBLE_EXCESS = 1e-6  # excess (1) that is accepted without a warning
MAX_EXCESS = 1e-2  # excess (1) that the rounding of three printed digits can cause
INERTIA_FORMS = "3 numbers (Ixx, Iyy, Izz), 6 (Ixx, Ixy, Ixz, Iyy, Iyz, Izz) or a 3x3 matrix, in kg m²"
PARAMETER_NAMES = ("m", "mcx", "mcy", "mcz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")


@dataclass(frozen=True)
class Inertia:
    """Mass distribution about the origin of its link, linear in the ten inertial parameters.

    `mass` is in kg. `first` is the first moment ∫ r dm (kg m) and `second` the matrix of second moments ∫ r rᵀ dm
    (kg m²). The rotational inertia about the origin is tr(second) 1 - second.
    """

    mass: Scalar = 0.0
    first: Vec3 = ZERO
    second: Mat3 = ZEROS

    @staticmethod
    def from_parameters(parameters) -> Inertia:
        """Create an inertia from [m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz], inertia about the origin."""
        mass, hx, hy, hz, xx, xy, yy, xz, yz, zz = parameters
        return Inertia(mass, Vec3(hx, hy, hz), second_moments(Mat3.symmetric(xx, xy, xz, yy, yz, zz)))

    @property
    def pseudo(self) -> list[list[Scalar]]:
        """Pseudo-inertia Σ = ∫ r rᵀ dm with r = (x, y, z, 1), a 4 x 4 matrix."""
        rows = [[*row, h] for row, h in zip(self.second.rows, self.first, strict=True)]
        return [*rows, [*self.first, self.mass]]

    @property
    def rotational(self) -> Mat3:
        """Inertia tensor about the origin."""
        return rotational_inertia(self.second)

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.mass + other.mass, self.first + other.first, self.second + other.second)

    def impulse(self, partial: Partial) -> tuple[Vec3, Vec3]:
        """Linear and angular momentum about the origin of the velocity field b × r + u: ∫ ṙ dm and ∫ r × ṙ dm.

        For an acceleration field of the same form, they are the force and the moment that it requires.
        """
        b, u = partial.angular, partial.linear
        return self.mass * u + b.cross(self.first), self.rotational @ b + self.first.cross(u)

    def moved(self, pose: Pose) -> Inertia:
        """Transform to another frame, about its origin and in its axes; `pose` is the pose of this frame in it."""
        rotated, s = pose.rotation @ self.first, pose.translation
        second = pose.rotation @ self.second @ pose.rotation.T
        return Inertia(
            self.mass,
            rotated + self.mass * s,
            second + outer(s, rotated) + outer(rotated, s) + self.mass * outer(s, s),
        )


def inertias_of(names: Iterable[str], parameters) -> dict[str, Inertia]:
    """Split a parameter vector with ten entries per body into inertias by name."""
    return {name: Inertia.from_parameters(parameters[10 * k : 10 * k + 10]) for k, name in enumerate(names)}


@dataclass(frozen=True)
class Body:
    """Rigid body. `ap.shapes` creates rods, boxes, cylinders and other textbook bodies.

    Parameters
    ----------
    mass : float
        Mass, kg.
    com : sequence of 3 floats
        Centre of mass in link axes, m.
    inertia : sequence
        Inertia about the centre of mass in link axes, kg m²: 3 moments (Ixx, Iyy, Izz), 6 numbers (Ixx, Ixy, Ixz, Iyy,
        Iyz, Izz) or a 3x3 matrix.

    Raises
    ------
    ModelError
        If an argument does not have this form. Robots and mechanisms check that the values are physically possible.

    Examples
    --------
    >>> import appell as ap
    >>> body = ap.Body(2.0, (0.1, 0, 0), (0.01, 0.02, 0.02))
    >>> body.moments
    (0.01, 0.02, 0.02)
    >>> body.parameters[:4]  # mass and first moments
    (2.0, 0.2, 0.0, 0.0)
    >>> print(ap.Body(2.0, inertia=(0.01, 0.02, 0.05)).flaw())
    has principal moments of inertia 0.01, 0.02, 0.05 kg m²; the largest exceeds the sum of the other two by 40 %
    """

    mass: float
    com: Vec3 = ZERO
    inertia: Mat3 = ZEROS

    def __post_init__(self):
        if not isinstance(self.com, Vec3):
            if (com := _numbers(self.com)) is None or len(com) != 3:
                raise ModelError(f"a body has centre of mass {self.com!r}.", expected="three numbers, in m")
            object.__setattr__(self, "com", Vec3(*com))
        if not isinstance(self.inertia, Mat3):
            if (inertia := as_inertia_matrix(self.inertia)) is None:
                raise ModelError(f"a body has inertia {self.inertia!r}.", expected=INERTIA_FORMS)
            object.__setattr__(self, "inertia", inertia)
        try:
            object.__setattr__(self, "mass", float(self.mass))
        except (TypeError, ValueError, OverflowError):
            raise ModelError(f"a body has mass {value_text(self.mass)}.", expected="a number, in kg") from None

    @staticmethod
    def from_parameters(parameters) -> Body:
        """Create a body from the ten parameters [m, m c, inertia about the origin]; the mass must not be zero."""
        return Body.from_inertia(Inertia.from_parameters(parameters))

    @staticmethod
    def from_inertia(about_origin: Inertia) -> Body:
        """Create a body from a mass distribution about the origin; the mass must not be zero."""
        mass = about_origin.mass
        if mass == 0.0:
            raise ModelError("a body of mass 0 has no centre of mass.", expected="a positive mass, in kg")
        com = (1.0 / mass) * about_origin.first
        second = about_origin.second - mass * outer(com, com)
        return Body(mass, com, rotational_inertia(second))

    def moved(self, pose: Pose) -> Body:
        """Transform to another frame; `pose` is the pose of this frame in it."""
        pose = as_pose(pose, "the pose of a body")
        R = pose.rotation
        return Body(self.mass, pose.apply(self.com), Mat3.symmetric(*(R @ self.inertia @ R.T).upper))

    @property
    def about_origin(self) -> Inertia:
        """Mass distribution about the link's origin, in which the equations of motion are written."""
        second = second_moments(self.inertia) + self.mass * outer(self.com, self.com)
        return Inertia(self.mass, self.mass * self.com, second)

    @property
    def parameters(self) -> tuple[float, ...]:
        """[m, m cx, m cy, m cz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz], inertia about the link's origin."""
        inertia = self.about_origin
        xx, xy, xz, yy, yz, zz = inertia.rotational.upper
        return (inertia.mass, *inertia.first, xx, xy, yy, xz, yz, zz)

    @property
    def is_finite(self) -> bool:
        """Whether all numbers are finite, including the inertia about the link's origin."""
        entries = (x for row in self.inertia.rows for x in row)
        return all(is_finite(x) for x in (*self.com, *entries, *self.parameters))

    @property
    def is_zero(self) -> bool:
        """Whether the body has neither mass nor inertia."""
        return self.mass == 0.0 and not any(x for row in self.inertia.rows for x in row)

    @property
    def moments(self) -> tuple[float, float, float]:
        """Principal moments of inertia about the centre of mass in kg m², in ascending order."""
        low, middle, high = np.linalg.eigvalsh(np.array([list(row) for row in self.inertia.rows])).tolist()
        return low, middle, high

    def excess(self) -> float:
        """Relative excess (1) of the largest principal moment over the sum of the others; at most 0 if possible."""
        low, middle, high = self.moments
        size = max(abs(low), abs(high))
        return (high - low - middle) / size if size > self.mass * POINT_RADIUS_M**2 else 0.0

    def flaw(self) -> str:
        """Return what makes this body physically impossible, as the end of a sentence; empty if it is possible."""
        if not self.is_finite:
            return "has a mass, centre of mass or inertia that is not finite"
        if self.mass <= 0.0:
            return f"has mass {self.mass:g} kg, which is not positive"
        size = max(abs(x) for row in self.inertia.rows for x in row)
        pairs = zip(self.inertia.upper, self.inertia.T.upper, strict=True)
        if any(abs(x - y) > 1e-9 * abs(y) + 1e-12 * size for x, y in pairs):
            return "has an inertia matrix that is not symmetric"
        if (excess := self.excess()) <= MAX_EXCESS:
            return ""
        listed = ", ".join(f"{moment:.6g}" for moment in self.moments)
        if self.moments[0] < 0.0:
            return f"has principal moments of inertia {listed} kg m²; the smallest is negative"
        above = f"the largest exceeds the sum of the other two by {100.0 * excess:.3g} %"
        return f"has principal moments of inertia {listed} kg m²; {above}"

    def rounding_warning(self) -> str:
        """Return a violation that rounded digits explain, as the end of a sentence; empty if there is none."""
        if not NEGLIGIBLE_EXCESS < (excess := self.excess()) <= MAX_EXCESS:
            return ""
        listed = ", ".join(f"{moment:.6g}" for moment in self.moments)
        above = f"the largest exceeds the sum of the other two by {100.0 * excess:.2g} %"
        return f"has principal moments of inertia {listed} kg m²; {above}, possibly because of rounding"


def second_moments(rotational: Mat3) -> Mat3:
    """Σ = ½ tr(I) 1 - I, accurate to the last digits of every entry."""
    xx, xy, xz, yy, yz, zz = rotational.upper
    return Mat3.symmetric(
        _second_moment(yy, zz, xx), -xy, -xz, _second_moment(xx, zz, yy), -yz, _second_moment(xx, yy, zz)
    )


def _second_moment(one: Scalar, other: Scalar, moment: Scalar) -> Scalar:
    """½ (one + other - moment).

    Where digits cancel, `greater` and `moment` are within a factor of 2, so that their difference is exact.
    """
    gap = one - other
    greater, lesser = select(gap, one, other), select(gap, other, one)
    return 0.5 * ((greater - moment) + lesser)


def rotational_inertia(second: Mat3) -> Mat3:
    """tr(Σ) 1 - Σ, with each moment computed as the sum of two entries."""
    xx, xy, xz, yy, yz, zz = second.upper
    return Mat3.symmetric(yy + zz, -xy, -xz, xx + zz, -yz, xx + yy)


def as_inertia_matrix(given: object) -> Mat3 | None:
    """Convert three moments, six entries of the upper triangle row by row, or three rows; None for anything else."""
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
    """Convert real numbers to floats; None if any entry is not a number."""
    if not isinstance(given, Iterable) or isinstance(given, (str, bytes)):
        return None
    try:
        entries = list(given)
        return None if any(isinstance(x, (str, bytes, bool)) for x in entries) else [float(x) for x in entries]
    except (TypeError, ValueError, OverflowError):
        return None


def welded(one: Body | None, other: Body | None) -> Body | None:
    """Combine two rigidly connected bodies given in the same axes by (2); None stands for a body without mass."""
    if one is None or other is None:
        return one or other
    mass, d = one.mass + other.mass, other.com - one.com
    share = other.mass / mass if mass else 0.0  # bodies of zero mass may still have inertia
    apart = (one.mass * share) * (d.dot(d) * IDENTITY - outer(d, d))
    com = one.com + share * d
    return Body(mass, com, Mat3.symmetric(*(one.inertia + other.inertia + apart).upper))
