"""Timing on a busy machine: one core, all contestants in turn, and the best of many turns.

The clock is the processor time of the process, which stands still while another process has the core. Wall-clock time
would be unfair: a long statement is interrupted more often than a short one. What is left of the others' influence,
their use of the caches, only ever adds time, so the best of many turns is what the code costs; the median says how
quiet the machine was. Contestants take turns, so that a slow minute slows all of them.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import process_time
from timeit import Timer

TURN = 2e-3  # seconds that a turn lasts at least


@dataclass(frozen=True)
class Timing:
    """Seconds for one execution of a statement."""

    best: float
    median: float


@dataclass(frozen=True)
class TimedStatement:
    """A statement, and the names that stand in it."""

    statement: str
    names: Mapping[str, object]

    def timer(self) -> Timer:
        return Timer(self.statement, timer=process_time, globals=dict(self.names))


def time_in_turns(
    contestants: Mapping[str, TimedStatement], turns: int, after_turn: Callable[[], object] = lambda: None
) -> dict[str, Timing]:
    """Time each contestant in `turns` turns, one after the other."""
    timers = {name: contestant.timer() for name, contestant in contestants.items()}
    runs = {}
    for name, timer in timers.items():
        timer.timeit(1)  # the first execution compiles, allocates and fills caches
        runs[name] = max(1, math.ceil(TURN / max(timer.timeit(1), 1e-7)))
    seconds: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(turns):
        for name, timer in timers.items():
            seconds[name].append(timer.timeit(runs[name]) / runs[name])
        after_turn()
    return {name: Timing(min(times), statistics.median(times)) for name, times in seconds.items()}


@contextmanager
def one_core(core: int | None = None) -> Iterator[int | None]:
    """Keep this process and its children on one core (the last one it may use), where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield None
        return
    before = os.sched_getaffinity(0)
    chosen = max(before) if core is None or core not in before else core
    os.sched_setaffinity(0, {chosen})
    try:
        yield chosen
    finally:
        os.sched_setaffinity(0, before)
