"""Sample times of a motion for which straight lines between the samples are accurate to a fraction of a pixel.

A motion is smooth between two knots, which are rows, boundaries of its polynomials, and events. A chord over a time h
deviates from the curve by at most

    h² |ÿ| / 8                                                                                               (1)

where |ÿ| is estimated from second differences. Both sides of an event are sampled, so that discontinuities are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from appell.motion.record import Record
from appell.motion.titles import titles

LINE_TOLERANCE = 1.0 / 2000.0  # of the range of a panel: half a pixel of a panel 1000 pixels high
PROBES = 16  # parts of an interval for second differences
RANGE_SAMPLES = 200  # of the motion, to estimate the range of a panel
MAX_PARTS = 500  # of an interval
MAX_COLUMNS = 4000  # of a picture, more than it has pixels
INTERVALS_PER_CHUNK = 1000  # evaluated together


@dataclass(frozen=True)
class Samples:
    """Times and states; a time occurs twice at a discontinuity."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


def sample_motion(record: Record, panels: Sequence[Sequence[str]]) -> Samples:
    """Sample a record that has its motion between rows, finely enough for panels with these columns."""
    knots, jumps = _knots(record)
    if len(knots) < 2:
        return Samples(record.t, record.q, record.v)
    allowed, low, high = _allowed(record, panels), knots[:-1], knots[1:]
    before = np.nextafter(high, low)
    chunks = [slice(k, k + INTERVALS_PER_CHUNK) for k in range(0, len(low), INTERVALS_PER_CHUNK)]
    parts = np.concatenate([_parts(record, low[part], before[part], allowed) for part in chunks])
    which = np.repeat(np.arange(len(low)), parts)
    inside = (np.arange(len(which)) - np.repeat(np.cumsum(parts) - parts, parts)) / parts[which]
    t = low[which] + inside * (high - low)[which]
    jumping = np.flatnonzero(np.isin(high, jumps))
    ends = np.cumsum(parts)[jumping]  # after the last sample of an interval: its end before the discontinuity
    at = np.append(np.insert(np.minimum(t, before[which]), ends, before[jumping]), knots[-1])
    q, v = record(at)
    return Samples(np.append(np.insert(t, ends, high[jumping]), knots[-1]), q, v)


def envelope(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Reduce a line with very many samples to the minimum and maximum of every fraction of a pixel."""
    size = len(t) // MAX_COLUMNS
    if size < 3:
        return t, y
    cut = len(t) - len(t) % size
    blocks = y[:cut].reshape(-1, size)
    low = np.where(np.isnan(blocks), np.inf, blocks).argmin(axis=1)  # a block of NaN leaves a gap
    high = np.where(np.isnan(blocks), -np.inf, blocks).argmax(axis=1)
    start = np.arange(0, cut, size)
    kept = np.unique(np.concatenate([[0], start + low, start + high, np.arange(cut, len(t)), [len(t) - 1]]))
    return t[kept], y[kept]


def _knots(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Return the times at which smoothness may end, and those of possible discontinuities."""
    t, between = record.t, record.between
    inner = () if between is None else (between.starts, between.stops)
    events = np.array([event.time for event in record.events])
    twice = t[1:][np.diff(t) == 0.0]
    every = np.concatenate([t, events, *inner])
    return np.unique(every[(every >= t[0]) & (every <= t[-1])]), np.concatenate([events, twice])


def _allowed(record: Record, panels: Sequence[Sequence[str]]) -> np.ndarray:
    """Return the allowed deviation of every q and v: a fraction of the range of its panel."""
    order = [*titles("q", record.names("q")), *titles("v", record.names("v"))]
    between = np.concatenate(record(np.linspace(record.t[0], record.t[-1], RANGE_SAMPLES)), axis=-1)
    values = dict(zip(order, np.concatenate([np.hstack([record.q, record.v]), between]).T, strict=True))
    allowed = dict.fromkeys(order, np.inf)
    for panel in panels:
        shown = [values[title] for title in panel if title in values]
        if shown:
            span = np.nanmax(shown) - np.nanmin(shown)
            allowed |= dict.fromkeys(panel, LINE_TOLERANCE * span if span > 0.0 else np.inf)
    return np.array([allowed[title] for title in order])


def _parts(record: Record, low: np.ndarray, high: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Return the number of parts into which each interval is divided, by (1)."""
    t = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, PROBES + 1)
    y = np.concatenate(record(np.clip(t, low[:, None], high[:, None])), axis=-1)
    bend = np.abs(np.diff(y, 2, axis=1)).max(axis=1)  # |ÿ| (h / probes)²
    with np.errstate(invalid="ignore"):
        parts = PROBES * np.sqrt(np.nanmax(bend / (8.0 * allowed), axis=-1, initial=0.0))
    return np.clip(np.ceil(np.nan_to_num(parts)), 1, MAX_PARTS).astype(int)
