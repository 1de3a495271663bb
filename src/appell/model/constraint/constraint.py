"""A constraint: rows on top of a tree of links, that tie velocities and, most of them, positions.

    K(q) v + b = 0                    of every row; where the row has a gap, φ(q) = 0 and φ̇ = K v + b

A multiplier of a row is a force or a moment: on side a of a closure, and its opposite on side b. Constraints are data;
their rows are written in `appell.formulate.constrained`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

from appell.algebra.rotation import Pose
from appell.model.frame import Frame
from appell.model.robot import Robot
from appell.model.validate import Flaw

Place = str | Pose | None  # a frame by its name, a place in the world, or the world itself
GROUND = "world"  # how the world is called where a frame's name is expected


@dataclass(frozen=True, kw_only=True)
class Constraint(ABC):
    """Something that keeps a robot from moving in some directions."""

    kind: ClassVar[str]  # what it is called in files
    name: str = ""  # of its own, or made of what it ties

    def __post_init__(self):
        if not self.name:
            object.__setattr__(self, "name", self.usual_name)

    @property
    @abstractmethod
    def usual_name(self) -> str:
        """Its name if none is given."""

    @property
    @abstractmethod
    def row_labels(self) -> tuple[str, ...]:
        """A label for every row."""

    @property
    def rows(self) -> int:
        return len(self.row_labels)

    @property
    def row_units(self) -> tuple[str, ...]:
        """rad or m: what the velocity in a row is the rate of."""
        return ("m",) * self.rows

    @property
    def holonomic(self) -> tuple[bool, ...]:
        """Of every row, whether it ties positions: whether it has a gap."""
        return (True,) * self.rows

    @property
    def drivable(self) -> tuple[str, ...]:
        """The rows that measure something, which may be prescribed as a function of time."""
        return ()

    @property
    def motions(self) -> tuple[str, ...]:
        """The rows whose motion is prescribed, each by three numbers: position, velocity and acceleration."""
        return ()

    @abstractmethod
    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        """What keeps it from constraining this robot."""

    @property
    def owner(self) -> str:
        """How messages call it: hinge 'tip-pin'."""
        return f"{self.kind} '{self.name}'"

    @property
    def culprit(self) -> tuple[str, str]:
        return self.kind, self.name


def place_name(place: Place) -> str:
    """How a place is called in a name that is made of two."""
    return place if isinstance(place, str) else GROUND


def find_frame(robot: Robot, place: Place) -> Frame:
    """The frame that a place is: `world` is the world, unless the robot has a frame of that name."""
    if place is None or (place == GROUND and GROUND not in robot.frame_names):
        return Frame(GROUND, None)
    return Frame(GROUND, None, place) if isinstance(place, Pose) else robot.frame(place)


def is_finite(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def is_positive(value: object) -> bool:
    return is_finite(value) and value > 0.0  # type: ignore[operator]
