"""What a mechanism is made of: bodies that move with the coordinates, joints of its legs, how far the legs reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from appell.algebra.rotation import Pose
from appell.algebra.scalar import Scalar, Vector
from appell.model.actuator import IDEAL, Actuator
from appell.model.body import Body
from appell.model.frame import IN_PLACE

Polyline = Sequence[Sequence[float]]
Quantity = Callable[[Vector], Scalar]


@dataclass(frozen=True)
class MovingBody:
    """A rigid body and its pose, written over abstract scalars.

    `pose(q)` places the body in `base`, a system that stands still in the world: what all legs have in common is then
    written once, and turning it into world axes costs nothing. `outline` is a line through points of the body, for
    figures.
    """

    name: str
    pose: Callable[[Vector], Pose]
    body: Body
    base: Pose = IN_PLACE
    outline: Polyline = ()

    def __post_init__(self):
        object.__setattr__(self, "outline", points(self.outline))


@dataclass(frozen=True)
class LegJoint:
    """A joint of a leg: its angle or, with `unit="m"`, its length as a function of the coordinates, and its drive."""

    name: str
    position: Quantity
    unit: str = "rad"
    actuator: Actuator = IDEAL


@dataclass(frozen=True)
class Reach:
    """What keeps a leg closed: some part of it has a size that must lie between a least and a most.

    The second link of a leg whose elbow sweeps a circle must be as long as the shortest way from that circle to the
    point it holds, and no longer than the longest. A driven length must lie within its stroke.
    """

    leg: str
    part: str
    size: Quantity | float
    least: Quantity | float
    most: Quantity | float
    unit: str = "m"

    def values(self, q: Vector) -> list[Scalar]:
        """Size, least and most."""
        return [x(q) if callable(x) else float(x) for x in (self.size, self.least, self.most)]

    def sentence(self, size: float, least: float, most: float) -> str:
        """Why the leg does not close, as the end of a sentence; empty if it does."""
        if least <= size <= most:
            return ""
        error = (
            f"{least - size:.6g} {self.unit} too short" if size < least else f"{size - most:.6g} {self.unit} too long"
        )
        measured, needed = f"{size:.6g} {self.unit}", f"{least:.6g} to {most:.6g} {self.unit}"
        return f"leg '{self.leg}' cannot reach: its {self.part} measures {measured} and needs {needed}, {error}"


@dataclass(frozen=True)
class Recipe:
    """Which mechanism of the zoo this is, and the numbers it was made with: how a file can name it, how it travels."""

    maker: str
    options: Mapping[str, Any]
    make: Callable[..., Any] | None = field(default=None, compare=False)  # the maker itself


def points(line: Polyline) -> Polyline:
    """A line through points, as tuples, so that what holds it can be compared and hashed."""
    return tuple(tuple(float(x) for x in point) for point in line)
