"""Least squares in base parameters, by the solvers of Valera et al. 2003: QR, singular values, pseudo-inverse.

All three work on the triangle of the record, [Y τ] = Q R. With a motion that excites every base parameter they
agree to rounding. They part where it does not: QR refuses, naming what cannot be found; singular values below
`rcond` are left out and the pseudo-inverse takes NumPy's cut, so both give the smallest change of the prior that
explains the data."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from appell.errors import ArgumentError, unknown_name
from appell.identify.estimators.estimator import Estimate, SolvingEstimator
from appell.identify.estimators.task import Weighed, solve_triangle

SOLVERS = ("qr", "svd", "pinv")


class LeastSquares(SolvingEstimator):
    """Ordinary (weighting=None) or weighted least squares."""

    title: ClassVar[str] = "least squares"

    def __init__(self, system, *, solver="qr", rcond=1e-10, **options):
        super().__init__(system, **options)
        self.solver = solver
        self.rcond = rcond

    def _solve(self, weighed):
        if self.solver not in SOLVERS:
            raise ArgumentError(unknown_name("solver", str(self.solver), SOLVERS, "LeastSquares"))
        base, R = weighed.task.base, weighed.triangle
        start = base.values(weighed.task.prior)
        shifted = R.copy()
        shifted[:, -1] -= R[:, :-1] @ start  # the unknown is the change of the prior
        if self.solver == "qr":
            self._refuse_deficient(weighed, R[:-1, :-1])
            change = solve_triangular(shifted[:-1, :-1], shifted[:-1, -1])
        elif self.solver == "svd":
            change = solve_triangle(shifted, self.rcond)[0]
        else:
            change = np.linalg.pinv(shifted[:, :-1]) @ shifted[:, -1]
        return Estimate(weighed, start + change, weighed.covariance(start + change))

    def _refuse_deficient(self, weighed: Weighed, R: np.ndarray) -> None:
        size = np.linalg.norm(R, axis=0)
        scaled = R / np.where(size > 0.0, size, 1.0)
        _, s, Vt = np.linalg.svd(scaled)
        lost = s <= self.rcond * s[0]
        if not lost.any() and size.all():
            return
        share = np.sum(Vt[lost] ** 2, axis=0) + (size == 0.0)
        names = weighed.task.base.names
        lost_names = [name for name, part in zip(names, share, strict=True) if part > 0.05]
        raise ArgumentError(
            f"these samples determine {int((~lost).sum())} of {len(names)} base parameters;"
            f" what cannot be told apart: {', '.join(lost_names)}.",
            hint="a motion that excites them (appell excite), more samples, or solver='svd' to leave them at the prior",
        )
