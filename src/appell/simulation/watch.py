"""Looking for the first event on a step: a free point reaches its wall, or a resting point cannot stay as it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.motion.curve import Piece
from appell.simulation.contact import Contacts
from appell.simulation.integrate import Settings
from appell.simulation.isolate import first_crossing
from appell.simulation.phase import Phase
from appell.simulation.settling import Examination, examine
from appell.simulation.status import Status, Stop

LOOKS = (0.1, 0.25, 0.45, 0.7, 1.0)  # parts of a step at which a phase is examined
HALVINGS = 60


@dataclass(frozen=True)
class Sighting:
    """An event: its time, the contact whose gap closes (None: the phase ends for another reason), what was found."""

    time: float
    contact: int | None
    examination: Examination


def floors(phase: Phase, y: np.ndarray) -> np.ndarray:
    """The gaps below which free points are in their walls: zero, or what a point that has just left is short of it."""
    if phase.geometry is None:
        return np.zeros(0)
    return np.minimum(phase.geometry.contacts.gaps(y[: phase.flow.nq])[phase.free], 0.0)


def first_event(piece: Piece, phase: Phase, floor: np.ndarray, settings: Settings) -> Sighting | None:
    """The first event on a piece."""
    if phase.geometry is None:
        return None
    crossing = _crossing(piece, phase, phase.geometry.contacts, floor)
    if phase.rests:
        ending = _ending(piece, phase, settings, crossing[0] if crossing else piece.end)
        if ending is not None:
            return ending
    return Sighting(*crossing, Examination()) if crossing else None


def _crossing(piece: Piece, phase: Phase, contacts: Contacts, floor: np.ndarray) -> tuple[float, int] | None:
    nq = phase.flow.nq
    free = phase.free
    if not len(free):
        return None

    def sample(low: float, high: float, degree: int) -> np.ndarray:
        with np.errstate(all="ignore"):
            gaps = contacts.gaps(piece.over(low, high, degree)[:, :nq])[:, free]
        if not np.isfinite(gaps).all():
            bad = free[int(np.argmin(np.isfinite(gaps).all(axis=0)))]
            raise Stop(Status.INPUT, f"The gap between {contacts.describe(bad)} is not a number near t = {low:.9g}.")
        return gaps - floor

    def value(t: float, k: int) -> float:
        return float(contacts.gaps(piece.at(t)[:nq])[free[k]] - floor[k])

    found = first_crossing(sample, value, piece.start, piece.end)
    return None if found is None else (found[0], int(free[found[1]]))


def _ending(piece: Piece, phase: Phase, settings: Settings, high: float) -> Sighting | None:
    """Where the phase first fails an examination, by halving between two looks."""
    good = piece.start
    for part in LOOKS:
        t = piece.start + part * (high - piece.start)
        examination = examine(phase, t, piece.at(t), settings)
        if examination.holds:
            good = t
            continue
        for _ in range(HALVINGS):
            middle = 0.5 * (good + t)
            if middle in (good, t):
                break
            earlier = examine(phase, middle, piece.at(middle), settings)
            if earlier.holds:
                good = middle
            else:
                t, examination = middle, earlier
        return Sighting(t, None, examination)
    return None
