"""The task of a fit: its samples as one triangle a joint, and the weights of the joints.

Joints are weighted with the inverse of their own noise, which a first, unweighted fit tells. Noise that lasts over
several samples, as all filtered noise does, is counted with its long-run variance,

    σ² (1 + 2 Σₖ ρₖ)          ρₖ the autocorrelation of the residuals of one joint at lag k                          (1)

so that the standard deviations do not take a thousand samples of the same error for a thousand errors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from appell.errors import ArgumentError
from appell.identify.base.reduce import BaseParameters
from appell.identify.estimators.stream import TriangularFactors, triangles
from appell.identify.samples import Evidence

WINDOW = 0.1  # of a record, the longest lag in (1)
ENOUGH = 200_000  # samples that (1) looks at


@dataclass(frozen=True, eq=False)
class FitTask:
    """Samples, tau less what is known of it beforehand, and what is sought of them."""

    base: BaseParameters
    samples: Evidence
    prior: np.ndarray  # full parameters to return where the data say nothing
    moving: np.ndarray | None  # 1 where a joint is outside its dead zone, 0 inside; None if it has none
    method: str
    threads: int | None

    def part(self, rows: slice) -> FitTask:
        return replace(self, samples=self.samples.part(rows), moving=None if self.moving is None else self.moving[rows])

    def reduce(self, factors: np.ndarray | None = None) -> TriangularFactors:
        """The triangles of the samples, rows multiplied by factors (samples, joints); none inside a dead zone."""
        if self.moving is not None:
            factors = self.moving if factors is None else self.moving * factors
        weights: Callable | None = None if factors is None else factors.__getitem__
        samples, regressor = self.samples, self.base.regressor
        return triangles(
            regressor, samples.motion, samples.tau, method=self.method, threads=self.threads, weights=weights
        )

    def residuals(self, beta: np.ndarray) -> np.ndarray:
        """tau less what β predicts."""
        return self.samples.tau - np.asarray(self.base.regressor(*self.samples.motion)) @ beta

    def long_run(self, beta: np.ndarray) -> np.ndarray:
        """(1) for every joint, at least 1; lags are summed up to where the autocorrelation has died away."""
        some = self.part(slice(0, ENOUGH))
        errors = some.residuals(beta)
        return np.array([growth(column) for column in (errors if some.moving is None else errors * some.moving).T])


@dataclass(frozen=True, eq=False)
class Weighed:
    """A task, its triangles, the weights of the joints and the growth of their noise by (1)."""

    task: FitTask
    reduced: TriangularFactors
    weights: np.ndarray
    inflation: np.ndarray

    @property
    def triangle(self) -> np.ndarray:
        """One triangle for all joints."""
        return self.reduced.weighted(self.weights)

    def noise(self, beta: np.ndarray) -> np.ndarray:
        """Standard deviation of every joint's residuals, never below what rounding leaves."""
        share = self.task.base.count / len(self.weights)
        sigma = self.reduced.residual_norms(beta) / np.sqrt(np.maximum(self.reduced.rows - share, 1.0))
        return np.maximum(sigma, 1e-13 * _scale(self.reduced))

    def covariance(self, beta: np.ndarray) -> np.ndarray:
        """(Σ_j Y_jᵀY_j / σ_j²)⁻¹ with the noise of (1), put around the weights that were used."""
        inverse = np.linalg.pinv(self.triangle[:-1, :-1], rcond=1e-14)
        return self.sandwich(inverse @ inverse.T, beta)

    def sandwich(self, bread: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """The covariance of bread Yᵀ W² τ."""
        factor = self.weights**2 * self.noise(beta) * np.sqrt(self.inflation)
        rows = self.reduced.R[:, :, :-1] * factor[:, None, None]
        return bread @ np.einsum("jka,jkb->ab", rows, rows) @ bread


def weigh(task: FitTask, weighting) -> Weighed:
    """The weight of every joint: one over its noise ("joint"), one (None), or as given."""
    equal = np.ones(task.base.sought.system.nu)
    found = Weighed(task, task.reduce(), equal, equal)
    if isinstance(weighting, str):
        if weighting != "joint":
            raise ArgumentError(f"weighting is '{weighting}'.", expected="'joint', None, or a factor a joint")
        found = replace(found, weights=1.0 / _scale(found.reduced))
        for _ in range(3):
            beta = solve_triangle(found.triangle)[0]
            found = replace(found, weights=1.0 / found.noise(beta))
    else:
        found = replace(found, weights=equal if weighting is None else equal * np.asarray(weighting, float))
        if not np.all(found.weights > 0.0):
            raise ArgumentError(f"the weights are {found.weights}.", expected="positive factors, one a joint")
        beta = solve_triangle(found.triangle)[0]
    return replace(found, inflation=task.long_run(beta))


def solve_triangle(R: np.ndarray, rcond: float = 1e-13) -> tuple[np.ndarray, int]:
    """The β that minimises ‖R (β, -1)‖, of least length if there are many, and the rank; columns scaled."""
    size = np.linalg.norm(R[:, :-1], axis=0)
    size = np.where(size > 0.0, size, 1.0)
    U, s, Vt = np.linalg.svd(R[:-1, :-1] / size)
    keep = s > rcond * s[0]
    coefficients = np.where(keep, (U.T @ R[:-1, -1]) / np.where(keep, s, 1.0), 0.0)
    return (Vt.T @ coefficients) / size, int(keep.sum())


def growth(errors: np.ndarray) -> float:
    """(1), by Sokal's rule: the sum stops at five times itself."""
    count = len(errors)
    centred = errors - errors.mean()
    power = np.abs(np.fft.rfft(centred, 2 * count)) ** 2
    correlation = np.fft.irfft(power)[: max(2, int(WINDOW * count))]
    if correlation[0] <= 0.0:
        return 1.0
    sums = 2.0 * np.cumsum(correlation / correlation[0]) - 1.0
    enough = np.flatnonzero(np.arange(len(sums)) >= 5.0 * sums)
    return float(max(1.0, sums[enough[0] if len(enough) else -1]))


def _scale(reduced: TriangularFactors) -> np.ndarray:
    """The root mean square of every joint's tau."""
    size = np.linalg.norm(reduced.R[:, :, -1], axis=-1) / np.sqrt(np.maximum(reduced.rows, 1))
    return np.where(size > 0.0, size, max(float(size.max()), 1e-300))
