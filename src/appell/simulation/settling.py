"""Which touching points come to rest and which leave, which drives stick and which slip.

Points that touch with next to no normal speed, and drives that stand still, are tried together (`trial`). Points with
λ > 0 rest, and so do points that the resting ones hold at their wall; drives without acceleration are stuck. What is
left of their speeds is taken away by an impulse, which never adds energy.

A point whose bounces have become this small would go on for a geometric series of flights, 2v/|w|, 2ev/|w|, ...:

    t_rest = t + 2v / (|w| (1 - e))                                                                          (1)

which is reported as the time of rest, to an accuracy far below its own length. Bounces are this small if they are
slower than `rest_speed`, or lower than what can be seen of a gap: light feet under load bounce fast and low.
"""

from __future__ import annotations

import numpy as np

from appell.simulation.complementarity import least_norm
from appell.simulation.examination import Examination
from appell.simulation.geometry import Geometry
from appell.simulation.integrate import Settings
from appell.simulation.phase import Phase, Rest
from appell.simulation.trial import Trial

HELD_SPEED = 1e-9  # m/s or rad/s: slower is still
HEIGHT = 4e-12  # m: lower bounces cannot be told from the noise of a gap


def settle(
    phase: Phase, t: float, y: np.ndarray, near: np.ndarray, settings: Settings, examination: Examination
) -> tuple[Phase, np.ndarray, float]:
    """The phase that follows an event, the state it starts from, and when the last of its new points is at rest."""
    flow, geometry, nq = phase.flow, phase.geometry.at(y), phase.flow.nq
    speeds, rates = geometry.normal_speed().copy(), geometry.rates().copy()
    halted = (np.abs(rates) <= HELD_SPEED) | np.isin(np.arange(len(rates)), list(examination.stopped))
    directions = np.where(halted, 0.0, np.sign(rates))
    free = flow(t, y, directions)[nq:]
    pull = -(geometry.B[geometry.normal(near)] @ free + geometry.drift[geometry.normal(near)])
    invisible = np.sqrt(2.0 * HEIGHT * np.maximum(pull, 0.0))
    which = near[speeds[near] <= np.maximum(settings.rest_speed, invisible)]
    drives = np.flatnonzero(halted)
    if not len(which) and not len(drives):
        return Phase(flow, geometry, directions), y, t
    trial = Trial(geometry, which, drives, free, settings.rest_speed)
    lam, w = trial.solve(t)
    directions[drives] = [examination.slipping.get(int(k), trial.moving(j)) for j, k in enumerate(drives)]
    v = y[nq:]
    pressed = lam > 1e-12 * np.abs(lam).max(initial=0.0)
    normals = geometry.B[geometry.normal(which)]
    slow = normals @ _without(geometry, normals[pressed], v)
    held = (w <= trial.tiny) & (slow <= HELD_SPEED) & ~np.isin(which, list(examination.leaving))
    stays = np.flatnonzero(pressed | held)
    rests = [_rest(geometry, trial, int(j), examination) for j in stays]
    following = Phase(flow, geometry, directions, rests)
    slowest = [int(which[j]) for j in stays if trial.mu[j] > 0.0 and trial.slides[j] is None]
    end = max([t, *(t + _bounces(phase, trial, int(j), speeds[which[j]]) for j in stays)])
    y = np.concatenate([y[:nq], _stilled(following, slowest, v)])
    return following, following.pulled_back(t, y) if rests else y, end


def _rest(geometry: Geometry, trial: Trial, j: int, examination: Examination) -> Rest:
    k = int(trial.contacts[j])
    return Rest(k, float(trial.mu[j]), examination.sliding.get(k, trial.sliding(j)))


def _bounces(phase: Phase, trial: Trial, j: int, speed: float) -> float:
    """How long the bounces of a point go on (1), none if it was at rest already."""
    k, pull = trial.contacts[j], -trial.b[trial.normals[j]]
    e = phase.geometry.contacts.restitution[k]
    bounces = k not in phase.members and speed > 0.0 and e < 1.0 and pull > 0.0
    return 2.0 * speed / (pull * (1.0 - e)) if bounces else 0.0


def _stilled(phase: Phase, slow: list[int], v: np.ndarray) -> np.ndarray:
    """The velocity without what must not be: normal speed at rest, tangential speed of slow points, stuck drives'."""
    place, B = phase.geometry, phase.geometry.B
    if not len(phase.rows):
        return v
    rows = B[np.concatenate([place.normal(phase.members), place.tangents(slow), place.of_drives(phase.stuck)])]
    phase.still = place.states.stands(B[phase.rows])
    if phase.still:
        return np.zeros(len(v))
    v = _without(place, rows, v)
    v[phase.locked] = 0.0
    return v


def _without(geometry: Geometry, rows: np.ndarray, v: np.ndarray) -> np.ndarray:
    """v less its components along the rows, in the metric of M."""
    if not len(rows):
        return v
    response = geometry.response(rows)
    return v - response @ least_norm(rows @ response, rows @ v)
