"""A recorded log as a device: its states at their times. Commands are ignored, or compared with recorded torques."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from appell.errors import ArgumentError, DeviceError, unknown_name
from appell.hardware.clock import Clock
from appell.hardware.device import MODES, DeviceInfo, JointCommand, JointState
from appell.hardware.devices.drives import check_mode
from appell.hardware.loop.journal import MEASURED
from appell.model.system import System
from appell.motion.record import Record


class ReplayedLog:
    """The states of a log. After its last row there is no new state.

    Parameters
    ----------
    system : System
        The robot; the log must have the columns q of its actuators, and can have v and tau. In the log of a control
        loop, the measured positions, speeds and torques are used.
    clock : the clock of the loop; the first row is at the time of `open`
    log : str, Path or Record
        The log.
    tolerance : float, optional
        Largest difference of a commanded torque from the recorded one, in N m or N; beyond it, `write` raises a
        DeviceError. By default commands are ignored.

    Examples
    --------
    >>> import appell as ap, numpy as np
    >>> robot, clock = ap.load("pendulum"), ap.hardware.VirtualClock()
    >>> log = ap.Record.of(np.array([0.0, 0.1]), {"q": np.array([[0.3], [0.4]])}, robot.coordinate_names)
    >>> device = ReplayedLog(robot, clock, log=log)
    >>> state = ap.hardware.JointState(device.info)
    >>> device.open()
    >>> device.read(state), float(state.q[0]), device.read(state)
    (True, 0.3, False)
    """

    def __init__(self, system: System, clock: Clock, *, log: str | Path | Record, tolerance: float | None = None):
        record = log if isinstance(log, Record) else Record.read(log)
        names = tuple(system.actuator_names)
        of_loop = "qm" in record.quantities
        titles = {kind: MEASURED[kind] if of_loop else kind for kind in ("q", "v", "tau")}
        if titles["q"] not in record.quantities:
            raise ArgumentError(f"the log has no positions; its columns are {', '.join(record.columns[:20])}.")
        for name in names:
            if name not in record.names(titles["q"]):
                raise ArgumentError(unknown_name("actuator", name, record.names(titles["q"]), "the log"))
        if tolerance is not None and "tau" not in record.quantities:
            raise ArgumentError("the log has no torques to compare with.", hint="Omit the tolerance.")
        if len(record) == 0 or (np.diff(record.t) <= 0.0).any():
            raise ArgumentError("the times of the log do not increase.", expected="at least one row, increasing times")
        measures = tuple(kind for kind, title in titles.items() if title in record.quantities)
        self.clock, self.tolerance, self.record = clock, tolerance, record
        self._t, self._blocks = record.t, {kind: record.block(titles[kind], names) for kind in measures}
        self._torques = record.block("tau", names) if tolerance is not None else None
        period = float(np.median(np.diff(record.t))) if len(record) > 1 else 1e-3
        self.info = DeviceInfo("replayed log", names, MODES, period, heartbeat=np.inf, measures=measures)
        self._origin, self._row, self._mode = clock.now(), -1, ""

    def open(self) -> None:
        """Start at the first row of the log."""
        self._origin, self._row = self.clock.now() - self._t[0], -1

    def read(self, state: JointState) -> bool:
        """Take the last row up to the present time; return False if it is not a new one."""
        row = int(np.searchsorted(self._t, self.clock.now() - self._origin + 1e-9, side="right")) - 1
        if row <= self._row:
            return False
        self._row = row
        state.stamp = self._origin + self._t[row]
        for kind, block in self._blocks.items():
            getattr(state, kind)[:] = block[row]
        return True

    def write(self, command: JointCommand) -> None:
        """Compare the torques of a command with the recorded ones, if there is a tolerance."""
        if self.tolerance is None or self._torques is None or self._mode != "torque" or self._row < 0:
            return
        recorded = self._torques[self._row]
        difference = np.abs(command.tau - recorded)
        if not (difference <= self.tolerance).all():
            k = int(np.nanargmax(np.where(np.isfinite(difference), difference, np.inf)))
            raise DeviceError(
                f"the torque of actuator '{self.info.actuators[k]}' at {self._t[self._row]:g} s is "
                f"{command.tau[k]:g} and differs from the recorded {recorded[k]:g}.",
                expected=f"a difference of at most {self.tolerance:g}",
            )

    def enable(self, mode: str) -> None:
        """Select the mode, which matters only for the comparison."""
        check_mode(self.info, mode)
        self._mode = mode

    def disable(self) -> None:
        """End the comparison."""
        self._mode = ""

    clear = close = disable
