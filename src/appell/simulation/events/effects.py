"""Effects of an event: the impact of the points that approach their walls, and the events that describe the change.

These are functions of a phase and a state; `hybrid` applies what they return.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.motion.event import Event
from appell.simulation.contact.blocks import MAX_RESIDUAL
from appell.simulation.contact.impact import ImpactPoints, ImpactSolution, catch, collide
from appell.simulation.events.detection import DetectedEvent
from appell.simulation.events.phase import Phase
from appell.simulation.status import Status, Stop

MIN_APPROACH_SPEED = 1e-10  # relative to the largest speed: the impulse of a slower approach is below rounding
BLOCKED_RESPONSE = 1e-12  # relative to the largest response to a unit impulse: a point that moves less is blocked
MIN_GRADIENT = 1e-8  # a shorter gradient of a gap does not define a normal


class Impact(NamedTuple):
    """The state after an impact, and its event."""

    y: np.ndarray
    event: Event


def closed_contacts(phase: Phase, y: np.ndarray, detected: DetectedEvent, tolerance: float) -> np.ndarray:
    """Return the indices of the contacts that are closed at an event."""
    geometry = phase.geometry.at(y)
    contacts = geometry.contacts
    closed = (distance := geometry.distance()) <= tolerance
    closed[phase.members] = np.isfinite(distance[phase.members])
    if (k := detected.contact) is not None:
        if k < contacts.fixed and not geometry.motion.slope[k] > MIN_GRADIENT:
            raise Stop(
                Status.INPUT,
                f"The gap between {contacts.describe(k)} has no gradient where they meet at t = {detected.time:.9g}.",
                expected="a function whose gradient is not zero on the wall",
            )
        closed[k] = True
    closed &= geometry.active
    closed[list(detected.check.ended)] = False  # the feature that takes over touches at the same point
    members = phase.members[closed[phase.members]]
    closed[members] = False
    indices = np.sort(geometry.distinct(np.concatenate([members, np.flatnonzero(closed)])))
    geometry.slots(indices)  # evaluates their rows
    return indices


def impact(phase: Phase, t: float, y: np.ndarray, closed: np.ndarray, law: str, order: str) -> Impact | None:
    """Return the impact at the closed contacts by a law and an order if a point approaches its wall, else None."""
    speeds = phase.geometry.normal_speed(closed)
    if not (speeds < -MIN_APPROACH_SPEED * max(1.0, np.abs(speeds).max(initial=0.0))).any():
        return None
    points, v = _impact_points(phase, y, closed), y[phase.flow.nq :]
    _check_movable(phase, t, closed, points, v)
    collision = collide(phase.geometry.M, v, points, law, order)
    if not collision.residual <= MAX_RESIDUAL:
        names = ", ".join(phase.geometry.contacts.names[k] for k in closed)
        raise Stop(Status.UNSOLVED, f"The contacts are those of the impact of {names} at t = {t:.9g}.")
    return _impact(phase, t, y, closed, collision, law)


def catch_impact(phase: Phase, t: float, y: np.ndarray, closed: np.ndarray) -> Impact | None:
    """Return the impact without collision that stops all closed contacts, for states without valid contact forces."""
    collision = catch(y[phase.flow.nq :], _impact_points(phase, y, closed)) if len(closed) else None
    return None if collision is None else _impact(phase, t, y, closed, collision)


def _impact_points(phase: Phase, y: np.ndarray, closed: np.ndarray) -> ImpactPoints:
    geometry = phase.geometry.at(y)
    contacts, rows = geometry.contacts, geometry.B[geometry.contact_rows(closed)]
    response = geometry.response(rows.reshape(-1, rows.shape[-1])).T.reshape(rows.shape)
    return ImpactPoints(rows, response, contacts.restitution[closed], contacts.friction[closed])


def _check_movable(phase: Phase, t: float, closed: np.ndarray, points: ImpactPoints, v: np.ndarray) -> None:
    """Raise `Stop` if constraints block an approaching point along its normal: no impulse can change its speed."""
    mobility = np.einsum("kn,kn->k", points.normal, points.response[:, 0])
    blocked = (mobility <= BLOCKED_RESPONSE * mobility.max(initial=0.0)) & (points.normal @ v < -MIN_APPROACH_SPEED)
    if blocked.any() or (len(mobility) and not mobility.max() > 0.0):
        names = ", ".join(phase.geometry.contacts.describe(int(k)) for k in closed[blocked])
        detail = f"At t = {t:.9g} constraints allow no motion along the normal of {names}."
        raise Stop(Status.SINGULAR, detail, final=True)


def _impact(
    phase: Phase, t: float, y: np.ndarray, closed: np.ndarray, collision: ImpactSolution, law: str = ""
) -> Impact:
    """Return the state after a collision, and its event."""
    geometry, nq = phase.geometry.at(y), phase.flow.nq
    contacts, after = geometry.contacts, np.concatenate([y[:nq], collision.v])
    hit = np.flatnonzero(collision.impulses[:, 0] > 1e-12 * collision.impulses[:, 0].max())
    speeds = geometry.speed[geometry.contact_rows(closed[hit])]
    normal_speed, speed = speeds[:, 0], np.linalg.norm(speeds, axis=1)
    cosine = np.divide(np.abs(normal_speed), speed, out=np.ones_like(speed), where=speed > 0.0)
    event = Event(
        time=t,
        kind="impact",
        note=_impact_note(collision, hit, contacts.restitution[closed[hit]], law),
        law=law,
        restitutions=collision.restitution[hit],
        points=tuple(contacts.names[k] for k in closed[hit]),
        surfaces=tuple(int(contacts.wall[k]) for k in closed[hit]),
        impulses=collision.impulses[hit, 0],
        normal_speeds=np.maximum(-normal_speed, 0.0),
        frictions=np.einsum("ki,kij->kj", collision.impulses[hit, 1:], geometry.axes(closed[hit])[:, 1:]),
        angles=np.degrees(np.arccos(np.minimum(cosine, 1.0))),
        v_before=phase.flow.q_and_v(y)[1],
        v_after=phase.flow.q_and_v(after)[1],
    )
    return Impact(after, event)


def _impact_note(collision: ImpactSolution, hit: np.ndarray, asked: np.ndarray, law: str) -> str:
    """Return what differs from the impact of a single point by a law with the restitution of its contact."""
    applied = collision.restitution[hit]
    reduced = [f"{a:g} to {b:.4g}" for a, b in zip(asked, applied, strict=True) if 0.0 < b < a * (1.0 - 1e-9)]
    notes = [f"{len(hit)} points hit together"] if collision.together and len(hit) > 1 else []
    if reduced:
        notes.append(f"restitution reduced from {', '.join(reduced)}: the law '{law}' would add energy")
    return "; ".join(notes)


def change_events(
    old: Phase, new: Phase, t: float, end: float, v_before: np.ndarray, v_after: np.ndarray
) -> list[Event]:
    """Return the events for contacts that rest, release, stick or slip and for drives that stick or slip.

    Parameters
    ----------
    old, new
        The phases before and after time t.
    t
        Time of the change, s.
    end
        Time at which the last of the new resting contacts is at rest, s.
    v_before, v_after
        Velocities of the system before and after the change, (nv,).
    """
    before, after = ({rest.index: rest for rest in phase.rests} for phase in (old, new))
    both = [k for k in after if k in before and after[k].friction > 0.0]
    changed = {
        "rest": [k for k in after if k not in before],
        "release": [k for k in before if k not in after],
        "stick": [k for k in both if after[k].sticks and not before[k].sticks],
        "slip": [k for k in both if before[k].sticks and not after[k].sticks],
    }
    contacts, drives = new.geometry.contacts, new.geometry.drives
    was, now = old.directions != 0.0, new.directions != 0.0
    changed_drives = {"stick": np.flatnonzero(was & ~now), "slip": np.flatnonzero(now & ~was)}
    events = []
    for kind, indices in changed.items():
        points = [(contacts.names[k], int(contacts.wall[k])) for k in indices]
        points += [(drives.names[k], -1) for k in changed_drives.get(kind, ())]
        if points:
            zeros = np.zeros(len(points))
            events.append(
                Event(
                    time=end if kind == "rest" else t,
                    kind=kind,
                    points=tuple(name for name, _ in points),
                    surfaces=tuple(wall for _, wall in points),
                    impulses=zeros,
                    normal_speeds=zeros,
                    frictions=np.zeros((len(points), 3)),
                    angles=zeros,
                    v_before=v_before,
                    v_after=v_after,
                )
            )
    return events
