"""The loop of a run: step, look for events on the step, act on the first (`reaction`), go on from there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from appell.motion.curve import Piece
from appell.motion.event import Event
from appell.simulation.examination import Examination
from appell.simulation.flow import FreeMotion
from appell.simulation.geometry import Geometry
from appell.simulation.integrate import Settings, pieces, still_pieces
from appell.simulation.phase import Phase
from appell.simulation.progress import Bar
from appell.simulation.reaction import react
from appell.simulation.status import Status, Stop
from appell.simulation.watch import Sighting, first_event, floors

SAG = 0.5  # of the tolerance: if resting points stray further on a step, it is taken again in halves
NOISE = 1e-11  # m: resting points cannot be told to be nearer to their walls than this
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
    settings: Settings
    step: float | None = None  # the last that was not cut short, to begin the next stretch with
    longest: float = np.inf  # no step is to be longer: it has to end at an event, or was too coarse
    floor: np.ndarray | None = None  # of gaps and speeds, from one event to the next
    idle: int = 0  # events in a row without time passing
    times: list[float] = field(default_factory=list)
    states: list[np.ndarray] = field(default_factory=list)
    forces: list[np.ndarray] = field(default_factory=list)  # only for a torque that is a function
    pieces: list[Piece] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    stop: Stop | None = None

    def sample(self) -> None:
        """Keep the present state as a row."""
        self.times.append(self.t)
        self.states.append(self.y)
        if self.flow.torque is not None:
            self.forces.append(np.full(self.flow.nu, np.nan))  # what is left if the torque has no answer here
            self.forces[-1] = self.flow.forces(self.t, *self.flow.split(self.y))

    def advance(self, piece: Piece) -> None:
        """Go to where a piece stops being valid, and keep both."""
        self.t, self.y = piece.stop, piece.at(piece.stop)
        self.sample()
        self.pieces.append(piece)


def run(
    flow: FreeMotion, geometry: Geometry, t: float, y: np.ndarray, until: float, settings: Settings, bar: Bar
) -> Run:
    """Everything from (t, y) to `until`, or to where it stops."""
    rates = geometry.at(y).rates()
    run = Run(flow, Phase(flow, geometry, np.where(rates < 0.0, -1.0, 1.0)), t, y, settings)
    try:
        run.sample()
        _begin(run)
        while run.t < until:
            _stretch(run, until, bar)
    except Stop as stop:
        run.stop = stop
    return run


def _stretch(run: Run, until: float, bar: Bar) -> None:
    """Steps from one start of the integrator to the next: up to an event, or to a step that has to be taken again."""
    aiming, start = np.isfinite(run.longest), run.t
    if run.floor is None:
        run.floor = floors(run.phase, run.y)
    for piece in _pieces(run, until):
        length = piece.end - piece.start
        if not run.phase.still and not (aiming and length >= 0.99 * run.longest):
            run.step = length  # what the motion asks for, not what an event leaves of it
        if _strays(run, piece):
            run.y, run.longest = run.phase.pulled_back(run.y), 0.5 * length
            return
        sighting = first_event(piece, run.phase, run.floor, run.settings)
        if sighting is not None and _in_the_middle(sighting.time, piece) and not run.phase.still:
            run.longest = (1.0 + 0.1 * MIDDLE) * (sighting.time - piece.start)
            return
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
    part = whole if run.flow.torque is None else whole / GLANCES
    return still_pieces(run.t, run.y, until, min(part, run.settings.max_step, run.longest))


def _strays(run: Run, piece: Piece) -> bool:
    """Whether resting points leave their walls on a step, by the integrator's error alone."""
    limit = max(SAG * run.settings.tolerance, NOISE)
    return bool(
        run.phase.rests and not run.phase.still and run.phase.sag(piece) > limit and piece.end - piece.start > SHORT
    )


def _in_the_middle(t: float, piece: Piece) -> bool:
    """Whether an event is not near the end of a step; the step is then taken again to end just behind it.

    In the middle the interpolant is worst, and near the start of a long step it has the rounding errors of all of it.
    """
    return piece.end - t > MIDDLE * (piece.end - piece.start) and t - piece.start > SHORT


def _arrive(run: Run, piece: Piece, sighting: Sighting) -> None:
    """Go to an event and act on it."""
    run.idle = run.idle + 1 if sighting.time - run.t <= 1e-13 * max(1.0, abs(run.t)) else 0
    if sighting.time > piece.start:
        run.advance(piece.until(sighting.time))
    else:
        run.t, run.y = sighting.time, piece.at(sighting.time)
    react(run, sighting)
    run.floor = None


def _check_limits(run: Run) -> None:
    t, settings = run.times[-1], run.settings
    if len(run.events) > settings.max_events:
        raise Stop(Status.EVENTS, f"It stopped at t = {t:.9g} after {settings.max_events}.", hint="a larger max_events")
    if run.idle > IDLE:
        raise Stop(Status.EVENTS, f"At t = {t:.9g} events follow one another without time passing.")
    if len(run.pieces) >= settings.max_steps:
        raise Stop(Status.STEPS, f"It stopped at t = {t:.9g} after {settings.max_steps}.", hint="a larger max_steps")


def _begin(run: Run) -> None:
    """Points that touch their walls at the start are hit or at rest from the start; drives at rest stick, or slip."""
    geometry = run.phase.geometry.at(run.y)
    if len(geometry.drives) or (geometry.distance() <= run.settings.tolerance).any():
        react(run, Sighting(run.t, None, Examination()))
