"""Output error: the parameters whose simulated run looks like the recorded one.

Least squares compares forces along the measured motion; here the whole loop is simulated, controller and robot,
and what comes out of it, positions and torques, is compared with the record:

    min Σ (q - q̂(β))²/σ_q² + (τ - τ̂(β))²/σ_τ²                                                                     (1)

Nothing is differentiated or filtered, so noise in the motion does no harm. Gauss and Newton's method, from the
estimate of another estimator; all perturbed robots of a Jacobian are simulated as one batch, perturbed by their
standard deviations."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from appell.errors import ArgumentError
from appell.identify.estimators.estimator import Estimator, growth
from appell.identify.estimators.least_squares import LeastSquares
from appell.identify.forward import ClosedLoop


class OutputError(Estimator):
    """Refinement of `start` (LeastSquares if None) by simulating `loop`; one sample for each of its rows."""

    title: ClassVar[str] = "output error"

    def __init__(
        self, robot, *, loop: ClosedLoop | None = None, start: Estimator | None = None, iterations=4, **options
    ):
        super().__init__(robot, **options)
        self.loop = loop
        self.start = start
        self.iterations = iterations

    def _solve(self, reduced, samples):
        if self.loop is None:
            raise ArgumentError(
                "output error needs the loop to simulate.", hint="OutputError(robot, loop=ClosedLoop(...))"
            )
        options = {name: getattr(self, name) for name in ("weighting", "dead_zone", "prior", "method", "threads")}
        start = self.start
        if start is None or not hasattr(start, "base_parameters_"):
            start = (start or LeastSquares(self.model_, **options)).fit(samples.q, samples.v, samples.a, samples.tau)
        beta, spread = start.base_parameters_, np.maximum(start.std_, 1e-6 * np.abs(start.base_parameters_) + 1e-12)
        rest = self._rest(samples, beta[None])[:, 0]
        sigma = np.maximum(np.sqrt(np.mean(rest**2, axis=0)), 1e-12)
        self.costs_ = [float(np.mean((rest / sigma) ** 2))]
        for count in range(1, self.iterations + 1):
            self.iterations_ = count
            trials = np.vstack([beta, beta + np.diag(spread)])
            outputs = self._rest(samples, trials) / sigma
            J = (outputs[:, 1:] - outputs[:, :1]).transpose(0, 2, 1).reshape(-1, len(beta))
            step = np.linalg.lstsq(J, -outputs[:, 0].ravel(), rcond=1e-10)[0] * spread
            sizes = np.array([1.0, 0.5, 0.25, 0.1])
            costs = np.mean((self._rest(samples, beta + sizes[:, None] * step) / sigma) ** 2, axis=(0, 2))
            best = int(np.argmin(costs))
            if costs[best] >= self.costs_[-1]:
                break
            beta = beta + sizes[best] * step
            self.costs_.append(float(costs[best]))
            if self.costs_[-2] - self.costs_[-1] < 1e-5 * self.costs_[-1]:
                break
        return beta, self._sandwich(J, self._rest(samples, beta[None])[:, 0] / sigma) * np.outer(spread, spread)

    @staticmethod
    def _sandwich(J: np.ndarray, rest: np.ndarray) -> np.ndarray:
        """The covariance of the steps, every output's errors counted with their long-run variance."""
        variance = np.array([growth(column) for column in rest.T]) * np.mean(rest**2, axis=0)
        bread = np.linalg.pinv(J.T @ J)
        noisy = J.reshape(*rest.shape, -1) * np.sqrt(variance)[:, None]
        noisy = noisy.reshape(J.shape)
        return bread @ (noisy.T @ noisy) @ bread

    def _rest(self, samples, betas: np.ndarray) -> np.ndarray:
        """Simulated less recorded, (samples, trials, positions and torques)."""
        assert self.loop is not None
        q, _, _, tau = self.loop.run(self.base_, betas)
        if len(q) != len(samples):
            raise ArgumentError(
                f"the loop gives {len(q)} rows for {len(samples)} samples.",
                hint="ClosedLoop(..., rows=...), the steps of the samples",
            )
        return np.concatenate([q - samples.q[:, None], tau - samples.tau[:, None]], axis=-1)
