"""Replay: run a loop again on what it logged, and compare every bit of what it gives.

The log holds what the loop took in: signals, times, commands and references. Hardware and clock that repeat them take
the place of the real ones; a servo of the same tape must then write the same rows.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from appell.errors import ArgumentError
from appell.hardware.cabinet.hardware import Mute
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.supervisor import Policy, State, Trigger
from appell.motion.record import Record


class Repeater(Mute):
    """Hardware and clock in one: says what the log says."""

    def __init__(self, log: Record, servo: Servo):
        first = log.columns.index("time")
        self.wiring, self.row = servo.wiring, -1
        self._signals = log.data[:, first : first + servo.layout.size]
        self._woke, self._done, self._fresh = (log[name].tolist() for name in ("woke", "done", "fresh"))
        self._origin = float(log.about["origin"])

    def wait_until(self, deadline: float) -> float:
        self.row += 1
        return self._woke[self.row]

    def now(self) -> float:
        return self._done[self.row] if self.row >= 0 else self._origin

    def read(self, into: np.ndarray) -> bool:
        into[:] = self._signals[self.row]
        return bool(self._fresh[self.row])


def replay(log: Record, servo: Servo, path: Path | None = None) -> Record:
    """The log that the same loop writes on the same input."""
    if log.about["servo"] != servo.function.formula.digest:
        raise ArgumentError(
            f"the log was written by another servo (law '{log.about['law']}', robot '{log.about['robot']}').",
            expected="the design, wiring and guard of the run",
        )
    repeater = Repeater(log, servo)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "replay.log" if path is None else path
        loop = Loop(repeater, servo, repeater, Policy(**log.about["policy"]), target)
        for row, commands in enumerate(log["commands"].astype(int).tolist()):
            for digit in f"{commands:x}" if commands else "":
                _command(loop, Trigger(int(digit, 16)), log, row)
            loop.tick()
        loop.close()
        return Record.read(target)


def first_difference(one: Record, other: Record) -> tuple[int, str] | None:
    """Row and column of the first bit that differs; None if there is none."""
    if one.data.tobytes() == other.data.tobytes():
        return None
    rows = min(len(one), len(other))
    different = one.data[:rows].view(np.int64) != other.data[:rows].view(np.int64)
    if not different.any():
        return rows, "length"
    row, column = (int(k) for k in np.argwhere(different)[0])
    return row, one.columns[column]


def _command(loop: Loop, trigger: Trigger, log: Record, row: int) -> None:
    match trigger:
        case Trigger.ARM:
            loop.arm()
        case Trigger.DISARM:
            loop.disarm()
        case Trigger.START:
            loop.start(_reference(log, row, loop.period))
        case Trigger.STOP:
            loop.stop()
        case Trigger.CLEAR:
            loop.clear("replay")
        case Trigger.REFINE:
            loop.refine()


def _reference(log: Record, row: int, period: float) -> Reference:
    """The samples that the loop followed from a row on; ticks that it slept through get their neighbour's.

    The last is that of the tick that found trouble, unless a command had stopped the arm before it.
    """
    state, ticks, commands = (log[name][row:].astype(int) for name in ("state", "tick", "commands"))
    other = np.flatnonzero(state != State.RUNNING)
    last = int(other[0]) if len(other) else len(state) - 1
    if last and f"{Trigger.STOP:x}" in f"{commands[last]:x}":
        last -= 1
    wanted = np.stack([log[name][row : row + last + 1] for name in ("qd", "vd", "ad")], axis=1)
    numbers = ticks[: last + 1] - ticks[0]
    nearest = np.searchsorted(numbers, np.arange(numbers[-1] + 1), side="right") - 1
    return Reference(wanted[nearest], period)
