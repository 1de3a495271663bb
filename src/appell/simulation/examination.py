"""Whether a phase can go on: do its forces push, keep within their bounds, and does nothing that slides stop?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from appell.simulation.integrate import Settings
from appell.simulation.phase import Phase
from appell.simulation.status import Status, Stop
from appell.simulation.trial import Trial

CREEP = 1e-9  # m/s: a sliding point that goes backwards this fast has stopped
SINGULAR = 1e-3  # the unmet part of the resting points' acceleration that ends a run
EXCESS = 1e-10  # of a drive's friction at rest


@dataclass(frozen=True)
class Examination:
    """What ends a phase: contacts that leave, begin to slide or stop, and drives that begin to slip or stop."""

    leaving: frozenset[int] = frozenset()
    sliding: Mapping[int, np.ndarray] = field(default_factory=dict)  # and where to
    stopping: bool = False
    slipping: Mapping[int, float] = field(default_factory=dict)  # and in which direction
    stopped: frozenset[int] = frozenset()
    margin: float = 0.0  # how far the nearest of its forces is from its bound, negative beyond it; 0: not known

    @property
    def holds(self) -> bool:
        return not (self.leaving or self.sliding or self.stopping or self.slipping or self.stopped)


def examine(phase: Phase, t: float, y: np.ndarray, settings: Settings) -> Examination:
    """Whether the phase goes on at (t, y)."""
    geometry = phase.geometry
    free = phase.flow(t, y, phase.directions)[phase.flow.nq :]
    reaction = phase.reaction(y, free)
    if not reaction.unmet <= SINGULAR:
        names = [geometry.contacts.names[k] for k in phase.members] + [geometry.drives.names[k] for k in phase.stuck]
        raise Stop(Status.SINGULAR, f"It concerns {', '.join(names)} at t = {t:.9g}.")
    contacts, tangents = len(phase.rests), 2 * len(phase.sticking)
    normal, held = reaction.forces[:contacts], reaction.forces[contacts + tangents :]
    tangential = reaction.forces[contacts : contacts + tangents].reshape(-1, 2)
    size = np.abs(normal).max(initial=1e-300)
    pulled = normal < -1e-12 * size
    margins = [float(normal.min(initial=np.inf)) / size + 1e-12]
    sliding: dict[int, np.ndarray] = {}
    for k, along in zip(phase.sticking, tangential, strict=True):
        rest, length = phase.rests[k], math.hypot(*along.tolist())
        spare = rest.friction * max(normal[k], 0.0) * (1.0 + 1e-8) + 1e-12 * size - length
        margins.append(spare / size)
        if spare < 0.0:
            sliding[rest.index] = -(along @ geometry.motion.frame[rest.index, 1:]) / length
    stopping = False
    for _, rest in phase.sliding:
        i = 3 * rest.index
        velocity = geometry.speed[i + 1 : i + 3] @ geometry.motion.frame[rest.index, 1:]
        ahead = float(velocity @ rest.direction) + CREEP
        margins.append(ahead)
        stopping |= ahead <= 0.0
    level = geometry.drives.level[phase.stuck] * (1.0 + EXCESS)
    over = np.abs(held) > level
    margins += (1.0 - np.abs(held) / level).tolist()
    slipping = {int(k): -float(np.sign(f)) for k, f in zip(phase.stuck[over], held[over], strict=True)}
    if not pulled.any() and not sliding and not slipping:
        return Examination(stopping=stopping, margin=min(margins))
    if not phase.redundant:
        return Examination(
            frozenset(int(k) for k in phase.members[pulled]), sliding, stopping, slipping, margin=min(margins)
        )
    trial = Trial(geometry, phase.members, phase.stuck, free, settings.rest_speed)
    lam, w = trial.solve(t)
    leaving = {int(phase.members[j]) for j in np.flatnonzero((w > trial.tiny) & (lam <= 0.0))}
    moved = {phase.rests[j].index: d for j in phase.sticking if (d := trial.sliding(j)) is not None}
    slipping = {int(k): s for j, k in enumerate(phase.stuck) if (s := trial.moving(j))}
    return Examination(frozenset(leaving), moved, stopping, slipping)
