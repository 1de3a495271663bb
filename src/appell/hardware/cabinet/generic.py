"""Wirings of cabinets: that of the PUMA 600, and one for any system, with round numbers where motors are unknown.

A motor must be able to carry the system and to move it: three times the torque of slow motions anywhere in its range,
and a bit. Gears, rotors and frictions that are known stay as they are; an unknown rotor weighs nothing.

The PUMA 600 is that of Valera et al. 2003. From the paper: encoders of "200 counts per revolution" on joints 1 and 2
and 250 on the others, taken here as lines of four counts each; potentiometers of 0 to 5 V; outputs of ±10 V; two tool
outputs. It names the cards (PCL-818, PCL-726) and no bits: 12 are ours. It prints no amplifier gains or brakes either:
ours are round numbers of the right size, so that full scale gives the arm's greatest torques with some to spare. Brakes
hold joints 1 to 3, as on the real arm; the wrist is held by its gears and shorted motors. Gears, rotors, frictions,
motor constants and limits are the robot's (`describe/zoo/puma.toml`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from appell.control.axes import wirable
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.hardware.cabinet.wiring import Channel, Wiring
from appell.model.actuator import Actuator
from appell.model.system import System

GEAR = {"rad": 100.0, "m": 200.0 * np.pi}  # 10 mm a turn
CONSTANT = 0.1  # N m/A
SPARE, LEAST = 3.0, {"rad": 5.0, "m": 20.0}  # times the torque of a slow motion, and so much more
SPEED, ACCELERATION = 0.5, 2.0  # of a slow motion
FAST = {"rad": 5.0, "m": 1.0}  # per second
WARM = 80.0  # K above the air at full current: never too hot
ROOM = 0.15  # of a potentiometer's range at both of its ends
FREE = np.pi  # rad or m to both sides of zero, or of the start: the range of what has none
SAMPLES = 400
START = (0.1, -0.7, 2.6, 0.2, 0.6, -0.3)
#   range, degrees  ohm  A/V  lines  home  brake, N m
_JOINTS = (
    (-160, 160, 2.0, 0.9, 200, 0.031, 200.0),
    (-225, 45, 2.0, 0.9, 200, -0.012, 250.0),
    (-45, 225, 2.0, 0.9, 250, 0.040, 150.0),
    (-110, 170, 6.5, 0.45, 250, 0.007, 0.0),
    (-100, 100, 6.5, 0.45, 250, -0.022, 0.0),
    (-266, 266, 6.5, 0.45, 250, 0.015, 0.0),
)


def wiring_of(system: System) -> Wiring:
    """The wiring that is known for a system of this name, if its motors are; else a generic one."""
    motors = all(own.torque_constant and own.current for own in system.actuators)
    return WIRINGS.get(system.name, generic_wiring)(system) if motors else generic_wiring(system)


def coordinate_ranges(system: System) -> np.ndarray:
    """Lowest and highest of every coordinate, (nq, 2); finite also where the system knows no limit."""
    middle = system.start if system.is_closed_form else np.zeros(system.nq)
    free = np.column_stack([middle - FREE, middle + FREE])
    return np.where(np.isfinite(system.ranges), system.ranges, free)


def generic_wiring(system: System) -> Wiring:
    """A channel an actuator, strong enough for the torque that it states or, failing that, for slow motions."""
    wirable(system)
    poses, positions = _poses(system)
    torques = _slow_torques(system, poses)
    low, high = positions.min(axis=0), positions.max(axis=0)
    room = ROOM * (high - low) if system.is_closed_form else np.zeros(system.nu)
    rows = zip(system.actuators, system.actuator_units, torques, low - room, high + room, strict=True)
    channels = []
    for own, unit, slow, lower, upper in rows:
        torque = own.torque or SPARE * float(slow) + LEAST[unit]
        motor = _motor(own, unit, torque)
        amps, per_ampere = motor.current or 0.0, (motor.torque_constant or 0.0) * abs(motor.gear)
        ohms = per_ampere**2 * FAST[unit] / torque  # a shorted motor opposes its full torque to a fast motion
        channels.append(
            Channel(
                motor,
                float(lower),
                float(upper),
                resistance=ohms,
                supply=2.0 * (ohms * amps + per_ampere * FAST[unit]),
                amplifier=amps / 9.5,
                lines=1000,
                brake=2.0 * torque,
                heating=WARM / (ohms * amps**2),
            )
        )
    start = tuple(np.clip(system.start, *coordinate_ranges(system).T).tolist())
    return Wiring(system.actuator_names, tuple(channels), start, f"the generic cabinet of {system.owner}")


def _motor(own: Actuator, unit: str, torque: float) -> Actuator:
    """The actuator with a motor that can give the torque."""
    gear = own.gear if own.rotor_inertia or abs(own.gear) != 1.0 else GEAR[unit]
    constant = own.torque_constant or CONSTANT
    return replace(own, gear=gear, torque_constant=constant, current=own.current or torque / (abs(gear) * constant))


def _poses(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Poses all over the ranges, corners first, and the actuators' positions there; those in reach only."""
    lower, upper = coordinate_ranges(system).T
    rng = np.random.default_rng(0)
    if not system.is_closed_form:
        poses = rng.uniform(lower, upper, (SAMPLES, system.nq))
        return poses, np.array([lower, upper])
    corners = np.array(np.meshgrid(*([0.0, 1.0],) * system.nq)).reshape(system.nq, -1).T
    shares = np.vstack([corners, rng.random((SAMPLES, system.nq))])
    poses = lower + (upper - lower) * shares
    dyn = Dynamics(system)
    with np.errstate(invalid="ignore"):
        theta, first = dyn.actuator_positions(poses), dyn.actuator_positions(system.start)
    turn = np.where(np.array(system.actuator_units) == "rad", 2.0 * np.pi, np.inf)
    theta = theta - turn * np.round((theta - first) / turn) if np.isfinite(turn).any() else theta
    good = np.isfinite(theta).all(axis=1)
    return poses[good], theta[good]


def _slow_torques(system: System, poses: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng(1)
    v, a = (size * rng.choice([-1.0, 1.0], poses.shape) for size in (SPEED, ACCELERATION))
    with np.errstate(invalid="ignore"):
        tau = np.abs(Dynamics(system, friction=True, rotors=True).inverse_dynamics(poses, v, a))
    return np.percentile(tau[np.isfinite(tau).all(axis=1)], 99.0, axis=0)


def puma_600(robot: System) -> Wiring:
    """The wiring of the PUMA 600, for a robot with its drives."""
    name = "the PUMA 600 cabinet"
    if robot.nu != len(_JOINTS):
        raise ArgumentError(f"{robot.owner} has {robot.nu} actuators; {name} drives {len(_JOINTS)}.")
    channels = [
        Channel(own, float(np.radians(low)), float(np.radians(high)), ohm, 40.0, gain, lines, home, brake)
        for own, (low, high, ohm, gain, lines, home, brake) in zip(robot.actuators, _JOINTS, strict=True)
    ]
    return Wiring(robot.actuator_names, tuple(channels), START, name)


WIRINGS = {"puma": puma_600}  # by the name of the system
