"""Serve a device to other programs through a protocol, in real time.

The time of the device follows that of the machine in whole steps. Messages are handled when they arrive, between two
steps; the device sees them at the time of the last step. A process that was delayed handles all messages that have
arrived and then catches up step by step, so that the device's own watchdog acts as it would have done in time.
"""

from __future__ import annotations

from pathlib import Path
from threading import Event
from typing import Protocol

import numpy as np

from appell.errors import AppellError
from appell.hardware.clock import MonotonicClock, VirtualClock
from appell.hardware.device import Device, JointCommand, JointState
from appell.hardware.devices.drives import invalid_entries
from appell.motion.journal import JournalWriter
from appell.motion.titles import titles

COLUMNS = ("t", "beat", "enabled", "status")


class Endpoint(Protocol):
    """One side of a protocol: receives commands for a device and sends its states."""

    def exchange(self, drive: ServedDevice, deadline: float) -> None:
        """Handle messages until the monotonic clock reaches `deadline`, in s."""

    def publish(self, state: JointState, drive: ServedDevice) -> None:
        """Send a new state."""

    def close(self) -> None:
        """Close all connections."""


class ServedDevice:
    """A served device, with the mode that a client has enabled; errors of the device disable it."""

    def __init__(self, device: Device, clock: VirtualClock):
        self.device, self.clock, self.mode, self.beat, self.problem = device, clock, "", 0.0, ""
        self.command, self.state = JointCommand(len(device.info.actuators)), JointState(device.info)

    def set_mode(self, mode: str) -> None:
        """Enable a mode, or disable the device if the mode is empty; a mode it lacks disables it."""
        self.mode, self.beat, self.problem = "", self.clock.time, ""
        try:
            if mode:
                self.device.enable(mode)
            else:
                self.device.disable()
            self.mode = mode
        except AppellError as error:
            self.problem = str(error)
            self.device.disable()

    def clear(self) -> None:
        """Disable the device and reset its faults."""
        self.set_mode("")
        self.device.clear()
        self.state.status, self.state.faults[:] = 0, 0.0

    def write(self) -> None:
        """Pass the command on to the device; one that is not finite disables it."""
        self.beat = self.clock.time
        if self.mode and invalid_entries(self.command, self.mode).any():
            self.problem = "a command was not finite"
            return self.set_mode("")
        return self.device.write(self.command)


def serve(
    device: Device,
    clock: VirtualClock,
    endpoint: Endpoint,
    log: Path | None = None,
    seconds: float = np.inf,
    stop: Event | None = None,
) -> None:
    """Serve a device until the time is over or the process is interrupted.

    Parameters
    ----------
    device : the device
    clock : the clock with which the device was made
    endpoint : the protocol
    log : file to which every state of the device is logged
    seconds : time after which the server ends; unlimited by default
    stop : event that ends the server
    """
    real = MonotonicClock()
    info, drive = device.info, ServedDevice(device, clock)
    names = [title for kind in ("q", "v", "tau") for title in titles(kind, info.actuators)]
    about = {"robot": info.name, "period": info.period, "heartbeat": info.heartbeat, "safe_state": info.safe_state}
    writer = None if log is None else JournalWriter(log, (*COLUMNS, *names), about)
    n, state = len(info.actuators), drive.state
    try:
        clock.time = started = real.now()
        device.open()
        while clock.time - started < seconds and not (stop is not None and stop.is_set()):
            endpoint.exchange(drive, clock.time + info.period)
            clock.time += info.period
            if not device.read(state):
                continue
            if drive.mode and (state.status or state.faults.any()):
                drive.mode = ""  # the device has entered its safe state by itself
            endpoint.publish(state, drive)
            if writer is not None:
                writer.row[:4] = state.stamp, drive.beat, bool(drive.mode), state.status
                writer.row[4:] = state.numbers[2 : 2 + 3 * n]
                writer.commit()
    finally:
        device.close()
        endpoint.close()
        if writer is not None:
            writer.close()
