"""The supervisor of a loop: its state, the faults it has latched, and the counts of what it has put up with.

It decides, and touches no hardware. A fault word only grows, until `clear`.
"""

from __future__ import annotations

from dataclasses import dataclass

from appell.control.loop.states import DANGERS, TRANSITIONS, Fault, State, Trigger, sentences
from appell.errors import ArgumentError, check_number


@dataclass(frozen=True)
class Policy:
    """How much a loop puts up with before it stops the arm."""

    misses: int = 3  # deadlines in a row
    lost: int = 5  # readings in a row that did not come or were not numbers
    stop_time: float = 0.35  # s that a safe stop may take
    rest_speed: float = 0.02  # rad/s, at rest
    rest_ticks: int = 10
    readings: int = 20  # of the potentiometers before the loop can be armed

    def __post_init__(self):
        for name, value in vars(self).items():
            check_number(
                f"the policy's {name.replace('_', ' ')}", value, least=0.0, above=name not in ("misses", "lost")
            )


class Supervisor:
    """State and fault word of one loop."""

    def __init__(self, policy: Policy, period: float):
        self.policy, self.period = policy, period
        self.state, self.word = State.IDLE, 0  # the fault word, as a plain number: it is asked for every tick
        self.tick = 0
        self.commands = 0  # given since the last tick, one hexadecimal digit each
        self.history: list[str] = []
        self.lost = self._misses = self._resting = self._stopping_for = 0

    @property
    def fault(self) -> Fault:
        return Fault(self.word)

    @property
    def moving(self) -> bool:
        return self.state is State.RUNNING or self.state is State.SAFE_STOP

    # ---- commands

    def expect(self, trigger: Trigger) -> None:
        """Raise unless the command fits the state."""
        if (self.state, trigger) not in TRANSITIONS:
            wanted = ", ".join(state.name for state, known in TRANSITIONS if known is trigger)
            reason = f" ({sentences(self.fault)})" if self.word else ""
            raise ArgumentError(
                f"the loop is in state {self.state.name}{reason} and cannot {trigger.name.lower()}.",
                expected=f"state {wanted}",
            )

    def obey(self, trigger: Trigger) -> None:
        self.expect(trigger)
        self.commands = 16 * self.commands + trigger
        if trigger is Trigger.CLEAR:
            self.word = 0
        if trigger is Trigger.START:
            self._misses = self._resting = self._stopping_for = 0
        self._go(trigger)

    # ---- what a tick finds

    def latch(self, found: int) -> None:
        """Keep faults, and change state as they require."""
        new = found & ~self.word
        if not new and self.state is State.FAULT:
            return
        self.word |= found
        if new:
            self.history.append(f"tick {self.tick}: {sentences(Fault(new))}")
        self._go(Trigger.DANGER if found & DANGERS.value else Trigger.TROUBLE)

    def reading(self, good: bool, number: bool) -> int:
        """Count readings that are lost, or are not numbers."""
        if good:
            self.lost = 0
            return 0
        self.lost += 1
        if self.lost <= self.policy.lost:
            return 0
        return Fault.STALE.value if number else Fault.NOT_A_NUMBER.value

    def deadline(self, lateness: float) -> int:
        """Count deadlines missed, `lateness` being the time since the tick was due."""
        if lateness <= self.period * (1.0 + 1e-9):
            self._misses = 0
            return 0
        self._misses += 1
        return Fault.DEADLINE.value if self._misses > self.policy.misses and self.moving else 0

    def stopping(self, speed: float) -> int:
        """Watch a safe stop: it ends at rest, in ARMED or FAULT, or in time-out."""
        self._stopping_for += 1
        self._resting = self._resting + 1 if speed <= self.policy.rest_speed else 0
        if self._resting >= self.policy.rest_ticks:
            self._go(Trigger.DANGER if self.word else Trigger.RESTED)
            return 0
        return Fault.STOP_TIMEOUT.value if self._stopping_for * self.period > self.policy.stop_time else 0

    def _go(self, trigger: Trigger) -> None:
        before, self.state = self.state, TRANSITIONS[self.state, trigger]
        if self.state is not before:
            self.history.append(f"tick {self.tick}: {before.name} to {self.state.name}")
