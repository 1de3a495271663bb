"""Walls: surfaces given by a gap that is positive where a point may be, zero on the wall and negative inside it.

The gap is a function over scalars, so that it is traced, differentiated twice and compiled with the robot. Near the
wall φ/|∇φ| is the distance. The gaps of round walls are polynomials, (R² - r²) / 2R, with unit slope on the wall; what
rolls on them asks for their distance, R - r, wherever it is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from appell.algebra.scalar import Scalar, sqrt
from appell.algebra.vector import Vec3
from appell.compile.function import Function
from appell.compile.tape.tape import Array, Tape
from appell.compile.tape.trace import trace
from appell.errors import AppellError, ArgumentError


class Surface(ABC):
    """A wall."""

    @abstractmethod
    def gap(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """φ at a point of the world."""

    def derivatives(self) -> tuple[Tape, Tape, Tape]:
        """The tapes of φ, ∇φ and the Hessian, each a function of the point x[3]."""
        gap = Function.of("gap", {"x": 3}, lambda x: {"gap": self.gap(*x)})
        gradient = gap.jacobian("x")
        return gap.tape, gradient.tape, gradient.jacobian("x").tape


@dataclass(frozen=True)
class Plane(Surface):
    """The half space normal·x ≥ offset is free; offset is the distance from the origin along the normal."""

    normal: Iterable[float] = (0.0, 0.0, 1.0)
    offset: float = 0.0

    def __post_init__(self):
        object.__setattr__(self, "normal", _direction(self.normal, "the normal of a plane"))
        _number(self.offset, "the offset of a plane")

    def gap(self, x, y, z):
        return Vec3.of(self.normal).dot(Vec3(x, y, z)) - self.offset

    distance = gap


class Round(Surface):
    """A wall at a constant distance from a point or a line."""

    radius: float
    inside: bool

    @abstractmethod
    def square(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """r², the square of the distance from the point or line."""

    def gap(self, x, y, z):
        gap = 0.5 * self.radius - (0.5 / self.radius) * self.square(x, y, z)
        return gap if self.inside else -gap

    def distance(self, x: Scalar, y: Scalar, z: Scalar) -> Scalar:
        """R - r, everywhere."""
        distance = self.radius - sqrt(self.square(x, y, z))
        return distance if self.inside else -distance


@dataclass(frozen=True)
class Sphere(Round):
    """A ball, free inside or outside."""

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
    """A round tube without ends about an axis through `center`, free inside or outside."""

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
    """A circle in the x-y plane, for robots that move in it; `center` has two components, or three with z ignored."""

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
    """Any function(x, y, z) of scalars, positive where a point may be; write it with appell.sin, sqrt, select ..."""

    function: Callable[[Scalar, Scalar, Scalar], Scalar]
    name: str = field(default="", compare=False)

    def __post_init__(self):
        if not callable(self.function):
            raise ArgumentError(f"Implicit({self.function!r}) has no function.", expected="a function of (x, y, z)")
        try:
            tape = trace("gap", [Array("x", (3,))], lambda x: {"gap": self.function(*x)})
        except AppellError:
            raise
        except TypeError as error:
            raise ArgumentError(
                f"{self.title} cannot be traced: {error}.", expected="a function of (x, y, z)"
            ) from error
        if tape.outputs[0].shape != ():
            raise ArgumentError(f"{self.title} gives {tape.outputs[0].size} values.", expected="one scalar, the gap")
        if not tape.reads:
            raise ArgumentError(
                f"{self.title} is constant, so that there is no wall.", expected="a function of the place"
            )

    @property
    def title(self) -> str:
        return f"the implicit function '{self.name or getattr(self.function, '__name__', 'of a wall')}'"

    def gap(self, x, y, z):
        return self.function(x, y, z)


def _number(value, what: str) -> float:
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ArgumentError(f"{what} is {value!r}.", expected="a finite number")
    return float(value)


def _radius(value, what: str) -> None:
    if not _number(value, f"the radius of {what}") > 0:
        raise ArgumentError(f"the radius of {what} is {value!r}.", expected="a positive number")


def _vector(given: Iterable[float], what: str) -> tuple[float, ...]:
    try:
        numbers = tuple(float(x) for x in given)
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise ArgumentError(f"{what} is {given!r}.", expected="three finite numbers")
    return numbers


def _direction(given: Iterable[float], what: str) -> tuple[float, ...]:
    vector = _vector(given, what)
    length = math.hypot(*vector)
    if length == 0.0:
        raise ArgumentError(f"{what} is {_text(vector)}, which has no direction.", expected="a vector that is not zero")
    return tuple(x / length for x in vector)


def _text(vector: Sequence[float]) -> str:
    return f"({', '.join(f'{x:g}' for x in vector)})"
