"""The loop of a run: step, look for events on the step, act on the first, go on from there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from appell.simulation.flow import Flow
from appell.simulation.geometry import Geometry
from appell.simulation.impact import STILL, Touch, collide
from appell.simulation.integrate import Settings, pieces
from appell.simulation.path import Piece
from appell.simulation.phase import Phase
from appell.simulation.progress import Bar
from appell.simulation.settle import Verdict, settle
from appell.simulation.status import Status, Stop
from appell.simulation.trajectory import Event
from appell.simulation.watch import Sighting, first_event, floors

FLAT = 1e-8  # a gradient shorter than this gives no normal
SAG = 0.5  # of the tolerance: if resting points stray further on a step, it is taken again in halves
SHORT = 1e-9  # s: shorter steps are taken as they are
MIDDLE = 0.02  # of a step
IDLE = 500  # events in a row without time passing


@dataclass
class Record:
    """What has happened so far."""

    flow: Flow
    times: list[float] = field(default_factory=list)
    states: list[np.ndarray] = field(default_factory=list)
    forces: list[np.ndarray] = field(default_factory=list)  # only for a torque that is a function
    pieces: list[Piece] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    stop: Stop | None = None

    def sample(self, t: float, y: np.ndarray) -> None:
        self.times.append(t)
        self.states.append(y)
        if self.flow.torque is not None:
            self.forces.append(np.full(self.flow.nv, np.nan))  # what is left if the torque has no answer here
            self.forces[-1] = self.flow.forces(t, *self.flow.split(y))

    def piece(self, piece: Piece, y: np.ndarray) -> None:
        self.sample(piece.stop, y)
        self.pieces.append(piece)


def run(
    flow: Flow, geometry: Geometry | None, t: float, y: np.ndarray, until: float, settings: Settings, bar: Bar
) -> Record:
    """Everything from (t, y) to `until`, or to where it stops; what happens on the way ends up in the record."""
    record = Record(flow)
    phase = Phase(flow, geometry)
    step, longest, idle = None, np.inf, 0
    try:
        record.sample(t, y)
        phase, y = _begin(record, phase, t, y, settings)
        while t < until:
            floor, aiming, first = floors(phase, y), np.isfinite(longest), t
            for piece in pieces(phase, t, y, until, settings, step, longest):
                step = piece.end - piece.start
                if phase.rests and phase.sag(piece) > SAG * settings.tolerance and step > SHORT:
                    y, longest = phase.pulled_back(y), 0.5 * step
                    break
                sighting = first_event(piece, phase, floor, settings)
                if sighting is not None and _in_the_middle(sighting.time, piece) and step > SHORT:
                    longest = sighting.time - piece.start
                    break
                if sighting is None:
                    t, y = piece.end, piece.at(piece.end)
                    record.piece(piece, y)
                    phase.refresh(y)
                else:
                    idle = idle + 1 if sighting.time - t <= 1e-13 * max(1.0, abs(t)) else 0
                    t, y = sighting.time, piece.at(sighting.time)
                    if t > piece.start:
                        record.piece(piece.until(t), y)
                    phase, y = _react(record, phase, t, y, sighting, settings)
                _check_limits(record, settings, idle)
                bar(t)
                if sighting is not None:
                    longest = np.inf
                    break
                if aiming and piece.start > first:
                    longest *= 4.0
                    break
    except Stop as stop:
        record.stop = stop
    return record


def _in_the_middle(t: float, piece: Piece) -> bool:
    """Whether an event is where the interpolant is worst; the step is then taken again to end at the event."""
    return min(t - piece.start, piece.end - t) > MIDDLE * (piece.end - piece.start)


def _check_limits(record: Record, settings: Settings, idle: int) -> None:
    t = record.times[-1]
    if len(record.events) > settings.max_events:
        raise Stop(Status.EVENTS, f"It stopped at t = {t:.9g} after {settings.max_events}.", hint="a larger max_events")
    if idle > IDLE:
        raise Stop(Status.EVENTS, f"At t = {t:.9g} events follow one another without time passing.")
    if len(record.pieces) >= settings.max_steps:
        raise Stop(Status.STEPS, f"It stopped at t = {t:.9g} after {settings.max_steps}.", hint="a larger max_steps")


def _begin(record: Record, phase: Phase, t: float, y: np.ndarray, settings: Settings) -> tuple[Phase, np.ndarray]:
    """Points that touch their walls at the start are hit or at rest from the start."""
    if phase.geometry is None:
        return phase, y
    if not (phase.geometry.at(y).distance() <= settings.tolerance).any():
        return phase, y
    return _react(record, phase, t, y, Sighting(t, None, Verdict()), settings)


def _react(
    record: Record, phase: Phase, t: float, y: np.ndarray, sighting: Sighting, settings: Settings
) -> tuple[Phase, np.ndarray]:
    """Impact, if a point approaches; then the phase that follows, and the events to tell of."""
    geometry, nq = phase.geometry, phase.flow.nq
    assert geometry is not None
    contacts = geometry.at(y).contacts
    touching = geometry.distance() <= settings.tolerance
    touching[phase.members] = True
    if sighting.contact is not None:
        k = sighting.contact
        if not geometry.motion.slope[k] > FLAT:
            raise Stop(
                Status.INPUT,
                f"The gap between {contacts.describe(k)} has no gradient where they meet at t = {t:.9g}.",
                expected="a function whose gradient is not zero on the wall",
            )
        touching[k] = True
    near = np.flatnonzero(touching)
    speeds = geometry.normal_speed()[near]
    old = y
    if (speeds < -STILL * max(1.0, np.abs(speeds).max(initial=0.0))).any():
        y = _impact(record, geometry, phase, t, y, near)
    following, y, end = settle(phase, t, y, near, settings, sighting.verdict)
    _tell(record, phase, following, t, end, old[nq:], y[nq:])
    if y is not old:
        record.sample(t, y)
    return following, y


def _impact(record: Record, geometry: Geometry, phase: Phase, t: float, y: np.ndarray, near: np.ndarray) -> np.ndarray:
    contacts, motion, nq = geometry.contacts, geometry.motion, phase.flow.nq
    frames = geometry.frames(near)
    touch = Touch(
        geometry.rows(near, frames),
        contacts.restitution[near],
        contacts.friction[near],
        np.isin(near, phase.members),
    )
    v = y[nq:]
    outcome = collide(geometry.M, v, touch)
    hit = np.flatnonzero(outcome.impulses[:, 0] > 1e-12 * outcome.impulses[:, 0].max())
    velocity = motion.velocity[contacts.point[near[hit]]]
    normal_speed = np.einsum("ki,ki->k", motion.normal[near[hit]], velocity)
    speed = np.linalg.norm(velocity, axis=1)
    cosine = np.divide(np.abs(normal_speed), speed, out=np.ones_like(speed), where=speed > 0.0)
    record.events.append(
        Event(
            time=t,
            kind="impact",
            points=tuple(contacts.names[k] for k in near[hit]),
            surfaces=tuple(int(contacts.wall[k]) for k in near[hit]),
            impulses=outcome.impulses[hit, 0],
            normal_speeds=np.maximum(-normal_speed, 0.0),
            frictions=np.einsum("ki,kij->kj", outcome.impulses[hit, 1:], frames[hit, 1:]),
            angles=np.degrees(np.arccos(np.minimum(cosine, 1.0))),
            v_before=v.copy(),
            v_after=outcome.v,
        )
    )
    return np.concatenate([y[:nq], outcome.v])


def _tell(
    record: Record, old: Phase, new: Phase, t: float, end: float, v_before: np.ndarray, v_after: np.ndarray
) -> None:
    """Events for points that came to rest, left, stuck or began to slide."""
    before, after = ({rest.index: rest for rest in phase.rests} for phase in (old, new))
    both = [k for k in after if k in before and after[k].friction > 0.0]
    changes = {
        "rest": [k for k in after if k not in before],
        "release": [k for k in before if k not in after],
        "stick": [k for k in both if after[k].sticks and not before[k].sticks],
        "slip": [k for k in both if before[k].sticks and not after[k].sticks],
    }
    for kind, which in changes.items():
        if which:
            record.events.append(_plain_event(new, kind, which, end if kind == "rest" else t, v_before, v_after))


def _plain_event(phase: Phase, kind: str, which: Iterable[int], t: float, v_before, v_after) -> Event:
    assert phase.geometry is not None
    contacts, which = phase.geometry.contacts, list(which)
    nothing = np.zeros(len(which))
    return Event(
        time=t,
        kind=kind,
        points=tuple(contacts.names[k] for k in which),
        surfaces=tuple(int(contacts.wall[k]) for k in which),
        impulses=nothing,
        normal_speeds=nothing,
        frictions=np.zeros((len(which), 3)),
        angles=nothing,
        v_before=v_before.copy(),
        v_after=v_after.copy(),
    )
