"""A simulated cabinet as a process of its own, in real time, until it is told to stop.

The arm's time follows the machine's in whole steps. If the process was held up, it makes up for it step by step,
judging the loop's sign of life at every step by that step's own time, so that the arm moves as it would have moved.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from appell.hardware.cabinet.shared import SharedPage, remove
from appell.hardware.cabinet.simulated import SimulatedCabinet
from appell.hardware.clock import MonotonicClock, VirtualClock
from appell.model.system import System
from appell.motion.journal import JournalWriter
from appell.motion.titles import record_names, titles

COLUMNS = ("t", "beat", "enabled", "watchdog")


def plant_columns(system: System) -> tuple[str, ...]:
    names = record_names(system)
    return (*COLUMNS, *(title for kind in ("q", "v", "tau") for title in titles(kind, names[kind])))


def serve(
    make: Callable[[VirtualClock], SimulatedCabinet], path: Path, log: Path | None = None, seconds: float = np.inf
) -> None:
    """Serve the cabinet that `make` makes of a clock, at a path, and log what the arm does."""
    real = MonotonicClock()
    clock = VirtualClock(real.now())
    cabinet = make(clock)
    n, step, system = cabinet.model.system.nq, cabinet.step, cabinet.model.system
    page = SharedPage(path, cabinet.wiring, create=True)
    about = {"robot": system.name, "step": step}
    writer = None if log is None else JournalWriter(log, plant_columns(system), about)
    try:
        signals = np.zeros(cabinet.layout.size)
        wanted = cleared = 0.0
        clock.time = cabinet.time = started = real.now()
        while not page["shutdown"] and clock.time - started < seconds:
            real.wait_until(clock.time + step)
            clock.time += step
            if page["cleared"] != cleared:
                cleared = page["cleared"]
                cabinet.clear()
            if page["wanted"] != wanted:
                wanted = page["wanted"]
                if wanted:
                    cabinet.enable()
                else:
                    cabinet.disable()
            cabinet.bound.codes[:] = page.codes
            cabinet.last_write = page["beat"]
            cabinet.tool = int(page["tool"])
            if cabinet.read(signals):
                page.publish(signals)
            page["enabled"], page["served"] = float(cabinet.enabled), clock.time
            if writer is not None:
                writer.row[:4] = clock.time, cabinet.last_write, cabinet.enabled, cabinet.watchdog
                writer.row[4 : 4 + 2 * n] = cabinet.bound.state_next[: 2 * n]
                writer.row[4 + 2 * n :] = cabinet.torque
                writer.commit()
    finally:
        cabinet.close()
        if writer is not None:
            writer.close()
        page.close()
        remove(path)
