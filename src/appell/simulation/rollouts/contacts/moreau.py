"""A step with impulses: half a step of the way, all that acts, the other half (Moreau 1988, Jean 1999).

    qₘ = q + ½h N(q) v        v° = v + h a(qₘ, v + ½h a(q, v))           the midpoint rule, free of contacts         (1)
    v' = v° + M⁻¹Bᵀf          at qₘ, by `impulses` with s = ½h                                                      (2)
    q⁺ = q + N(qₘ) (½h (v + v') + δ)                                                                                (3)
    v⁺ = c v'                 c ≤ 1 so that E(q⁺, v⁺) ≤ E(q, v) + h P(qₘ, ½(v + v'))                                (4)

E is the energy and P the power of all inputs. Without contacts this is of second order. In a step with impulses (1) to
(3) may make energy of the order of h, as the forces of (1) know nothing of the velocities after them, and of h³ in any
other; (4) takes it away again, and keeps the signs of all laws: no motion without inputs ever gains energy. If the way
back δ costs more than there is, it waits for a later step. A point that bounces without loss leaves as fast as it came,
and one at rest stays where it is. Simulation by events it is not: see `impulses` for what is approximate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from appell.algebra.piecewise import positive
from appell.algebra.scalar import Scalar, Vector, dot, select, sqrt
from appell.formulate.equations import Equations
from appell.simulation.rollouts.contacts.impulse_laws import TINY
from appell.simulation.rollouts.contacts.impulses import Impulses, Kick

Kept = Callable[[Vector], list[Scalar]]  # a configuration that is nearly one of the system's -> one that is
Accelerated = Callable[[Vector, Vector], list[Scalar]]  # (q, v) -> a, without the friction that is among the impulses
Power = Callable[[Vector, Vector], Scalar]  # (q, v) -> of the inputs, W


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
    """(1) to (4): the configuration after the step, and what the impulses did, with v⁺ among it."""
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
