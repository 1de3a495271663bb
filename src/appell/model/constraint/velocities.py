"""Constraints on velocities that are written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from appell.algebra.scalar import Scalar, Vector
from appell.errors import AppellError
from appell.model.constraint.constraint import Constraint
from appell.model.robot import Robot
from appell.model.validate import Flaw


@dataclass(frozen=True)
class Velocities(Constraint):
    """A(q) v = b(q) with a function of the tree's q that gives the rows of A and the numbers b, one for each label.

    It is written over scalars, with appell.sin, sqrt and select, and is differentiated along the motion:

        Velocities(lambda q: ([[ap.sin(q[2]), -ap.cos(q[2]), 0.0]], [0.0]), name="blade")
    """

    kind: ClassVar[str] = "velocities"
    function: Callable[[Vector], tuple[Sequence[Vector], Vector]]
    labels: tuple[str, ...] = ("1",)
    units: tuple[str, ...] = ()  # rad or m, of what each row is the rate; m if nothing is said

    @property
    def usual_name(self) -> str:
        return getattr(self.function, "__name__", "velocities")

    @property
    def row_labels(self) -> tuple[str, ...]:
        return tuple(self.labels)

    @property
    def row_units(self) -> tuple[str, ...]:
        return tuple(self.units) or super().row_units

    @property
    def holonomic(self) -> tuple[bool, ...]:
        return (False,) * self.rows

    @property
    def drivable(self) -> tuple[str, ...]:
        return self.row_labels

    def table(self, q: Vector) -> list[list[Scalar]]:
        """[A b], a row for each row."""
        A, b = self.function(q)
        return [[*row, right] for row, right in zip(A, b, strict=True)]

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        if isinstance(self.labels, str) or not self.rows or len(set(self.row_labels)) < self.rows:
            yield Flaw(self.culprit, f"{self.owner} has labels {self.labels!r}.", "a name for each of its rows")
            return
        if len(self.row_units) != self.rows or any(unit not in ("rad", "m") for unit in self.row_units):
            yield Flaw(self.culprit, f"{self.owner} has units {self.units!r}.", "rad or m for each of its rows")
        wanted = f"{self.rows} rows of nv = {robot.nv} numbers, and as many right sides: ([[...]], [...])"
        hint = "a function of the list q that is written with appell.sin, cos, sqrt, select"
        try:
            shape = [len(row) - 1 for row in self.table([float(x) for x in robot.start])]
        except (AppellError, TypeError, ValueError, IndexError) as error:
            yield Flaw(self.culprit, f"{self.owner} cannot be computed: {error}.", wanted, hint)
            return
        if shape != [robot.nv] * self.rows:
            yield Flaw(self.culprit, f"{self.owner} gives {_listed(shape)}.", wanted)


def _listed(shape: Any) -> str:
    sizes = sorted(set(shape))
    return f"{len(shape)} rows of {' and '.join(map(str, sizes))} numbers" if shape else "no rows"
