"""A simulated cabinet in a separate process, in real time.

The time of the arm follows that of the machine in whole steps. A process that was delayed catches up step by step and
checks the loop's heartbeat at the time of every step, so that the arm moves as it would have moved without the delay.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from appell.hardware.cabinet.shared import SharedPage, remove
from appell.hardware.cabinet.simulated import SimulatedCabinet
from appell.hardware.clock import MonotonicClock, VirtualClock
from appell.model.system import System
from appell.motion.journal import open_journal
from appell.motion.titles import record_names, titles

COLUMNS = ("t", "beat", "enabled", "watchdog")


def plant_columns(system: System) -> tuple[str, ...]:
    """Return the columns of the cabinet's log."""
    names = record_names(system)
    return (*COLUMNS, *(title for kind in ("q", "v", "tau") for title in titles(kind, names[kind])))


def serve(
    make: Callable[[VirtualClock], SimulatedCabinet], path: Path, log: Path | None = None, seconds: float = np.inf
) -> None:
    """Serve a simulated cabinet until its page requests a shutdown.

    Parameters
    ----------
    make : callable
        `make(clock)` returns the cabinet.
    path : file of the shared page
    log : file to which the motion of the arm is logged
    seconds : time after which the server ends; unlimited by default
    """
    real = MonotonicClock()
    clock = VirtualClock(real.now())
    cabinet = make(clock)
    n, step, system = cabinet.model.system.nq, cabinet.step, cabinet.model.system
    page = SharedPage(path, cabinet.wiring, create=True)
    about = {"robot": system.name, "step": step}
    writer = None if log is None else open_journal(log, plant_columns(system), about)
    try:
        signals = np.zeros(cabinet.layout.size)
        enabled = cleared = 0.0
        clock.time = cabinet.time = started = real.now()
        while not page["shutdown"] and clock.time - started < seconds:
            real.wait_until(clock.time + step)
            clock.time += step
            if page["cleared"] != cleared:
                cleared = page["cleared"]
                cabinet.clear()
            if page["wanted"] != enabled:
                enabled = page["wanted"]
                if enabled:
                    cabinet.enable()
                else:
                    cabinet.disable()
            cabinet.bound.codes[:] = page.codes
            cabinet.last_write = page["beat"]
            cabinet.tool = int(page["tool"])
            if cabinet.read_signals(signals):
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
