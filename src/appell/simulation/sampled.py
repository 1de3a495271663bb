"""A law that runs on a clock: asked once a tick, held until the next."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from appell.errors import ArgumentError


@dataclass(frozen=True)
class Sampled:
    """A torque law(t, q, v) for `simulate` that is called once a tick and held in between, as a digital controller is.

    Ticks are at start + k·period, in seconds, as long as the run lasts; they are hit exactly, also where the period
    does not divide it. The law sees the state at its tick, and what it gives acts from there on.

        ap.simulate(robot, torque=ap.Sampled(lambda t, q, v: -40.0 * q - 4.0 * v, period=1e-3))
    """

    law: Callable
    period: float  # s

    def __post_init__(self):
        if not callable(self.law):
            raise ArgumentError(f"the law of a Sampled is {self.law!r}.", expected="a function of (t, q, v)")
        period = self.period
        if not isinstance(period, (int, float)) or not 0.0 < period < math.inf:
            raise ArgumentError(
                f"the period of a Sampled is {period!r}.", expected="a positive number of seconds, such as 1e-3"
            )
