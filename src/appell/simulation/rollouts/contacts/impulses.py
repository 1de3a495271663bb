"""Contacts as impulses: velocity-level complementarity with a fixed number of sweeps (Moreau 1988, Jean 1999).

A step of length h leads free of walls, stops and dry friction from v to v°. At a configuration q on the way, all that
touches within the step acts by one set of impulses f along the rows B of normals, tangents, stops and dry drives:

    v⁺ = v° + M⁻¹Bᵀf          f and u = B v⁺ obey the laws of `obeying`: ranges, cones, boxes                     (1)
    M = LᵀDL                  y = L⁻ᵀBᵀ,  A = B M⁻¹Bᵀ = yᵀD⁻¹y                                                   (2)

These are the equations of `simulation.time_stepping`. Unlike that, and unlike `simulate`, this is approximate, and
nothing tells when it is badly so:

  - The sweeps (`gauss_seidel`) stop before (1) is solved to the end. Many points on one body need more of them.
  - Impacts and changes of contact are moved by up to a step: first order in h, however good the free motion is.
  - Newton's law with e > 0 may make energy (Kane's paradox). With f₀ of walls that do not bounce, by half of the
    sweeps, and f of those that do, by the others from there on, f₀ + p (f - f₀) is taken; p ≤ 1 is the largest part
    with which the kinetic energy is no more than it was at v or at v°, whichever is more.

What ends inside a wall all the same is led back without giving it speed, by pushes g ≥ 0 along normals and stops:

    δ = M⁻¹Bᵀg          d + s u + B δ ≥ 0,  g = 0 where it is more                                               (3)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from appell.algebra.piecewise import positive
from appell.algebra.scalar import Scalar, Vector, dot, select, sqrt
from appell.algebra.solve import LDL
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.formulate.equations import Equations
from appell.simulation.contact import Contact
from appell.simulation.rollouts.contacts.facing import Facings
from appell.simulation.rollouts.contacts.gauss_seidel import swept
from appell.simulation.rollouts.contacts.impulse_laws import TINY, Matrix
from appell.simulation.rollouts.contacts.obeying import Obeying, Stretch, of_drives, of_stops, of_walls

SWEEPS = 20
SWEEPS_BACK = 5  # of (3): what they leave is led back in later steps


@dataclass(frozen=True)
class Kick:
    """What impulses do: velocities after them, the way out of walls, and what each of them is, N s or N m s."""

    v: list[Scalar]
    back: list[Scalar]  # δ of (3), along velocities
    walls: list[list[Scalar]]  # of every pair, along its normal and both tangents
    stops: list[Scalar]  # of every joint with stops; positive from the lower one
    dry: list[Scalar]  # of every dry drive


class Impulses:
    """Contacts, stops and dry friction of a system's catalogue, as impulses of a step.

    `contacts` and `stops` are those of `simulate`; dry friction counts if `dyn` counts friction.
    """

    def __init__(
        self,
        dyn: Dynamics,
        contacts: Contact | Iterable[Contact] | None = None,
        stops: float | Mapping[str, float] | None = None,
        *,
        sweeps: int = SWEEPS,
    ):
        if isinstance(sweeps, bool) or not isinstance(sweeps, int) or sweeps < 1:
            raise ArgumentError(f"impulses have sweeps={sweeps!r}.", expected="a whole number from 1")
        self.facings, self.sweeps = Facings(dyn, contacts, stops), sweeps
        self.bounces = bool(self.facings.known.restitution.any())

    def directions(self, equations: Equations) -> list[float]:
        """What the free motion takes for the directions of dry drives: none, as their friction is among impulses."""
        return [0.0] * len(equations.dry_drives)

    def velocity(
        self,
        equations: Equations,
        q: Vector,
        v: Vector,
        free: Vector,
        dt: Scalar,
        *,
        span: Scalar | None = None,
        t: Scalar | None = None,
    ) -> tuple[list[Scalar], list[Scalar]]:
        """v⁺ of (1) and the impulses: of pairs along normal and tangents, of joints with stops, of dry drives.

        `span` is s, dt unless told otherwise. `t` is needed if walls come and go.
        """
        found = self.kick(equations, q, v, free, dt, span=span, t=t, back=False)
        return found.v, [*(x for pushes in found.walls for x in pushes), *found.stops, *found.dry]

    def kick(
        self,
        equations: Equations,
        q: Vector,
        v: Vector,
        free: Vector,
        dt: Scalar,
        *,
        span: Scalar | None = None,
        t: Scalar | None = None,
        back: bool = True,
    ) -> Kick:
        """(1), and (3) unless it is not asked for."""
        known, stretch = self.facings, Stretch(v, free, dt, dt if span is None else span)
        pairs = known.at(equations, q, v, t) if known.pairs else []
        walls = of_walls(pairs, known.restitution, known.friction, stretch)
        stops = of_stops(known.known.stops, known.known.restitution.tolist()[len(walls) :], q, stretch)
        dry = of_drives(equations, q, stretch)
        obeying = [*(own for own in walls if own is not None), *stops, *dry]
        if not obeying:
            return Kick(list(free), [0.0] * len(free), [[0.0] * 3 for _ in walls], [], [])
        solver = _Solver(equations, q, obeying, self.sweeps)
        f = solver.impulses(v, free, self.bounces)
        after = [x + y for x, y in zip(free, solver.moved(f), strict=True)]
        way = solver.way_back(after, stretch.s) if back else [0.0] * len(free)
        shares = iter(solver.shares(f))
        of_pairs: list[list[Scalar]] = [[0.0] * 3 for _ in walls]
        for own, pushes in zip(walls, of_pairs, strict=True):
            for axis, x in zip(own.axes, next(shares), strict=True) if own else ():
                pushes[axis] = x
        single = [share[0] for share in shares]
        return Kick(after, way, of_pairs, single[: len(stops)], single[len(stops) :])


class _Solver:
    """(1) to (3) at one configuration."""

    def __init__(self, equations: Equations, q: Vector, obeying: Sequence[Obeying], sweeps: int):
        self.obeying, self.sweeps, self.loops = obeying, sweeps, equations.loops
        self.M = equations.mass_matrix(q)
        self.factor = LDL.of(self.M)
        self.rows = [row for own in obeying for row in own.rows]
        self.raised = [self.factor.raised(row) for row in self.rows]
        weighted = [[x * y for x, y in zip(self.factor.inverse_pivots, row, strict=True)] for row in self.raised]
        self.A: Matrix = [[dot(x, y) for y in self.raised] for x in weighted]

    def moved(self, f: Vector, raised: Sequence[Vector] | None = None) -> list[Scalar]:
        """M⁻¹Bᵀf."""
        raised = self.raised if raised is None else raised
        return self.factor.lowered([dot(column, f) for column in zip(*raised, strict=True)])

    def shares(self, f: Vector) -> list[list[Scalar]]:
        """f law by law."""
        left = iter(f)
        return [[next(left) for _ in own.rows] for own in self.obeying]

    def impulses(self, before: Vector, free: Vector, bounces: bool) -> list[Scalar]:
        """f of (1), as a part that makes no energy."""
        b = [dot(row, free) for row in self.rows]
        first = max(1, self.sweeps // 2) if bounces else self.sweeps
        held = swept(self.loops, self.A, b, [own.law for own in self.obeying], first)
        if not bounces:
            return held
        rest = max(1, self.sweeps - first)
        thrown = swept(self.loops, self.A, b, [own.bouncing for own in self.obeying], rest, held)
        change = [x - y for x, y in zip(thrown, held, strict=True)]
        u = [dot(row, held) + x for row, x in zip(self.A, b, strict=True)]
        gain = 0.5 * (dot(held, u) + dot(held, b)) - positive(self._kinetic(before, free))
        part = _fair(gain, dot(change, u), dot(change, [dot(row, change) for row in self.A]))
        return [x + part * y for x, y in zip(held, change, strict=True)]

    def _kinetic(self, v: Vector, w: Vector) -> Scalar:
        """The kinetic energy at v, less that at w."""
        total, change = ([x + s * y for x, y in zip(v, w, strict=True)] for s in (1.0, -1.0))
        return 0.5 * dot(change, [dot(row, total) for row in self.M])

    def way_back(self, v: Vector, s: Scalar) -> list[Scalar]:
        """δ of (3)."""
        first = [sum(len(own.rows) for own in self.obeying[:k]) for k in range(len(self.obeying))]
        sided = [(k, own) for k, own in zip(first, self.obeying, strict=True) if own.sided]
        if not sided:
            return [0.0] * len(v)
        laws = [own.way_back(s * dot(self.rows[k], v)) for k, own in sided]
        A = [[self.A[i][j] for j, _ in sided] for i, _ in sided]
        g = swept(self.loops, A, [0.0] * len(A), laws, SWEEPS_BACK)
        return self.moved(g, [self.raised[k] for k, _ in sided])


def _fair(gain: Scalar, slope: Scalar, curvature: Scalar) -> Scalar:
    """The largest p ≤ 1 with gain + p slope + ½p² curvature ≤ 0; 0 if there is none."""
    most = positive(-gain)
    root = sqrt(positive(slope * slope + 2.0 * curvature * most) + TINY)
    part = select(slope, 2.0 * most / (slope + root + TINY), (root - slope) / (curvature + TINY))
    return select(gain + slope + 0.5 * curvature, select(1.0 - part, part, 1.0), 1.0)
