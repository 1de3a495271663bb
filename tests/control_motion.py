"""The motion that the tests of control make the PUMA follow."""

from __future__ import annotations

import numpy as np

from appell.control.loop.task import PUMA_START

SWING = np.array([0.6, 0.3, 0.3, 0.5, 0.5, 0.5])
START = np.array(PUMA_START)


class Swing:
    """All joints there and back, from rest, smoothly: one period of a cosine in `duration` seconds."""

    names = ()

    def __init__(self, start=START, size=SWING, duration: float = 2.0):
        self.start, self.size, self.duration = np.asarray(start), np.asarray(size), duration

    def __call__(self, t):
        rate = 2.0 * np.pi / self.duration
        phase = rate * np.asarray(t, float)[..., None]
        half = 0.5 * self.size
        return (
            self.start + half * (1.0 - np.cos(phase)),
            half * rate * np.sin(phase),
            half * rate**2 * np.cos(phase),
        )
