"""simulate: the motion of a robot under forces, with or without walls; all arguments are checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.dynamics.moving import made_by, moving_dynamics
from appell.errors import ArgumentError, check_number
from appell.model.joints import unit_quaternion
from appell.model.mechanism import Mechanism
from appell.model.system import System
from appell.motion.curve import Curve
from appell.motion.record import Record
from appell.motion.titles import record_names, record_units
from appell.progress import Bar
from appell.simulation.contact.contact import Contact, Contacts
from appell.simulation.contact.geometry import Geometry
from appell.simulation.events.conditions import Conditions, Endings, Reaches, Singularities
from appell.simulation.events.hybrid import History, Run
from appell.simulation.events.phase import Phase
from appell.simulation.flow import FreeMotion
from appell.simulation.inputs import Inputs, Sampled, wrench_frames
from appell.simulation.options import Solver
from appell.simulation.states import numbers
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
    prescribed: Mapping[str, Any] | None = None,
    project: bool = False,
    stops: float | Mapping[str, float] | None = None,
    saturate: bool = False,
    stop: Callable | Mapping[str, Callable] | None = None,
    t_eval: Iterable[float] | None = None,
    start: float = 0.0,
    throw: bool = False,
    progress: bool | None = None,
    friction: bool | None = None,
    rotors: bool | None = None,
    solver: Solver | str = "DOP853",
) -> Record:
    """The motion from (q0, v0) at time `start` to time `until`, both in seconds.

    `dyn` is a robot or mechanism, which moves with the friction and rotors it was described with (`friction=False` and
    `rotors=False` switch them off), or a `Dynamics`, which is used as it is. q0 is the start if None, v0 is rest.
    A constrained robot starts on its manifold: v0 are its independent velocities, or all of its tree's if they keep the
    constraints; with `project=True` the nearest state that does is taken.

    What acts: `torque` is None, an array, a function of (t, q, v), or a `Sampled` one that is held between its ticks;
    with `saturate=True` it is cut off at the limits of the actuators (`actuator.torque_limit`, N m or N).
    `wrenches` gives for every frame of `Dynamics(wrenches=...)` six numbers (force, moment; N, N m) or a function of
    (t, q, v) that does, in the axes that the Dynamics say. `contacts` say which points meet which walls, and when;
    `stops` makes stops of the limits of joints: the restitution (0 to 1) of all of them, or of some by name. Dry
    friction of the actuators holds joints still if `dyn` counts friction. `prescribed` gives for every motion of a
    constraint a function of time with position, velocity and acceleration, or a path of one coordinate.

    Where it ends: at `until`, or where `stop`, a function of (t, q, v) or several by name, first falls below zero.

    `solver` is the name of a method (DOP853, RK45, RK23; Radau, BDF, LSODA for stiff torques), or a `Solver` with its
    tolerances and limits: `ap.Solver("RK45", rtol=1e-6, max_events=100)`.

    Events are exact, each found to rounding. Where more than 40 of them crowd (a series of bounces counts as one, and
    one is forgotten every ms), or where no contact forces obey all laws, the run goes on by time stepping, an event of
    that kind says so, and another one when it is back: steps of √(tolerance · 1 s²/m), 0.3 ms by default, in which
    impacts are moved by up to a step and energy never grows; see `appell.simulation.events.hybrid`.

    The record has q, v, tau (what acted) and energy at every step, the events between them, and the motion at any time;
    an event has two rows at its time, before and after. Of a constrained robot it also has the velocities w of its
    tree, and all rows keep the constraints to 1e-12. With `t_eval` it has rows at these times only, after the event
    if there is one. A run that stops early says so in `record.status` and `record.message`; with `throw=True` it raises
    `Interrupted`, which carries the record up to there. An input that a run cannot go on with, such as a torque that is
    not a number, always raises. An exception of the user's own function arrives as it is, with the record up to there
    as its attribute `record`.
    """
    options = Solver.of(solver)
    dyn = moving_dynamics(dyn, "simulate", friction=friction, rotors=rotors, wrenches=wrench_frames(wrenches))
    t, q = initial_configuration(dyn, q0, start, until)
    flow = FreeMotion(dyn, Inputs(dyn, torque, wrenches, saturate, t, prescribed))
    y = flow.states.start(t, q, np.zeros(dyn.system.nv) if v0 is None else v0, project)
    geometry = starting_geometry(flow, contacts, stops, t, y, options.tolerance)
    endings = Endings(Conditions(stop, flow, t, y), Reaches(dyn, flow), Singularities(flow.states))
    history = History(flow, wanted_times(t_eval, t, until))
    state = Run(flow, starting_phase(flow, geometry, y), t, y, float(until), options, history, endings)
    try:
        with Bar("simulate", until, "s", start=t, enabled=progress) as bar:
            state.run(bar)
    except (Exception, KeyboardInterrupt) as error:
        error.record = _record(state)  # type: ignore[union-attr]
        error.add_note(f"The run had come to t = {state.t:.9g} s; `record` of this exception is what there is of it.")
        raise
    record, end = _record(state), state.stop
    if end is not None and ((throw and not end.status.ok) or end.status is Status.INPUT):
        raise Interrupted(record.message, record, expected=end.expected, hint=end.hint)
    return record


def _record(done: Run) -> Record:
    flow, kept, end = done.flow, done.history, done.stop
    t, y = np.array(kept.times), np.array(kept.states).reshape(-1, flow.nq + flow.nw)
    q, w = flow.split(y)
    tau = np.array(kept.forces).reshape(-1, flow.nu)
    kinetic, potential = flow.states.moving.energy(q, w)
    status = Status.FINISHED if end is None else end.status
    groups = flow.states.units
    message = status.sentence if end is None else f"{status.sentence} {end.detail}".strip()
    return Record.of(
        t,
        flow.states.groups(q, w) | {"tau": tau, "energy": kinetic + potential},
        record_names(flow.system) | {group: tuple(own) for group, own in groups.items()},
        dynamics=flow.dyn,
        walls=tuple(c.surface for c in done.phase.geometry.contacts.contacts) if done.phase.geometry else (),
        units=record_units(flow.system)
        | {f"{group}_{name}": unit for group, own in groups.items() for name, unit in own.items()},
        about=made_by(flow.dyn)
        | {
            "method": done.solver.method,
            "rtol": done.solver.rtol,
            "atol": done.solver.atol,
            "status": status.name,
            "message": message,
        },
        events=tuple(kept.events),
        between=Curve.of(
            [flow.states.shown(piece) for piece in kept.pieces],
            tuple((span.start, span.stop) for span in flow.system.quaternions),
        ),
    )


def wanted_times(given: Iterable[float] | None, start: float, until: float) -> np.ndarray | None:
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


def initial_configuration(dyn: Dynamics, q0, start: float, until: float) -> tuple[float, np.ndarray]:
    """When and where a run begins."""
    system = dyn.system
    if system.free:
        raise ArgumentError(
            f"{system.owner} has free inertial parameters, without which it does not move.",
            hint="robot.with_bodies(...)",
        )
    for name, time in (("start", start), ("until", until)):
        check_number(f"{name}, in s,", time)
    if not until > start:
        raise ArgumentError(f"a run cannot last from {start!r} to {until!r}.", expected="until > start, both finite")
    q = numbers(system.start if q0 is None else q0, system.nq, "q0", system.owner)
    if isinstance(system, Mechanism) and (sentence := system.out_of_reach(q.tolist())):
        raise ArgumentError(f"{system.owner} cannot start at q0: {sentence}.", hint="a pose nearer to home")
    if any(not q[span].any() for span in system.quaternions):
        raise ArgumentError(f"q0 of {system.owner} holds a quaternion of zeros.", expected="a length above zero")
    for span in system.quaternions:
        q[span] = unit_quaternion(q[span])
    return float(start), q


def starting_geometry(
    flow: FreeMotion,
    contacts: Contact | Iterable[Contact] | None,
    stops: float | Mapping[str, float] | None,
    t: float,
    y: np.ndarray,
    tolerance: float,
) -> Geometry:
    """The compiled contacts, with every point on the free side of its wall and every joint between its stops."""
    if not isinstance(contacts, Contact | Iterable | None):
        raise ArgumentError(f"contacts is {contacts!r}.", expected="Contact(points, surface, ...), or several")
    found = () if contacts is None else (contacts,) if isinstance(contacts, Contact) else tuple(contacts)
    geometry = Geometry(flow.states, Contacts(flow.states.moving, found, stops), flow.drives).at(y)
    if not len(geometry.contacts):
        return geometry
    geometry.active = geometry.contacts.active(t)
    names, gap, system = geometry.contacts.describe, geometry.motion.gap, flow.system
    if (bad := np.flatnonzero(geometry.active & ~np.isfinite(gap))).size:
        raise ArgumentError(f"the gap between {names(int(bad[0]))} is not a number at the start.")
    with np.errstate(all="ignore"):
        depth = np.where(geometry.active & (gap < 0.0), -gap / geometry.motion.slope, 0.0)
    deep = np.flatnonzero(~(depth <= tolerance))
    if (beyond := [k for k in deep if geometry.contacts.wall[k] < 0]) and len(beyond) == len(deep):
        listed = "; ".join(f"{names(int(k))} ({depth[k]:.3g} beyond it)" for k in beyond)
        raise ArgumentError(
            f"{system.owner} starts outside the range of its joints: {listed}.",
            expected=f"every joint between its stops, or within {tolerance:g} of them",
            hint="another q0, or stops=None",
        )
    if deep.size:
        listed = ", ".join(f"{geometry.contacts.names[k]} ({depth[k]:.3g} m)" for k in deep)
        raise ArgumentError(
            f"{system.owner} starts inside a wall: {names(int(deep[0]))} overlap. Too deep: {listed}.",
            expected=f"every point outside its wall, or within {tolerance:g} m of it",
            hint="another q0, or the other side of the surface (inside=..., the opposite normal)",
        )
    return geometry


def starting_phase(flow: FreeMotion, geometry: Geometry, y: np.ndarray) -> Phase:
    """Nothing rests yet; dry drives slide in the directions of their velocities."""
    return Phase(flow, geometry, np.where(geometry.at(y).rates() < 0.0, -1.0, 1.0))
