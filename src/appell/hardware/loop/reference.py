"""A reference: what a loop is to follow, worked out for every tick before anything moves.

The acceleration of a tick is taken from the middle of the period for which its torque is held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from appell.control.design import checked_period
from appell.errors import ArgumentError, Hint
from appell.hardware.loop.summary import last_motion
from appell.motion.path import Path
from appell.motion.paths.spline import Interpolated
from appell.motion.record import Record

SLACK = 1e-9
SHORTEST = 0.5  # s of an approach or a run-out


@dataclass(frozen=True)
class Reference:
    """q_d, v_d, a_d of tick k in samples[k], of shape (3, n); after the last one the arm is held there."""

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
        return self.samples.shape[2]

    @property
    def duration(self) -> float:
        return (len(self) - 1) * self.period

    @property
    def q(self) -> np.ndarray:
        return self.samples[:, 0]

    @cached_property
    def end(self) -> np.ndarray:
        """The sample that is held after the end."""
        last = np.zeros((3, self.n))
        last[0] = self.samples[-1, 0]
        return last

    @staticmethod
    def sampled(path: Callable, period: float, duration: float | None = None) -> Reference:
        """Of a path: a function q, v, a = path(t) with a `duration`."""
        checked_period(period)
        until = getattr(path, "duration", None) if duration is None else duration
        if until is None:
            raise ArgumentError("the path does not say how long it lasts.", hint="duration=...")
        ticks = int(np.floor(until / period + SLACK)) + 1
        t = np.minimum(period * np.arange(ticks), until)
        q, v, _ = path(t)
        a = path(np.minimum(t + 0.5 * period, until))[2]
        return Reference(np.stack([q, v, a], axis=1), period, tuple(getattr(path, "names", ())))

    @staticmethod
    def approached(path: Path, period: float, start: np.ndarray, speed: float = 0.3) -> tuple[Reference, slice]:
        """From rest at `start` smoothly on to a path, along it, and to rest after it; and the ticks of the path.

        A path may begin and end in motion, as a piece of a periodic one does. `speed` bounds the mean of the approach.
        """
        own = Reference.sampled(path, period)
        (first, rate, _), (last, rate_last, _) = own.samples[0], own.samples[-1]
        rest, far = np.zeros(own.n), np.abs(first - start).max()
        before = _bridge((start, rest), (first, rate), max(SHORTEST, far / speed), period)
        after = _bridge((last, rate_last), (last + 0.5 * SHORTEST * rate_last, rest), SHORTEST, period)
        samples = np.concatenate([before.samples[:-1], own.samples, after.samples[1:]])
        ticks = slice(len(before) - 1, len(before) - 1 + len(own))
        return Reference(samples, period, own.names), ticks

    @staticmethod
    def hold(q, period: float, duration: float) -> Reference:
        """A target to go to and stay at: what the point-to-point law wants."""
        q = np.asarray(q, float)
        samples = np.zeros((round(duration / checked_period(period)) + 1, 3, q.size))
        samples[:, 0] = q
        return Reference(samples, period)

    def check(self, start: np.ndarray, lower: np.ndarray, upper: np.ndarray, fastest: np.ndarray, tracks: bool) -> None:
        """Raise if the arm, at `start`, cannot follow: a wrong size, a jump, a limit passed."""
        if self.n != len(start):
            raise ArgumentError(f"the reference moves {self.n} joints; the arm has {len(start)}.")
        outside = (self.q < lower - SLACK) | (self.q > upper + SLACK)
        if outside.any():
            k, joint = (int(i) for i in np.argwhere(outside)[0])
            raise ArgumentError(
                f"the reference takes {self._joint(joint)} to {self.q[k, joint]:.4g} at t = {k * self.period:g} s.",
                expected=f"between {lower[joint]:.4g} and {upper[joint]:.4g}",
            )
        if not tracks:
            return
        path = np.vstack([start, self.q])
        jump = np.abs(np.diff(path, axis=0)) - self.period * fastest
        jump[0] = np.abs(path[1] - path[0]) - 0.02  # the arm stands where it stands, within a degree
        if (jump > SLACK).any():
            k, joint = (int(i) for i in np.argwhere(jump > SLACK)[0])
            where = "at its start" if k == 0 else f"at t = {k * self.period:g} s"
            raise ArgumentError(
                f"the reference of {self._joint(joint)} jumps {where}: "
                f"from {path[k, joint]:.4g} to {path[k + 1, joint]:.4g}.",
                expected="a start where the arm stands" if k == 0 else f"at most {fastest[joint]:.3g} per second",
                hint=Hint("{law}, or a ramp from where the arm stands", law="point-to-point"),
            )

    def _joint(self, k: int) -> str:
        return f"joint '{self.names[k]}'" if self.names else f"joint {k + 1}"


def _bridge(begin, end, duration: float, period: float) -> Reference:
    """From one (q, v) to another, by a quintic over a whole number of periods."""
    duration = period * np.ceil(duration / period - SLACK)
    q, v = (np.stack(pair) for pair in zip(begin, end, strict=True))
    return Reference.sampled(Interpolated([0.0, duration], q, v, 0.0 * q), period)


def recorded_path(record: Record, names: tuple[str, ...]) -> Path:
    """The path that a record tells of: what was asked for in the last motion of a control log, else its q."""
    if "qd" not in record:
        return record.path(names)
    part = record.part(last_motion(record)) if "state" in record else record
    return Record.of(part.t - part.t[0], {"q": part["qd"]}, part.names("qd")).path(names)
