"""Laws of impulses along groups of rows; each law is solved for its own rows while all other impulses are constant.

With u = A f + b along all rows and A' the part of A that belongs to the rows of a law,

    range   low ≤ u ≤ high,  f ≥ 0 where u = low,  f ≤ 0 where u = high,  f = 0 between       a wall, two stops  (1)
    cone    (1) for fₙ, low alone;  |f_t| ≤ μ fₙ,  f_t = -μ fₙ u_t / |u_t| where u_t ≠ 0      a rough wall       (2)
    box     |f| ≤ F,  f = -F sign u where u ≠ 0                                               a dry joint        (3)

as in `contact.blocks`. (1) and (3) have one row, and f follows directly from u. A cone first tries to stick,
z = f - A'⁻¹(u - low n), which is exact if z lies in the cone. Otherwise it slides: fₙ by (1), then f_t = z_t shortened
to μ fₙ, with z_t = f_t - r u_t and r = 1/λ, λ the largest eigenvalue of the tangential part of A'. One such step is not
exact, but its fixed points satisfy (2).

In a direction without mobility the impulse is zero; for this purpose 10⁻¹⁰ times the trace is added to A' of a cone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from appell.algebra.loops import Loops, Rows
from appell.algebra.scalar import Scalar, Vector, clamp, dot, is_number, maximum, select, sqrt
from appell.algebra.solve import Cholesky
from appell.formulate.equations import Equations
from appell.simulation.contact.contact import JointStop
from appell.simulation.rollouts.contacts.contact_pairs import ContactState, is_zero

REGULARISATION = 1e-10  # of the trace
MIN_DIVISOR = 1e-30  # added to divisors and radicands that may be zero; representable in single precision
Matrix = Sequence[Sequence[Scalar]]
BOUNCE_RATIO = 2.0  # of the speed gained in a step: slower points do not bounce


class ImpulseLaw(Protocol):
    """The law of one or more rows. `data` depends on the state only and is computed once, before the sweeps."""

    @property
    def size(self) -> int: ...

    def data(self, A: Matrix) -> list[Scalar]:
        """Return the data of the law for the part A' of A that belongs to its rows."""

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        """Return f that satisfies the law, from the current f and u, with all other impulses constant."""


@dataclass(frozen=True)
class Range:
    """Law (1) of one row; None: no bound on that side."""

    low: Scalar | None = None
    high: Scalar | None = None

    size: ClassVar[int] = 1

    def data(self, A: Matrix) -> list[Scalar]:
        return [_inverse(A[0][0]), *(x for x in (self.low, self.high) if x is not None)]

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        inverse, *bounds = data
        impulse: Scalar = 0.0
        if self.low is not None:
            impulse = impulse + maximum(f[0] + inverse * (bounds[0] - u[0]), 0.0)
        if self.high is not None:
            impulse = impulse - maximum(inverse * (u[0] - bounds[-1]) - f[0], 0.0)
        return [impulse]


@dataclass(frozen=True)
class Cone:
    """Law (2) of a normal and one or two tangents."""

    low: Scalar
    friction: float
    size: int

    def data(self, A: Matrix) -> list[Scalar]:
        trace = sum((A[k][k] for k in range(self.size)), start=0.0)
        regular = [
            [A[i][j] + (REGULARISATION * trace + MIN_DIVISOR if i == j else 0.0) for j in range(self.size)]
            for i in range(self.size)
        ]
        factor = Cholesky.of(regular)
        units = [factor.solve([float(i == k) for i in range(self.size)]) for k in range(self.size)]
        stick = [select(trace, units[i][j], 0.0) for i in range(self.size) for j in range(i + 1)]
        return [self.low, _inverse(A[0][0]), _inverse(_largest([row[1:] for row in regular[1:]])), *stick]

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        low, inverse, r, *stick = data
        mu, gap = self.friction, [u[0] - low, *u[1:]]
        rows = [
            [stick[max(i, j) * (max(i, j) + 1) // 2 + min(i, j)] for j in range(self.size)] for i in range(self.size)
        ]
        sticking = [x - dot(row, gap) for x, row in zip(f, rows, strict=True)]
        normal = maximum(f[0] + inverse * (low - u[0]), 0.0)
        tangential = [x - r * y for x, y in zip(f[1:], u[1:], strict=True)]
        bound = mu * normal
        square = dot(tangential, tangential)
        part = select(square - bound * bound, bound / sqrt(square + MIN_DIVISOR), 1.0)
        sliding = [normal, *(part * x for x in tangential)]
        radius = mu * maximum(sticking[0], 0.0)
        sticks = radius * radius - dot(sticking[1:], sticking[1:])
        return [select(sticks, x, y) for x, y in zip(sticking, sliding, strict=True)]


@dataclass(frozen=True)
class Box:
    """Law (3) of one row."""

    bound: Scalar

    size: ClassVar[int] = 1

    def data(self, A: Matrix) -> list[Scalar]:
        return [_inverse(A[0][0]), self.bound]

    def solved(self, data: Vector, f: Vector, u: Vector) -> list[Scalar]:
        inverse, bound = data
        return [clamp(f[0] - inverse * u[0], -bound, bound)]


def _inverse(x: Scalar) -> Scalar:
    """Return 1/x for x > 0, and 0 for x = 0."""
    return select(x, 1.0 / (x + MIN_DIVISOR), 0.0)


def _largest(A: Matrix) -> Scalar:
    """Return the largest eigenvalue of a symmetric matrix of one or two rows."""
    if len(A) == 1:
        return A[0][0]
    half, mean = 0.5 * (A[0][0] - A[1][1]), 0.5 * (A[0][0] + A[1][1])
    return mean + sqrt(half * half + A[0][1] * A[0][1] + MIN_DIVISOR)  # the root of 0 has no derivative


def gauss_seidel(
    loops: Loops,
    A: Matrix,
    b: Vector,
    laws: Sequence[ImpulseLaw],
    sweeps: int,
    start: Vector | None = None,
    factor: Matrix | None = None,
    tolerance: float = 0.0,
) -> list[Scalar]:
    """Return impulses f that satisfy all laws approximately, by projected Gauss-Seidel sweeps.

        u = A f + b          A = B M⁻¹ Bᵀ = Y Yᵀ (Delassus 1917),  b = B v°                                         (1)

    A sweep solves the laws one after the other, each with the latest impulses of all others. After a quarter and after
    half of the sweeps, the others are left out where the last one has changed the impulses by less than a tolerance,

        |Δf| ≤ tolerance |f|          in the norm of the energy, |f|² = fᵀAf, or Σ Aᵢᵢ fᵢ² if A is not factored     (2)

    Every sample has its own result, whichever samples are computed together. With ranges and boxes only, every solution
    of a law decreases the convex function ½fᵀAf + (b - c)ᵀf, which is 0 at f = 0: without bounces, c ≤ 0, kinetic
    energy never grows, for any number of sweeps. Cones have no such function. Fixed points of the sweeps
    satisfy all laws.

    The sweep is one iteration of a loop: if the kernel keeps loops, its code does not grow with the number of sweeps.
    Many contacts of few bodies have a large matrix A of low rank. If Y has less than half as many entries as A, a sweep
    carries z = Yᵀf and computes u = Y z + b instead of the sums over all impulses.

    Parameters
    ----------
    loops
        Loops of the kernel.
    A, b
        Matrix (n, n) and vector (n,) of (1).
    laws
        Laws of the n rows, in order.
    sweeps
        Number of sweeps.
    start
        Initial impulses, (n,). None: zero.
    factor
        Y of (1), if it is known.
    tolerance
        Tolerance of (2). 0: all sweeps.
    """
    size = len(b)
    spans: list[range] = []
    datas: list[list[Scalar]] = []
    for law in laws:
        first = spans[-1].stop if spans else 0
        spans.append(range(first, first + law.size))
        datas.append(law.data([[A[i][j] for j in spans[-1]] for i in spans[-1]]))
    start = [0.0] * size if start is None else list(start)
    factored = factor is not None and 2 * _entries(factor) < _entries(A)
    Y = factor if factor is not None and factored else []
    matrix = [x for row in Y for x in row] if factored else [A[i][j] for i in range(size) for j in range(i + 1)]
    operands = [*matrix, *b, *(x for data in datas for x in data)]
    traced = [k for k, x in enumerate(operands) if not is_number(x)]

    def sweep(state: Vector, traced_values: Vector) -> list[Vector]:
        values = list(operands)
        for k, x in zip(traced, traced_values, strict=True):
            values[k] = x
        entries, before = iter(values), state
        lower = [[next(entries) for _ in range(len(Y[0]) if factored else i + 1)] for i in range(size)]
        free = [next(entries) for _ in range(size)]
        f, z = list(state[:size]), list(state[size : size + width])
        for law, rows, data in zip(laws, spans, datas, strict=True):
            latest_last = [*range(rows.start, size), *range(rows.start)]  # only the last terms wait for new impulses
            if factored:
                u = [dot(lower[i][::2], z[::2]) + (free[i] + dot(lower[i][1::2], z[1::2])) for i in rows]
            else:
                u = [sum((lower[max(i, j)][min(i, j)] * f[j] for j in latest_last), start=free[i]) for i in rows]
            solved = law.solved([next(entries) for _ in data], [f[i] for i in rows], u)
            for i, x in zip(rows, solved, strict=True) if factored else ():
                z = [total + y * (x - f[i]) for total, y in zip(z, lower[i], strict=True)]
            f[rows.start : rows.stop] = solved
        if not tolerance:
            return [[*f, *z]]
        new, old = (z, before[size : size + width]) if factored else (f, before[:size])
        weights = [1.0] * width if factored else [lower[i][i] for i in range(size)]
        terms = zip(weights, new, old, strict=True)
        changes = (weight * ((x - y) * (x - y) - tolerance**2 * x * x) for weight, x, y in terms)
        return [[*f, *z, sum(changes, start=0.0)]]

    products = [dot(column, start) for column in zip(*Y, strict=True)]
    width, given = len(products), loops.given([[operands[k] for k in traced]])
    counts = [sweeps - 2 * (sweeps // 4), sweeps // 4, sweeps // 4][::-1] if tolerance and sweeps >= 4 else [sweeps]

    def swept(state: Vector, count: int, when: tuple[Any, int] | None = None) -> list[Scalar]:
        table, iterations = loops.given([state]), [0] * count
        rows = Rows(table, iterations)
        loops.each([sweep], iterations, [rows, Rows(given, iterations)], [rows], when=when)
        return loops.values(table)[0]

    state = swept([*start, *products, *([0.0] if tolerance else [])], counts[0])
    for count in counts[1:]:
        moves = select(state[-1], 1.0, 0.0)
        further = swept(state, count, (loops.given([[moves]]), 0))
        state = [select(moves, x, y) for x, y in zip(further, state, strict=True)]
    return state[:size]


def _entries(matrix: Matrix) -> int:
    """Return the number of entries that are not zero at all states."""
    return sum(not (is_number(x) and x == 0.0) for row in matrix for x in row)


@dataclass(frozen=True)
class FreeStep:
    """A step without contacts, from which the bounds of the laws of walls, stops and dry drives are derived.

        low = -e u⁻               for a wall that is hit: u⁻ = n·v < 0, and faster than twice the speed gained
        low = -max(d, 0) / s      otherwise: a point may move up to its wall, and one inside not deeper             (1)

    u⁻ are speeds before the step, d distances at the configuration q of the rows, and s is the time during which the
    velocity after the step moves q. Stops are ranges with two such bounds. Rows that are zero at all states, such as
    the second tangent of a planar robot, are left out.

    Parameters
    ----------
    before, free
        Velocities before the step, and after it without contacts, (nv,).
    h
        Length of the step, s.
    s
        Time s of (1), s.
    """

    before: Vector
    free: Vector
    h: Scalar
    s: Scalar

    def bound(self, distance: Scalar) -> Scalar:
        """Return `low` of (1) without bounces."""
        return -maximum(distance, 0.0) / self.s

    def bouncing(self, row: Vector, distance: Scalar, restitution: float, sign: float = 1.0) -> Scalar:
        """Return `low` of (1) along a row times `sign`."""
        before = sign * dot(row, self.before)
        gained = sign * dot(row, self.free) - before
        fast = -before - BOUNCE_RATIO * abs(gained)
        bounce = select(fast, -restitution * before, 0.0)
        reaches = distance + self.s * (before + gained)
        low = self.bound(distance)
        return select(reaches, low, select(bounce, bounce, low))


@dataclass(frozen=True)
class LawRows:
    """Rows with their law without and with bounces.

    `axes` are the rows' axes: 0 for the normal, 1 and 2 for the tangents. `below` and `above` are the distances of the
    first row from its lower and upper bound, if there are any.
    """

    rows: Matrix
    law: ImpulseLaw
    bouncing: ImpulseLaw
    axes: tuple[int, ...] = (0,)
    below: Scalar | None = None
    above: Scalar | None = None

    @property
    def bounded(self) -> bool:
        """Whether the first row has a bound on its position."""
        return self.below is not None or self.above is not None

    def correction(self, displacement: Scalar) -> Range:
        """Return the law of the position correction of the first row after a displacement along it."""
        low = None if self.below is None else -(self.below + displacement)
        return Range(low, None if self.above is None else self.above - displacement)


def wall_rows(
    pairs: Iterable[ContactState], restitutions: Iterable[float], frictions: Iterable[float], step: FreeStep
) -> list[LawRows | None]:
    """Return the rows and laws of every pair; None for a pair whose normal row is zero."""
    all_rows: list[LawRows | None] = []
    for pair, e, mu in zip(pairs, restitutions, frictions, strict=True):
        rows = pair.rows
        axes = (0, *(k for k in (1, 2) if mu > 0.0 and not is_zero(rows[k])))
        lows = [step.bound(pair.distance), step.bouncing(rows[0], pair.distance, e)]
        law, bouncing = (Cone(low, mu, len(axes)) if len(axes) > 1 else Range(low) for low in lows)
        law_rows = LawRows([rows[k] for k in axes], law, bouncing, axes, below=pair.distance)
        all_rows.append(None if is_zero(rows[0]) else law_rows)
    return all_rows


def stop_rows(stops: Sequence[JointStop], restitutions: Sequence[float], q: Vector, step: FreeStep) -> list[LawRows]:
    """Return the row and law of every joint with stops; both stops of a joint are one law."""
    joints: dict[str, list[tuple[JointStop, float]]] = {}
    for stop, e in zip(stops, restitutions, strict=True):
        joints.setdefault(stop.joint, []).append((stop, e))
    all_rows = []
    for joint_stops in joints.values():
        first = joint_stops[0][0]
        row = [abs(first.scale) * x for x in _unit(first, len(step.free))]
        sides: dict[float, tuple[Scalar, Scalar, Scalar]] = {}
        for stop, e in joint_stops:
            sign, gap = stop.sign * (1.0 if stop.scale > 0 else -1.0), stop.gap(q)
            sides[sign] = gap, sign * step.bound(gap), sign * step.bouncing(row, gap, e, sign)
        gaps, bounds, bounces = ([sides[sign][k] if sign in sides else None for sign in (1.0, -1.0)] for k in range(3))
        all_rows.append(LawRows([row], Range(*bounds), Range(*bounces), (0,), *gaps))
    return all_rows


def drive_rows(equations: Equations, q: Vector, step: FreeStep) -> list[LawRows]:
    """Return the row and law of every dry drive: a box of ±h F, F the dry friction at the speed before the step."""
    D, rates = equations.drive_jacobian(q), equations.drive_rates(q, step.before)
    all_rows = []
    for k in equations.dry_drives:
        law = Box(step.h * equations.drives[k].actuator.friction.level(rates[k]))
        all_rows.append(LawRows([D[k]], law, law))
    return all_rows


def _unit(stop: JointStop, nv: int) -> list[float]:
    return [float(k == stop.velocity) for k in range(nv)]
