"""The log of a control loop and its columns.

t, tick, woke, done, state, fault, commands, fresh     the tick; t is its scheduled time; times in s
stamp, status, qm_*, vm_*, taum_*, faults_*, …         the state of the device: time, status, measurements, sensors
home_*                                                 positions of the actuators that homing has found
q_*, v_*, integral_* or memory_*                       state of the servo: estimates, and the memory of the law
qd_*, vd_*, ad_*                                       the reference; during a stop, its target
qc_*, vc_*, tauc_*                                     command, in modes other than torque
tau_*                                                  torques: commanded in torque mode, otherwise measured

Quantities that the device does not measure have no columns. A row is composed after the write; later decisions of the
same tick appear in the next row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np

from appell.control.axes import axis_word, names_of
from appell.dynamics.moving import made_by, moving_dynamics
from appell.hardware.device import DeviceInfo, JointCommand
from appell.hardware.loop.servo import Servo, measured_indices
from appell.hardware.loop.supervisor import SENTENCE, Policy, State
from appell.motion.journal import JournalWriter
from appell.motion.titles import titles

HEAD = ("t", "tick", "woke", "done", "state", "fault", "commands", "fresh")
MEASURED = {"q": "qm", "v": "vm", "tau": "taum", "faults": "faults"}  # block of a state -> its quantity in the log


def device_columns(info: DeviceInfo) -> Iterator[str]:
    """Yield the names of the columns of a device's state."""
    yield from ("stamp", "status")
    for block, quantity in MEASURED.items():
        if block == "faults" or block in info.measures:
            yield from titles(quantity, info.actuators)
    for name, size in info.sensors.items():
        yield from titles(name, [str(k + 1) for k in range(size)])


def columns(servo: Servo, homed: bool) -> Iterator[str]:
    """Yield the names of the columns."""
    coordinates, actuators = (names_of(servo.system, axis) for axis in ("coordinate", "actuator"))
    yield from HEAD
    yield from device_columns(servo.info)
    if homed:
        yield from titles("home", actuators)
    yield from (*titles("q", coordinates), *titles("v", coordinates))
    of_law = {name: size for name, size in servo.design.memory.sizes.items() if name != "before"}
    if "integral" in of_law:
        yield from titles("integral", coordinates)
    else:
        yield from titles("memory", [f"{block}{k + 1}" for block, size in of_law.items() for k in range(size)])
    for name in ("qd", "vd", "ad"):
        yield from titles(name, coordinates)
    for name in ("qc", "vc", "tauc") if servo.mode != "torque" else ():
        yield from titles(name, actuators)
    yield from titles("tau", actuators)


class Journal:
    """The log of one run of a loop; `home` is the array of positions that homing has found, if the device has it."""

    def __init__(
        self, path: Path, servo: Servo, info: DeviceInfo, policy: Policy, origin: float, home: np.ndarray | None
    ):
        header = made_by(moving_dynamics(servo.system, "control")) | {
            "law": servo.design.law.name,
            "period": servo.design.period,
            "origin": origin,
            "policy": asdict(policy),
            "guard": asdict(servo.guard),
            "device": asdict(info),
            "mode": servo.mode,
            "stop_damping": servo.design.stop_damping,
            "coordinate_units": servo.system.coordinate_units,
            "axis": axis_word(servo.system, "coordinate"),
            "servo": servo.function.formula.digest,
            "words": {  # texts for the events of a record
                "state": {str(state.value): state.name for state in State},
                "fault": {str(fault.value): sentence for fault, sentence in SENTENCE.items()},
            },
        }
        self.writer = JournalWriter(path, tuple(columns(servo, home is not None)), header)
        self._home = np.zeros(0) if home is None else home
        self._indices = indices = measured_indices(servo.info)
        self._all, self._torque_mode = len(indices) == servo.layout.size, servo.mode == "torque"
        self._logged, nu = servo.memory.at["tau"].start, servo.system.nu
        self._tau = servo.layout.at["tau"]
        sizes = [len(HEAD), len(indices), self._home.size, self._logged, 3 * servo.system.nq]
        self._ends = tuple(int(size) for size in np.cumsum(sizes if self._torque_mode else [*sizes, 3 * nu]))

    def write(
        self, head: tuple, state: np.ndarray, reference: np.ndarray, memory: np.ndarray, command: JointCommand
    ) -> None:
        """Append the row of one tick."""
        row, ends = self.writer.row, self._ends
        row[: ends[0]] = head
        row[ends[0] : ends[1]] = state if self._all else state[self._indices]
        row[ends[1] : ends[2]] = self._home
        row[ends[2] : ends[3]] = memory[: self._logged]
        row[ends[3] : ends[4]] = reference.ravel()
        if self._torque_mode:
            row[ends[4] :] = command.tau
        else:
            row[ends[4] : ends[5]] = command.numbers[: ends[5] - ends[4]]
            row[ends[5] :] = state[self._tau]
        self.writer.commit()

    def close(self) -> None:
        """Close the file."""
        self.writer.close()
