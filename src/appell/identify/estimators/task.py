"""The task of a fit: its samples as one triangular factor per joint, and the weights of the joints.

Joints are weighted with the inverse of their noise, which a first unweighted fit gives. Noise that is correlated over
several samples, as all filtered noise is, enters with its long-run variance,

    σ² (1 + 2 Σₖ ρₖ)          ρₖ the autocorrelation of the residuals of one joint at lag k                          (1)

so that the standard deviations do not treat correlated errors as independent ones.

Errors of the model depend on the motion and are not noise. What they do to the parameters shows in the gradients of the
misfit over consecutive blocks of the record: with C the covariance of β under (1), the covariance with model errors is

    C G C      G = Σ g gᵀ over blocks and joints,  g = Σ Y_jᵀ (τ_j - Y_j β) / σ_j² over the samples of a block     (2)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from appell.errors import ArgumentError
from appell.identify.base.reduce import BaseParameters
from appell.identify.estimators.triangular_factors import BLOCK_SAMPLES, TriangularFactors, triangular_factors
from appell.identify.samples import FitSamples

MAX_LAG = 0.1  # longest lag in (1), as a fraction of the record
MAX_SAMPLES = 100_000  # samples from which (1) is estimated
BLOCKS = 12  # of (2)
BLOCK_MAX_SAMPLES = 4_000  # samples of a block that are used
WEIGHT_ITERATIONS = 3  # fits after which the weights of the joints are final


@dataclass(frozen=True, eq=False)
class FitTask:
    """Samples, with known forces subtracted from tau, and the base parameters to estimate from them."""

    base: BaseParameters
    samples: FitSamples
    prior: np.ndarray  # full parameters to return where the data determine nothing
    moving: np.ndarray | None  # 1 where a joint is outside its dead zone, 0 inside; None if it has none
    threads: int | None

    def part(self, rows: slice) -> FitTask:
        """Return the task with a part of the samples."""
        return replace(self, samples=self.samples.part(rows), moving=None if self.moving is None else self.moving[rows])

    def reduce(self, factors: np.ndarray | None = None) -> TriangularFactors:
        """Return the triangular factors of the samples outside the dead zones, rows scaled by `factors`."""
        if self.moving is not None:
            factors = self.moving if factors is None else self.moving * factors
        weights: Callable | None = None if factors is None else factors.__getitem__
        samples, regressor = self.samples, self.base.regressor
        return triangular_factors(regressor, samples.motion, samples.tau, threads=self.threads, weights=weights)

    def residuals(self, beta: np.ndarray) -> np.ndarray:
        """Return tau minus the prediction with β, of shape (samples, joints)."""
        errors = self.samples.tau.copy()
        for start in range(0, len(errors), BLOCK_SAMPLES):  # the regressor of a long record does not fit into memory
            rows = slice(start, start + BLOCK_SAMPLES)
            errors[rows] -= np.asarray(self.base.regressor(*(x[rows] for x in self.samples.motion))) @ beta
        return errors

    def variance_inflation(self, beta: np.ndarray) -> np.ndarray:
        """Return (1) relative to σ² for every joint, at least 1."""
        some = self.part(slice(0, MAX_SAMPLES))
        errors = some.residuals(beta)
        return np.array(
            [variance_inflation(column) for column in (errors if some.moving is None else errors * some.moving).T]
        )


@dataclass(frozen=True, eq=False)
class WeightedTask:
    """A task, its triangular factors, the weights of the joints and the inflation of their variance by (1)."""

    task: FitTask
    reduced: TriangularFactors
    weights: np.ndarray
    inflation: np.ndarray

    @property
    def triangular_factor(self) -> np.ndarray:
        """One triangular factor for all joints."""
        return self.reduced.weighted(self.weights)

    def noise(self, beta: np.ndarray) -> np.ndarray:
        """Return the standard deviation of every joint's residuals, at least that of rounding."""
        share = self.task.base.count / len(self.weights)
        sigma = self.reduced.residual_norms(beta) / np.sqrt(np.maximum(self.reduced.rows - share, 1.0))
        return np.maximum(sigma, 1e-13 * _scale(self.reduced))

    def covariance(self, beta: np.ndarray) -> np.ndarray:
        """Return the covariance of β with the noise of (1) and the weights of the task."""
        inverse = np.linalg.pinv(self.triangular_factor[:-1, :-1], rcond=1e-14)
        return self.sandwich(inverse @ inverse.T, beta)

    def block_covariance(self, beta: np.ndarray, covariance: np.ndarray) -> np.ndarray:
        """Return (2); of long records, a part of every block is used."""
        samples, variance = self.task.samples, self.noise(beta) ** 2 * self.inflation
        edges = np.linspace(0, len(samples), BLOCKS + 1).astype(int)
        G = np.zeros_like(covariance)
        for start, stop in pairwise(edges):
            part = self.task.part(slice(start, min(stop, start + BLOCK_MAX_SAMPLES)))
            if not len(part.samples):
                continue
            Y = np.asarray(part.base.regressor(*part.samples.motion))
            errors = (part.samples.tau - Y @ beta) / variance
            g = np.einsum("sja,sj->ja", Y, errors if part.moving is None else errors * part.moving, optimize=True)
            G += g.T @ g * ((stop - start) / len(part.samples))
        return covariance @ G @ covariance

    def sandwich(self, bread: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Return the covariance of the estimate `bread` Yᵀ W² τ."""
        factor = self.weights**2 * self.noise(beta) * np.sqrt(self.inflation)
        rows = self.reduced.R[:, :, :-1] * factor[:, None, None]
        return bread @ np.einsum("jka,jkb->ab", rows, rows) @ bread


def weight_task(task: FitTask, weighting) -> WeightedTask:
    """Weight the joints of a task: by the inverse of their noise ("joint"), equally (None), or by given factors."""
    equal = np.ones(task.base.parameter_set.system.nu)
    weighted = WeightedTask(task, task.reduce(), equal, equal)
    if isinstance(weighting, str):
        if weighting != "joint":
            raise ArgumentError(f"weighting is '{weighting}'.", expected="'joint', None, or one factor per joint")
        weighted = replace(weighted, weights=1.0 / _scale(weighted.reduced))
        for _ in range(WEIGHT_ITERATIONS):
            beta = solve_least_squares(weighted.triangular_factor)[0]
            weighted = replace(weighted, weights=1.0 / weighted.noise(beta))
    else:
        weighted = replace(weighted, weights=equal if weighting is None else equal * np.asarray(weighting, float))
        if not np.all(weighted.weights > 0.0):
            raise ArgumentError(f"the weights are {weighted.weights}.", expected="positive factors, one per joint")
        beta = solve_least_squares(weighted.triangular_factor)[0]
    return replace(weighted, inflation=task.variance_inflation(beta))


def solve_least_squares(R: np.ndarray, rcond: float = 1e-13) -> tuple[np.ndarray, int]:
    """Return the β of smallest scaled norm that minimises ‖R (β, -1)‖, and the rank of R with scaled columns."""
    size = np.linalg.norm(R[:, :-1], axis=0)
    size = np.where(size > 0.0, size, 1.0)
    U, s, Vt = np.linalg.svd(R[:-1, :-1] / size)
    keep = s > rcond * s[0]
    coefficients = np.where(keep, (U.T @ R[:-1, -1]) / np.where(keep, s, 1.0), 0.0)
    return (Vt.T @ coefficients) / size, int(keep.sum())


def variance_inflation(errors: np.ndarray) -> float:
    """Return (1) relative to σ²; by Sokal's rule, the sum ends at the first lag of five times its value."""
    count = len(errors)
    centred = errors - errors.mean()
    power = np.abs(rfft(centred, next_fast_len(2 * count, real=True))) ** 2
    correlation = irfft(power)[: max(2, int(MAX_LAG * count))]
    if correlation[0] <= 0.0:
        return 1.0
    sums = 2.0 * np.cumsum(correlation / correlation[0]) - 1.0
    ends = np.flatnonzero(np.arange(len(sums)) >= 5.0 * sums)
    return float(max(1.0, sums[ends[0] if len(ends) else -1]))


def _scale(reduced: TriangularFactors) -> np.ndarray:
    """Return the root mean square of every joint's tau."""
    size = np.linalg.norm(reduced.R[:, :, -1], axis=-1) / np.sqrt(np.maximum(reduced.rows, 1))
    return np.where(size > 0.0, size, max(float(size.max()), 1e-300))
