"""Finite Fourier series: periodic motions for the identification of robots.

    q(t) = q₀ + Σₖ  aₖ/(kω) sin kωt - bₖ/(kω) cos kωt          v(t) = Σₖ  aₖ cos kωt + bₖ sin kωt                  (1)

aₖ and bₖ are amplitudes of velocity, so that the accelerations of high harmonics are not favoured by their order alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.errors import ArgumentError
from appell.motion.path import QVA, Numbers, Path, checked_duration, checked_points


class Fourier(Path):
    """A finite Fourier series (1).

    Parameters
    ----------
    frequency
        Frequency ω/2π of the first harmonic, Hz.
    cosine, sine
        Velocity amplitudes aₖ and bₖ, (harmonics, n), rad/s or m/s.
    center
        Coordinates q₀, (n,).
    duration
        Duration, s. None: one period.
    names
        Names of the coordinates. None: "1", "2", ...

    Examples
    --------
    >>> from appell.motion import Fourier
    >>> path = Fourier(0.5, cosine=[[0.3]], sine=[[0.0]], center=[0.1])
    >>> q, v, a = path(0.25)
    >>> print(q.round(4), v.round(4), path.duration)
    [0.1675] [0.2121] 2.0
    """

    def __init__(
        self,
        frequency: float,
        cosine,
        sine,
        center: Numbers,
        duration: float | None = None,
        names: Sequence[str] | None = None,
    ):
        if not (np.isfinite(frequency) and frequency > 0.0):
            raise ArgumentError(f"the frequency is {frequency:g} Hz.", expected="a positive number")
        self.frequency = float(frequency)
        (self.center,), self.names = checked_points([center], 1, names)
        self.cosine, self.names = checked_points(cosine, None, self.names)
        self.sine, _ = checked_points(sine, len(self.cosine), self.names)
        self.duration = 1.0 / self.frequency if duration is None else checked_duration(duration)

    def _at(self, t: np.ndarray) -> QVA:
        k = 2.0 * np.pi * self.frequency * np.arange(1, len(self.cosine) + 1)
        phase = t[:, None] * k
        c, s = np.cos(phase), np.sin(phase)
        a, b = self.cosine, self.sine
        q = self.center + (s / k) @ a - (c / k) @ b  # (1)
        return q, c @ a + s @ b, (c * k) @ b - (s * k) @ a
