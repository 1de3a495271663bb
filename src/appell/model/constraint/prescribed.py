"""Constraints that move: what a row measures follows a function of time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from appell.errors import unknown_name
from appell.model.constraint.constraint import Constraint
from appell.model.robot import Robot
from appell.model.validate import Flaw


@dataclass(frozen=True)
class Prescribed(Constraint):
    """Rows of a constraint that follow s(t) in place of 0: Prescribed(Gear({"lift": 1.0})).

    `labels` are those that do; all that can if none is named. Position, velocity and acceleration of every motion are
    inputs of the functions; the multiplier is the drive's force. A point is driven along the axes of b; a gear adds s
    to its offset, a distance to its length. Where a row ties velocities only, s itself does not count.
    """

    kind: ClassVar[str] = "prescribed"
    constraint: Constraint
    labels: tuple[str, ...] = ()

    def __post_init__(self):
        if not self.labels and isinstance(self.constraint, Constraint):
            object.__setattr__(self, "labels", self.constraint.drivable)
        super().__post_init__()

    @property
    def usual_name(self) -> str:
        return getattr(self.constraint, "name", "")

    @property
    def row_labels(self) -> tuple[str, ...]:
        return self.constraint.row_labels

    @property
    def row_units(self) -> tuple[str, ...]:
        return self.constraint.row_units

    @property
    def holonomic(self) -> tuple[bool, ...]:
        return self.constraint.holonomic

    @property
    def motions(self) -> tuple[str, ...]:
        return tuple(label for label in self.row_labels if label in self.labels)

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        yield from self.constraint.flaws(robot)
        if not self.constraint.drivable:
            problem = f"{self.constraint.owner} has no row whose motion can be prescribed."
            hint = "Gear for the motion of a joint, or a link on a joint whose motion is prescribed"
            yield Flaw(self.culprit, problem, "a constraint that measures a place, a length or a velocity", hint)
        for label in self.labels:
            if label not in self.constraint.drivable:
                sentence = unknown_name("motion", str(label), self.constraint.drivable, self.constraint.owner)
                yield Flaw(self.culprit, sentence)
