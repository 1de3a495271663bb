"""Replay: run a loop again with the inputs that it logged, and compare the outputs bit by bit.

The log contains the inputs of the loop: states of the device, times, commands and references. A replayer of the log
replaces device and clock; a servo with the same tape must then write the same rows.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import ArgumentError
from appell.hardware.device import JointCommand, JointState
from appell.hardware.loop.control_loop import Loop
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import Servo, measured_indices
from appell.hardware.loop.supervisor import Policy, State, Trigger
from appell.motion.record import Record


class LogReplayer:
    """Device and clock that return the states and times of a log."""

    def __init__(self, log: Record, servo: Servo):
        self._indices = measured_indices(servo.info)
        first = log.columns.index("stamp")
        self.info, self.row = replace(servo.info, **_declared(log)), -1
        self._states = log.data[:, first : first + len(self._indices)]
        self._woke, self._done, self._fresh = (log[name].tolist() for name in ("woke", "done", "fresh"))
        self._origin = float(log.about["origin"])
        if "home" in log.quantities:
            self.home = lambda: log["home"][self.row + 1]  # the row of the next tick contains the result

    def wait_until(self, deadline: float) -> float:
        """Advance to the next row and return its time of waking up."""
        self.row += 1
        return self._woke[self.row]

    def now(self) -> float:
        """Return the logged time at the end of the tick."""
        return self._done[self.row] if self.row >= 0 else self._origin

    def read(self, state: JointState) -> bool:
        """Fill the state with the logged one; return whether it was new."""
        state.numbers[self._indices] = self._states[self.row]
        return bool(self._fresh[self.row])

    def open(self) -> None:
        """Have no effect."""

    def write(self, command: JointCommand) -> None:
        """Have no effect."""

    def enable(self, mode: str) -> None:
        """Have no effect."""

    disable = clear = close = open


def _declared(log: Record) -> dict[str, Any]:
    """Return what the logged device declared about times, which the loop uses."""
    return {name: log.about["device"][name] for name in ("name", "heartbeat", "latency", "period")}


def replay(log: Record, servo: Servo, path: Path | None = None) -> Record:
    """Run a logged loop again and return the new log.

    Parameters
    ----------
    log : a log that a `Loop` wrote
    servo : a servo with the design, device and guard of the logged run
    path : file of the new log; a temporary one by default

    Raises
    ------
    ArgumentError
        If the log was written by another servo.
    """
    if log.about["servo"] != servo.function.formula.digest:
        raise ArgumentError(
            f"the log was written by another servo (law '{log.about['law']}', robot '{log.about['robot']}').",
            expected="a servo with the design, device and guard of the logged run",
        )
    replayer = LogReplayer(log, servo)
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "replay.log" if path is None else path
        loop = Loop(replayer, servo, replayer, Policy(**log.about["policy"]), target)
        for row, commands in enumerate(log["commands"].astype(int).tolist()):
            for digit in f"{commands:x}" if commands else "":
                _command(loop, Trigger(int(digit, 16)), log, row)
            loop.tick()
        loop.close()
        return Record.read(target)


def first_difference(one: Record, other: Record) -> tuple[int, str] | None:
    """Return row and column of the first bit that differs between two logs; None if they are identical."""
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
    """Return the samples that the loop followed from a row; missed ticks get the sample before them.

    The last sample is that of the tick which detected a fault, unless a command had stopped the arm before.
    """
    state, ticks, commands = (log[name][row:].astype(int) for name in ("state", "tick", "commands"))
    other = np.flatnonzero(state != State.RUNNING)
    last = int(other[0]) if len(other) else len(state) - 1
    if last and f"{Trigger.STOP:x}" in f"{commands[last]:x}":
        last -= 1
    samples = np.stack([log[name][row : row + last + 1] for name in ("qd", "vd", "ad")], axis=1)
    numbers = ticks[: last + 1] - ticks[0]
    nearest = np.searchsorted(numbers, np.arange(numbers[-1] + 1), side="right") - 1
    return Reference(samples[nearest], period)
