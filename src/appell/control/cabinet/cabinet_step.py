"""One step of a simulated cabinet as arithmetic: converters, amplifiers, the arm and its sensors (see `drive`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from appell.algebra.piecewise import clamp, larger
from appell.algebra.scalar import Scalar, floor, nearest, select
from appell.compile.function import Function
from appell.control.arm import Arm
from appell.control.cabinet.drive import Drive, Wiring
from appell.control.cabinet.plant import plant_step

STATE = ("q", "v", "hold", "temperature", "raw", "index", "seen")  # n numbers each
QUIRKS = (
    "gain",
    "offset",
    "potentiometer_gain",
    "potentiometer_offset",
    "power_on",
)  # what differs from cabinet to cabinet
AMPLIFIERS, BRAKES, DURATION = range(3)  # the switches
AMBIENT = 25.0  # °C


def cabinet_function(arm: Arm, wiring: Wiring) -> Function:
    """(state, codes, switches, noise, quirks) -> (state_next, sensors, torque, current)."""
    n = wiring.n
    inputs = {"state": len(STATE) * n, "codes": n, "switches": 3, "noise": n, "quirks": (len(QUIRKS), n)}

    def body(state, codes, switches, noise, quirks) -> dict[str, Any]:
        q, v, hold, temperature, raw, index, seen = (state[k * n : (k + 1) * n] for k in range(len(STATE)))
        on, braking, dt = switches[AMPLIFIERS], switches[BRAKES], switches[DURATION]
        gain, offset, slope, shift, power_on = quirks
        current = [
            amplifier(drive, wiring, code, rate, on, g, o)
            for drive, code, rate, g, o in zip(wiring.drives, codes, v, gain, offset, strict=True)
        ]
        torque = [drive.torque_per_ampere * amps for drive, amps in zip(wiring.drives, current, strict=True)]
        shorted = [select(on, 0.0, drive.short_circuit_damping) for drive in wiring.drives]
        brakes = [select(braking, drive.brake, 0.0) if drive.brake else 0.0 for drive in wiring.drives]
        q, v, hold = plant_step(arm, (q, v, hold), torque, dt, shorted, brakes)
        temperature = [heated(*row, dt) for row in zip(wiring.drives, temperature, current, strict=True)]
        encoders = [encoder(*row) for row in zip(wiring.drives, q, raw, index, seen, strict=True)]
        raw, index, seen = (list(column) for column in zip(*encoders, strict=True))
        volts = [
            potentiometer(drive, wiring, x, m, b, e)
            for drive, x, m, b, e in zip(wiring.drives, q, slope, shift, noise, strict=True)
        ]
        hot = [select(t - drive.hottest, 1.0, 0.0) for t, drive in zip(temperature, wiring.drives, strict=True)]
        counts = [x - zero for x, zero in zip(raw, power_on, strict=True)]
        index_counts = [x - zero for x, zero in zip(index, power_on, strict=True)]
        return {
            "state_next": [*q, *v, *hold, *temperature, *raw, *index, *seen],
            "sensors": [*counts, *index_counts, *seen, *volts, *hot],
            "torque": torque,
            "current": current,
        }

    return Function.of("cabinet_step", inputs, body, f"One step of {wiring.name}.", f"robot '{arm.robot.name}'")


def amplifier(
    drive: Drive, wiring: Wiring, code: Scalar, v: Scalar, on: Scalar, gain: Scalar, offset: Scalar
) -> Scalar:
    """The current for a code: equation (2) of `drive`, with a gain and an offset that are not quite right."""
    volts = (code - wiring.zero_code) * wiring.volts_per_code + offset
    wanted = clamp((drive.amplifier * volts) * gain, -drive.current_limit, drive.current_limit)
    back = drive.torque_per_ampere * v
    amps = clamp(wanted, (-drive.supply - back) / drive.resistance, (drive.supply - back) / drive.resistance)
    return select(on, amps, 0.0)


def heated(drive: Drive, temperature: Scalar, current: Scalar, dt: Scalar) -> Scalar:
    """The motor's temperature: losses in, cooling out."""
    loss = drive.heating * drive.resistance * current * current
    return temperature + (dt * (1.0 / drive.cooling_time)) * (loss + AMBIENT - temperature)


def encoder(drive: Drive, q: Scalar, raw: Scalar, index: Scalar, seen: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Counts from the home, counts at the last index pulse, and whether there was one."""
    now = floor(drive.counts_per_radian * (q - drive.home))
    turn, turn_before = (floor((x + 0.5) / drive.counts_per_turn) for x in (now, raw))
    passed = (turn - turn_before) * (turn - turn_before)
    pulse = float(drive.counts_per_turn) * larger(turn, turn_before)
    return now, select(passed, pulse, index), select(passed, 1.0, seen)


def potentiometer(drive: Drive, wiring: Wiring, q: Scalar, gain: Scalar, offset: Scalar, noise: Scalar) -> Scalar:
    """What the input converter makes of the potentiometer's voltage."""
    full, steps = wiring.potentiometer_volts, 2.0**wiring.bits - 1.0
    volts = gain * (full * (q - drive.lower) / (drive.upper - drive.lower)) + offset + noise
    return nearest(clamp(volts, 0.0, full) * (steps / full)) * (full / steps)


def blocks(array, names: Sequence[str], n: int) -> dict[str, Any]:
    """Views of an array by the names of its blocks of n."""
    return {name: array[k * n : (k + 1) * n] for k, name in enumerate(names)}
