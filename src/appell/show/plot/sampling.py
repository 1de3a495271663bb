"""When to look at a motion so that straight lines between the samples are the curve, to a fraction of a pixel.

Between two knots a motion is smooth: rows, the joints of its polynomials and events are knots. A chord over a time h
leaves a curve by at most

    h² |ÿ| / 8                                                                                               (1)

and |ÿ| is found from second differences at a few places. At an event both its sides are sampled: a jump stays one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from appell.motion.record import Record
from appell.motion.titles import titles

FINE = 1.0 / 2000.0  # of what a panel shows: half a pixel on one that is a thousand high
PROBES = 16  # parts of a stretch whose second differences are looked at
GLANCES = 200  # at the whole motion, for what its panels show
MOST = 500  # parts of a stretch
COLUMNS = 4000  # of a picture, more than there are pixels
TOGETHER = 1000  # stretches looked at in one go


@dataclass(frozen=True)
class Samples:
    """Times, twice where something jumps, and the states there."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


def finely(record: Record, panels: Sequence[Sequence[str]]) -> Samples:
    """The motion between the rows of a record that knows it, fine enough for panels with these columns."""
    knots, jumps = _knots(record)
    if len(knots) < 2:
        return Samples(record.t, record.q, record.v)
    allowed, low, high = _allowed(record, panels), knots[:-1], knots[1:]
    before = np.nextafter(high, low)
    chunks = [slice(k, k + TOGETHER) for k in range(0, len(low), TOGETHER)]
    parts = np.concatenate([_parts(record, low[part], before[part], allowed) for part in chunks])
    which = np.repeat(np.arange(len(low)), parts)
    inside = (np.arange(len(which)) - np.repeat(np.cumsum(parts) - parts, parts)) / parts[which]
    t = low[which] + inside * (high - low)[which]
    jumping = np.flatnonzero(np.isin(high, jumps))
    ends = np.cumsum(parts)[jumping]  # behind the last sample of a stretch stands its end, as it was before the jump
    at = np.append(np.insert(np.minimum(t, before[which]), ends, before[jumping]), knots[-1])
    q, v = record(at)
    return Samples(np.append(np.insert(t, ends, high[jumping]), knots[-1]), q, v)


def envelope(t: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What a line through very many samples looks like: the lowest and the highest of every fraction of a pixel."""
    size = len(t) // COLUMNS
    if size < 3:
        return t, y
    cut = len(t) - len(t) % size
    blocks = y[:cut].reshape(-1, size)
    low = np.where(np.isnan(blocks), np.inf, blocks).argmin(axis=1)  # a block without numbers leaves a gap
    high = np.where(np.isnan(blocks), -np.inf, blocks).argmax(axis=1)
    start = np.arange(0, cut, size)
    kept = np.unique(np.concatenate([[0], start + low, start + high, np.arange(cut, len(t)), [len(t) - 1]]))
    return t[kept], y[kept]


def _knots(record: Record) -> tuple[np.ndarray, np.ndarray]:
    """Where smoothness may end, and where something may jump."""
    t, between = record.t, record.between
    inner = () if between is None else (between.starts, between.stops)
    events = np.array([event.time for event in record.events])
    twice = t[1:][np.diff(t) == 0.0]
    every = np.concatenate([t, events, *inner])
    return np.unique(every[(every >= t[0]) & (every <= t[-1])]), np.concatenate([events, twice])


def _allowed(record: Record, panels: Sequence[Sequence[str]]) -> np.ndarray:
    """How far every q and v may be from its line: a fraction of what its panel shows."""
    order = [*titles("q", record.names("q")), *titles("v", record.names("v"))]
    between = np.concatenate(record(np.linspace(record.t[0], record.t[-1], GLANCES)), axis=-1)
    values = dict(zip(order, np.concatenate([np.hstack([record.q, record.v]), between]).T, strict=True))
    allowed = dict.fromkeys(order, np.inf)
    for panel in panels:
        shown = [values[title] for title in panel if title in values]
        if shown:
            span = np.nanmax(shown) - np.nanmin(shown)
            allowed |= dict.fromkeys(panel, FINE * span if span > 0.0 else np.inf)
    return np.array([allowed[title] for title in order])


def _parts(record: Record, low: np.ndarray, high: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Into how many parts to cut each stretch, by (1)."""
    t = low[:, None] + (high - low)[:, None] * np.linspace(0.0, 1.0, PROBES + 1)
    y = np.concatenate(record(np.clip(t, low[:, None], high[:, None])), axis=-1)
    bend = np.abs(np.diff(y, 2, axis=1)).max(axis=1)  # |ÿ| (h / probes)²
    with np.errstate(invalid="ignore"):
        parts = PROBES * np.sqrt(np.nanmax(bend / (8.0 * allowed), axis=-1, initial=0.0))
    return np.clip(np.ceil(np.nan_to_num(parts)), 1, MOST).astype(int)
