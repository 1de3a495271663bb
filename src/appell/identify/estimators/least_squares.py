"""Least squares in base parameters, by the solvers of Valera et al. 2003: QR, singular values, pseudo-inverse.

All three work on the triangular factor R of the record, [Y τ] = Q R. If the motion excites every base parameter, they
agree to rounding. If it does not, QR raises an error that names the undetermined parameters. The SVD solver drops
singular values below `rcond`, the pseudo-inverse those below NumPy's default; both return the smallest change of the
prior that explains the data.

In total least squares the columns of Y have errors as well as τ, because the motion is measured too. With the columns
of [Y τ] scaled such that their errors are equal, the solution is the right singular vector (β, -1) of the smallest
singular value. `column_errors` gives the ratio of these errors: per base parameter, the standard deviation of the
errors in its column relative to that in τ. Without it, the error of every column is assumed to be proportional to its
norm.
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
from appell.identify.estimators.estimator import Estimate, Estimator, SolvingEstimator, iteration_range
from appell.identify.estimators.task import WeightedTask, solve_least_squares
from appell.identify.estimators.triangular_factors import TriangularFactors

SOLVERS = ("qr", "svd", "pinv")
STRENGTHS = tuple(np.logspace(-12, 1, 27).tolist())  # candidates for λ of ridge regression
UNDETERMINED_SHARE = 0.05  # of a base parameter in the null space, from which an error names it
LOSSES = {  # weight of a row by its residual in standard deviations
    "huber": lambda r: 1.0 / np.maximum(1.0, np.abs(r) / 1.345),
    "tukey": lambda r: np.maximum(0.0, 1.0 - (r / 4.685) ** 2) ** 2,
}


class LeastSquares(SolvingEstimator):
    """Ordinary (weighting=None) or weighted least squares.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
    solver : {"qr", "svd", "pinv"}
        QR factorisation, singular values, or pseudo-inverse.
    rcond : singular values below this fraction of the largest one count as zero
    **options
        Options of `Estimator`.
    """

    title: ClassVar[str] = "least squares"

    def __init__(self, system, *, solver="qr", rcond=1e-10, **options):
        super().__init__(system, **options)
        self.solver = solver
        self.rcond = rcond

    def _solve(self, weighted):
        if self.solver not in SOLVERS:
            raise ArgumentError(unknown_name("solver", str(self.solver), SOLVERS, "LeastSquares"))
        base, R = weighted.task.base, weighted.triangular_factor
        start = base.values(weighted.task.prior)
        shifted = R.copy()
        shifted[:, -1] -= R[:, :-1] @ start  # the unknown is the change of the prior
        if self.solver == "qr":
            self._check_rank(weighted, R[:-1, :-1])
            change = solve_triangular(shifted[:-1, :-1], shifted[:-1, -1])
        elif self.solver == "svd":
            change = solve_least_squares(shifted, self.rcond)[0]
        else:
            change = np.linalg.pinv(shifted[:, :-1]) @ shifted[:, -1]
        return Estimate(weighted, start + change, weighted.covariance(start + change))

    def _check_rank(self, weighted: WeightedTask, R: np.ndarray) -> None:
        """Raise an error that names the base parameters which the samples do not determine."""
        size = np.linalg.norm(R, axis=0)
        scaled = R / np.where(size > 0.0, size, 1.0)
        _, s, Vt = np.linalg.svd(scaled)
        null = s <= self.rcond * s[0]
        if not null.any() and size.all():
            return
        share = np.sum(Vt[null] ** 2, axis=0) + (size == 0.0)
        names = weighted.task.base.names
        undetermined = [name for name, part in zip(names, share, strict=True) if part > UNDETERMINED_SHARE]
        raise ArgumentError(
            f"these samples determine {int((~null).sum())} of {len(names)} base parameters;"
            f" undetermined are combinations of {', '.join(undetermined)}.",
            hint=Hint(
                "Record a motion that excites them (identify.excite) or more samples, "
                "or pass {solver} to keep them at the prior.",
                solver="svd",
            ),
        )


class Described(Estimator):
    """The parameters of the description, for comparison; `fit` needs no samples."""

    title: ClassVar[str] = "as described"

    def fit(self, q=None, v=None, a=None, tau=None) -> Self:
        """Take the parameters of the description, or the prior; the samples are ignored."""
        parameter_set = self.described
        self.base_, self.parameter_set_, self.parameters_ = (
            parameter_set.base,
            parameter_set,
            self._prior(parameter_set),
        )
        self.base_parameters_ = self.base_.values(self.parameters_)
        self.covariance_ = self.block_covariance_ = np.zeros((self.base_.count, self.base_.count))
        self.samples_, self.rank_, self.condition_ = 0, 0, np.inf
        return self


class TotalLeastSquares(SolvingEstimator):
    """Total least squares, for samples with noise in the motion as well as in tau.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
    column_errors : per base parameter, the standard deviation of the errors in its column of Y relative to that in tau
    **options
        Options of `Estimator`.
    """

    title: ClassVar[str] = "total least squares"

    def __init__(self, system, *, column_errors=None, **options):
        super().__init__(system, **options)
        self.column_errors = column_errors

    def _solve(self, weighted):
        R = weighted.triangular_factor
        size = np.linalg.norm(R, axis=0)
        scale = np.where(size > 0.0, size, 1.0) if self.column_errors is None else self._given(R.shape[1] - 1)
        _, _, Vt = np.linalg.svd(R / scale)
        solution = Vt[-1] / scale
        if abs(solution[-1]) < 1e-12 * np.abs(solution).max():
            raise ArgumentError(
                "total least squares has no solution, because the columns of Y are nearly linearly dependent.",
                hint="Record a motion that excites all base parameters, or use LeastSquares.",
            )
        beta = -solution[:-1] / solution[-1]
        return Estimate(weighted, beta, weighted.covariance(beta))

    def _given(self, count: int) -> np.ndarray:
        given = np.asarray(self.column_errors, float)
        if given.shape != (count,) or not np.all(given > 0.0):
            raise ArgumentError(
                f"column_errors has shape {given.shape}.",
                expected=f"{count} positive numbers, one per base parameter",
            )
        return np.append(given, 1.0)


class Ridge(SolvingEstimator):
    """Ridge regression: least squares with a penalty on the distance from zero or from the prior.

        min ‖R (β, -1)‖² + λ Σ (dₖ (βₖ - βₖ⁰))²          dₖ the norm of column k of R                                (1)

    λ is chosen by cross-validation over `folds` consecutive parts of the record, so that the samples next to each other
    in time are in the same part.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
    strength : λ; by default chosen among `strengths` by cross-validation
    strengths : sequence of float
    folds : int
    towards : {"zero", "prior"}
        β⁰ of (1).
    **options
        Options of `Estimator`.
    """

    title: ClassVar[str] = "ridge"

    def __init__(self, system, *, strength=None, strengths=STRENGTHS, folds=5, towards="zero", **options):
        super().__init__(system, **options)
        self.strength = strength
        self.strengths = strengths
        self.folds = folds
        self.towards = towards

    def _solve(self, weighted):
        if self.towards not in ("zero", "prior"):
            raise ArgumentError(f"towards is '{self.towards}'.", expected="'zero' or 'prior'")
        base, R = weighted.task.base, weighted.triangular_factor
        centre = base.values(weighted.task.prior) if self.towards == "prior" else np.zeros(base.count)
        about = {"strength": self.strength} if self.strength is not None else self._best(weighted, centre)
        beta = _ridge(R, about["strength"], centre)
        # covariance of the noise only; the bias of the penalty is not included
        gram = R[:, :-1].T @ R[:, :-1]
        bread = np.linalg.pinv(gram + about["strength"] * np.diag(np.diag(gram)))
        return Estimate(weighted, beta, weighted.sandwich(bread, beta), about=about)

    def _best(self, weighted: WeightedTask, centre: np.ndarray) -> dict[str, Any]:
        task, samples = weighted.task, weighted.task.samples
        if len(samples) < 2 * self.folds:
            raise ArgumentError(f"{len(samples)} samples are too few for {self.folds} folds.", hint="Pass a strength.")
        edges = np.linspace(0, len(samples), self.folds + 1).astype(int)
        folds = [task.part(slice(i, j)).reduce() for i, j in pairwise(edges)]
        error = np.zeros(len(self.strengths))
        for k, left_out in enumerate(folds):
            rest: TriangularFactors = reduce(add, [fold for i, fold in enumerate(folds) if i != k])
            R = rest.weighted(weighted.weights)
            for i, strength in enumerate(self.strengths):
                beta = _ridge(R, strength, centre)
                error[i] += np.sum((left_out.residual_norms(beta) * weighted.weights) ** 2)
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
    """Robust least squares: samples with large residuals get smaller weights, iteratively until convergence.

    With residuals r in units of the spread of their joint (1.4826 times the median of |r|), the weight of a row is

        huber   1 for |r| ≤ k, k/|r| beyond          k = 1.345                                                       (1)
        tukey   (1 - (r/k)²)² for |r| ≤ k, 0 beyond  k = 4.685                                                       (2)

    Both have 95 % of the efficiency of least squares for data with normally distributed noise.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
    loss : {"huber", "tukey"}
    iterations : largest number of iterations
    tolerance : relative change of β at which the iteration ends
    **options
        Options of `Estimator`.
    """

    title: ClassVar[str] = "robust"

    def __init__(self, system, *, loss="huber", iterations=30, tolerance=1e-6, **options):
        super().__init__(system, **options)
        self.loss = loss
        self.iterations = iterations
        self.tolerance = tolerance

    def _solve(self, weighted):
        if self.loss not in LOSSES:
            raise ArgumentError(unknown_name("loss", str(self.loss), LOSSES, "Robust"))
        task, beta, changes = weighted.task, solve_least_squares(weighted.triangular_factor)[0], []
        least = 1e-13 * np.abs(task.samples.tau).max(initial=1e-300)
        for _ in iteration_range(self.iterations):
            rest = task.residuals(beta)
            counted = np.abs(rest) if task.moving is None else np.where(task.moving, np.abs(rest), np.nan)
            spread = np.maximum(1.4826 * np.nanmedian(counted, axis=0), least)
            factors = np.sqrt(LOSSES[self.loss](rest / spread))
            again = replace(weighted, reduced=task.reduce(factors), weights=1.0 / spread)
            before, beta = beta, solve_least_squares(again.triangular_factor)[0]
            changes.append(np.linalg.norm(beta - before) / np.linalg.norm(beta))
            if changes[-1] <= self.tolerance:
                break
        again = replace(again, inflation=task.variance_inflation(beta))
        about = {"iterations": len(changes), "sample_weights": factors**2}
        return Estimate(replace(again, reduced=weighted.reduced), beta, again.covariance(beta), about=about)
