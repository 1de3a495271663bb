"""Total least squares: the motion is measured too, so the columns of Y have errors as well as τ.

With the columns of [Y τ] scaled so that their errors are alike, the solution is the right singular vector (β, -1)
of the least singular value. How the errors compare is told by `column_errors`: one number a base parameter, the
standard deviation of the errors in its column relative to that in τ. Without it, every column's error is taken to
be proportional to its size."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from appell.errors import ArgumentError
from appell.identify.estimators.estimator import Estimate, SolvingEstimator


class TotalLeastSquares(SolvingEstimator):
    """Total least squares on the triangle of the record."""

    title: ClassVar[str] = "total least squares"

    def __init__(self, system, *, column_errors=None, **options):
        super().__init__(system, **options)
        self.column_errors = column_errors

    def _solve(self, weighed):
        R = weighed.triangle
        size = np.linalg.norm(R, axis=0)
        scale = np.where(size > 0.0, size, 1.0) if self.column_errors is None else self._given(R.shape[1] - 1)
        _, _, Vt = np.linalg.svd(R / scale)
        solution = Vt[-1] / scale
        if abs(solution[-1]) < 1e-12 * np.abs(solution).max():
            raise ArgumentError(
                "total least squares has no solution: the columns of Y depend on each other more than tau on them.",
                hint="a motion that excites all base parameters, or LeastSquares",
            )
        beta = -solution[:-1] / solution[-1]
        return Estimate(weighed, beta, weighed.covariance(beta))

    def _given(self, count: int) -> np.ndarray:
        given = np.asarray(self.column_errors, float)
        if given.shape != (count,) or not np.all(given > 0.0):
            raise ArgumentError(
                f"column_errors has shape {given.shape}.",
                expected=f"{count} positive numbers, one a base parameter",
            )
        return np.append(given, 1.0)
