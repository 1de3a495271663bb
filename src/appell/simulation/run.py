"""simulate: the motion of a robot under forces, with or without walls in its way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from appell.display.bar import Bar
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.model.system import System
from appell.motion.curve import Curve
from appell.motion.names import record_names, record_units
from appell.motion.record import Record
from appell.simulation.conditions import Conditions, Endings, Reaches
from appell.simulation.contact import Contact
from appell.simulation.flow import FreeMotion
from appell.simulation.history import History
from appell.simulation.hybrid import Run, run
from appell.simulation.inputs import Inputs
from appell.simulation.integrate import Settings
from appell.simulation.sampled import Sampled
from appell.simulation.singularities import Singularities
from appell.simulation.start import dynamics_of, initial_configuration, starting_geometry, starting_phase, wanted_times
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
    **settings: Any,
) -> Record:
    """The motion from (q0, v0) at time `start` to time `until`, both in seconds.

    `dyn` are Dynamics; a robot or mechanism stands for its Dynamics with friction, rotors and these wrenches. q0 is its
    start if None, v0 is rest. A constrained robot starts on its manifold: v0 are its independent velocities, or all of
    its tree's if they keep the constraints; with `project=True` the nearest state that does is taken.

    What acts: `torque` is None, an array, a function of (t, q, v), or a `Sampled` one that is held between its ticks;
    with `saturate=True` it is cut off at the limits of the actuators (`actuator.torque_limit`, N m or N).
    `wrenches` gives for every frame of `Dynamics(wrenches=...)` six numbers (force, moment; N, N m) or a function of
    (t, q, v) that does, in the axes that the Dynamics say. `contacts` say which points meet which walls, and when;
    `stops` makes stops of the limits of joints: the restitution (0 to 1) of all of them, or of some by name. Dry
    friction of the actuators holds joints still if `dyn` counts friction. `prescribed` gives for every motion of a
    constraint a function of time with position, velocity and acceleration, or a path of one coordinate.

    Where it ends: at `until`, or where `stop`, a function of (t, q, v) or several by name, first falls below zero.

    Settings are `method` (DOP853, RK45, RK23; Radau, BDF, LSODA for stiff torques), `rtol` (1e-8), `atol` (1e-10),
    `max_step`, `tolerance` (1e-7 m: points nearer to a wall than this at an impact are solved together, and none goes
    deeper into it), `rest_speed` (1e-5 m/s: slower bounces are taken as finished), `max_events` (10 000), `max_steps`
    (1 000 000) and `least_progress` (1e-5 s: a run that advances less in 2000 steps ends as STALLED).

    Events are exact, each found to rounding. Where more than 40 of them crowd (a series of bounces counts as one, and
    one is forgotten every ms), or where no contact forces obey all laws, the run goes on by time stepping, an event of
    that kind says so, and another one when it is back: steps of √(tolerance · 1 s²/m), 0.3 ms by default, in which
    impacts are moved by up to a step and energy never grows; see `appell.simulation.crowd` and `.time_stepping`.

    The record has q, v, tau (what acted) and energy at every step, the events between them, and the motion at any time;
    an event has two rows at its time, before and after. Of a constrained robot it also has the velocities w of its
    tree, and all rows keep the constraints to 1e-12. With `t_eval` it has rows at these times only, after the event
    if there is one. A run that stops early says so in `record.status` and `record.message`; with `throw=True` it raises
    `Interrupted`, which carries the record up to there. An input that a run cannot go on with, such as a torque that is
    not a number, always raises. An exception of the user's own function arrives as it is, with the record up to there
    as its attribute `record`.
    """
    options = _settings(settings)
    dyn = dynamics_of(dyn, wrenches)
    t, q = initial_configuration(dyn, q0, start, until)
    flow = FreeMotion(dyn, Inputs(dyn, torque, wrenches, saturate, t, prescribed))
    y = flow.states.start(t, q, np.zeros(dyn.system.nv) if v0 is None else v0, project)
    geometry = starting_geometry(flow, contacts, stops, t, y, options.tolerance)
    endings = Endings(Conditions(stop, flow, t, y), Reaches(dyn, flow), Singularities(flow.states))
    history = History(flow, wanted_times(t_eval, t, until))
    state = Run(flow, starting_phase(flow, geometry, y), t, y, float(until), options, history, endings)
    try:
        with Bar("simulate", until, "s", start=t, enabled=progress) as bar:
            run(state, bar)
    except (Exception, KeyboardInterrupt) as error:
        error.record = _record(state)  # type: ignore[union-attr]
        error.add_note(f"The run had come to t = {state.t:.9g} s; `record` of this exception is what there is of it.")
        raise
    record, end = _record(state), state.stop
    if end is not None and ((throw and not end.status.ok) or end.status is Status.INPUT):
        raise Interrupted(record.message, record, expected=end.expected, hint=end.hint)
    return record


def _settings(given: dict[str, Any]) -> Settings:
    try:
        return Settings(**given)
    except TypeError:
        known = ", ".join(Settings.__dataclass_fields__)
        unknown = ", ".join(name for name in given if name not in Settings.__dataclass_fields__) or "a wrong value"
        raise ArgumentError(f"simulate has no setting {unknown}.", expected=known) from None


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
        about={"robot": flow.system.name, "status": status.name, "message": message},
        events=tuple(kept.events),
        between=Curve.of(
            [flow.states.shown(piece) for piece in kept.pieces],
            tuple((span.start, span.stop) for span in flow.system.quaternions),
        ),
    )
