"""From a measured record to what a fit needs: q, v, a and tau at common instants, without noise that can be taken off.

q is low-passed forwards and backwards (Butterworth, no phase), v and a are its central differences, and the ends,
where the filter has not settled, are cut. The band is found from the spectrum of the acceleration: noise of q
that is white grows as f⁴ there, so the band ends where the signal, falling, meets what rises. A commanded tau is
held over a sample; its mean of two neighbours stands for the instant between them (`hold`). It is low-passed only
for judging (`smooth`), not for fitting: least squares averages by itself, and filtered noise would only pretend to more
samples than there are."""

from __future__ import annotations

import numpy as np
from scipy.signal import butter, sosfiltfilt, welch

from appell.errors import ArgumentError
from appell.motion.record import Record

ORDER = 4
BAND = (2.0, 0.2)  # Hz and share of the sampling rate between which a band is looked for
MOTION = 5.0  # Hz; the strongest accelerations that are meant lie below
EDGE = 4.0  # periods of the band in which the filter settles
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
    breaks = np.flatnonzero(np.diff(record.t) > 1.5 * record.period) + 1
    parts = []
    for start, stop in zip([0, *breaks], [*breaks, len(record)], strict=True):
        if stop - start > 2 * edge + 20:
            run = _run(record.part(slice(start, stop)), band, rate, hold, smooth)
            parts.append([x[edge : stop - start - edge : int(decimate)] for x in run])
    if not parts:
        raise ArgumentError(
            f"no run of the record without gaps has the {2 * edge + 20} samples that a band of {band:g} Hz needs.",
            hint="a wider band, or a record with fewer gaps",
        )
    t, *blocks = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    q = record.names("q")
    names = {"q": q, "v": q, "a": q, "tau": record.names("tau")}
    about = record.about | {"band": band}
    return Record.of(t, dict(zip(names, blocks, strict=True)), names, about=about, source=record.source)


def _run(record: Record, band: float, rate: float, hold: bool, smooth: bool) -> tuple[np.ndarray, ...]:
    """t, q, v, a and tau of a run without gaps."""

    def low_pass(x: np.ndarray) -> np.ndarray:
        return sosfiltfilt(butter(ORDER, band, fs=rate, output="sos"), x, axis=0)

    step = 1.0 / rate
    tau = record.tau.copy()
    if hold:
        tau[1:] = 0.5 * (record.tau[1:] + record.tau[:-1])
    q = low_pass(record.q)
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
