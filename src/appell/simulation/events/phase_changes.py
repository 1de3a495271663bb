"""When a phase ends, and which phase follows.

Forces against accelerations at one instant (`ForceBalance`): a point that touches with next to no normal speed presses
on its wall or leaves it, and sticks or slides if it presses; a drive that stands still stays or moves. All are decided
together: forces λ and accelerations u along their rows obey the laws of `blocks` (Gauss' principle, with friction
within cones and bounds).

A phase goes on (`check_phase`) as long as its forces push and keep within their bounds, and nothing that slides stops.

After an event (`following_phase`) points that touch with next to no normal speed, and drives that stand still, are
balanced together. Points with λ > 0 rest, and so do points that the resting ones hold at their wall; drives without
acceleration are stuck. What is left of their speeds is taken away by an impulse, which never adds energy.

A point whose bounces have become this small would go on for a geometric series of flights, 2v/|w|, 2ev/|w|, ...:

    t_rest = t + 2v / (|w| (1 - e))                                                                          (1)

which is reported as the time of rest, to an accuracy far below its own length. Bounces are this small if they are
slower than `rest_speed`, or lower than what can be seen of a gap: light feet under load bounce fast and low.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from appell.simulation.contact.blocks import PUSH, Block, solve_blocks
from appell.simulation.contact.complementarity import least_norm
from appell.simulation.contact.geometry import Geometry
from appell.simulation.events.phase import RECALL, Phase, Rest
from appell.simulation.options import Solver
from appell.simulation.status import Status, Stop

CREEP = 1e-9  # m/s: a sliding point that goes backwards this fast has stopped
SINGULAR = 1e-3  # the unmet part of the resting points' acceleration that ends a run
EXCESS = 1e-10  # of a drive's friction at rest
HELD_SPEED = 1e-9  # m/s or rad/s: slower is still
HEIGHT = 4e-12  # m: lower bounces cannot be told from the noise of a gap


class ForceBalance:
    """Some contacts and some drives of a geometry, at its present state."""

    def __init__(
        self, geometry: Geometry, contacts: np.ndarray, drives: np.ndarray, free: np.ndarray, rest_speed: float
    ):
        self.geometry, self.contacts, self.drives = geometry, contacts, drives
        self.mu = geometry.contacts.friction[contacts]
        rows: list[int] = []
        pushes: list[np.ndarray] = []
        self.blocks: list[Block] = []
        self.slides: list[np.ndarray | None] = []  # in the world
        self.normals = np.zeros(len(contacts), int)
        for j, k in enumerate(contacts):
            own = list(range(3 * k, 3 * k + 3))
            along = geometry.speed[own[1:]]
            speed = float(np.hypot(*along))
            slides = self.mu[j] > 0.0 and speed > rest_speed
            self.slides.append(along / speed @ geometry.motion.frame[k, 1:] if slides else None)
            self.normals[j] = len(rows)
            if self.mu[j] > 0.0 and not slides:
                self.blocks.append(Block("cone", float(self.mu[j])))
                rows += own
                pushes += [*geometry.B[own]]
            else:
                self.blocks.append(PUSH)
                rows.append(own[0])
                rubbing = self.mu[j] * (along / speed @ geometry.B[own[1:]]) if slides else 0.0
                pushes.append(geometry.B[own[0]] - rubbing)
        self.places = len(rows) + np.arange(len(drives))
        for row in geometry.of_drives(drives):
            rows.append(int(row))
            pushes.append(geometry.B[row])
        self.blocks += [Block("box", float(level)) for level in geometry.drives.level[drives]]
        self.A = geometry.B[rows] @ geometry.response(np.array(pushes))
        self.b = geometry.B[rows] @ free + geometry.drift[rows]
        if len(contacts):
            motion = geometry.motion
            self.b[self.normals] += RECALL**2 * motion.gap[contacts] / motion.slope[contacts]  # as in a phase
        self.tiny = 1e-7 * max(1.0, float(np.abs(self.b).max(initial=0.0)))  # accelerations below this are none

    def solve(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Normal forces and normal accelerations."""
        found = solve_blocks(self.A, self.b, self.blocks)
        if not found.solved:
            names = [self.geometry.contacts.names[k] for k in self.contacts]
            names += [self.geometry.drives.names[k] for k in self.drives]
            raise Stop(Status.UNSOLVED, f"They concern {', '.join(names)} at t = {t:.9g}.")
        self.u = found.u
        return found.f[self.normals], self.u[self.normals]

    def sliding(self, j: int) -> np.ndarray | None:
        """Where a point slides, or is about to; None if it sticks or has no friction."""
        if self.blocks[j].kind != "cone":
            return self.slides[j]
        n = self.normals[j]
        along = self.u[n + 1 : n + 3]
        length = float(np.hypot(*along))
        return along @ self.geometry.motion.frame[self.contacts[j], 1:] / length if length > self.tiny else None

    def moving(self, j: int) -> float:
        """The direction in which a drive is about to move, 0 if it stays; what moves takes along what is tied to it."""
        accelerations = self.u[self.places]
        least = self.tiny if np.abs(accelerations).max() <= self.tiny else 1e-2 * self.tiny
        return float(np.sign(accelerations[j])) if abs(accelerations[j]) > least else 0.0


@dataclass(frozen=True)
class PhaseCheck:
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


def check_phase(phase: Phase, t: float, y: np.ndarray, solver: Solver) -> PhaseCheck:
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
        return PhaseCheck(stopping=stopping, margin=min(margins))
    if not phase.redundant:
        return PhaseCheck(
            frozenset(int(k) for k in phase.members[pulled]), sliding, stopping, slipping, margin=min(margins)
        )
    balance = ForceBalance(geometry, phase.members, phase.stuck, free, solver.rest_speed)
    lam, w = balance.solve(t)
    leaving = {int(phase.members[j]) for j in np.flatnonzero((w > balance.tiny) & (lam <= 0.0))}
    moved = {phase.rests[j].index: d for j in phase.sticking if (d := balance.sliding(j)) is not None}
    slipping = {int(k): s for j, k in enumerate(phase.stuck) if (s := balance.moving(j))}
    return PhaseCheck(frozenset(leaving), moved, stopping, slipping)


def following_phase(
    phase: Phase, t: float, y: np.ndarray, near: np.ndarray, solver: Solver, check: PhaseCheck
) -> tuple[Phase, np.ndarray, float]:
    """The phase that follows an event, the state it starts from, and when the last of its new points is at rest."""
    flow, geometry, nq = phase.flow, phase.geometry.at(y), phase.flow.nq
    speeds, rates = geometry.normal_speed().copy(), geometry.rates().copy()
    halted = (np.abs(rates) <= HELD_SPEED) | np.isin(np.arange(len(rates)), list(check.stopped))
    directions = np.where(halted, 0.0, np.sign(rates))
    free = flow(t, y, directions)[nq:]
    pull = -(geometry.B[geometry.normal(near)] @ free + geometry.drift[geometry.normal(near)])
    invisible = np.sqrt(2.0 * HEIGHT * np.maximum(pull, 0.0))
    which = near[speeds[near] <= np.maximum(solver.rest_speed, invisible)]
    drives = np.flatnonzero(halted)
    if not len(which) and not len(drives):
        return Phase(flow, geometry, directions), y, t
    balance = ForceBalance(geometry, which, drives, free, solver.rest_speed)
    lam, w = balance.solve(t)
    directions[drives] = [check.slipping.get(int(k), balance.moving(j)) for j, k in enumerate(drives)]
    v = y[nq:]
    pressed = lam > 1e-12 * np.abs(lam).max(initial=0.0)
    normals = geometry.B[geometry.normal(which)]
    slow = normals @ _without(geometry, normals[pressed], v)
    held = (w <= balance.tiny) & (slow <= HELD_SPEED) & ~np.isin(which, list(check.leaving))
    stays = np.flatnonzero(pressed | held)
    rests = [_rest(geometry, balance, int(j), check) for j in stays]
    following = Phase(flow, geometry, directions, rests)
    slowest = [int(which[j]) for j in stays if balance.mu[j] > 0.0 and balance.slides[j] is None]
    end = max([t, *(t + _bounces(phase, balance, int(j), speeds[which[j]]) for j in stays)])
    y = np.concatenate([y[:nq], _stilled(following, slowest, v)])
    return following, following.pulled_back(t, y) if rests else y, end


def _rest(geometry: Geometry, balance: ForceBalance, j: int, check: PhaseCheck) -> Rest:
    k = int(balance.contacts[j])
    return Rest(k, float(balance.mu[j]), check.sliding.get(k, balance.sliding(j)))


def _bounces(phase: Phase, balance: ForceBalance, j: int, speed: float) -> float:
    """How long the bounces of a point go on (1), none if it was at rest already."""
    k, pull = balance.contacts[j], -balance.b[balance.normals[j]]
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
