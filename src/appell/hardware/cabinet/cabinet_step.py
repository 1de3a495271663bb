"""One step of a simulated cabinet over abstract scalars: converters, amplifiers, the system and its sensors.

The equations are those of `wiring`.
"""

from __future__ import annotations

from typing import Any

from appell.algebra.scalar import Scalar, clamp, floor, maximum, nearest, select
from appell.compile.function import Function
from appell.control.blocks import Blocks
from appell.control.friction_parts import FrictionParts
from appell.hardware.cabinet.wiring import Channel, Wiring
from appell.hardware.plant import plant_blocks, plant_step

AMPLIFIERS, BRAKES, DURATION = range(3)  # indices of the input `switches`
AMBIENT_TEMPERATURE = 25.0  # °C


def state_blocks(parts: FrictionParts) -> Blocks:
    """Return the layout of the state: that of the plant, then temperatures and encoder counts."""
    sensors = ("temperature", "raw", "index", "seen")
    return Blocks(**plant_blocks(parts), **dict.fromkeys(sensors, parts.system.nu))


def quirk_blocks(n: int) -> Blocks:
    """Return the layout of the properties that differ between cabinets, and of the counts at power-on."""
    return Blocks(**dict.fromkeys(("gain", "offset", "potentiometer_gain", "potentiometer_offset", "power_on"), n))


def cabinet_function(parts: FrictionParts, wiring: Wiring) -> Function:
    """Return the step: (state, codes, switches, noise, quirks) -> (state_next, sensors, torque, current).

    `noise` has two rows: that of the potentiometers in V, and that of the currents in A.
    """
    n, channels, equations = wiring.n, wiring.channels, parts.equations
    states, properties = state_blocks(parts), quirk_blocks(n)
    inputs = {"state": states.size, "codes": n, "switches": 3, "noise": (2, n), "quirks": properties.size}

    def body(state, codes, switches, noise, quirks) -> dict[str, Any]:
        q, v, hold, temperature, raw, index, seen = states.split(state)
        on, braking, dt = switches[AMPLIFIERS], switches[BRAKES], switches[DURATION]
        gain, offset, slope, shift, power_on = properties.split(quirks)
        rates = equations.actuator_rates(q, v)
        rows = zip(channels, codes, rates, gain, offset, noise[1], strict=True)
        current = [amplifier(channel, wiring, code, rate, on, g, o, r) for channel, code, rate, g, o, r in rows]
        torque = [channel.torque_per_ampere * amps for channel, amps in zip(channels, current, strict=True)]
        shorted = [select(on, 0.0, channel.short_circuit_damping) for channel in channels]
        brakes = [select(braking, channel.brake, 0.0) if channel.brake else 0.0 for channel in channels]
        q, v, hold = plant_step(parts, (q, v, hold), torque, dt, shorted, brakes)
        temperature = [heated(*row, dt) for row in zip(channels, temperature, current, strict=True)]
        last = [channel.home + (x + 0.5) / channel.resolution for channel, x in zip(channels, raw, strict=True)]
        theta = equations.actuator_positions_near(q, last)
        encoders = [encoder(*row) for row in zip(channels, theta, raw, index, seen, strict=True)]
        raw, index, seen = (list(column) for column in zip(*encoders, strict=True))
        rows = zip(channels, theta, slope, shift, noise[0], strict=True)
        volts = [potentiometer(channel, wiring, x, m, b, e) for channel, x, m, b, e in rows]
        hot = [select(t - channel.hottest, 1.0, 0.0) for t, channel in zip(temperature, channels, strict=True)]
        counts = [x - zero for x, zero in zip(raw, power_on, strict=True)]
        index_counts = [x - zero for x, zero in zip(index, power_on, strict=True)]
        return {
            "state_next": [*q, *v, *hold, *temperature, *raw, *index, *seen],
            "sensors": [*counts, *index_counts, *seen, *volts, *hot],
            "torque": torque,
            "current": current,
        }

    return Function.of("cabinet_step", inputs, body, f"One step of {wiring.name}.", parts.system.owner)


def amplifier(
    channel: Channel,
    wiring: Wiring,
    code: Scalar,
    rate: Scalar,
    on: Scalar,
    gain: Scalar,
    offset: Scalar,
    ripple: Scalar,
) -> Scalar:
    """Return the current for a code, equation (2) of `wiring`, with errors of gain and offset, and ripple."""
    volts = (code - wiring.zero_code) * wiring.volts_per_code + offset
    demand = clamp((channel.amplifier * volts) * gain, -channel.current_limit, channel.current_limit)
    back_emf = channel.torque_per_ampere * rate
    amps = clamp(
        demand,
        (-channel.supply - back_emf) / channel.resistance,
        (channel.supply - back_emf) / channel.resistance,
    )
    return select(on, amps + ripple, 0.0)


def heated(channel: Channel, temperature: Scalar, current: Scalar, dt: Scalar) -> Scalar:
    """Return the temperature of a motor in °C after dt, with ohmic losses and cooling."""
    loss = channel.heating * channel.resistance * current * current
    return temperature + (dt * (1.0 / channel.cooling_time)) * (loss + AMBIENT_TEMPERATURE - temperature)


def encoder(channel: Channel, theta: Scalar, raw: Scalar, index: Scalar, seen: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """Return the counts from home, the counts at the last index pulse, and whether there was one."""
    now = floor(channel.resolution * (theta - channel.home))
    turn, turn_before = (floor((x + 0.5) / channel.counts_per_turn) for x in (now, raw))
    passed = (turn - turn_before) * (turn - turn_before)
    pulse = float(channel.counts_per_turn) * maximum(turn, turn_before)
    return now, select(passed, pulse, index), select(passed, 1.0, seen)


def potentiometer(
    channel: Channel, wiring: Wiring, theta: Scalar, gain: Scalar, offset: Scalar, noise: Scalar
) -> Scalar:
    """Return the voltage of a potentiometer as the input converter measures it."""
    full, steps = wiring.potentiometer_volts, 2.0**wiring.bits - 1.0
    volts = gain * (full * (theta - channel.lower) / (channel.upper - channel.lower)) + offset + noise
    return nearest(clamp(volts, 0.0, full) * (steps / full)) * (full / steps)
