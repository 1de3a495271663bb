"""A motion as a stream of pieces: one Chebyshev series a step, whatever the method.

Explicit methods are ours, in machine code (`appell.compile.ode`); implicit ones are SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
from scipy import integrate

from appell.compile.ode.driver import Reason
from appell.compile.ode.stepper import Stepper
from appell.compile.ode.tableau import METHODS
from appell.motion.curve import Piece
from appell.simulation.options import IMPLICIT, Solver
from appell.simulation.status import Status, Stop

FINEST = 3e-14  # a smaller rtol asks for more digits than there are


class Rhs(Protocol):
    """ẏ(t, y), the stepper that takes explicit steps along it, and where states are led back to if they have to be."""

    @property
    def keeps(self) -> bool: ...

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray: ...

    def kept(self, t: float, y: np.ndarray) -> np.ndarray: ...

    def stepper(self, method: str) -> Stepper: ...


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
    solver: Solver,
    first_step: float | None,
    longest: float = np.inf,
) -> Iterator[Piece]:
    """The motion from (t, y), a step at a time; ends at `until`, or by a Stop where the tolerance cannot be reached."""
    longest = min(longest, solver.max_step)
    taken = _implicit if solver.method in IMPLICIT else _explicit
    if rhs.keeps:
        return _kept(taken, rhs, t, y, until, solver, first_step, longest)
    return taken(rhs, t, y, until, solver, first_step, longest)


def _kept(
    taken: Callable[..., Iterator[Piece]],
    rhs: Rhs,
    t: float,
    y: np.ndarray,
    until: float,
    solver: Solver,
    first_step: float | None,
    longest: float,
) -> Iterator[Piece]:
    """Steps that end where states belong; each begins there anew, with a rate of its own, which keeps the order."""
    while t < until:
        piece = next(taken(rhs, t, y, until, solver, first_step, longest))
        piece = piece.bent(rhs.kept(piece.end, piece.at(piece.end)))
        yield piece
        t, y = piece.end, piece.at(piece.end)
        explicit = solver.method in METHODS
        first_step = rhs.stepper(solver.method).step if explicit else piece.end - piece.start


def _explicit(
    rhs: Rhs, t: float, y: np.ndarray, until: float, solver: Solver, first_step: float | None, longest: float
) -> Iterator[Piece]:
    """Blocks of steps in machine code; an event throws away what is left of a block, so the first ones are short."""
    stepper = rhs.stepper(solver.method)
    rtol = max(solver.rtol, FINEST)
    if first_step is not None and t == stepper.t:
        first_step = max(first_step, stepper.step)  # its last step may have been cut short by the end
    stepper.start(t, y, until, rtol=rtol, atol=solver.atol, first=first_step, longest=longest)
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
    rhs: Rhs, t: float, y: np.ndarray, until: float, solver: Solver, first_step: float | None, longest: float
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
    stepper = getattr(integrate, solver.method)(
        guarded,
        t,
        y,
        until,
        rtol=max(solver.rtol, FINEST),
        atol=solver.atol,
        max_step=longest,
        first_step=first_step,
    )
    while stepper.status == "running":
        stepper.step()
        if stepper.status == "failed":
            raise _too_small(stepper.t)
        yield Piece.of(stepper.dense_output(), stepper.t_old, stepper.t, IMPLICIT[solver.method])


def _too_small(t: float) -> Stop:
    return Stop(Status.TOLERANCE, f"It happened at t = {t:.9g}.", hint="a larger rtol, or solver='Radau'")
