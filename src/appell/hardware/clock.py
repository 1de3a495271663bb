"""Clocks: one that is told the time, for tests that must not depend on the machine, and the machine's own.

A loop asks to be woken at absolute times; a clock says when it really woke. The virtual clock wakes on time, or late by
what a schedule says. The monotonic clock sleeps until the absolute time, so that errors do not add up.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import errno
import gc
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

TIMER_ABSTIME = 1
MCL_CURRENT, MCL_FUTURE = 1, 2


class Clock(Protocol):
    def now(self) -> float: ...

    def wait_until(self, deadline: float) -> float:
        """Wait, and say what time it is then."""


class VirtualClock:
    """Time that passes only when it is waited for. `lateness(deadline)` is by how much a wake-up is delayed."""

    def __init__(self, start: float = 0.0, lateness: Callable[[float], float] | None = None):
        self.time = start
        self.lateness = lateness

    def now(self) -> float:
        return self.time

    def wait_until(self, deadline: float) -> float:
        late = self.lateness(deadline) if self.lateness is not None else 0.0
        if deadline + late > self.time:
            self.time = deadline + late
        return self.time


class _TimeSpec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


class MonotonicClock:
    """The machine's clock, the same in every process; sleeps until absolute times where the system can."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
        self._sleep = getattr(library, "clock_nanosleep", None)

    def now(self) -> float:
        return time.clock_gettime(time.CLOCK_MONOTONIC) if hasattr(time, "clock_gettime") else time.monotonic()

    def wait_until(self, deadline: float) -> float:
        slept = errno.ENOSYS
        if self._sleep is not None:
            seconds = int(deadline)
            until = _TimeSpec(seconds, int((deadline - seconds) * 1e9))
            slept = errno.EINTR
            while slept == errno.EINTR:  # a signal woke us; sleep on
                slept = self._sleep(time.CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(until), None)
        if slept and (left := deadline - self.now()) > 0.0:  # the system cannot; any other way will do
            time.sleep(left)
        return self.now()


@dataclass(frozen=True)
class Privileges:
    """What the system granted; a line to print for each."""

    scheduling: str
    memory: str


@contextmanager
def real_time(priority: int = 50) -> Iterator[Privileges]:
    """Run with SCHED_FIFO, locked memory and no garbage collection, as far as the system allows; undone at the end."""
    scheduling, memory, undo = (
        "ordinary scheduling: not allowed to have SCHED_FIFO",
        "memory not locked: not allowed",
        [],
    )
    try:
        before = os.sched_getscheduler(0), os.sched_getparam(0)
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
        scheduling = f"SCHED_FIFO, priority {priority}"
        undo.append(lambda: os.sched_setscheduler(0, *before))
    except (AttributeError, OSError):
        pass
    library = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
    if library is not None and hasattr(library, "mlockall") and library.mlockall(MCL_CURRENT | MCL_FUTURE) == 0:
        memory = "memory locked"
        undo.append(library.munlockall)
    collecting = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield Privileges(scheduling, memory)
    finally:
        gc.unfreeze()
        if collecting:
            gc.enable()
        for step in undo:
            step()
