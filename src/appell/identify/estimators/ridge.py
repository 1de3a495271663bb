"""Ridge regression: a pull towards the prior that grows where the data are weak.

    min ‖R (β, -1)‖² + λ Σ (dₖ (βₖ - βₖ⁰))²          dₖ the length of column k of R                                 (1)

λ is chosen by leaving out one of `folds` consecutive parts of the record after the other, and taking the λ whose
fits to the rest predict the part left out best. Parts are consecutive, so that neighbours in time do not judge
each other."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import add
from typing import ClassVar

import numpy as np

from appell.errors import ArgumentError
from appell.identify.estimators.estimator import Estimator
from appell.identify.estimators.stream import Triangles

STRENGTHS = tuple(np.logspace(-12, 1, 27).tolist())


class Ridge(Estimator):
    """Ridge regression; `strength` λ, or None to find it among `strengths`; `towards` is "zero" or "prior"."""

    title: ClassVar[str] = "ridge"

    def __init__(self, robot, *, strength=None, strengths=STRENGTHS, folds=5, towards="zero", **options):
        super().__init__(robot, **options)
        self.strength = strength
        self.strengths = strengths
        self.folds = folds
        self.towards = towards

    def _solve(self, reduced, samples):
        if self.towards not in ("zero", "prior"):
            raise ArgumentError(f"a ridge pulls towards '{self.towards}'.", expected="'zero' or 'prior'")
        centre = self.base_.values(self._known()) if self.towards == "prior" else np.zeros(self.base_.count)
        R = reduced.weighted(self.weights_)
        self.strength_ = self._best(samples, centre) if self.strength is None else float(self.strength)
        beta = _ridge(R, self.strength_, centre)
        return beta, self._ridge_covariance(reduced, R, beta)

    def _best(self, samples, centre: np.ndarray) -> float:
        if len(samples) < 2 * self.folds:
            raise ArgumentError(f"{len(samples)} samples do not make {self.folds} folds.", hint="give a strength")
        edges = np.linspace(0, len(samples), self.folds + 1).astype(int)
        parts = [samples.part(slice(i, j)) for i, j in pairwise(edges)]
        folds = [self._reduce(part, self._offset(part)) for part in parts]
        error = np.zeros(len(self.strengths))
        for k, left_out in enumerate(folds):
            rest: Triangles = reduce(add, [fold for i, fold in enumerate(folds) if i != k])
            R = rest.weighted(self.weights_)
            for i, strength in enumerate(self.strengths):
                beta = _ridge(R, strength, centre)
                error[i] += np.sum((left_out.residual_norms(beta) * self.weights_) ** 2)
        self.cross_validation_ = error / len(samples)
        return float(self.strengths[int(np.argmin(error))])

    def _ridge_covariance(self, reduced: Triangles, R: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """Of the noise alone; what the pull takes from the parameters is a bias and not in here."""
        size = np.linalg.norm(R[:, :-1], axis=0)
        bread = np.linalg.pinv(R[:, :-1].T @ R[:, :-1] + self.strength_ * np.diag(size**2))
        rows = self._true_rows(reduced, self._noise(beta, reduced))
        return bread @ np.einsum("jka,jkb->ab", rows, rows) @ bread


def _ridge(R: np.ndarray, strength: float, centre: np.ndarray) -> np.ndarray:
    size = np.linalg.norm(R[:, :-1], axis=0)
    size = np.where(size > 0.0, size, 1.0)
    scaled = R[:, :-1] / size
    rows = np.vstack([scaled, np.sqrt(strength) * np.eye(len(size))])
    right = np.concatenate([R[:, -1] - R[:, :-1] @ centre, np.zeros(len(size))])
    return centre + np.linalg.lstsq(rows, right, rcond=None)[0] / size
