"""Walls: surfaces defined by a gap that is positive in free space, zero on the wall and negative inside it.

The gap is a function over scalars, so that it can be traced, differentiated twice and compiled with the robot. Near the
wall φ/|∇φ| is the distance. The gaps of round walls are polynomials, (R² - r²) / 2R, with unit slope on the wall;
rolling constraints use the exact distance R - r instead.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from appell.algebra.rotation import Pose, rotation_of_z_to
from appell.algebra.scalar import Scalar, real_array, sqrt
from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.compile.tape.tape import Array, Tape
from appell.compile.tape.trace import trace
from appell.errors import AppellError, ArgumentError, is_finite, value_text
from appell.formulate.distance.closest import Solid

LONG_CYLINDER_M = 1e3  # half length of the solid of a cylinder that is free outside


class Surface(ABC):
    """Base class of walls."""

    @abstractmethod
    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """Return the gap φ at a point in world coordinates."""

    def derivatives(self) -> tuple[Tape, Tape, Tape]:
        """Return the tapes of φ, ∇φ and the Hessian, each a function of the point x[3]."""
        gap = Function.of("gap", {"x": 3}, lambda x: {"gap": self.gap(*x)})
        gradient = gap.jacobian("x")
        return gap.tape, gradient.tape, gradient.jacobian("x").tape


@dataclass(frozen=True)
class Plane(Surface):
    """A plane; the half space normal·x ≥ offset is free.

    Parameters
    ----------
    normal
        Direction into the free half space, world axes; any length.
    offset
        Distance of the plane from the origin along the normal, m.

    Examples
    --------
    >>> import appell as ap
    >>> floor = ap.Plane(offset=-0.5)
    >>> floor.gap(0.0, 0.0, 1.0)
    1.5
    """

    normal: Iterable[float] = (0.0, 0.0, 1.0)
    offset: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "normal", _direction(self.normal, "the normal of a plane"))
        _number(self.offset, "the offset of a plane")

    def gap(self, x, y, z):
        return Vec3.of(self.normal).dot(Vec3(x, y, z)) - self.offset

    distance = gap


class Round(Surface):
    """Base class of walls at a constant distance from a point or a line."""

    radius: float
    inside: bool

    @abstractmethod
    def square(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """Return r², the squared distance from the point or line."""

    def gap(self, x, y, z):
        gap = 0.5 * self.radius - (0.5 / self.radius) * self.square(x, y, z)
        return gap if self.inside else -gap

    def distance(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """Return the signed distance from the wall, R - r inside, m."""
        distance = self.radius - sqrt(self.square(x, y, z))
        return distance if self.inside else -distance


@dataclass(frozen=True)
class Sphere(Round):
    """A sphere, free inside or outside.

    Parameters
    ----------
    radius
        Radius, m.
    center
        Center in world coordinates, m.
    inside
        Whether the inside is free; otherwise the outside is.

    Examples
    --------
    >>> import appell as ap
    >>> ap.Sphere(2.0, inside=False).distance(0.0, 0.0, 5.0)
    3.0
    """

    radius: float
    center: Iterable[float] = (0.0, 0.0, 0.0)
    inside: bool = True

    def __post_init__(self):
        _radius(self.radius, "a sphere")
        object.__setattr__(self, "center", _vector(self.center, "the center of a sphere"))

    def square(self, x, y, z):
        d = Vec3(x, y, z) - Vec3.of(self.center)
        return d.dot(d)


@dataclass(frozen=True)
class Cylinder(Round):
    """An infinite circular cylinder, free inside or outside.

    Parameters
    ----------
    radius
        Radius, m.
    center
        A point on the axis in world coordinates, m.
    axis
        Direction of the axis, world axes; any length.
    inside
        Whether the inside is free; otherwise the outside is.

    Examples
    --------
    >>> import appell as ap
    >>> ap.Cylinder(2.0, axis=(0.0, 0.0, 1.0)).distance(0.5, 0.0, 7.0)
    1.5
    """

    radius: float
    center: Iterable[float] = (0.0, 0.0, 0.0)
    axis: Iterable[float] = (0.0, 0.0, 1.0)
    inside: bool = True

    def __post_init__(self):
        _radius(self.radius, "a cylinder")
        object.__setattr__(self, "center", _vector(self.center, "the center of a cylinder"))
        object.__setattr__(self, "axis", _direction(self.axis, "the axis of a cylinder"))

    def square(self, x, y, z):
        across = (Vec3(x, y, z) - Vec3.of(self.center)).cross(Vec3.of(self.axis))
        return across.dot(across)


@dataclass(frozen=True)
class Circle(Round):
    """A circle in the x-y plane, for robots that move in this plane; z is ignored.

    Parameters
    ----------
    radius
        Radius, m.
    center
        Center, two coordinates in m; a third one is ignored.
    inside
        Whether the inside is free; otherwise the outside is.

    Examples
    --------
    >>> import appell as ap
    >>> ap.Circle(1.0, center=(1.0, 0.0)).distance(1.25, 0.0, 3.0)
    0.75
    """

    radius: float
    center: Iterable[float] = (0.0, 0.0)
    inside: bool = True

    def __post_init__(self):
        _radius(self.radius, "a circle")
        center = tuple(self.center)
        object.__setattr__(
            self, "center", _vector((*center, 0.0) if len(center) == 2 else center, "the center of a circle")
        )

    def square(self, x, y, z):
        dx, dy, _ = Vec3(x, y, z) - Vec3.of(self.center)
        return dx * dx + dy * dy


@dataclass(frozen=True)
class Implicit(Surface):
    """A wall defined by a function that is positive in free space.

    Parameters
    ----------
    function
        Function (x, y, z) -> gap over traced scalars; use `ap.sin`, `ap.sqrt`, `ap.select` and arithmetic. Its gradient
        must not vanish on the wall.
    name
        Name for messages.

    Examples
    --------
    >>> import appell as ap
    >>> hills = ap.Implicit(lambda x, y, z: z - 0.1 * ap.sin(x), name="hills")
    >>> hills.gap(0.0, 0.0, 0.5)
    0.5
    """

    function: Callable[[Scalar, Scalar, Scalar], Scalar]
    name: str = field(default="", compare=False)

    def __post_init__(self):
        if not callable(self.function):
            raise ArgumentError(
                f"the function of an Implicit is {self.function!r}.", expected="a function of (x, y, z)"
            )
        try:
            tape = trace("gap", [Array("x", (3,))], lambda x: {"gap": self.function(*x)})
        except AppellError:
            raise
        except TypeError as error:
            raise ArgumentError(
                f"{self.title} cannot be traced: {error}.", expected="a function of (x, y, z)"
            ) from error
        if tape.outputs[0].shape != ():
            raise ArgumentError(f"{self.title} returns {tape.outputs[0].size} values.", expected="one scalar, the gap")
        if not tape.reads:
            raise ArgumentError(f"{self.title} is constant and defines no wall.", expected="a function of x, y or z")

    @property
    def title(self) -> str:
        """Phrase for messages."""
        return f"the implicit function '{self.name or getattr(self.function, '__name__', 'of a wall')}'"

    def gap(self, x, y, z):
        return self.function(x, y, z)


def as_solid(wall: Plane | Sphere | Circle | Cylinder) -> Solid:
    """Return a wall as a solid in the world: free inside, it is hollow; free outside, a ball or a long capsule."""
    if isinstance(wall, Plane):
        normal = Vec3.of(wall.normal)
        return Solid("plane", (), 0.0, Pose(rotation_of_z_to(normal), wall.offset * normal))
    axis = wall.axis if isinstance(wall, Cylinder) else (0.0, 0.0, 1.0)
    pose = Pose(rotation_of_z_to(Vec3.of(axis)), Vec3.of(wall.center))
    if wall.inside:
        return Solid("hollow sphere" if isinstance(wall, Sphere) else "hollow cylinder", (wall.radius,), 0.0, pose)
    if isinstance(wall, Sphere):
        return Solid("point", (0.0,), wall.radius, pose)
    return Solid("segment", (LONG_CYLINDER_M,), wall.radius, pose)


def _number(value, what: str) -> float:
    if not isinstance(value, (int, float)) or not is_finite(value):
        raise ArgumentError(f"{what} is {value_text(value)}.", expected="a finite number")
    return float(value)


def _radius(value, what: str) -> None:
    if not _number(value, f"the radius of {what}") > 0:
        raise ArgumentError(f"the radius of {what} is {value!r}.", expected="a positive number")


def _vector(given: Iterable[float], what: str) -> tuple[float, ...]:
    try:
        numbers = tuple(real_array(list(given)).ravel().tolist())
    except (TypeError, ValueError, OverflowError):
        numbers = ()
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise ArgumentError(f"{what} is {value_text(given)}.", expected="three finite numbers")
    return numbers


def _direction(given: Iterable[float], what: str) -> tuple[float, ...]:
    vector = _vector(given, what)
    length = math.hypot(*vector)
    if length == 0.0:
        raise ArgumentError(f"{what} is {_text(vector)}, which has no direction.", expected="a non-zero vector")
    return tuple(x / length for x in vector)


def _text(vector: Sequence[float]) -> str:
    return f"({', '.join(f'{x:g}' for x in vector)})"
