"""The supervisor of a loop: states and faults, the transitions between them, and what is watched.

    IDLE ──arm──▶ ARMED ──start──▶ RUNNING ──stop, trouble──▶ SAFE_STOP ──at rest──▶ ARMED, or FAULT after trouble
      ▲             │ disarm                │ danger               │ danger, time-out
      └─────────────┘                       └──────────▶ FAULT ◀───┘        FAULT ──clear, by a person──▶ IDLE

Trouble leaves the measurements trustworthy: the arm is braked under control, its weight carried. Danger does not: the
outputs go off at once and the brakes fall in. Every fault stays in the fault word until a person clears it.

The supervisor keeps the state, the latched faults and the counts of tolerated disturbances. It decides, and touches no
hardware. Limits of what is watched (`Guard`) are one number per coordinate or actuator, or one for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag

import numpy as np

from appell.control.axes import PerAxis, per_axis, word
from appell.errors import ArgumentError, check_number
from appell.model.system import System

_AXES = {"velocity": "coordinate", "following": "coordinate", "potentiometer": "actuator", "torque": "actuator"}


class State(IntEnum):
    """What a loop is in."""

    IDLE = 0
    ARMED = 1
    RUNNING = 2
    SAFE_STOP = 3
    FAULT = 4


class Fault(IntFlag):
    """What can go wrong, one bit each."""

    NONE = 0
    POSITION = 1
    VELOCITY = 2
    FOLLOWING = 4
    DEADLINE = 8
    TEMPERATURE = 16
    POTENTIOMETER = 32
    STALE = 64
    NOT_A_NUMBER = 128
    POWER = 256
    WATCHDOG = 512
    STOP_TIMEOUT = 1024


class Trigger(IntEnum):
    """What moves a loop from state to state; the first five are commands of a person or a program."""

    NONE = 0
    ARM = 1
    DISARM = 2
    START = 3
    STOP = 4
    CLEAR = 5
    REFINE = 6
    RESTED = 7
    TROUBLE = 8
    DANGER = 9


DANGERS = (
    Fault.FOLLOWING  # a sensor, a drive or an obstacle: nobody knows
    | Fault.POTENTIOMETER
    | Fault.STALE
    | Fault.NOT_A_NUMBER
    | Fault.POWER
    | Fault.WATCHDOG
    | Fault.STOP_TIMEOUT
)
SENTENCE = {
    Fault.POSITION: "a joint left its range",
    Fault.VELOCITY: "a joint moved too fast",
    Fault.FOLLOWING: "a joint did not follow its reference",
    Fault.DEADLINE: "too many deadlines in a row were missed",
    Fault.TEMPERATURE: "a motor is too hot",
    Fault.POTENTIOMETER: "encoder and potentiometer of a joint disagree: one of them is lost",
    Fault.STALE: "the cabinet sent nothing new for too long",
    Fault.NOT_A_NUMBER: "the signals were not numbers for too long",
    Fault.POWER: "the power failed",
    Fault.WATCHDOG: "the cabinet missed the loop's sign of life and switched off",
    Fault.STOP_TIMEOUT: "the arm did not come to rest in time",
}
TRANSITIONS: dict[tuple[State, Trigger], State] = {
    (State.IDLE, Trigger.ARM): State.ARMED,
    (State.IDLE, Trigger.TROUBLE): State.FAULT,
    (State.IDLE, Trigger.DANGER): State.FAULT,
    (State.ARMED, Trigger.DISARM): State.IDLE,
    (State.ARMED, Trigger.START): State.RUNNING,
    (State.ARMED, Trigger.REFINE): State.ARMED,
    (State.ARMED, Trigger.TROUBLE): State.FAULT,
    (State.ARMED, Trigger.DANGER): State.FAULT,
    (State.RUNNING, Trigger.STOP): State.SAFE_STOP,
    (State.RUNNING, Trigger.TROUBLE): State.SAFE_STOP,
    (State.RUNNING, Trigger.DANGER): State.FAULT,
    (State.SAFE_STOP, Trigger.TROUBLE): State.SAFE_STOP,
    (State.SAFE_STOP, Trigger.RESTED): State.ARMED,
    (State.SAFE_STOP, Trigger.DANGER): State.FAULT,
    (State.FAULT, Trigger.TROUBLE): State.FAULT,
    (State.FAULT, Trigger.DANGER): State.FAULT,
    (State.FAULT, Trigger.CLEAR): State.IDLE,
}


def sentences(fault: Fault) -> str:
    """The faults of a word, as one sentence."""
    found = [SENTENCE[bit] for bit in Fault if bit and bit in fault]
    return "; ".join(found) if found else "no fault"


@dataclass(frozen=True)
class Guard:
    """Beyond position, velocity or following error the arm is stopped; torque is never asked for beyond its limit.

    Positions, velocities and following errors are along coordinates, potentiometers and torques at actuators.
    """

    lower: PerAxis
    upper: PerAxis
    velocity: PerAxis = 3.0  # rad/s or m/s
    following: PerAxis = 0.05  # rad or m between reference and arm
    potentiometer: PerAxis = 0.06  # rad or m between encoder and potentiometer
    torque: PerAxis = 100.0  # N m or N

    def of(self, system: System) -> Guard:
        """One number a coordinate or actuator of the system, checked."""
        found = {
            name: per_axis(system, axis, f"limit {name}", getattr(self, name), least=0.0, above=True)
            for name, axis in _AXES.items()
        }
        lower, upper = (
            per_axis(system, "coordinate", f"limit {name}", getattr(self, name)) for name in ("lower", "upper")
        )
        for name, low, high in zip(system.coordinate_names, lower, upper, strict=True):
            if not low < high:
                raise ArgumentError(
                    f"the limits of {word(system, 'coordinate')} '{name}' are {low:g} and {high:g}.",
                    expected="lower < upper",
                )
        return Guard(lower, upper, **found)

    def check_start(self, system: System, q: np.ndarray) -> None:
        """Raise if the arm stands outside its limits."""
        for name, x, low, high in zip(system.coordinate_names, q, self.lower, self.upper, strict=True):
            if not low <= x <= high:
                raise ArgumentError(
                    f"the limits exclude the start: {word(system, 'coordinate')} '{name}' stands at {x:.4g}.",
                    expected=f"between {low:.4g} and {high:.4g}",
                    hint="wider limits, or move the arm by hand",
                )


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
