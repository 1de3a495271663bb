"""Detection of the first event on a step: a contact closes, a drive stops, or a phase ends.

The first zero crossing of the gaps of free points and of the speeds of sliding drives is isolated; so are those of the
gaps of features of shapes, where they count only while the features can touch, and of the conditions of features at
rest: where one fails, another feature of the manifold takes over. Resting contacts and
stuck drives are checked at a few times of a step; if a check fails, the first failure is located by bracketing. Forces
on stuck drives under a torque that is a function of time are isolated like gaps, because there no motion limits the
length of a step.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.polynomial import chebyshev

from appell.motion.curve import Piece, nodes
from appell.simulation.contact.shapes import MAX_CONDITIONS
from appell.simulation.events.isolate import DEGREE, first_crossing
from appell.simulation.events.phase import Phase
from appell.simulation.events.phase_changes import FRICTION_MARGIN, PhaseCheck, check_phase
from appell.simulation.options import Solver
from appell.simulation.status import Status, Stop

CHECK_FRACTIONS = (0.1, 0.25, 0.45, 0.7, 1.0)  # parts of a step at which a phase is checked
MAX_BISECTIONS = 60
TIME_RESOLUTION = 1e-15  # s, relative to times above 1 s: width at which the search for a failure ends
BACKWARD_SPEED = 1e-10  # rad/s or m/s: integration error allowed to a drive that has just started to slip
FORCE_SEARCH_WIDTH = 2.0**-4  # of a step: narrowest interval in the search for forces on stuck drives
MAX_FEATURE_DEPTH_M = 1e-5  # deeper features belong to another side of a body
MIN_REPEATED_STEP_S = 1e-9  # shorter steps are not repeated to end at an event
END_FRACTION = 0.02  # of a step: an event in this last part of a step is at its end
ROUGH_ACCURACY = 2e-4  # of a step: sufficient for a failure in the middle, because the step is repeated


@dataclass(frozen=True)
class DetectedEvent:
    """An event: its time, the contact whose gap closes (None: the phase ends for another reason), and the check."""

    time: float
    contact: int | None
    check: PhaseCheck


def crossing_levels(phase: Phase, y: np.ndarray, tolerance: float) -> np.ndarray:
    """Return the levels below which free points are inside their walls and sliding drives move backwards.

    A level is zero, or the (negative) current gap of a point that has just left its wall, or a small negative speed for
    a drive that has just started to slip. A feature that cannot touch now, such as a face beside which a ball hits an
    edge, has its gap as level only if that is within the tolerance in m: it may touch later.
    """
    sliding = np.where(_sliding_speeds(phase, y[None])[0] <= 1e-9, -BACKWARD_SPEED, 0.0)
    levels = [np.minimum(_gaps(phase, y[None])[0], 0.0), sliding]
    if len(shapes := phase.geometry.contacts.shapes):
        level, ids = np.zeros(len(shapes)), shapes.near(y[None, : phase.flow.nq])
        (gap,), (conditions,) = shapes.gaps(y[None, : phase.flow.nq], ids)
        depth = np.where((conditions > 0.0).all(axis=-1), MAX_FEATURE_DEPTH_M, tolerance)
        level[ids] = np.where(gap > -depth, np.minimum(gap, 0.0), 0.0)
        levels.append(level)
    return np.concatenate(levels)


def first_event(
    piece: Piece, phase: Phase, levels: np.ndarray, solver: Solver, searched: float = -np.inf
) -> DetectedEvent | None:
    """Return the first event on a piece, or None.

    Up to the time `searched`, a longer step that the piece repeats has passed all checks.
    """
    if phase.still and not phase.flow.inputs.varies:
        return None
    features = len(levels) - len(phase.geometry.contacts.shapes)
    crossing = _crossing(piece, phase, levels[:features])
    if features < len(levels):
        for search in (_touch, _exit):
            crossing = search(piece, phase, levels[features:], crossing.time if crossing else piece.end) or crossing
    if len(phase.rows):
        failure = _phase_failure(piece, phase, solver, crossing.time if crossing else piece.end, searched)
        if failure is not None:
            return failure
    return crossing


def is_mid_step(t: float, piece: Piece) -> bool:
    """Return whether an event is not near the end of a step, so that the step is repeated to end just after it.

    The interpolant is least accurate in the middle of a step, and near the start of a long step it has the rounding
    errors of the complete step.
    """
    return piece.end - t > END_FRACTION * (piece.end - piece.start) and t - piece.start > MIN_REPEATED_STEP_S


def _repeats(phase: Phase, piece: Piece, t: float) -> bool:
    """Return whether the step is repeated to end just after an event at t, so that an estimate of t is sufficient."""
    return not phase.still and is_mid_step(t, piece)


def _gaps(phase: Phase, states: np.ndarray) -> np.ndarray:
    """Return the gaps of the free contacts, (states, contacts)."""
    if not len(phase.free):
        return np.zeros((len(states), 0))
    return phase.geometry.contacts.gaps(states[:, : phase.flow.nq])[:, phase.free]


def _sliding_speeds(phase: Phase, states: np.ndarray) -> np.ndarray:
    """Return the speeds of the sliding drives in their directions of sliding, (states, drives)."""
    moving = np.flatnonzero(phase.directions)
    if not len(moving):
        return np.zeros((len(states), 0))
    nq = phase.flow.nq
    return (phase.geometry.drives.rates(states[:, :nq], states[:, nq:]) * phase.directions)[:, moving]


def _crossing(piece: Piece, phase: Phase, levels: np.ndarray) -> DetectedEvent | None:
    """Return the first time at which a gap closes or a drive stops."""
    if not len(levels):
        return None
    free, slides = phase.free, phase.directions.any()

    def values(states: np.ndarray) -> np.ndarray:
        gaps = _gaps(phase, states)
        return (np.concatenate([gaps, _sliding_speeds(phase, states)], axis=1) if slides else gaps) - levels

    def sample(low: float, high: float, degree: int) -> np.ndarray:
        with np.errstate(all="ignore"):
            samples = values(piece.over(low, high, degree))
        if not np.isfinite(samples[:, : len(free)]).all():
            bad = free[int(np.argmin(np.isfinite(samples[:, : len(free)]).all(axis=0)))]
            names = phase.geometry.contacts.describe(bad)
            raise Stop(Status.INPUT, f"The gap between {names} is not a number near t = {low:.9g}.")
        return samples

    def value(t: float, k: int) -> float:
        y = piece.at(t)
        if k < len(free):
            return float(phase.geometry.contacts.gaps(y[: phase.flow.nq])[free[k]] - levels[k])
        return float(values(y[None])[0, k])

    crossing = first_crossing(sample, value, piece.start, piece.end, is_estimate=partial(_repeats, phase, piece))
    if crossing is None:
        return None
    time, k = crossing
    if k < len(free):
        return DetectedEvent(time, int(free[k]), PhaseCheck())
    drive = np.flatnonzero(phase.directions)[k - len(free)]
    return DetectedEvent(time, None, PhaseCheck(stopped=frozenset([int(drive)])))


def _touch(piece: Piece, phase: Phase, levels: np.ndarray, high: float) -> DetectedEvent | None:
    """Return the first time before `high` at which features of shapes touch."""
    contacts, nq = phase.geometry.contacts, phase.flow.nq
    shapes, ids = contacts.shapes, contacts.shapes.near(piece.over(piece.start, high, DEGREE)[:, :nq])
    ids = ids[phase.geometry.active[contacts.fixed :][ids] & ~np.isin(ids + contacts.fixed, phase.members)]
    if not len(ids) or not high > piece.start:
        return None

    def sample(low: float, high: float, degree: int) -> np.ndarray:
        return shapes.gaps(piece.over(low, high, degree)[:, :nq], ids)[0] - levels[ids]

    def value(t: float, k: int) -> float:
        return float(shapes.gaps(piece.at(t)[None, :nq], ids[[k]])[0][0, 0] - levels[ids[k]])

    def conditions(times: np.ndarray, k: np.ndarray) -> np.ndarray:
        return shapes.gaps(np.array([piece.at(t)[:nq] for t in times]), ids[k])[1]

    repeats = partial(_repeats, phase, piece)
    crossing = first_crossing(sample, value, piece.start, high, conditions=conditions, is_estimate=repeats)
    return crossing and DetectedEvent(crossing[0], int(ids[crossing[1]]) + contacts.fixed, PhaseCheck())


def _exit(piece: Piece, phase: Phase, levels: np.ndarray, high: float) -> DetectedEvent | None:
    """Return the first time before `high` at which features at rest can no longer touch."""
    contacts, nq = phase.geometry.contacts, phase.flow.nq
    ids = phase.touching - contacts.fixed
    if not len(ids) or not high > piece.start:
        return None

    def values(states: np.ndarray) -> np.ndarray:
        return contacts.shapes.gaps(states[:, :nq], ids)[1].reshape(len(states), -1)

    def value(t: float, k: int) -> float:
        return float(values(piece.at(t)[None])[0, k])

    repeats = partial(_repeats, phase, piece)
    crossing = first_crossing(lambda *span: values(piece.over(*span)), value, piece.start, high, is_estimate=repeats)
    if crossing is None:
        return None
    return DetectedEvent(
        crossing[0], None, PhaseCheck(ended=frozenset([int(phase.touching[crossing[1] // MAX_CONDITIONS])]))
    )


def _phase_failure(piece: Piece, phase: Phase, solver: Solver, high: float, searched: float) -> DetectedEvent | None:
    """Return the time at which the phase first fails a check, between the last check passed and the first failed."""
    times = [piece.start + part * (high - piece.start) for part in CHECK_FRACTIONS]
    states: Iterable[np.ndarray] | None = None
    if high == piece.end:
        states = _check_matrix(len(piece.series)) @ piece.series
    if len(phase.stuck) and phase.flow.inputs.varies and not phase.redundant and high > piece.start:
        times, states = sorted([*times, *_break_away(piece, phase, high)]), None
    if searched > piece.start:
        times, states = [min(searched, high), *(t for t in times if t > searched)], None
    good, passed = piece.start, PhaseCheck()
    for t, y in zip(times, map(piece.at, times) if states is None else states, strict=True):
        check = check_phase(phase, t, y, solver)
        if not check.holds:
            return _first_failure(piece, phase, solver, (good, passed), (t, check))
        good, passed = t, check
    return None


@cache
def _check_matrix(count: int) -> np.ndarray:
    """Return the matrix from the coefficients of a series to its values at CHECK_FRACTIONS of its interval."""
    return chebyshev.chebvander(2.0 * np.array(CHECK_FRACTIONS) - 1.0, count - 1)


TimedCheck = tuple[float, PhaseCheck]


def _first_failure(piece: Piece, phase: Phase, solver: Solver, good: TimedCheck, bad: TimedCheck) -> DetectedEvent:
    """Locate the first failed check: by the margins at both ends if they are known (Illinois), else by bisection.

    In the middle of a step ROUGH_ACCURACY is sufficient, because the step is repeated to end just after the failure.
    """
    low, high = good[1].margin, bad[1].margin
    for step in range(MAX_BISECTIONS):
        width = bad[0] - good[0]
        part = low / (low - high) if low > 0.0 > high and step % 4 != 3 else 0.5
        t = good[0] + min(max(part, 1e-3), 1.0 - 1e-3) * width
        if t in (good[0], bad[0]) or width <= TIME_RESOLUTION * max(1.0, abs(t)):
            break
        narrow = not phase.still and width <= ROUGH_ACCURACY * (piece.end - piece.start)
        if narrow and is_mid_step(good[0], piece) and is_mid_step(bad[0], piece):
            break
        check = check_phase(phase, t, piece.at(t), solver)
        if check.holds:
            good, low, high = (t, check), check.margin, 0.5 * high
        else:
            bad, low, high = (t, check), 0.5 * low, check.margin
    return DetectedEvent(bad[0], None, bad[1])


def _break_away(piece: Piece, phase: Phase, high: float) -> list[float]:
    """Return the first time at which the force on a stuck drive reaches its static friction, if there is one."""
    level = phase.geometry.drives.level[phase.stuck] * (1.0 + 2.0 * FRICTION_MARGIN)
    nq, count = phase.flow.nq, len(phase.stuck)

    def margins(t: float) -> np.ndarray:
        y = piece.at(t)
        held = phase.reaction(y, phase.flow(t, y, phase.directions)[nq:]).forces[-count:]
        return np.concatenate([level - held, level + held])

    def sample(low: float, high: float, degree: int) -> np.ndarray:
        return np.array([margins(low + (high - low) * 0.5 * (1.0 + x)) for x in nodes(degree)])

    crossing = first_crossing(sample, lambda t, k: float(margins(t)[k]), piece.start, high, FORCE_SEARCH_WIDTH)
    return [] if crossing is None else [crossing[0]]
