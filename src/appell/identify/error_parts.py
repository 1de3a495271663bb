"""What the residuals of a validation consist of: noise of the sensors, and errors of the model.

The residual of a joint on held-out motion, low-pass filtered at the frequencies that its torques have, has the power

    r² = n² + m² + e²                                                                                             (1)

    n   torque noise that passes the filter. The motion has no content above the band of the record, so that the
        spectrum of the unfiltered residual there is the noise. The spectrum of white noise behind a sampled filter of
        first order is fitted to it (without the filter, unless the spectrum falls) and integrated with the response
        of the low-pass filter; interpolation of uneven samples has reduced it by a known factor
    m   effect of noise in the measured motion on the predicted torques; the prediction along the motion with
        additional noise of the same size shows it
    e   error of the model, what remains of r. It has the frequencies of the torques. Noise at other frequencies would
        only make the difference r² - n² less certain, so the filter ends at twice the frequency below which the
        predicted torques have 99.9 % of their power, and at the band of the record at most

A new motion combines positions, velocities and accelerations that the record does not. The uncertainty of the estimated
parameters there is

    u² = mean of Y C Yᵀ    C the block covariance of β; over motions made of values of the record in random order   (2)

and the error that the torque of a new motion is expected to have is √(e² + u²).

The largest cause of e is the family of signals that explains most of the residual: the columns of Y (excitation),
functions of the joint's own speed and position (friction), the rate of change of the torque (timing), and its second
derivative (flexibility).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.signal import periodogram

from appell.identify.estimators.estimator import Estimator
from appell.identify.processing import BAND_RANGE, motion_noise, power_response, smoothed
from appell.identify.samples import samples_of
from appell.motion.record import Record

TORQUE_SHARE = 0.999  # of the power of the predicted torques, whose frequencies are compared
TORQUE_MARGIN = 2.0  # of these frequencies: errors of friction have higher ones than friction itself
NOISE_START = 1.5  # lowest frequency that belongs to the noise, relative to the band
MIN_NOISE_BINS = 20  # of the spectrum above the band
CUTOFF_GRID = np.geomspace(0.05, 5.0, 40)  # cut-off frequencies of a torque filter that are tried, of the Nyquist rate
SIGNIFICANT_FALL = 12.0  # increase of the log likelihood from which a torque filter counts
NEW_SAMPLES = 400  # samples of random motion for (2)
EXCITATION_RATIO = 2.0  # of the uncertainty along a new motion to that along the record, from which excitation is poor
MIN_SHARE = 0.3  # of the power of the residual, that a family of signals must explain


@dataclass(frozen=True, eq=False)
class ErrorParts:
    """The parts of (1) and (2) for every joint, RMS in N m or N; scale is the RMS torque of the whole record."""

    residual: np.ndarray
    torque_noise: np.ndarray
    motion_noise: np.ndarray
    model: np.ndarray
    uncertainty: np.ndarray
    scale: np.ndarray
    cutoff: np.ndarray  # of a filter of the torques, in Hz; inf if there is none
    band: float  # up to which the residual is compared, in Hz; inf if it is not filtered
    causes: tuple[str, ...]  # per joint, what limits the accuracy

    @property
    def relative(self) -> np.ndarray:
        """Error that the torque of a new motion is expected to have, relative to the scale."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.hypot(self.model, self.uncertainty) / self.scale


def error_parts(estimator: Estimator, held_out: Record, fitted_power: tuple[np.ndarray, int]) -> ErrorParts:
    """Return the parts of an estimator's errors on a processed held-out record.

    Parameters
    ----------
    estimator : a fitted estimator
    held_out : a processed record that was not used for fitting
    fitted_power : (ndarray, int)
        Mean square of every torque in the samples of the fit, and their number.
    """
    samples = samples_of(held_out, estimator.parameter_set_.system)
    predicted = estimator.predict(*samples.motion)
    moving = estimator.moving(samples.q, samples.v)
    filtered, rate = held_out.about.get("smooth", False), 1.0 / held_out.period
    compared, band = held_out, held_out.about.get("band", np.inf)
    if "band" in held_out.about:
        narrow = float(
            np.clip(_torque_band(smoothed(held_out, predicted), rate), BAND_RANGE[0], max(band, BAND_RANGE[0]))
        )
        compared = replace(held_out, about=held_out.about | {"band": narrow})
    low = smoothed(compared, samples.tau - (smoothed(held_out, predicted) if filtered else predicted))
    residual = _rms(low, moving)
    torque_noise, total_noise, cutoff = np.zeros(len(residual)), np.zeros(len(residual)), np.full(len(residual), np.inf)
    if "band" in held_out.about and not filtered:
        raw = np.where(moving, samples.tau - predicted, 0.0) / np.sqrt(np.maximum(moving.mean(axis=0), 1e-300))
        passed = partial(power_response, band=compared.about["band"], rate=rate)
        torque_noise, total_noise, cutoff = _torque_noise(raw, band, rate, passed, held_out.about.get("mixing", 0.0))
    motion = np.zeros_like(residual)
    if "noise" in held_out.about:
        errors = motion_noise(held_out, np.random.default_rng(0))
        noisy = estimator.predict(*(x + dx for x, dx in zip(samples.motion, errors, strict=True)))
        motion = _rms(smoothed(compared, noisy - predicted), moving)
    model = np.sqrt(np.maximum(residual**2 - torque_noise**2 - motion**2, 0.0))
    uncertainty, ratio = _uncertainty(estimator, samples)
    power, count = fitted_power
    mean_square = (power * count + np.sum(samples.tau**2, axis=0)) / (count + len(samples))
    scale = np.sqrt(np.maximum(mean_square - total_noise**2, 1e-6 * mean_square))
    causes = _causes(estimator, samples, np.where(moving, low, 0.0), compared, model, uncertainty, ratio)
    band = compared.about.get("band", np.inf)
    return ErrorParts(residual, torque_noise, motion, model, uncertainty, scale, cutoff, band, causes)


def _torque_band(predicted: np.ndarray, rate: float) -> float:
    """Return the frequency in Hz up to which torques are compared; the largest of all joints."""
    f, power = periodogram(predicted, rate, window="hann", axis=0)
    share = np.cumsum(power, axis=0) / np.maximum(np.sum(power, axis=0), 1e-300)
    return TORQUE_MARGIN * float(f[np.argmax(share >= TORQUE_SHARE, axis=0)].max())


def _rms(x: np.ndarray, moving: np.ndarray) -> np.ndarray:
    count = moving.sum(axis=0)
    mean = np.sum(np.where(moving, x, 0.0) ** 2, axis=0) / np.maximum(count, 1)
    return np.where(count > 0, np.sqrt(mean), np.inf)


def _torque_noise(
    raw: np.ndarray, band: float, rate: float, passed: Callable[[np.ndarray], np.ndarray], mixing: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the RMS of the noise that passes a filter, its total RMS, and the cut-off frequency of the torque filter.

    Parameters
    ----------
    raw : ndarray, shape (samples, joints)
        Unfiltered residuals.
    band, rate : frequency in Hz above which the residuals are noise, and sampling rate in Hz
    passed : ratio of powers after and before the filter at frequencies in Hz
    mixing : mean of w (1 - w) of the interpolation: each sample is (1 - w) of one and w of the next
    """
    f, power = periodogram(raw, rate, window="hann", axis=0)
    above = (f >= NOISE_START * band) & (f < 0.49 * rate)
    joints = raw.shape[1]
    if above.sum() < MIN_NOISE_BINS:
        return np.zeros(joints), np.zeros(joints), np.full(joints, np.inf)
    cutoffs = np.append(np.inf, CUTOFF_GRID[CUTOFF_GRID * 0.5 * rate > 0.5 * band] * 0.5 * rate)
    pole = np.exp(-2.0 * np.pi * cutoffs[:, None] / rate)
    shapes = (1.0 - pole) ** 2 / (
        1.0 - 2.0 * pole * np.cos(2.0 * np.pi * f / rate) + pole**2
    )  # (cut-offs, frequencies)
    shapes = shapes * np.maximum(1.0 - 2.0 * mixing * (1.0 - np.cos(2.0 * np.pi * f / rate)), 1e-3)
    ratio = power[above, :, None] / shapes[:, above].T[:, None, :]
    level = ratio.mean(axis=0)  # N₀ with the largest likelihood, for exponentially distributed power
    with np.errstate(divide="ignore"):
        likelihood = -above.sum() * np.log(level) - np.log(shapes[:, above]).sum(axis=1)
    best = np.argmax(likelihood, axis=1)
    fall = likelihood[np.arange(joints), best] - likelihood[:, 0] > SIGNIFICANT_FALL
    best = np.where(fall, best, 0)
    density = level[np.arange(joints), best] * shapes[best].T  # (frequencies, joints)
    inside, total = (np.sqrt(x.sum(axis=0) * f[1]) for x in (density * passed(f)[:, None], density))
    return inside, total, cutoffs[best]


def _uncertainty(estimator: Estimator, samples) -> tuple[np.ndarray, np.ndarray]:
    """Return u of (2), and its ratio to the same along the record."""
    rng, base = np.random.default_rng(0), estimator.base_
    rows = rng.integers(len(samples), size=NEW_SAMPLES)
    same = [x[rows] for x in samples.motion]
    new = [np.column_stack([rng.choice(column, NEW_SAMPLES) for column in x.T]) for x in samples.motion]
    u = []
    for motion in (new, same):
        Y = np.asarray(base.regressor(*motion))
        power = np.einsum("sja,ab,sjb->sj", Y, estimator.block_covariance_, Y, optimize=True)
        u.append(np.sqrt(np.maximum(np.mean(power, axis=0), 0.0)))
    return u[0], u[0] / np.maximum(u[1], 1e-300)


def _causes(estimator, samples, low, held_out, model, uncertainty, ratio) -> tuple[str, ...]:
    """Return what limits the accuracy of every joint."""
    predicted = smoothed(held_out, estimator.predict(*samples.motion))
    Y = np.asarray(estimator.base_.regressor(*samples.motion))
    rates = estimator.parameter_set_.rates(samples.q, samples.v)
    first = np.gradient(predicted, held_out.period, axis=0)
    second = np.gradient(first, held_out.period, axis=0)
    causes = []
    for j, residual in enumerate(low.T):
        if uncertainty[j] >= model[j]:
            causes.append("excitation" if ratio[j] > EXCITATION_RATIO else "noise")
            continue
        w = rates[:, j] / max(float(np.abs(rates[:, j]).max()), 1e-300)
        sign = np.sign(w)
        friction = [sign, w, w * np.abs(w), sign * np.exp(-np.abs(w) / 0.1), sign * np.abs(predicted[:, j])]
        if estimator.parameter_set_.system.actuator_names == estimator.parameter_set_.system.velocity_names:
            friction += [sign * wave(k * samples.q[:, j]) for k in (1, 2, 3, 5, 7) for wave in (np.sin, np.cos)]
        families = {
            "timing": first[:, [j]],
            "flexibility": second[:, [j]],
            "friction model": np.column_stack(friction),
            "excitation": Y[:, j, np.any(Y[:, j] != 0.0, axis=0)],
        }
        shares = {name: _explained(residual, columns) for name, columns in families.items()}
        name = max(shares, key=shares.__getitem__)
        causes.append(name if shares[name] > MIN_SHARE else "unmodelled forces")
    return tuple(causes)


def _explained(residual: np.ndarray, columns: np.ndarray) -> float:
    """Return the share of the residual's power that columns explain, reduced by what as many random columns would."""
    power = residual @ residual
    if not power > 0.0:
        return 0.0
    size = np.linalg.norm(columns, axis=0)
    scaled = columns / np.where(size > 0.0, size, 1.0)
    along = scaled.T @ residual  # normal equations: a share needs few digits
    rest = max(power - along @ np.linalg.pinv(scaled.T @ scaled, rcond=1e-10, hermitian=True) @ along, 0.0)
    free = max(len(residual) - columns.shape[1], 1)
    return float(1.0 - rest / power * (len(residual) / free))
