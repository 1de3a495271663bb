"""A path is a motion asked for: coordinates, velocities and accelerations as functions of time, from 0 to its duration.

    q, v, a = path(t)                t of any shape; a last axis of coordinates is added

A path belongs to joints that move along or about one axis, so that v is the derivative of q.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError

if TYPE_CHECKING:
    from appell.motion.record import Record

EDGE = 1e-9  # relative; times this far outside are meant to be the ends
QVA = tuple[np.ndarray, np.ndarray, np.ndarray]
Numbers = Sequence[float] | np.ndarray


class Path(ABC):
    """A motion from t = 0 to t = duration."""

    duration: float
    names: tuple[str, ...]  # of the coordinates

    @abstractmethod
    def _at(self, t: np.ndarray) -> QVA:
        """q, v, a at a line of times, each of shape (len(t), n)."""

    def __call__(self, t) -> QVA:
        """q, v, a at times of any shape, each with one more axis."""
        t = np.asarray(t, float)
        slack = EDGE * self.duration
        if not np.all((t >= -slack) & (t <= self.duration + slack)):
            bad = t[~((t >= -slack) & (t <= self.duration + slack))].flat[0]
            raise ArgumentError(f"the path is asked for t = {bad:g} s.", expected=f"0 ≤ t ≤ {self.duration:g} s")
        q, v, a = self._at(np.clip(t, 0.0, self.duration).ravel())
        shape = (*t.shape, len(self.names))
        return q.reshape(shape), v.reshape(shape), a.reshape(shape)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.names)} joints, {self.duration:g} s>"

    def times(self, samples: int = 201) -> np.ndarray:
        """Equally spaced times from start to end."""
        return np.linspace(0.0, self.duration, samples)

    def record(
        self, samples: int = 201, *, period: float | None = None, units: Mapping[str, str] | None = None
    ) -> Record:
        """q, v and a at equally spaced times from start to end, or a period apart; `units` by column, if known."""
        from appell.motion.record import Record

        t = self.times(samples)
        if period is not None:
            t = checked_duration(period) * np.arange(np.floor(self.duration / period + EDGE) + 1)
        own = [f"{quantity}_{name}" for quantity in "qva" for name in self.names]
        known = {title: unit for title, unit in (units or {}).items() if title in own}
        return Record.of(t, dict(zip("qva", self(t), strict=True)), self.names, units=known)

    def plot(
        self, path: str | FilePath | None = None, samples: int = 401, *, figure=None, overwrite: bool = False
    ) -> Any:
        """Position, velocity and acceleration over time, written to `path` if there is one; returns the figure."""
        return self.record(samples).plot(path, figure=figure, overwrite=overwrite)


def numbered(n: int) -> tuple[str, ...]:
    """Names for coordinates that nobody named."""
    return tuple(f"{k + 1}" for k in range(n))


def checked_duration(duration: float) -> float:
    if not (np.isfinite(duration) and duration > 0.0):
        raise ArgumentError(f"the duration is {duration:g} s.", expected="a positive number of seconds")
    return float(duration)


def checked_times(times: Numbers) -> np.ndarray:
    """Times of way-points: from 0, each after the one before it."""
    t = np.asarray(times, float)
    if t.ndim != 1 or len(t) < 2:
        raise ArgumentError(f"the times of the way-points have shape {t.shape}.", expected="a list of two or more")
    if not np.isfinite(t).all():
        raise ArgumentError(f"the time of way-point {int(np.argmin(np.isfinite(t)))} is not finite.")
    if (np.diff(t) <= 0.0).any():
        k = int(np.argmax(np.diff(t) <= 0.0)) + 1
        raise ArgumentError(
            f"way-point {k} at t = {t[k]:g} s does not come after way-point {k - 1} at t = {t[k - 1]:g} s."
        )
    if t[0] != 0.0:
        raise ArgumentError(f"the first way-point is at t = {t[0]:g} s.", expected="0: a path starts there")
    return t


def checked_points(points, count: int | None, names: Sequence[str] | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Way-points as an array (count, n), and the names of their n coordinates."""
    q = np.asarray(points, float)
    if q.ndim != 2 or (count is not None and len(q) != count):
        raise ArgumentError(f"the way-points have shape {q.shape}.", expected=f"({count or 'points'}, coordinates)")
    if not np.isfinite(q).all():
        k, j = (int(i) for i in np.argwhere(~np.isfinite(q))[0])
        raise ArgumentError(f"coordinate {j} of way-point {k} is not finite.")
    if names is not None and len(names) != q.shape[1]:
        raise ArgumentError(f"{len(names)} names are given for {q.shape[1]} coordinates.")
    return q, tuple(names) if names is not None else numbered(q.shape[1])
