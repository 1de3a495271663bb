"""The loop of a run: step, look for events on the step, act on the first, go on from there.

What is known in advance ends a stretch of steps exactly: the tick of a sampled law, a wall that appears or disappears.
`Run` is the one owner of the state of a run; other modules compute what follows from a state and change nothing.

Where events crowd, the run leaves exact events for time stepping, and comes back when it is calm. `Crowding` counts
events; the count falls by one every DRIP seconds of motion, and a series of bounces of the same points, one impact
after the other, is one event. When it exceeds CROWD, or when no forces obey all laws of contact at once (Painlevé's
paradox), the run goes on by steps of

    h = √(tolerance · 1 s²/m)                                                                              (1)

in which what falls freely falls five tolerances; a step whose impulses are not found is halved, up to HALVINGS times.
It returns when the same contacts have pushed for CALM steps without a bounce, or none has, with the count at three
quarters of CROWD: if there still is a crowd, it is found out soon. A run that stalls with points at walls goes on so,
too. Events of kind "time stepping" and "event driven" mark the two changes; in between a record has a row per step,
straight lines between rows, and no events of single points. `time_stepping` says how accurate it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from appell.motion.curve import Piece
from appell.motion.event import Event
from appell.progress import Bar
from appell.simulation.contact.time_stepping import Stride, TimeStepping
from appell.simulation.events.conditions import Ending, Endings
from appell.simulation.events.phase import Phase
from appell.simulation.events.phase_changes import PhaseCheck, check_phase, following_phase
from appell.simulation.events.reaction import Impact, catching, changes, impact, touching
from appell.simulation.events.watch import MIDDLE, SHORT, Sighting, first_event, floors, in_the_middle
from appell.simulation.flow import FreeMotion
from appell.simulation.integrate import pieces, still_pieces
from appell.simulation.options import Solver
from appell.simulation.status import Status, Stop

SAG = 0.5  # of the tolerance: if resting points stray further on a step, it is taken again in halves
NOISE = 1e-11  # m: resting points cannot be told to be nearer to their walls than this
GLANCES = 32  # pieces in which a state that does not change is looked at, if a torque may change
STALL_STEPS = 2000  # steps and events, within which a run must advance by `least_progress`
CROWD = 40  # events
DRIP = 1e-3  # s
CALM = 20  # steps
HALVINGS = 8
LOST = (Status.UNSOLVED, Status.SINGULAR, Status.STALLED)  # where exact events end, and steps go on
DEEPEST = 1e-3  # of the tolerance: what is deeper inside a wall is brought back


@dataclass
class Crowding:
    """How many events have gathered by the last look."""

    level: float = 0.0
    time: float = -np.inf
    seen: int = 0
    latest: tuple[str, ...] = ()  # the points of the last impact, if no event has come after it

    def exceeded(self, events: list[Event], t: float) -> bool:
        """Count what has happened since the last look."""
        for event in events[self.seen :]:
            again = event.kind == "impact" and event.points == self.latest
            self.latest = event.points if event.kind == "impact" else ()
            self.level += 0.0 if again else 1.0
        self.seen = len(events)
        self.level = max(0.0, self.level - (t - max(self.time, t - CROWD * DRIP)) / DRIP)
        self.time = t
        return self.level > CROWD

    def calmed(self, events: list[Event], t: float) -> None:
        self.level, self.time, self.seen, self.latest = 0.75 * CROWD, t, len(events), ()


@dataclass
class Run:
    """Where a run is, how it goes on from there, and what has happened so far."""

    flow: FreeMotion
    phase: Phase
    t: float
    y: np.ndarray
    until: float
    solver: Solver
    history: History
    endings: Endings
    step: float | None = None  # the last that was not cut short, to begin the next stretch with
    longest: float = np.inf  # no step is to be longer: it has to end at an event, or was too coarse
    floor: np.ndarray | None = None  # of gaps and speeds, from one event to the next
    crowding: Crowding = field(default_factory=Crowding)
    tries: int = 0  # of steps, those taken again included
    milestone: float = -np.inf  # where the run was when its progress was last looked at
    ticked: bool = False  # the torque has just changed
    stop: Stop | None = None

    @property
    def events(self) -> list[Event]:
        return self.history.events

    @property
    def known(self) -> float:
        """The next time that is known in advance."""
        edges = self.phase.geometry.contacts.edges
        edge = min((edge for edge in edges if edge > self.t), default=np.inf)
        return min(self.until, edge, self.flow.inputs.next_tick(self.until))

    def sample(self) -> None:
        """Keep the present state as a row."""
        self.history.note(self.t, self.y)

    def advance(self, piece: Piece) -> None:
        """Go to where a piece stops being valid, and keep both; if a tick is due there, what it gives is kept."""
        self.history.passed(piece)
        self.t, self.y = piece.stop, piece.at(piece.stop)
        if piece.stop < piece.end:
            self.y = self.flow.kept(self.t, self.y)  # steps end where states belong, and are less exact in between
        if not (math.isfinite(self.y.dot(self.y)) or np.isfinite(self.y).all()):
            raise Stop(Status.TOLERANCE, f"The state at t = {self.t:.9g} is not finite.")
        try:
            self.tick()
        finally:
            self.sample()

    def tick(self) -> None:
        """Ask a sampled law whose time has come."""
        if self.t == self.flow.inputs.next_tick(self.until):
            self.flow.tick(self.t, self.y)
            self.ticked = True

    def end(self, piece: Piece, ending: Ending) -> None:
        """Go to where the run is to end on a piece, and end it."""
        if ending.time > self.t:
            self.advance(piece.until(ending.time))
        self.events.append(ending.event)
        raise ending.stop

    def switch_walls(self) -> bool:
        """Activate or deactivate walls at this time; raise `Stop` if a new wall overlaps a contact point."""
        geometry = self.phase.geometry
        if self.t not in geometry.contacts.edges:
            return False
        active = geometry.contacts.active(self.t)
        new, geometry.active = active & ~geometry.active, active
        deep = np.flatnonzero(new & ~(geometry.at(self.y).distance() >= -self.solver.tolerance))
        if deep.size:
            listed = ", ".join(f"{geometry.contacts.describe(int(k))} ({-geometry.distance()[k]:.3g} m)" for k in deep)
            raise Stop(Status.INSIDE, f"At t = {self.t:.9g} these overlap: {listed}.")
        return True

    def check_limits(self) -> None:
        """End a run that has had its share of events or steps."""
        t, solver = self.t, self.solver
        if len(self.events) > solver.max_events:
            detail = f"It stopped at t = {t:.9g} after {solver.max_events}."
            raise Stop(Status.EVENTS, detail, hint="a larger max_events")
        if len(self.history.pieces) >= solver.max_steps:
            detail = f"It stopped at t = {t:.9g} after {solver.max_steps}."
            raise Stop(Status.STEPS, detail, hint="a larger max_steps")

    def _busiest(self) -> str:
        """Where it stalls, for a message: what rests, or what is accelerated most."""
        if self.phase.rests:
            names = dict.fromkeys(self.phase.geometry.contacts.names[k] for k in self.phase.members)
            return f"at rest are {', '.join(names)}"
        rate = np.abs(self.phase(self.t, self.y)[self.flow.nq :])
        return f"'{self.flow.states.moving.system.velocity_names[int(np.argmax(rate))]}' is accelerated most"

    def check_progress(self) -> None:
        """End a run that all but stands still, counting every step that was tried."""
        self.tries += 1
        if self.tries % STALL_STEPS == 0:
            if self.t - self.milestone < self.solver.least_progress:
                span = f"from t = {self.milestone:.9g} to {self.t:.9g}"
                hint = "a smoother torque, solver='Radau', or a smaller least_progress"
                raise Stop(Status.STALLED, f"{STALL_STEPS} steps took it {span}; {self._busiest()}.", hint=hint)
            self.milestone = self.t

    # ---- exact events

    def run(self, bar: Bar) -> None:
        """Everything up to `until`, or to where it stops."""
        try:
            self.tick()
            self.sample()
            begun = False
            while self.t < self.until:
                try:
                    if not begun:
                        self._begin()
                        begun = True
                    self._stretch(self.known, bar)
                    self._appointments()
                except Stop as stop:
                    if stop.final or stop.status not in LOST or not len(self.phase.geometry.B):
                        raise
                    begun = True
                    self._step_through(stop.status.sentence.rstrip("."), bar)
                if self.crowding.exceeded(self.events, self.t):
                    self._step_through(f"more than {CROWD} events gathered", bar)
        except Stop as stop:
            self.stop = stop

    def _stretch(self, until: float, bar: Bar) -> None:
        """Steps from one start of the integrator to the next: to an event, or to a step that has to be taken again."""
        aiming, start = np.isfinite(self.longest), self.t
        if self.floor is None:
            self.floor = floors(self.phase, self.y)
        for piece in self._pieces(until):
            length = piece.end - piece.start
            self.check_progress()
            cut = (aiming and length >= 0.99 * self.longest) or (piece.end == until and length < (self.step or 0.0))
            if not self.phase.still and not cut:
                self.step = length  # what the motion asks for, not what an event or a known time leaves of it
            if self._strays(piece):
                self.y, self.longest = self.phase.pulled_back(self.t, self.y), 0.5 * length
                return
            sighting = first_event(piece, self.phase, self.floor, self.solver)
            ending = self.endings.first(piece, sighting.time if sighting else piece.end)
            first = ending.time if ending else sighting.time if sighting else None
            if first is not None and in_the_middle(first, piece) and not self.phase.still:
                self.longest = (1.0 + 0.1 * MIDDLE) * (first - piece.start)
                return
            if ending is not None:
                self.end(piece, ending)
            if sighting is None:
                self.advance(piece)
                self.phase.refresh(self.y)
            else:
                self._arrive(piece, sighting)
            self.check_limits()
            bar(self.t)
            if sighting is not None:
                self.longest = np.inf
                return
            if aiming and piece.start > start:
                self.longest *= 4.0
                return

    def _pieces(self, until: float) -> Iterator[Piece]:
        """The steps of the integrator; where nothing moves, as long as there is nothing to look at."""
        if not self.phase.still:
            return pieces(self.phase, self.t, self.y, until, self.solver, self.step, self.longest)
        whole = until - self.t
        part = whole if not self.flow.inputs.asks else whole / GLANCES
        return still_pieces(self.t, self.y, until, min(part, self.solver.max_step, self.longest))

    def _strays(self, piece: Piece) -> bool:
        """Whether resting points leave their walls on a step, by the integrator's error alone."""
        limit = max(SAG * self.solver.tolerance, NOISE)
        return bool(
            self.phase.rests
            and not self.phase.still
            and self.phase.sag(piece) > limit
            and piece.end - piece.start > SHORT
        )

    def _arrive(self, piece: Piece, sighting: Sighting) -> None:
        """Go to an event and act on it."""
        if sighting.time > piece.start:
            self.advance(piece.until(sighting.time))
        else:
            self.t, self.y = sighting.time, piece.at(sighting.time)
        self._react(sighting)
        self.floor = None
        if (ending := self.endings.met(self.t, self.y)) is not None:
            self.end(piece.until(self.t), ending)

    def _appointments(self) -> None:
        """What is due where a stretch ended: walls that come or go, a torque under which nothing may rest as it did."""
        if self.switch_walls():
            self._react(Sighting(self.t, None, PhaseCheck()))
            self.longest, self.floor = np.inf, None
        if self.ticked and len(self.phase.rows):
            check = check_phase(self.phase, self.t, self.y, self.solver)
            if not check.holds:
                self._react(Sighting(self.t, None, check))
                self.floor = None
        self.ticked = False

    def _begin(self) -> None:
        """Points that touch their walls at the start are hit or at rest from then on; drives at rest stick, or slip."""
        geometry = self.phase.geometry.at(self.y)
        if len(geometry.drives) or (geometry.distance() <= self.solver.tolerance).any():
            self._react(Sighting(self.t, None, PhaseCheck()))

    def _react(self, sighting: Sighting) -> None:
        """Impact, if a point approaches; then the phase that follows, and the events of both.

        Dry friction of a drive is bounded and gives no impulse: a stuck drive that an impact sets moving slips.
        """
        before, old = self.phase, self.y
        near = touching(before, old, sighting, self.solver.tolerance)
        self._take_over(impact(before, self.t, self.y, near))
        try:
            self.phase, self.y, end = following_phase(before, self.t, self.y, near, self.solver, sighting.check)
        except Stop as stop:
            if stop.status is not Status.UNSOLVED or (caught := catching(before, self.t, self.y, near)) is None:
                raise
            self._take_over(caught)
            self.phase, self.y, end = following_phase(before, self.t, self.y, near, self.solver, PhaseCheck())
        seen = self.flow.seen
        self.events.extend(changes(before, self.phase, self.t, end, seen(old)[1], seen(self.y)[1]))
        if self.y is not old:
            self.sample()

    def _take_over(self, change: Impact | None) -> None:
        if change is not None:
            self.y = change.y
            self.events.append(change.event)

    # ---- time stepping

    def _step_through(self, why: str, bar: Bar) -> None:
        """Time stepping up to where it is calm, where the run's known times come, or its end."""
        geometry, tolerance = self.phase.geometry, self.solver.tolerance
        h = min(float(np.sqrt(tolerance)), self.solver.max_step)  # (1)
        stepping = TimeStepping(self.flow, geometry, DEEPEST * tolerance)
        self.events.append(Event(time=self.t, kind="time stepping", note=f"{why}; steps of {h:.3g} s"))
        steps, calm = 0, 0
        before: tuple[int, ...] = ()
        while self.t < self.until:
            step, end = self._taken(stepping, h)
            piece = straight(self.t, self.y, end, step.y)
            if (ending := self.endings.first(piece, end)) is not None:
                self.end(piece, ending)
            self.advance(piece)
            bar(self.t)
            self.check_limits()
            self.switch_walls()
            steps += 1
            calm = calm + 1 if not step.bounced and step.touched == before else 0
            before = step.touched
            if calm >= CALM and self._settled():
                break
        self.phase.geometry.at(self.y)
        self.events.append(Event(time=self.t, kind="event driven", note=f"after {steps} steps"))
        self.step, self.longest, self.floor = None, np.inf, None
        self.crowding.calmed(self.events, self.t)

    def _taken(self, stepping: TimeStepping, h: float) -> tuple[Stride, float]:
        """A step that was solved, and its end: h later, or at a known time."""
        known = self.known
        for _ in range(HALVINGS + 1):
            end = known if self.t + h * (1.0 + 1e-9) >= known else self.t + h
            step = stepping.take(self.t, self.y, end - self.t)
            if step.solved:
                return step, end
            h *= 0.5
        near = np.flatnonzero(stepping.geometry.at(self.y).distance() <= self.solver.tolerance)
        names = ", ".join(dict.fromkeys(stepping.geometry.contacts.names[k] for k in sorted({*near, *step.touched})))
        raise Stop(Status.UNSOLVED, f"They concern {names} at t = {self.t:.9g}, in steps of {h:.3g} s.")

    def _settled(self) -> bool:
        """Whether the event-driven motion can take over: a phase is found in which what touches rests."""
        geometry = self.phase.geometry
        phase, y, told = self.phase, self.y, len(self.events)
        rates = geometry.at(self.y).rates()
        self.phase = Phase(self.flow, geometry, np.where(rates < 0.0, -1.0, 1.0))
        try:
            self._react(Sighting(self.t, None, PhaseCheck()))
        except Stop as stop:
            if stop.status not in LOST:
                raise
            self.phase, self.y = phase, y
            del self.events[told:]
            return False
        return True


def straight(start: float, y: np.ndarray, end: float, following: np.ndarray) -> Piece:
    """The line between two states."""
    return Piece(start, end, end, np.array([0.5 * (y + following), 0.5 * (following - y)]))


@dataclass
class History:
    """Rows (times, states, forces), pieces and events; `wanted` are the only times of rows, if there are any."""

    flow: FreeMotion
    wanted: np.ndarray | None = None
    due: int = 0  # which of the wanted times comes next
    times: list[float] = field(default_factory=list)
    states: list[np.ndarray] = field(default_factory=list)
    forces: list[np.ndarray] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def note(self, t: float, y: np.ndarray) -> None:
        """The state now; of two at a wanted time, the later stays."""
        if self.wanted is None:
            self._row(t, y)
        elif self.times and self.times[-1] == t:
            self.states[-1] = y
            self.forces[-1] = self._forces(t, y)
        elif self.due < len(self.wanted) and self.wanted[self.due] == t:
            self.due += 1
            self._row(t, y)

    def passed(self, piece: Piece) -> None:
        """The way up to where a piece stops being valid, its end apart."""
        self.pieces.append(piece)
        while self.wanted is not None and self.due < len(self.wanted) and self.wanted[self.due] < piece.stop:
            t = float(self.wanted[self.due])
            self.due += 1
            self._row(t, self.flow.kept(t, piece.at(t)))

    def _row(self, t: float, y: np.ndarray) -> None:
        self.times.append(t)
        self.states.append(y)
        if not self.flow.inputs.asks:
            self.forces.append(self.flow.inputs.tau.copy())
            return
        self.forces.append(np.full(self.flow.nu, np.nan))  # what is left if the torque has no answer here
        self.forces[-1] = self._forces(t, y)

    def _forces(self, t: float, y: np.ndarray) -> np.ndarray:
        return self.flow.forces(t, *self.flow.seen(y))
