"""The clock of a log: gaps, jitter, duplicates, messages out of order and jumps, repaired where possible and reported.

Stamps s₁ … sₙ in the order of the file are divided by their running maximum m. A stretch of rows below m, from its
first stamp a on, is

    late       if rows in [a, m] are as many as the period T allows: it fills a hole, and the rows are sorted        (1)
    a jump     if there are 1.5 times as many, or if it lies before the first row: the clock was set back, and all
               following stamps are moved forwards                                                                (2)

so that the first follows the row before it by T, or by the difference of their arrival times if these are known. A step
forwards that the arrival times do not show is also a jump. Without arrival times it cannot be distinguished from a gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from appell.errors import DescriptionError

GAP_RATIO = 3.0  # of the median time between rows: a longer interval is a gap, over which nothing is computed
CROWDED = 1.5  # of (2)
LATE_ROWS = 3  # more rows before the first one are a jump
MAX_JUMPS = 100
MIN_JUMP_S = 0.05  # of a step forwards; arrival times vary by less
NEIGHBOURS = 20  # rows on each side whose median delay shows a jump
LISTED = 3  # times in a sentence


class Incident(NamedTuple):
    """An irregularity of a clock: its time and its size, both in s."""

    time: float
    size: float


@dataclass(frozen=True)
class ClockReport:
    """Irregularities of the times of a log.

    Parameters
    ----------
    period
        Median time between rows, s.
    jitter
        Standard deviation of the time between rows, gaps and duplicates excluded, s.
    gaps
        Intervals longer than three periods: time of the row before, and length.
    duplicates
        Rows with the time of the row before: the time, and zero.
    late
        Rows out of order, which were sorted: their time, and how much earlier they are than a row before.
    jumps
        Jumps of the clock, which were removed: time of the row after, and the change of the clock.
    """

    period: float
    jitter: float
    gaps: tuple[Incident, ...] = ()
    duplicates: tuple[Incident, ...] = ()
    late: tuple[Incident, ...] = ()
    jumps: tuple[Incident, ...] = ()

    def repairs(self) -> list[str]:
        """Return one sentence per kind of irregularity that was repaired, with times."""
        sizes = _listed(jump.size for jump in self.jumps)
        return [
            *_sentence("row", self.late, " out of order", "at", "sorted"),
            *_sentence("jump", self.jumps, f" of the clock ({sizes})", "at", "removed"),
        ]

    def sentences(self) -> list[str]:
        """Return one sentence per kind of irregularity, with times."""
        longest = max((gap.size for gap in self.gaps), default=0.0)
        out = [
            *_sentence("gap", self.gaps, f", the longest {longest:.4g} s", "after", "each side is used separately"),
            *_sentence("repeated time", self.duplicates, "", "at", "the first row of each is used"),
            *self.repairs(),
        ]
        if self.jitter > 0.1 * self.period:
            out.append(f"t: the time between rows varies by {self.jitter:.3g} s about {self.period:.4g} s")
        return out


def _sentence(noun: str, incidents: Sequence[Incident], detail: str, word: str, action: str) -> list[str]:
    times = _listed(incident.time for incident in incidents)
    plural = "" if len(incidents) == 1 else "s"
    return [f"t: {len(incidents)} {noun}{plural}{detail}, {word} t = {times}; {action}"] if incidents else []


def _listed(values: Any) -> str:
    values = list(values)
    more = f" and {len(values) - LISTED} more" if len(values) > LISTED else ""
    return ", ".join(f"{value:.6g}" for value in values[:LISTED]) + f" s{more}"


def clock_report(t: np.ndarray, repairs: Mapping[str, Sequence] | None = None) -> ClockReport:
    """Return the report of ascending times, s; `repairs` are the incidents that `ordered` returned."""
    step = np.diff(t)
    positive = step[step > 0.0]
    period = float(np.median(positive)) if len(positive) else 0.0
    gap = step > GAP_RATIO * period
    regular = step[(step > 0.0) & ~gap]
    incidents = {kind: tuple(Incident(*each) for each in rows) for kind, rows in (repairs or {}).items()}
    return ClockReport(
        period,
        float(np.std(regular)) if len(regular) else 0.0,
        tuple(Incident(float(t[k]), float(step[k])) for k in np.flatnonzero(gap)),
        tuple(Incident(float(t[k + 1]), 0.0) for k in np.flatnonzero(step == 0.0)),
        **incidents,
    )


class Ordered(NamedTuple):
    """Repaired stamps: the rows in their order, ascending stamps, and the incidents by kind for `clock_report`."""

    order: np.ndarray
    stamps: np.ndarray
    repairs: dict[str, list[tuple[float, float]]]


def ordered(
    stamps: np.ndarray, scale: float = 1.0, arrival: np.ndarray | None = None, source: str = "", start: float = 0
) -> Ordered:
    """Sort rows by their stamps, after jumps of the clock have been removed.

    Parameters
    ----------
    stamps
        Stamps in the order of the file, (rows,).
    scale
        Unit of the stamps in s: 1e-9 for stamps in ns.
    arrival
        Times at which the rows were received, in the same unit, if known.
    source
        Name of the file, for errors.
    start
        Stamp of time zero in reports.
    """
    s, repairs = stamps.copy(), dict[str, list[tuple[float, float]]]()
    if len(s) < 2:
        return Ordered(np.arange(len(s)), s, repairs)
    step = np.diff(s)
    period = np.median(step[step > 0]) if (step > 0).any() else step.dtype.type(0)

    def note(kind: str, row: int, size: Any) -> None:
        repairs.setdefault(kind, []).append((float(s[row] - start) * scale, float(size) * scale))

    def moved(row: int, last: Any) -> None:
        """Move the stamps from a row on, so that it follows the stamp `last` by its arrival or by the period."""
        wait = period if arrival is None or arrival[row] <= arrival[row - 1] else arrival[row] - arrival[row - 1]
        change = s[row] - last - s.dtype.type(wait)
        if len(repairs.get("jumps", ())) == MAX_JUMPS:
            raise DescriptionError(
                f"the times are not in order: they jump more than {MAX_JUMPS} times.",
                source=source,
                hint="Select another column or clock as the time.",
            )
        s[row:] -= change
        note("jumps", row, change)

    if arrival is not None:
        delay = arrival - s
        for row in np.flatnonzero((step * scale > MIN_JUMP_S) & (step > GAP_RATIO * period)) + 1:
            before, after = delay[max(row - NEIGHBOURS, 0) : row], delay[row : row + NEIGHBOURS]
            size = np.median(before) - np.median(after)
            if size > 0.5 * step[row - 1] and min(len(before), len(after)) > 2:
                moved(int(row), s[row - 1])
    done, jumped = 0, True  # done: last row that was moved
    while jumped:
        top, jumped = np.maximum.accumulate(s), False
        edges = np.flatnonzero(np.diff((s < top).astype(np.int8), append=0)) + 1  # first rows of stretches, and ends
        for row, end in zip(*[iter(edges[edges > done].tolist())] * 2, strict=True):
            last, first = top[row - 1], s[row:end].min()
            near = s[np.searchsorted(top, first) : end]
            crowd = np.count_nonzero((near >= first) & (near <= last))
            crowded = period and crowd > CROWDED * ((last - first) / period + 1)
            if jumped := bool(crowded or (end - row > LATE_ROWS and first < s[:row].min())):
                moved(row, last)
                done = row
                break
            for k in range(row, end):
                note("late", k, last - s[k])
    order = np.argsort(s, kind="stable")
    return Ordered(order, s[order], repairs)
