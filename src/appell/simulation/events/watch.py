"""Looking for the first event on a step: a free point reaches its wall, a drive stops, or a phase cannot go on.

Gaps of free points and speeds of sliding drives are functions whose first crossing of zero is isolated. What rests or
sticks is checked at some times of a step, and where it fails, the first failure is found by halving. Forces that hold
stuck drives against a torque that is a function, while no motion bounds the step, are isolated like gaps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.motion.curve import Piece, nodes
from appell.simulation.events.isolate import first_crossing
from appell.simulation.events.phase import Phase
from appell.simulation.events.phase_changes import EXCESS, PhaseCheck, check_phase
from appell.simulation.options import Solver
from appell.simulation.status import Status, Stop

LOOKS = (0.1, 0.25, 0.45, 0.7, 1.0)  # parts of a step at which a phase is checked
HALVINGS = 60
SPACING = 1e-15  # s, or of the time: nearer looks show nothing new
CREEP = 1e-10  # rad/s or m/s: what the integrator's error may let a drive go backwards that has just begun to slip
COARSE = 2.0**-4  # of a step: how finely forces on stuck drives are looked at
SHORT = 1e-9  # s: shorter steps are taken as they are
MIDDLE = 0.02  # of a step
AIM = 2e-4  # of a step: near enough for the step that is taken again to end there


@dataclass(frozen=True)
class Sighting:
    """An event: its time, the contact whose gap closes (None: the phase ends for another reason), what was found."""

    time: float
    contact: int | None
    check: PhaseCheck


def floors(phase: Phase, y: np.ndarray) -> np.ndarray:
    """Below these, free points are in their walls and sliding drives go backwards.

    Zero; or what a point that has just left is short of it, and next to nothing for a drive that has just slipped.
    """
    sliding = np.where(_along(phase, y[None])[0] <= 1e-9, -CREEP, 0.0)
    return np.concatenate([np.minimum(_gaps(phase, y[None])[0], 0.0), sliding])


def first_event(piece: Piece, phase: Phase, floor: np.ndarray, solver: Solver) -> Sighting | None:
    """The first event on a piece."""
    if phase.still and not phase.flow.inputs.asks:
        return None
    crossing = _crossing(piece, phase, floor)
    if len(phase.rows):
        ending = _ending(piece, phase, solver, crossing.time if crossing else piece.end)
        if ending is not None:
            return ending
    return crossing


def in_the_middle(t: float, piece: Piece) -> bool:
    """Whether an event is not near the end of a step; the step is then taken again to end just behind it.

    In the middle the interpolant is worst, and near the start of a long step it has the rounding errors of all of it.
    """
    return piece.end - t > MIDDLE * (piece.end - piece.start) and t - piece.start > SHORT


def _gaps(phase: Phase, states: np.ndarray) -> np.ndarray:
    """Of the free contacts."""
    if not len(phase.free):
        return np.zeros((len(states), 0))
    return phase.geometry.contacts.gaps(states[:, : phase.flow.nq])[:, phase.free]


def _along(phase: Phase, states: np.ndarray) -> np.ndarray:
    """The speeds of the sliding drives, in the directions in which they slide."""
    moving = np.flatnonzero(phase.directions)
    if not len(moving):
        return np.zeros((len(states), 0))
    nq = phase.flow.nq
    return (phase.geometry.drives.rates(states[:, :nq], states[:, nq:]) * phase.directions)[:, moving]


def _crossing(piece: Piece, phase: Phase, floor: np.ndarray) -> Sighting | None:
    """Where a gap closes or a drive stops."""
    if not len(floor):
        return None
    free, slides = phase.free, phase.directions.any()

    def values(states: np.ndarray) -> np.ndarray:
        gaps = _gaps(phase, states)
        return (np.concatenate([gaps, _along(phase, states)], axis=1) if slides else gaps) - floor

    def sample(low: float, high: float, degree: int) -> np.ndarray:
        with np.errstate(all="ignore"):
            found = values(piece.over(low, high, degree))
        if not np.isfinite(found[:, : len(free)]).all():
            bad = free[int(np.argmin(np.isfinite(found[:, : len(free)]).all(axis=0)))]
            names = phase.geometry.contacts.describe(bad)
            raise Stop(Status.INPUT, f"The gap between {names} is not a number near t = {low:.9g}.")
        return found

    def value(t: float, k: int) -> float:
        return float(values(piece.at(t)[None])[0, k])

    found = first_crossing(sample, value, piece.start, piece.end)
    if found is None:
        return None
    time, k = found
    if k < len(free):
        return Sighting(time, int(free[k]), PhaseCheck())
    drive = np.flatnonzero(phase.directions)[k - len(free)]
    return Sighting(time, None, PhaseCheck(stopped=frozenset([int(drive)])))


def _ending(piece: Piece, phase: Phase, solver: Solver, high: float) -> Sighting | None:
    """Where the phase first fails a check, between the last look that it passed and the first that it failed."""
    times = [piece.start + part * (high - piece.start) for part in LOOKS]
    if len(phase.stuck) and phase.flow.inputs.asks and not phase.redundant and high > piece.start:
        times += _break_away(piece, phase, high)
    good, passed = piece.start, PhaseCheck()
    for t in sorted(times):
        check = check_phase(phase, t, piece.at(t), solver)
        if not check.holds:
            return _first_failure(piece, phase, solver, (good, passed), (t, check))
        good, passed = t, check
    return None


Look = tuple[float, PhaseCheck]


def _first_failure(piece: Piece, phase: Phase, solver: Solver, good: Look, bad: Look) -> Sighting:
    """Where a check first fails: by the margins at both ends where they are known (Illinois), else by halving.

    Nearly, if that is in the middle of the step: it is then taken again, to end just behind.
    """
    low, high = good[1].margin, bad[1].margin
    for step in range(HALVINGS):
        width = bad[0] - good[0]
        part = low / (low - high) if low > 0.0 > high and step % 4 != 3 else 0.5
        t = good[0] + min(max(part, 1e-3), 1.0 - 1e-3) * width
        if t in (good[0], bad[0]) or width <= SPACING * max(1.0, abs(t)):
            break
        near = not phase.still and width <= AIM * (piece.end - piece.start)
        if near and in_the_middle(good[0], piece) and in_the_middle(bad[0], piece):
            break
        found = check_phase(phase, t, piece.at(t), solver)
        if found.holds:
            good, low, high = (t, found), found.margin, 0.5 * high
        else:
            bad, low, high = (t, found), 0.5 * low, found.margin
    return Sighting(bad[0], None, bad[1])


def _break_away(piece: Piece, phase: Phase, high: float) -> list[float]:
    """When the force on a stuck drive first reaches its friction at rest, if it does."""
    level = phase.geometry.drives.level[phase.stuck] * (1.0 + 2.0 * EXCESS)
    nq, count = phase.flow.nq, len(phase.stuck)

    def margins(t: float) -> np.ndarray:
        y = piece.at(t)
        held = phase.reaction(y, phase.flow(t, y, phase.directions)[nq:]).forces[-count:]
        return np.concatenate([level - held, level + held])

    def sample(low: float, high: float, degree: int) -> np.ndarray:
        return np.array([margins(low + (high - low) * 0.5 * (1.0 + x)) for x in nodes(degree)])

    found = first_crossing(sample, lambda t, k: float(margins(t)[k]), piece.start, high, COARSE)
    return [] if found is None else [found[0]]
