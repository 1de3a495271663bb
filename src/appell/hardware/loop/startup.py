"""Where a system stands when the power comes on: roughly by the potentiometers, then exactly by the index pulses.

A potentiometer is absolute but coarse; counts are fine but start at zero wherever the actuator stands. The index pulse
comes once a turn of the motor, at home + k pitch for some whole k. A potentiometer that is good to half a pitch decides
k:

    offset = home + k pitch - counts at the pulse / resolution,     k = nearest((θ at the pulse - home) / pitch)     (1)

From the actuators' positions follow the coordinates: on an arm they are the same, else by Newton's method.
"""

from __future__ import annotations

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, Hint
from appell.hardware.cabinet.hardware import Blocks
from appell.hardware.cabinet.wiring import Wiring
from appell.hardware.loop.reference import Reference
from appell.hardware.loop.servo import Servo
from appell.kinematics.mechanisms import forward_kinematics, position_error

DOUBT = 0.35  # of a pitch; a correction beyond it could be the wrong turn

COARSE = 0.05  # rad or m; so near Newton's method needs no care, and more actuators than coordinates may disagree
POLISHED = 6  # steps


def coordinates_at(dyn: Dynamics, theta: np.ndarray, near: np.ndarray) -> np.ndarray:
    """q for positions of the actuators, the one near a pose; as near as can be where they contradict each other."""
    if dyn.system.is_tree:
        return theta.copy()
    q = forward_kinematics(dyn, theta, near, tolerance=COARSE)
    for _ in range(POLISHED):
        q = q + np.linalg.pinv(dyn.actuator_jacobian(q)) @ position_error(dyn, theta, q)
    return q


def coarse_offset(total: np.ndarray, readings: int) -> np.ndarray:
    """The mean of potentiometer position less counts."""
    return total / readings


def refined_offset(wiring: Wiring, layout: Blocks, signals: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """(1), for actuators that have all passed an index pulse."""
    seen = layout.take(signals, "index_seen") > 0.5
    if not seen.all():
        name = wiring.names[int(np.argmin(seen))]
        raise ArgumentError(f"actuator '{name}' has not passed an index pulse yet.", hint="run index_search(...) first")
    resolution, pitch, home = (wiring.column(name) for name in ("resolution", "index_pitch", "home"))
    at_pulse = layout.take(signals, "index_counts") / resolution
    turns = np.round((at_pulse + offset - home) / pitch)
    exact = home + turns * pitch - at_pulse
    wrong = np.abs(exact - offset) > DOUBT * pitch
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ArgumentError(
            f"the potentiometer of actuator '{wiring.names[k]}' is off by {abs(exact[k] - offset[k]):.3g} rad, "
            f"too much to tell the motor's turns apart.",
            expected=f"at most {DOUBT * pitch[k]:.3g} rad",
            hint="calibrate the potentiometer",
        )
    return exact


def index_search(servo: Servo, q: np.ndarray, speed: float = 0.1) -> Reference:
    """A slow motion by which every actuator passes well over a turn of its motor, and back."""
    period, way = servo.design.period, _search_way(servo, q)
    most = 1.5 * servo.wiring.column("index_pitch").max()
    half = np.pi / 2.0 * most / speed
    ticks = int(np.ceil(2.0 * half / period))
    rate = 2.0 * np.pi / (ticks * period)
    phase = rate * period * np.arange(ticks + 1)[:, None]
    middle = phase + 0.5 * rate * period
    shape = np.stack([0.5 * (1.0 - np.cos(phase)), 0.5 * rate * np.sin(phase), 0.5 * rate**2 * np.cos(middle)], axis=1)
    samples = shape * way
    samples[:, 0] += q
    return Reference(samples, period, servo.system.coordinate_names)


def _search_way(servo: Servo, q: np.ndarray) -> np.ndarray:
    """The change of q that turns every motor by one and a half; towards the middle of the ranges if that can be."""
    wiring, dyn, guard = servo.wiring, servo.design.parts.smooth, servo.guard
    theta = dyn.actuator_positions(q)
    turned = 1.5 * wiring.column("index_pitch")
    inward = np.where(theta < 0.5 * (wiring.column("lower") + wiring.column("upper")), 1.0, -1.0)
    for signs in (inward, np.ones(wiring.n), -np.ones(wiring.n), -inward):
        try:
            target = coordinates_at(dyn, theta + signs * turned, q)
        except ArgumentError:
            continue
        if (target >= guard.lower).all() and (target <= guard.upper).all():
            return target - q
    raise ArgumentError(
        f"{servo.system.owner} has no room to turn every motor by {1.5:g} turns from where it stands.",
        hint=Hint("move it by hand towards the middle of its ranges, or {calibrate}", calibrate=False),
    )
