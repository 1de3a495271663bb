"""Closures: what two frames keep in common, one on each side of a loop.

Axes 1, 2, 3 of a frame are its x, y, z. Rows of three kinds make all closures: components of a - b, `along k` (the
component along axis k of b) and `square ij` (axis i of a at a right angle to axis j of b).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from appell.errors import ModelError
from appell.model.constraint.constraint import Constraint, Place, find_frame, is_positive, place_name
from appell.model.robot import Robot
from appell.model.validate import Flaw

POSITION, TURN = ("x", "y", "z"), ("rx", "ry", "rz")
COAXIAL = ("square 13", "square 23")  # axis 3 of both frames is one direction


@dataclass(frozen=True)
class Closure(Constraint):
    """Ties frame `a` to frame `b`, the world if None."""

    labels: ClassVar[tuple[str, ...]]
    a: str
    b: Place = None

    @property
    def usual_name(self) -> str:
        return f"{place_name(self.a)}-{place_name(self.b)}"

    @property
    def row_labels(self) -> tuple[str, ...]:
        return self.labels

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple("rad" if label in TURN or label.startswith("square") else "m" for label in self.labels)

    @property
    def drivable(self) -> tuple[str, ...]:
        return tuple(label for label in self.labels if label not in TURN)

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        yield from tie_flaws(self, robot, self.a, self.b)


class Point(Closure):
    """The origins of both frames coincide: a ball joint. The multipliers are the force on a."""

    kind, labels = "point", POSITION


class Orientation(Closure):
    """The axes of both frames are parallel. The multipliers are the moment on a."""

    kind, labels = "orientation", TURN


class Weld(Closure):
    """Both frames coincide. The multipliers are the force and the moment on a."""

    kind, labels = "weld", POSITION + TURN


class Hinge(Closure):
    """The origins coincide, and axis z is shared: b turns on a."""

    kind, labels = "hinge", POSITION + COAXIAL


class Universal(Closure):
    """The origins coincide, and the axes z cross at a right angle: a cross of Cardan."""

    kind, labels = "universal", (*POSITION, "square 33")


class Cylindrical(Closure):
    """Axis z is shared, along which and about which b moves on a."""

    kind, labels = "cylinder", ("along 1", "along 2", *COAXIAL)


class Slider(Closure):
    """Axis z is shared, along which b slides on a without a turn."""

    kind, labels = "slider", (*Cylindrical.labels, "square 12")


class OnLine(Closure):
    """The origin of a stays on axis z of b."""

    kind, labels = "line", ("along 1", "along 2")


class OnPlane(Closure):
    """The origin of a stays in the x-y plane of b."""

    kind, labels = "plane", ("along 3",)


class Flat(Closure):
    """The x-y planes of both frames coincide."""

    kind, labels = "flat", ("along 3", *COAXIAL)


@dataclass(frozen=True)
class Distance(Closure):
    """The origins keep a length apart, as on a rod without mass; a positive multiplier pushes them apart.

    Without a length it is that of the configuration in which the robot starts.
    """

    kind, labels = "distance", ("length",)
    length: float | None = None

    @property
    def drivable(self) -> tuple[str, ...]:
        return self.labels

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        yield from super().flaws(robot)
        if self.length is not None and not is_positive(self.length):
            problem, wanted = f"{self.owner} has length {self.length!r}.", "a finite length above 0, in m"
            yield Flaw(self.culprit, problem, wanted, "Point for two origins that coincide")


def tie_flaws(constraint: Constraint, robot: Robot, a: Place, b: Place) -> Iterator[Flaw]:
    """Flaws of two frames that are to be tied: unknown ones, or both on one link."""
    links = []
    for place in (a, b):
        try:
            links.append(find_frame(robot, place).body)
        except ModelError as error:
            yield Flaw(constraint.culprit, f"{constraint.owner} ties '{place}'. {error.problem}")
    if len(links) == 2 and links[0] == links[1]:
        where = "in the world" if links[0] is None else f"on link '{links[0]}'"
        problem = f"{constraint.owner} of {robot.owner} ties '{place_name(a)}' and '{place_name(b)}', both {where}."
        yield Flaw(constraint.culprit, problem, "frames on two links, or on a link and the world")
