"""The delay between the positions and the torques of a record.

The torques τ(t + d) are regressed on the motion at t. The delay is the d with the smallest misfit

    χ²(d) = Σⱼ ‖(I - Q Qᵀ) τ(t + d)‖² / σⱼ²          Q an orthonormal basis of the weighted columns of Y             (1)

Q does not depend on d, so that many delays cost little more than one. Friction and offset of every joint are always
among the columns, because dry friction that is missing in Y would look like a delay. The torques are low-pass filtered
first; interpolation between their samples then leaves the noise unchanged. The standard deviation of d follows from the
curvature of (1) and the long-run variance of the residuals.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

from appell.identify.estimators.blas_threads import limit_blas_threads
from appell.identify.estimators.task import variance_inflation
from appell.identify.parameter_set import ParameterSet
from appell.identify.processing import smoothed
from appell.identify.samples import samples_of
from appell.motion.measurement import GAP_RATIO
from appell.motion.record import Record

MAX_DELAY_S = 0.06  # largest delay that is searched for, in both directions
GRID_SIZE = 49  # delays at which (1) is evaluated
MAX_ROWS = 20_000  # rows of Y; of longer records, evenly spaced samples are used
MIN_SAMPLES = 200
SIGNIFICANT_DEVIATIONS = 2.0  # standard deviations from which a delay counts


class Delay(NamedTuple):
    """The estimated delay of the torques in seconds, and its standard deviation."""

    value: float
    std: float

    @property
    def significant(self) -> bool:
        """Whether the delay differs from zero by two standard deviations."""
        return abs(self.value) > SIGNIFICANT_DEVIATIONS * self.std


@limit_blas_threads
def estimate_delay(parameter_set: ParameterSet, record: Record) -> Delay:
    """Estimate the time by which the torques of a processed record are late relative to its motion.

    Parameters
    ----------
    parameter_set : the parameters that will be estimated from the record
    record : a processed record of at least 200 samples in a run without gaps; the longest such run is used

    Returns
    -------
    Delay
        `value` and `std` in seconds; a value of 0 with infinite `std` if the record is too short or if no delay within
        60 ms has the smallest misfit.
    """
    breaks = np.flatnonzero(np.diff(record.t) > GAP_RATIO * record.period) + 1
    runs = [(stop - start, start, stop) for start, stop in zip([0, *breaks], [*breaks, len(record)], strict=True)]
    _, start, stop = max(runs)
    margin = int(np.ceil(MAX_DELAY_S / record.period)) + 1
    unknown = Delay(0.0, np.inf)
    if stop - start < MIN_SAMPLES + 2 * margin or "band" not in record.about:
        return unknown
    run = record.part(slice(start, stop))
    samples, joints = samples_of(run, parameter_set.system), parameter_set.system.nu
    stride = max(1, (len(run) - 2 * margin) * joints // MAX_ROWS)
    rows = slice(margin, len(run) - margin, stride)
    part = samples.part(rows)
    moved = CubicSpline(run.t, samples.tau if run.about.get("smooth") else smoothed(run, samples.tau))
    delays = np.linspace(-MAX_DELAY_S, MAX_DELAY_S, GRID_SIZE)
    tau = np.stack([moved(run.t[rows] + d) for d in delays], axis=-1)  # (samples, joints, delays)
    Y = _columns(parameter_set, part.q, part.v, np.asarray(parameter_set.base.regressor(*part.motion)))
    sigma = np.sqrt(np.mean(tau[..., GRID_SIZE // 2] ** 2, axis=0))
    if not sigma.max() > 0.0:
        return unknown
    sigma = np.maximum(sigma, 1e-6 * sigma.max())
    for _ in range(3):
        residual = _residual(Y / sigma[:, None], tau / sigma[:, None])
        misfit = np.sum(residual**2, axis=(0, 1))
        best = int(np.argmin(misfit))
        sigma = sigma * np.maximum(np.sqrt(np.mean(residual[..., best] ** 2, axis=0)), 1e-9)
    if best in (0, GRID_SIZE - 1):
        return unknown
    nearby = slice(max(best - 2, 0), best + 3)
    curvature, slope, _ = np.polyfit(delays[nearby] - delays[best], misfit[nearby], 2)
    if not curvature > 0.0:
        return unknown
    inflation = np.mean([variance_inflation(column) for column in residual[..., best].T]) * stride
    scale = misfit[best] / residual[..., best].size  # one, except for the last change of sigma
    return Delay(float(delays[best] - slope / (2.0 * curvature)), float(np.sqrt(scale * inflation / curvature)))


def _columns(parameter_set: ParameterSet, q, v, Y: np.ndarray) -> np.ndarray:
    """Return the base regressor with the columns of friction and offset of every joint, if it has none."""
    if "coulomb" in parameter_set.kinds:
        return Y
    rates = parameter_set.rates(q, v)
    friction = np.stack([np.sign(rates), rates, np.ones_like(rates)], axis=-1)
    extra = np.einsum("sjk,ji->sjik", friction, np.eye(rates.shape[1])).reshape(*rates.shape, -1)
    return np.concatenate([Y, extra], axis=-1)


def _residual(Y: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Return (I - Q Qᵀ) tau of (1), of shape (samples, joints, delays)."""
    flat, right = Y.reshape(-1, Y.shape[-1]), tau.reshape(-1, tau.shape[-1])
    size = np.linalg.norm(flat, axis=0)
    scaled = flat / np.where(size > 0.0, size, 1.0)
    coefficients = np.linalg.pinv(scaled.T @ scaled, rcond=1e-10, hermitian=True) @ (scaled.T @ right)
    return (right - scaled @ coefficients).reshape(tau.shape)
