"""simulate: the motion of a robot under forces, with or without walls in its way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.mechanism import Mechanism
from appell.model.system import System
from appell.motion.curve import Curve
from appell.motion.names import record_names, record_units
from appell.motion.record import Record
from appell.simulation.conditions import Conditions, Endings, Reaches
from appell.simulation.contact import Contact, Contacts
from appell.simulation.flow import FreeMotion
from appell.simulation.geometry import Geometry
from appell.simulation.hybrid import Run, run
from appell.simulation.inputs import Inputs
from appell.simulation.integrate import Settings
from appell.simulation.journal import Journal
from appell.simulation.phase import Phase
from appell.simulation.progress import Bar
from appell.simulation.sampled import Sampled
from appell.simulation.status import Interrupted, Status


def simulate(
    dyn: Dynamics | System,
    q0=None,
    v0=None,
    until: float = 1.0,
    torque: Iterable[float] | Callable | Sampled | None = None,
    contacts: Contact | Iterable[Contact] | None = None,
    *,
    wrenches: Mapping[str, Any] | None = None,
    saturate: bool = False,
    stop: Callable | Mapping[str, Callable] | None = None,
    t_eval: Iterable[float] | None = None,
    start: float = 0.0,
    throw: bool = False,
    progress: bool | None = None,
    **settings: Any,
) -> Record:
    """The motion from (q0, v0) at time `start` to time `until`, both in seconds.

    `dyn` are Dynamics; a robot or mechanism stands for its Dynamics with friction, rotors and these wrenches. q0 is its
    start if None, v0 is rest.

    What acts: `torque` is None, an array, a function of (t, q, v), or a `Sampled` one that is held between its ticks;
    with `saturate=True` it is cut off at the limits of the actuators (`actuator.torque_limit`, N m or N).
    `wrenches` gives for every frame of `Dynamics(wrenches=...)` six numbers (force, moment; N, N m) or a function of
    (t, q, v) that does, in the axes that the Dynamics say. `contacts` say which points meet which walls, and when.

    Where it ends: at `until`, or where `stop`, a function of (t, q, v) or several by name, first falls below zero.

    Settings are `method` (DOP853, RK45, RK23; Radau, BDF, LSODA for stiff torques), `rtol` (1e-8), `atol` (1e-10),
    `max_step`, `tolerance` (1e-7 m: points nearer to a wall than this at an impact are solved together, and none goes
    deeper into it), `rest_speed` (1e-5 m/s: slower bounces are taken as finished), `max_events` (10 000) and
    `max_steps` (1 000 000).

    The record has q, v, tau (what acted) and energy at every step, the events between them, and the motion at any time;
    an event has two rows at its time, before and after. With `t_eval` it has rows at these times only, after the event
    if there is one. A run that stops early says so in `record.status` and `record.message`; with `throw=True` it raises
    `Interrupted`, which carries the record up to there. An input that a run cannot go on with, such as a torque that is
    not a number, always raises. An exception of the user's own function arrives as it is, with the record up to there
    as its attribute `record`.
    """
    options = _settings(settings)
    dyn = _dynamics(dyn, wrenches)
    t, y = _initial(dyn, q0, v0, start, until)
    flow = FreeMotion(dyn, Inputs(dyn, torque, wrenches, saturate, t))
    geometry = _geometry(dyn, contacts, t, y, options.tolerance)
    endings = Endings(Conditions(stop, flow, t, y), Reaches(dyn, flow))
    journal = Journal(flow, _wanted(t_eval, t, until))
    state = Run(flow, Phase(flow, geometry), t, y, float(until), options, journal, endings)
    try:
        with Bar(t, until, progress) as bar:
            run(state, bar)
    except (Exception, KeyboardInterrupt) as error:
        error.record = _record(state)  # type: ignore[union-attr]
        error.add_note(f"The run had come to t = {state.t:.9g} s; `record` of this exception is what there is of it.")
        raise
    record, end = _record(state), state.stop
    if end is not None and ((throw and not end.status.ok) or end.status is Status.INPUT):
        raise Interrupted(record.message, record, expected=end.expected, hint=end.hint)
    return record


def _dynamics(given: Dynamics | System, wrenches: Mapping[str, Any] | None) -> Dynamics:
    if wrenches is not None and not isinstance(wrenches, Mapping):
        raise ArgumentError(f"wrenches is {wrenches!r}.", expected="{frame: six numbers, or a function of (t, q, v)}")
    if isinstance(given, System):
        return Dynamics(given, friction=True, rotors=True, wrenches=tuple(wrenches or ()))
    if not isinstance(given, Dynamics):
        raise ArgumentError(
            f"simulate was given {given!r}.", expected="Dynamics, or a robot or mechanism", hint='ap.load("puma")'
        )
    return given


def _wanted(given: Iterable[float] | None, start: float, until: float) -> np.ndarray | None:
    if given is None:
        return None
    try:
        times = np.array(given if isinstance(given, np.ndarray) else list(given), float)
    except (TypeError, ValueError):
        times = np.zeros(0)
    good = times.ndim == 1 and len(times) and np.isfinite(times).all() and (np.diff(times) > 0.0).all()
    if not good or times[0] < start or times[-1] > until:
        raise ArgumentError(
            f"t_eval is {given!r}.", expected=f"ascending times from {start:g} to {until:g} s, each once"
        )
    return times


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
    dyn: Dynamics, contacts: Contact | Iterable[Contact] | None, t: float, y: np.ndarray, tolerance: float
) -> Geometry | None:
    """The compiled contacts, if there are any, with every point on the free side of its wall."""
    found = () if contacts is None else (contacts,) if isinstance(contacts, Contact) else tuple(contacts)
    if not found:
        return None
    geometry = Geometry(dyn, Contacts(dyn, found)).at(y)
    geometry.active = geometry.contacts.active(t)
    names, gap = geometry.contacts.describe, geometry.motion.gap
    if (bad := np.flatnonzero(geometry.active & ~np.isfinite(gap))).size:
        raise ArgumentError(f"the gap between {names(bad[0])} is not a number at the start.")
    with np.errstate(all="ignore"):
        depth = np.where(geometry.active & (gap < 0.0), -gap / geometry.motion.slope, 0.0)
    if (deep := np.flatnonzero(~(depth <= tolerance))).size:
        listed = ", ".join(f"{geometry.contacts.names[k]} ({depth[k]:.3g} m)" for k in deep)
        raise ArgumentError(
            f"{dyn.system.owner} starts inside a wall: {names(deep[0])} overlap. Too deep: {listed}.",
            expected=f"every point outside its wall, or within {tolerance:g} m of it",
            hint="another q0, or the other side of the surface (inside=..., the opposite normal)",
        )
    return geometry


def _record(done: Run) -> Record:
    flow, kept, end = done.flow, done.journal, done.stop
    t, states = np.array(kept.times), np.array(kept.states).reshape(-1, flow.nq + flow.nv)
    q, v = flow.split(states)
    tau = np.array(kept.forces).reshape(-1, flow.nu)
    kinetic, potential = flow.dyn.energy(q, v)
    status = Status.FINISHED if end is None else end.status
    message = status.sentence if end is None else f"{status.sentence} {end.detail}".strip()
    return Record.of(
        t,
        {"q": q, "v": v, "tau": tau, "energy": kinetic + potential},
        record_names(flow.system),
        units=record_units(flow.system),
        about={"robot": flow.system.name, "status": status.name, "message": message},
        events=tuple(kept.events),
        between=Curve.of(kept.pieces, tuple((span.start, span.stop) for span in flow.system.quaternions)),
    )
