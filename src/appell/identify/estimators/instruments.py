"""Instrumental variables: what the noise of the measured motion cannot reach.

Least squares errs where the errors of Y and of τ hang together, as they do under feedback: E[Yᵀ ε] ≠ 0.
Instruments Z are like Y but free of the noise, and solve

    Zᵀ W² (Y β - τ) = 0                                                                                           (1)

Z is the regressor along a simulated motion: the robot with the parameters so far, under the same controller on
the same reference. After a few rounds of simulating and solving, β settles (Janot, Vandanjon and Gautier 2014).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np

from appell.errors import ArgumentError
from appell.identify.estimators.estimator import Estimator, solve_triangle
from appell.identify.samples import Samples

BLOCK = 8192


class InstrumentalVariables(Estimator):
    """`simulate(model, base, beta)` gives the noise-free motion (q, v, a) at the instants of the samples.

    `ClosedLoop.simulate` is one. Instead, `fit(..., instruments=(q, v, a))` takes a motion that is already there,
    such as the reference of a stiff controller."""

    title: ClassVar[str] = "instrumental variables"

    def __init__(self, robot, *, simulate: Callable | None = None, iterations=5, tolerance=1e-4, **options):
        super().__init__(robot, **options)
        self.simulate = simulate
        self.iterations = iterations
        self.tolerance = tolerance

    def fit(self, q, v, a, tau, instruments=None) -> Self:
        if instruments is None and self.simulate is None:
            raise ArgumentError(
                "instrumental variables need a motion without noise.",
                hint="InstrumentalVariables(robot, simulate=...), or fit(q, v, a, tau, instruments=(q, v, a))",
            )
        self._instruments = None if instruments is None else tuple(np.asarray(x, float) for x in instruments)
        shapes = [np.shape(x) for x in (q, v, a)]
        if self._instruments is not None and [x.shape for x in self._instruments] != shapes:
            told = ", ".join(str(x.shape) for x in self._instruments)
            raise ArgumentError(f"the instruments have shapes {told}.", expected=", ".join(map(str, shapes)))
        super().fit(q, v, a, tau)
        del self._instruments
        return self

    def _solve(self, reduced, samples):
        beta = solve_triangle(reduced.weighted(self.weights_))[0]
        self.iterations_ = 0
        while self.iterations_ < (1 if self._instruments is not None else self.iterations):
            self.iterations_ += 1
            if self._instruments is not None:
                motion = self._instruments
            elif self.simulate is not None:
                motion = self.simulate(self.model_, self.base_, beta)
            before = beta
            beta, covariance = self._round(samples, motion, reduced, beta)
            if np.linalg.norm(beta - before) <= self.tolerance * np.linalg.norm(beta):
                break
        return beta, covariance

    def _round(self, samples: Samples, motion, reduced, beta):
        """(1), summed up in blocks."""
        count = self.base_.count
        ZY, Zt, ZZ = np.zeros((count, count)), np.zeros(count), np.zeros((count, count))
        sigma = self._noise(beta, reduced) * np.sqrt(self.inflation_)
        square = (self.weights_**2)[:, None]
        for start in range(0, len(samples), BLOCK):
            rows = slice(start, start + BLOCK)
            part = samples.part(rows)
            Y = np.asarray(self.regressor_(*part.motion))
            Z = np.asarray(self.regressor_(*(x[rows] for x in motion))) * square
            ZY += np.einsum("sja,sjb->ab", Z, Y, optimize=True)
            Zt += np.einsum("sja,sj->a", Z, part.tau, optimize=True)
            noisy = Z * sigma[:, None]
            ZZ += np.einsum("sja,sjb->ab", noisy, noisy, optimize=True)
        size = np.sqrt(np.abs(np.diag(ZY)))
        size = np.where(size > 0.0, size, 1.0)
        inverse = np.linalg.pinv(ZY / np.outer(size, size)) / np.outer(size, size)
        return inverse @ Zt, inverse @ ZZ @ inverse.T
