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
    """A(q) v = b(q) with a function of the tree's q that gives the rows of A and the numbers b, `size` of them.

    It is written over scalars, with appell.sin, sqrt and select, and is differentiated by the compiler:

        Velocities(lambda q: ([[ap.sin(q[2]), -ap.cos(q[2]), 0.0]], [0.0]), name="blade")
    """

    kind: ClassVar[str] = "velocities"
    function: Callable[[Vector], tuple[Sequence[Vector], Vector]]
    size: int = 1

    @property
    def usual_name(self) -> str:
        return getattr(self.function, "__name__", "velocities")

    @property
    def row_labels(self) -> tuple[str, ...]:
        return tuple(str(k + 1) for k in range(self.size))

    @property
    def holonomic(self) -> tuple[bool, ...]:
        return (False,) * self.size

    @property
    def drivable(self) -> tuple[str, ...]:
        return self.row_labels

    def table(self, q: Vector) -> list[list[Scalar]]:
        """[A b], a row for each row."""
        A, b = self.function(q)
        return [[*row, right] for row, right in zip(A, b, strict=True)]

    def flaws(self, robot: Robot) -> Iterator[Flaw]:
        if not isinstance(self.size, int) or self.size < 1:
            yield Flaw(self.culprit, f"{self.owner} has size {self.size!r}.", "how many rows it has, 1 or more")
            return
        wanted = f"{self.size} rows of nv = {robot.nv} numbers, and as many right sides: ([[...]], [...])"
        hint = "a function of the list q that is written with appell.sin, cos, sqrt, select"
        try:
            shape = [len(row) - 1 for row in self.table([float(x) for x in robot.start])]
        except (AppellError, TypeError, ValueError, IndexError) as error:
            yield Flaw(self.culprit, f"{self.owner} cannot be computed: {error}.", wanted, hint)
            return
        if shape != [robot.nv] * self.size:
            yield Flaw(self.culprit, f"{self.owner} gives {_listed(shape)}.", wanted)


def _listed(shape: Any) -> str:
    sizes = sorted(set(shape))
    return f"{len(shape)} rows of {' and '.join(map(str, sizes))} numbers" if shape else "no rows"
