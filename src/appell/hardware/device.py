"""The joint-level interface of a robot, in SI units. To connect a robot, implement `Device`.

open      connect to the robot; the drives stay off
read      fill a `JointState` with the newest measurement; return False if there is no new one
write     send a `JointCommand`; this is also the heartbeat of the loop
enable    switch the drives on, in one of the declared modes
disable   bring the robot into its safe state; must work at any time, also repeatedly
clear     reset a fault of the robot, on the command of a person
close     disconnect; the robot is in its safe state

A device that does not measure its position exactly at power-on also has `travel`, an array with the distance that every
actuator must move (rad or m) to find its exact position, and `home()`, which returns the exact positions afterwards.

A device measures and moves the actuators of a system, in the order of its declared names: the joints of an arm, the
motors of a parallel robot. Life cycle, limits, safe stop, deadlines and log belong to the loop. The device declares how
it behaves without a loop: `heartbeat` seconds after the last command it enters its safe state by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntFlag
from typing import Protocol

import numpy as np

MODES = ("torque", "position", "velocity", "impedance")
SAFE_STATES = ("zero torque", "hold", "brakes")


class DeviceStatus(IntFlag):
    """DeviceStatus of a device or of one of its actuators, one bit each; 0 if nothing is wrong."""

    READY = 0
    NO_POWER = 1
    EMERGENCY_STOP = 2
    DRIVE_FAULT = 4
    HOT = 8
    SENSOR_FAULT = 16
    WATCHDOG = 32


@dataclass(frozen=True)
class DeviceInfo:
    """What a device declares about itself.

    Parameters
    ----------
    name : name for messages and logs
    actuators : names of the actuators, in the order of all arrays
    modes : those of `MODES` that the device offers
    period : time between two states, in s
    latency : typical time from a command to its effect, in s
    heartbeat : time in s without a command after which the device enters its safe state by itself
    safe_state : one of `SAFE_STATES`
    lower, upper : range of the positions that the device accepts, in rad or m
    speed, torque : largest speeds and torques that the device accepts, in rad/s or m/s, and N m or N
    measures : those of q, v and tau that the device measures; the others stay zero in its states
    sensors : names and sizes of further sensors, such as {"wrench": 6}
    resolution : steps of the torques that the device can apply, in N m or N; by default any torque is possible
    """

    name: str
    actuators: tuple[str, ...]
    modes: tuple[str, ...] = ("torque",)
    period: float = 1e-3
    latency: float = 0.0
    heartbeat: float = 0.02
    safe_state: str = "zero torque"
    lower: tuple[float, ...] | None = None
    upper: tuple[float, ...] | None = None
    speed: tuple[float, ...] | None = None
    torque: tuple[float, ...] | None = None
    measures: tuple[str, ...] = ("q", "v", "tau")
    sensors: Mapping[str, int] = field(default_factory=dict)
    resolution: tuple[float, ...] | None = None


class JointState:
    """One measurement: named views of one array, so that it can be copied, logged and replayed as a whole.

    `stamp` is the time of the measurement on the clock of the loop, in s; `status` holds the bits of the device and
    `faults` those of each actuator, both as numbers of `DeviceStatus`.
    """

    def __init__(self, info: DeviceInfo):
        n = len(info.actuators)
        self.numbers = np.zeros(2 + 4 * n + sum(info.sensors.values()))
        self.q, self.v, self.tau, self.faults = self.numbers[2 : 2 + 4 * n].reshape(4, n)
        self.sensors, begin = {}, 2 + 4 * n
        for name, size in info.sensors.items():
            self.sensors[name] = self.numbers[begin : begin + size]
            begin += size

    @property
    def stamp(self) -> float:
        """Time of the measurement, in s."""
        return float(self.numbers[0])

    @stamp.setter
    def stamp(self, value: float) -> None:
        self.numbers[0] = value

    @property
    def status(self) -> int:
        """DeviceStatus bits of the device."""
        return int(self.numbers[1])

    @status.setter
    def status(self, value: int) -> None:
        self.numbers[1] = value


class JointCommand:
    """One command: views of one array. Torque mode uses tau, position mode q, velocity mode v, impedance mode all.

    In impedance mode the drives apply tau + kp (q - measured q) + kd (v - measured v).
    """

    def __init__(self, n: int, numbers: np.ndarray | None = None):
        self.numbers: np.ndarray = np.zeros(5 * n) if numbers is None else numbers
        blocks: list[np.ndarray] = list(self.numbers.reshape(5, n))
        self.q, self.v, self.tau, self.kp, self.kd = blocks


class Device(Protocol):
    """A robot, real or simulated."""

    info: DeviceInfo

    def open(self) -> None:
        """Connect to the robot; the drives stay off."""

    def read(self, state: JointState) -> bool:
        """Fill `state` with the newest measurement; return False if there is no new one."""

    def write(self, command: JointCommand) -> None:
        """Send a command in the enabled mode. It is also the heartbeat of the loop."""

    def enable(self, mode: str) -> None:
        """Switch the drives on in a mode; the next `write` sets the first command."""

    def disable(self) -> None:
        """Bring the robot into its safe state."""

    def clear(self) -> None:
        """Reset a fault of the robot."""

    def close(self) -> None:
        """Disconnect; the robot is in its safe state."""
