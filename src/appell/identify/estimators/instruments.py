"""Instrumental variables: estimates without the bias that noise in the measured motion causes.

Least squares is biased if the errors of Y and τ are correlated, as they are under feedback: E[Yᵀ ε] ≠ 0. Instruments Z
are similar to Y but free of this noise, and β solves

    Zᵀ W² (Y β - τ) = 0                                                                                           (1)

Z is the regressor along a simulated motion: that of the robot with the current parameters, under the same controller
and reference. β converges after a few iterations of simulating and solving (Janot, Vandanjon and Gautier 2014). Rows
inside a dead zone are left out of Z and Y.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Self

import numpy as np

from appell.errors import ArgumentError
from appell.identify.estimators.estimator import Estimate, SolvingEstimator, iteration_range
from appell.identify.estimators.task import WeightedTask, solve_least_squares
from appell.identify.parameter_set import QVA

BLOCK_SAMPLES = 8192  # samples whose regressors are in memory at a time


class InstrumentalVariables(SolvingEstimator):
    """Instrumental-variable estimator.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
    simulate : callable, optional
        `simulate(base, beta)` returns the noise-free motion (q, v, a) at the instants of the samples, for example
        `SimulatedLoop(...).motion`. Without it, pass a motion to `fit(..., instruments=(q, v, a))`, such as the
        reference of a stiff controller.
    iterations : largest number of iterations
    tolerance : relative change of β at which the iteration ends
    **options
        Options of `Estimator`.
    """

    title: ClassVar[str] = "instrumental variables"

    def __init__(self, system, *, simulate: Callable | None = None, iterations=5, tolerance=1e-4, **options):
        super().__init__(system, **options)
        self.simulate = simulate
        self.iterations = iterations
        self.tolerance = tolerance

    def fit(self, q, v, a, tau, instruments=None) -> Self:
        """Estimate the parameters; `instruments` is a noise-free motion (q, v, a) with the shapes of the samples."""
        if instruments is None and self.simulate is None:
            raise ArgumentError(
                "no motion without noise is given for the instruments.",
                hint="Use InstrumentalVariables(system, simulate=...) or fit(q, v, a, tau, instruments=(q, v, a)).",
            )
        if instruments is not None:
            instruments = tuple(np.asarray(x, float) for x in instruments)
            expected, given = ([np.shape(x) for x in motion] for motion in ((q, v, a), instruments))
            if given != expected:
                listed = ", ".join(map(str, given))
                raise ArgumentError(f"the instruments have shapes {listed}.", expected=", ".join(map(str, expected)))
        return self._run(q, v, a, tau, partial(self._solve, instruments=instruments))

    def _solve(self, weighted: WeightedTask, instruments: QVA | None = None) -> Estimate:
        beta, changes = solve_least_squares(weighted.triangular_factor)[0], []
        for _ in iteration_range(self.iterations if instruments is None else 1):
            motion = self.simulate(weighted.task.base, beta) if self.simulate and instruments is None else instruments
            before = beta
            beta, covariance = _solve_with_instruments(weighted, motion, beta)
            changes.append(np.linalg.norm(beta - before) / np.linalg.norm(beta))
            if changes[-1] <= self.tolerance:
                break
        return Estimate(weighted, beta, covariance, about={"iterations": len(changes)})


def _solve_with_instruments(weighted: WeightedTask, motion, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Solve (1), summed over blocks of samples; return β and its covariance."""
    task, count = weighted.task, weighted.task.base.count
    ZY, Zt, ZZ = np.zeros((count, count)), np.zeros(count), np.zeros((count, count))
    sigma = weighted.noise(beta) * np.sqrt(weighted.inflation)
    for start in range(0, len(task.samples), BLOCK_SAMPLES):
        rows = slice(start, start + BLOCK_SAMPLES)
        part = task.samples.part(rows)
        weights = np.broadcast_to(weighted.weights**2, part.tau.shape)
        weights = weights if task.moving is None else weights * task.moving[rows]
        Y = np.asarray(task.base.regressor(*part.motion))
        Z = np.asarray(task.base.regressor(*(x[rows] for x in motion))) * weights[..., None]
        ZY += np.einsum("sja,sjb->ab", Z, Y, optimize=True)
        Zt += np.einsum("sja,sj->a", Z, part.tau, optimize=True)
        noisy = Z * sigma[:, None]
        ZZ += np.einsum("sja,sjb->ab", noisy, noisy, optimize=True)
    size = np.sqrt(np.abs(np.diag(ZY)))
    size = np.where(size > 0.0, size, 1.0)
    inverse = np.linalg.pinv(ZY / np.outer(size, size)) / np.outer(size, size)
    return inverse @ Zt, inverse @ ZZ @ inverse.T
