"""The main loop of a run: take a step, search it for events, handle the first one, continue from there.

Times that are known in advance (the tick of a sampled torque, a wall that appears or disappears) end an integration
exactly. `Run` owns the state of a run; other modules compute what follows from a state and return it.

If many events occur in a short time, the run changes from exact events to time stepping, and back when the contacts
are steady. `EventBucket` is a leaky bucket: it counts events and leaks one per BUCKET_LEAK_S of motion; a series of
bounces of the same points, one impact after the other, counts as one event, and so does a phase that ends and starts
again unchanged without progress. If the count exceeds BUCKET_CAPACITY, or if no forces satisfy all contact laws
(Painlevé's paradox), the run continues with steps of

    h = √(tolerance · 1 s²/m)                                                                              (1)

during which a body in free fall falls five tolerances; a step whose impulses cannot be solved is halved, up to
MAX_STEP_HALVINGS times. The run returns to exact events after STEADY_STEPS steps in which the same contacts have pushed
without a bounce, or none has; the bucket then is three quarters full, so that a continuing accumulation is detected
soon. A run that stalls with points at walls also changes to time stepping. Events of kind "time stepping" and "event
driven" mark the two changes; in between a record has one row per step, straight lines between rows, and no events of
individual points. See `time_stepping` for its accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np

from appell.compile.ode.tableau import METHODS
from appell.motion.curve import Curve, Piece, ones
from appell.motion.event import Event
from appell.progress import Bar
from appell.simulation.contact.time_stepping import StepResult, TimeStepping
from appell.simulation.events.conditions import Ending, Endings
from appell.simulation.events.detection import (
    END_FRACTION,
    MIN_REPEATED_STEP_S,
    DetectedEvent,
    crossing_levels,
    first_event,
    is_mid_step,
)
from appell.simulation.events.effects import Impact, catch_impact, change_events, closed_contacts, impact
from appell.simulation.events.phase import Phase
from appell.simulation.events.phase_changes import PhaseCheck, check_phase, following_phase
from appell.simulation.flow import FreeMotion
from appell.simulation.integrate import blocks, pieces, still_pieces
from appell.simulation.options import Solver
from appell.simulation.status import Status, Stop

MAX_DRIFT = 0.5  # of the tolerance: if resting points leave their walls by more during a step, it is repeated in halves
GAP_NOISE_M = 1e-11  # a smaller distance of a resting point from its wall is noise
STILL_PIECES = 32  # pieces into which a constant state is divided if inputs are functions of time
STALL_STEPS = 2000  # attempted steps during which a run must advance by `least_progress`
STEPS_PER_BLOCK = 64  # where no events are possible
BUCKET_CAPACITY = 40  # events
BUCKET_LEAK_S = 1e-3  # time per event
STEADY_STEPS = 20
MAX_STEP_HALVINGS = 8
RECOVERABLE = (Status.UNSOLVED, Status.SINGULAR, Status.STALLED)  # the run may continue by time stepping
MAX_DEPTH = 1e-3  # of the tolerance: points deeper inside a wall are moved back


@dataclass
class EventBucket:
    """Leaky bucket that detects an accumulation of events."""

    level: float = 0.0  # events
    time: float = -np.inf  # s, of the last update
    counted: int = 0  # number of events that have been added
    latest: tuple[str, ...] = ()  # points of the last impact, if no other event followed it
    unchanged: float = -np.inf  # s, at which a phase has ended and started again unchanged

    def overflows(self, events: list[Event], t: float) -> bool:
        """Add the events since the last call, leak, and return whether the capacity is exceeded."""
        for event in events[self.counted :]:
            repeated = event.kind == "impact" and event.points == self.latest
            self.latest = event.points if event.kind == "impact" else ()
            self.level += 0.0 if repeated else 1.0
        self.counted = len(events)
        self.level = max(0.0, self.level - (t - max(self.time, t - BUCKET_CAPACITY * BUCKET_LEAK_S)) / BUCKET_LEAK_S)
        self.time = t
        return self.level > BUCKET_CAPACITY

    def add_change(self, t: float, changed: bool) -> None:
        """Count a phase that starts again unchanged, at the time at which it last did so."""
        self.level += 1.0 if not changed and t - self.unchanged < MIN_REPEATED_STEP_S else 0.0
        self.unchanged = -np.inf if changed else t

    def reset(self, events: list[Event], t: float) -> None:
        """Set the level to three quarters of the capacity and mark all events as counted."""
        self.level, self.time, self.counted, self.latest = 0.75 * BUCKET_CAPACITY, t, len(events), ()


@dataclass
class Run:
    """Current state of a run, its phase, its history, and the loop that advances it."""

    flow: FreeMotion
    phase: Phase
    t: float
    y: np.ndarray
    until: float
    solver: Solver
    history: History
    endings: Endings
    impact_law: str
    impact_order: str
    step: float | None = None  # length of the last step that was not shortened; first step of the next integration
    max_step: float = np.inf  # bound on the next steps, so that one ends at an event or is accurate enough
    searched: float = -np.inf  # time up to which the step that the next one repeats has passed all checks
    levels: np.ndarray | None = None  # crossing levels of gaps and speeds, constant between events
    bucket: EventBucket = field(default_factory=EventBucket)
    attempts: int = 0  # number of steps, repeated ones included
    milestone: float = -np.inf  # time at the last check of progress
    ticked: bool = False  # whether the sampled torque has just changed
    stop: Stop | None = None  # why the run ended early
    stepping: TimeStepping | None = None  # while the run advances by time stepping

    @property
    def events(self) -> list[Event]:
        return self.history.events

    @property
    def next_known_time(self) -> float:
        """Next time that is known in advance: end of the run, tick, or switching of a wall."""
        switch_times = self.phase.geometry.contacts.switch_times
        switch = min((time for time in switch_times if time > self.t), default=np.inf)
        return min(self.until, switch, self.flow.inputs.next_tick(self.until))

    def add_row(self) -> None:
        """Store the current state as a row of the record."""
        self.history.add_row(self.t, self.y)

    def contact_forces(self, t: float, y: np.ndarray) -> dict[int, np.ndarray]:
        """Return normal force and friction in world axes (4,), N, by contact; means of a step of time stepping."""
        return self.phase.contact_forces(t, y) if self.stepping is None else self.stepping.mean_forces

    def advance(self, piece: Piece) -> None:
        """Go to the end of the valid part of a piece and store both; a tick that is due there comes before the row."""
        self.history.add_piece(piece)
        self.t, self.y = piece.stop, piece.at(piece.stop)
        if piece.stop < piece.end:
            self.y = self.flow.projected(self.t, self.y)  # only the ends of complete steps are projected already
        if not (math.isfinite(self.y.dot(self.y)) or np.isfinite(self.y).all()):
            raise Stop(Status.TOLERANCE, f"The state at t = {self.t:.9g} is not finite.")
        try:
            self.tick()
        finally:
            self.add_row()

    def tick(self) -> None:
        """Evaluate the sampled torque if a tick is due."""
        if self.t == self.flow.inputs.next_tick(self.until):
            self.flow.tick(self.t, self.y)
            self.ticked = True

    def end(self, piece: Piece, ending: Ending) -> None:
        """Go to the time of `ending` on a piece and end the run."""
        if ending.time > self.t:
            self.advance(piece.until(ending.time))
        self.events.append(ending.event)
        raise ending.stop

    def switch_walls(self) -> bool:
        """Activate or deactivate walls at this time; raise `Stop` if a new wall overlaps a contact point."""
        geometry = self.phase.geometry
        if self.t not in geometry.contacts.switch_times:
            return False
        active = geometry.contacts.active(self.t)
        new, geometry.active = active & ~geometry.active, active
        contacts, tolerance = geometry.contacts, self.solver.tolerance
        distance = geometry.at(self.y).distance()[: contacts.fixed]
        deep = np.flatnonzero(new[: contacts.fixed] & ~(distance >= -tolerance))
        listed = ", ".join(f"{contacts.describe(int(k))} ({-distance[k]:.3g} m)" for k in deep)
        if listed := listed or contacts.overlaps(self.y[: self.flow.nq], new, tolerance):
            raise Stop(Status.INSIDE, f"At t = {self.t:.9g} these overlap: {listed}.")
        return True

    def check_limits(self) -> None:
        """End a run that has exceeded its number of events or steps."""
        t, solver = self.t, self.solver
        if len(self.events) > solver.max_events:
            detail = f"The run stopped at t = {t:.9g} after {solver.max_events}."
            raise Stop(Status.EVENTS, detail, hint="Increase max_events.")
        if self.history.steps >= solver.max_steps:
            detail = f"The run stopped at t = {t:.9g} after {solver.max_steps}."
            raise Stop(Status.STEPS, detail, hint="Increase max_steps.")

    def _stall_description(self) -> str:
        """Return a clause for messages that names the resting contacts, or else the largest acceleration."""
        if self.phase.rests:
            names = dict.fromkeys(self.phase.geometry.contacts.names[k] for k in self.phase.members)
            return f"contacts at rest: {', '.join(names)}"
        rate = np.abs(self.phase(self.t, self.y)[self.flow.nq :])
        return f"'{self.flow.states.moving.system.velocity_names[int(np.argmax(rate))]}' has the largest acceleration"

    def check_progress(self, steps: int = 1) -> None:
        """Count attempted steps; end a run that advances too little in STALL_STEPS of them."""
        self.attempts += steps
        if self.attempts % STALL_STEPS < steps:
            if self.t - self.milestone < self.solver.least_progress:
                span = f"from t = {self.milestone:.9g} to {self.t:.9g}"
                hint = "Use a smoother torque, solver='Radau', or a smaller least_progress"
                detail = f"{STALL_STEPS} steps advanced it {span}; {self._stall_description()}."
                raise Stop(Status.STALLED, detail, hint=hint)
            self.milestone = self.t

    # ---- exact events

    def run(self, bar: Bar) -> None:
        """Run to `until`, or to where the run ends early."""
        try:
            self.tick()
            self.add_row()
            started = False
            while self.t < self.until:
                try:
                    if not started:
                        self._start_contacts()
                        started = True
                    self._integrate(self.next_known_time, bar)
                    self._handle_known_time()
                except Stop as stop:
                    if stop.final or stop.status not in RECOVERABLE or not len(self.phase.geometry.B):
                        raise
                    started = True
                    self._run_time_stepping(stop.status.sentence.rstrip("."), bar)
                if self.bucket.overflows(self.events, self.t):
                    self._run_time_stepping(f"more than {BUCKET_CAPACITY} events accumulated", bar)
        except Stop as stop:
            self.stop = stop

    def _integrate(self, until: float, bar: Bar) -> None:
        """Take steps until an event is handled, a step has to be repeated, or `until` is reached."""
        bounded, start = np.isfinite(self.max_step), self.t
        searched, self.searched = self.searched, -np.inf
        if not bounded and self._is_uneventful():
            self._integrate_blocks(until, bar)
            return
        self.phase.geometry.keep(self.phase.members)
        if self.levels is None:
            self.levels = crossing_levels(self.phase, self.y, self.solver.tolerance)
        for piece in self._pieces(until):
            length = piece.end - piece.start
            self.check_progress()
            cut = (bounded and length >= 0.99 * self.max_step) or (piece.end == until and length < (self.step or 0.0))
            if not self.phase.still and not cut:
                self.step = length  # as chosen by the integrator, not as shortened by an event or a known time
            if self._drifts(piece):
                self.y, self.max_step = self.phase.on_walls(self.t, self.y), 0.5 * length
                return
            detected = first_event(piece, self.phase, self.levels, self.solver, searched)
            ending = self.endings.first(piece, detected.time if detected else piece.end)
            first = ending.time if ending else detected.time if detected else None
            if first is not None and is_mid_step(first, piece) and not self.phase.still:
                self.max_step = (1.0 + 0.1 * END_FRACTION) * (first - piece.start)
                self.searched = first - END_FRACTION * (first - piece.start)
                return
            if ending is not None:
                self.end(piece, ending)
            if detected is None:
                self.advance(piece)
                self.phase.refresh(self.y)
            else:
                self._handle_event(piece, detected)
            self.check_limits()
            bar(self.t)
            if detected is not None:
                self.max_step = np.inf
                return
            if bounded and piece.start > start:
                self.max_step *= 4.0
                return

    def _is_uneventful(self) -> bool:
        """Return whether no step can contain an event or call Python, so that steps need not be searched one by one."""
        geometry = self.phase.geometry
        nothing_changes = not (self.phase.projects or self.flow.inputs.varies or self.endings.groups)
        return nothing_changes and not len(geometry.contacts) + len(geometry.drives) and self.solver.method in METHODS

    def _integrate_blocks(self, until: float, bar: Bar) -> None:
        """Take steps to `until` and store them in the blocks in which machine code computes them."""
        solver = self.solver
        for block in blocks(self.phase, self.t, self.y, until, solver, self.step, solver.max_step, STEPS_PER_BLOCK):
            left = solver.max_steps - self.history.steps
            if len(block) > left:
                block = Curve(block.starts[:left], block.ends[:left], block.ends[:left], block.series[:left])
            self.check_progress(len(block))
            lengths = block.ends - block.starts
            if block.ends[-1] < until or lengths[-1] >= (self.step or 0.0):
                self.step = float(lengths[-1])
            elif len(block) > 1:
                self.step = float(lengths[-2])
            self.history.add_block(block)
            self.t, self.y = float(block.ends[-1]), ones(len(block.series[-1])) @ block.series[-1]
            try:
                self.tick()
            finally:
                self.add_row()
            self.check_limits()
            bar(self.t)

    def _pieces(self, until: float) -> Iterator[Piece]:
        """Return the steps of the integrator; a constant state is one step, or several if inputs may change."""
        if not self.phase.still:
            return pieces(self.phase, self.t, self.y, until, self.solver, self.step, self.max_step)
        duration = until - self.t
        part = duration if not self.flow.inputs.varies else duration / STILL_PIECES
        return still_pieces(self.t, self.y, until, min(part, self.solver.max_step, self.max_step))

    def _drifts(self, piece: Piece) -> bool:
        """Return whether resting points leave their walls during a step through integration errors."""
        limit = max(MAX_DRIFT * self.solver.tolerance, GAP_NOISE_M)
        return bool(
            self.phase.rests
            and not self.phase.still
            and self.phase.drift(piece) > limit
            and piece.end - piece.start > MIN_REPEATED_STEP_S
        )

    def _handle_event(self, piece: Piece, detected: DetectedEvent) -> None:
        """Go to an event on a piece, and change state and phase there."""
        if detected.time > piece.start:
            self.advance(piece.until(detected.time))
        else:
            self.t, self.y = detected.time, piece.at(detected.time)
        self._change_phase(detected)
        self.levels = None
        if (ending := self.endings.met(self.t, self.y)) is not None:
            self.end(piece.until(self.t), ending)

    def _handle_known_time(self) -> None:
        """Switch walls that are due at this time; after a tick, check that what rests still rests."""
        if self.switch_walls():
            self._change_phase(DetectedEvent(self.t, None, PhaseCheck()))
            self.max_step, self.levels = np.inf, None
        if self.ticked and len(self.phase.rows):
            check = check_phase(self.phase, self.t, self.y, self.solver)
            if not check.holds:
                self._change_phase(DetectedEvent(self.t, None, check))
                self.levels = None
        self.ticked = False

    def _start_contacts(self) -> None:
        """Resolve contacts that are closed at the start (impact or rest) and drives at rest (stick or slip)."""
        geometry = self.phase.geometry.at(self.y)
        if len(geometry.drives) or (geometry.distance() <= self.solver.tolerance).any():
            self._change_phase(DetectedEvent(self.t, None, PhaseCheck()))

    def _change_phase(self, detected: DetectedEvent) -> None:
        """Apply the impact, if a point approaches its wall; then enter the next phase and store the events of both.

        Dry friction of a drive is bounded and exerts no impulse: a stuck drive that an impact sets in motion slips.
        """
        before, old, count = self.phase, self.y, len(self.events)
        closed = closed_contacts(before, old, detected, self.solver.tolerance)
        self._apply(impact(before, self.t, self.y, closed, self.impact_law, self.impact_order))
        try:
            self.phase, self.y, end = following_phase(before, self.t, self.y, closed, self.solver, detected.check)
        except Stop as stop:
            if stop.status is not Status.UNSOLVED or (caught := catch_impact(before, self.t, self.y, closed)) is None:
                raise
            self._apply(caught)
            self.phase, self.y, end = following_phase(before, self.t, self.y, closed, self.solver, PhaseCheck())
        q_and_v = self.flow.q_and_v
        self.events.extend(change_events(before, self.phase, self.t, end, q_and_v(old)[1], q_and_v(self.y)[1]))
        self.bucket.add_change(self.t, changed=len(self.events) > count)
        if self.y is not old:
            self.add_row()

    def _apply(self, change: Impact | None) -> None:
        if change is not None:
            self.y = change.y
            self.events.append(change.event)

    # ---- time stepping

    def _run_time_stepping(self, reason: str, bar: Bar) -> None:
        """Advance by time stepping until contacts are steady and exact events can resume, or to the end of the run."""
        geometry, tolerance = self.phase.geometry, self.solver.tolerance
        h = min(float(np.sqrt(tolerance)), self.solver.max_step)  # (1)
        self.stepping = stepping = TimeStepping(self.flow, geometry, MAX_DEPTH * tolerance)
        note = f"{reason}; steps of {h:.3g} s" + ("" if self.impact_law == "newton" else ", impact law 'newton'")
        self.events.append(Event(time=self.t, kind="time stepping", note=note))
        steps, steady = 0, 0
        before: tuple[int, ...] = ()
        while self.t < self.until:
            step, end = self._solved_step(stepping, h)
            piece = straight(self.t, self.y, end, step.y)
            if (ending := self.endings.first(piece, end)) is not None:
                self.end(piece, ending)
            self.advance(piece)
            bar(self.t)
            self.check_limits()
            self.switch_walls()
            steps += 1
            steady = steady + 1 if not step.bounced and step.touched == before else 0
            before = step.touched
            if steady >= STEADY_STEPS and self._resume_events():
                break
        self.stepping = None
        self.phase.geometry.at(self.y)
        self.events.append(Event(time=self.t, kind="event driven", note=f"after {steps} steps"))
        self.step, self.max_step, self.levels = None, np.inf, None
        self.bucket.reset(self.events, self.t)

    def _solved_step(self, stepping: TimeStepping, h: float) -> tuple[StepResult, float]:
        """Return a time step whose impulses were solved, and its end: h later, or at a known time."""
        known = self.next_known_time
        for _ in range(MAX_STEP_HALVINGS + 1):
            end = known if self.t + h * (1.0 + 1e-9) >= known else self.t + h
            step = stepping.take(self.t, self.y, end - self.t)
            if step.solved:
                return step, end
            h *= 0.5
        closed = np.flatnonzero(stepping.geometry.at(self.y).distance() <= self.solver.tolerance)
        names = ", ".join(dict.fromkeys(stepping.geometry.contacts.names[k] for k in sorted({*closed, *step.touched})))
        raise Stop(Status.UNSOLVED, f"The contacts are {names} at t = {self.t:.9g}, in steps of {h:.3g} s.")

    def _resume_events(self) -> bool:
        """Enter a phase in which the closed contacts rest; return False and restore the state if there is none."""
        geometry = self.phase.geometry
        phase, y, count = self.phase, self.y, len(self.events)
        rates = geometry.at(self.y).rates()
        self.phase = Phase(self.flow, geometry, np.where(rates < 0.0, -1.0, 1.0))
        try:
            self._change_phase(DetectedEvent(self.t, None, PhaseCheck()))
        except Stop as stop:
            if stop.status not in RECOVERABLE:
                raise
            self.phase, self.y = phase, y
            del self.events[count:]
            return False
        return True


def straight(start: float, y: np.ndarray, t_end: float, y_end: np.ndarray) -> Piece:
    """Return the straight line between two states as a piece."""
    return Piece(start, t_end, t_end, np.array([0.5 * (y + y_end), 0.5 * (y_end - y)]))


@dataclass
class History:
    """Rows (times, states, forces), pieces and events of a run; with `requested` times, rows at these times only."""

    flow: FreeMotion
    requested: np.ndarray | None = None
    due: int = 0  # index of the next requested time
    times: list[float] = field(default_factory=list)
    states: list[np.ndarray] = field(default_factory=list)
    contact_forces: list[dict[int, np.ndarray]] = field(default_factory=list)  # of the rows, if `contacts` is set
    contacts: Callable[[float, np.ndarray], dict[int, np.ndarray]] | None = None  # `Run.contact_forces`
    forces: list[np.ndarray] = field(default_factory=list)
    parts: list[Piece | Curve] = field(default_factory=list)  # single steps, and blocks of them
    steps: int = 0
    events: list[Event] = field(default_factory=list)

    def add_row(self, t: float, y: np.ndarray) -> None:
        """Store the current state; of two states at a requested time, keep the later one."""
        if self.requested is None:
            self._append(t, y)
        elif self.times and self.times[-1] == t:
            self.states[-1] = y
            self.forces[-1] = self._forces(t, y)
            if self.contacts is not None:
                self.contact_forces[-1] = self.contacts(t, y)
        elif self.due < len(self.requested) and self.requested[self.due] == t:
            self.due += 1
            self._append(t, y)

    def add_piece(self, piece: Piece) -> None:
        """Store a piece, and rows at the requested times in its valid part, the end excluded."""
        self.parts.append(piece)
        self.steps += 1
        while self.requested is not None and self.due < len(self.requested) and self.requested[self.due] < piece.stop:
            t = float(self.requested[self.due])
            self.due += 1
            self._append(t, self.flow.projected(t, piece.at(t)))

    def add_block(self, block: Curve) -> None:
        """Store the pieces of a block with constant inputs, and rows before its end."""
        self.parts.append(block)
        self.steps += len(block)
        if self.requested is None:
            times = block.ends[:-1]
        else:
            stop = int(np.searchsorted(self.requested, block.ends[-1]))
            times, self.due = self.requested[self.due : stop], stop
        if not len(times):
            return
        self.times.extend(times.tolist())
        self.states.extend(block.before(times))
        self.forces.extend(np.repeat(self.flow.inputs.tau[None], len(times), axis=0))

    def remove_incomplete_rows(self) -> None:
        """Remove rows of which an exception, such as Ctrl-C, prevented the last columns."""
        columns: list[list[Any]] = [self.times, self.states, self.forces]
        columns += [self.contact_forces] if self.contacts is not None else []
        count = min(map(len, columns))
        for column in columns:
            del column[count:]

    def curve(self) -> Curve:
        """Return the motion in (q, v), with unit quaternions."""
        curves: list[Curve] = []
        for kind, group in groupby(self.parts, type):
            parts: list[Any] = list(group)
            curves += parts if kind is Curve else [Curve.of([*map(self.flow.states.public_piece, parts)])]
        return Curve.joined(curves, tuple((span.start, span.stop) for span in self.flow.system.quaternions))

    def _append(self, t: float, y: np.ndarray) -> None:
        self.times.append(t)
        self.states.append(y)
        if self.contacts is not None:
            self.contact_forces.append({})
            self.contact_forces[-1] = self.contacts(t, y)
        if not self.flow.inputs.varies:
            self.forces.append(self.flow.inputs.tau.copy())
            return
        self.forces.append(np.full(self.flow.nu, np.nan))  # stays if the torque function raises
        self.forces[-1] = self._forces(t, y)

    def _forces(self, t: float, y: np.ndarray) -> np.ndarray:
        return self.flow.forces(t, *self.flow.q_and_v(y))
