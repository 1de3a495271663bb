"""Instrumental variables: what the noise of the measured motion cannot reach.

Least squares errs where the errors of Y and of τ hang together, as they do under feedback: E[Yᵀ ε] ≠ 0.
Instruments Z are like Y but free of the noise, and solve

    Zᵀ W² (Y β - τ) = 0                                                                                           (1)

Z is the regressor along a simulated motion: the robot with the parameters so far, under the same controller on
the same reference. After a few rounds of simulating and solving, β settles (Janot, Vandanjon and Gautier 2014).
Rows inside a dead zone count neither in Z nor in Y.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Self

import numpy as np

from appell.errors import ArgumentError
from appell.identify.estimators.estimator import Estimate, SolvingEstimator, rounds
from appell.identify.estimators.task import Weighed, solve_triangle
from appell.identify.sought import QVA

BLOCK = 8192


class InstrumentalVariables(SolvingEstimator):
    """`simulate(base, beta)` gives the noise-free motion (q, v, a) at the instants of the samples.

    `SimulatedLoop.motion` is one. Instead, `fit(..., instruments=(q, v, a))` takes a motion that is already there,
    such as the reference of a stiff controller.
    """

    title: ClassVar[str] = "instrumental variables"

    def __init__(self, system, *, simulate: Callable | None = None, iterations=5, tolerance=1e-4, **options):
        super().__init__(system, **options)
        self.simulate = simulate
        self.iterations = iterations
        self.tolerance = tolerance

    def fit(self, q, v, a, tau, instruments=None) -> Self:
        if instruments is None and self.simulate is None:
            raise ArgumentError(
                "instrumental variables need a motion without noise.",
                hint="InstrumentalVariables(system, simulate=...), or fit(q, v, a, tau, instruments=(q, v, a))",
            )
        if instruments is not None:
            instruments = tuple(np.asarray(x, float) for x in instruments)
            shapes, own = ([np.shape(x) for x in motion] for motion in ((q, v, a), instruments))
            if own != shapes:
                told = ", ".join(map(str, own))
                raise ArgumentError(f"the instruments have shapes {told}.", expected=", ".join(map(str, shapes)))
        return self._run(q, v, a, tau, partial(self._solve, instruments=instruments))

    def _solve(self, weighed: Weighed, instruments: QVA | None = None) -> Estimate:
        beta, changes = solve_triangle(weighed.triangle)[0], []
        for _ in rounds(self.iterations if instruments is None else 1):
            motion = self.simulate(weighed.task.base, beta) if self.simulate and instruments is None else instruments
            before = beta
            beta, covariance = _round(weighed, motion, beta)
            changes.append(np.linalg.norm(beta - before) / np.linalg.norm(beta))
            if changes[-1] <= self.tolerance:
                break
        return Estimate(weighed, beta, covariance, about={"iterations": len(changes)})


def _round(weighed: Weighed, motion, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(1), summed up in blocks."""
    task, count = weighed.task, weighed.task.base.count
    ZY, Zt, ZZ = np.zeros((count, count)), np.zeros(count), np.zeros((count, count))
    sigma = weighed.noise(beta) * np.sqrt(weighed.inflation)
    for start in range(0, len(task.samples), BLOCK):
        rows = slice(start, start + BLOCK)
        part = task.samples.part(rows)
        weights = np.broadcast_to(weighed.weights**2, part.tau.shape)
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
