"""The supervisor of a control loop: states, faults, transitions between states, and monitored limits.

    IDLE ──arm──▶ ARMED ──start──▶ RUNNING ──stop, trouble──▶ SAFE_STOP ──at rest──▶ ARMED, or FAULT after trouble
      ▲             │ disarm                │ danger               │ danger, time-out
      └─────────────┘                       └──────────▶ FAULT ◀───┘        FAULT ──clear, by a person──▶ IDLE

After trouble the measurements are still reliable: the arm is braked under control, with gravity compensation. After
danger they are not: the outputs are switched off at once and the brakes engage. Every fault stays in the fault word
until a person clears it.

The supervisor keeps the state, the latched faults and the counts of tolerated disturbances. It decides, but does not
access the hardware. Monitored limits (`Guard`) are one number per coordinate or actuator, or one for all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, IntFlag

import numpy as np

from appell.control.axes import PerAxis, axis_word, per_axis
from appell.errors import ArgumentError, check_number
from appell.hardware.device import DeviceStatus
from appell.model.system import System

_AXES = {"velocity": "coordinate", "following": "coordinate", "torque": "actuator"}


class State(IntEnum):
    """State of a control loop."""

    IDLE = 0
    ARMED = 1
    RUNNING = 2
    SAFE_STOP = 3
    FAULT = 4


class Fault(IntFlag):
    """Faults of a control loop, one bit each."""

    NONE = 0
    POSITION = 1
    VELOCITY = 2
    FOLLOWING = 4
    DEADLINE = 8
    TEMPERATURE = 16
    SENSOR = 32
    STALE = 64
    NOT_A_NUMBER = 128
    POWER = 256
    WATCHDOG = 512
    STOP_TIMEOUT = 1024
    DRIVE = 2048
    EMERGENCY_STOP = 4096
    CONTACT = 8192
    COLLISION = 16384


class Trigger(IntEnum):
    """Events that change the state of a loop; ARM to REFINE are commands of a person or a program."""

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
    Fault.FOLLOWING  # the cause may be a sensor, a drive or an obstacle
    | Fault.SENSOR
    | Fault.STALE
    | Fault.NOT_A_NUMBER
    | Fault.POWER
    | Fault.WATCHDOG
    | Fault.STOP_TIMEOUT
    | Fault.DRIVE
    | Fault.EMERGENCY_STOP
)
SENTENCE = {
    Fault.POSITION: "a joint left its range",
    Fault.VELOCITY: "a joint moved too fast",
    Fault.FOLLOWING: "a joint did not follow its reference",
    Fault.DEADLINE: "too many consecutive deadlines were missed",
    Fault.TEMPERATURE: "a motor is too hot",
    Fault.SENSOR: "a sensor has failed, because it disagrees with another one",
    Fault.STALE: "the device sent no new state for too long",
    Fault.NOT_A_NUMBER: "the measurements were not numbers for too long",
    Fault.POWER: "the power failed",
    Fault.WATCHDOG: "the device received no heartbeat from the loop and switched off",
    Fault.STOP_TIMEOUT: "the arm did not come to rest in time",
    Fault.DRIVE: "a drive reports a fault",
    Fault.EMERGENCY_STOP: "the emergency stop was pressed",
    Fault.CONTACT: "the arm touched something: clear its path, or pass higher thresholds of the contact observer",
    Fault.COLLISION: "collision shapes would have come nearer than the margin",
}
DEVICE_FAULTS = {  # bit of a device's status -> fault of the loop
    DeviceStatus.NO_POWER: Fault.POWER,
    DeviceStatus.EMERGENCY_STOP: Fault.EMERGENCY_STOP,
    DeviceStatus.DRIVE_FAULT: Fault.DRIVE,
    DeviceStatus.HOT: Fault.TEMPERATURE,
    DeviceStatus.SENSOR_FAULT: Fault.SENSOR,
    DeviceStatus.WATCHDOG: Fault.WATCHDOG,
}
_OF_DEVICE = Fault.TEMPERATURE | Fault.POWER | Fault.WATCHDOG | Fault.DRIVE | Fault.EMERGENCY_STOP
RELEVANT_ALARMS = {  # state -> faults that count in it
    State.IDLE: _OF_DEVICE.value,
    State.ARMED: (~(Fault.FOLLOWING | Fault.CONTACT)).value,
    State.RUNNING: (~Fault.NONE).value,
    State.SAFE_STOP: (_OF_DEVICE | Fault.SENSOR).value,
    State.FAULT: _OF_DEVICE.value,
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
    """Return the faults of a fault word as text."""
    listed = [SENTENCE[bit] for bit in Fault if bit and bit in fault]
    return "; ".join(listed) if listed else "no fault"


@dataclass(frozen=True)
class Guard:
    """Limits of a control loop.

    The arm is stopped if a position, velocity or following error of a coordinate exceeds its limit, or if otherwise it
    could not stop before collision shapes are nearer than `margin`; torques of actuators are limited to `torque`.
    """

    lower: PerAxis
    upper: PerAxis
    velocity: PerAxis = 3.0  # rad/s or m/s
    following: PerAxis = 0.05  # rad or m between reference and arm
    torque: PerAxis = 100.0  # N m or N
    margin: float | None = None  # m between collision shapes; None: they are not monitored

    def of(self, system: System) -> Guard:
        """Return the limits with one number per coordinate or actuator, or raise an ArgumentError."""
        limits = {
            name: per_axis(system, axis, f"limit {name}", getattr(self, name), least=0.0, above=True)
            for name, axis in _AXES.items()
        }
        lower, upper = (
            per_axis(system, "coordinate", f"limit {name}", getattr(self, name)) for name in ("lower", "upper")
        )
        for name, low, high in zip(system.coordinate_names, lower, upper, strict=True):
            if not low < high:
                raise ArgumentError(
                    f"the limits of {axis_word(system, 'coordinate')} '{name}' are {low:g} and {high:g}.",
                    expected="lower < upper",
                )
        return Guard(lower, upper, **limits, margin=self.margin)

    def check_start(self, system: System, q: np.ndarray) -> None:
        """Raise an ArgumentError if the configuration q is outside the limits."""
        for name, x, low, high in zip(system.coordinate_names, q, self.lower, self.upper, strict=True):
            if not low <= x <= high:
                raise ArgumentError(
                    f"{axis_word(system, 'coordinate')} '{name}' is at {x:.4g}, outside its limits.",
                    expected=f"between {low:.4g} and {high:.4g}",
                    hint="Move the arm by hand, or start from another configuration.",
                )


@dataclass(frozen=True)
class Policy:
    """Disturbances that a loop tolerates before it stops the arm."""

    misses: int = 3  # consecutive missed deadlines
    lost: int = 5  # consecutive readings that were missing or not finite
    stop_time: float | None = None  # s, longest duration of a safe stop; None: by the rule of `Servo.stop_time`
    rest_speed: float = 0.02  # rad/s or m/s, below which the arm counts as at rest
    rest_ticks: int = 10  # consecutive ticks at rest that end a safe stop
    readings: int = 20  # good states before the loop can be armed

    def __post_init__(self):
        for name, value in vars(self).items():
            if name == "stop_time" and value is None:
                continue
            check_number(
                f"the policy's {name.replace('_', ' ')}", value, least=0.0, above=name not in ("misses", "lost")
            )


class Supervisor:
    """State and fault word of one loop."""

    def __init__(self, policy: Policy, period: float):
        self.policy, self.period = policy, period
        self.state, self.word = State.IDLE, 0  # the fault word as a plain int, because every tick uses it
        self.tick = 0
        self.commands = 0  # commands since the last tick, one hexadecimal digit each
        self.history: list[str] = []
        self.reasons: list[str] = []  # sentences of the latched faults
        self.lost = self._misses = self._resting = self._stopping_for = 0

    @property
    def fault(self) -> Fault:
        """Latched faults."""
        return Fault(self.word)

    @property
    def sentence(self) -> str:
        """The latched faults as text."""
        return "; ".join(self.reasons) or "no fault"

    @property
    def moving(self) -> bool:
        """Whether the outputs are on."""
        return self.state is State.RUNNING or self.state is State.SAFE_STOP

    # ---- commands

    def expect(self, trigger: Trigger) -> None:
        """Raise an ArgumentError unless the command is allowed in the current state."""
        if (self.state, trigger) not in TRANSITIONS:
            allowed = ", ".join(state.name for state, known in TRANSITIONS if known is trigger)
            reason = f" ({self.sentence})" if self.word else ""
            raise ArgumentError(
                f"the loop is in state {self.state.name}{reason} and cannot {trigger.name.lower()}.",
                expected=f"state {allowed}",
            )

    def execute(self, trigger: Trigger) -> None:
        """Execute a command and log it."""
        self.expect(trigger)
        self.commands = 16 * self.commands + trigger
        if trigger is Trigger.CLEAR:
            self.word = 0
            self.reasons.clear()
        if trigger is Trigger.START:
            self._misses = self._resting = self._stopping_for = 0
        self._change_state(trigger)

    # ---- events of a tick

    def latch(self, faults: int, explain: Callable[[Fault], str] | None = None) -> None:
        """Add faults to the fault word, and change the state as they require; `explain` returns their sentences."""
        new = faults & ~self.word
        if not new and self.state is State.FAULT:
            return
        self.word |= faults
        if new:
            text = sentences(Fault(new)) if explain is None else explain(Fault(new))
            self.reasons.append(text)
            self.history.append(f"tick {self.tick}: {text}")
        self._change_state(Trigger.DANGER if faults & DANGERS.value else Trigger.TROUBLE)

    def reading(self, good: bool, missing: bool) -> int:
        """Count consecutive bad readings; return a fault if there are too many.

        `missing` distinguishes a reading that did not arrive from one that is not finite.
        """
        if good:
            self.lost = 0
            return 0
        self.lost += 1
        if self.lost <= self.policy.lost:
            return 0
        return Fault.STALE.value if missing else Fault.NOT_A_NUMBER.value

    def deadline(self, lateness: float) -> int:
        """Count consecutive missed deadlines; `lateness` is the time since the scheduled tick, in s."""
        if lateness <= self.period * (1.0 + 1e-9):
            self._misses = 0
            return 0
        self._misses += 1
        return Fault.DEADLINE.value if self._misses > self.policy.misses and self.moving else 0

    def stopping(self, speed: float) -> int:
        """Monitor a safe stop, which ends at rest in state ARMED or FAULT, or with a time-out."""
        self._stopping_for += 1
        self._resting = self._resting + 1 if speed <= self.policy.rest_speed else 0
        if self._resting >= self.policy.rest_ticks:
            self._change_state(Trigger.DANGER if self.word else Trigger.RESTED)
            return 0
        return Fault.STOP_TIMEOUT.value if self._stopping_for * self.period > (self.policy.stop_time or 0.0) else 0

    def _change_state(self, trigger: Trigger) -> None:
        before, self.state = self.state, TRANSITIONS[self.state, trigger]
        if self.state is not before:
            self.history.append(f"tick {self.tick}: {before.name} to {self.state.name}")
