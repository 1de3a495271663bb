"""simulate: the motion of a robot under forces, with or without walls in its way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.mechanism import Mechanism
from appell.motion.curve import Curve
from appell.motion.names import record_names, record_units
from appell.motion.record import Record
from appell.simulation.contact import Contact, Contacts
from appell.simulation.flow import FreeMotion
from appell.simulation.geometry import Geometry
from appell.simulation.hybrid import Run, run
from appell.simulation.integrate import Settings
from appell.simulation.progress import Bar
from appell.simulation.status import Interrupted, Status


def simulate(
    dyn: Dynamics,
    q0=None,
    v0=None,
    until: float = 1.0,
    torque: Iterable[float] | Callable | None = None,
    contacts: Contact | Iterable[Contact] | None = None,
    *,
    stops: float | Mapping[str, float] | None = None,
    start: float = 0.0,
    throw: bool = False,
    progress: bool | None = None,
    **settings: Any,
) -> Record:
    """The motion from (q0, v0) at time `start` to time `until`, both in seconds.

    q0 is the robot's start if None, v0 is rest. `torque` is None, an array, or a function of (t, q, v); `contacts` say
    which points meet which walls. `stops` makes stops of the limits of joints: the restitution of all, or of some by
    name. If `dyn` counts friction, dry friction of the actuators holds joints still. Settings are `method` (DOP853,
    RK45, RK23; Radau, BDF, LSODA for stiff torques), `rtol` (1e-8), `atol` (1e-10), `max_step`, `tolerance` (1e-7 m:
    points nearer to a wall than this at an impact are solved together, and none goes deeper into it), `rest_speed`
    (1e-5 m/s: slower bounces are taken as finished), `max_events` (10 000) and `max_steps` (1 000 000).

    The record has q, v, tau and energy at every step, the events between them, and the motion at any time; an event has
    two rows at its time, before and after. A run that stops early says so in `record.status` and `record.message`; with
    `throw=True` it raises `Interrupted`, which carries the record up to there. An input that a run cannot go on with,
    such as a torque that is not a number, always raises.
    """
    options = _settings(settings)
    t, y = _initial(dyn, q0, v0, start, until)
    flow = FreeMotion(dyn, torque)
    geometry = _geometry(flow, contacts, stops, y, options.tolerance)
    with Bar(t, until, progress) as bar:
        done = run(flow, geometry, t, y, float(until), options, bar)
    record, stop = _record(done), done.stop
    if stop is not None and (throw or stop.status is Status.INPUT):
        raise Interrupted(record.message, record, expected=stop.expected, hint=stop.hint)
    return record


def _settings(given: dict[str, Any]) -> Settings:
    try:
        return Settings(**given)
    except TypeError:
        known = ", ".join(Settings.__dataclass_fields__)
        unknown = ", ".join(name for name in given if name not in Settings.__dataclass_fields__) or "a wrong value"
        raise ArgumentError(f"simulate has no setting {unknown}.", expected=known) from None


def _initial(dyn: Dynamics, q0, v0, start: float, until: float) -> tuple[float, np.ndarray]:
    system = dyn.system
    if system.free:
        raise ArgumentError(
            f"{system.owner} has free inertial parameters, without which it does not move.",
            hint="robot.with_bodies(...)",
        )
    if dyn.wrenches:
        raise ArgumentError(
            "simulate applies joint forces only; these Dynamics expect wrenches.", hint="Dynamics(robot)"
        )
    if not (np.isfinite(start) and np.isfinite(until) and until > start):
        raise ArgumentError(f"a run cannot last from {start!r} to {until!r}.", expected="until > start, both finite")
    q = _state(system.start if q0 is None else q0, system.nq, "q0", system.owner)
    if isinstance(system, Mechanism) and (sentence := system.out_of_reach(q.tolist())):
        raise ArgumentError(f"{system.owner} cannot start at q0: {sentence}.", hint="a pose nearer to home")
    v = _state(np.zeros(system.nv) if v0 is None else v0, system.nv, "v0", system.owner)
    return float(start), np.concatenate([q, v])


def _state(given, size: int, name: str, owner: str) -> np.ndarray:
    try:
        found = np.array(given, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is {given!r}.", expected=f"{size} numbers") from None
    if found.shape != (size,):
        raise ArgumentError(f"{name} has shape {found.shape}.", expected=f"({size},) for {owner}")
    if not np.isfinite(found).all():
        raise ArgumentError(f"{name} holds a value that is not finite: {found}.", expected="finite numbers")
    return found


def _geometry(
    flow: FreeMotion,
    contacts: Contact | Iterable[Contact] | None,
    stops: float | Mapping[str, float] | None,
    y: np.ndarray,
    tolerance: float,
) -> Geometry:
    """The compiled contacts, with every point on the free side of its wall and every joint between its stops."""
    found = () if contacts is None else (contacts,) if isinstance(contacts, Contact) else tuple(contacts)
    geometry = Geometry(flow.dyn, Contacts(flow.dyn, found, stops), flow.drives).at(y)
    if not len(geometry.contacts):
        return geometry
    names, gap, system = geometry.contacts.describe, geometry.motion.gap, flow.system
    if (bad := np.flatnonzero(~np.isfinite(gap))).size:
        raise ArgumentError(f"the gap between {names(bad[0])} is not a number at the start.")
    with np.errstate(all="ignore"):
        depth = np.where(gap < 0.0, -gap / geometry.motion.slope, 0.0)
    deep = np.flatnonzero(~(depth <= tolerance))
    if (beyond := [int(k) for k in deep if geometry.contacts.wall[k] < 0]) and len(beyond) == len(deep):
        listed = "; ".join(f"{names(k)} ({depth[k]:.3g} beyond it)" for k in beyond)
        raise ArgumentError(
            f"{system.owner} starts outside the range of its joints: {listed}.",
            expected=f"every joint between its stops, or within {tolerance:g} of them",
            hint="another q0, or stops=None",
        )
    if deep.size:
        listed = ", ".join(f"{geometry.contacts.names[k]} ({depth[k]:.3g} m)" for k in deep)
        raise ArgumentError(
            f"{system.owner} starts inside a wall: {names(deep[0])} overlap. Too deep: {listed}.",
            expected=f"every point outside its wall, or within {tolerance:g} m of it",
            hint="another q0, or the other side of the surface (inside=..., the opposite normal)",
        )
    return geometry


def _record(done: Run) -> Record:
    flow, t, stop = done.flow, np.array(done.times), done.stop
    q, v = flow.split(np.array(done.states))
    tau = np.array(done.forces) if flow.steady is None else np.tile(flow.steady, (len(t), 1))
    kinetic, potential = flow.dyn.energy(q, v)
    status = Status.FINISHED if stop is None else stop.status
    message = status.sentence if stop is None else f"{status.sentence} {stop.detail}".strip()
    return Record.of(
        t,
        {"q": q, "v": v, "tau": tau, "energy": kinetic + potential},
        record_names(flow.system),
        units=record_units(flow.system),
        about={"robot": flow.system.name, "status": status.name, "message": message},
        events=tuple(done.events),
        between=Curve.of(done.pieces, tuple((span.start, span.stop) for span in flow.system.quaternions)),
    )
