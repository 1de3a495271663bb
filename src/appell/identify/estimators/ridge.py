"""Ridge regression: a pull towards the prior that grows where the data are weak.

    min ‖R (β, -1)‖² + λ Σ (dₖ (βₖ - βₖ⁰))²          dₖ the length of column k of R                                 (1)

λ is chosen by leaving out one of `folds` consecutive parts of the record after the other, and taking the λ whose
fits to the rest predict the part left out best. Parts are consecutive, so that neighbours in time do not judge
each other."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, ClassVar

import numpy as np

from appell.errors import ArgumentError
from appell.identify.estimators.estimator import Estimate, SolvingEstimator
from appell.identify.estimators.stream import Triangles
from appell.identify.estimators.task import Weighed

STRENGTHS = tuple(np.logspace(-12, 1, 27).tolist())


class Ridge(SolvingEstimator):
    """Ridge regression; `strength` λ, or None to find it among `strengths`; `towards` is "zero" or "prior"."""

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
            rest: Triangles = reduce(add, [fold for i, fold in enumerate(folds) if i != k])
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
