"""Calibration of the position after power-on: approximately by the potentiometers, then exactly by the index pulses.

A potentiometer is absolute but inaccurate; counts are accurate but start at zero at any position. The index pulse
occurs once per revolution of the motor, at home + k pitch with an integer k. A potentiometer with an error below half a
pitch determines k:

    offset = home + k pitch - counts at the pulse / resolution,     k = nearest((θ at the pulse - home) / pitch)     (1)

The coordinates follow from the positions of the actuators: on an arm they are equal, otherwise by Newton's method.
"""

from __future__ import annotations

import numpy as np

from appell.control.blocks import Blocks
from appell.dynamics import Dynamics
from appell.errors import ArgumentError, Hint
from appell.hardware.cabinet.wiring import Wiring
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import Servo
from appell.kinematics.mechanisms import forward_kinematics, position_error

MAX_CORRECTION = 0.35  # of a pitch; with a larger correction, k could be wrong
COARSE_TOLERANCE = 0.05  # rad or m; Newton's method converges from there, and redundant actuators may disagree
NEWTON_STEPS = 6
SEARCH_REVOLUTIONS = 1.5  # of every motor in the index search


def coordinates_at(dyn: Dynamics, theta: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return the configuration near a pose for positions of the actuators; a least-squares fit if they disagree."""
    if dyn.system.is_tree:
        return theta.copy()
    q = forward_kinematics(dyn, theta, near, tolerance=COARSE_TOLERANCE)
    for _ in range(NEWTON_STEPS):
        q = q + np.linalg.pinv(dyn.actuator_jacobian(q)) @ position_error(dyn, theta, q)
    return q


def coarse_offset(total: np.ndarray, readings: int) -> np.ndarray:
    """Return the mean of potentiometer position minus counts, from their sum."""
    return total / readings


def refined_offset(wiring: Wiring, layout: Blocks, signals: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return the offsets (1) of actuators that have all passed an index pulse."""
    seen = layout.take(signals, "index_seen") > 0.5
    if not seen.all():
        name = wiring.names[int(np.argmin(seen))]
        raise ArgumentError(
            f"actuator '{name}' has not passed an index pulse yet.", hint="Follow index_search(...) first."
        )
    resolution, pitch, home = (wiring.column(name) for name in ("resolution", "index_pitch", "home"))
    at_pulse = layout.take(signals, "index_counts") / resolution
    turns = np.round((at_pulse + offset - home) / pitch)
    exact = home + turns * pitch - at_pulse
    wrong = np.abs(exact - offset) > MAX_CORRECTION * pitch
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ArgumentError(
            f"the potentiometer of actuator '{wiring.names[k]}' has an error of {abs(exact[k] - offset[k]):.3g} rad, "
            f"too large to identify the revolution of the motor.",
            expected=f"at most {MAX_CORRECTION * pitch[k]:.3g} rad",
            hint="Calibrate the potentiometer.",
        )
    return exact


def index_search(servo: Servo, q: np.ndarray, speed: float = 0.1) -> Reference:
    """Return a slow motion in which every motor turns by 1.5 revolutions and back.

    Parameters
    ----------
    servo : Servo
    q : ndarray, shape (nq,)
        Current configuration.
    speed : float
        Largest speed, in rad/s or m/s.
    """
    period, displacement = servo.design.period, _search_displacement(servo, q)
    longest = SEARCH_REVOLUTIONS * servo.wiring.column("index_pitch").max()
    half = np.pi / 2.0 * longest / speed
    ticks = int(np.ceil(2.0 * half / period))
    rate = 2.0 * np.pi / (ticks * period)
    phase = rate * period * np.arange(ticks + 1)[:, None]
    middle = phase + 0.5 * rate * period
    shape = np.stack([0.5 * (1.0 - np.cos(phase)), 0.5 * rate * np.sin(phase), 0.5 * rate**2 * np.cos(middle)], axis=1)
    samples = shape * displacement
    samples[:, 0] += q
    return Reference(samples, period, servo.system.coordinate_names)


def _search_displacement(servo: Servo, q: np.ndarray) -> np.ndarray:
    """Return the change of q for 1.5 revolutions of every motor, towards the middle of the ranges if possible."""
    wiring, dyn, guard = servo.wiring, servo.design.parts.smooth, servo.guard
    theta = dyn.actuator_positions(q)
    turned = SEARCH_REVOLUTIONS * wiring.column("index_pitch")
    inward = np.where(theta < 0.5 * (wiring.column("lower") + wiring.column("upper")), 1.0, -1.0)
    for signs in (inward, np.ones(wiring.n), -np.ones(wiring.n), -inward):
        try:
            target = coordinates_at(dyn, theta + signs * turned, q)
        except ArgumentError:
            continue
        if (target >= guard.lower).all() and (target <= guard.upper).all():
            return target - q
    raise ArgumentError(
        f"{servo.system.owner} cannot turn every motor by {SEARCH_REVOLUTIONS:g} revolutions from its position.",
        hint=Hint("Move it by hand towards the middle of its ranges, or pass {calibrate}.", calibrate=False),
    )
