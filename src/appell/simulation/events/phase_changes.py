"""Conditions under which a phase ends, and the phase that follows.

`ForceBalance` relates forces and accelerations at one instant: a point that touches with almost no normal speed presses
on its wall or leaves it, and sticks or slides if it presses; a drive that does not move sticks or slips. All cases are
decided together: forces λ and accelerations u along their rows satisfy the laws of `blocks` (Gauss's principle, with
friction within cones and bounds).

A phase lasts (`check_phase`) as long as its forces push and stay within their bounds, and nothing that slides stops.

After an event (`following_phase`), points that touch with almost no normal speed and drives that do not move are
balanced together. Points with λ > 0 rest, and so do points that the resting ones hold at their wall; drives without
acceleration are stuck. An impulse removes their remaining speeds; it never adds energy.

A point whose bounces have become this small would continue with a geometric series of flights, 2v/|w|, 2ev/|w|, ...,
until

    t_rest = t + 2v / (|w| (1 - e))                                                                          (1)

which is reported as the time of rest; its error is much smaller than the duration of the series. Bounces are this small
if they are slower than `rest_speed`, or lower than the resolution of a gap: light feet under load bounce fast and low.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from appell.simulation.contact.blocks import PUSH, Block, solve_blocks
from appell.simulation.contact.geometry import Geometry
from appell.simulation.events.phase import Phase, Rest
from appell.simulation.events.phase_rate import STABILISATION
from appell.simulation.options import Solver
from appell.simulation.status import Status, Stop

REVERSAL_SPEED_M_S = 1e-9  # a sliding point that moves backwards this fast has stopped
FRICTION_MARGIN = 1e-10  # of a drive's static friction: forces above it by less do not release the drive
HELD_SPEED = 1e-9  # m/s or rad/s: slower points and drives count as still
NO_SPEED = 1e-12  # m/s or rad/s: a smaller speed is a rounding error, and a feature that takes over does not bounce
MIN_PRESSURE = 1e-12  # of the largest normal force: a smaller force is a rounding error
MIN_BOUNCE_HEIGHT_M = 4e-12  # lower bounces are indistinguishable from the noise of a gap


class ForceBalance:
    """The force problem of some contacts and drives at the current state of a geometry.

    `free` is the acceleration without their forces. Contacts with a tangential speed above `rest_speed` slide.
    """

    def __init__(
        self, geometry: Geometry, contacts: np.ndarray, drives: np.ndarray, free: np.ndarray, rest_speed: float
    ):
        self.geometry, self.contacts, self.drives = geometry, contacts, drives
        self.mu = geometry.contacts.friction[contacts]
        rows: list[int] = []
        force_rows: list[np.ndarray] = []
        self.blocks: list[Block] = []
        self.slides: list[np.ndarray | None] = []  # direction of sliding, world axes
        self.normals = np.zeros(len(contacts), int)
        axes = geometry.axes(contacts)
        for j, contact_rows in enumerate(geometry.contact_rows(contacts).tolist()):
            along = geometry.speed[contact_rows[1:]]
            speed = float(np.hypot(*along))
            slides = self.mu[j] > 0.0 and speed > rest_speed
            self.slides.append(along / speed @ axes[j, 1:] if slides else None)
            self.normals[j] = len(rows)
            if self.mu[j] > 0.0 and not slides:
                self.blocks.append(Block("cone", float(self.mu[j])))
                rows += contact_rows
                force_rows += [*geometry.B[contact_rows]]
            else:
                self.blocks.append(PUSH)
                rows.append(contact_rows[0])
                friction = self.mu[j] * (along / speed @ geometry.B[contact_rows[1:]]) if slides else 0.0
                force_rows.append(geometry.B[contact_rows[0]] - friction)
        self.drive_entries = len(rows) + np.arange(len(drives))
        for row in geometry.drive_rows(drives):
            rows.append(int(row))
            force_rows.append(geometry.B[row])
        self.blocks += [Block("box", float(level)) for level in geometry.drives.level[drives]]
        self.A = geometry.B[rows] @ geometry.response(np.array(force_rows))
        self.b = geometry.B[rows] @ free + geometry.drift[rows]
        if len(contacts):
            self.b[self.normals] += STABILISATION**2 * geometry.offsets(contacts)  # as in a phase
        self.zero = 1e-7 * max(1.0, float(np.abs(self.b).max(initial=0.0)))  # smaller accelerations count as zero

    def solve(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Return normal forces and normal accelerations of the contacts; raise `Stop` if there is no solution."""
        solution = solve_blocks(self.A, self.b, self.blocks)
        if not solution.solved:
            names = [self.geometry.contacts.names[k] for k in self.contacts]
            names += [self.geometry.drives.names[k] for k in self.drives]
            raise Stop(Status.UNSOLVED, f"The contacts and drives are {', '.join(names)} at t = {t:.9g}.")
        self.u = solution.u
        return solution.f[self.normals], self.u[self.normals]

    def sliding(self, j: int) -> np.ndarray | None:
        """Return the direction in which contact j slides or starts to slide; None if it sticks or has no friction."""
        if self.blocks[j].kind != "cone":
            return self.slides[j]
        n = self.normals[j]
        along = self.u[n + 1 : n + 3]
        length = float(np.hypot(*along))
        return along @ self.geometry.axes([self.contacts[j]])[0, 1:] / length if length > self.zero else None

    def moving(self, j: int) -> float:
        """Return the direction in which drive j starts to move, 0 if it sticks.

        If one drive moves, a smaller acceleration suffices for the others, because drives may be coupled.
        """
        accelerations = self.u[self.drive_entries]
        threshold = self.zero if np.abs(accelerations).max() <= self.zero else 1e-2 * self.zero
        return float(np.sign(accelerations[j])) if abs(accelerations[j]) > threshold else 0.0


class PhaseCheck(NamedTuple):
    """Result of checking a phase: contacts that leave, start to slide or stop; drives that start to slip or stop."""

    leaving: frozenset[int] = frozenset()  # contacts
    ended: frozenset[int] = frozenset()  # features that can no longer touch, so that other features take over
    sliding: Mapping[int, np.ndarray] = {}  # contact -> direction, world axes
    stopping: bool = False  # whether a sliding contact stops
    slipping: Mapping[int, float] = {}  # drive -> direction, -1 or 1
    stopped: frozenset[int] = frozenset()  # drives
    margin: float = 0.0  # smallest relative distance of a force from its bound, negative beyond it; 0: unknown

    @property
    def holds(self) -> bool:
        return not (self.leaving or self.ended or self.sliding or self.stopping or self.slipping or self.stopped)


def check_phase(phase: Phase, t: float, y: np.ndarray, solver: Solver) -> PhaseCheck:
    """Check whether a phase lasts at (t, y)."""
    geometry = phase.geometry
    forces = phase.forces(t, y)
    if forces is None:
        names = [geometry.contacts.names[k] for k in phase.members] + [geometry.drives.names[k] for k in phase.stuck]
        raise Stop(Status.SINGULAR, f"The contacts and drives are {', '.join(names)} at t = {t:.9g}.")
    normal = forces[: len(phase.rests)]
    least = min(normal, default=math.inf)
    size = max(1e-300, *normal, -least)
    margin, pulled = least / size + 1e-12, []
    if least < -1e-12 * size:
        pulled = [rest.index for rest, force in zip(phase.rests, normal, strict=True) if force < -1e-12 * size]
    sliding: dict[int, np.ndarray] = {}
    for k, i, friction in phase.cones:
        x, z = forces[i], forces[i + 1]
        length = math.sqrt(x * x + z * z)
        spare = (friction * max(normal[k], 0.0) * (1.0 + 1e-8) - length) / size + 1e-12
        margin = min(margin, spare)
        if spare < 0.0:
            index = phase.rests[k].index
            sliding[index] = -(forces[i : i + 2] @ geometry.axes([index])[0, 1:]) / length
    stopping = False
    rows, slots = (phase.rows, phase.slots) if phase.sliding else ((), ())
    for k, rest in phase.sliding:
        assert rest.direction is not None
        row, slot = rows[k], slots[k]
        ahead = geometry.frame[slot, 1:].dot(rest.direction).dot(geometry.speed[row + 1 : row + 3])
        backward = float(ahead) + REVERSAL_SPEED_M_S
        margin = min(margin, backward)
        stopping |= backward <= 0.0
    slipping = {}
    for k, force in zip(phase.stuck, forces[len(forces) - len(phase.stuck) :], strict=True):
        level = float(geometry.drives.level[k]) * (1.0 + FRICTION_MARGIN)
        margin = min(margin, 1.0 - abs(force) / level)
        if abs(force) > level:
            slipping[int(k)] = -math.copysign(1.0, force)
    if not pulled and not sliding and not slipping:
        return PhaseCheck(stopping=stopping, margin=margin)
    if not phase.redundant:
        return PhaseCheck(
            leaving=frozenset(pulled), sliding=sliding, stopping=stopping, slipping=slipping, margin=margin
        )
    free = phase.flow(t, y, phase.directions)[phase.flow.nq :]
    balance = ForceBalance(geometry, phase.members, phase.stuck, free, solver.rest_speed)
    lam, w = balance.solve(t)
    released = (w > balance.zero) & (lam <= MIN_PRESSURE * np.abs(lam).max(initial=0.0))
    leaving = {int(phase.members[j]) for j in np.flatnonzero(released)}
    sliding = {phase.rests[j].index: d for j in phase.sticking if (d := balance.sliding(j)) is not None}
    slipping = {int(k): s for j, k in enumerate(phase.stuck) if (s := balance.moving(j))}
    return PhaseCheck(leaving=frozenset(leaving), sliding=sliding, stopping=stopping, slipping=slipping)


def following_phase(
    phase: Phase, t: float, y: np.ndarray, closed: np.ndarray, solver: Solver, check: PhaseCheck
) -> tuple[Phase, np.ndarray, float]:
    """Return the phase that follows an event, its initial state, and the time at which its last new contact rests.

    Parameters
    ----------
    phase
        The phase before the event.
    t, y
        Time of the event, and the state after its impact.
    closed
        Indices of the contacts that are closed.
    solver
        Options of the run.
    check
        What ended the phase.
    """
    flow, geometry, nq = phase.flow, phase.geometry.at(y), phase.flow.nq
    speeds, rates = geometry.normal_speed(closed), geometry.rates().copy()
    halted = np.abs(rates) <= HELD_SPEED
    halted[list(check.stopped)] = True
    directions = np.where(halted, 0.0, np.sign(rates))
    free = flow(t, y, directions)[nq:]
    pull = -(geometry.B[geometry.normal_rows(closed)] @ free + geometry.drift[geometry.normal_rows(closed)])
    min_speed = np.sqrt(2.0 * MIN_BOUNCE_HEIGHT_M * np.maximum(pull, 0.0))  # slower bounces are too low
    is_slow = speeds <= np.maximum(solver.rest_speed, min_speed)
    slow, speeds = closed[is_slow], speeds[is_slow]
    drives = np.flatnonzero(halted)
    if not len(slow) and not len(drives):
        return Phase(flow, geometry, directions), y, t
    balance = ForceBalance(geometry, slow, drives, free, solver.rest_speed)
    lam, w = balance.solve(t)
    directions[drives] = [check.slipping.get(int(k), balance.moving(j)) for j, k in enumerate(drives)]
    v = y[nq:]
    pressed = lam > MIN_PRESSURE * np.abs(lam).max(initial=0.0)
    normals = geometry.B[geometry.normal_rows(slow)]
    residual = normals @ geometry.without_components(normals[pressed], v)
    held = (w <= balance.zero) & (residual <= HELD_SPEED)
    if check.leaving:
        held &= ~np.isin(slow, list(check.leaving))
    stays = np.flatnonzero(pressed | held)
    following = _resting(phase, directions, balance, stays, check)
    if following.sliding and len(stays) < len(slow):
        closing = _closing(following, balance, stays, t, y)
        if len(closing):
            more = np.union1d(stays, closing)
            wider = _resting(phase, directions, balance, more, check)
            if not len(_closing(wider, balance, more, t, y)):
                following, stays = wider, more
    rests = following.rests
    sticking = [int(slow[j]) for j in stays if balance.mu[j] > 0.0 and balance.slides[j] is None]
    end = max([t, *(t + _bouncing_time(phase, balance, int(j), float(speeds[j])) for j in stays)])
    y = np.concatenate([y[:nq], _stopped(following, sticking, v)])
    return following, following.on_walls(t, y, closed) if rests else y, end


def _resting(
    phase: Phase, directions: np.ndarray, balance: ForceBalance, stays: np.ndarray, check: PhaseCheck
) -> Phase:
    """Return a phase in which some contacts of a balance rest."""
    rests = [_rest(phase.geometry, balance, int(j), check) for j in stays]
    return Phase(phase.flow, phase.geometry, directions, rests)


def _closing(phase: Phase, balance: ForceBalance, stays: np.ndarray, t: float, y: np.ndarray) -> np.ndarray:
    """Return which released contacts of a balance the forces of a phase with redundant rows would close again.

    Returns all released contacts if a normal force of the phase pulls.
    """
    released = np.setdiff1d(np.arange(len(balance.contacts)), stays)
    reaction = phase.reaction(y, phase.flow(t, y, phase.directions)[phase.flow.nq :])
    if not phase.redundant:
        return released[:0]
    geometry, normal = phase.geometry, reaction.forces[: len(stays)]
    if normal.min() < -1e-12 * np.abs(normal).max():
        return np.arange(len(balance.contacts))
    rows = geometry.normal_rows(balance.contacts[released])
    return released[geometry.B[rows] @ reaction.a + geometry.drift[rows] < -balance.zero]


def _rest(geometry: Geometry, balance: ForceBalance, j: int, check: PhaseCheck) -> Rest:
    k = int(balance.contacts[j])
    return Rest(k, float(balance.mu[j]), check.sliding.get(k, balance.sliding(j)))


def _bouncing_time(phase: Phase, balance: ForceBalance, j: int, speed: float) -> float:
    """Return the duration of the remaining bounces of a contact by (1), s; 0 if it was at rest before."""
    k, pull = balance.contacts[j], -balance.b[balance.normals[j]]
    e = phase.geometry.contacts.restitution[k]
    bounces = k not in phase.members and speed > NO_SPEED and e < 1.0 and pull > 0.0
    return 2.0 * speed / (pull * (1.0 - e)) if bounces else 0.0


def _stopped(phase: Phase, sticking: list[int], v: np.ndarray) -> np.ndarray:
    """Return v without normal speeds of resting contacts, tangential speeds of sticking ones and of stuck drives.

    Sets `phase.still`, which is then known.
    """
    geometry, B = phase.geometry, phase.geometry.B
    if not len(phase.rows):
        return v
    rows = B[
        np.concatenate(
            [
                geometry.normal_rows(phase.members),
                geometry.tangent_rows(sticking),
                geometry.drive_rows(phase.stuck),
            ]
        )
    ]
    phase.still = geometry.states.immobilised(B[phase.rows])
    if phase.still:
        return np.zeros(len(v))
    v = geometry.without_components(rows, v)
    v[phase.locked] = 0.0
    return v
