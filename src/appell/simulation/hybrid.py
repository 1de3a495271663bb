"""The loop of a run: step, look for events on the step, act on the first (`reaction`), go on from there.

What is known in advance ends a stretch of steps exactly: the tick of a sampled law, a wall that comes or goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from appell.motion.curve import Piece
from appell.motion.event import Event
from appell.simulation.conditions import Ending, Endings
from appell.simulation.examination import Examination, examine
from appell.simulation.flow import FreeMotion
from appell.simulation.integrate import Settings, pieces, still_pieces
from appell.simulation.journal import Journal
from appell.simulation.phase import Phase
from appell.simulation.progress import Bar
from appell.simulation.reaction import react
from appell.simulation.status import Status, Stop
from appell.simulation.watch import Sighting, first_event, floors

SAG = 0.5  # of the tolerance: if resting points stray further on a step, it is taken again in halves
SHORT = 1e-9  # s: shorter steps are taken as they are
MIDDLE = 0.02  # of a step
GLANCES = 32  # pieces in which a state that does not change is looked at, if a torque may change
IDLE = 500  # events in a row without time passing


@dataclass
class Run:
    """Where a run is, how it goes on from there, and what has happened so far."""

    flow: FreeMotion
    phase: Phase
    t: float
    y: np.ndarray
    until: float
    settings: Settings
    journal: Journal
    endings: Endings
    step: float | None = None  # the last one, to begin the next stretch with
    longest: float = np.inf  # no step is to be longer: it has to end at an event, or was too coarse
    idle: int = 0  # events in a row without time passing
    ticked: bool = False  # the torque has just changed
    stop: Stop | None = None

    @property
    def events(self) -> list[Event]:
        return self.journal.events

    @property
    def known(self) -> float:
        """The next time that is known in advance."""
        edges = self.phase.geometry.contacts.edges
        edge = min((edge for edge in edges if edge > self.t), default=np.inf)
        return min(self.until, edge, self.flow.inputs.next_tick(self.until))

    def sample(self) -> None:
        """Keep the present state as a row."""
        self.journal.note(self.t, self.y)

    def advance(self, piece: Piece) -> None:
        """Go to where a piece stops being valid, and keep both; if a tick is due there, what it gives is kept."""
        self.journal.passed(piece)
        self.t, self.y = piece.stop, piece.at(piece.stop)
        if not np.isfinite(self.y).all():
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


def run(run: Run, bar: Bar) -> None:
    """Everything up to `until`, or to where it stops."""
    try:
        run.tick()
        run.sample()
        _begin(run)
        while run.t < run.until:
            _stretch(run, run.known, bar)
            _switch(run)
            _look_again(run)
    except Stop as stop:
        run.stop = stop


def _stretch(run: Run, until: float, bar: Bar) -> None:
    """Steps from one start of the integrator to the next: up to an event, or to a step that has to be taken again."""
    floor, aiming, start = floors(run.phase, run.y), np.isfinite(run.longest), run.t
    for piece in _pieces(run, until):
        step = piece.end - piece.start
        if not run.phase.still and (piece.end < until or run.step is None or step > run.step):  # it may be cut short
            run.step = step
        if _strays(run, piece):
            run.y, run.longest = run.phase.pulled_back(run.y), 0.5 * step
            return
        sighting = first_event(piece, run.phase, floor, run.settings)
        ending = run.endings.first(piece, sighting.time if sighting else piece.end)
        first = ending.time if ending else sighting.time if sighting else None
        if first is not None and _in_the_middle(first, piece) and not run.phase.still and step > SHORT:
            run.longest = first - piece.start
            return
        if ending is not None:
            _end(run, piece, ending)
        if sighting is None:
            run.advance(piece)
            run.phase.refresh(run.y)
        else:
            _arrive(run, piece, sighting)
        _check_limits(run)
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
    return bool(
        run.phase.rests
        and not run.phase.still
        and run.phase.sag(piece) > SAG * run.settings.tolerance
        and piece.end - piece.start > SHORT
    )


def _in_the_middle(t: float, piece: Piece) -> bool:
    """Whether an event is where the interpolant is worst; the step is then taken again to end at the event."""
    return min(t - piece.start, piece.end - t) > MIDDLE * (piece.end - piece.start)


def _arrive(run: Run, piece: Piece, sighting: Sighting) -> None:
    """Go to an event and act on it."""
    run.idle = run.idle + 1 if sighting.time - run.t <= 1e-13 * max(1.0, abs(run.t)) else 0
    if sighting.time > piece.start:
        run.advance(piece.until(sighting.time))
    else:
        run.t, run.y = sighting.time, piece.at(sighting.time)
    react(run, sighting)
    if (ending := run.endings.met(run.t, run.y)) is not None:
        _tell_end(run, ending)


def _end(run: Run, piece: Piece, ending: Ending) -> None:
    """Go to where the run is to end, and end it."""
    if ending.time > piece.start:
        run.advance(piece.until(ending.time))
    _tell_end(run, ending)


def _tell_end(run: Run, ending: Ending) -> None:
    run.events.append(ending.event)
    raise ending.stop


def _switch(run: Run) -> None:
    """Let walls come and go whose time it is."""
    geometry = run.phase.geometry
    if run.t not in geometry.contacts.edges:
        return
    active = geometry.contacts.active(run.t)
    new, geometry.active = active & ~geometry.active, active
    deep = np.flatnonzero(new & ~(geometry.at(run.y).distance() >= -run.settings.tolerance))
    if deep.size:
        listed = ", ".join(f"{geometry.contacts.describe(int(k))} ({-geometry.distance()[k]:.3g} m)" for k in deep)
        raise Stop(Status.INSIDE, f"At t = {run.t:.9g} these overlap: {listed}.")
    react(run, Sighting(run.t, None, Examination()))
    run.longest = np.inf


def _look_again(run: Run) -> None:
    """Whether what rests and sticks does so under the torque of a tick."""
    if run.ticked and len(run.phase.rows):
        examination = examine(run.phase, run.t, run.y, run.settings)
        if not examination.holds:
            react(run, Sighting(run.t, None, examination))
    run.ticked = False


def _check_limits(run: Run) -> None:
    t, settings = run.t, run.settings
    if len(run.events) > settings.max_events:
        raise Stop(Status.EVENTS, f"It stopped at t = {t:.9g} after {settings.max_events}.", hint="a larger max_events")
    if run.idle > IDLE:
        raise Stop(Status.EVENTS, f"At t = {t:.9g} events follow one another without time passing.")
    if len(run.journal.pieces) >= settings.max_steps:
        raise Stop(Status.STEPS, f"It stopped at t = {t:.9g} after {settings.max_steps}.", hint="a larger max_steps")


def _begin(run: Run) -> None:
    """Points that touch their walls at the start are hit or at rest from the start; drives at rest stick, or slip."""
    geometry = run.phase.geometry.at(run.y)
    if len(geometry.drives) or (geometry.distance() <= run.settings.tolerance).any():
        react(run, Sighting(run.t, None, Examination()))
