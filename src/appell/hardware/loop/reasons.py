"""Sentences on faults with joint, value, limit and remedy, from the state of a loop or from a row of its log."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from appell.hardware.device import DeviceStatus
from appell.hardware.loop.supervisor import SENTENCE, Fault, Guard, Policy


@dataclass(frozen=True)
class Snapshot:
    """What a loop has measured at a tick, with the limits that apply; all arrays in SI units."""

    coordinates: tuple[str, ...]
    units: tuple[str, ...]  # of the coordinates, rad or m
    actuators: tuple[str, ...]
    device: str
    guard: Guard
    policy: Policy
    period: float
    q: np.ndarray
    v: np.ndarray
    reference: np.ndarray  # q_d
    measured: np.ndarray  # positions of the actuators
    faults: np.ndarray  # of the actuators, numbers of `DeviceStatus`
    late: float = 0.0  # s from the scheduled time of the tick to its end
    reading: str = ""  # what was wrong with the last state
    kind: str = field(default="joint")
    nearest: str = ""  # clause on the nearest pair of collision shapes


def explain(fault: Fault, at: Snapshot) -> str:
    """Return one sentence per bit of a fault word, separated by semicolons."""
    return "; ".join(EXPLANATIONS.get(bit, _general)(bit, at) for bit in Fault if bit and bit in fault)


def _general(bit: Fault, at: Snapshot) -> str:
    return SENTENCE[bit]


def _worst(at: Snapshot, excess: Sequence[float] | np.ndarray) -> tuple[int, str, str]:
    """Return index, quoted name and unit of the coordinate with the largest excess."""
    k = int(np.nanargmax(excess)) if np.isfinite(excess).any() else 0
    return k, f"{at.kind} '{at.coordinates[k]}'", at.units[k]


def _position(bit: Fault, at: Snapshot) -> str:
    lower, upper = np.array(at.guard.lower), np.array(at.guard.upper)
    k, name, unit = _worst(at, np.maximum(lower - at.q, at.q - upper))
    return (
        f"{name} was at {at.q[k]:.4g} {unit}, outside its limits of {lower[k]:.4g} to {upper[k]:.4g} {unit}: "
        "keep the reference further inside, or pass wider limits"
    )


def _velocity(bit: Fault, at: Snapshot) -> str:
    limit = np.array(at.guard.velocity)
    k, name, unit = _worst(at, np.abs(at.v) - limit)
    return (
        f"{name} moved at {abs(at.v[k]):.3g} {unit}/s, above its limit of {limit[k]:.3g} {unit}/s: "
        "lower the speed of the reference, or pass a higher limit of velocity"
    )


def _following(bit: Fault, at: Snapshot) -> str:
    limit, error = np.array(at.guard.following), np.abs(at.q - at.reference)
    k, name, unit = _worst(at, error - limit)
    return (
        f"{name} was {error[k]:.3g} {unit} away from its reference, more than its limit of {limit[k]:.3g} {unit}: "
        "lower the speed of the reference, correct the model (payload, friction), or pass a higher limit of following"
    )


def _deadline(bit: Fault, at: Snapshot) -> str:
    return (
        f"more than {at.policy.misses} consecutive deadlines were missed, the last one by "
        f"{1e3 * (at.late - at.period):.3g} ms with a period of {1e3 * at.period:g} ms: use a longer period, or run "
        "with real-time priority"
    )


def _of_actuators(status: DeviceStatus, problem: str, remedy: str) -> Callable[[Fault, Snapshot], str]:
    def text(bit: Fault, at: Snapshot) -> str:
        names = [name for name, word in zip(at.actuators, at.faults, strict=True) if _has(word, status)]
        listed = ", ".join(f"'{name}'" for name in names)
        return f"{problem} ({at.kind} {listed}): {remedy}" if names else SENTENCE[bit]

    return text


def _has(word: float, status: DeviceStatus) -> bool:
    return bool(np.isfinite(word) and int(word) & status.value)


def _stale(bit: Fault, at: Snapshot) -> str:
    reason = at.reading or f"sent no new state for more than {at.policy.lost} periods"
    return f"{at.device} {reason}: check its connection and its process, or allow more lost states"


def _not_a_number(bit: Fault, at: Snapshot) -> str:
    bad = [name for name, x in zip(at.actuators, at.measured, strict=True) if not np.isfinite(x)]
    if bad:
        return (
            f"{at.device} measured a position of '{bad[0]}' that is not a number for more than {at.policy.lost} "
            "periods: check this sensor"
        )
    return "the control law gave torques that are not numbers: check the model at this configuration, and the sensors"


def _stop_timeout(bit: Fault, at: Snapshot) -> str:
    k, name, unit = _worst(at, np.abs(at.v))
    return (
        f"{name} still moved at {abs(at.v[k]):.3g} {unit}/s after a stop of {at.policy.stop_time or 0.0:.3g} s, above "
        f"the rest speed of {at.policy.rest_speed:g} {unit}/s: pass a longer stop time or a lower stop damping"
    )


def _collision(bit: Fault, at: Snapshot) -> str:
    near = f" ({at.nearest})" if at.nearest else ""
    return f"{SENTENCE[bit]} of {at.guard.margin:g} m{near}: use another reference, or pass a smaller margin"


EXPLANATIONS: dict[Fault, Callable[[Fault, Snapshot], str]] = {
    Fault.POSITION: _position,
    Fault.VELOCITY: _velocity,
    Fault.FOLLOWING: _following,
    Fault.DEADLINE: _deadline,
    Fault.TEMPERATURE: _of_actuators(DeviceStatus.HOT, "the motor is too hot", "let it cool down, and use less torque"),
    Fault.SENSOR: _of_actuators(
        DeviceStatus.SENSOR_FAULT, "two sensors of the position disagree", "one of them has failed; check its encoder"
    ),
    Fault.DRIVE: _of_actuators(DeviceStatus.DRIVE_FAULT, "the drive reports a fault", "read its error code"),
    Fault.STALE: _stale,
    Fault.NOT_A_NUMBER: _not_a_number,
    Fault.STOP_TIMEOUT: _stop_timeout,
    Fault.COLLISION: _collision,
}
