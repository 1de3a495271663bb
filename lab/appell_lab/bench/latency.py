"""Wake-up latency of this machine: ticks on the monotonic clock, each with a control step of the PUMA."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from appell.control.design import checked_period
from appell.describe.load import load
from appell.errors import ArgumentError
from appell.hardware.clock import MonotonicClock, Privileges, real_time
from appell.hardware.loop.defaults import standard_servo

BIN_EDGES_S = 1e-6 * np.array([0, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, np.inf])  # of the histogram


@dataclass(frozen=True)
class Latency:
    """Latency of every wake-up and duration of every control step, s."""

    late: np.ndarray
    step: np.ndarray
    period: float
    skipped: int
    privileges: Privileges

    @property
    def misses(self) -> int:
        """Number of ticks that were not finished before the next one was due."""
        return int((self.late + self.step > self.period).sum())

    def histogram(self) -> np.ndarray:
        """Number of wake-ups per bin of `BIN_EDGES_S`."""
        return np.histogram(self.late, BIN_EDGES_S)[0]

    def percentile(self, percent: float) -> float:
        """Percentile of the latency, s."""
        return float(np.percentile(self.late, percent))


def measure_latency(ticks: int = 5000, period: float = 1e-3, after_tick: Callable[[], object] | None = None) -> Latency:
    """Measure the latency of a periodic loop, with real-time scheduling if permitted.

    Parameters
    ----------
    ticks : number of ticks, at least 10
    period : s
    after_tick : called after every tick
    """
    checked_period(period)
    if ticks < 10:
        raise ArgumentError(f"ticks is {ticks}, which is too few for a measurement.", expected="10 or more")
    servo = standard_servo(load("puma"), period=min(period, 2e-3))
    tick, clock = servo.new_bound(), MonotonicClock()
    late, step = np.empty(ticks), np.empty(ticks)
    skipped, count = 0, 0
    with real_time() as privileges:
        tick()
        origin, grid = clock.now() + period, 0
        while count < ticks:
            deadline = origin + grid * period
            late[count] = clock.wait_until(deadline) - deadline
            start = time.perf_counter()
            tick.memory[:] = tick.memory_next
            tick()
            step[count] = time.perf_counter() - start
            count += 1
            if after_tick is not None:
                after_tick()
            passed = int((clock.now() - origin) / period)
            skipped += max(0, passed - grid)
            grid = max(grid, passed) + 1
    return Latency(late, step, period, skipped, privileges)
