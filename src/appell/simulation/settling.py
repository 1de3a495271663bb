"""Which touching points come to rest, and which resting points leave.

A point that touches with next to no normal speed rests if the others let it: contact forces λ ≥ 0 and normal
accelerations w ≥ 0 with λ·w = 0 (Gauss' principle; with friction, within the cones). Points with λ > 0 rest, and so do
points that the resting ones hold at their wall. What is left of their normal speed is taken away by an impulse.

A point whose bounces have become this small would go on for a geometric series of flights, 2v/|w|, 2ev/|w|, ...:

    t_rest = t + 2v / (|w| (1 - e))                                                                          (1)

which is reported as the time of rest, to an accuracy far below its own length.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from appell.simulation.blocks import PUSH, Block, solve_blocks
from appell.simulation.complementarity import least_norm
from appell.simulation.integrate import Settings
from appell.simulation.phase import RECALL, Phase, Rest
from appell.simulation.status import Status, Stop

CREEP = 1e-9  # m/s: a sliding point that goes backwards this fast has stopped
SINGULAR = 1e-3  # the unmet part of the resting points' acceleration that ends a run
HELD_SPEED = 1e-9  # m/s
HELD = 1e-7  # m/s², relative to the largest acceleration at hand


@dataclass(frozen=True)
class Examination:
    """What keeps a phase from going on: points that leave, that begin to slide (and where to), or that stop."""

    leaving: frozenset[int] = frozenset()
    sliding: Mapping[int, np.ndarray] = field(default_factory=dict)
    stopping: bool = False

    @property
    def holds(self) -> bool:
        return not (self.leaving or self.sliding or self.stopping)


def settle(
    phase: Phase, t: float, y: np.ndarray, near: np.ndarray, settings: Settings, examination: Examination
) -> tuple[Phase, np.ndarray, float]:
    """The phase that follows an event, the state it starts from, and when the last of its new points is at rest."""
    flow, geometry = phase.flow, phase.geometry
    assert geometry is not None
    nq = flow.nq
    free = flow(t, y)[nq:]
    geometry.at(y)
    speeds = geometry.normal_speed()
    which = np.array([k for k in near if speeds[k] <= settings.rest_speed], int)
    if not len(which):
        return Phase(flow, geometry), y, t
    trial = _Trial(phase, which, y, free, settings.rest_speed)
    lam, w = trial.solve()
    v = y[nq:]
    pressed = lam > 1e-12 * np.abs(lam).max(initial=0.0)
    normals = geometry.normal_rows(which)
    slow = normals @ _without(geometry.M, normals[pressed], v)
    biggest = max(1.0, np.abs(trial.b).max())
    held = (w <= HELD * biggest) & (slow <= HELD_SPEED) & [k not in examination.leaving for k in which]
    stays = pressed | held
    rests = []
    known = {rest.index: rest for rest in phase.rests}
    for j in np.flatnonzero(stays):
        k = int(which[j])
        direction = examination.sliding.get(k, trial.direction(int(j), HELD * biggest))
        rests.append(Rest(k, float(geometry.contacts.friction[k]), direction))
    end = t
    for j in np.flatnonzero(stays):
        k, e = which[j], geometry.contacts.restitution[which[j]]
        if k not in known and speeds[k] > 0.0 and e < 1.0 and trial.b_normal[j] < 0.0:
            end = max(end, t + 2.0 * speeds[k] / (-trial.b_normal[j] * (1.0 - e)))  # (1)
    slow_points = [int(which[j]) for j in np.flatnonzero(stays) if trial.mu[j] > 0.0 and trial.slides[j] is None]
    following = Phase(flow, geometry, rests)
    return following, np.concatenate([y[:nq], _stilled(following, slow_points, v)]), end


def examine(phase: Phase, t: float, y: np.ndarray, settings: Settings) -> Examination:
    """Whether the phase goes on at (t, y)."""
    geometry = phase.geometry
    assert geometry is not None
    free = phase.flow(t, y)[phase.flow.nq :]
    reaction = phase.reaction(t, y, free)
    if not reaction.unmet <= SINGULAR:
        names = ", ".join(geometry.contacts.names[k] for k in phase.members)
        raise Stop(Status.SINGULAR, f"It concerns {names} at t = {t:.9g}.")
    size = max(np.abs(reaction.normal).max(), 1e-300)
    pulled = reaction.normal < -1e-12 * size
    stopping = False
    sliding: dict[int, np.ndarray] = {}
    for k, rest in enumerate(phase.rests):
        if rest.direction is not None:
            velocity = geometry.motion.velocity[geometry.contacts.point[rest.index]]
            stopping |= bool(velocity @ rest.direction <= -CREEP)
        elif rest.sticks:
            length = float(np.hypot(*reaction.tangential[k]))
            if length > rest.friction * max(reaction.normal[k], 0.0) * (1.0 + 1e-8) + 1e-12 * size:
                tangents = geometry.frames([rest.index])[0, 1:]
                sliding[rest.index] = -(reaction.tangential[k] @ tangents) / length
    if not pulled.any() and not sliding:
        return Examination(stopping=stopping)
    if _redundant(phase):
        lam, w = (trial := _Trial(phase, phase.members, y, free, settings.rest_speed)).solve()
        tiny = HELD * max(1.0, np.abs(trial.b).max())
        leaving = {int(phase.members[j]) for j in np.flatnonzero((w > tiny) & (lam <= 0.0))}
        moved = {
            int(phase.members[j]): d
            for j, r in enumerate(phase.rests)
            if r.sticks and (d := trial.direction(j, tiny)) is not None
        }
        return Examination(frozenset(leaving), moved, stopping)
    return Examination(frozenset(int(k) for k in phase.members[pulled]), sliding, stopping)


class _Trial:
    """Complementarity of forces and accelerations of some touching points."""

    def __init__(self, phase: Phase, which: np.ndarray, y: np.ndarray, free: np.ndarray, rest_speed: float):
        geometry = phase.geometry
        assert geometry is not None
        geometry.at(y)
        motion, point = geometry.motion, geometry.contacts.point
        self.mu = geometry.contacts.friction[which]
        self.frames = geometry.frames(which)
        J = geometry.rows(which, self.frames)
        drift = np.einsum("kij,kj->ki", self.frames, motion.drift[point[which]])
        drift[:, 0] = (
            geometry.normal_drift(which) + RECALL**2 * motion.gap[which] / motion.slope[which]
        )  # as in a phase
        self.slides: list[np.ndarray | None] = []
        self.blocks: list[slice] = []
        rows: list[np.ndarray] = []
        pushes: list[np.ndarray] = []
        b: list[float] = []
        for j, k in enumerate(which):
            tangential = self.frames[j, 1:] @ motion.velocity[point[k]]
            speed = float(np.hypot(*tangential))
            slides = self.mu[j] > 0.0 and speed > rest_speed
            self.slides.append(tangential / speed @ self.frames[j, 1:] if slides else None)
            own = J[j] if self.mu[j] > 0.0 and not slides else J[j, :1]
            push = J[j, :1] - self.mu[j] * (tangential / speed @ J[j, 1:])[None] if slides else own
            self.blocks.append(slice(len(b), len(b) + len(own)))
            rows += [*own]
            pushes += [*push]
            b += list(own @ free + drift[j, : len(own)])
        self.A = np.array(rows) @ np.linalg.solve(geometry.M, np.array(pushes).T)
        self.b = np.array(b)
        self.normals = np.array([s.start for s in self.blocks])
        self.names = [geometry.contacts.names[k] for k in which]

    @property
    def b_normal(self) -> np.ndarray:
        return self.b[self.normals]

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """Normal forces and normal accelerations."""
        blocks = [
            Block("cone", mu) if s.stop - s.start == 3 else PUSH for s, mu in zip(self.blocks, self.mu, strict=True)
        ]
        found = solve_blocks(self.A, self.b, blocks)
        if not found.solved:
            raise Stop(Status.UNSOLVED, f"They concern {', '.join(self.names)}.")
        f = found.f
        self.u = self.A @ f + self.b
        return f[self.normals], self.u[self.normals]

    def direction(self, j: int, tiny: float) -> np.ndarray | None:
        """Where a point slides, or is about to; None if it sticks or has no friction."""
        s = self.blocks[j]
        if self.mu[j] == 0.0 or s.stop - s.start == 1:
            return self.slides[j]
        along = self.u[s.start + 1 : s.stop]
        length = float(np.hypot(*along))
        return along @ self.frames[j, 1:] / length if length > tiny else None


def _redundant(phase: Phase) -> bool:
    assert phase.geometry is not None
    rows = list(phase.geometry.normal_rows(phase.members))
    sticking = [rest.index for rest in phase.rests if rest.sticks]
    if sticking:
        rows += list(
            phase.geometry.rows(sticking, phase.geometry.frames(sticking))[:, 1:].reshape(2 * len(sticking), -1)
        )
    return int(np.linalg.matrix_rank(np.array(rows), tol=1e-9)) < len(rows)


def _stilled(phase: Phase, slow: list[int], v: np.ndarray) -> np.ndarray:
    """The velocity without what resting points must not have: normal speed, and tangential speed of the slow ones."""
    geometry = phase.geometry
    assert geometry is not None
    if not phase.rests:
        return v
    rows = [geometry.normal_rows(phase.members)]
    if slow:
        rows.append(geometry.rows(slow, geometry.frames(slow))[:, 1:].reshape(2 * len(slow), -1))
    return _without(geometry.M, np.concatenate(rows), v)


def _without(M: np.ndarray, rows: np.ndarray, v: np.ndarray) -> np.ndarray:
    """v less its components along the rows, in the metric of M."""
    if not len(rows):
        return v
    response = np.linalg.solve(M, rows.T)
    return v - response @ least_norm(rows @ response, rows @ v)
