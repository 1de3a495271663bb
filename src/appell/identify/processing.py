"""From a measured record to what a fit needs: q, v, a and tau at common instants, without noise that can be taken off.

q is low-passed forwards and backwards (Butterworth, no phase), v and a are its central differences, and the ends,
where the filter has not settled, are cut. The band is found from the spectrum of the acceleration: noise of q
that is white grows as f⁴ there, so the band ends where the signal, falling, meets what rises. A commanded tau is
held over a sample; its mean of two neighbours stands for the instant between them (`hold`). It is low-passed only
for judging (`smooth`), not for fitting: least squares averages by itself, and filtered noise would only pretend to more
samples than there are.

Filters and differences need even steps. Where a clock was uneven by more than a percent, q, v and a are taken from
cubic splines and tau from straight lines at even steps, with a remark; steps beyond `GAP` of the median one are gaps,
over which nothing is computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import butter, sosfiltfilt, welch

from appell.errors import ArgumentError
from appell.identify.sought import Sought
from appell.motion.measurement import GAP
from appell.motion.record import Record
from appell.motion.titles import parse

ORDER = 4
BAND = (2.0, 0.2)  # Hz and share of the sampling rate between which a band is looked for
MOTION = 5.0  # Hz; the strongest accelerations that are meant lie below
EDGE = 4.0  # periods of the band in which the filter settles
UNEVEN = 0.01  # relative to the median step: what is taken as even
SLOW, SHARE = 0.05, 0.05  # rad/s or m/s at most, and of an actuator's largest speed
SAFE = 0.75  # of the frequency where motion and noise are equally strong


def process(
    record: Record, *, band: float | None = None, decimate: int = 1, hold: bool = False, smooth: bool = False
) -> Record:
    """Filter, differentiate, cut the ends of every run without gaps, and keep every `decimate`-th sample.

    The record has q, v, a and tau, `smooth` or as measured, and the band in Hz as `about["band"]`.
    """
    rate = 1.0 / record.period
    band = choose_band(record) if band is None else float(band)
    if not 0.0 < band < 0.45 * rate:
        raise ArgumentError(
            f"the band is {band:g} Hz of a record sampled at {rate:g} Hz.", expected=f"0 < band < {0.45 * rate:g}"
        )
    if int(decimate) != decimate or decimate < 1:
        raise ArgumentError(f"every {decimate}-th sample cannot be kept.", expected="a whole number from 1")
    edge = int(np.ceil(EDGE * rate / band))
    breaks = np.flatnonzero(np.diff(record.t) > GAP * record.period) + 1
    parts, remarks = [], []
    for start, stop in zip([0, *breaks], [*breaks, len(record)], strict=True):
        run, told = _even(record.part(slice(start, stop)), hold)
        if len(run) > 2 * edge + 20:
            remarks += told
            parts.append([x[edge : len(run) - edge : int(decimate)] for x in _run(run, band, smooth)])
    if not parts:
        raise ArgumentError(
            f"no run of the record without gaps has the {2 * edge + 20} samples that a band of {band:g} Hz needs.",
            hint="a wider band, or a record with fewer gaps",
        )
    t, *blocks = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    q = record.names("q")
    names = {"q": q, "v": q, "a": q, "tau": record.names("tau")}
    told = [*record.about.get("remarks", []), *dict.fromkeys(remarks)]
    about = record.about | {"band": band, "smooth": bool(smooth), "remarks": told}
    return Record.of(t, dict(zip(names, blocks, strict=True)), names, about=about, source=record.source)


def _even(run: Record, hold: bool) -> tuple[Record, list[str]]:
    """A run without gaps at even steps, its tau at the instants, and what had to be done for it."""
    data = run.data.copy()
    tau = np.array([parse(title)[0] == "tau" for title in run.columns])
    if hold:
        data[1:, tau] = 0.5 * (run.data[1:, tau] + run.data[:-1, tau])
    step = np.diff(run.t)
    if len(run) < 5 or np.ptp(step) <= UNEVEN * np.median(step):
        return replace(run, data=data, between=None), []
    grid = np.linspace(run.t[0], run.t[-1], round((run.t[-1] - run.t[0]) / np.median(step)) + 1)
    smooth = CubicSpline(run.t, data)(grid)
    straight = np.column_stack([np.interp(grid, run.t, column) for column in data.T])
    least, most, even = 1e3 * step.min(), 1e3 * step.max(), 1e3 * (grid[1] - grid[0])
    remark = f"t: steps from {least:.4g} to {most:.4g} ms; resampled every {even:.4g} ms"
    return replace(run, data=np.where(tau, straight, smooth), between=None), [remark]


def smoothed(record: Record, x: np.ndarray) -> np.ndarray:
    """Columns beside a processed record, low-passed as its tau was: run by run, and only if that was."""
    if not record.about.get("smooth"):
        return x
    breaks = np.flatnonzero(np.diff(record.t) > GAP * record.period) + 1
    return np.concatenate([_low_pass(part, record.about["band"], record.period) for part in np.split(x, breaks)])


def _low_pass(x: np.ndarray, band: float, step: float) -> np.ndarray:
    if not 0.0 < band * step < 0.45 or len(x) < 20:
        return x
    return sosfiltfilt(butter(ORDER, band, fs=1.0 / step, output="sos"), x, axis=0)


def _run(record: Record, band: float, smooth: bool) -> tuple[np.ndarray, ...]:
    """t, q, v, a and tau of an even run."""
    step = record.period

    def low_pass(x: np.ndarray) -> np.ndarray:
        return _low_pass(x, band, step)

    q, tau = low_pass(record.q), record.tau
    v = np.gradient(q, step, axis=0) if "v" not in record else low_pass(record.v)
    if "a" in record:
        a = low_pass(record.a)
    elif "v" in record:
        a = np.gradient(v, step, axis=0)
    else:
        a = np.zeros_like(q)
        a[1:-1] = (q[2:] - 2.0 * q[1:-1] + q[:-2]) / step**2
    return record.t, q, v, a, low_pass(tau) if smooth else tau


def split(record: Record, share: float = 0.3) -> tuple[Record, Record]:
    """The first part of a record for fitting, the last for judging."""
    if not 0.0 < share < 1.0:
        raise ArgumentError(f"a share of {share} cannot be held out.", expected="between 0 and 1")
    cut = int(len(record) * (1.0 - share))
    return record.part(slice(0, cut)), record.part(slice(cut, None))


def choose_band(record: Record) -> float:
    """Somewhat below where the acceleration's spectrum is lowest, between the motion and the noise; the median of all
    joints."""
    rate = 1.0 / record.period
    length = int(min(len(record), max(256, 4 * rate)))
    f, power = welch(record.q - record.q.mean(axis=0), rate, nperseg=length, axis=0)
    inside = (f > 0.0) & (f <= BAND[1] * rate)
    f, power = f[inside], power[inside] * f[inside, None] ** 4
    octave = np.abs(np.log2(f[:, None] / f)) < 0.25  # smoothed over half an octave
    smooth = octave @ np.log(power + 1e-300) / octave.sum(axis=1)[:, None]
    lowest = []
    for joint in smooth.T:
        peak = int(np.argmax(np.where(f < MOTION, joint, -np.inf)))
        lowest.append(f[peak + int(np.argmin(joint[peak:]))])
    return float(np.clip(np.median(lowest) * SAFE, BAND[0], BAND[1] * rate))


def dead_zones(sought: Sought, record: Record) -> np.ndarray:
    """What counts as slow at every actuator: there friction changes sign, and noise in v does most harm."""
    return np.minimum(SLOW, SHARE * np.abs(sought.rates(record.q, record.v)).max(axis=0))
