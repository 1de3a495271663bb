"""Simulated drives: the enabled mode, the heartbeat and the safe state of a robot that is simulated by other software.

A drive turns the last command into a torque, from the measured q and v and the model of the simulator:

    torque       τ = τ_d                                impedance   τ = τ_d + kp (q_d - q) + kd (v_d - v)
    position     τ = F(ω² (q_d - q) + 2 ω (v_d - v))    velocity    τ = F(ω (v_d - v))

where F(a) is the torque for an acceleration a, ω = `SERVO_FREQUENCY`, and v_d in position mode is the rate of the
commands, filtered over `SPEED_FILTER_S`, so that commands which arrive late or together do not disturb it. Without a
command for the heartbeat, after one that is not finite, and until the first command after `enable`, the drives are
in their safe state: no torque (with brakes, if there are any), or the position at which it began, which is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from appell.errors import ArgumentError, DeviceError, Hint, unknown_name
from appell.hardware.clock import Clock, VirtualClock
from appell.hardware.device import Device, DeviceInfo, DeviceStatus, JointCommand

SERVO_FREQUENCY = 100.0  # rad/s, bandwidth of the position and velocity modes
SPEED_FILTER_S = 0.02  # time constant of the speed of positions
USED = {"torque": ("tau",), "position": ("q",), "velocity": ("v",), "impedance": ("q", "v", "tau", "kp", "kd")}


def check_mode(info: DeviceInfo, mode: str) -> None:
    """Raise an ArgumentError if a device does not offer a mode."""
    if mode not in info.modes:
        raise ArgumentError(unknown_name("mode", mode, info.modes, f"device '{info.name}'"))


def declared(values: Iterable[float]) -> tuple[float, ...] | None:
    """Return limits for the info of a device: None unless all of them are finite."""
    limits = tuple(float(value) for value in values)
    return limits if np.isfinite(limits).all() else None


def check_real_time(info: DeviceInfo, clock: Clock) -> None:
    """Raise an ArgumentError if a robot outside this process would be controlled on a virtual clock."""
    if isinstance(clock, VirtualClock):
        raise ArgumentError(
            f"device '{info.name}' cannot run on a virtual clock.",
            expected="the clock of the machine, MonotonicClock()",
            hint=Hint("Pass {real_time} to run in real time.", real_time=True),
        )


def invalid_entries(command: JointCommand, mode: str) -> np.ndarray:
    """Return, for each actuator, whether the command has a value that the mode uses and that is not finite."""
    return ~np.isfinite(np.array([getattr(command, name) for name in USED[mode]])).all(axis=0)


def check_finite(device: Device, command: JointCommand, mode: str) -> None:
    """Disable a device and raise an ArgumentError if a value of the command that the mode uses is not finite."""
    if (invalid := invalid_entries(command, mode)).any():
        device.disable()
        name = device.info.actuators[int(invalid.argmax())]
        raise ArgumentError(f"the command for actuator '{name}' is not finite.", expected="finite numbers")


class SimulatedDrives:
    """The drives of a simulated robot. `mode` is empty in the safe state."""

    def __init__(self, info: DeviceInfo):
        n = len(info.actuators)
        self.info, self.mode, self.watchdog = info, "", False
        self.command, self.faults = JointCommand(n), np.zeros(n)
        self._first_pending, self._last_write = False, 0.0
        self._speed = np.zeros(n)  # of the commands in position mode
        self._held: np.ndarray | None = None
        self._limit = np.inf if info.torque is None else np.array(info.torque)

    @property
    def status(self) -> int:
        """Status bits of the device."""
        return int(DeviceStatus.WATCHDOG if self.watchdog else 0)

    @property
    def safe(self) -> bool:
        """Whether the drives are in their safe state."""
        return not self.mode or self._first_pending

    def remaining(self, now: float) -> float:
        """Return the time until the heartbeat is over, in s."""
        return self.info.heartbeat - (now - self._last_write)

    def enable(self, mode: str, now: float) -> None:
        """Switch the drives on; they stay in the safe state until the first command."""
        check_mode(self.info, mode)
        if self.watchdog or self.faults.any():
            raise DeviceError(f"device '{self.info.name}' has a fault and cannot be enabled.", hint="Call clear().")
        self.mode, self._first_pending, self._last_write = mode, True, now

    def disable(self) -> None:
        """Enter the safe state."""
        self.mode = ""

    def clear(self) -> None:
        """Reset the watchdog and the faults of the drives."""
        self.watchdog = False
        self.faults[:] = 0.0

    def write(self, command: JointCommand, now: float) -> None:
        """Take a command; one that is not finite is a fault of the drives."""
        elapsed, self._last_write = now - self._last_write, now
        if not self.mode:
            return
        if (invalid := invalid_entries(command, self.mode)).any():
            self.faults[invalid] = DeviceStatus.DRIVE_FAULT
            self.disable()
            return
        if self._first_pending:
            self._speed[:] = 0.0
        else:
            change = command.q - self.command.q - elapsed * self._speed
            self._speed += change / max(SPEED_FILTER_S, elapsed)
        self.command.numbers[:] = command.numbers
        self._first_pending = False

    def torque(self, now: float, q: np.ndarray, v: np.ndarray, forces: Callable[[np.ndarray], np.ndarray]):
        """Return the torques at time `now`, of shape (n,); `forces(a)` returns those for accelerations a."""
        if self.mode and self.remaining(now) < 0.0:
            self.watchdog = True
            self.disable()
        if self.safe:
            if self.info.safe_state != "hold":
                return np.zeros(len(q))
            if self._held is None:
                self._held = q.copy()
            tau = forces(SERVO_FREQUENCY * (SERVO_FREQUENCY * (self._held - q) - 2.0 * v))
        else:
            self._held, command = None, self.command
            match self.mode:
                case "torque":
                    tau = command.tau
                case "position":
                    error = SERVO_FREQUENCY * (command.q - q) + 2.0 * (self._speed - v)
                    tau = forces(SERVO_FREQUENCY * error)
                case "velocity":
                    tau = forces(SERVO_FREQUENCY * (command.v - v))
                case _:
                    tau = command.tau + command.kp * (command.q - q) + command.kd * (command.v - v)
        return np.clip(tau, -self._limit, self._limit)


class DrivenRobot:
    """The methods of a simulated robot that only concern its drives."""

    clock: Clock
    drives: SimulatedDrives

    def enable(self, mode: str) -> None:
        """Switch the drives on in a mode."""
        self.drives.enable(mode, self.clock.now())

    def disable(self) -> None:
        """Enter the safe state."""
        self.drives.disable()

    def clear(self) -> None:
        """Reset the watchdog and the faults of the drives."""
        self.drives.clear()

    close = disable
