"""The position of a system from those of its actuators, and the motion in which a device finds its exact position."""

from __future__ import annotations

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, Hint
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import Servo
from appell.kinematics.mechanisms import forward_kinematics, position_error

COARSE_TOLERANCE = 0.05  # rad or m; Newton's method converges from there, and redundant actuators may disagree
NEWTON_STEPS = 6


def coordinates_at(dyn: Dynamics, theta: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Return the configuration near a pose for positions of the actuators; a least-squares fit if they disagree."""
    if dyn.system.is_tree:
        return theta.copy()
    q = forward_kinematics(dyn, theta, near, tolerance=COARSE_TOLERANCE)
    for _ in range(NEWTON_STEPS):
        q = q + np.linalg.pinv(dyn.actuator_jacobian(q)) @ position_error(dyn, theta, q)
    return q


def homing_motion(servo: Servo, travel: np.ndarray, q: np.ndarray, speed: float = 0.1) -> Reference:
    """Return a slow motion in which every actuator moves by the travel that its device needs, and back.

    Parameters
    ----------
    servo : Servo
    travel : ndarray, shape (nu,)
        Distance of every actuator, in rad or m; see `Device`.
    q : ndarray, shape (nq,)
        Current configuration.
    speed : largest speed, in rad/s or m/s
    """
    period, displacement = servo.design.period, _displacement(servo, travel, q)
    half = np.pi / 2.0 * travel.max() / speed
    ticks = int(np.ceil(2.0 * half / period))
    rate = 2.0 * np.pi / (ticks * period)
    phase = rate * period * np.arange(ticks + 1)[:, None]
    middle = phase + 0.5 * rate * period
    shape = np.stack([0.5 * (1.0 - np.cos(phase)), 0.5 * rate * np.sin(phase), 0.5 * rate**2 * np.cos(middle)], axis=1)
    samples = shape * displacement
    samples[:, 0] += q
    return Reference(samples, period, servo.system.coordinate_names)


def _displacement(servo: Servo, travel: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the change of q with which every actuator travels, towards the middle of the ranges if possible."""
    info, dyn, guard = servo.info, servo.design.parts.smooth, servo.guard
    theta = dyn.actuator_positions(q)
    lower, upper = (np.array(bound) if bound is not None else theta for bound in (info.lower, info.upper))
    inward = np.where(theta < 0.5 * (lower + upper), 1.0, -1.0)
    for signs in (inward, np.ones(len(theta)), -np.ones(len(theta)), -inward):
        try:
            target = coordinates_at(dyn, theta + signs * travel, q)
        except ArgumentError:
            continue
        if (target >= guard.lower).all() and (target <= guard.upper).all():
            return target - q
    raise ArgumentError(
        f"{servo.system.owner} cannot move every actuator by the travel that {info.name} needs to find its position.",
        hint=Hint("Move it by hand towards the middle of its ranges, or pass {calibrate}.", calibrate=False),
    )
