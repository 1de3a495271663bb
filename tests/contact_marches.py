"""Marches with contacts, for tests: one kernel that takes the steps of a robot among walls."""

from __future__ import annotations

import numpy as np

import appell as ap
from appell.algebra.scalar import sqrt
from appell.compile.scan import Scan
from appell.simulation.rollouts.contacts.impulses import Impulses, input_power, moreau_step
from appell.simulation.rollouts.contacts.penalty import Penalty


def with_impulses(dyn: ap.Dynamics, impulses: Impulses, law=None, loops: bool = True) -> Scan:
    """march(q, v, h, t, tau): the states, and the impulses of pairs, stops and dry drives as far as there are any."""

    def body(q, v, h, t, tau, rolled=None):
        equations = dyn.equations.run_by(rolled) if loops else dyn.equations
        tau = law(q, v) if law else tau

        def acceleration(q, v):
            return equations.acceleration(q, v, tau, {}, impulses.directions(equations))

        def power(q, v):
            return input_power(equations, q, v, tau)

        end, kick = moreau_step(equations, impulses, q, v, h, acceleration, power, _kept(dyn.system), t)
        noted = {"walls": kick.walls, "stops": kick.stops, "dry": kick.dry}
        return {"q": end, "v": kick.v} | {name: each for name, each in noted.items() if each}

    return _march(dyn, body, loops)


def with_penalty(dyn: ap.Dynamics, penalty: Penalty, law=None) -> Scan:
    """march(q, v, h, t, tau) by the semi-implicit method of Euler."""
    system, kept = dyn.system, _kept(dyn.system)

    def body(q, v, h, t, tau):
        tau = law(q, v) if law else tau
        a = penalty.acceleration(dyn.equations, q, v, tau, {}, t)
        after = [x + h * y for x, y in zip(v, a, strict=True)]
        return {"q": kept([x + h * y for x, y in zip(q, system.rate(q, after), strict=True)]), "v": after}

    return _march(dyn, body, loops=False)


def travel(march: Scan, q, v, h: float, steps: int, tau=None, start: float = 0.0, **options):
    """The march over so many steps of length h, from time `start` on, with a constant torque or none."""
    size = march.inputs[-1].size
    force = np.zeros(size) if tau is None else np.asarray(tau, float)
    times = start + h * np.arange(steps)
    return march(q, v, h, times, np.broadcast_to(force, (steps, size)), **options)


def _march(dyn: ap.Dynamics, body, loops: bool) -> Scan:
    system = dyn.system
    state = {"q": system.nq, "v": system.nv}
    return Scan.of("among_walls", state, {"h": ()}, {"t": (), "tau": system.nu}, body, loops=loops)


def _kept(system):
    """Quaternions at unit length."""

    def kept(q):
        found = list(q)
        for span in system.quaternions:
            length = sqrt(sum(x * x for x in found[span]))
            found[span] = [x / length for x in found[span]]
        return found

    return kept
