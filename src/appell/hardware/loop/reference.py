"""The reference of a control loop, computed for every tick in advance.

The acceleration of a tick is taken from the middle of the period for which its torque is held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from appell.control.design import checked_period
from appell.errors import ArgumentError, DescriptionError, Hint
from appell.hardware.loop.summary import last_motion
from appell.motion.path import Path
from appell.motion.paths.spline import Interpolated
from appell.motion.record import Record

TOLERANCE = 1e-9  # rad or m, and fraction of a period
MIN_APPROACH_S = 0.5  # duration of an approach or a run-out
MAX_START_ERROR = 0.02  # rad or m between the start of a reference and the arm


@dataclass(frozen=True)
class Reference:
    """Desired positions, velocities and accelerations of every tick; the last position is held afterwards.

    Parameters
    ----------
    samples : array_like, shape (ticks, 3, n)
        q_d, v_d and a_d of every tick.
    period : in s
    names : names of the coordinates, for messages

    Examples
    --------
    >>> import appell as ap
    >>> path = ap.motion.Ramp([0.0], [1.0], 1.0, 2.0)
    >>> reference = ap.hardware.Reference.sampled(path, period=1e-3)
    >>> reference.samples.shape, round(reference.duration, 3)
    ((1501, 3, 1), 1.5)
    """

    samples: np.ndarray
    period: float
    names: tuple[str, ...] = ()

    def __post_init__(self):
        samples = np.ascontiguousarray(self.samples, dtype=float)
        if samples.ndim != 3 or samples.shape[1] != 3 or not len(samples):
            raise ArgumentError(f"the reference has shape {samples.shape}.", expected="(ticks, 3, joints)")
        if not np.isfinite(samples).all():
            k, kind, joint = (int(i) for i in np.argwhere(~np.isfinite(samples))[0])
            raise ArgumentError(
                f"the reference's {('position', 'velocity', 'acceleration')[kind]} of {self._joint(joint)} at tick {k} "
                f"(t = {k * self.period:g} s) is {samples[k, kind, joint]}.",
                expected="finite numbers",
            )
        checked_period(self.period)
        object.__setattr__(self, "samples", samples)

    def __len__(self) -> int:
        return len(self.samples)

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return self.samples.shape[2]

    @property
    def duration(self) -> float:
        """Duration in s."""
        return (len(self) - 1) * self.period

    @property
    def q(self) -> np.ndarray:
        """Desired positions, of shape (ticks, n)."""
        return self.samples[:, 0]

    @cached_property
    def end(self) -> np.ndarray:
        """The sample that is held after the end."""
        last = np.zeros((3, self.n))
        last[0] = self.samples[-1, 0]
        return last

    @staticmethod
    def sampled(path: Callable, period: float, duration: float | None = None) -> Reference:
        """Sample a path at every tick.

        Parameters
        ----------
        path : a function q, v, a = path(t)
        period : in s
        duration : in s; by default `path.duration`
        """
        checked_period(period)
        until = getattr(path, "duration", None) if duration is None else duration
        if until is None:
            raise ArgumentError("the path has no duration.", hint="Pass duration=...")
        ticks = int(np.floor(until / period + TOLERANCE)) + 1
        t = np.minimum(period * np.arange(ticks), until)
        q, v, _ = path(t)
        a = path(np.minimum(t + 0.5 * period, until))[2]
        return Reference(np.stack([q, v, a], axis=1), period, tuple(getattr(path, "names", ())))

    @staticmethod
    def approached(path: Path, period: float, start: np.ndarray, speed: float = 0.3) -> tuple[Reference, slice]:
        """Return a reference that approaches a path, follows it and comes to rest, and the ticks of the path.

        Parameters
        ----------
        path : Path
            It may start and end in motion, such as a part of a periodic one.
        period : in s
        start : ndarray, shape (n,)
            Current position, at rest.
        speed : largest mean speed of the approach, in rad/s or m/s
        """
        along = Reference.sampled(path, period)
        (first, rate, _), (last, rate_last, _) = along.samples[0], along.samples[-1]
        rest, distance = np.zeros(along.n), np.abs(first - start).max()
        before = _bridge((start, rest), (first, rate), max(MIN_APPROACH_S, distance / speed), period)
        after = _bridge((last, rate_last), (last + 0.5 * MIN_APPROACH_S * rate_last, rest), MIN_APPROACH_S, period)
        samples = np.concatenate([before.samples[:-1], along.samples, after.samples[1:]])
        ticks = slice(len(before) - 1, len(before) - 1 + len(along))
        return Reference(samples, period, along.names), ticks

    @staticmethod
    def hold(q, period: float, duration: float) -> Reference:
        """Return a constant target for `duration` seconds, as the point-to-point law needs it."""
        q = np.asarray(q, float)
        samples = np.zeros((round(duration / checked_period(period)) + 1, 3, q.size))
        samples[:, 0] = q
        return Reference(samples, period)

    def check(self, start: np.ndarray, lower: np.ndarray, upper: np.ndarray, fastest: np.ndarray, tracks: bool) -> None:
        """Raise an ArgumentError if the arm cannot follow: wrong size, a jump, or a limit exceeded.

        Parameters
        ----------
        start : ndarray, shape (n,)
            Current position.
        lower, upper : ndarray, shape (n,)
            Limits of the positions.
        fastest : ndarray, shape (n,)
            Largest speeds, in rad/s or m/s.
        tracks : whether the reference must be continuous and start at the current position
        """
        if self.n != len(start):
            raise ArgumentError(f"the reference has {self.n} joints; the arm has {len(start)}.")
        outside = (self.q < lower - TOLERANCE) | (self.q > upper + TOLERANCE)
        if outside.any():
            k, joint = (int(i) for i in np.argwhere(outside)[0])
            raise ArgumentError(
                f"the reference moves {self._joint(joint)} to {self.q[k, joint]:.4g} at t = {k * self.period:g} s.",
                expected=f"between {lower[joint]:.4g} and {upper[joint]:.4g}",
            )
        if not tracks:
            return
        path = np.vstack([start, self.q])
        jump = np.abs(np.diff(path, axis=0)) - self.period * fastest
        jump[0] = np.abs(path[1] - path[0]) - MAX_START_ERROR
        if (jump > TOLERANCE).any():
            k, joint = (int(i) for i in np.argwhere(jump > TOLERANCE)[0])
            where = "at its start" if k == 0 else f"at t = {k * self.period:g} s"
            raise ArgumentError(
                f"the reference of {self._joint(joint)} jumps {where}: "
                f"from {path[k, joint]:.4g} to {path[k + 1, joint]:.4g}.",
                expected="a start at the position of the arm" if k == 0 else f"at most {fastest[joint]:.3g} per second",
                hint=Hint("Start from the position of the arm with a ramp, or use {law}.", law="point-to-point"),
            )

    def _joint(self, k: int) -> str:
        return f"joint '{self.names[k]}'" if self.names else f"joint {k + 1}"


def _bridge(begin, end, duration: float, period: float) -> Reference:
    """Return a quintic from one (q, v) to another over a whole number of periods."""
    duration = period * np.ceil(duration / period - TOLERANCE)
    q, v = (np.stack(pair) for pair in zip(begin, end, strict=True))
    return Reference.sampled(Interpolated([0.0, duration], q, v, 0.0 * q), period)


def recorded_path(record: Record, names: tuple[str, ...]) -> Path:
    """Return the path of a record: the reference of the last motion of a control log, otherwise its q."""
    if "qd" not in record:
        return record.path(names)
    part = record.part(last_motion(record)) if "state" in record else record
    if not len(part):
        raise DescriptionError("the record has no rows.", source=record.source)
    return Record.of(part.t - part.t[0], {"q": part["qd"]}, part.names("qd")).path(names)
