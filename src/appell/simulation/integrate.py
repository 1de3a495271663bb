"""A motion as a stream of pieces: one Chebyshev series a step, whatever the method.

Explicit methods are ours, in machine code (`appell.compile.stepper`); implicit ones are SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import integrate

from appell.algebra.scalar import is_number
from appell.compile.stepper.driver import Reason
from appell.compile.stepper.stepper import Stepper
from appell.compile.stepper.tableau import METHODS
from appell.errors import ArgumentError, unknown_name
from appell.motion.curve import Piece
from appell.simulation.status import Status, Stop

# the highest degree of each interpolant
IMPLICIT = {"Radau": 3, "BDF": 5, "LSODA": 12}
KNOWN = (*METHODS, *IMPLICIT)
FINEST = 3e-14  # a smaller rtol asks for more digits than there are

TINY, HUGE = np.finfo(float).tiny, np.finfo(float).max
RANGES = {
    "rtol": (TINY, 1.0, "a positive number, at most 1"),
    "atol": (TINY, 1.0, "a positive number, at most 1 (m, rad, and so on)"),
    "max_step": (TINY, np.inf, "a positive number of seconds"),
    "tolerance": (1e-13, HUGE, "a finite number of metres, at least 1e-13, below which positions are rounding"),
    "rest_speed": (TINY, HUGE, "a positive, finite number of metres a second"),
    "max_events": (1, HUGE, "a whole number, at least 1"),
    "max_steps": (1, HUGE, "a whole number, at least 1"),
    "least_progress": (TINY, HUGE, "a positive, finite number of seconds"),
}
COUNTED = ("max_events", "max_steps")


class Rhs(Protocol):
    """ẏ(t, y), the stepper that takes explicit steps along it, and where states are led back to if they have to be."""

    @property
    def keeps(self) -> bool: ...

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray: ...

    def kept(self, t: float, y: np.ndarray) -> np.ndarray: ...

    def stepper(self, method: str) -> Stepper: ...


@dataclass(frozen=True)
class Settings:
    """How a run is integrated and where it gives up."""

    method: str = "DOP853"
    rtol: float = 1e-8
    atol: float = 1e-10
    max_step: float = np.inf
    tolerance: float = 1e-7
    rest_speed: float = 1e-5
    max_events: int = 10_000
    max_steps: int = 1_000_000
    least_progress: float = 1e-5  # s in 2000 steps

    def __post_init__(self):
        if self.method not in KNOWN:
            raise ArgumentError(unknown_name("method", str(self.method), KNOWN, "simulate"))
        for name, (least, most, expected) in RANGES.items():
            value = getattr(self, name)
            if not is_number(value) or not least <= value <= most or (name in COUNTED and value != round(value)):
                raise ArgumentError(f"{name} is {value!r}.", expected=expected)


def still_pieces(t: float, y: np.ndarray, until: float, longest: float) -> Iterator[Piece]:
    """A state that does not change, in pieces of equal length."""
    count = max(int(np.ceil((until - t) / longest)), 1)
    ends = [*(t + (until - t) * k / count for k in range(1, count)), until]
    for start, end in zip([t, *ends[:-1]], ends, strict=True):
        yield Piece(start, end, end, np.stack([y, np.zeros(len(y))]))


def pieces(
    rhs: Rhs,
    t: float,
    y: np.ndarray,
    until: float,
    settings: Settings,
    first_step: float | None,
    longest: float = np.inf,
) -> Iterator[Piece]:
    """The motion from (t, y), a step at a time; ends at `until`, or by a Stop where the tolerance cannot be reached."""
    longest = min(longest, settings.max_step)
    taken = _implicit if settings.method in IMPLICIT else _explicit
    if rhs.keeps:
        return _kept(taken, rhs, t, y, until, settings, first_step, longest)
    return taken(rhs, t, y, until, settings, first_step, longest)


def _kept(
    taken: Callable[..., Iterator[Piece]],
    rhs: Rhs,
    t: float,
    y: np.ndarray,
    until: float,
    settings: Settings,
    first_step: float | None,
    longest: float,
) -> Iterator[Piece]:
    """Steps that end where states belong; each begins there anew, with a rate of its own, which keeps the order."""
    while t < until:
        piece = next(taken(rhs, t, y, until, settings, first_step, longest))
        piece = piece.bent(rhs.kept(piece.end, piece.at(piece.end)))
        yield piece
        t, y = piece.end, piece.at(piece.end)
        explicit = settings.method in METHODS
        first_step = rhs.stepper(settings.method).step if explicit else piece.end - piece.start


def _explicit(
    rhs: Rhs, t: float, y: np.ndarray, until: float, settings: Settings, first_step: float | None, longest: float
) -> Iterator[Piece]:
    """Blocks of steps in machine code; an event throws away what is left of a block, so the first ones are short."""
    stepper = rhs.stepper(settings.method)
    rtol = max(settings.rtol, FINEST)
    if first_step is not None and t == stepper.t:
        first_step = max(first_step, stepper.step)  # its last step may have been cut short by the end
    stepper.start(t, y, until, rtol=rtol, atol=settings.atol, first=first_step, longest=longest)
    block, reason, stretch = 1, Reason.FULL, stepper.stretches
    while reason is Reason.FULL:
        assert stepper.stretches == stretch, "another stretch was begun before this one was given up"
        reason = stepper.advance(block)
        series = stepper.series.copy()
        for start, end, one in zip(stepper.starts.tolist(), stepper.ends.tolist(), series, strict=True):
            yield Piece(start, end, end, one)
        if stepper.rate.callback is None:  # Python is not asked about times that may never come
            block = min(2 * block, stepper.capacity)
    if reason is Reason.NOT_FINITE:
        raise Stop(Status.TOLERANCE, f"The acceleration after t = {stepper.t:.9g} is not finite.")
    if reason is Reason.SMALL:
        raise _too_small(stepper.t)


def _implicit(
    rhs: Rhs, t: float, y: np.ndarray, until: float, settings: Settings, first_step: float | None, longest: float
) -> Iterator[Piece]:
    """SciPy's steps, one at a time."""

    def guarded(t: float, y: np.ndarray) -> np.ndarray:
        t = min(t, until)  # some versions of SciPy look further to find their first step
        rate = rhs(t, y)
        if not np.isfinite(rate).all():
            raise Stop(Status.TOLERANCE, f"The acceleration at t = {t:.9g} is not finite.")
        return rate

    guarded(t, y)  # SciPy never comes back from a first rate that is not a number
    if first_step is not None:
        first_step = min(first_step, longest, until - t)
    solver = getattr(integrate, settings.method)(
        guarded,
        t,
        y,
        until,
        rtol=max(settings.rtol, FINEST),
        atol=settings.atol,
        max_step=longest,
        first_step=first_step,
    )
    while solver.status == "running":
        solver.step()
        if solver.status == "failed":
            raise _too_small(solver.t)
        yield Piece.of(solver.dense_output(), solver.t_old, solver.t, IMPLICIT[settings.method])


def _too_small(t: float) -> Stop:
    return Stop(Status.TOLERANCE, f"It happened at t = {t:.9g}.", hint="a larger rtol, or method='Radau'")
