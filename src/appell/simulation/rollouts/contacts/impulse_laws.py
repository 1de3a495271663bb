"""What the impulses along some rows may be, each law solved for its own rows while all others stand still.

With u = A f + b along all rows and A' the part of A that belongs to a law's own,

    range   low ≤ u ≤ high,  f ≥ 0 where u = low,  f ≤ 0 where u = high,  f = 0 between       a wall, two stops  (1)
    cone    (1) for fₙ, low alone;  |f_t| ≤ μ fₙ,  f_t = -μ fₙ u_t / |u_t| where u_t ≠ 0      a rough wall       (2)
    box     |f| ≤ F,  f = -F sign u where u ≠ 0                                               a dry joint        (3)

as in `simulation.blocks`. (1) and (3) have one row, and f follows from u at once. A cone first tries to stick,
z = f - A'⁻¹(u - low n), which is exact if z lies in the cone. Otherwise it slides: fₙ by (1), then f_t = z_t cut to
μ fₙ, with z_t = f_t - r u_t and r = 1/λ, the largest eigenvalue λ of the tangents' part of A'. One such step is not
exact, but whatever stands still under it obeys (2).

A direction in which nothing moves has no impulse; A' of a cone is made larger by a 10⁻¹⁰-th of its trace for that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import Scalar, Vector, clamp, dot, is_number, magnitude, positive, select, sqrt
from appell.algebra.solve import Cholesky
from appell.formulate.equations import Equations
from appell.simulation.contact.contact import JointStop
from appell.simulation.rollouts.contacts.point_wall import PointWall, is_zero

SOFT = 1e-10  # of the trace
TINY = 1e-30  # below all that matters, and a number in single precision too
Matrix = Sequence[Sequence[Scalar]]
SLOW = 2.0  # times what a step adds to the speed: slower points do not bounce


class ImpulseLaw(Protocol):
    """One or more rows. `data` is all that changes with the state: what is computed once, before the sweeps."""

    @property
    def size(self) -> int: ...

    def data(self, A: Matrix) -> list[Scalar]:
        """Of the law's own rows A'."""

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        """f that obeys the law, from f and u with all other impulses as they are."""


@dataclass(frozen=True)
class Range:
    """(1); None: no bound on that side."""

    low: Scalar | None = None
    high: Scalar | None = None

    size: ClassVar[int] = 1

    def data(self, A: Matrix) -> list[Scalar]:
        return [_inverse(A[0][0]), *(x for x in (self.low, self.high) if x is not None)]

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        inverse, *bounds = data
        found: Scalar = 0.0
        if self.low is not None:
            found = found + positive(f[0] + inverse * (bounds[0] - u[0]))
        if self.high is not None:
            found = found - positive(inverse * (u[0] - bounds[-1]) - f[0])
        return [found]


@dataclass(frozen=True)
class Cone:
    """(2); a normal and one or two tangents."""

    low: Scalar
    friction: float
    size: int

    def data(self, A: Matrix) -> list[Scalar]:
        trace = sum((A[k][k] for k in range(self.size)), start=0.0)
        soft = [
            [A[i][j] + (SOFT * trace + TINY if i == j else 0.0) for j in range(self.size)] for i in range(self.size)
        ]
        factor = Cholesky.of(soft)
        units = [factor.solve([float(i == k) for i in range(self.size)]) for k in range(self.size)]
        stick = [select(trace, units[i][j], 0.0) for i in range(self.size) for j in range(i + 1)]
        return [self.low, _inverse(A[0][0]), _inverse(_largest([row[1:] for row in soft[1:]])), *stick]

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        low, inverse, r, *stick = data
        mu, gap = self.friction, [u[0] - low, *u[1:]]
        rows = [
            [stick[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(self.size)] for i in range(self.size)
        ]
        held = [x - dot(row, gap) for x, row in zip(f, rows, strict=True)]
        normal = positive(f[0] + inverse * (low - u[0]))
        rubbed = [x - r * y for x, y in zip(f[1:], u[1:], strict=True)]
        bound = mu * normal
        square = dot(rubbed, rubbed)
        part = select(square - bound * bound, bound / sqrt(square + TINY), 1.0)
        slid = [normal, *(part * x for x in rubbed)]
        reach = mu * positive(held[0])
        sticks = reach * reach - dot(held[1:], held[1:])
        return [select(sticks, x, y) for x, y in zip(held, slid, strict=True)]


@dataclass(frozen=True)
class Box:
    """(3)."""

    bound: Scalar

    size: ClassVar[int] = 1

    def data(self, A: Matrix) -> list[Scalar]:
        return [_inverse(A[0][0]), self.bound]

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        inverse, bound = data
        return [clamp(f[0] - inverse * u[0], -bound, bound)]


def _inverse(x: Scalar) -> Scalar:
    """1/x of what is not negative, 0 of 0."""
    return select(x, 1.0 / (x + TINY), 0.0)


def _largest(A: Matrix) -> Scalar:
    """The largest eigenvalue of a symmetric matrix of one or two rows."""
    if len(A) == 1:
        return A[0][0]
    half, mean = 0.5 * (A[0][0] - A[1][1]), 0.5 * (A[0][0] + A[1][1])
    return mean + sqrt(half * half + A[0][1] * A[0][1] + TINY)  # a root of 0 has no derivative


def swept(
    loops: Loops, A: Matrix, b: Vector, laws: Sequence[ImpulseLaw], sweeps: int, start: Vector | None = None
) -> list[Scalar]:
    """f of (1) after so many sweeps, from `start` on, by default from 0.

    Impulses of many laws at once, by sweeps over them: projected Gauss and Seidel.

        u = A f + b          A = B M⁻¹ Bᵀ (Delassus 1917),  b = B v°                                                (1)

    A sweep takes law by law (`impulse_laws`), in their order, and solves each with the latest impulses of all others.
    The number of sweeps is fixed. Where only ranges and boxes meet, each takes the convex function ½fᵀAf + (b - c)ᵀf
    down, from 0 at f = 0 on: without bounces, c ≤ 0, kinetic energy never grows, however few sweeps there are. Cones
    have no such function; what the sweeps no longer change obeys all laws.

    The sweep is one step of a loop: where loops stay loops, code does not grow with the number of sweeps.
    """
    size = len(b)
    places: list[range] = []
    datas: list[list[Scalar]] = []
    for law in laws:
        first = places[-1].stop if places else 0
        places.append(range(first, first + law.size))
        datas.append(law.data([[A[i][j] for j in places[-1]] for i in places[-1]]))
    held = [*(A[i][j] for i in range(size) for j in range(i + 1)), *b, *(x for data in datas for x in data)]
    changing = [k for k, x in enumerate(held) if not is_number(x)]

    def sweep(f: Vector, known: Vector) -> list[Vector]:
        values = list(held)
        for k, x in zip(changing, known, strict=True):
            values[k] = x
        entries = iter(values)
        lower = [[next(entries) for _ in range(i + 1)] for i in range(size)]
        free = [next(entries) for _ in range(size)]
        f = list(f)
        for law, rows, data in zip(laws, places, datas, strict=True):
            latest_last = [*range(rows.start, size), *range(rows.start)]  # so that only the last sum has to wait for it
            u = [sum((lower[max(i, j)][min(i, j)] * f[j] for j in latest_last), start=free[i]) for i in rows]
            f[rows.start : rows.stop] = law.solved([next(entries) for _ in data], [f[i] for i in rows], u)
        return [f]

    impulses = loops.given([[0.0] * size if start is None else start])
    turns = [0] * sweeps
    kept = Rows(impulses, turns)
    loops.each([sweep], turns, [kept, Rows(loops.given([[held[k] for k in changing]]), turns)], [kept])
    return loops.values(impulses)[0]


@dataclass(frozen=True)
class Stretch:
    """A step as laws see it: velocities before it and after it if nothing touched, its length h, and s.

    Which rows obey which laws in a step: walls, stops and dry drives, with what each may do at its end.

        low = -e u⁻               of a wall that is hit: u⁻ = n·v < 0, and faster than twice what the step adds to it
        low = -max(d, 0) / s      of others: a point may go as far as to its wall, and one inside must not go deeper
        (1)

    u⁻ are speeds before the step, d distances at the configuration q where the rows are taken, and s is the time for
    which the velocity after the step carries q on. Stops are ranges with two such bounds. Rows that are zero whatever
    the state is, such as the second tangent of a robot in a plane, are left out.
    """

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
class LawRows:
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
    pairs: Iterable[PointWall], restitutions: Iterable[float], frictions: Iterable[float], stretch: Stretch
) -> list[LawRows | None]:
    """Of every pair; None where nothing can move along the normal."""
    found: list[LawRows | None] = []
    for pair, e, mu in zip(pairs, restitutions, frictions, strict=True):
        rows = pair.rows
        axes = (0, *(k for k in (1, 2) if mu > 0.0 and not is_zero(rows[k])))
        lows = [stretch.bound(pair.distance), stretch.bouncing(rows[0], pair.distance, e)]
        held, thrown = (Cone(low, mu, len(axes)) if len(axes) > 1 else Range(low) for low in lows)
        own = LawRows([rows[k] for k in axes], held, thrown, axes, below=pair.distance)
        found.append(None if is_zero(rows[0]) else own)
    return found


def of_stops(stops: Sequence[JointStop], restitutions: Sequence[float], q: Vector, stretch: Stretch) -> list[LawRows]:
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
        found.append(LawRows([row], Range(*rests), Range(*bounces), (0,), *gaps))
    return found


def of_drives(equations: Equations, q: Vector, stretch: Stretch) -> list[LawRows]:
    """Of every dry drive: boxes of ±h F, with the dry friction F at the speed before the step."""
    D, rates = equations.drive_jacobian(q), equations.drive_rates(q, stretch.before)
    found = []
    for k in equations.dry_drives:
        law = Box(stretch.h * equations.drives[k].actuator.friction.level(rates[k]))
        found.append(LawRows([D[k]], law, law))
    return found


def _unit(stop: JointStop, nv: int) -> list[float]:
    return [float(k == stop.velocity) for k in range(nv)]
