"""Integration as a stream of pieces: one Chebyshev series per step, for every method.

Explicit methods are implemented in machine code (`appell.compile.ode`); implicit methods are those of SciPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
import scipy  # its packages are imported when they are first used

from appell.compile.ode.driver import Reason
from appell.compile.ode.stepper import Stepper
from appell.compile.ode.tableau import METHODS
from appell.motion.curve import Curve, Piece
from appell.simulation.options import IMPLICIT, Solver
from appell.simulation.status import Status, Stop

MIN_RTOL = 3e-14  # a smaller relative tolerance is below rounding errors


class Rhs(Protocol):
    """Right-hand side ẏ(t, y), the stepper of explicit methods for it, and the projection of states if there is one."""

    @property
    def projects(self) -> bool: ...

    @property
    def varies(self) -> bool: ...

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray: ...

    def projected(self, t: float, y: np.ndarray) -> np.ndarray: ...

    def stepper(self, method: str) -> Stepper: ...


def still_pieces(t: float, y: np.ndarray, until: float, max_step: float) -> Iterator[Piece]:
    """Yield a constant state in pieces of equal length."""
    count = max(int(np.ceil((until - t) / max_step)), 1)
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
    max_step: float = np.inf,
) -> Iterator[Piece]:
    """Yield the steps of the motion from (t, y) to `until`; raise `Stop` where the tolerance cannot be reached."""
    max_step = min(max_step, solver.max_step)
    method_pieces = _implicit if solver.method in IMPLICIT else _explicit
    if rhs.projects:
        return _projected(method_pieces, rhs, t, y, until, solver, first_step, max_step)
    return method_pieces(rhs, t, y, until, solver, first_step, max_step)


def _projected(
    method_pieces: Callable[..., Iterator[Piece]],
    rhs: Rhs,
    t: float,
    y: np.ndarray,
    until: float,
    solver: Solver,
    first_step: float | None,
    max_step: float,
) -> Iterator[Piece]:
    """Yield steps whose ends are projected; each step starts anew from the projected state, which keeps the order."""
    while t < until:
        piece = next(method_pieces(rhs, t, y, until, solver, first_step, max_step))
        piece = piece.bent(rhs.projected(piece.end, piece.at(piece.end)))
        yield piece
        t, y = piece.end, piece.at(piece.end)
        explicit = solver.method in METHODS
        first_step = rhs.stepper(solver.method).step if explicit else piece.end - piece.start


def _explicit(
    rhs: Rhs, t: float, y: np.ndarray, until: float, solver: Solver, first_step: float | None, max_step: float
) -> Iterator[Piece]:
    """Yield the steps of `blocks` one at a time."""
    for block in blocks(rhs, t, y, until, solver, first_step, max_step):
        yield from block.pieces()


def blocks(
    rhs: Rhs,
    t: float,
    y: np.ndarray,
    until: float,
    solver: Solver,
    first_step: float | None,
    max_step: float,
    block: int = 1,
) -> Iterator[Curve]:
    """Yield steps of an explicit method in blocks, as machine code computes them.

    An event discards the rest of a block, so blocks start short: with `block` steps, doubled from one to the next.
    """
    stepper = rhs.stepper(solver.method)
    rtol = max(solver.rtol, MIN_RTOL)
    if first_step is not None and t == stepper.t:
        first_step = max(first_step, stepper.step)  # the last step may have been shortened by the end of the stretch
    stepper.start(t, y, until, rtol=rtol, atol=solver.atol, first=first_step, longest=max_step)
    reason, stretch = Reason.FULL, stepper.intervals
    while reason is Reason.FULL:
        assert stepper.intervals == stretch, "a second integration was started before this one was abandoned"
        reason = stepper.advance(block)
        if stepper.taken:
            ends = stepper.ends.copy()
            yield Curve(stepper.starts.copy(), ends, ends, stepper.series.copy())
        # Python functions are not called at times that the motion may not reach
        if stepper.rate.callback is None and not rhs.varies:
            block = min(2 * block, stepper.capacity)
    if reason is Reason.NOT_FINITE:
        raise Stop(Status.TOLERANCE, f"The acceleration after t = {stepper.t:.9g} is not finite.")
    if reason is Reason.STEP_TOO_SMALL:
        raise _too_small(stepper.t)


def _implicit(
    rhs: Rhs, t: float, y: np.ndarray, until: float, solver: Solver, first_step: float | None, max_step: float
) -> Iterator[Piece]:
    """Yield SciPy's steps one at a time."""

    def guarded(t: float, y: np.ndarray) -> np.ndarray:
        t = min(t, until)  # some versions of SciPy evaluate beyond the end to choose the first step
        rate = rhs(t, y)
        if not np.isfinite(rate).all():
            raise Stop(Status.TOLERANCE, f"The acceleration at t = {t:.9g} is not finite.")
        return rate

    guarded(t, y)  # SciPy does not terminate if the first rate is NaN
    if first_step is not None:
        first_step = min(first_step, max_step, until - t)
    stepper = getattr(scipy.integrate, solver.method)(
        guarded,
        t,
        y,
        until,
        rtol=max(solver.rtol, MIN_RTOL),
        atol=solver.atol,
        max_step=max_step,
        first_step=first_step,
    )
    while stepper.status == "running":
        stepper.step()
        if stepper.status == "failed":
            raise _too_small(stepper.t)
        yield Piece.of(stepper.dense_output(), stepper.t_old, stepper.t, IMPLICIT[solver.method])


def _too_small(t: float) -> Stop:
    return Stop(Status.TOLERANCE, f"This happened at t = {t:.9g}.", hint="Use a larger rtol, or solver='Radau'.")
