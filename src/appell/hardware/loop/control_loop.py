"""The control loop: one tick per period, on a virtual clock or on that of the machine.

    wait · read · servo · inspect · write · check the deadline · log

A state that is missing, old or not finite is replaced by the prediction of the observer; after a missed deadline the
last command is held. Both are tolerated a few times in a row, then the arm is stopped (see `supervisor`). Missed ticks
are skipped, not executed later in a burst. The log contains all inputs and outputs of every tick, so that a run can be
replayed bit by bit; the consequences of a missed deadline start with the next tick.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path

import numpy as np

from appell.control.axes import axis_word
from appell.errors import ArgumentError, DeviceError
from appell.hardware.clock import Clock
from appell.hardware.device import Device, JointCommand, JointState
from appell.hardware.devices import check_device
from appell.hardware.loop.journal import Journal
from appell.hardware.loop.reasons import Snapshot, explain
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import FRESH, PERIODS, STOPPING, Servo, check_actuators
from appell.hardware.loop.startup import coordinates_at
from appell.hardware.loop.supervisor import (
    DEVICE_FAULTS,
    RELEVANT_ALARMS,
    Fault,
    Policy,
    State,
    Supervisor,
    Trigger,
)

ALARM_BITS = (Fault.POSITION.value, Fault.VELOCITY.value, Fault.FOLLOWING.value)


class Loop:
    """A servo that controls a device at the times of a clock; commands are given between ticks.

    Parameters
    ----------
    device : a real or simulated robot
    servo : the compiled control step for this kind of device
    clock : the clock that gives the times of the ticks, `MonotonicClock` for a real robot
    policy : tolerances before the arm is stopped
    log : file to which every tick is logged

    Examples
    --------
    >>> import appell as ap
    >>> hw, robot, clock = ap.hardware, ap.load("puma"), ap.hardware.VirtualClock()
    >>> arm = hw.SimulatedArm(robot, clock)
    >>> loop = hw.Loop(arm, hw.standard_servo(robot, arm.info), clock)
    >>> loop.run(25)  # reads the state of the arm
    >>> loop.arm()
    >>> loop.state.name
    'ARMED'
    """

    def __init__(
        self,
        device: Device,
        servo: Servo,
        clock: Clock,
        policy: Policy = Policy(),  # noqa: B008 - frozen
        log: str | Path | None = None,
    ):
        check_device(device, getattr(getattr(device, "info", None), "name", type(device).__name__))
        info = device.info
        check_actuators(info, servo.system.actuator_names)
        for name in ("measures", "sensors", "resolution"):
            if getattr(info, name) != getattr(servo.info, name):
                raise ArgumentError(
                    f"the servo was made for another device: {info.name} has {name} {getattr(info, name)}, the servo "
                    f"{getattr(servo.info, name)}.",
                    hint="Make the servo with the info of this device.",
                )
        policy = policy if policy.stop_time is not None else replace(policy, stop_time=servo.stop_time)
        self.device, self.servo, self.clock, self.period = device, servo, clock, servo.design.period
        self.supervisor = Supervisor(policy, self.period)
        n, nu = servo.system.nq, servo.system.nu
        self._tick, self._n = servo.new_bound(), n
        self._state, self._command = JointState(info), JointCommand(nu, self._tick.command)
        self._rest = np.zeros((3, n))
        self._max_age = info.heartbeat + info.latency + policy.lost * self.period
        self._home = np.zeros(nu) if hasattr(device, "home") else None
        self._forget_position()
        self._reference: Reference | None = None
        self._stop_start: np.ndarray | None = None  # where a stop starts, of shape (2, n)
        self._stop_target = np.zeros((3, n))
        self._started, self._late, self._reading = 0, 0.0, ""
        device.open()
        self.grid, self._origin = 0, clock.now()
        self._last_time, self._last_stamp = self._origin, -np.inf
        self.journal = None if log is None else Journal(Path(log), servo, info, policy, self._origin, self._home)

    @property
    def state(self) -> State:
        """Current state."""
        return self.supervisor.state

    @property
    def fault(self) -> Fault:
        """Faults that have occurred and have not been cleared."""
        return self.supervisor.fault

    @property
    def history(self) -> list[str]:
        """Changes of state and faults with their ticks, as text."""
        return self.supervisor.history

    @property
    def position(self) -> np.ndarray:
        """Estimated configuration of the system, of shape (nq,)."""
        return self._tick.memory_next[: self._n].copy()

    @property
    def ready(self) -> bool:
        """Whether enough states have been received to arm."""
        return self._readings >= self.supervisor.policy.readings

    @property
    def sentence(self) -> str:
        """The faults that have not been cleared, with joints, values, limits and remedies."""
        return self.supervisor.sentence

    # ---- commands

    def arm(self) -> None:
        """Determine the position of the system from the actuators; the drives stay off."""
        self.supervisor.expect(Trigger.ARM)
        needed = self.supervisor.policy.readings
        if not self.ready:
            reason = f": {self.device.info.name} {self._reading}" if self._reading else ""
            raise ArgumentError(
                f"the loop has received only {self._readings} good states{reason}.",
                expected=f"at least {needed} states",
                hint="Run more ticks first, and check the device.",
            )
        q = self._set_position(self._state.q, self.servo.system.start)
        self.servo.guard.check_start(self.servo.system, q)
        if self.servo.margin is not None:
            hint = "Move the arm by hand, or pass a smaller margin."
            self.servo.margin.check(q, f"where {self.device.info.name} stands", hint)
        self._reading = ""
        self.supervisor.execute(Trigger.ARM)

    def refine(self) -> None:
        """Take over the exact position that the device has found; see `startup.homing_motion`."""
        self.supervisor.expect(Trigger.REFINE)
        if self._home is None:
            raise ArgumentError(f"{self.device.info.name} needs no homing.", expected="a device with home()")
        self._home[:] = self.device.home()  # type: ignore[attr-defined]
        self._set_position(self._home, self.position)
        self.supervisor.execute(Trigger.REFINE)

    def start(self, reference: Reference) -> None:
        """Switch the outputs on and follow the reference from the next tick; hold its end afterwards."""
        self.supervisor.expect(Trigger.START)
        if not np.isclose(reference.period, self.period, rtol=1e-9):
            raise ArgumentError(
                f"the period of the reference is {reference.period:g} s, that of the loop {self.period:g} s."
            )
        guard = self.servo.guard
        bounds = (np.array(guard.lower), np.array(guard.upper), np.array(guard.velocity))
        reference.check(self.position, *bounds, tracks=self.servo.tracks)
        self._reset_memory(self.position)
        self.device.enable(self.servo.mode)
        # preparing the reference and enabling the device may have taken longer than a period
        self.grid = max(self.grid, int((self.clock.now() - self._origin) / self.period + 1e-6) + 1)
        self._reference, self._started, self._stop_start = reference, self.grid, None
        self.supervisor.execute(Trigger.START)

    def stop(self) -> None:
        """Brake the arm under control, with gravity compensation; at rest the outputs are switched off."""
        self.supervisor.execute(Trigger.STOP)

    def disarm(self) -> None:
        """Return to state IDLE and discard the position."""
        self.supervisor.execute(Trigger.DISARM)
        self._forget_position()

    def clear(self, by: str) -> None:
        """Clear the faults, on the responsibility of a person whose name is logged."""
        self.supervisor.expect(Trigger.CLEAR)
        if not by.strip():
            raise ArgumentError("the name of the person who clears the fault is missing.", expected="a name")
        self.history.append(f"tick {self.grid}: {by} cleared: {self.sentence}")
        self.device.clear()
        self.supervisor.execute(Trigger.CLEAR)
        self._forget_position()

    def close(self) -> None:
        """Switch the outputs off and close the log."""
        self.device.disable()
        self.device.close()
        if self.journal is not None:
            self.journal.close()

    # ---- one tick

    def tick(self) -> None:
        """Wait for the next period and execute one control step."""
        supervisor, tick = self.supervisor, self._tick
        supervisor.tick = self.grid
        scheduled = self._origin + self.grid * self.period
        woke = self.clock.wait_until(scheduled)
        try:
            arrived = good = self.device.read(self._state)
        except DeviceError as error:
            arrived = good = False
            self._reading = f"failed: {error.problem}"
        if arrived:
            stamp = float(self._state.numbers[0])
            good = stamp > self._last_stamp and woke - stamp <= self._max_age
            if good:
                self._last_stamp = stamp
            else:
                self._reading = self._stamp_problem(stamp, woke)
        reference = self._reference_now()
        self._servo(good, reference)
        if not tick.alarm <= 0.0:  # beyond a limit, or not a number
            good = self._inspect(good, reference)
        if not good or supervisor.lost:
            faults = supervisor.reading(good, missing=not arrived or bool(self._reading))
            self._react(faults)
            if good:
                self._reading = ""
        if supervisor.state is State.SAFE_STOP:
            self._react(supervisor.stopping(float(tick.speed)))
        if not supervisor.moving:
            tick.command[:] = 0.0  # no torque
            if self.servo.mode != "torque":
                self._command.q[:] = self._state.q
        try:
            self.device.write(self._command)
        except DeviceError as error:  # without commands, there will be no good state either
            self._reading = f"failed: {error.problem}"
        if supervisor.state is State.IDLE and good:
            self._readings += 1
        done = self.clock.now()
        if missed := supervisor.deadline(done - scheduled):
            self._late = done - scheduled
            supervisor.latch(missed, self._explain)
        if self.journal is not None:
            head = (scheduled, self.grid, woke, done, supervisor.state, supervisor.word, supervisor.commands, arrived)
            self.journal.write(head, self._state.numbers, reference, tick.memory_next, self._command)
        supervisor.commands = 0
        passed = int((done - self._origin) / self.period + 1e-6)
        self.grid = max(passed, self.grid) + 1

    def run(self, ticks: int) -> None:
        """Execute a number of ticks."""
        for _ in range(ticks):
            self.tick()

    def _reference_now(self) -> np.ndarray:
        if self._reference is None or not self.supervisor.moving:
            self._rest[0] = self._tick.memory_next[: self._n]
            return self._rest
        if self.supervisor.state is State.SAFE_STOP:
            return self._stopping_reference()
        k = self.grid - self._started
        return self._reference.samples[k] if k < len(self._reference.samples) else self._reference.end

    def _stopping_reference(self) -> np.ndarray:
        """Return the reference of a stop: q_s of (5) in `control.design`, computed when the stop starts.

        A device that closes the loop itself follows the motion that (5) would give, from the last reference.
        """
        n, target, damping = self._n, self._stop_target, self.servo.design.stop_damping
        if self._stop_start is None:
            self._stop_tick = self.grid
            torque = self.servo.mode == "torque"
            self._stop_start = (
                self._tick.memory_next[: 2 * n].reshape(2, n) if torque else self._tick.reference[:2]
            ).copy()
            target[:] = 0.0
            target[0] = self._stop_start[0] + self._stop_start[1] / damping
        if self.servo.mode != "torque":
            q, v = self._stop_start
            decay = np.exp(-damping * self.period * (self.grid - self._stop_tick))
            target[:] = q + v / damping * (1.0 - decay), decay * v, -damping * decay * v
        return target

    def _servo(self, fresh: bool, reference: np.ndarray) -> None:
        """Compute one control step, from the state if it is fresh, otherwise from the prediction."""
        tick, switches = self._tick, self._tick.switches
        time = self._last_time + self.period
        if fresh:
            tick.state[:] = self._state.numbers
            time = self._last_stamp
        tick.memory[:] = tick.memory_next
        tick.reference[:] = reference
        switches[FRESH] = 1.0 if fresh and self._placed else 0.0
        switches[STOPPING] = 1.0 if self.supervisor.state is State.SAFE_STOP else 0.0
        switches[PERIODS] = (time - self._last_time) / self.period
        self._last_time, self._time_before = time, self._last_time
        tick()

    def _inspect(self, good: bool, reference: np.ndarray) -> bool:
        """Determine the faults behind an alarm; return whether the state could be used."""
        tick = self._tick
        if tick.alarm != tick.alarm:  # not a number: repeat the step without this state
            good = False
            tick.memory_next[:] = tick.memory
            tick.state[~np.isfinite(tick.state)] = 0.0
            self._last_time = self._time_before
            self._servo(False, reference)
        faults = 0
        if tick.alarm != tick.alarm:  # the model cannot be evaluated at the position of the arm
            faults = Fault.NOT_A_NUMBER.value
            tick.memory_next[:] = tick.memory
        for bit, alarm in zip(ALARM_BITS, tick.alarms[:3].tolist(), strict=True):
            if alarm > 0.0:
                faults |= bit
        if self.servo.observes_contacts and tick.alarms[4] > 0.0:
            faults |= Fault.CONTACT.value
        if self.servo.margin is not None and tick.alarms[-1] > 0.0:
            faults |= Fault.COLLISION.value
        if tick.alarms[3] > 0.0:
            at = self.servo.layout.at
            words = [*tick.state[at["status"]], *tick.state[at["faults"]]]
            reported = reduce(or_, (int(word) for word in words))
            faults |= sum(fault.value for status, fault in DEVICE_FAULTS.items() if reported & status)
        self._react(faults & RELEVANT_ALARMS[self.supervisor.state])
        return good

    def _react(self, faults: int) -> None:
        """Latch faults; start a stop in the same tick if they require one, and switch the drives off at rest."""
        supervisor = self.supervisor
        if faults:
            before = supervisor.state
            supervisor.latch(faults, self._explain)
            if before is State.RUNNING and supervisor.state is State.SAFE_STOP:
                self._tick.switches[STOPPING] = 1.0
                self._tick.reference[:] = self._stopping_reference()
                self._tick()
        if not supervisor.moving and self._reference is not None:
            self._reference = None
            self.device.disable()

    def _stamp_problem(self, stamp: float, now: float) -> str:
        if not stamp > self._last_stamp:
            return f"sent a state with the stamp {stamp:.6g} s after one with {self._last_stamp:.6g} s"
        return f"sent a state that is {now - stamp:.3g} s old, more than {self._max_age:.3g} s"

    def _explain(self, fault: Fault) -> str:
        n, system = self._n, self.servo.system
        memory, state = self._tick.memory_next, self._state
        return explain(
            fault,
            Snapshot(
                system.coordinate_names,
                system.coordinate_units,
                system.actuator_names,
                self.device.info.name,
                self.servo.guard,
                self.supervisor.policy,
                self.period,
                memory[:n],
                memory[n : 2 * n],
                self._tick.reference[0],
                state.q,
                self._tick.state[self.servo.layout.at["faults"]],
                self._late,
                self._reading,
                axis_word(system, "coordinate"),
                self.servo.nearest(memory[:n]) if Fault.COLLISION in fault else "",
            ),
        )

    # ---- position

    def _set_position(self, theta: np.ndarray, near: np.ndarray) -> np.ndarray:
        q = coordinates_at(self.servo.design.parts.smooth, theta, near)
        self._placed = True
        self._reset_memory(q)
        return q

    def _reset_memory(self, q: np.ndarray) -> None:
        self._tick.memory_next[:] = self.servo.memory.start
        self._tick.memory_next[: len(q)] = q

    def _forget_position(self) -> None:
        """Discard the position; until the loop is armed, the system is assumed to be at its start."""
        self._readings, self._placed = 0, False
        self._reset_memory(self.servo.system.start)
