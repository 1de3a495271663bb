"""The log of a control loop and its columns.

t, tick, woke, done, state, fault, commands, fresh              the tick; t is its scheduled time; times in s
time, power, hardware_fault, counts_*, …, hot_*                 the signals as they were read
q_*, v_*, integral_*, gap_*                                     state of the servo: estimates and integrals
qd_*, vd_*, ad_*                                                the reference; during a stop, its target
code_*, tau_*                                                   codes written to the converters, and their torques

A row is composed after the write; later decisions of the same tick appear in the next row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from appell.control.axes import names_of
from appell.dynamics.moving import made_by, moving_dynamics
from appell.hardware.cabinet.hardware import signal_columns
from appell.hardware.loop.servo import Servo
from appell.hardware.loop.supervisor import SENTENCE, Policy, State
from appell.motion.journal import open_journal
from appell.motion.titles import titles

HEAD = ("t", "tick", "woke", "done", "state", "fault", "commands", "fresh")
BLOCKS = {  # blocks after the signals -> axis of their columns
    **dict.fromkeys(("q", "v", "integral"), "coordinate"),
    "gap": "actuator",
    **dict.fromkeys(("qd", "vd", "ad"), "coordinate"),
    **dict.fromkeys(("code", "tau"), "actuator"),
}


def columns(servo: Servo) -> Iterator[str]:
    """Yield the names of the columns."""
    yield from HEAD
    yield from signal_columns(servo.wiring.names)
    for name, axis in BLOCKS.items():
        yield from titles(name, names_of(servo.system, axis))


class Journal:
    """The log of one run of a loop."""

    def __init__(self, path: Path, servo: Servo, policy: Policy, origin: float):
        header = made_by(moving_dynamics(servo.system, "control")) | {
            "law": servo.design.law.name,
            "period": servo.design.period,
            "origin": origin,
            "policy": asdict(policy),
            "servo": servo.function.formula.digest,
            "words": {  # texts for the events of a record
                "state": {str(state.value): state.name for state in State},
                "fault": {str(fault.value): sentence for fault, sentence in SENTENCE.items()},
            },
        }
        self.writer = open_journal(path, tuple(columns(servo)), header)
        n, nu = servo.system.nq, servo.system.nu
        self.wiring, self._logged = servo.wiring, servo.memory.at["gap"].stop
        sizes = np.cumsum([len(HEAD), servo.layout.size, self._logged, 3 * n, nu])
        self._ends = tuple(int(size) for size in sizes)

    def write(self, head: tuple, signals: np.ndarray, reference: np.ndarray, tick: Any) -> None:
        """Append the row of one tick."""
        row, (a, b, c, d, e) = self.writer.row, self._ends
        row[:a] = head
        row[a:b] = signals
        row[b:c] = tick.memory_next[: self._logged]
        row[c:d] = reference.ravel()
        row[d:e] = tick.codes
        row[e:] = self.wiring.torque(tick.codes)
        self.writer.commit()

    def close(self) -> None:
        """Close the file."""
        self.writer.close()
