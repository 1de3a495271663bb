"""Scans with contacts for tests: one kernel that integrates a robot among walls over many steps."""

from __future__ import annotations

import numpy as np

import appell as ap
from appell.algebra.scalar import sqrt
from appell.compile.scan import Scan
from appell.simulation.rollouts.contacts.impulses import Impulses, input_power, moreau_step
from appell.simulation.rollouts.contacts.penalty import Penalty


def with_impulses(dyn: ap.Dynamics, impulses: Impulses, law=None, loops: bool = True) -> Scan:
    """Return scan(q, v, h, t, tau): states, and the impulses of contacts, stops and dry friction, if there are any."""

    def body(q, v, h, t, tau, rolled=None):
        equations = dyn.equations.run_by(rolled) if loops else dyn.equations
        tau = law(q, v) if law else tau

        def acceleration(q, v):
            return equations.acceleration(q, v, tau, {}, impulses.directions(equations))

        def power(q, v):
            return input_power(equations, q, v, tau)

        end, response = moreau_step(equations, impulses, q, v, h, acceleration, power, _normalise(dyn.system), t)
        impulse_results = {"walls": response.walls, "stops": response.stops, "dry": response.dry}
        return {"q": end, "v": response.v} | {name: each for name, each in impulse_results.items() if each}

    return _scan(dyn, body, loops)


def with_penalty(dyn: ap.Dynamics, penalty: Penalty, law=None) -> Scan:
    """Return scan(q, v, h, t, tau) by the semi-implicit Euler method."""
    system, normalise = dyn.system, _normalise(dyn.system)

    def body(q, v, h, t, tau):
        tau = law(q, v) if law else tau
        a = penalty.acceleration(dyn.equations, q, v, tau, {}, t)
        after = [x + h * y for x, y in zip(v, a, strict=True)]
        return {"q": normalise([x + h * y for x, y in zip(q, system.rate(q, after), strict=True)]), "v": after}

    return _scan(dyn, body, loops=False)


def run_scan(scan: Scan, q, v, h: float, steps: int, tau=None, start: float = 0.0, **options):
    """Run a scan over a number of steps of length h from time `start`, with a constant torque or none."""
    size = scan.inputs[-1].size
    force = np.zeros(size) if tau is None else np.asarray(tau, float)
    times = start + h * np.arange(steps)
    return scan(q, v, h, times, np.broadcast_to(force, (steps, size)), **options)


def _scan(dyn: ap.Dynamics, body, loops: bool) -> Scan:
    system = dyn.system
    state = {"q": system.nq, "v": system.nv}
    return Scan.of("among_walls", state, {"h": ()}, {"t": (), "tau": system.nu}, body, loops=loops)


def _normalise(system):
    """Return the function that normalises the quaternions of q."""

    def normalise(q):
        normalised = list(q)
        for span in system.quaternions:
            length = sqrt(sum(x * x for x in normalised[span]))
            normalised[span] = [x / length for x in normalised[span]]
        return normalised

    return normalise
