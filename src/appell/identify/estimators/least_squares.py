"""Least squares in base parameters, by the solvers of Valera et al. 2003: QR, singular values, pseudo-inverse.

All three work on the triangle of the record, [Y τ] = Q R. With a motion that excites every base parameter they
agree to rounding. They part where it does not: QR refuses, naming what cannot be found; singular values below
`rcond` are left out and the pseudo-inverse takes NumPy's cut, so both give the smallest change of the prior that
explains the data.

In total least squares the columns of Y have errors as well as τ, as the motion is measured too. With the columns of [Y
τ] scaled so that their errors are alike, the solution is the right singular vector (β, -1) of the least singular value.
How the errors compare is told by `column_errors`: one number per base parameter, the standard deviation of the errors
in its column relative to that in τ. Without it, every column's error is taken to be proportional to its size.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import solve_triangular

from appell.errors import ArgumentError, Hint, unknown_name
from appell.identify.estimators.estimator import Estimate, Estimator, SolvingEstimator, rounds
from appell.identify.estimators.stream import TriangularFactors
from appell.identify.estimators.task import Weighed, solve_triangle

SOLVERS = ("qr", "svd", "pinv")
STRENGTHS = tuple(np.logspace(-12, 1, 27).tolist())
LOSSES = {
    "huber": lambda r: 1.0 / np.maximum(1.0, np.abs(r) / 1.345),
    "tukey": lambda r: np.maximum(0.0, 1.0 - (r / 4.685) ** 2) ** 2,
}


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
            hint=Hint(
                "a motion that excites them (appell excite), more samples, or {solver} to leave them at the prior",
                solver="svd",
            ),
        )


class Described(Estimator):
    """The parameters of the description, whatever the samples are; `fit` may be given none."""

    title: ClassVar[str] = "as described"

    def fit(self, q=None, v=None, a=None, tau=None) -> Self:
        sought = self.described
        self.base_, self.sought_, self.parameters_ = sought.base, sought, self._prior(sought)
        self.base_parameters_ = self.base_.values(self.parameters_)
        self.covariance_ = np.zeros((self.base_.count, self.base_.count))
        self.samples_, self.rank_, self.condition_ = 0, 0, np.inf
        return self


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


class Ridge(SolvingEstimator):
    """Ridge regression; `strength` λ, or None to find it among `strengths`; `towards` is "zero" or "prior".

    Ridge regression: a pull towards the prior that grows where the data are weak.

        min ‖R (β, -1)‖² + λ Σ (dₖ (βₖ - βₖ⁰))²          dₖ the length of column k of R                              (1)

    λ is chosen by leaving out one of `folds` consecutive parts of the record after the other, and taking the λ whose
    fits to the rest predict the part left out best. Parts are consecutive, so that neighbours in time do not judge
    each other.
    """

    title: ClassVar[str] = "ridge"

    def __init__(self, system, *, strength=None, strengths=STRENGTHS, folds=5, towards="zero", **options):
        super().__init__(system, **options)
        self.strength = strength
        self.strengths = strengths
        self.folds = folds
        self.towards = towards

    def _solve(self, weighed):
        if self.towards not in ("zero", "prior"):
            raise ArgumentError(f"a ridge pulls towards '{self.towards}'.", expected="'zero' or 'prior'")
        base, R = weighed.task.base, weighed.triangle
        centre = base.values(weighed.task.prior) if self.towards == "prior" else np.zeros(base.count)
        about = {"strength": self.strength} if self.strength is not None else self._best(weighed, centre)
        beta = _ridge(R, about["strength"], centre)
        # of the noise alone; what the pull takes from the parameters is a bias and not in here
        gram = R[:, :-1].T @ R[:, :-1]
        bread = np.linalg.pinv(gram + about["strength"] * np.diag(np.diag(gram)))
        return Estimate(weighed, beta, weighed.sandwich(bread, beta), about=about)

    def _best(self, weighed: Weighed, centre: np.ndarray) -> dict[str, Any]:
        task, samples = weighed.task, weighed.task.samples
        if len(samples) < 2 * self.folds:
            raise ArgumentError(f"{len(samples)} samples do not make {self.folds} folds.", hint="give a strength")
        edges = np.linspace(0, len(samples), self.folds + 1).astype(int)
        folds = [task.part(slice(i, j)).reduce() for i, j in pairwise(edges)]
        error = np.zeros(len(self.strengths))
        for k, left_out in enumerate(folds):
            rest: TriangularFactors = reduce(add, [fold for i, fold in enumerate(folds) if i != k])
            R = rest.weighted(weighed.weights)
            for i, strength in enumerate(self.strengths):
                beta = _ridge(R, strength, centre)
                error[i] += np.sum((left_out.residual_norms(beta) * weighed.weights) ** 2)
        best = float(self.strengths[int(np.argmin(error))])
        return {"strength": best, "cross_validation": error / len(samples)}


def _ridge(R: np.ndarray, strength: float, centre: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(R[:, :-1], axis=0)
    size = np.where(size > 0.0, size, 1.0)
    scaled = R[:, :-1] / size
    rows = np.vstack([scaled, np.sqrt(strength) * np.eye(len(size))])
    right = np.concatenate([R[:, -1] - R[:, :-1] @ centre, np.zeros(len(size))])
    return centre + np.linalg.lstsq(rows, right, rcond=None)[0] / size


class Robust(SolvingEstimator):
    """Iteratively reweighted least squares; `loss` is "huber" or "tukey".

    Robust least squares: samples that fit badly lose their say, and the fit is repeated until it settles.

    With residuals r in units of their joint's spread (1.4826 times the median of |r|), a row is weighted with

        huber   1 for |r| ≤ k, k/|r| beyond          k = 1.345                                                       (1)
        tukey   (1 - (r/k)²)² for |r| ≤ k, 0 beyond  k = 4.685                                                       (2)

    Both are 95 % as sharp as least squares if nothing is wrong with the data.
    """

    title: ClassVar[str] = "robust"

    def __init__(self, system, *, loss="huber", iterations=30, tolerance=1e-6, **options):
        super().__init__(system, **options)
        self.loss = loss
        self.iterations = iterations
        self.tolerance = tolerance

    def _solve(self, weighed):
        if self.loss not in LOSSES:
            raise ArgumentError(unknown_name("loss", str(self.loss), LOSSES, "Robust"))
        task, beta, changes = weighed.task, solve_triangle(weighed.triangle)[0], []
        least = 1e-13 * np.abs(task.samples.tau).max(initial=1e-300)
        for _ in rounds(self.iterations):
            rest = task.residuals(beta)
            counted = np.abs(rest) if task.moving is None else np.where(task.moving, np.abs(rest), np.nan)
            spread = np.maximum(1.4826 * np.nanmedian(counted, axis=0), least)
            factors = np.sqrt(LOSSES[self.loss](rest / spread))
            again = replace(weighed, reduced=task.reduce(factors), weights=1.0 / spread)
            before, beta = beta, solve_triangle(again.triangle)[0]
            changes.append(np.linalg.norm(beta - before) / np.linalg.norm(beta))
            if changes[-1] <= self.tolerance:
                break
        again = replace(again, inflation=task.long_run(beta))
        about = {"iterations": len(changes), "sample_weights": factors**2}
        return Estimate(replace(again, reduced=weighed.reduced), beta, again.covariance(beta), about=about)
