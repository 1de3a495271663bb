"""A path is a requested motion: coordinates, velocities and accelerations as functions of time from 0 to its duration.

    q, v, a = path(t)                t of any shape; a last axis of coordinates is added

The joints of a path move along or about one axis, so that v is the derivative of q.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.scalar import real_array
from appell.errors import ArgumentError, is_finite, value_text

if TYPE_CHECKING:
    from appell.motion.record import Record

TIME_TOLERANCE = 1e-9  # relative to the duration: times this far outside count as the ends
QVA = tuple[np.ndarray, np.ndarray, np.ndarray]
Numbers = Sequence[float] | np.ndarray


class Path(ABC):
    """Base class of paths: a motion from t = 0 to t = duration.

    Subclasses are `Spline`, `Interpolated`, `Ramp`, `Fourier`, `CartesianLine` and `Scaled` (the result of
    `time_optimal`). Calling a path returns q, v and a; `record` samples it.

    Examples
    --------
    >>> from appell.motion import Spline
    >>> path = Spline([0.0, 1.0, 2.0], [[0.0], [1.0], [0.5]], names=["hinge"])
    >>> q, v, a = path([0.0, 1.0, 2.0])
    >>> print(q[:, 0].round(3), v[:, 0].round(3))
    [0.  1.  0.5] [0.    0.375 0.   ]
    >>> path.record(samples=5).columns
    ('t', 'q_hinge', 'v_hinge', 'a_hinge')
    """

    duration: float  # s
    names: tuple[str, ...]  # of the coordinates
    units: Mapping[str, str] = {}  # of columns of its records, such as {"q_elbow": "rad"}; empty if they are unknown

    @abstractmethod
    def _at(self, t: np.ndarray) -> QVA:
        """Return q, v, a at times (n,), each of shape (n, coordinates)."""

    def __call__(self, t) -> QVA:
        """Return q, v, a at times of any shape, (*t.shape, coordinates) each."""
        t = numeric(t, "the times")
        margin = TIME_TOLERANCE * self.duration
        if not np.all((t >= -margin) & (t <= self.duration + margin)):
            bad = t[~((t >= -margin) & (t <= self.duration + margin))].flat[0]
            raise ArgumentError(
                f"t = {bad:g} s is outside the duration of the path.", expected=f"0 ≤ t ≤ {self.duration:g} s"
            )
        q, v, a = self._at(np.clip(t, 0.0, self.duration).ravel())
        shape = (*t.shape, len(self.names))
        return q.reshape(shape), v.reshape(shape), a.reshape(shape)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self.names)} joints, {self.duration:g} s>"

    def times(self, samples: int = 201) -> np.ndarray:
        """Return equally spaced times from start to end, s."""
        return np.linspace(0.0, self.duration, samples)

    def record(
        self, samples: int = 201, *, period: float | None = None, units: Mapping[str, str] | None = None
    ) -> Record:
        """Return a record of q, v and a.

        Parameters
        ----------
        samples
            Number of equally spaced times from start to end.
        period
            Time between two rows, s, in place of `samples`.
        units
            Units by column; those of other columns are ignored. None: those of the path, if it has been made for a
            robot.
        """
        from appell.motion.record import Record

        t = self.times(samples)
        if period is not None:
            t = checked_duration(period) * np.arange(np.floor(self.duration / period + TIME_TOLERANCE) + 1)
        columns = [f"{quantity}_{name}" for quantity in "qva" for name in self.names]
        column_units = {
            title: unit for title, unit in (self.units if units is None else units).items() if title in columns
        }
        return Record.of(t, dict(zip("qva", self(t), strict=True)), self.names, units=column_units)

    def plot(
        self, path: str | FilePath | None = None, samples: int = 401, *, figure=None, overwrite: bool = False
    ) -> Any:
        """Plot position, velocity and acceleration over time and return the matplotlib figure.

        Parameters
        ----------
        path
            Name of the file to write, if any.
        samples
            Number of equally spaced times.
        figure
            Figure to draw into. None: a new one.
        overwrite
            Whether to replace an existing file.
        """
        return self.record(samples).plot(path, figure=figure, overwrite=overwrite)


def numeric(values: Any, what: str) -> np.ndarray:
    """Return an array of floats; raise `ArgumentError` that starts with `what` if values are not numbers."""
    try:
        return real_array(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArgumentError(f"{what} cannot be read as floating-point numbers: {error}.") from None


def numbered(n: int) -> tuple[str, ...]:
    """Return the default names of n coordinates: "1", "2", ..."""
    return tuple(f"{k + 1}" for k in range(n))


def checked_duration(duration: float) -> float:
    """Return a positive duration in seconds; raise `ArgumentError` otherwise."""
    if not (is_finite(duration) and duration > 0.0):
        text = f"{duration:g} s" if isinstance(duration, float) else value_text(duration)
        raise ArgumentError(f"the duration is {text}.", expected="a positive number of seconds")
    return float(duration)


def checked_times(times: Numbers) -> np.ndarray:
    """Return the times of way-points, which start at 0 and ascend strictly; raise `ArgumentError` otherwise."""
    t = numeric(times, "the times of the way-points")
    if t.ndim != 1 or len(t) < 2:
        raise ArgumentError(
            f"the times of the way-points have shape {t.shape}.", expected="a list of two or more times"
        )
    if not np.isfinite(t).all():
        raise ArgumentError(f"the time of way-point {int(np.argmin(np.isfinite(t)))} is not finite.")
    if (np.diff(t) <= 0.0).any():
        k = int(np.argmax(np.diff(t) <= 0.0)) + 1
        raise ArgumentError(
            f"way-point {k} at t = {t[k]:g} s does not come after way-point {k - 1} at t = {t[k - 1]:g} s."
        )
    if t[0] != 0.0:
        raise ArgumentError(f"the first way-point is at t = {t[0]:g} s.", expected="0 s, where every path starts")
    return t


def checked_points(points, count: int | None, names: Sequence[str] | None) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return way-points as an array (count, n) and the names of their n coordinates; `count` None accepts any."""
    q = numeric(points, "the way-points")
    if q.ndim != 2 or (count is not None and len(q) != count):
        raise ArgumentError(f"the way-points have shape {q.shape}.", expected=f"({count or 'points'}, coordinates)")
    if not np.isfinite(q).all():
        k, j = (int(i) for i in np.argwhere(~np.isfinite(q))[0])
        raise ArgumentError(f"coordinate {j} of way-point {k} is not finite.")
    if names is not None and len(names) != q.shape[1]:
        raise ArgumentError(f"{len(names)} names are given for {q.shape[1]} coordinates.")
    return q, tuple(names) if names is not None else numbered(q.shape[1])
