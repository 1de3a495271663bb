"""`simulate`: checks all arguments, runs the event-driven simulation and makes the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.dynamics.moving import made_by, moving_dynamics
from appell.errors import ArgumentError, check_number, value_text
from appell.model.joints import unit_quaternion
from appell.model.system import System
from appell.motion.record import Record
from appell.motion.titles import record_names, record_units
from appell.progress import Bar
from appell.simulation.contact.contact import BodyContact, Contact, Contacts
from appell.simulation.contact.geometry import Geometry
from appell.simulation.events.conditions import Conditions, Endings, LegRanges, Singularities
from appell.simulation.events.hybrid import History, Run
from appell.simulation.events.phase import Phase
from appell.simulation.flexible import flexible_events, warn_contacts, warn_stiff_steps
from appell.simulation.flow import FreeMotion
from appell.simulation.inputs import Inputs, Sampled, wrench_frames
from appell.simulation.options import Solver, check_impact_law, check_impact_order
from appell.simulation.states import numbers
from appell.simulation.status import Interrupted, Status


def simulate(
    dyn: Dynamics | System,
    q0=None,
    v0=None,
    until: float = 1.0,
    torque: Iterable[float] | Callable | Sampled | None = None,
    contacts: Contact | BodyContact | Iterable[Contact | BodyContact] | str | None = None,
    *,
    wrenches: Mapping[str, Any] | None = None,
    prescribed: Mapping[str, Any] | None = None,
    project: bool = False,
    contact_forces: bool = False,
    impact_law: str = "energetic",
    impact_order: str = "together",
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
    """Simulate the motion of a robot with exact events: impacts, friction, joint stops, stop conditions.

    Events are located to rounding error. If more than 40 events accumulate (a series of bounces counts as one, and the
    count falls by one per millisecond of motion), or if no contact forces satisfy all laws, the run continues by time
    stepping and returns to exact events later; an event marks each change. Time steps are √(tolerance · 1 s²/m) long
    (0.3 ms by default), shift impacts by up to one step and never increase the energy; see
    `appell.simulation.events.hybrid`.

    Parameters
    ----------
    dyn
        A robot or mechanism, simulated with the friction and rotors of its description, or a `Dynamics`, which is used
        as it is.
    q0
        Initial coordinates, (nq,). None: `dyn.system.start`. The loops of a constrained robot must be closed.
    v0
        Initial velocities, (nv,), rad/s or m/s. None: zero. For a constrained robot: its independent velocities, or all
        velocities of its tree if they satisfy the constraints.
    until
        Final time, s.
    torque
        Actuator forces, N m or N: an array (nu,), a function of (t, q, v), or a `Sampled` function that is held between
        its ticks. None: zero.
    contacts
        One `Contact` (points against a wall) or `BodyContact` (shapes against each other and walls), or several, or
        "all": all pairs of collision shapes, with default coefficients.
    contact_forces
        Whether the record has columns of the contact forces in N: normal_<contact>, and the friction on the point or on
        the first shape that the contact names, in world axes, friction_<contact>_x, _y and _z. Contacts that carry no
        force during the run have no columns. Impacts are impulses and not included: see the events. Rows of time
        stepping contain the mean forces of their step. If contacts are redundant, the forces are one of many solutions.
    impact_law
        Meaning of the restitution of walls with friction: "energetic" (Stronge: e² is the returned part of the work of
        the normal impulse), "poisson" (e is the ratio of the normal impulses of restitution and compression),
        "newton-path" (e is the ratio of the normal speeds) or "newton" (the same, with friction that opposes the slip
        after the impact instead of the slip during the impact). Without friction all laws agree. None adds energy: the
        restitution is reduced if necessary, which the note of the event states. See `appell.simulation.contact.impact`.
        Time stepping uses "newton".
    impact_order
        How contacts that are hit at the same instant are solved: "together", which preserves symmetry, or "in_turn",
        the fastest first, until none approaches. There is no unique physical answer; see `docs/simulate.md`.
    wrenches
        For each frame of `Dynamics(wrenches=...)`, or of a robot, six numbers (force in N, moment in N m) or a function
        of (t, q, v) that returns them, in the reference axes of the `Dynamics`.
    prescribed
        For each prescribed motion of a constraint, a function of time that returns position, velocity and acceleration,
        or a path of one coordinate.
    project
        Whether to replace an initial state that violates constraints by the nearest one that satisfies them.
    stops
        Restitution (0 to 1) of the joint limits as hard stops: one number for all joints, or a mapping by joint name.
        None: no stops.
    saturate
        Whether to clip `torque` to the limits of the actuators: `actuator.torque_limit`, which falls with the speed of
        an actuator that has a `no_load_speed`.
    stop
        A function of (t, q, v), or several by name; the run ends where one of them first falls below zero.
    t_eval
        Times of the rows of the record, ascending, s. None: one row per integration step.
    start
        Initial time, s.
    throw
        Whether to raise `Interrupted` if the run ends early.
    progress
        Whether to show a progress bar. None: on a terminal only.
    friction, rotors
        False: ignore the actuators' friction or rotor inertia. None: the settings of `dyn`.
    solver
        Name of a method (DOP853, RK45, RK23; Radau, BDF or LSODA for stiff torques), or a `Solver` with tolerances and
        limits.

    Returns
    -------
    Record
        Columns q, v, tau (applied forces) and energy, the events, and the motion between rows: `record(t)` returns
        (q, v) at any time. An event has two rows at its time, before and after it; with `t_eval` only the row after it.
        For a constrained robot there are also the tree velocities w, and every row satisfies the constraints to 1e-12.
        `record.status` and `record.message` state how the run ended.

    Raises
    ------
    ArgumentError
        If an argument is not valid; all arguments are checked before the run starts.
    Interrupted
        If an input is not valid during the run, such as a torque that is NaN; with `throw=True` also if the run ends
        early for any other reason. Its attribute `record` is the motion up to that time. Exceptions raised by a user's
        function propagate unchanged with the same attribute.

    Examples
    --------
    >>> import appell as ap
    >>> record = ap.simulate(ap.load("pendulum"), q0=[0.5], until=1.0)
    >>> record.status
    'FINISHED'
    >>> q, v = record(0.5)
    >>> print(q.round(4))
    [-0.1566]
    """
    solver_options = Solver.of(solver)
    check_impact_law(impact_law)
    check_impact_order(impact_order)
    dyn = moving_dynamics(dyn, "simulate", friction=friction, rotors=rotors, wrenches=wrench_frames(wrenches))
    t, q = initial_configuration(dyn, q0, start, until)
    if dyn.system.flexible:
        warn_contacts(dyn, contacts)
    flow = FreeMotion(dyn, Inputs(dyn, torque, wrenches, saturate, t, prescribed))
    y = flow.states.start(t, q, np.zeros(dyn.system.nv) if v0 is None else v0, project)
    geometry = initial_geometry(flow, contacts, stops, t, y, solver_options.tolerance)
    endings = Endings(Conditions(stop, flow, t, y), LegRanges(dyn, flow), Singularities(flow.states))
    history = History(flow, requested_times(t_eval, t, until))
    phase = initial_phase(flow, geometry, y)
    run = Run(flow, phase, t, y, float(until), solver_options, history, endings, impact_law, impact_order)
    if contact_forces:
        history.contacts = run.contact_forces
    try:
        with Bar("simulate", until, "s", start=t, enabled=progress) as bar:
            run.run(bar)
    except (Exception, KeyboardInterrupt) as error:
        history.remove_incomplete_rows()
        error.record = _record(run)  # type: ignore[union-attr]
        error.add_note(f"The run had reached t = {run.t:.9g} s; attribute `record` of this exception is its record.")
        raise
    record, end = _record(run), run.stop
    if end is not None and ((throw and not end.status.ok) or end.status is Status.INPUT):
        raise Interrupted(record.message, record, expected=end.expected, hint=end.hint)
    return record


def _record(run: Run) -> Record:
    flow, history, end = run.flow, run.history, run.stop
    t, y = np.array(history.times), np.array(history.states).reshape(-1, flow.nq + flow.nw)
    q, w = flow.split(y)
    tau = np.array(history.forces).reshape(-1, flow.nu)
    kinetic, potential = flow.states.moving.energy(q, w)
    status = Status.FINISHED if end is None else end.status
    groups, contacts = flow.states.units, run.phase.geometry.contacts
    blocks, contact_names = _contact_columns(contacts, history.contact_forces)
    events, curve = tuple(history.events), history.curve()
    if flow.system.flexible and len(t):
        events += flexible_events(flow.dyn, t, q, w)
    if (flow.system.flexible or flow.system.elastic_joints) and len(t):
        warn_stiff_steps(flow.dyn, q[-1], run.solver.method, curve.stops - curve.starts)
    message = status.sentence if end is None else f"{status.sentence} {end.detail}".strip()
    return Record.of(
        t,
        flow.states.groups(q, w) | {"tau": tau, "energy": kinetic + potential} | blocks,
        record_names(flow.system) | {group: tuple(units) for group, units in groups.items()} | contact_names,
        dynamics=flow.dyn,
        walls=contacts.walls,
        units=record_units(flow.system)
        | {f"{group}_{name}": unit for group, units in groups.items() for name, unit in units.items()},
        about=made_by(flow.dyn)
        | {
            "method": run.solver.method,
            "rtol": run.solver.rtol,
            "atol": run.solver.atol,
            "status": status.name,
            "message": message,
        }
        | contacts.about()
        | ({"impact_law": run.impact_law, "impact_order": run.impact_order} if len(contacts) else {}),
        events=tuple(sorted(events, key=lambda event: event.time)),
        between=curve,
    )


def _contact_columns(
    contacts: Contacts, forces: list[dict[int, np.ndarray]]
) -> tuple[dict[str, np.ndarray], dict[str, tuple[str, ...]]]:
    """Return the blocks of normal forces and friction of all contacts that carried a force, and their names."""
    carrying = sorted({k for row in forces for k in row})
    if not carrying:
        return {}, {}
    values = np.array([[row.get(k, np.zeros(4)) for k in carrying] for row in forces])
    on_second = [k >= contacts.fixed and bool(contacts.shapes.swapped[k - contacts.fixed]) for k in carrying]
    values[:, on_second, 1:] *= -1.0
    repeated = {name for name, count in Counter(contacts.names[k] for k in carrying).items() if count > 1}
    names = [contacts.names[k] + (f" {contacts.wall[k]}" if contacts.names[k] in repeated else "") for k in carrying]
    blocks, titles = {"normal": values[:, :, 0]}, {"normal": tuple(names)}
    if (rough := contacts.friction[carrying] > 0.0).any():
        blocks["friction"] = values[:, rough, 1:].reshape(len(forces), -1)
        rough_names = [name for name, kept in zip(names, rough, strict=True) if kept]
        titles["friction"] = tuple(f"{name}_{axis}" for name, axis in product(rough_names, "xyz"))
    return blocks, titles


def requested_times(given: Iterable[float] | None, start: float, until: float) -> np.ndarray | None:
    """Return `t_eval` as an array; raise `ArgumentError` if its times do not ascend from `start` to `until`."""
    if given is None:
        return None
    try:
        times = np.array(given if isinstance(given, np.ndarray) else list(given), float)
    except (TypeError, ValueError, OverflowError):
        times = np.zeros(0)
    good = times.ndim == 1 and len(times) and np.isfinite(times).all() and (np.diff(times) > 0.0).all()
    if not good or times[0] < start or times[-1] > until:
        raise ArgumentError(
            f"t_eval is {value_text(given)}.", expected=f"strictly ascending times from {start:g} to {until:g} s"
        )
    return times


def initial_configuration(dyn: Dynamics, q0, start: float, until: float) -> tuple[float, np.ndarray]:
    """Return the initial time and the initial coordinates, checked."""
    system = dyn.system
    if system.free:
        raise ArgumentError(
            f"{system.owner} has free inertial parameters and cannot be simulated without their values.",
            hint="Set them with robot.with_bodies(...).",
        )
    for name, time in (("start", start), ("until", until)):
        check_number(f"{name}, in s,", time)
    if not until > start:
        raise ArgumentError(f"until is {until!r} and start is {start!r}.", expected="until > start, both finite")
    q = numbers(system.start if q0 is None else q0, system.nq, "q0", system.owner)
    if sentence := system.out_of_reach(q.tolist()):
        raise ArgumentError(f"{system.owner} cannot start at q0: {sentence}.", hint="Choose a pose nearer to home.")
    if any(not q[span].any() for span in system.quaternions):
        raise ArgumentError(f"q0 of {system.owner} contains a zero quaternion.", expected="a length above zero")
    for span in system.quaternions:
        q[span] = unit_quaternion(q[span])
    return float(start), q


def initial_geometry(
    flow: FreeMotion,
    contacts: Any,
    stops: float | Mapping[str, float] | None,
    t: float,
    y: np.ndarray,
    tolerance: float,
) -> Geometry:
    """Return the compiled contacts; raise `ArgumentError` if a point is inside its wall or a joint beyond its stop."""
    geometry = Geometry(flow.states, Contacts(flow.states.moving, contacts, stops), flow.drives).at(y)
    geometry.active = geometry.contacts.active(t)
    if listed := geometry.contacts.overlaps(y[: flow.nq], geometry.active, tolerance):
        raise ArgumentError(
            f"{flow.system.owner} starts with shapes that overlap: {listed}.",
            expected=f"all shapes apart, or within {tolerance:g} m of each other",
            hint="Choose another q0, or leave out the pair.",
        )
    if not geometry.contacts.fixed:
        return geometry
    active = geometry.active[: geometry.contacts.fixed]
    describe, gap, system = geometry.contacts.describe, geometry.motion.gap, flow.system
    if (bad := np.flatnonzero(active & ~np.isfinite(gap))).size:
        raise ArgumentError(f"the gap between {describe(int(bad[0]))} is not a number at the start.")
    with np.errstate(all="ignore"):
        depth = np.where(active & (gap < 0.0), -gap / geometry.motion.slope, 0.0)
    deep = np.flatnonzero(~(depth <= tolerance))
    if (beyond := [k for k in deep if geometry.contacts.wall[k] < 0]) and len(beyond) == len(deep):
        listed = "; ".join(f"{describe(int(k))} ({depth[k]:.3g} beyond it)" for k in beyond)
        raise ArgumentError(
            f"{system.owner} starts outside the range of its joints: {listed}.",
            expected=f"every joint between its stops, or within {tolerance:g} of them",
            hint="Choose another q0, or stops=None.",
        )
    if deep.size:
        listed = ", ".join(f"{geometry.contacts.names[k]} ({depth[k]:.3g} m)" for k in deep)
        raise ArgumentError(
            f"{system.owner} starts inside a wall: {describe(int(deep[0]))} overlap. Too deep: {listed}.",
            expected=f"every point outside its wall, or within {tolerance:g} m of it",
            hint="Choose another q0, or the other side of the surface (inside=..., the opposite normal).",
        )
    return geometry


def initial_phase(flow: FreeMotion, geometry: Geometry, y: np.ndarray) -> Phase:
    """Return the phase in which no contact rests and dry drives slide in the directions of their velocities."""
    return Phase(flow, geometry, np.where(geometry.at(y).rates() < 0.0, -1.0, 1.0))
