"""Where the arm stands when the power comes on: roughly by the potentiometers, then exactly by the index pulses.

A potentiometer is absolute but coarse; counts are fine but start at zero wherever the arm stands. The index pulse comes
once a turn of the motor, at home + k pitch for some whole k. A potentiometer that is good to half a pitch decides k:

    offset = home + k pitch - counts at the pulse / resolution,     k = nearest((q at the pulse - home) / pitch)     (1)
"""

from __future__ import annotations

import numpy as np

from appell.control.cabinet.drive import Wiring
from appell.control.cabinet.signals import Layout
from appell.control.loop.reference import Reference
from appell.errors import ArgumentError

DOUBT = 0.35  # of a pitch; a correction beyond it could be the wrong turn


def coarse_offset(total: np.ndarray, readings: int) -> np.ndarray:
    """The mean of potentiometer position less counts."""
    return total / readings


def refined_offset(wiring: Wiring, layout: Layout, signals: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """(1), for joints that have all passed an index pulse."""
    seen = layout.take(signals, "index_seen") > 0.5
    if not seen.all():
        joint = wiring.joint_names[int(np.argmin(seen))]
        raise ArgumentError(f"joint '{joint}' has not passed an index pulse yet.", hint="run index_search(...) first")
    resolution, pitch, home = (wiring.column(name) for name in ("counts_per_radian", "index_pitch", "home"))
    at_pulse = layout.take(signals, "index_counts") / resolution
    turns = np.round((at_pulse + offset - home) / pitch)
    exact = home + turns * pitch - at_pulse
    wrong = np.abs(exact - offset) > DOUBT * pitch
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ArgumentError(
            f"the potentiometer of joint '{wiring.joint_names[k]}' is off by {abs(exact[k] - offset[k]):.3g} rad, "
            f"too much to tell the motor's turns apart.",
            expected=f"at most {DOUBT * pitch[k]:.3g} rad",
            hint="calibrate the potentiometer",
        )
    return exact


def index_search(wiring: Wiring, q: np.ndarray, period: float, speed: float = 0.1) -> Reference:
    """A slow motion of every joint by well over a turn of its motor, towards the middle of its range, and back."""
    way = (
        1.5
        * wiring.column("index_pitch")
        * np.where(q < 0.5 * (wiring.column("lower") + wiring.column("upper")), 1.0, -1.0)
    )
    half = np.pi / 2.0 * np.abs(way).max() / speed
    ticks = int(np.ceil(2.0 * half / period))
    rate = 2.0 * np.pi / (ticks * period)
    phase = rate * period * np.arange(ticks + 1)[:, None]
    middle = phase + 0.5 * rate * period
    shape = np.stack([0.5 * (1.0 - np.cos(phase)), 0.5 * rate * np.sin(phase), 0.5 * rate**2 * np.cos(middle)], axis=1)
    samples = shape * way
    samples[:, 0] += q
    return Reference(samples, period, wiring.joint_names)
