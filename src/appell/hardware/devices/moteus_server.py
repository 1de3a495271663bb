"""Simulated moteus controllers: the motors of a device that offers impedance mode, on a bus.

Every controller has the registers that `moteus_frames` lists, its own watchdog, and one mode of the firmware: position
mode with a position, or with the one that the commanded velocity has reached, scaled gains and a feed-forward torque.
In all other modes it has no torque. After a timeout it must be stopped first.
"""

from __future__ import annotations

import math
import time

import numpy as np

from appell.errors import ArgumentError
from appell.hardware.device import DeviceInfo, JointState
from appell.hardware.devices import moteus_frames as frames
from appell.hardware.devices.moteus import REVOLUTION, can_message
from appell.hardware.devices.moteus_frames import Bus
from appell.hardware.devices.serving import ServedDevice

DEFAULT_TIMEOUT_S = 0.1
MAX_FRAMES = 1000  # that are handled between two steps
BUS_VOLTAGE, MOTOR_TEMPERATURE = 24.0, 25.0
ROWS = ("position", "velocity", "torque", "kp", "kd")  # consecutive registers from COMMAND_POSITION on


class MoteusServer:
    """The controllers of the motors of a device; an `Endpoint` for `serve`.

    Parameters
    ----------
    info : description of the served device, which must offer impedance mode
    bus : the bus, such as `UdpBus(host, port, serve=True)` or a virtual bus of python-can
    kp, kd : gains of the controllers, in N m/revolution and N m s/revolution
    """

    def __init__(self, info: DeviceInfo, bus: Bus, kp: float = 4.0, kd: float = 0.05):
        if "impedance" not in info.modes:
            raise ArgumentError(f"device '{info.name}' does not offer impedance mode.", expected="a device that does")
        n = len(info.actuators)
        self.info, self.bus, self.kp, self.kd = info, bus, kp, kd
        self.mode = np.zeros(n, int)
        self.command = np.zeros((len(ROWS), n))
        self.command[3:] = 1.0
        self.timeout, self.deadline = np.full(n, DEFAULT_TIMEOUT_S), np.full(n, math.inf)
        self._measured = np.zeros((3, n))

    def exchange(self, drive: ServedDevice, deadline: float) -> None:
        """Answer frames until the deadline."""
        for _ in range(MAX_FRAMES):
            message = self.bus.recv(max(0.0, deadline - time.monotonic()))
            if message is None:
                return
            self._handle(message, drive)

    def _handle(self, message, drive: ServedDevice) -> None:
        k = (message.arbitration_id & 0x7F) - 1
        if not 0 <= k < len(self.info.actuators):
            return
        request = bytes(message.data)
        try:
            written = frames.values_of(frames.WRITE, request)
        except ValueError:  # a controller ignores frames that are not valid
            return
        if written:
            self._write(k, written, drive)
        if message.arbitration_id & frames.REPLY_REQUESTED:
            q, v, tau = self._measured[:, k].tolist()
            registers = {
                frames.MODE: int(self.mode[k]),
                frames.POSITION: q / REVOLUTION,
                frames.VELOCITY: v / REVOLUTION,
            }
            registers |= {frames.TORQUE: tau, frames.FAULT: 0, frames.COMMAND_TIMEOUT: float(self.timeout[k])}
            registers |= {frames.VOLTAGE: BUS_VOLTAGE, frames.TEMPERATURE: MOTOR_TEMPERATURE}
            identifier = (k + 1) << 8 | message.arbitration_id >> 8 & 0x7F
            self.bus.send(can_message(identifier, frames.reply(registers, request)))

    def _write(self, k: int, written: dict, drive: ServedDevice) -> None:
        now = drive.clock.time
        requested = written.get(frames.MODE)
        if requested == frames.STOPPED:
            self.mode[k], self.deadline[k] = frames.STOPPED, math.inf
        elif requested == frames.IN_POSITION and self.mode[k] != frames.TIMED_OUT:
            first = self.mode[k] != frames.IN_POSITION
            self.mode[k] = frames.IN_POSITION
            target = self.command[0, k]
            self.command[:, k] = [math.nan, 0.0, 0.0, 1.0, 1.0]
            for row in range(len(ROWS)):
                if frames.COMMAND_POSITION + row in written:
                    self.command[row, k] = written[frames.COMMAND_POSITION + row]
            if math.isnan(self.command[0, k]):  # continue from the position that the velocity has reached
                self.command[0, k] = self._measured[0, k] / REVOLUTION if first else target
            self.timeout[k] = written.get(frames.COMMAND_TIMEOUT, self.timeout[k])
            self.deadline[k] = now + (math.inf if math.isnan(self.timeout[k]) else self.timeout[k])
        self._apply(drive)

    def _apply(self, drive: ServedDevice) -> None:
        """Send the commands of all motors to the device, and enable it while a motor is in position mode."""
        active = self.mode == frames.IN_POSITION
        if not active.any():
            if drive.mode:
                drive.set_mode("")
            return
        if not drive.mode:
            drive.clear()
            drive.set_mode("impedance")
        position, velocity, torque, kp, kd = np.where(active, self.command, 0.0)
        drive.command.q[:], drive.command.v[:], drive.command.tau[:] = (
            REVOLUTION * position,
            REVOLUTION * velocity,
            torque,
        )
        drive.command.kp[:], drive.command.kd[:] = kp * self.kp / REVOLUTION, kd * self.kd / REVOLUTION
        drive.write()

    def publish(self, state: JointState, drive: ServedDevice) -> None:
        """Store the measured state, move targets with their velocities, and stop motors without commands."""
        self._measured[:] = state.q, state.v, state.tau
        active = self.mode == frames.IN_POSITION
        self.command[0] += np.where(active, self.info.period * self.command[1], 0.0)
        expired = active & (drive.clock.time > self.deadline)
        if active.any() and not drive.mode:  # the device has entered its safe state by itself
            expired = active
        if expired.any():
            self.mode[expired] = frames.TIMED_OUT
            self._apply(drive)

    def close(self) -> None:
        """Close the bus."""
        self.bus.shutdown()
