"""What happens at an event of a run: an impact, if a point approaches its wall, and the phase that follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from appell.motion.event import Event
from appell.simulation.blocks import SOLVED
from appell.simulation.examination import Examination
from appell.simulation.impact import Collision, Touch, catch, collide
from appell.simulation.phase import Phase
from appell.simulation.settling import settle
from appell.simulation.status import Status, Stop
from appell.simulation.watch import Sighting

if TYPE_CHECKING:
    from appell.simulation.hybrid import Run

SLOWEST = 1e-10  # relative: who approaches slower has an impulse below rounding, and is no event
BLOCKED = 1e-12  # of the most that a unit impulse moves a point: one that it moves less is blocked
FLAT = 1e-8  # a gradient shorter than this gives no normal


def react(run: Run, sighting: Sighting) -> None:
    """Impact, if a point approaches; then the phase that follows, and the events to tell of.

    Dry friction of a drive is bounded and gives no impulse: a stuck drive that an impact sets moving slips.
    """
    before, old = run.phase, run.y
    near = _touching(run, sighting)
    speeds = before.geometry.normal_speed()[near]
    if (speeds < -SLOWEST * max(1.0, np.abs(speeds).max(initial=0.0))).any():
        run.y = _impact(run, near, _collision(run, near))
    try:
        run.phase, run.y, end = settle(before, run.t, run.y, near, run.settings, sighting.examination)
    except Stop as stop:
        if stop.status is not Status.UNSOLVED or (caught := _catch(run, near)) is None:
            raise
        run.y = _impact(run, near, caught)
        run.phase, run.y, end = settle(before, run.t, run.y, near, run.settings, Examination())
    _tell(run, before, end, run.flow.seen(old)[1])
    if run.y is not old:
        run.sample()


def _touching(run: Run, sighting: Sighting) -> np.ndarray:
    """The contacts that are closed at an event."""
    geometry = run.phase.geometry.at(run.y)
    contacts = geometry.contacts
    touching = geometry.distance() <= run.settings.tolerance
    touching[run.phase.members] = True
    if (k := sighting.contact) is not None:
        if not geometry.motion.slope[k] > FLAT:
            raise Stop(
                Status.INPUT,
                f"The gap between {contacts.describe(k)} has no gradient where they meet at t = {run.t:.9g}.",
                expected="a function whose gradient is not zero on the wall",
            )
        touching[k] = True
    return np.flatnonzero(touching & geometry.active)


def _touch(run: Run, near: np.ndarray) -> Touch:
    """The points that are near as an impact sees them."""
    geometry = run.phase.geometry.at(run.y)
    contacts, resting, rows = geometry.contacts, np.isin(near, run.phase.members), geometry.motion.rows[near]
    response = geometry.response(rows.reshape(-1, rows.shape[-1])).T.reshape(rows.shape)
    return Touch(rows, response, contacts.restitution[near], contacts.friction[near], resting)


def _collision(run: Run, near: np.ndarray) -> Collision:
    geometry, touch = run.phase.geometry, _touch(run, near)
    v = run.y[run.flow.nq :]
    _check_movable(run, near, touch, v)
    outcome = collide(geometry.M, v, touch)
    if not outcome.residual <= SOLVED:
        names = ", ".join(run.phase.geometry.contacts.names[k] for k in near)
        raise Stop(Status.UNSOLVED, f"They concern the impact of {names} at t = {run.t:.9g}.")
    return outcome


def _check_movable(run: Run, near: np.ndarray, touch: Touch, v: np.ndarray) -> None:
    """A point that a mechanism blocks along the normal cannot be hit: no impulse changes its speed."""
    moved = np.einsum("kn,kn->k", touch.normal, touch.response[:, 0])
    blocked = (moved <= BLOCKED * moved.max(initial=0.0)) & (touch.normal @ v < -SLOWEST)
    if blocked.any() or (len(moved) and not moved.max() > 0.0):
        names = ", ".join(run.phase.geometry.contacts.describe(int(k)) for k in near[blocked])
        told = f"At t = {run.t:.9g} constraints leave no motion along the normal of {names}."
        raise Stop(Status.SINGULAR, told, final=True)


def _catch(run: Run, near: np.ndarray) -> Collision | None:
    return catch(run.y[run.flow.nq :], _touch(run, near)) if len(near) else None


def _impact(run: Run, near: np.ndarray, outcome: Collision) -> np.ndarray:
    """The state after an impact of the points that are near, whose event is told."""
    geometry, nq = run.phase.geometry.at(run.y), run.flow.nq
    contacts, motion, after = geometry.contacts, geometry.motion, np.concatenate([run.y[:nq], outcome.v])
    hit = np.flatnonzero(outcome.impulses[:, 0] > 1e-12 * outcome.impulses[:, 0].max())
    normal_speed = motion.speed[near[hit], 0]
    speed = np.linalg.norm(motion.speed[near[hit]], axis=1)
    cosine = np.divide(np.abs(normal_speed), speed, out=np.ones_like(speed), where=speed > 0.0)
    run.events.append(
        Event(
            time=run.t,
            kind="impact",
            points=tuple(contacts.names[k] for k in near[hit]),
            surfaces=tuple(int(contacts.wall[k]) for k in near[hit]),
            impulses=outcome.impulses[hit, 0],
            normal_speeds=np.maximum(-normal_speed, 0.0),
            frictions=np.einsum("ki,kij->kj", outcome.impulses[hit, 1:], motion.frame[near[hit], 1:]),
            angles=np.degrees(np.arccos(np.minimum(cosine, 1.0))),
            v_before=run.flow.seen(run.y)[1],
            v_after=run.flow.seen(after)[1],
        )
    )
    return after


def _tell(run: Run, old: Phase, end: float, v_before: np.ndarray) -> None:
    """Events for points that came to rest, left, stuck or began to slide, and for drives that stuck or slipped."""
    before, after = ({rest.index: rest for rest in phase.rests} for phase in (old, run.phase))
    both = [k for k in after if k in before and after[k].friction > 0.0]
    changes = {
        "rest": [k for k in after if k not in before],
        "release": [k for k in before if k not in after],
        "stick": [k for k in both if after[k].sticks and not before[k].sticks],
        "slip": [k for k in both if before[k].sticks and not after[k].sticks],
    }
    contacts, drives = run.phase.geometry.contacts, run.phase.geometry.drives
    was, now = old.directions != 0.0, run.phase.directions != 0.0
    turned = {"stick": np.flatnonzero(was & ~now), "slip": np.flatnonzero(now & ~was)}
    for kind, which in changes.items():
        points = [(contacts.names[k], int(contacts.wall[k])) for k in which]
        points += [(drives.names[k], -1) for k in turned.get(kind, ())]
        if points:
            nothing = np.zeros(len(points))
            run.events.append(
                Event(
                    time=end if kind == "rest" else run.t,
                    kind=kind,
                    points=tuple(name for name, _ in points),
                    surfaces=tuple(wall for _, wall in points),
                    impulses=nothing,
                    normal_speeds=nothing,
                    frictions=np.zeros((len(points), 3)),
                    angles=nothing,
                    v_before=v_before,
                    v_after=run.flow.seen(run.y)[1],
                )
            )
