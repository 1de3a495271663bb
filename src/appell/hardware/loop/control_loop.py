"""The control loop: one tick per period, on a virtual clock or on that of the machine.

    wait · read · servo · inspect · write · check the deadline · log

A missing or non-finite reading is replaced by the prediction of the observer; after a missed deadline the last output
is held. Both are tolerated a few times in a row, then the arm is stopped (see `supervisor`). Missed ticks are skipped,
not executed later in a burst. The log contains all inputs and outputs of every tick, so that a run can be replayed bit
by bit; the consequences of a missed deadline start with the next tick.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from appell.errors import ArgumentError
from appell.hardware.cabinet.hardware import Hardware
from appell.hardware.clock import Clock
from appell.hardware.loop.journal import Journal
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import ALARMS, FRESH, PERIODS, STOPPING, Servo
from appell.hardware.loop.startup import coarse_offset, coordinates_at, refined_offset
from appell.hardware.loop.supervisor import Fault, Policy, State, Supervisor, Trigger, sentences

_CABINET_FAULTS = Fault.TEMPERATURE | Fault.POWER | Fault.WATCHDOG
RELEVANT_ALARMS = {  # state -> alarms that count in it
    State.IDLE: _CABINET_FAULTS.value,
    State.ARMED: (~Fault.FOLLOWING).value,
    State.RUNNING: (~Fault.NONE).value,
    State.SAFE_STOP: (_CABINET_FAULTS | Fault.POTENTIOMETER).value,
    State.FAULT: _CABINET_FAULTS.value,
}
ALARM_BITS = tuple(fault.value for fault in ALARMS)


class Loop:
    """A servo that controls hardware at the times of a clock; commands are given between ticks.

    Parameters
    ----------
    hardware : Hardware
        A real or simulated cabinet.
    servo : Servo
        The compiled control step for the wiring of the hardware.
    clock : Clock
        The clock that gives the times of the ticks, `MonotonicClock` for real hardware.
    policy : Policy
        Tolerances before the arm is stopped.
    log : str or Path, optional
        File to which every tick is logged.

    Examples
    --------
    >>> import appell as ap
    >>> hw, robot = ap.hardware, ap.load("puma")
    >>> servo, clock = hw.standard_servo(robot), hw.VirtualClock()
    >>> cabinet = hw.SimulatedCabinet(hw.standard_plant(robot, servo.wiring), clock, servo.wiring.start)
    >>> loop = hw.Loop(cabinet, servo, clock)
    >>> loop.run(25)  # reads the potentiometers
    >>> loop.arm()
    >>> loop.state.name
    'ARMED'
    """

    def __init__(
        self,
        hardware: Hardware,
        servo: Servo,
        clock: Clock,
        policy: Policy = Policy(),  # noqa: B008 - frozen
        log: str | Path | None = None,
    ):
        if hardware.wiring != servo.wiring:
            hardware.wiring.check(servo.system)
            raise ArgumentError(f"the servo was made for another wiring than that of {hardware.wiring.name}.")
        self.hardware, self.servo, self.clock, self.period = hardware, servo, clock, servo.design.period
        self.supervisor = Supervisor(policy, self.period)
        n, nu = servo.system.nq, servo.wiring.n
        self._tick = servo.new_bound()
        self._signals = np.zeros(servo.layout.size)
        self._rest = np.zeros((3, n))
        self._zero = np.full(nu, servo.wiring.zero_code)
        self._resolution = servo.wiring.column("resolution")
        self._sum, self._n = np.zeros(nu), n
        self._forget_position()
        self._reference: Reference | None = None
        self._stop_target: np.ndarray | None = None  # reference during a stop
        self._started = 0
        hardware.open()
        self.grid, self._origin = 0, clock.now()
        self._last_time = self._origin
        self.journal = None if log is None else Journal(Path(log), servo, policy, self._origin)

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

    # ---- commands

    def arm(self) -> None:
        """Determine the position from the potentiometers; the outputs stay off."""
        self.supervisor.expect(Trigger.ARM)
        needed = self.supervisor.policy.readings
        if self._readings < needed:
            raise ArgumentError(
                f"the loop has read the potentiometers only {self._readings} times.",
                expected=f"at least {needed} readings",
            )
        start = np.array(self.servo.wiring.start)
        q = self._set_position(coarse_offset(self._sum, self._readings), start)
        self.servo.guard.check_start(self.servo.system, q)
        self.supervisor.execute(Trigger.ARM)

    def refine(self) -> None:
        """Determine the exact position from the index pulses that have passed; see `startup.index_search`."""
        self.supervisor.expect(Trigger.REFINE)
        exact = refined_offset(self.servo.wiring, self.servo.layout, self._signals, self._tick.offset)
        self._set_position(exact, self.position)
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
        reference.check(self.position, *bounds, tracks=self.servo.design.law.tracks)
        self._reference, self._started, self._stop_target = reference, self.grid, None
        self._reset_memory(self.position)
        self.hardware.enable()
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
        self.history.append(f"tick {self.grid}: {by} cleared: {sentences(self.fault)}")
        self.hardware.clear()
        self.supervisor.execute(Trigger.CLEAR)
        self._forget_position()

    def close(self) -> None:
        """Switch the outputs off and close the log."""
        self.hardware.disable()
        self.hardware.close()
        if self.journal is not None:
            self.journal.close()

    # ---- one tick

    def tick(self) -> None:
        """Wait for the next period and execute one control step."""
        supervisor, tick = self.supervisor, self._tick
        supervisor.tick = self.grid
        scheduled = self._origin + self.grid * self.period
        woke = self.clock.wait_until(scheduled)
        arrived = good = self.hardware.read(self._signals)
        reference = self._reference_now()
        self._servo(good, reference)
        if not tick.alarm <= 0.0:  # beyond a limit, or not a number
            good = self._inspect(good, reference)
        if not good or supervisor.lost:
            self._react(supervisor.reading(good, missing=not arrived))
        if supervisor.state is State.SAFE_STOP:
            self._react(supervisor.stopping(float(tick.speed)))
        if not supervisor.moving:
            tick.codes[:] = self._zero
        self.hardware.write(tick.codes)
        if supervisor.state is State.IDLE and good:
            self._collect()
        done = self.clock.now()
        if missed := supervisor.deadline(done - scheduled):
            supervisor.latch(missed)
        if self.journal is not None:
            head = (scheduled, self.grid, woke, done, supervisor.state, supervisor.word, supervisor.commands, arrived)
            self.journal.write(head, self._signals, reference, tick)
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
        """Return the reference of a stop: q_s of (5) in `control.design`, computed when the stop starts."""
        if self._stop_target is None:
            n, memory = self._n, self._tick.memory_next
            self._stop_target = np.zeros((3, n))
            self._stop_target[0] = memory[:n] + memory[n : 2 * n] / self.servo.design.stop_damping
        return self._stop_target

    def _servo(self, fresh: bool, reference: np.ndarray) -> None:
        """Compute one control step, from the signals if they are fresh, otherwise from the prediction."""
        tick, switches = self._tick, self._tick.switches
        time = self._last_time + self.period
        if fresh:
            tick.signals[:] = self._signals
            time = float(self._signals[0])
        tick.memory[:] = tick.memory_next
        tick.reference[:] = reference
        switches[FRESH] = 1.0 if fresh and self._placed else 0.0
        switches[STOPPING] = 1.0 if self.supervisor.state is State.SAFE_STOP else 0.0
        switches[PERIODS] = (time - self._last_time) / self.period
        self._last_time, self._time_before = time, self._last_time
        tick()

    def _inspect(self, good: bool, reference: np.ndarray) -> bool:
        """Determine the faults behind an alarm; return whether the reading could be used."""
        tick = self._tick
        if tick.alarm != tick.alarm:  # not a number: repeat the step without this reading
            good = False
            tick.memory_next[:] = tick.memory
            tick.signals[~np.isfinite(tick.signals)] = 0.0
            self._last_time = self._time_before
            self._servo(False, reference)
        faults = 0
        if tick.alarm != tick.alarm:  # the model cannot be evaluated at the position of the arm
            faults = Fault.NOT_A_NUMBER.value
            tick.memory_next[:] = tick.memory
        for bit, alarm in zip(ALARM_BITS, tick.alarms.tolist(), strict=True):
            if alarm > 0.0:
                faults |= bit
        self._react(faults & RELEVANT_ALARMS[self.supervisor.state])
        return good

    def _react(self, faults: int) -> None:
        """Latch faults; start a stop in the same tick if they require one, and switch the outputs off at rest."""
        supervisor = self.supervisor
        if faults:
            before = supervisor.state
            supervisor.latch(faults)
            if before is State.RUNNING and supervisor.state is State.SAFE_STOP:
                self._tick.switches[STOPPING] = 1.0
                self._tick.reference[:] = self._stopping_reference()
                self._tick()
        if not supervisor.moving and self._reference is not None:
            self._reference = None
            self.hardware.disable()

    # ---- position

    def _collect(self) -> None:
        """Add a reading of the potentiometers to their mean."""
        wiring, at = self.servo.wiring, self.servo.layout.at
        self._sum += wiring.position(self._signals[at["volts"]]) - self._by_counts()
        self._readings += 1

    def _by_counts(self) -> np.ndarray:
        return (self._signals[self.servo.layout.at["counts"]] + 0.5) / self._resolution

    def _set_position(self, offset: np.ndarray, near: np.ndarray) -> np.ndarray:
        q = coordinates_at(self.servo.design.parts.smooth, self._by_counts() + offset, near)
        self._tick.offset[:] = offset
        self._placed = True
        self._reset_memory(q)
        return q

    def _reset_memory(self, q: np.ndarray) -> None:
        self._tick.memory_next[:] = self.servo.memory.start
        self._tick.memory_next[: len(q)] = q

    def _forget_position(self) -> None:
        """Discard the position; until the loop is armed, the system is assumed to be at its start."""
        self._sum[:], self._readings, self._placed = 0.0, 0, False
        self._reset_memory(np.array(self.servo.wiring.start))
