"""Wirings of cabinets: that of the PUMA 600, and a generic one for any system.

In the generic wiring, unknown motors have the torque of `WorkingLimits`, with which they can hold and move the system.
Known gears, rotors and friction are kept; an unknown rotor has no inertia.

The PUMA 600 is that of Valera et al. 2003. From the paper: encoders of "200 counts per revolution" on joints 1 and 2
and 250 on the others, interpreted here as lines of four counts each; potentiometers of 0 to 5 V; outputs of ±10 V; two
tool outputs. The paper names the interface cards (PCL-818, PCL-726) but not their resolution; 12 bits are our choice.
It gives no amplifier gains or brakes either: ours are round numbers with which the full scale slightly exceeds the
arm's largest torques. Brakes hold joints 1 to 3, as on the real arm; the wrist is held by its gears and short-circuited
motors. Gears, rotors, friction, motor constants and limits are those of the robot (`describe/zoo/puma.toml`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from appell.control.axes import check_wirable
from appell.errors import ArgumentError
from appell.hardware.cabinet.wiring import Channel, Wiring
from appell.model.actuator import Actuator
from appell.model.system import System
from appell.motion.working_limits import WorkingLimits, coordinate_ranges, reachable_poses

DEFAULT_GEAR = {"rad": 100.0, "m": 200.0 * np.pi}  # for "m": 10 mm per revolution of the motor
DEFAULT_TORQUE_CONSTANT = 0.1  # N m/A
FAST_SPEED = {"rad": 5.0, "m": 1.0}  # rad/s or m/s
TEMPERATURE_RISE = 80.0  # K above ambient at full current, below every limit
POTENTIOMETER_MARGIN = 0.15  # of the range of an actuator's positions, at both ends
PUMA_START = (0.1, -0.7, 2.6, 0.2, 0.6, -0.3)  # rad
_PUMA_JOINTS = (  # range in degrees, resistance in ohm, amplifier in A/V, encoder lines, home in rad, brake in N m
    (-160, 160, 2.0, 0.9, 200, 0.031, 200.0),
    (-225, 45, 2.0, 0.9, 200, -0.012, 250.0),
    (-45, 225, 2.0, 0.9, 250, 0.040, 150.0),
    (-110, 170, 6.5, 0.45, 250, 0.007, 0.0),
    (-100, 100, 6.5, 0.45, 250, -0.022, 0.0),
    (-266, 266, 6.5, 0.45, 250, 0.015, 0.0),
)


def wiring_of(system: System) -> Wiring:
    """Return the wiring of `WIRINGS` for a system with known motors, otherwise a generic one."""
    motors_known = all(actuator.torque_constant and actuator.current for actuator in system.actuators)
    return WIRINGS.get(system.name, generic_wiring)(system) if motors_known else generic_wiring(system)


def generic_wiring(system: System) -> Wiring:
    """Return one channel per actuator, with its described torque limit or, without one, enough for slow motions."""
    check_wirable(system)
    _, positions = reachable_poses(system)
    torques = WorkingLimits.of(system).torque
    low, high = positions.min(axis=0), positions.max(axis=0)
    margin = POTENTIOMETER_MARGIN * (high - low) if system.is_closed_form else np.zeros(system.nu)
    rows = zip(system.actuators, system.actuator_units, torques, low - margin, high + margin, strict=True)
    channels = []
    for actuator, unit, limit, lower, upper in rows:
        torque = actuator.torque_limit if actuator.no_load_speed else float(actuator.torque or limit)
        motor = _motor(actuator, unit, torque)
        amps, per_ampere = motor.current or 0.0, (motor.torque_constant or 0.0) * abs(motor.gear)
        fast = actuator.no_load_speed or FAST_SPEED[unit]
        ohms = per_ampere**2 * fast / torque  # at this speed, a shorted motor brakes with its full torque
        volts = per_ampere * fast if actuator.no_load_speed else 2.0 * (ohms * amps + per_ampere * fast)
        channels.append(
            Channel(
                motor,
                float(lower),
                float(upper),
                resistance=ohms,
                supply=volts,  # with a no-load speed, the voltage at which the torque falls as in the description
                amplifier=amps / 9.5,
                lines=1000,
                brake=2.0 * torque,
                heating=TEMPERATURE_RISE / (ohms * amps**2),
            )
        )
    start = tuple(np.clip(system.start, *coordinate_ranges(system).T).tolist())
    name = f"the generic cabinet of {system.owner}"
    return Wiring(system.actuator_names, tuple(channels), start, name, units=system.actuator_units)


def _motor(actuator: Actuator, unit: str, torque: float) -> Actuator:
    """Return the actuator with a motor that can provide the torque."""
    gear = actuator.gear if actuator.rotor_inertia or abs(actuator.gear) != 1.0 else DEFAULT_GEAR[unit]
    constant = actuator.torque_constant or DEFAULT_TORQUE_CONSTANT
    current = actuator.current or torque / (abs(gear) * constant)
    return replace(actuator, gear=gear, torque_constant=constant, current=current)


def puma_600(robot: System) -> Wiring:
    """Return the wiring of the PUMA 600, for a robot with its six actuators."""
    name = "the PUMA 600 cabinet"
    if robot.nu != len(_PUMA_JOINTS):
        raise ArgumentError(f"{robot.owner} has {robot.nu} actuators; {name} drives {len(_PUMA_JOINTS)}.")
    channels = [
        Channel(actuator, float(np.radians(low)), float(np.radians(high)), ohm, 40.0, gain, lines, home, brake)
        for actuator, (low, high, ohm, gain, lines, home, brake) in zip(robot.actuators, _PUMA_JOINTS, strict=True)
    ]
    return Wiring(robot.actuator_names, tuple(channels), PUMA_START, name)


WIRINGS = {"puma": puma_600}  # name of a system -> its wiring
