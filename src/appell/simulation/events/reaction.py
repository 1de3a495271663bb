"""What an event does: an impact, if a point approaches its wall, and the events that tell what has changed.

These are functions of a phase and a state; `hybrid` takes over what they return.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from appell.motion.event import Event
from appell.simulation.contact.blocks import SOLVED
from appell.simulation.contact.impact import Collision, Touch, catch, collide
from appell.simulation.events.phase import Phase
from appell.simulation.events.watch import Sighting
from appell.simulation.status import Status, Stop

SLOWEST = 1e-10  # relative: who approaches slower has an impulse below rounding, and is no event
BLOCKED = 1e-12  # of the most that a unit impulse moves a point: one that it moves less is blocked
FLAT = 1e-8  # a gradient shorter than this gives no normal


class Impact(NamedTuple):
    """The state after an impact, and its event."""

    y: np.ndarray
    event: Event


def touching(phase: Phase, y: np.ndarray, sighting: Sighting, tolerance: float) -> np.ndarray:
    """The contacts that are closed at an event."""
    geometry = phase.geometry.at(y)
    contacts = geometry.contacts
    closed = geometry.distance() <= tolerance
    closed[phase.members] = True
    if (k := sighting.contact) is not None:
        if not geometry.motion.slope[k] > FLAT:
            raise Stop(
                Status.INPUT,
                f"The gap between {contacts.describe(k)} has no gradient where they meet at t = {sighting.time:.9g}.",
                expected="a function whose gradient is not zero on the wall",
            )
        closed[k] = True
    return np.flatnonzero(closed & geometry.active)


def impact(phase: Phase, t: float, y: np.ndarray, near: np.ndarray) -> Impact | None:
    """The impact of the points that are near, if one of them approaches its wall."""
    speeds = phase.geometry.normal_speed()[near]
    if not (speeds < -SLOWEST * max(1.0, np.abs(speeds).max(initial=0.0))).any():
        return None
    touch, v = _touch(phase, y, near), y[phase.flow.nq :]
    _check_movable(phase, t, near, touch, v)
    outcome = collide(phase.geometry.M, v, touch)
    if not outcome.residual <= SOLVED:
        names = ", ".join(phase.geometry.contacts.names[k] for k in near)
        raise Stop(Status.UNSOLVED, f"They concern the impact of {names} at t = {t:.9g}.")
    return _impact(phase, t, y, near, outcome)


def catching(phase: Phase, t: float, y: np.ndarray, near: np.ndarray) -> Impact | None:
    """The impulse that stops all points that are near, where no forces obey all laws of contact."""
    outcome = catch(y[phase.flow.nq :], _touch(phase, y, near)) if len(near) else None
    return None if outcome is None else _impact(phase, t, y, near, outcome)


def _touch(phase: Phase, y: np.ndarray, near: np.ndarray) -> Touch:
    """The points that are near as an impact sees them."""
    geometry = phase.geometry.at(y)
    contacts, resting, rows = geometry.contacts, np.isin(near, phase.members), geometry.motion.rows[near]
    response = geometry.response(rows.reshape(-1, rows.shape[-1])).T.reshape(rows.shape)
    return Touch(rows, response, contacts.restitution[near], contacts.friction[near], resting)


def _check_movable(phase: Phase, t: float, near: np.ndarray, touch: Touch, v: np.ndarray) -> None:
    """A point that a mechanism blocks along the normal cannot be hit: no impulse changes its speed."""
    moved = np.einsum("kn,kn->k", touch.normal, touch.response[:, 0])
    blocked = (moved <= BLOCKED * moved.max(initial=0.0)) & (touch.normal @ v < -SLOWEST)
    if blocked.any() or (len(moved) and not moved.max() > 0.0):
        names = ", ".join(phase.geometry.contacts.describe(int(k)) for k in near[blocked])
        detail = f"At t = {t:.9g} constraints leave no motion along the normal of {names}."
        raise Stop(Status.SINGULAR, detail, final=True)


def _impact(phase: Phase, t: float, y: np.ndarray, near: np.ndarray, outcome: Collision) -> Impact:
    """The state after the impulses of an impact, and its event."""
    geometry, nq = phase.geometry.at(y), phase.flow.nq
    contacts, motion, after = geometry.contacts, geometry.motion, np.concatenate([y[:nq], outcome.v])
    hit = np.flatnonzero(outcome.impulses[:, 0] > 1e-12 * outcome.impulses[:, 0].max())
    normal_speed = motion.speed[near[hit], 0]
    speed = np.linalg.norm(motion.speed[near[hit]], axis=1)
    cosine = np.divide(np.abs(normal_speed), speed, out=np.ones_like(speed), where=speed > 0.0)
    event = Event(
        time=t,
        kind="impact",
        points=tuple(contacts.names[k] for k in near[hit]),
        surfaces=tuple(int(contacts.wall[k]) for k in near[hit]),
        impulses=outcome.impulses[hit, 0],
        normal_speeds=np.maximum(-normal_speed, 0.0),
        frictions=np.einsum("ki,kij->kj", outcome.impulses[hit, 1:], motion.frame[near[hit], 1:]),
        angles=np.degrees(np.arccos(np.minimum(cosine, 1.0))),
        v_before=phase.flow.seen(y)[1],
        v_after=phase.flow.seen(after)[1],
    )
    return Impact(after, event)


def changes(old: Phase, new: Phase, t: float, end: float, v_before: np.ndarray, v_after: np.ndarray) -> list[Event]:
    """Events for points that came to rest, left, stuck or began to slide, and for drives that stuck or slipped.

    `end` is the time at which the last of the new resting points is at rest.
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
    turned = {"stick": np.flatnonzero(was & ~now), "slip": np.flatnonzero(now & ~was)}
    events = []
    for kind, which in changed.items():
        points = [(contacts.names[k], int(contacts.wall[k])) for k in which]
        points += [(drives.names[k], -1) for k in turned.get(kind, ())]
        if points:
            nothing = np.zeros(len(points))
            events.append(
                Event(
                    time=end if kind == "rest" else t,
                    kind=kind,
                    points=tuple(name for name, _ in points),
                    surfaces=tuple(wall for _, wall in points),
                    impulses=nothing,
                    normal_speeds=nothing,
                    frictions=np.zeros((len(points), 3)),
                    angles=nothing,
                    v_before=v_before,
                    v_after=v_after,
                )
            )
    return events
