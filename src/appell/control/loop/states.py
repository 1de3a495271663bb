"""What a loop can be in, what can go wrong, and which way leads where.

    IDLE ──arm──▶ ARMED ──start──▶ RUNNING ──stop, trouble──▶ SAFE_STOP ──at rest──▶ ARMED, or FAULT after trouble
      ▲             │ disarm                │ danger               │ danger, time-out
      └─────────────┘                       └──────────▶ FAULT ◀───┘        FAULT ──clear, by a person──▶ IDLE

Trouble leaves the measurements trustworthy: the arm is braked under control, its weight carried. Danger does not: the
outputs go off at once and the brakes fall in. Every fault stays in the fault word until a person clears it.
"""

from __future__ import annotations

from enum import IntEnum, IntFlag


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
