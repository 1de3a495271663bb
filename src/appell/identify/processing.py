"""Signal processing of measured records: q, v, a and tau at common instants, with the noise outside the band removed.

q is low-pass filtered forwards and backwards (Butterworth, zero phase), v and a are its central differences, and the
ends, where the filter has not settled, are cut off. The cut-off frequency follows from the spectrum of the
acceleration: white noise of q grows with f⁴ there, so the band ends where the falling signal meets the rising noise. A
commanded tau is held for one sample; the mean of two neighbouring values represents the instant between them (`hold`).
If the torques are late by a known time, the filtered motion is evaluated earlier by it (`delay`; `estimate_delay`).
tau is low-pass filtered only for validation (`smooth`), not for fitting: least squares averages anyway, and filtered
noise would make the samples look more independent than they are.

Filters and differences need even steps. If the steps of a record differ by more than one percent, either the samples
are uneven or the stamps have errors. The positions show which: they are smoother as a function of the right times.
Uneven samples are resampled, q, v and a by cubic splines and tau by linear interpolation; wrong stamps are replaced by
even ones; both with a remark. Steps longer than `GAP_RATIO` times the median step are gaps; every run between two gaps
is processed separately."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.signal import butter, sosfiltfilt, sosfreqz, welch

from appell.errors import ArgumentError
from appell.identify.parameter_set import ParameterSet
from appell.motion.measurement import GAP_RATIO
from appell.motion.record import Record
from appell.motion.titles import parse

FILTER_ORDER = 4
BAND_RANGE = (2.0, 0.2)  # lowest cut-off frequency in Hz, and highest as a fraction of the sampling rate
MAX_MOTION_FREQUENCY_HZ = 5.0  # the strongest intended accelerations lie below
SETTLING_PERIODS = 4.0  # periods of the cut-off frequency in which the filter settles
STEP_TOLERANCE = 0.01  # spread of the steps relative to their median, up to which they count as even
MIN_FILTERED_SAMPLES = 20  # shorter runs are not filtered
MAX_DEAD_ZONE = 0.05  # rad/s or m/s
DEAD_ZONE_FRACTION = 0.05  # of an actuator's largest speed
DEAD_ZONE_DEVIATIONS = 3.0  # standard deviations of the noise of a speed
BAND_MARGIN = 0.75  # cut-off relative to the frequency at which motion and noise are equally strong


def process(
    record: Record,
    *,
    band: float | None = None,
    decimate: int = 1,
    hold: bool = False,
    smooth: bool = False,
    delay: float = 0.0,
) -> Record:
    """Filter and differentiate a measured record.

    Parameters
    ----------
    record : a record with columns q_* and tau_*, and optionally v_* and a_*, such as `motion.measured` returns
    band : cut-off frequency of the low-pass filter in Hz; by default `choose_band(record)`
    decimate : keep every `decimate`-th sample
    hold : whether tau is a command that is held for one sample
    smooth : bool
        Whether to low-pass filter tau as well; `judge` does so itself.
    delay : time in seconds by which tau is late; q, v and a are those at this time before each sample of tau

    Returns
    -------
    Record
        q, v, a and tau at even steps, without the ends of every run; `about["band"]` is the cut-off frequency in Hz,
        `about["noise"]` the standard deviation of the white noise in each measured column of the motion, and
        `about["mixing"]` the mean of w (1 - w) if tau was interpolated with the weights w and 1 - w, which reduces its
        noise at high frequencies.

    Raises
    ------
    ArgumentError
        If the band is out of range, or if no run without gaps is long enough for it.
    """
    rate, runs = 1.0 / record.period, _even_runs(record, hold)
    band = _band([run for run, _ in runs], rate) if band is None else float(band)
    if not 0.0 < band < 0.45 * rate:
        raise ArgumentError(
            f"the band is {band:g} Hz of a record sampled at {rate:g} Hz.", expected=f"0 < band < {0.45 * rate:g}"
        )
    if int(decimate) != decimate or decimate < 1:
        raise ArgumentError(f"decimate is {decimate}.", expected="an integer, at least 1")
    edge = int(np.ceil(max(SETTLING_PERIODS / band, abs(delay)) * rate))
    parts, remarks, noise = [], [], []
    for run, run_remarks in runs:
        if len(run) > 2 * edge + MIN_FILTERED_SAMPLES:
            remarks += run_remarks
            parts.append([x[edge : len(run) - edge : int(decimate)] for x in _run(run, band, smooth, delay)])
            noise.append({key: _white_noise(run[key], band, run.period)[None] for key in ("q", "v", "a") if key in run})
    if not parts:
        raise ArgumentError(
            f"no run of the record without gaps has the {2 * edge + MIN_FILTERED_SAMPLES} samples that a band of "
            f"{band:g} Hz needs.",
            hint="Use a higher cut-off frequency, or a record with fewer gaps.",
        )
    t, *blocks = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    mixing = max(run.about.get("mixing", 0.0) for run, _ in runs)
    q = record.names("q")
    names = {"q": q, "v": q, "a": q, "tau": record.names("tau")}
    remarks = [*record.about.get("remarks", []), *dict.fromkeys(remarks)]
    sigma = {key: np.median(np.concatenate([run[key] for run in noise]), axis=0).tolist() for key in noise[0]}
    about = record.about | {"band": band, "smooth": bool(smooth), "remarks": remarks, "delay": delay, "noise": sigma}
    about |= {"mixing": mixing}
    return Record.of(t, dict(zip(names, blocks, strict=True)), names, about=about, source=record.source)


def _even_runs(record: Record, hold: bool) -> list[tuple[Record, list[str]]]:
    """Return the runs between gaps at even steps with tau at the instants of q, and remarks on each."""
    breaks = np.flatnonzero(np.diff(record.t) > GAP_RATIO * record.period) + 1
    bounds = zip([0, *breaks], [*breaks, len(record)], strict=True)
    return [_even(record.part(slice(start, stop)), hold) for start, stop in bounds]


def _even(run: Record, hold: bool) -> tuple[Record, list[str]]:
    """Return a run without gaps at even steps with tau at the instants of q, and remarks on its times."""
    data = run.data.copy()
    tau = np.array([parse(title)[0] == "tau" for title in run.columns])
    if hold:
        data[1:, tau] = 0.5 * (run.data[1:, tau] + run.data[:-1, tau])
    step = np.diff(run.t)
    if len(run) < 5 or np.ptp(step) <= STEP_TOLERANCE * np.median(step):
        return replace(run, data=data, between=None), []
    grid = np.linspace(run.t[0], run.t[-1], round((run.t[-1] - run.t[0]) / np.median(step)) + 1)
    smooth = CubicSpline(run.t, data)(grid)
    least, most, even = 1e3 * step.min(), 1e3 * step.max(), 1e3 * (grid[1] - grid[0])
    line = np.polynomial.Polynomial.fit(np.arange(len(run)), run.t, 1)(np.arange(len(run)))
    if np.abs(run.t - line).max() < 0.5 * np.median(step):
        q = np.array([parse(title)[0] == "q" for title in run.columns])
        if _roughness(data[:, q]) < _roughness(smooth[:, q]):
            data[:, run.columns.index("t")] = line
            remark = f"t: steps from {least:.4g} to {most:.4g} ms, but the positions are smoother at even steps"
            return replace(run, data=data, between=None), [f"{remark} of {even:.4g} ms, which are used"]
    straight = np.column_stack([np.interp(grid, run.t, column) for column in data.T])
    remark = f"t: steps from {least:.4g} to {most:.4g} ms; resampled every {even:.4g} ms"
    left = np.clip(np.searchsorted(run.t, grid, side="right") - 1, 0, len(step) - 1)
    share = (grid - run.t[left]) / step[left]
    about = run.about | {"mixing": float(np.mean(share * (1.0 - share)))}
    return replace(run, data=np.where(tau, straight, smooth), between=None, about=about), [remark]


def _roughness(q: np.ndarray) -> float:
    """Return the logarithm of the mean square of fourth differences, averaged over the columns that move."""
    power = np.mean(np.diff(q, 4, axis=0) ** 2, axis=0)
    return float(np.mean(np.log(power[power > 0.0]))) if np.any(power > 0.0) else 0.0


def smoothed(record: Record, x: np.ndarray) -> np.ndarray:
    """Return columns that belong to a processed record, low-pass filtered run by run at its band."""
    if "band" not in record.about:
        return x
    breaks = np.flatnonzero(np.diff(record.t) > GAP_RATIO * record.period) + 1
    return np.concatenate([_low_pass(part, record.about["band"], record.period) for part in np.split(x, breaks)])


def _low_pass(x: np.ndarray, band: float, step: float) -> np.ndarray:
    if not 0.0 < band * step < 0.45 or len(x) < MIN_FILTERED_SAMPLES:
        return x
    return sosfiltfilt(butter(FILTER_ORDER, band, fs=1.0 / step, output="sos"), x, axis=0)


def power_response(f: np.ndarray, band: float, rate: float) -> np.ndarray:
    """Return the ratio of powers after and before `smoothed` at frequencies f, all in Hz."""
    if not 0.0 < band < 0.45 * rate:
        return np.ones_like(f)
    return np.abs(sosfreqz(butter(FILTER_ORDER, band, fs=rate, output="sos"), f, fs=rate)[1]) ** 4


def _white_noise(x: np.ndarray, band: float, step: float) -> np.ndarray:
    """Return the standard deviation of white noise with the power that columns have above the band."""
    above = (x - _low_pass(x, band, step))[(edge := int(1.0 / (band * step))) : len(x) - edge]
    response = sosfreqz(butter(FILTER_ORDER, band, fs=1.0 / step, output="sos"))[1]
    return np.sqrt(np.mean(above**2, axis=0) / np.mean((1.0 - np.abs(response) ** 2) ** 2))


def motion_noise(record: Record, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return errors of q, v and a like those that noise of the measured columns causes in a processed record."""
    count = len(record)
    noise = {key: rng.normal(size=(count, len(sigma))) * sigma for key, sigma in record.about["noise"].items()}
    even = Record.of(record.period * np.arange(count), noise | {"tau": np.zeros((count, 1))})
    return _run(even, record.about["band"], False)[1:4]


def _run(record: Record, band: float, smooth: bool, delay: float = 0.0) -> tuple[np.ndarray, ...]:
    """Return t, q, v, a and tau of a run with even steps."""
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
    if delay:
        q, v, a = (CubicSpline(record.t, x)(record.t - delay) for x in (q, v, a))
    return record.t, q, v, a, low_pass(tau) if smooth else tau


def split(record: Record, share: float = 0.3) -> tuple[Record, Record]:
    """Split a record into a first part for fitting and a last part, a fraction `share` of it, for validation."""
    if not 0.0 < share < 1.0:
        raise ArgumentError(f"the share of the record to hold out is {share}.", expected="a number between 0 and 1")
    cut = int(len(record) * (1.0 - share))
    return record.part(slice(0, cut)), record.part(slice(cut, None))


def choose_band(record: Record) -> float:
    """Return a cut-off frequency in Hz for a record.

    It lies somewhat below the minimum of the acceleration's spectrum between motion and noise; the median over all
    joints is taken.
    """
    return _band([run for run, _ in _even_runs(record, False)], 1.0 / record.period)


def _band(runs: list[Record], rate: float) -> float:
    """Return `choose_band` for the runs of a record; the spectrum is the mean of those of the long runs."""
    length = int(min(max(map(len, runs)), max(256, 4 * rate)))
    long = [run.q - run.q.mean(axis=0) for run in runs if len(run) >= length]
    f, _ = welch(long[0], rate, nperseg=length, axis=0)
    power = np.average(
        [welch(q, rate, nperseg=length, axis=0)[1] for q in long], axis=0, weights=[len(q) for q in long]
    )
    inside = (f > 0.0) & (f <= BAND_RANGE[1] * rate)
    f, power = f[inside], power[inside] * f[inside, None] ** 4
    octave = np.abs(np.log2(f[:, None] / f)) < 0.25  # smoothed over half an octave
    smooth = octave @ np.log(power + 1e-300) / octave.sum(axis=1)[:, None]
    lowest = []
    for joint in smooth.T:
        peak = int(np.argmax(np.where(f < MAX_MOTION_FREQUENCY_HZ, joint, -np.inf)))
        lowest.append(f[peak + int(np.argmin(joint[peak:]))])
    return float(np.clip(np.median(lowest) * BAND_MARGIN, BAND_RANGE[0], BAND_RANGE[1] * rate))


def dead_zones(parameter_set: ParameterSet, record: Record) -> np.ndarray:
    """Return the speed of every actuator, in rad/s or m/s, below which its samples are left out of a fit.

    Below it, errors of v make the direction of friction uncertain: three standard deviations of the noise in v, at most
    5 % of the largest speed and 0.05 rad/s or m/s. Measured velocities, which may lag behind the positions, and records
    without an estimate of their noise get the largest value.
    """
    largest = np.minimum(
        MAX_DEAD_ZONE, DEAD_ZONE_FRACTION * np.abs(parameter_set.rates(record.q, record.v)).max(axis=0)
    )
    if "v" in record.about.get("noise", "v"):
        return largest
    errors = parameter_set.rates(record.q, motion_noise(record, np.random.default_rng(0))[1])
    return np.minimum(largest, DEAD_ZONE_DEVIATIONS * np.sqrt(np.mean(errors**2, axis=0)))
