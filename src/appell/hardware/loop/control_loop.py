"""The control loop: one tick a period, the same on a virtual clock and on the machine's.

    wait · read · servo · inspect · write · judge the deadline · log

A reading that does not come, or is not numbers, is bridged by the observer's prediction, a missed deadline by holding
the last output; both a few times in a row, then the arm is stopped (see `states`). Ticks that were slept through are
skipped, never made up for in a burst. The log holds everything a tick took in and wrote, so that it can be replayed bit
by bit: what a missed deadline leads to begins with the next tick.
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

_OUTSIDE = Fault.TEMPERATURE | Fault.POWER | Fault.WATCHDOG
MEANT = {  # the alarms that mean something in each state
    State.IDLE: _OUTSIDE.value,
    State.ARMED: (~Fault.FOLLOWING).value,
    State.RUNNING: (~Fault.NONE).value,
    State.SAFE_STOP: (_OUTSIDE | Fault.POTENTIOMETER).value,
    State.FAULT: _OUTSIDE.value,
}
BITS = tuple(fault.value for fault in ALARMS)


class Loop:
    """A servo on hardware, by a clock; commands are given between ticks."""

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
            raise ArgumentError(f"the servo is made for another wiring than that of {hardware.wiring.name}.")
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
        self._stand: np.ndarray | None = None  # where a stop is to end, as a reference
        self._started = 0
        hardware.open()
        self.grid, self._origin = 0, clock.now()
        self._last_time = self._origin
        self.journal = None if log is None else Journal(Path(log), servo, policy, self._origin)

    @property
    def state(self) -> State:
        return self.supervisor.state

    @property
    def fault(self) -> Fault:
        return self.supervisor.fault

    @property
    def history(self) -> list[str]:
        """States and faults, tick by tick, in words."""
        return self.supervisor.history

    @property
    def position(self) -> np.ndarray:
        """Where the arm is, as far as the loop knows."""
        return self._tick.memory_next[: self._n].copy()

    # ---- commands

    def arm(self) -> None:
        """Take the position from the potentiometers; the outputs stay off."""
        self.supervisor.expect(Trigger.ARM)
        wanted = self.supervisor.policy.readings
        if self._readings < wanted:
            raise ArgumentError(
                f"the loop has read the potentiometers {self._readings} times.", expected=f"{wanted} or more"
            )
        start = np.array(self.servo.wiring.start)
        q = self._take_position(coarse_offset(self._sum, self._readings), start)
        self.servo.guard.check_start(self.servo.system, q)
        self.supervisor.obey(Trigger.ARM)

    def refine(self) -> None:
        """Take the exact position from the index pulses that have passed; see `startup.index_search`."""
        self.supervisor.expect(Trigger.REFINE)
        exact = refined_offset(self.servo.wiring, self.servo.layout, self._signals, self._tick.offset)
        self._take_position(exact, self.position)
        self.supervisor.obey(Trigger.REFINE)

    def start(self, reference: Reference) -> None:
        """Switch the outputs on and follow the reference from the next tick on; after its end, hold."""
        self.supervisor.expect(Trigger.START)
        if not np.isclose(reference.period, self.period, rtol=1e-9):
            raise ArgumentError(f"the reference has a period of {reference.period:g} s, the loop {self.period:g} s.")
        guard = self.servo.guard
        bounds = (np.array(guard.lower), np.array(guard.upper), np.array(guard.velocity))
        reference.check(self.position, *bounds, tracks=self.servo.design.law.tracks)
        self._reference, self._started, self._stand = reference, self.grid, None
        self._remember(self.position)
        self.hardware.enable()
        self.supervisor.obey(Trigger.START)

    def stop(self) -> None:
        """Brake the arm, carrying its weight; at rest the outputs go off."""
        self.supervisor.obey(Trigger.STOP)

    def disarm(self) -> None:
        self.supervisor.obey(Trigger.DISARM)
        self._forget_position()

    def clear(self, by: str) -> None:
        """A person, named, declares the faults dealt with."""
        self.supervisor.expect(Trigger.CLEAR)
        if not by.strip():
            raise ArgumentError("nobody clears the fault.", expected="the name of a person")
        self.history.append(f"tick {self.grid}: {by} cleared: {sentences(self.fault)}")
        self.hardware.clear()
        self.supervisor.obey(Trigger.CLEAR)
        self._forget_position()

    def close(self) -> None:
        """Outputs off, log closed."""
        self.hardware.disable()
        self.hardware.close()
        if self.journal is not None:
            self.journal.close()

    # ---- one tick

    def tick(self) -> None:
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
            self._react(supervisor.reading(good, number=not arrived))
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
        for _ in range(ticks):
            self.tick()

    def _reference_now(self) -> np.ndarray:
        if self._reference is None or not self.supervisor.moving:
            self._rest[0] = self._tick.memory_next[: self._n]
            return self._rest
        if self.supervisor.state is State.SAFE_STOP:
            return self._standing()
        k = self.grid - self._started
        return self._reference.samples[k] if k < len(self._reference.samples) else self._reference.end

    def _standing(self) -> np.ndarray:
        """Where braking by (5) of `design` leads from here, or led when the stop began."""
        if self._stand is None:
            n, memory = self._n, self._tick.memory_next
            self._stand = np.zeros((3, n))
            self._stand[0] = memory[:n] + memory[n : 2 * n] / self.servo.design.stop_damping
        return self._stand

    def _servo(self, fresh: bool, reference: np.ndarray) -> None:
        """One control step, from the signals if they are fresh, else from what was to be expected."""
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
        """Something is wrong: find out what. Whether the reading could be used."""
        tick = self._tick
        if tick.alarm != tick.alarm:  # not a number: do without this reading
            good = False
            tick.memory_next[:] = tick.memory
            tick.signals[~np.isfinite(tick.signals)] = 0.0
            self._last_time = self._time_before
            self._servo(False, reference)
        found = 0
        if tick.alarm != tick.alarm:  # the arm is where its model cannot be
            found = Fault.NOT_A_NUMBER.value
            tick.memory_next[:] = tick.memory
        for bit, alarm in zip(BITS, tick.alarms.tolist(), strict=True):
            if alarm > 0.0:
                found |= bit
        self._react(found & MEANT[self.supervisor.state])
        return good

    def _react(self, found: int) -> None:
        """Latch what was found and, if that stops the arm, do so in this very tick; outputs off whenever it stands."""
        supervisor = self.supervisor
        if found:
            before = supervisor.state
            supervisor.latch(found)
            if before is State.RUNNING and supervisor.state is State.SAFE_STOP:
                self._tick.switches[STOPPING] = 1.0
                self._tick.reference[:] = self._standing()
                self._tick()
        if not supervisor.moving and self._reference is not None:
            self._reference = None
            self.hardware.disable()

    # ---- position

    def _collect(self) -> None:
        wiring, at = self.servo.wiring, self.servo.layout.at
        self._sum += wiring.position(self._signals[at["volts"]]) - self._by_counts()
        self._readings += 1

    def _by_counts(self) -> np.ndarray:
        return (self._signals[self.servo.layout.at["counts"]] + 0.5) / self._resolution

    def _take_position(self, offset: np.ndarray, near: np.ndarray) -> np.ndarray:
        q = coordinates_at(self.servo.design.parts.smooth, self._by_counts() + offset, near)
        self._tick.offset[:] = offset
        self._placed = True
        self._remember(q)
        return q

    def _remember(self, q: np.ndarray) -> None:
        self._tick.memory_next[:] = 0.0
        self._tick.memory_next[: len(q)] = q

    def _forget_position(self) -> None:
        """Until somebody arms the loop, the system is believed to stand at its start."""
        self._sum[:], self._readings, self._placed = 0.0, 0, False
        self._remember(np.array(self.servo.wiring.start))
