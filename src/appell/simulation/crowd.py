"""When events crowd: leave exact events for time stepping, and come back when it is calm.

A bucket takes one drop an event and loses one every DRIP seconds of motion; a series of bounces of the same points, one
impact after the other, is one drop. When it holds more than CROWD, or when no forces obey all laws of contact at once
(Painlevé's paradox), the run goes on by steps of

    h = √(tolerance · 1 s²/m)                                                                              (1)

in which what falls freely falls five tolerances; a step whose impulses are not found is halved, up to HALVINGS times.
It returns when the same contacts have pushed for CALM steps without a bounce, or none has, with the bucket three
quarters full: if there still is a crowd, it is found out soon. A run that stalls with points at walls goes on so, too.

Events of kind "time stepping" and "event driven" tell of the two changes; in between a record has a row a step,
straight lines between rows, and no events of single points. `time_stepping` says how accurate it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appell.display.bar import Bar
from appell.motion.curve import Piece
from appell.motion.event import Event
from appell.simulation.examination import Examination
from appell.simulation.phase import Phase
from appell.simulation.reaction import react
from appell.simulation.status import Status, Stop
from appell.simulation.time_stepping import Stride, TimeStepping
from appell.simulation.watch import Sighting

if TYPE_CHECKING:
    from appell.simulation.hybrid import Run

CROWD = 40  # events
DRIP = 1e-3  # s
CALM = 20  # steps
HALVINGS = 8
LOST = (Status.UNSOLVED, Status.SINGULAR, Status.STALLED)  # where exact events end, and steps go on
DEEPEST = 1e-3  # of the tolerance: what is deeper inside a wall is brought back


@dataclass
class Bucket:
    """How many events have gathered by the last look."""

    level: float = 0.0
    time: float = -np.inf
    seen: int = 0
    latest: tuple[str, ...] = ()  # the points of the last impact, if no event has come after it

    def overflows(self, run: Run) -> bool:
        """Take in what has happened since the last look."""
        for event in run.events[self.seen :]:
            again = event.kind == "impact" and event.points == self.latest
            self.latest = event.points if event.kind == "impact" else ()
            self.level += 0.0 if again else 1.0
        self.seen = len(run.events)
        self.level = max(0.0, self.level - (run.t - max(self.time, run.t - CROWD * DRIP)) / DRIP)
        self.time = run.t
        return self.level > CROWD

    def calmed(self, run: Run) -> None:
        self.level, self.time, self.seen, self.latest = 0.75 * CROWD, run.t, len(run.events), ()


def step_through(run: Run, why: str, bar: Bar) -> None:
    """Time stepping up to where it is calm, where the run's known times come, or its end."""
    geometry, tolerance = run.phase.geometry, run.settings.tolerance
    h = min(float(np.sqrt(tolerance)), run.settings.max_step)  # (1)
    stepping = TimeStepping(run.flow, geometry, DEEPEST * tolerance)
    run.events.append(Event(time=run.t, kind="time stepping", note=f"{why}; steps of {h:.3g} s"))
    steps, calm = 0, 0
    before: tuple[int, ...] = ()
    while run.t < run.until:
        step, end = _taken(run, stepping, h)
        piece = straight(run.t, run.y, end, step.y)
        if (ending := run.endings.first(piece, end)) is not None:
            run.end(piece, ending)
        run.advance(piece)
        bar(run.t)
        run.check_limits()
        run.let_walls_come_and_go()
        steps += 1
        calm = calm + 1 if not step.bounced and step.touched == before else 0
        before = step.touched
        if calm >= CALM and _settled(run):
            break
    run.phase.geometry.at(run.y)
    run.events.append(Event(time=run.t, kind="event driven", note=f"after {steps} steps"))
    run.step, run.longest, run.floor = None, np.inf, None
    run.bucket.calmed(run)


def _taken(run: Run, stepping: TimeStepping, h: float) -> tuple[Stride, float]:
    """A step that was solved, and its end: h later, or at a known time."""
    known = run.known
    for _ in range(HALVINGS + 1):
        end = known if run.t + h * (1.0 + 1e-9) >= known else run.t + h
        step = stepping.take(run.t, run.y, end - run.t)
        if step.solved:
            return step, end
        h *= 0.5
    near = np.flatnonzero(stepping.geometry.at(run.y).distance() <= run.settings.tolerance)
    names = ", ".join(dict.fromkeys(stepping.geometry.contacts.names[k] for k in sorted({*near, *step.touched})))
    raise Stop(Status.UNSOLVED, f"They concern {names} at t = {run.t:.9g}, in steps of {h:.3g} s.")


def _settled(run: Run) -> bool:
    """Whether the event-driven motion can take over: a phase is found in which what touches rests."""
    geometry = run.phase.geometry
    phase, y, told = run.phase, run.y, len(run.events)
    rates = geometry.at(run.y).rates()
    run.phase = Phase(run.flow, geometry, np.where(rates < 0.0, -1.0, 1.0))
    try:
        react(run, Sighting(run.t, None, Examination()))
    except Stop as stop:
        if stop.status not in LOST:
            raise
        run.phase, run.y = phase, y
        del run.events[told:]
        return False
    return True


def straight(start: float, y: np.ndarray, end: float, following: np.ndarray) -> Piece:
    """The line between two states."""
    return Piece(start, end, end, np.array([0.5 * (y + following), 0.5 * (following - y)]))
