"""Which rows obey which laws in a step: walls, stops and dry drives, with what each may do at its end.

    low = -e u⁻               of a wall that is hit: u⁻ = n·v < 0, and faster than twice what the step adds to it
    low = -max(d, 0) / s      of others: a point may go as far as to its wall, and one inside must not go deeper  (1)

u⁻ are speeds before the step, d distances at the configuration q where the rows are taken, and s is the time for which
the velocity after the step carries q on. Stops are ranges with two such bounds. Rows that are zero whatever the state
is, such as the second tangent of a robot in a plane, are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from appell.algebra.piecewise import magnitude, positive
from appell.algebra.scalar import Scalar, Vector, dot, select
from appell.formulate.equations import Equations
from appell.simulation.rollouts.contacts.facing import Facing, is_zero
from appell.simulation.rollouts.contacts.impulse_laws import Box, Cone, ImpulseLaw, Matrix, Range
from appell.simulation.stops import JointStop

SLOW = 2.0  # times what a step adds to the speed: slower points do not bounce


@dataclass(frozen=True)
class Stretch:
    """A step as laws see it: velocities before it and after it if nothing touched, its length h, and s."""

    before: Vector
    free: Vector
    h: Scalar
    s: Scalar

    def bound(self, distance: Scalar) -> Scalar:
        """(1) without bounces."""
        return -positive(distance) / self.s

    def bouncing(self, row: Vector, distance: Scalar, restitution: float, sign: float = 1.0) -> Scalar:
        """(1)."""
        before = sign * dot(row, self.before)
        gained = sign * dot(row, self.free) - before
        fast = -before - SLOW * magnitude(gained)
        bounce = select(fast, -restitution * before, 0.0)
        reaches = distance + self.s * (before + gained)
        low = self.bound(distance)
        return select(reaches, low, select(bounce, bounce, low))


@dataclass(frozen=True)
class Obeying:
    """Rows, their law without and with bounces, and the distances of the first row from its bounds, if it has any.

    `axes` says which of normal, first and second tangent the rows are.
    """

    rows: Matrix
    law: ImpulseLaw
    bouncing: ImpulseLaw
    axes: tuple[int, ...] = (0,)
    below: Scalar | None = None
    above: Scalar | None = None

    @property
    def sided(self) -> bool:
        return self.below is not None or self.above is not None

    def way_back(self, way: Scalar) -> Range:
        """The law of pushes that lead the first row back to its bounds, after this much of a way along it."""
        low = None if self.below is None else -(self.below + way)
        return Range(low, None if self.above is None else self.above - way)


def of_walls(
    facings: Iterable[Facing], restitutions: Iterable[float], frictions: Iterable[float], stretch: Stretch
) -> list[Obeying | None]:
    """Of every pair; None where nothing can move along the normal."""
    found: list[Obeying | None] = []
    for facing, e, mu in zip(facings, restitutions, frictions, strict=True):
        rows = facing.rows
        axes = (0, *(k for k in (1, 2) if mu > 0.0 and not is_zero(rows[k])))
        lows = [stretch.bound(facing.distance), stretch.bouncing(rows[0], facing.distance, e)]
        held, thrown = (Cone(low, mu, len(axes)) if len(axes) > 1 else Range(low) for low in lows)
        own = Obeying([rows[k] for k in axes], held, thrown, axes, below=facing.distance)
        found.append(None if is_zero(rows[0]) else own)
    return found


def of_stops(stops: Sequence[JointStop], restitutions: Sequence[float], q: Vector, stretch: Stretch) -> list[Obeying]:
    """Of every joint with stops, both in one law."""
    joints: dict[str, list[tuple[JointStop, float]]] = {}
    for stop, e in zip(stops, restitutions, strict=True):
        joints.setdefault(stop.joint, []).append((stop, e))
    found = []
    for own in joints.values():
        row = [abs(own[0][0].scale) * x for x in _unit(own[0][0], len(stretch.free))]
        sides: dict[float, tuple[Scalar, Scalar, Scalar]] = {}
        for stop, e in own:
            sign, gap = stop.sign * (1.0 if stop.scale > 0 else -1.0), stop.gap(q)
            sides[sign] = gap, sign * stretch.bound(gap), sign * stretch.bouncing(row, gap, e, sign)
        gaps, rests, bounces = ([sides[sign][k] if sign in sides else None for sign in (1.0, -1.0)] for k in range(3))
        found.append(Obeying([row], Range(*rests), Range(*bounces), (0,), *gaps))
    return found


def of_drives(equations: Equations, q: Vector, stretch: Stretch) -> list[Obeying]:
    """Of every dry drive: boxes of ±h F, with the dry friction F at the speed before the step."""
    D, rates = equations.drive_jacobian(q), equations.drive_rates(q, stretch.before)
    found = []
    for k in equations.dry_drives:
        law = Box(stretch.h * equations.drives[k].actuator.friction.level(rates[k]))
        found.append(Obeying([D[k]], law, law))
    return found


def _unit(stop: JointStop, nv: int) -> list[float]:
    return [float(k == stop.velocity) for k in range(nv)]
