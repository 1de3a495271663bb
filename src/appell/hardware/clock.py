"""Clocks of a control loop: a virtual one, for runs that do not depend on the machine, and that of the machine.

A loop waits for absolute times, and the clock returns the time at which it woke up. The virtual clock wakes up on time,
or with a given delay. The monotonic clock sleeps until absolute times, so that errors do not accumulate.
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
    """A clock that a control loop can wait for; times are in s."""

    def now(self) -> float:
        """Return the current time."""

    def wait_until(self, deadline: float) -> float:
        """Wait until an absolute time and return the time of waking up."""


class VirtualClock:
    """A clock whose time advances only in `wait_until`; `lateness(deadline)` is the delay of a wake-up, in s."""

    def __init__(self, start: float = 0.0, lateness: Callable[[float], float] | None = None):
        self.time = start
        self.lateness = lateness

    def now(self) -> float:
        """Return the current time."""
        return self.time

    def wait_until(self, deadline: float) -> float:
        """Advance the time to the deadline, or to the delayed wake-up; return it."""
        late = self.lateness(deadline) if self.lateness is not None else 0.0
        if deadline + late > self.time:
            self.time = deadline + late
        return self.time


class _TimeSpec(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]


def monotonic() -> float:
    """Return the time of the monotonic clock, which all processes share, in s."""
    if hasattr(time, "clock_gettime"):
        return time.clock_gettime(time.CLOCK_MONOTONIC)
    return time.perf_counter()  # Windows: before Python 3.13, time.monotonic advances in steps of 16 ms


class MonotonicClock:
    """The monotonic clock of the machine, equal in all processes; sleeps until absolute times where supported."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
        self._sleep = getattr(library, "clock_nanosleep", None)

    def now(self) -> float:
        """Return the current time."""
        return monotonic()

    def wait_until(self, deadline: float) -> float:
        """Sleep until an absolute time and return the time of waking up."""
        status = errno.ENOSYS
        if self._sleep is not None:
            seconds = int(deadline)
            until = _TimeSpec(seconds, int((deadline - seconds) * 1e9))
            status = errno.EINTR
            while status == errno.EINTR:  # interrupted by a signal: sleep again
                status = self._sleep(time.CLOCK_MONOTONIC, TIMER_ABSTIME, ctypes.byref(until), None)
        if status and (remaining := deadline - self.now()) > 0.0:  # clock_nanosleep is not available or failed
            time.sleep(remaining)
        return self.now()


@dataclass(frozen=True)
class Privileges:
    """The privileges that the operating system granted, as lines to print."""

    scheduling: str
    memory: str


@contextmanager
def real_time(priority: int = 50) -> Iterator[Privileges]:
    """Run the block with SCHED_FIFO, locked memory and no garbage collection, as far as the system allows."""
    scheduling, memory, undo = "default scheduling: SCHED_FIFO is not permitted", "memory is not locked", []
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
