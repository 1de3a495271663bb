"""What a loop logs of every tick, and how it is laid out.

t, tick, woke, done, state, fault, commands, fresh              the tick itself, t when it was due; times in s
time, power, hardware_fault, counts_*, …, hot_*                 the signals as they were read
q_*, v_*, integral_*, tau_*, gap_*                              the servo's memory: estimates, torques in Nm
qd_*, vd_*, ad_*                                                the reference
code_*                                                          what was written to the converters
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from appell.control.loop.servo import MEMORY, Servo
from appell.control.loop.states import SENTENCE, State
from appell.control.loop.supervisor import Policy
from appell.motion.files.journal import JournalWriter
from appell.motion.record import titles

HEAD = ("t", "tick", "woke", "done", "state", "fault", "commands", "fresh")
REFERENCE = ("qd", "vd", "ad")


def columns(servo: Servo) -> Iterator[str]:
    yield from HEAD
    yield from servo.layout.columns(servo.wiring.joint_names)
    for name in (*MEMORY, *REFERENCE, "code"):
        yield from titles(name, servo.wiring.joint_names)


class Journal:
    """The log of one loop."""

    def __init__(self, path: Path, servo: Servo, policy: Policy, origin: float):
        header = {
            "robot": servo.design.model.robot.name,
            "law": servo.design.law.name,
            "period": servo.design.period,
            "origin": origin,
            "policy": asdict(policy),
            "servo": servo.function.tape.digest,
            "words": {  # for events of the record
                "state": {str(state.value): state.name for state in State},
                "fault": {str(fault.value): sentence for fault, sentence in SENTENCE.items()},
            },
        }
        self.writer = JournalWriter(path, tuple(columns(servo)), header)
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
