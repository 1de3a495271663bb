"""SciPy's integrators as a stream of pieces: one Chebyshev series a step, whatever the method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import integrate

from appell.errors import ArgumentError, unknown_name
from appell.motion.curve import Piece
from appell.simulation.status import Status, Stop

# the highest degree of each method's interpolant
DEGREE = {"DOP853": 7, "RK45": 4, "RK23": 3, "Radau": 3, "BDF": 5, "LSODA": 12}
IMPLICIT = ("Radau", "BDF", "LSODA")

Rhs = Callable[[float, np.ndarray], np.ndarray]


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

    def __post_init__(self):
        if self.method not in DEGREE:
            raise ArgumentError(unknown_name("method", str(self.method), DEGREE, "simulate"))
        for name in ("rtol", "atol", "max_step", "tolerance", "rest_speed", "max_events", "max_steps"):
            value = getattr(self, name)
            if not value > 0:
                raise ArgumentError(f"{name} is {value!r}.", expected="a positive number")


def still_pieces(t: float, y: np.ndarray, until: float, longest: float) -> Iterator[Piece]:
    """A state that does not change, in pieces of equal length."""
    count = max(int(np.ceil((until - t) / longest)), 1)
    ends = [*(t + (until - t) * k / count for k in range(1, count)), until]
    for start, end in zip([t, *ends[:-1]], ends, strict=True):
        yield Piece(start, end, end, y[None])


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
    implicit = settings.method in IMPLICIT

    def guarded(t: float, y: np.ndarray) -> np.ndarray:
        rate = rhs(t, y)
        if not np.isfinite(rate).all():
            raise Stop(Status.TOLERANCE, f"The acceleration at t = {t:.9g} is not finite.")
        return rate

    guarded(t, y)  # SciPy never comes back from a first rate that is not a number
    longest = min(longest, settings.max_step)
    if first_step is not None:
        first_step = min(first_step, longest, until - t)
    solver = getattr(integrate, settings.method)(
        guarded if implicit else rhs,
        t,
        y,
        until,
        rtol=max(settings.rtol, 3e-14),
        atol=settings.atol,
        max_step=longest,
        first_step=first_step,
    )
    while solver.status == "running":
        solver.step()
        if solver.status == "failed":
            raise Stop(Status.TOLERANCE, f"It happened at t = {solver.t:.9g}.", hint="a larger rtol, or method='Radau'")
        yield Piece.of(solver.dense_output(), solver.t_old, solver.t, DEGREE[settings.method])
