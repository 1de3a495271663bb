"""What is wrong with a recorded or planned motion of a robot.

    file           it is cut or damaged
    clock          gaps, repeated times, times out of order, jumps of the clock, uneven steps
    values         missing numbers, outliers, units that contradict the limits or the velocities
    limits         positions, speeds and torques beyond the limits of the description
    torques        recorded torques that contradict inverse dynamics: sign, unit, magnitude
    collisions     pairs of collision shapes that touch

A motion with torques is a record: its velocities and accelerations are those of the filtered positions (`process`).
A motion without torques is a plan: it is interpolated exactly, and the torques are those that it needs. Every check is
a function in `CHECKS`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, DescriptionError, ModelWarning
from appell.identify.parameter_set import select_parameters
from appell.identify.processing import process, smoothed
from appell.identify.samples import torque_problems
from appell.model.system import System
from appell.motion.collision_check import collisions
from appell.motion.measurement import (
    MIN_ROWS,
    has_columns,
    in_units,
    matched,
    outlier_rows,
    unit_ratios,
    with_detected_units,
)
from appell.motion.path import Path
from appell.motion.record import Record
from appell.motion.titles import FORCES, record_names, titles

LIMIT_TOLERANCE = 1e-6  # of a limit, up to which it counts as kept
UNEVEN_STEPS = 0.1  # standard deviation of the steps relative to the period, from which it is a problem
MAX_DEVIATION = 0.5  # RMS of recorded minus predicted torque, relative to the RMS of the recorded torque


@dataclass(frozen=True)
class MotionProblem:
    """One thing that is wrong with a motion.

    Parameters
    ----------
    kind
        "file", "gap", "repeated time", "time out of order", "clock jump", "uneven steps", "missing numbers",
        "outliers", "units", "position limit", "speed limit", "torque limit", "unreachable pose", "torques" or
        "collision".
    name
        The joint, actuator or column; empty if the problem concerns all of them.
    times
        When it occurs or begins, in s.
    text
        A sentence without a full stop.
    """

    kind: str
    name: str
    times: tuple[float, ...]
    text: str


@dataclass(frozen=True)
class MotionCheck:
    """The result of `check`: `problems`, and in `skipped` sentences on what could not be checked."""

    robot: str
    rows: int
    duration: float  # s
    problems: tuple[MotionProblem, ...]
    skipped: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        lines = [f"{p.kind}{f' of {p.name}' if p.name else ''}{_at(p.times)}: {p.text}" for p in self.problems]
        return "\n".join(lines or [f"no problems in {self.rows} rows over {self.duration:.6g} s"])


def check(
    robot: System,
    motion: Record | Path | str | FilePath,
    *,
    patterns: Mapping[str, str] | None = None,
    units: Mapping[str, str] | None = None,
    **reading: Any,
) -> MotionCheck:
    """List what is wrong with a recorded or planned motion of a robot.

    Parameters
    ----------
    robot : Robot or Mechanism
        Its limits and inertias are those of its description.
    motion : Record, Path, str or pathlib.Path
        The motion, or the name of its file or bag. Columns q are required; v, a and tau are used if they exist.
    patterns, units
        As in `motion.measured`.
    **reading
        Options of `Record.read`: `columns`, `topics`, `clock`.

    Returns
    -------
    MotionCheck
        `problems` with their times and names, and `ok`.

    Raises
    ------
    DescriptionError
        If the file cannot be read, or columns of q are missing.

    Examples
    --------
    >>> import appell as ap
    >>> robot = ap.load("panda")
    >>> plan = ap.motion.Spline([0.0, 1.0], [robot.home, [x + 3.0 for x in robot.home]]).record(50)
    >>> [(p.kind, p.name) for p in ap.check(robot, plan).problems][:2]
    [('position limit', 'joint1'), ('position limit', 'joint2')]
    """
    problems: list[MotionProblem] = []
    if isinstance(motion, (str, FilePath)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ModelWarning)
            record = Record.read(motion, **reading)
        repaired = record.clock.repairs()
        texts = [str(w.message).rstrip(".") for w in caught if issubclass(w.category, ModelWarning)]
        problems += [MotionProblem("file", "", (), x) for x in texts if not any(repair in x for repair in repaired)]
    elif isinstance(motion, Path):
        record = motion.record()
    elif isinstance(motion, Record):
        record = motion
    else:
        raise ArgumentError(
            f"the motion is a {type(motion).__name__}.", expected="a Record, a Path or the name of a file"
        )
    names = record_names(robot)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ModelWarning)
        record = in_units(matched(record, names, patterns), units or {})
    problems += [MotionProblem("units", "", (), str(w.message).rstrip(".")) for w in caught]
    kinds = {kind: names[kind] for kind in names if has_columns(record, kind, names[kind], required=kind == "q")}
    columns = ("t", *(title for kind in kinds for title in titles(kind, kinds[kind])))
    record = Record(
        columns,
        record.data[:, [record.columns.index(title) for title in columns]],
        units={title: unit for title, unit in record.units.items() if title in columns},
        about=record.about,
        source=record.source,
    )
    problems += [*_clock(record), *_missing(record)]
    complete = record.part(np.isfinite(record.data).all(axis=1) & (np.diff(record.t, prepend=-np.inf) > 0.0))
    skipped: list[str] = []
    duration = float(np.ptp(record.t)) if len(record) else 0.0
    if len(complete) < 2:
        skipped.append(f"only {len(complete)} rows are complete, too few for other checks")
    else:
        complete, wrong = _in_right_units(complete, robot)
        problems += wrong
        if any("seems to be" in problem.text or "neither" in problem.text for problem in wrong):
            skipped.append("limits and torques, because the units contradict each other")
        else:
            subject = _Motion(robot, complete, skipped)
            problems += [problem for each in CHECKS for problem in each(subject)]
    return MotionCheck(robot.name, len(record), duration, tuple(problems), tuple(dict.fromkeys(skipped)))


def _clock(record: Record) -> Iterator[MotionProblem]:
    clock = record.clock
    kinds = {
        "gap": (clock.gaps, "{count} in total, the longest {size:.4g} s"),
        "repeated time": (clock.duplicates, "{count} in total: a row has the time of the row before"),
        "time out of order": (clock.late, "{count} in total, at most {size:.4g} s late"),
        "clock jump": (clock.jumps, "{count} in total, the largest {size:.4g} s"),
    }
    for kind, (incidents, text) in kinds.items():
        if incidents:
            size = max(abs(incident.size) for incident in incidents)
            times = tuple(incident.time for incident in incidents)
            yield MotionProblem(kind, "", times, text.format(count=len(incidents), size=size))
    if clock.jitter > UNEVEN_STEPS * clock.period:
        text = f"the time between rows varies by {clock.jitter:.3g} s about {clock.period:.4g} s"
        yield MotionProblem("uneven steps", "", (), text)


def _missing(record: Record) -> Iterator[MotionProblem]:
    """Yield missing numbers, once for columns that lack them in the same rows."""
    missing, groups = ~np.isfinite(record.data), dict[bytes, list[int]]()
    for k in np.flatnonzero(missing.any(axis=0)):
        groups.setdefault(missing[:, k].tobytes(), []).append(int(k))
    for first, *others in groups.values():
        text = f"no number in {missing[:, first].sum()} rows" + (f", also in {len(others)} columns" if others else "")
        yield MotionProblem("missing numbers", record.columns[first], _starts(record.t, missing[:, first]), text)


def _in_right_units(record: Record, robot: System) -> tuple[Record, list[MotionProblem]]:
    """Return the record in SI units, and problems with units."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ModelWarning)
            record = with_detected_units(record, robot).in_si()
        texts = [str(warning.message) for warning in caught]
        texts += [error.problem for error in (ratio.error(record) for ratio in unit_ratios(record))]
    except DescriptionError as error:
        texts = [error.problem]
    return record, [MotionProblem("units", "", (), text.rstrip(".")) for text in texts]


@dataclass(frozen=True, eq=False)
class _Motion:
    """A motion with complete rows in SI units; `skipped` collects what could not be checked."""

    robot: System
    record: Record
    skipped: list[str] = field(repr=False)

    @property
    def is_record(self) -> bool:
        return "tau" in self.record

    @cached_property
    def dynamics(self) -> Dynamics:
        return Dynamics(self.robot, friction=True, rotors=True)

    @cached_property
    def processed(self) -> Record | None:
        """q, v and a, and tau of a record; None if they cannot be computed."""
        record, names = self.record, record_names(self.robot)
        if "v" in record and "a" in record and not self.is_record:
            return record
        if not self.robot.is_flat:
            self.skipped.append("speeds and torques, because the velocities are not derivatives of the coordinates")
            return None
        if self.is_record and len(record) >= MIN_ROWS:
            try:
                return process(record)
            except ArgumentError:  # no run is long enough to be filtered
                pass
        q, v, a = record.path(names["q"])(record.t)
        blocks = {"q": q, "v": v, "a": a} | ({"tau": record.tau} if self.is_record else {})
        return Record.of(record.t, blocks, names, about=record.about)

    def predicted(self) -> np.ndarray | None:
        """Return the torques of inverse dynamics along `processed`, NaN where a mechanism cannot be assembled."""
        if self.processed is None:
            return None
        with np.errstate(invalid="ignore"):
            return self.dynamics.inverse_dynamics(*(self.processed[key] for key in "qva"))


def _outliers(motion: _Motion) -> Iterator[MotionProblem]:
    for kind in ("q", "v", "a", "tau"):
        if motion.is_record and kind in motion.record and len(motion.record) >= MIN_ROWS:
            for title, rows in outlier_rows(motion.record, kind):
                times = tuple(motion.record.t[rows].tolist())
                yield MotionProblem("outliers", title, times, f"{len(rows)} rows differ far from their neighbours")


def _positions(motion: _Motion) -> Iterator[MotionProblem]:
    limits, record = motion.robot.limits, motion.record
    known = limits.upper > limits.lower
    lower, upper = np.where(known, limits.lower, -np.inf), np.where(known, limits.upper, np.inf)
    names, size = motion.robot.coordinate_names, np.where(known, np.abs(limits.upper - limits.lower), 0.0)
    margin = np.where(np.isfinite(size), LIMIT_TOLERANCE * size, 0.0)
    q = record.block("q", names)
    for k, (name, unit) in enumerate(zip(names, motion.robot.coordinate_units, strict=True)):
        for limit, excess, word in ((upper[k], q[:, k] - upper[k], "upper"), (lower[k], lower[k] - q[:, k], "lower")):
            beyond = excess > margin[k]
            if beyond.any():
                worst = int(np.argmax(excess))
                text = f"{q[worst, k]:.5g} {unit} at t = {record.t[worst]:.6g} s, {word} limit {limit:.5g} {unit}"
                yield MotionProblem("position limit", name, _starts(record.t, beyond), text)


def _speeds(motion: _Motion) -> Iterator[MotionProblem]:
    robot, limit = motion.robot, motion.robot.limits.speed
    if "v" in motion.record:
        source = motion.record
    elif motion.processed is not None:
        source = motion.processed
    else:
        return
    names = record_names(robot)
    q, v = source.block("q", names["q"]), source.block("v", names["v"])
    with np.errstate(invalid="ignore"):
        rates = np.einsum("tij,tj->ti", motion.dynamics.actuator_jacobian(q), v)
    units = [f"{unit}/s" for unit in robot.actuator_units]
    yield from _beyond(motion, "speed", source.t, rates, limit, np.ones_like(rates), units, "reaches")


def _torques(motion: _Motion) -> Iterator[MotionProblem]:
    """Yield torques beyond their limits, which fall with the speed if the actuator has a no-load speed."""
    robot, predicted = motion.robot, motion.predicted()
    if motion.processed is None or predicted is None:
        return
    source, tau, word = motion.processed, predicted, "needs"
    if motion.is_record:
        source, tau, word = motion.processed, motion.processed.block("tau", robot.actuator_names), "reaches"
    unreachable = ~np.isfinite(predicted).all(axis=1)
    if unreachable.any():
        text = f"{unreachable.sum()} rows at which the mechanism cannot be assembled"
        yield MotionProblem("unreachable pose", "", _starts(source.t, unreachable), text)
    with np.errstate(invalid="ignore"):
        rates = np.einsum("tij,tj->ti", motion.dynamics.actuator_jacobian(source.q), source.v)
    free = np.array([np.inf if x.no_load_speed is None else x.no_load_speed for x in robot.actuators])
    share = np.maximum(1.0 - np.maximum(np.sign(tau) * rates, 0.0) / free, 0.0)
    units = [FORCES[unit] for unit in robot.actuator_units]
    yield from _beyond(motion, "torque", source.t, tau, robot.limits.torque, share, units, word)


def _beyond(
    motion: _Motion,
    quantity: str,
    t: np.ndarray,
    values: np.ndarray,
    limits: np.ndarray,
    share: np.ndarray,
    units: Sequence[str],
    word: str,
) -> Iterator[MotionProblem]:
    """Yield the actuators whose values exceed their limits times `share`."""
    names = motion.robot.actuator_names
    known = np.isfinite(limits) & (limits > 0.0)
    if not known.all():
        unknown = [name for name, flag in zip(names, known, strict=True) if not flag]
        motion.skipped.append(f"{quantity} limits of {', '.join(unknown)}, which the description does not have")
    for k in np.flatnonzero(known).tolist():
        allowed = limits[k] * share[:, k]
        excess = np.nan_to_num(np.abs(values[:, k]) - allowed, nan=-np.inf)
        beyond = excess > LIMIT_TOLERANCE * limits[k]
        if beyond.any():
            worst = int(np.argmax(excess))
            falls = f" ({limits[k]:.5g} at rest)" if allowed[worst] < limits[k] else ""
            text = f"{word} {abs(values[worst, k]):.5g} {units[k]} at t = {t[worst]:.6g} s, limit {allowed[worst]:.5g}"
            yield MotionProblem(f"{quantity} limit", names[k], _starts(t, beyond), f"{text} {units[k]}{falls}")


def _contradictions(motion: _Motion) -> Iterator[MotionProblem]:
    """Yield recorded torques that contradict inverse dynamics of the description."""
    data = motion.processed
    if data is None or not motion.is_record:
        return
    yield from (
        MotionProblem("torques", "", (), text) for text in torque_problems(select_parameters(motion.robot), data)
    )
    raw, predicted = data.block("tau", motion.robot.actuator_names), motion.predicted()
    assert predicted is not None
    tau = smoothed(data, raw)
    difference = np.nan_to_num(np.abs(tau - predicted))
    units = [FORCES[unit] for unit in motion.robot.actuator_units]
    for k, (name, unit) in enumerate(zip(motion.robot.actuator_names, units, strict=True)):
        size, error, noise = (np.sqrt(np.mean(x[:, k] ** 2)) for x in (tau, difference, raw - tau))
        if error > max(MAX_DEVIATION * size, noise):
            worst = float(data.t[int(np.argmax(difference[:, k]))])
            text = f"differ by {error:.4g} {unit} RMS from inverse dynamics, and are {size:.4g} {unit} RMS"
            yield MotionProblem("torques", name, (worst,), text)


def _collisions(motion: _Motion) -> Iterator[MotionProblem]:
    """Yield pairs of collision shapes that touch, except those that touch in all rows, which the description causes."""
    if not getattr(motion.robot, "collisions", ()):
        return
    try:
        result = collisions(motion.robot, motion.record)
    except DescriptionError as error:  # a mesh file that is missing or damaged
        motion.skipped.append(f"collisions: {error.problem.rstrip('.')}")
        return
    always: np.ndarray = np.all(result.touching, axis=0)
    if always.any():
        names = [" and ".join(pair) for pair, flag in zip(result.pairs, always, strict=True) if flag]
        motion.skipped.append(f"collisions of {', '.join(names)}, which touch in all rows")
    for pair, touching in zip(result.pairs, result.touching.T, strict=True):
        if touching.any() and not touching.all():
            covered = ", by capsules around their shapes" if pair in result.covered else ""
            text = f"touch in {touching.sum()} of {len(touching)} rows{covered}"
            yield MotionProblem("collision", " and ".join(pair), _starts(result.t, touching), text)


# one function per kind of check
CHECKS: tuple[Callable[[_Motion], Iterator[MotionProblem]], ...] = (
    _outliers,
    _positions,
    _speeds,
    _torques,
    _contradictions,
    _collisions,
)


def _starts(t: np.ndarray, rows: np.ndarray) -> tuple[float, ...]:
    """Return the times at which stretches of rows begin."""
    return tuple(t[np.flatnonzero(np.diff(rows.astype(int), prepend=0) > 0)].tolist())


def _at(times: tuple[float, ...]) -> str:
    more = f" and {len(times) - 3} more times" if len(times) > 3 else ""
    return f" at t = {', '.join(f'{t:.6g}' for t in times[:3])} s{more}" if times else ""
