"""What a loop logs of every tick, and how it is laid out.

tick, scheduled, woke, done, state, fault, commands, fresh      the tick itself; times in s
time, power, hardware_fault, counts*, …, hot*                   the signals as they were read
q*, v*, integral*, tau*, gap*                                   the servo's memory: estimates, torques in Nm
qd*, vd*, ad*                                                   the reference
code*                                                           what was written to the converters
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from appell.control.loop.log import LogWriter
from appell.control.loop.servo import MEMORY, Servo
from appell.control.loop.supervisor import Policy

HEAD = ("tick", "scheduled", "woke", "done", "state", "fault", "commands", "fresh")
REFERENCE = ("qd", "vd", "ad")


def columns(servo: Servo) -> Iterator[str]:
    yield from HEAD
    yield from servo.layout.columns()
    for name in (*MEMORY, *REFERENCE, "code"):
        yield from (f"{name}{k + 1}" for k in range(servo.wiring.n))


class Journal:
    """The log of one loop."""

    def __init__(self, path: Path, servo: Servo, policy: Policy, origin: float):
        header = {
            "robot": servo.design.model.robot.name,
            "joints": list(servo.wiring.joint_names),
            "law": servo.design.law.name,
            "period": servo.design.period,
            "origin": origin,
            "policy": asdict(policy),
            "servo": servo.function.tape.digest,
        }
        self.writer = LogWriter(path, tuple(columns(servo)), header)
        sizes = np.cumsum([len(HEAD), servo.layout.size, len(MEMORY) * servo.wiring.n, len(REFERENCE) * servo.wiring.n])
        self._ends = tuple(int(size) for size in sizes)

    def write(self, head: tuple, signals: np.ndarray, tick: Any) -> None:
        row, (a, b, c, d) = self.writer.row, self._ends
        row[:a] = head
        row[a:b] = signals
        row[b:c] = tick.memory_next
        row[c:d] = tick.reference.ravel()
        row[d:] = tick.codes
        self.writer.commit()

    def close(self) -> None:
        self.writer.close()
