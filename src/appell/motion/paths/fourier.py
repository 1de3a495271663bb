"""Finite Fourier series, the periodic motions on which robots are identified.

    q(t) = q₀ + Σₖ  aₖ/(kω) sin kωt - bₖ/(kω) cos kωt          v(t) = Σₖ  aₖ cos kωt + bₖ sin kωt                  (1)

aₖ and bₖ are amplitudes of velocity, so that no harmonic is favoured in the accelerations by its number alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.errors import ArgumentError
from appell.motion.path import QVA, Numbers, Path, checked_duration, checked_points


class Fourier(Path):
    """The series, coefficients of shape (harmonics, n) about `center`, `frequency` in Hz; one period by default."""

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
