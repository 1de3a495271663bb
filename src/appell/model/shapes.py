"""Textbook bodies of uniform density: points, rods, plates, boxes, spheres, cylinders and capsules.

Each body has its centre of mass at `com` and its edges or axis along the axes of the link; masses are in kg, lengths in
m. Points, rods and plates have no thickness: their zero principal moments are exact.

Examples
--------
>>> import appell as ap
>>> arm = ap.shapes.rod(2.0, 0.6, axis="x", com=(0.3, 0, 0))
>>> [round(moment, 6) for moment in arm.moments]
[0.0, 0.06, 0.06]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from appell.algebra.scalar import is_number
from appell.algebra.vector import Vec3
from appell.errors import ArgumentError, is_finite, unknown_name, value_text
from appell.model.beam import beam as beam
from appell.model.body import Body
from appell.model.visual import SIZES

AXES = "xyz"
Point = Vec3 | Iterable[float]


def point(mass: float, com: Point = (0.0, 0.0, 0.0)) -> Body:
    """Point mass: no inertia about its centre of mass."""
    _check("a point mass", mass=mass)
    return _body(mass, com, (0.0, 0.0, 0.0))


def rod(mass: float, length: float, axis: str = "x", com: Point = (0.0, 0.0, 0.0)) -> Body:
    """Thin rod: moments m l² / 12 across the rod, 0 about its axis.

    Parameters
    ----------
    mass : float
        Mass, kg.
    length : float
        Length, m.
    axis : {"x", "y", "z"}
        Axis of the link along which the rod lies.
    com : sequence of 3 floats
        Centre of mass in link axes, m.

    Returns
    -------
    Body
    """
    _check("a rod", mass=mass, length=length)
    return _symmetric(mass, com, axis, 0.0, mass * length**2 / 12)


def plate(mass: float, width: float, height: float, axis: str = "z", com: Point = (0.0, 0.0, 0.0)) -> Body:
    """Thin rectangular plate.

    Parameters
    ----------
    mass : float
        Mass, kg.
    width, height : float
        Edge lengths, m, along the two axes that follow the normal in cyclic order: x and y if the normal is z.
    axis : {"x", "y", "z"}
        Normal of the plate.
    com : sequence of 3 floats
        Centre of mass in link axes, m.

    Returns
    -------
    Body
    """
    _check("a plate", mass=mass, width=width, height=height)
    first, second = mass * height**2 / 12, mass * width**2 / 12
    normal = _axis_index(axis)
    moments = [0.0] * 3
    moments[normal], moments[(normal + 1) % 3], moments[(normal + 2) % 3] = first + second, first, second
    return _body(mass, com, moments)


def box(mass: float, x: float, y: float, z: float, com: Point = (0.0, 0.0, 0.0)) -> Body:
    """Solid box.

    Parameters
    ----------
    mass : float
        Mass, kg.
    x, y, z : float
        Edge lengths along the axes of the link, m.
    com : sequence of 3 floats
        Centre of mass in link axes, m.

    Returns
    -------
    Body
    """
    _check("a box", mass=mass, x=x, y=y, z=z)
    xx, yy, zz = (mass * side**2 / 12 for side in (x, y, z))
    return _body(mass, com, (yy + zz, xx + zz, xx + yy))


def sphere(mass: float, radius: float, com: Point = (0.0, 0.0, 0.0)) -> Body:
    """Solid sphere: moments 2 m r² / 5.

    Parameters
    ----------
    mass : float
        Mass, kg.
    radius : float
        Radius, m.
    com : sequence of 3 floats
        Centre of mass in link axes, m.

    Returns
    -------
    Body
    """
    _check("a sphere", mass=mass, radius=radius)
    return _body(mass, com, (0.4 * mass * radius**2,) * 3)


def cylinder(mass: float, radius: float, length: float, axis: str = "z", com: Point = (0.0, 0.0, 0.0)) -> Body:
    """Solid cylinder. A short one is a disc.

    Parameters
    ----------
    mass : float
        Mass, kg.
    radius, length : float
        Radius and length, m.
    axis : {"x", "y", "z"}
        Axis of the link along which the cylinder lies.
    com : sequence of 3 floats
        Centre of mass in link axes, m.

    Returns
    -------
    Body
    """
    _check("a cylinder", mass=mass, radius=radius, length=length)
    return _symmetric(mass, com, axis, mass * radius**2 / 2, mass * (radius**2 / 4 + length**2 / 12))


def capsule(mass: float, radius: float, length: float, axis: str = "z", com: Point = (0.0, 0.0, 0.0)) -> Body:
    """Capsule: a cylinder between two half balls.

    Parameters
    ----------
    mass : float
        Mass, kg.
    radius, length : float
        Radius, and distance of the centres of the half balls, m.
    axis : {"x", "y", "z"}
        Axis of the link along which the capsule lies.
    com : sequence of 3 floats
        Centre of mass in link axes, m.

    Returns
    -------
    Body
    """
    _check("a capsule", mass=mass, radius=radius, length=length)
    middle = mass * length / (length + 4.0 / 3.0 * radius)  # mass of the cylinder
    balls = mass - middle
    along = (0.5 * middle + 0.4 * balls) * radius**2
    across = middle * (length**2 / 12 + radius**2 / 4) + balls * (
        0.4 * radius**2 + length**2 / 4 + 0.375 * length * radius
    )
    return _symmetric(mass, com, axis, along, across)


def solid_body(mass: float, shape: str, size: tuple[float, ...]) -> Body:
    """Body of a collision shape: "sphere", "capsule", "box" or "cylinder", with its dimensions."""
    shapes: dict[str, Callable[..., Body]] = {"sphere": sphere, "capsule": capsule, "box": box, "cylinder": cylinder}
    if shape not in shapes:
        raise ArgumentError(unknown_name("shape of a free body", str(shape), shapes, "Builder.free_body"))
    fields = SIZES[shape]
    if len(size) != len(fields):
        raise ArgumentError(f"the size of a {shape} is {value_text(size)}.", expected=f"({', '.join(fields)})")
    return shapes[shape](mass, *size)


def _symmetric(mass: float, com: Point, axis: str, along: float, across: float) -> Body:
    """Body with rotational symmetry: moment `along` about its axis, `across` about the other two."""
    moments = [across] * 3
    moments[_axis_index(axis)] = along
    return _body(mass, com, moments)


def _body(mass: float, com: Point, moments: Iterable[float]) -> Body:
    return Body(mass, com, tuple(moments))  # type: ignore[arg-type]


def _axis_index(axis: str) -> int:
    if axis not in tuple(AXES):
        raise ArgumentError(f"the axis of a body is {axis!r}.", expected="'x', 'y' or 'z'")
    return AXES.index(axis)


def _check(shape: str, **sizes: float) -> None:
    for name, size in sizes.items():
        if isinstance(size, bool) or not is_number(size) or not (is_finite(size) and size > 0.0):
            raise ArgumentError(f"{shape} has {name} {value_text(size)}.", expected="a positive number")
