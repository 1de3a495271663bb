"""Contacts as impulses: velocity-level complementarity by sweeps (Moreau 1988, Jean 1999).

A step of length h without walls, stops and dry friction leads from v to v°. At a configuration q within the step, all
contacts of the step are represented by one set of impulses f along the rows B of normals, tangents, stops and dry
drives:

    v⁺ = v° + M⁻¹Bᵀf          f and u = B v⁺ satisfy `impulse_laws`: ranges, cones, boxes                         (1)
    M = LᵀDL                  y = L⁻ᵀBᵀ,  A = B M⁻¹Bᵀ = yᵀD⁻¹y                                                   (2)

These are the equations of `contact.time_stepping`. Unlike there, and unlike in `simulate`, the solution is approximate,
and its error is not reported:

  - The sweeps (`impulse_laws.gauss_seidel`) stop at a tolerance, or at their largest number before (1) has converged.
    Many points on one body need more sweeps.
  - Impacts and changes of contact are shifted by up to a step: first order in h, for any accuracy of the free motion.
  - The impact law is "newton" of `simulate`. With e > 0 it may create energy (Kane's paradox). Half of the sweeps
    compute the impulses f₀ without bounces, the other half continues from there to the impulses f with bounces, and f₀
    + p (f - f₀) is used; p ≤ 1 is the largest part for which the kinetic energy does not exceed its larger value at v
    and v°.

Points that are still inside a wall are moved back, without a change of speed, by pushes g ≥ 0 along normals and stops:

    δ = M⁻¹Bᵀg          d + s u + B δ ≥ 0,  g = 0 where it is positive                                           (3)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from appell.algebra.scalar import Scalar, Vector, dot, maximum, select, sqrt
from appell.algebra.solve import LDL
from appell.dynamics import Dynamics
from appell.formulate.equations import Equations
from appell.simulation.options import ImpulseContacts
from appell.simulation.rollouts.contacts.contact_pairs import ContactPairs
from appell.simulation.rollouts.contacts.impulse_laws import (
    MIN_DIVISOR,
    FreeStep,
    ImpulseLaw,
    LawRows,
    Matrix,
    drive_rows,
    gauss_seidel,
    stop_rows,
    wall_rows,
)
from appell.simulation.rollouts.contacts.joint_damping import JointDamping, viscous_levels

CORRECTION_SWEEPS = 5  # of (3); what remains is corrected in later steps
Projection = Callable[[Vector], list[Scalar]]  # configuration -> nearest valid configuration
Acceleration = Callable[[Vector, Vector], list[Scalar]]  # (q, v) -> a, without the friction that is among the impulses
Power = Callable[[Vector, Vector], Scalar]  # (q, v) -> power of the inputs, W


@dataclass(frozen=True)
class ImpulseResponse:
    """Velocities after the impulses of a step, the position correction, and the impulses in N s or N m s."""

    v: list[Scalar]
    correction: list[Scalar]  # δ of (3), along velocities
    walls: list[list[Scalar]]  # of every pair, along its normal and both tangents
    stops: list[Scalar]  # of every joint with stops; positive from the lower stop
    dry: list[Scalar]  # of every dry drive


class Impulses:
    """Contacts, stops and dry friction of a `Dynamics` as impulses of a step.

    `contacts` and `stops` are those of `simulate`; dry friction is included if `dyn` has friction.
    """

    def __init__(
        self,
        dyn: Dynamics,
        contacts: Any = None,
        stops: float | Mapping[str, float] | None = None,
        model: ImpulseContacts = ImpulseContacts(),  # noqa: B008 - frozen
    ):
        self.walls, self.model = ContactPairs(dyn, contacts, stops), model
        self.bounces = any(self.walls.restitution + self.walls.stop_restitution)

    def directions(self, equations: Equations) -> list[float]:
        """Return zero directions of the dry drives for the free motion: their friction is among the impulses."""
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
        """Return v⁺ of (1) and the impulses of pairs (normal and tangents), joints with stops, and dry drives.

        The parameters are those of `response`.
        """
        response = self.response(equations, q, v, free, dt, span=span, t=t, correct=False)
        return response.v, [*(x for pair in response.walls for x in pair), *response.stops, *response.dry]

    def response(
        self,
        equations: Equations,
        q: Vector,
        v: Vector,
        free: Vector,
        dt: Scalar,
        *,
        span: Scalar | None = None,
        t: Scalar | None = None,
        correct: bool = True,
        refined: Callable[[Vector], list[Scalar]] | None = None,
        damping: JointDamping | None = None,
    ) -> ImpulseResponse:
        """Return the impulses (1) of a step and their effects.

        Parameters
        ----------
        equations
            Equations of the system.
        q
            Configuration of the rows.
        v, free
            Velocities before the step, and after it without contacts.
        dt
            Length of the step, s.
        span
            Time during which the velocity after the step moves q, s. None: dt.
        t
            Time, s; required if walls appear or disappear.
        correct
            Whether to compute the position correction (3).
        refined
            Function that returns a better `free` from the velocities after the impulses for the given one, which are
            computed without bounces and with half of the sweeps; the other half starts from these impulses.
        damping
            Viscous friction of joints that acts implicitly on velocities: M̂ takes the place of M in (1).
        """
        pairs, span = self.walls, dt if span is None else span
        at_state = pairs.at(equations, q, v, t) if len(pairs) else []

        def laws(free: Vector) -> tuple[list[LawRows | None], list[LawRows], list[LawRows]]:
            step = FreeStep(v, free, dt, span)
            walls = wall_rows(at_state, pairs.restitution, pairs.friction, step)
            return (
                walls,
                stop_rows(pairs.contacts.stops, pairs.stop_restitution, q, step),
                drive_rows(equations, q, step),
            )

        walls, stops, dry = laws(free)
        law_rows = [*(rows for rows in walls if rows is not None), *stops, *dry]
        if not law_rows:
            free = refined(free) if refined else free
            return ImpulseResponse(list(free), [0.0] * len(free), [[0.0] * 3 for _ in walls], [], [])
        solver, start = _Solver(equations, q, law_rows, self.model, damping), None
        if refined is not None:
            sweeps, half = self.model.sweeps, max(1, self.model.sweeps // 2)
            start, solver.sweeps = solver.impulses_without_bounces(free, half), max(1, sweeps - half)
            free = refined([x + y for x, y in zip(free, solver.velocity_change(start), strict=True)])
            walls, stops, dry = laws(free)  # the rows are the same, the speeds of bounces are not
            solver.law_rows = [*(rows for rows in walls if rows is not None), *stops, *dry]
        f = solver.impulses(v, free, self.bounces, start)
        after = [x + y for x, y in zip(free, solver.velocity_change(f), strict=True)]
        correction = solver.correction(after, span) if correct else [0.0] * len(free)
        shares = iter(solver.shares(f))
        of_pairs: list[list[Scalar]] = [[0.0] * 3 for _ in walls]
        for rows, impulses in zip(walls, of_pairs, strict=True):
            for axis, x in zip(rows.axes, next(shares), strict=True) if rows else ():
                impulses[axis] = x
        single = [share[0] for share in shares]
        return ImpulseResponse(after, correction, of_pairs, single[: len(stops)], single[len(stops) :])


class _Solver:
    """Equations (1) to (3) at one configuration."""

    def __init__(
        self,
        equations: Equations,
        q: Vector,
        law_rows: Sequence[LawRows],
        model: ImpulseContacts,
        damping: JointDamping | None,
    ):
        self.law_rows, self.loops = law_rows, equations.loops
        self.sweeps, self.tolerance = model.sweeps, model.tolerance
        self.M = equations.mass_matrix(q) if damping is None else damping.M
        self.factor = LDL.of(self.M) if damping is None else damping.factor
        self.rows = [row for group in law_rows for row in group.rows]
        self.raised = [self.factor.solve_upper(row) for row in self.rows]
        weighted = [[x * y for x, y in zip(self.factor.inverse_pivots, row, strict=True)] for row in self.raised]
        self.A: Matrix = [[dot(x, y) for y in self.raised] for x in weighted]
        roots = [sqrt(x) for x in self.factor.inverse_pivots]
        self.Y: Matrix = [[x * y for x, y in zip(roots, row, strict=True)] for row in self.raised]  # A = Y Yᵀ

    def velocity_change(self, f: Vector, raised: Sequence[Vector] | None = None) -> list[Scalar]:
        """Return M⁻¹Bᵀf; `raised` are the rows L⁻ᵀBᵀ of (2), all rows by default."""
        raised = self.raised if raised is None else raised
        return self.factor.solve_lower([dot(column, f) for column in zip(*raised, strict=True)])

    def shares(self, f: Vector) -> list[list[Scalar]]:
        """Return f divided by laws."""
        entries = iter(f)
        return [[next(entries) for _ in group.rows] for group in self.law_rows]

    def impulses_without_bounces(self, free: Vector, sweeps: int, start: Vector | None = None) -> list[Scalar]:
        """Return f of (1) after sweeps from initial impulses."""
        b = [dot(row, free) for row in self.rows]
        return self._swept(b, [group.law for group in self.law_rows], sweeps, start)

    def _swept(self, b: Vector, laws: Sequence[ImpulseLaw], sweeps: int, start: Vector | None) -> list[Scalar]:
        return gauss_seidel(self.loops, self.A, b, laws, sweeps, start, self.Y, self.tolerance)

    def impulses(self, before: Vector, free: Vector, bounces: bool, start: Vector | None = None) -> list[Scalar]:
        """Return f of (1), with the largest part of the bounces that creates no energy."""
        first = max(1, self.sweeps // 2) if bounces else self.sweeps
        f0 = self.impulses_without_bounces(free, first, start)
        if not bounces:
            return f0
        b = [dot(row, free) for row in self.rows]
        remaining = max(1, self.sweeps - first)
        f = self._swept(b, [group.bouncing for group in self.law_rows], remaining, f0)
        change = [x - y for x, y in zip(f, f0, strict=True)]
        u = [dot(row, f0) + x for row, x in zip(self.A, b, strict=True)]
        gain = 0.5 * (dot(f0, u) + dot(f0, b)) - maximum(self._kinetic_difference(before, free), 0.0)
        part = _largest_part(gain, dot(change, u), dot(change, [dot(row, change) for row in self.A]))
        return [x + part * y for x, y in zip(f0, change, strict=True)]

    def _kinetic_difference(self, v: Vector, w: Vector) -> Scalar:
        """Return the kinetic energy at v minus that at w."""
        total, change = ([x + s * y for x, y in zip(v, w, strict=True)] for s in (1.0, -1.0))
        return 0.5 * dot(change, [dot(row, total) for row in self.M])

    def correction(self, v: Vector, s: Scalar) -> list[Scalar]:
        """Return δ of (3)."""
        first = [sum(len(group.rows) for group in self.law_rows[:k]) for k in range(len(self.law_rows))]
        bounded = [(k, group) for k, group in zip(first, self.law_rows, strict=True) if group.bounded]
        if not bounded:
            return [0.0] * len(v)
        laws = [group.correction(s * dot(self.rows[k], v)) for k, group in bounded]
        A = [[self.A[i][j] for j, _ in bounded] for i, _ in bounded]
        g = gauss_seidel(self.loops, A, [0.0] * len(A), laws, CORRECTION_SWEEPS)
        return self.velocity_change(g, [self.raised[k] for k, _ in bounded])


def _largest_part(gain: Scalar, slope: Scalar, curvature: Scalar) -> Scalar:
    """Return the largest p ≤ 1 with gain + p slope + ½p² curvature ≤ 0; 0 if there is none."""
    margin = maximum(-gain, 0.0)
    root = sqrt(maximum(slope * slope + 2.0 * curvature * margin, 0.0) + MIN_DIVISOR)
    part = select(slope, 2.0 * margin / (slope + root + MIN_DIVISOR), (root - slope) / (curvature + MIN_DIVISOR))
    return select(gain + slope + 0.5 * curvature, select(1.0 - part, part, 1.0), 1.0)


def moreau_step(
    equations: Equations,
    impulses: Impulses,
    q: Vector,
    v: Vector,
    h: Scalar,
    acceleration: Acceleration,
    power: Power,
    projected: Projection,
    t: Scalar | None = None,
    feedback: bool = False,
) -> tuple[list[Scalar], ImpulseResponse]:
    """Take a step with contacts as impulses at its middle (Moreau 1988, Jean 1999).

        qₘ = q + ½h N(q) v        v° = v + h a(qₘ, ½(v + ṽ))                 the midpoint rule, free of contacts     (1)
        v' = v° + M⁻¹Bᵀf          at qₘ, by `impulses` with s = ½h                                                   (2)
        q⁺ = q + N(qₘ) (½h (v + v') + δ)                                                                             (3)
        v⁺ = c v'                 c ≤ 1 so that E(q⁺, v⁺) ≤ E(q, v) + h P(qₘ, ½(v + v'))                             (4)

    E is the energy and P the power of all inputs. ṽ estimates the velocity after the step: v + h a(q, v), and with
    `feedback` or friction that depends smoothly on speeds the result of (2) for this velocity in place of v°. Damping
    would otherwise act against a motion that the contacts prevent, and a robot would come to rest in a wrong pose.
    Viscous friction of joints is implicit in ṽ, (1) and (2), see `joint_damping`. Without contacts this is of second
    order. In a step with impulses, (1) to (3) may create energy of the order of h, because the forces of (1)
    do not depend on the velocities after the impulses, and of the order of h³ in any other step; (4) removes it and
    preserves the signs of all laws, so that a motion without inputs never gains energy. If the correction δ would add
    too much energy, it is left to a later step. A point that bounces without loss leaves with the speed of its arrival,
    and a point at rest keeps its position. See the module docstring for the approximations.

    Parameters
    ----------
    equations, impulses
        Equations of the system, and its contacts.
    q, v
        State before the step.
    h
        Length of the step, s.
    acceleration
        Function (q, v) -> a without contacts and dry friction.
    power
        Function (q, v) -> P.
    projected
        Projection of a configuration: unit quaternions, closed loops.
    t
        Time at the start of the step, s; required if walls appear or disappear.
    feedback
        Whether a control law is evaluated within the step.

    Returns
    -------
    q, response
        Configuration after the step, and the impulses with v⁺.
    """
    middle = projected(_along(q, equations.rate(q, v), 0.5 * h))
    now, a = None if t is None else t + 0.5 * h, acceleration(q, v)

    damping = JointDamping(equations, middle, h) if any(viscous_levels(equations)) else None

    def second_stage(after: Vector) -> list[Scalar]:
        mean = [0.5 * (x + y) for x, y in zip(v, after, strict=True)]
        at_mean = acceleration(middle, mean)
        return _along(v, at_mean, h) if damping is None else damping.velocity_after(v, at_mean, mean)

    if damping is not None:
        free, refined = damping.velocity_after(v, a, v), second_stage
    elif feedback or _is_damped(equations):
        free, refined = _along(v, a, h), second_stage
    else:
        free, refined = _along(v, acceleration(middle, _along(v, a, 0.5 * h)), h), None
    response = impulses.response(equations, middle, v, free, h, span=0.5 * h, t=now, refined=refined, damping=damping)
    mean = [0.5 * (x + y) for x, y in zip(v, response.v, strict=True)]
    straight = projected(_along(q, equations.rate(middle, mean), h))
    corrected = projected(_along(q, equations.rate(middle, _along(response.correction, mean, h)), 1.0))
    allowed = _energy(equations, q, v)[1] + h * power(middle, mean)
    (kinetic, energy), without = _energy(equations, corrected, response.v), _energy(equations, straight, response.v)
    excess = energy - allowed - kinetic
    end = [select(excess, x, y) for x, y in zip(straight, corrected, strict=True)]
    kinetic, energy = (select(excess, x, y) for x, y in zip(without, (kinetic, energy), strict=True))
    c = sqrt(maximum(1.0 - maximum(energy - allowed, 0.0) / (kinetic + MIN_DIVISOR), 0.0) + MIN_DIVISOR)
    return end, replace(response, v=[c * x for x in response.v])


def _is_damped(equations: Equations) -> bool:
    """Return whether joints have dry friction that depends smoothly on their speeds."""
    return equations.friction and any(drive.actuator.friction.width > 0.0 for drive in equations.drives)


def input_power(equations: Equations, q: Vector, v: Vector, tau: Vector) -> Scalar:
    """Return the power of the actuator forces minus the power of the actuators' friction offsets, W."""
    power = dot(tau, equations.actuator_rates(q, v))
    if equations.friction:
        offsets = [drive.actuator.offset for drive in equations.drives]
        power = power - dot(offsets, equations.drive_rates(q, v))
    return power


def _along(x: Vector, y: Vector, k: Scalar) -> list[Scalar]:
    return [a + k * b for a, b in zip(x, y, strict=True)]


def _energy(equations: Equations, q: Vector, v: Vector) -> tuple[Scalar, Scalar]:
    """Return the kinetic and the total energy, J."""
    kinetic = equations.kinetic_energy(q, v)
    return kinetic, kinetic + equations.potential_energy(q)
