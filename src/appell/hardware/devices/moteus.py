"""Motors with moteus controllers on a CAN-FD bus as a device: one controller per actuator.

Every command is sent to each controller in its position mode, with a request for its state; the replies are read in the
next tick, or later if the bus is slow. The controllers measure in revolutions at their output, in 32-bit floats. The
modes of a device become

    torque      no gains, feed-forward torque              velocity   no position, velocity, gains of the controller
    position    position, gains of the controller          impedance  position, velocity, torque, scaled gains

A controller without a command for the heartbeat leaves position mode. It must be configured to be without torque then
(`conf set servo.timeout_mode 0`). Each controller keeps this state until it is stopped, by `clear`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from types import SimpleNamespace

import numpy as np

from appell.errors import ArgumentError, DeviceError, needed_package
from appell.hardware.clock import Clock
from appell.hardware.device import DeviceInfo, DeviceStatus, JointCommand, JointState
from appell.hardware.devices import moteus_frames as frames
from appell.hardware.devices.drives import check_finite, check_mode, check_real_time, declared
from appell.hardware.devices.moteus_frames import Bus, UdpBus
from appell.model.system import System

REVOLUTION = 2.0 * math.pi  # rad
STATE = (frames.MODE, frames.POSITION, frames.VELOCITY, frames.TORQUE, frames.FAULT)


def open_bus(bus: str) -> Bus:
    """Return the bus of a name: `udp:HOST:PORT` for simulated motors, or `INTERFACE:CHANNEL` of python-can.

    `socketcan:can0` is the first CAN interface of Linux.
    """
    interface, _, channel = bus.partition(":")
    if interface == "udp":
        host, _, port = channel.rpartition(":")
        if not host or not port.isdecimal():
            raise ArgumentError(f"the bus is '{bus}'.", expected="udp:HOST:PORT")
        return UdpBus(host, int(port))
    can = needed_package("can", "a CAN bus", "appell[can]")
    try:
        return can.Bus(interface=interface, channel=channel, fd=True)
    except Exception as error:  # python-can and its drivers raise many kinds of errors
        raise DeviceError(f"the CAN bus '{bus}' cannot be opened: {error}.") from None


class MoteusMotors:
    """The actuators of a robot, each with a moteus controller.

    Parameters
    ----------
    system : the robot
    clock : the clock of the loop
    bus : name of the bus, see `open_bus`, or a bus of python-can
    ids : sequence of int, optional
        CAN identifiers of the controllers, in the order of the actuators; by default 1, 2, …
    kp, kd : gains with which the controllers are configured, in N m/revolution and N m s/revolution
    source : CAN identifier of this program
    timeout : time in s to wait for the controllers in `open` and `enable`
    period : time between two states, in s
    heartbeat : time in s without a command after which a controller has no torque
    """

    def __init__(
        self,
        system: System,
        clock: Clock,
        *,
        bus: str | Bus = "socketcan:can0",
        ids: Sequence[int] = (),
        kp: float = 4.0,
        kd: float = 0.05,
        source: int = 0,
        timeout: float = 1.0,
        period: float = 2e-3,
        heartbeat: float = 0.1,
    ):
        n = system.nu
        self.ids = tuple(ids) or tuple(range(1, n + 1))
        if len(self.ids) != n or len(set(self.ids)) != n or not all(0 < k < 127 for k in self.ids):
            raise ArgumentError(
                f"the CAN identifiers of {system.owner} are {list(self.ids)}.",
                expected=f"{n} different numbers, 1 to 126",
            )
        self.clock, self.kp, self.kd, self.source, self.timeout = clock, kp, kd, source, timeout
        self._bus_name, self._bus = bus, None if isinstance(bus, str) else bus
        limits = system.limits
        self.info = DeviceInfo(
            "moteus " + (bus if isinstance(bus, str) else type(bus).__name__),
            tuple(system.actuator_names),
            ("torque", "position", "velocity", "impedance"),
            period,
            latency=period,
            heartbeat=heartbeat,
            safe_state="zero torque",
            speed=declared(limits.speed),
            torque=declared(limits.torque),
        )
        self._index = {identifier: k for k, identifier in enumerate(self.ids)}
        self._registers = np.full((len(STATE), n), np.nan)
        self._answered = np.zeros(n, bool)
        self._asked, self._sent, self._last_sent = False, -np.inf, -np.inf
        self._mode = ""

    def open(self) -> None:
        """Open the bus, stop all controllers and wait for their replies."""
        check_real_time(self.info, self.clock)
        if self._bus is None:
            self._bus = open_bus(str(self._bus_name))
        self._asked, self._answered[:] = False, False
        self._send([frames.STOP] * len(self.ids))
        self._wait()

    def _wait(self) -> None:
        until = time.monotonic() + self.timeout
        while not self._answered.all():
            if time.monotonic() > until:
                silent = [str(self.ids[k]) for k in np.flatnonzero(~self._answered)]
                raise DeviceError(
                    f"the motor controllers {', '.join(silent)} did not answer within {self.timeout:g} s.",
                    hint="Check power, wiring and the CAN identifiers.",
                )
            self._receive(1e-2)

    def _send(self, commands: Sequence[bytes]) -> None:
        """Send a frame with a request for the state to every controller."""
        if self._bus is None:
            raise DeviceError(f"device '{self.info.name}' is not open.", hint="Call open().")
        self._last_sent = self.clock.now()
        if not self._asked:  # replies to earlier requests may still arrive: the stamp is that of the first one
            self._asked, self._sent = True, self._last_sent
        try:
            for identifier, command in zip(self.ids, commands, strict=True):
                head = self.source << 8 | frames.REPLY_REQUESTED | identifier
                self._bus.send(can_message(head, command + frames.QUERY))
        except Exception as error:  # python-can and its drivers raise many kinds of errors
            raise DeviceError(f"device '{self.info.name}' cannot send to its motors: {error}.") from None

    def _receive(self, timeout: float) -> None:
        """Take all frames that have arrived."""
        while (message := self._bus.recv(timeout)) is not None:  # type: ignore[union-attr]
            timeout = 0.0
            k = self._index.get(message.arbitration_id >> 8 & 0x7F)
            if k is None or message.arbitration_id & 0x7F != self.source:
                continue
            try:
                values = frames.values_of(frames.REPLY, message.data)
            except ValueError as error:
                raise DeviceError(f"motor controller {self.ids[k]} does not follow its protocol: {error}.") from None
            self._registers[:, k] = [values.get(register, np.nan) for register in STATE]
            self._answered[k] = True

    def read(self, state: JointState) -> bool:
        """Take the replies of the controllers; return False until all have answered since the last state."""
        if self._asked:
            self._receive(0.0)
        if not (self._asked and self._answered.all()):
            if not self._asked or self.clock.now() - self._last_sent > 10.0 * self.info.period:  # a frame was lost
                self._send([b""] * len(self.ids))
            return False
        self._asked, self._answered[:] = False, False
        mode, q, v, tau, fault = self._registers
        state.stamp = self._sent
        state.q[:], state.v[:], state.tau[:] = REVOLUTION * q, REVOLUTION * v, tau
        state.faults[:] = np.where(
            (mode == frames.IN_FAULT) | (fault != 0.0), DeviceStatus.DRIVE_FAULT, DeviceStatus.READY
        )
        state.status = int(DeviceStatus.WATCHDOG if (mode == frames.TIMED_OUT).any() else DeviceStatus.READY)
        return True

    def write(self, command: JointCommand) -> None:
        """Send a command; one that is not finite disables the motors and raises an ArgumentError."""
        if not self._mode:
            return self._send([b""] * len(self.ids))
        check_finite(self, command, self._mode)
        zero, one, none = np.zeros(len(self.ids)), np.ones(len(self.ids)), np.full(len(self.ids), np.nan)
        match self._mode:
            case "torque":
                rows = none, zero, command.tau, zero, zero
            case "position":
                rows = command.q / REVOLUTION, zero, zero, one, one
            case "velocity":
                rows = none, command.v / REVOLUTION, zero, one, one
            case _:
                gains = command.kp * REVOLUTION / self.kp, command.kd * REVOLUTION / self.kd
                rows = command.q / REVOLUTION, command.v / REVOLUTION, command.tau, *gains
        columns = np.array(rows).T.tolist()
        return self._send([frames.position_command(column, self.info.heartbeat) for column in columns])

    def enable(self, mode: str) -> None:
        """Select a mode; the controllers enter position mode with the first command."""
        check_mode(self.info, mode)
        self._mode = mode

    def disable(self) -> None:
        """Stop all motors."""
        self._mode = ""
        if self._bus is not None:
            with suppress(DeviceError):  # their watchdogs stop the motors
                self._send([frames.STOP] * len(self.ids))

    clear = disable  # a stopped controller has no timeout and no fault

    def close(self) -> None:
        """Stop all motors and close the bus."""
        if self._bus is not None:
            self.disable()
            self._bus.shutdown()
            self._bus = None


def can_message(identifier: int, frame: bytes):
    """Return a CAN-FD message: one of python-can if it is installed, otherwise an object with the same attributes."""
    content = frames.padded(frame)
    try:
        from can import Message
    except ImportError:
        return SimpleNamespace(arbitration_id=identifier, data=content)
    return Message(
        arbitration_id=identifier, data=content, is_fd=True, is_extended_id=identifier > 0x7FF, bitrate_switch=True
    )
