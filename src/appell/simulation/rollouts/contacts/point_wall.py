"""Points that face walls, over abstract scalars: how far away they are, and along which axes they meet.

    d = φ / |∇φ|          n = ∇φ / |∇φ|                                                                      (1)

as in the simulator. Where φ has no slope, as in the middle of a round wall, there is no wall near: n is the x axis
there and d is φ. A wall that is not there at a time is FAR away.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from appell.algebra.scalar import Scalar, Vector, is_number, select
from appell.algebra.vector import Vec3
from appell.compile.tape.tape import Tape
from appell.compile.tape.trace import inline
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.formulate.equations import Equations
from appell.formulate.kinematics import PointMotion, WallMotion, wall_motion
from appell.simulation.contact.contact import ALWAYS, Contact, Contacts

FAR = 1e30  # m
FLAT = 1e-24  # of |∇φ|²
NO_BEND = (Vec3(0.0, 0.0, 0.0),) * 3


@dataclass(frozen=True)
class PointWall:
    """A point before its wall."""

    distance: Scalar
    wall: WallMotion
    point: PointMotion

    @property
    def rows(self) -> list[list[Scalar]]:
        """The velocity along the normal and both tangents, as rows that v is multiplied with."""
        columns = [Vec3.of(column) for column in zip(*self.point.J, strict=True)]
        return [[axis.dot(column) for column in columns] for axis in self.wall.frame]


class PointWallPairs:
    """The pairs of points and walls of a run, and its stops, for formulas."""

    def __init__(
        self,
        dyn: Dynamics,
        contacts: Contact | Iterable[Contact] | None = None,
        stops: float | Mapping[str, float] | None = None,
    ):
        self.known = Contacts(dyn, () if contacts is None else contacts, stops)
        self.pairs = self.known.pairs.pairs
        of_walls = slice(len(self.pairs))
        self.restitution: list[float] = self.known.restitution.tolist()[of_walls]
        self.friction: list[float] = self.known.friction.tolist()[of_walls]
        points = self.known.names[of_walls]
        self.names = tuple(  # a point before several walls bears their numbers
            name if points.count(name) == 1 else f"{name}_{wall + 1}"
            for name, (_, wall) in zip(points, self.pairs, strict=True)
        )

    @property
    def timed(self) -> bool:
        """Whether walls come and go."""
        return bool(self.known.edges)

    @cached_property
    def _tapes(self) -> list[tuple[Tape, Tape, Tape]]:
        return [surface.derivatives() for surface in self.known.pairs.surfaces]

    def at(self, equations: Equations, q: Vector, v: Vector, t: Scalar | None = None) -> list[PointWall]:
        """All pairs at a state."""
        if self.timed and t is None:
            raise ArgumentError("a wall is there at times only, and the time is not given.", hint="give t")
        points = equations.point_motions(self.known.frames, q, v)
        found = []
        for (p, w), spans in zip(self.pairs, self.known.windows, strict=False):
            gap, gradient = (inline(tape, points[p].position)[0] for tape in self._tapes[w][:2])
            g = Vec3.of(gradient)
            seen = wall_motion(gap, Vec3(select(g.dot(g) - FLAT, g.x, 1.0), g.y, g.z), NO_BEND, points[p].velocity)
            distance = seen.gap / seen.slope
            found.append(PointWall(distance if spans == ALWAYS else _present(t, spans, distance), seen, points[p]))
        return found


def _present(t: Scalar, spans: Sequence[tuple[float, float]], distance: Scalar) -> Scalar:
    """The distance from a wall that is there from low on and gone at high."""
    found: Scalar = FAR
    for low, high in spans:
        within = distance if math.isinf(high) else select(high - t, distance, found)
        found = within if math.isinf(low) else select(low - t, found, within)
    return found


def is_zero(row: Vector) -> bool:
    """Whether a row is zero whatever the state is."""
    return all(is_number(x) and x == 0.0 for x in row)
