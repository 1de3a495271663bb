"""From a log to what a fit needs: q, v, a and tau at common instants, without the noise that can be taken off.

q is low-passed forwards and backwards (Butterworth, no phase), v and a are its central differences, and the ends,
where the filter has not settled, are cut. The band is found from the spectrum of the acceleration: noise of q
that is white grows as f⁴ there, so the band ends where the signal, falling, meets what rises. A commanded tau is
held over a sample; its mean of two neighbours stands for the instant between them (`hold`). It is low-passed only
for judging, not for fitting: least squares averages by itself, and filtered noise would only pretend to more
samples than there are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.signal import butter, sosfiltfilt, welch

from appell.errors import ArgumentError
from appell.identify.samples import Samples
from appell.motion.record import Record

ORDER = 4
BAND = (2.0, 0.2)  # Hz and share of the sampling rate between which a band is looked for
MOTION = 5.0  # Hz; the strongest accelerations that are meant lie below
EDGE = 4.0  # periods of the band in which the filter settles
SAFE = 0.75  # of the frequency where motion and noise are equally strong


@dataclass(frozen=True, eq=False)
class Processed:
    """Samples for a fit, their instants, low-passed torques to judge with, and the band in Hz."""

    samples: Samples
    t: np.ndarray
    smooth_tau: np.ndarray
    band: float


def process(log: Record, *, band: float | None = None, decimate: int = 1, hold: bool = False) -> Processed:
    """Filter, differentiate, cut the ends of every run without gaps, and keep every `decimate`-th sample."""
    rate = 1.0 / log.period
    band = choose_band(log) if band is None else float(band)
    if not 0.0 < band < 0.45 * rate:
        raise ArgumentError(
            f"the band is {band:g} Hz of a log sampled at {rate:g} Hz.", expected=f"0 < band < {0.45 * rate:g}"
        )
    if int(decimate) != decimate or decimate < 1:
        raise ArgumentError(f"every {decimate}-th sample cannot be kept.", expected="a whole number from 1")
    edge = int(np.ceil(EDGE * rate / band))
    breaks = np.flatnonzero(np.diff(log.t) > 1.5 * log.period) + 1
    parts = []
    for start, stop in zip([0, *breaks], [*breaks, len(log)], strict=True):
        if stop - start > 2 * edge + 20:
            parts.append(_run(log.part(slice(start, stop)), band, rate, edge, decimate, hold))
    if not parts:
        raise ArgumentError(
            f"no run of the log without gaps has the {2 * edge + 20} samples that a band of {band:g} Hz needs.",
            hint="a wider band, or a log with fewer gaps",
        )
    t, q, v, a, tau, smooth = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Processed(Samples(q, v, a, tau), t, smooth, band)


def _run(log: Record, band: float, rate: float, edge: int, decimate: int, hold: bool):
    def low_pass(x: np.ndarray) -> np.ndarray:
        return sosfiltfilt(butter(ORDER, band, fs=rate, output="sos"), x, axis=0)

    step = 1.0 / rate
    tau = log.tau
    if hold:
        tau = tau.copy()
        tau[1:] = 0.5 * (log.tau[1:] + log.tau[:-1])
    q = low_pass(log.q)
    v = np.gradient(q, step, axis=0) if "v" not in log else low_pass(log.v)
    if "a" in log:
        a = low_pass(log.a)
    elif "v" in log:
        a = np.gradient(v, step, axis=0)
    else:
        a = np.zeros_like(q)
        a[1:-1] = (q[2:] - 2.0 * q[1:-1] + q[:-2]) / step**2
    inner = slice(edge, len(q) - edge, int(decimate))
    return tuple(x[inner] for x in (log.t, q, v, a, tau, low_pass(tau)))


def choose_band(log: Record) -> float:
    """Somewhat below where the acceleration's spectrum is lowest, between the motion and the noise; the median of all
    joints."""
    rate = 1.0 / log.period
    length = int(min(len(log), max(256, 4 * rate)))
    f, power = welch(log.q - log.q.mean(axis=0), rate, nperseg=length, axis=0)
    inside = (f > 0.0) & (f <= BAND[1] * rate)
    f, power = f[inside], power[inside] * f[inside, None] ** 4
    octave = np.abs(np.log2(f[:, None] / f)) < 0.25  # smoothed over half an octave
    smooth = octave @ np.log(power + 1e-300) / octave.sum(axis=1)[:, None]
    lowest = []
    for joint in smooth.T:
        peak = int(np.argmax(np.where(f < MOTION, joint, -np.inf)))
        lowest.append(f[peak + int(np.argmin(joint[peak:]))])
    return float(np.clip(np.median(lowest) * SAFE, BAND[0], BAND[1] * rate))
