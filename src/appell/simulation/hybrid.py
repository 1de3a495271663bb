"""The loop of a run: step, look for events on the step, act on the first (`reaction`), go on from there.

What is known in advance ends a stretch of steps exactly: the tick of a sampled law, a wall that comes or goes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from appell.display.bar import Bar
from appell.motion.curve import Piece
from appell.motion.event import Event
from appell.simulation.conditions import Ending, Endings
from appell.simulation.crowd import CROWD, LOST, Bucket, step_through
from appell.simulation.examination import Examination, examine
from appell.simulation.flow import FreeMotion
from appell.simulation.history import History
from appell.simulation.integrate import Settings, pieces, still_pieces
from appell.simulation.phase import Phase
from appell.simulation.reaction import react
from appell.simulation.status import Status, Stop
from appell.simulation.watch import MIDDLE, SHORT, Sighting, first_event, floors, in_the_middle

SAG = 0.5  # of the tolerance: if resting points stray further on a step, it is taken again in halves
NOISE = 1e-11  # m: resting points cannot be told to be nearer to their walls than this
GLANCES = 32  # pieces in which a state that does not change is looked at, if a torque may change
PATIENCE = 2000  # steps and events, within which a run must advance by `least_progress`


@dataclass
class Run:
    """Where a run is, how it goes on from there, and what has happened so far."""

    flow: FreeMotion
    phase: Phase
    t: float
    y: np.ndarray
    until: float
    settings: Settings
    history: History
    endings: Endings
    step: float | None = None  # the last that was not cut short, to begin the next stretch with
    longest: float = np.inf  # no step is to be longer: it has to end at an event, or was too coarse
    floor: np.ndarray | None = None  # of gaps and speeds, from one event to the next
    bucket: Bucket = field(default_factory=Bucket)  # of events
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

    def let_walls_come_and_go(self) -> bool:
        """Whether walls came or went just now; one that comes where points are ends the run."""
        geometry = self.phase.geometry
        if self.t not in geometry.contacts.edges:
            return False
        active = geometry.contacts.active(self.t)
        new, geometry.active = active & ~geometry.active, active
        deep = np.flatnonzero(new & ~(geometry.at(self.y).distance() >= -self.settings.tolerance))
        if deep.size:
            listed = ", ".join(f"{geometry.contacts.describe(int(k))} ({-geometry.distance()[k]:.3g} m)" for k in deep)
            raise Stop(Status.INSIDE, f"At t = {self.t:.9g} these overlap: {listed}.")
        return True

    def check_limits(self) -> None:
        """End a run that has had its share of events or steps."""
        t, settings = self.t, self.settings
        if len(self.events) > settings.max_events:
            told = f"It stopped at t = {t:.9g} after {settings.max_events}."
            raise Stop(Status.EVENTS, told, hint="a larger max_events")
        if len(self.history.pieces) >= settings.max_steps:
            told = f"It stopped at t = {t:.9g} after {settings.max_steps}."
            raise Stop(Status.STEPS, told, hint="a larger max_steps")

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
        if self.tries % PATIENCE == 0:
            if self.t - self.milestone < self.settings.least_progress:
                told = f"{PATIENCE} steps took it from t = {self.milestone:.9g} to {self.t:.9g}; {self._busiest()}."
                raise Stop(Status.STALLED, told, hint="a smoother torque, method='Radau', or a smaller least_progress")
            self.milestone = self.t


def run(run: Run, bar: Bar) -> None:
    """Everything up to `until`, or to where it stops."""
    try:
        run.tick()
        run.sample()
        begun = False
        while run.t < run.until:
            try:
                if not begun:
                    _begin(run)
                    begun = True
                _stretch(run, run.known, bar)
                _appointments(run)
            except Stop as stop:
                if stop.final or stop.status not in LOST or not len(run.phase.geometry.B):
                    raise
                begun = True
                step_through(run, stop.status.sentence.rstrip("."), bar)
            if run.bucket.overflows(run):
                step_through(run, f"more than {CROWD} events gathered", bar)
    except Stop as stop:
        run.stop = stop


def _stretch(run: Run, until: float, bar: Bar) -> None:
    """Steps from one start of the integrator to the next: up to an event, or to a step that has to be taken again."""
    aiming, start = np.isfinite(run.longest), run.t
    if run.floor is None:
        run.floor = floors(run.phase, run.y)
    for piece in _pieces(run, until):
        length = piece.end - piece.start
        run.check_progress()
        cut = (aiming and length >= 0.99 * run.longest) or (piece.end == until and length < (run.step or 0.0))
        if not run.phase.still and not cut:
            run.step = length  # what the motion asks for, not what an event or a known time leaves of it
        if _strays(run, piece):
            run.y, run.longest = run.phase.pulled_back(run.t, run.y), 0.5 * length
            return
        sighting = first_event(piece, run.phase, run.floor, run.settings)
        ending = run.endings.first(piece, sighting.time if sighting else piece.end)
        first = ending.time if ending else sighting.time if sighting else None
        if first is not None and in_the_middle(first, piece) and not run.phase.still:
            run.longest = (1.0 + 0.1 * MIDDLE) * (first - piece.start)
            return
        if ending is not None:
            run.end(piece, ending)
        if sighting is None:
            run.advance(piece)
            run.phase.refresh(run.y)
        else:
            _arrive(run, piece, sighting)
        run.check_limits()
        bar(run.t)
        if sighting is not None:
            run.longest = np.inf
            return
        if aiming and piece.start > start:
            run.longest *= 4.0
            return


def _pieces(run: Run, until: float) -> Iterator[Piece]:
    """The steps of the integrator; where nothing moves, as long as there is nothing to look at."""
    if not run.phase.still:
        return pieces(run.phase, run.t, run.y, until, run.settings, run.step, run.longest)
    whole = until - run.t
    part = whole if not run.flow.inputs.asks else whole / GLANCES
    return still_pieces(run.t, run.y, until, min(part, run.settings.max_step, run.longest))


def _strays(run: Run, piece: Piece) -> bool:
    """Whether resting points leave their walls on a step, by the integrator's error alone."""
    limit = max(SAG * run.settings.tolerance, NOISE)
    return bool(
        run.phase.rests and not run.phase.still and run.phase.sag(piece) > limit and piece.end - piece.start > SHORT
    )


def _arrive(run: Run, piece: Piece, sighting: Sighting) -> None:
    """Go to an event and act on it."""
    if sighting.time > piece.start:
        run.advance(piece.until(sighting.time))
    else:
        run.t, run.y = sighting.time, piece.at(sighting.time)
    react(run, sighting)
    run.floor = None
    if (ending := run.endings.met(run.t, run.y)) is not None:
        run.end(piece.until(run.t), ending)


def _appointments(run: Run) -> None:
    """What is due where a stretch ended: walls that come or go, a torque under which nothing may rest as it did."""
    if run.let_walls_come_and_go():
        react(run, Sighting(run.t, None, Examination()))
        run.longest, run.floor = np.inf, None
    if run.ticked and len(run.phase.rows):
        examination = examine(run.phase, run.t, run.y, run.settings)
        if not examination.holds:
            react(run, Sighting(run.t, None, examination))
            run.floor = None
    run.ticked = False


def _begin(run: Run) -> None:
    """Points that touch their walls at the start are hit or at rest from the start; drives at rest stick, or slip."""
    geometry = run.phase.geometry.at(run.y)
    if len(geometry.drives) or (geometry.distance() <= run.settings.tolerance).any():
        react(run, Sighting(run.t, None, Examination()))
