"""Pairs of a point and a wall over abstract scalars: their distance and the axes of the contact.

    d = φ / |∇φ|          n = ∇φ / |∇φ|                                                                      (1)

as in `simulate`. Where φ has no gradient, as in the centre of a round wall, no wall is near; n is then the x axis and
d is φ. A wall that does not exist at a time has the distance ABSENT_DISTANCE_M.
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

ABSENT_DISTANCE_M = 1e30
MIN_GRADIENT_SQUARED = 1e-24  # of |∇φ|²: a smaller gradient does not define a normal
ZERO_HESSIAN = (Vec3(0.0, 0.0, 0.0),) * 3


@dataclass(frozen=True)
class PointWall:
    """A point and its wall: distance in m, and the motion of both."""

    distance: Scalar
    wall: WallMotion
    point: PointMotion

    @property
    def rows(self) -> list[list[Scalar]]:
        """Jacobian rows of the velocity along the normal and both tangents."""
        columns = [Vec3.of(column) for column in zip(*self.point.J, strict=True)]
        return [[axis.dot(column) for column in columns] for axis in self.wall.frame]


class PointWallPairs:
    """The pairs of points and walls of a rollout, and its joint stops."""

    def __init__(
        self,
        dyn: Dynamics,
        contacts: Contact | Iterable[Contact] | None = None,
        stops: float | Mapping[str, float] | None = None,
    ):
        self.contacts = Contacts(dyn, () if contacts is None else contacts, stops)
        if len(self.contacts.shapes):
            raise ArgumentError(
                "rollouts have no contacts of shapes.",
                expected="ap.Contact(points, surface)",
                hint="Use ap.simulate, or describe the shapes by points.",
            )
        self.pairs = self.contacts.pairs.pairs
        of_walls = slice(len(self.pairs))
        self.restitution: list[float] = self.contacts.restitution.tolist()[of_walls]
        self.friction: list[float] = self.contacts.friction.tolist()[of_walls]
        points = self.contacts.names[of_walls]
        self.names = tuple(  # the name of a point with several walls is followed by the number of the wall
            name if points.count(name) == 1 else f"{name}_{wall + 1}"
            for name, (_, wall) in zip(points, self.pairs, strict=True)
        )

    @property
    def timed(self) -> bool:
        """Whether walls appear or disappear."""
        return bool(self.contacts.switch_times)

    @cached_property
    def _tapes(self) -> list[tuple[Tape, Tape, Tape]]:
        return [surface.derivatives() for surface in self.contacts.pairs.surfaces]

    def at(self, equations: Equations, q: Vector, v: Vector, t: Scalar | None = None) -> list[PointWall]:
        """Return all pairs at a state; `t` is required if walls appear or disappear."""
        if self.timed and t is None:
            raise ArgumentError("a wall exists at some times only, and the time is not given.", hint="Pass t.")
        points = equations.point_motions(self.contacts.frames, q, v)
        pairs = []
        for (p, w), spans in zip(self.pairs, self.contacts.spans, strict=False):
            gap, gradient = (inline(tape, points[p].position)[0] for tape in self._tapes[w][:2])
            g = Vec3.of(gradient)
            normal = Vec3(select(g.dot(g) - MIN_GRADIENT_SQUARED, g.x, 1.0), g.y, g.z)
            wall = wall_motion(gap, normal, ZERO_HESSIAN, points[p].velocity)
            distance = wall.gap / wall.slope
            pairs.append(PointWall(distance if spans == ALWAYS else _present(t, spans, distance), wall, points[p]))
        return pairs


def _present(t: Scalar, spans: Sequence[tuple[float, float]], distance: Scalar) -> Scalar:
    """Return the distance from a wall that exists for low ≤ t < high of each span."""
    timed: Scalar = ABSENT_DISTANCE_M
    for low, high in spans:
        within = distance if math.isinf(high) else select(high - t, distance, timed)
        timed = within if math.isinf(low) else select(low - t, timed, within)
    return timed


def is_zero(row: Vector) -> bool:
    """Return whether a row is zero at all states."""
    return all(is_number(x) and x == 0.0 for x in row)
