"""Contacts as impulses: velocity-level complementarity with a fixed number of sweeps (Moreau 1988, Jean 1999).

A step of length h leads free of walls, stops and dry friction from v to v°. At a configuration q on the way, all that
touches within the step acts by one set of impulses f along the rows B of normals, tangents, stops and dry drives:

    v⁺ = v° + M⁻¹Bᵀf          f and u = B v⁺ obey `impulse_laws`: ranges, cones, boxes                            (1)
    M = LᵀDL                  y = L⁻ᵀBᵀ,  A = B M⁻¹Bᵀ = yᵀD⁻¹y                                                   (2)

These are the equations of `contact.time_stepping`. Unlike that, and unlike `simulate`, this is approximate, and
nothing tells when it is badly so:

  - The sweeps (`impulse_laws.swept`) stop before (1) is solved to the end. Many points on one body need more of them.
  - Impacts and changes of contact are moved by up to a step: first order in h, however good the free motion is.
  - Newton's law with e > 0 may make energy (Kane's paradox). With f₀ of walls that do not bounce, by half of the
    sweeps, and f of those that do, by the others from there on, f₀ + p (f - f₀) is taken; p ≤ 1 is the largest part
    with which the kinetic energy is no more than it was at v or at v°, whichever is more.

What ends inside a wall all the same is led back without giving it speed, by pushes g ≥ 0 along normals and stops:

    δ = M⁻¹Bᵀg          d + s u + B δ ≥ 0,  g = 0 where it is more                                               (3)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from appell.algebra.scalar import Scalar, Vector, dot, positive, select, sqrt
from appell.algebra.solve import LDL
from appell.dynamics import Dynamics
from appell.formulate.equations import Equations
from appell.simulation.contact.contact import Contact
from appell.simulation.options import ImpulseContacts
from appell.simulation.rollouts.contacts.impulse_laws import (
    TINY,
    LawRows,
    Matrix,
    Stretch,
    of_drives,
    of_stops,
    of_walls,
    swept,
)
from appell.simulation.rollouts.contacts.point_wall import PointWallPairs

SWEEPS_BACK = 5  # of (3): what they leave is led back in later steps
Kept = Callable[[Vector], list[Scalar]]  # a configuration that is nearly one of the system's -> one that is
Accelerated = Callable[[Vector, Vector], list[Scalar]]  # (q, v) -> a, without the friction that is among the impulses
Power = Callable[[Vector, Vector], Scalar]  # (q, v) -> of the inputs, W


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
        model: ImpulseContacts = ImpulseContacts(),  # noqa: B008 - frozen
    ):
        self.walls, self.sweeps = PointWallPairs(dyn, contacts, stops), model.sweeps
        self.bounces = bool(self.walls.known.restitution.any())

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
        known, stretch = self.walls, Stretch(v, free, dt, dt if span is None else span)
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

    def __init__(self, equations: Equations, q: Vector, obeying: Sequence[LawRows], sweeps: int):
        self.obeying, self.sweeps, self.loops = obeying, sweeps, equations.loops
        self.M = equations.mass_matrix(q)
        self.factor = LDL.of(self.M)
        self.rows = [row for own in obeying for row in own.rows]
        self.raised = [self.factor.solve_upper(row) for row in self.rows]
        weighted = [[x * y for x, y in zip(self.factor.inverse_pivots, row, strict=True)] for row in self.raised]
        self.A: Matrix = [[dot(x, y) for y in self.raised] for x in weighted]

    def moved(self, f: Vector, raised: Sequence[Vector] | None = None) -> list[Scalar]:
        """M⁻¹Bᵀf."""
        raised = self.raised if raised is None else raised
        return self.factor.solve_lower([dot(column, f) for column in zip(*raised, strict=True)])

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


def moreau_step(
    equations: Equations,
    impulses: Impulses,
    q: Vector,
    v: Vector,
    h: Scalar,
    acceleration: Accelerated,
    power: Power,
    kept: Kept,
    t: Scalar | None = None,
) -> tuple[list[Scalar], Kick]:
    """(1) to (4): the configuration after the step, and what the impulses did, with v⁺ among it.

    A step with impulses: half a step of the way, all that acts, the other half (Moreau 1988, Jean 1999).

        qₘ = q + ½h N(q) v        v° = v + h a(qₘ, v + ½h a(q, v))           the midpoint rule, free of contacts     (1)
        v' = v° + M⁻¹Bᵀf          at qₘ, by `impulses` with s = ½h                                                   (2)
        q⁺ = q + N(qₘ) (½h (v + v') + δ)                                                                             (3)
        v⁺ = c v'                 c ≤ 1 so that E(q⁺, v⁺) ≤ E(q, v) + h P(qₘ, ½(v + v'))                             (4)

    E is the energy and P the power of all inputs. Without contacts this is of second order. In a step with impulses (1)
    to (3) may make energy of the order of h, as the forces of (1) know nothing of the velocities after them, and of h³
    in any other; (4) takes it away again, and keeps the signs of all laws: no motion without inputs ever gains energy.
    If the way back δ costs more than there is, it waits for a later step. A point that bounces without loss leaves as
    fast as it came, and one at rest stays where it is. Simulation by events it is not: see `impulses` for what is
    approximate.
    """
    middle = kept(_along(q, equations.rate(q, v), 0.5 * h))
    free = _along(v, acceleration(middle, _along(v, acceleration(q, v), 0.5 * h)), h)
    now = None if t is None else t + 0.5 * h
    kick = impulses.kick(equations, middle, v, free, h, span=0.5 * h, t=now)
    mean = [0.5 * (x + y) for x, y in zip(v, kick.v, strict=True)]
    straight = kept(_along(q, equations.rate(middle, mean), h))
    back = kept(_along(q, equations.rate(middle, _along(kick.back, mean, h)), 1.0))
    allowed = _energy(equations, q, v)[1] + h * power(middle, mean)
    (kinetic, energy), without = _energy(equations, back, kick.v), _energy(equations, straight, kick.v)
    waits = energy - allowed - kinetic
    end = [select(waits, x, y) for x, y in zip(straight, back, strict=True)]
    kinetic, energy = (select(waits, x, y) for x, y in zip(without, (kinetic, energy), strict=True))
    c = sqrt(positive(1.0 - positive(energy - allowed) / (kinetic + TINY)) + TINY)
    return end, replace(kick, v=[c * x for x in kick.v])


def input_power(equations: Equations, q: Vector, v: Vector, tau: Vector) -> Scalar:
    """The power of forces at the actuators, less what their offsets take."""
    power = dot(tau, equations.actuator_rates(q, v))
    if equations.friction:
        offsets = [drive.actuator.offset for drive in equations.drives]
        power = power - dot(offsets, equations.drive_rates(q, v))
    return power


def _along(x: Vector, y: Vector, k: Scalar) -> list[Scalar]:
    return [a + k * b for a, b in zip(x, y, strict=True)]


def _energy(equations: Equations, q: Vector, v: Vector) -> tuple[Scalar, Scalar]:
    """Kinetic energy, and all of it."""
    kinetic = equations.kinetic_energy(q, v)
    return kinetic, kinetic + equations.potential_energy(q)
