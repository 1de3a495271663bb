"""Timing on a busy machine: one core, all statements in turns, and the best of many turns.

The clock is the processor time of the process, which does not advance while another process uses the core. Wall-clock
time would be unfair: a long statement is interrupted more often than a short one. Other processes still affect the
caches, which only adds time, so the best of many turns is the cost of the code; the median shows how busy the machine
was. Statements are timed in turns, so that a slow period affects all of them. A short statement is executed once before
it is timed in a turn: all sides are measured with their own data in the caches, as in repeated calls.
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

MIN_TURN_S = 2e-3  # minimum duration of a turn
MAX_WARM_UP_S = 50e-3  # a statement that is shorter is executed once before it is timed in a turn


@dataclass(frozen=True)
class Timing:
    """Time of one execution of a statement, s."""

    best: float
    median: float


@dataclass(frozen=True)
class TimedStatement:
    """A statement and the values of its names."""

    statement: str
    names: Mapping[str, object]

    def timer(self) -> Timer:
        """Return a timer of the statement that uses the processor time of the process."""
        return Timer(self.statement, timer=process_time, globals=dict(self.names))


def time_in_turns(
    statements: Mapping[str, TimedStatement], turns: int, after_turn: Callable[[], object] = lambda: None
) -> dict[str, Timing]:
    """Time all statements in turns.

    Parameters
    ----------
    statements : statements by name
    turns : number of turns; in each of them every statement is timed once
    after_turn : called after every turn

    Returns
    -------
    Best and median time of one execution, by name.
    """
    timers = {name: statement.timer() for name, statement in statements.items()}
    runs, is_short = {}, {}
    for name, timer in timers.items():
        timer.timeit(1)  # the first execution compiles, allocates and fills caches
        duration = timer.timeit(1)
        runs[name], is_short[name] = max(1, math.ceil(MIN_TURN_S / max(duration, 1e-7))), duration < MAX_WARM_UP_S
    seconds: dict[str, list[float]] = {name: [] for name in timers}
    for _ in range(turns):
        for name, timer in timers.items():
            if is_short[name]:
                timer.timeit(1)  # the statements before have filled the caches with their own data
            seconds[name].append(timer.timeit(runs[name]) / runs[name])
        after_turn()
    return {name: Timing(min(times), statistics.median(times)) for name, times in seconds.items()}


@contextmanager
def one_core(core: int | None = None) -> Iterator[int | None]:
    """Pin this process and its children to one core (the last available one by default), if the system supports it."""
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
