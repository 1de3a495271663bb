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
from appell.identify.estimators.estimator import Estimate, Estimator, SolvingEstimator, rounds
from appell.identify.estimators.least_squares import LeastSquares
from appell.identify.estimators.task import FitTask, growth
from appell.identify.simulated_loop import SimulatedLoop

SIZES = np.array([1.0, 0.5, 0.25, 0.1])  # of a step, tried at once


class OutputError(SolvingEstimator):
    """Refinement of `start` (LeastSquares if None) by simulating `loop`; one sample for each of its rows."""

    title: ClassVar[str] = "output error"

    def __init__(
        self, system, *, loop: SimulatedLoop | None = None, start: Estimator | None = None, iterations=4, **options
    ):
        super().__init__(system, **options)
        self.loop = loop
        self.start = start
        self.iterations = iterations

    def _solve(self, weighed):
        if self.loop is None:
            raise ArgumentError(
                "output error needs the loop to simulate.", hint="OutputError(system, loop=SimulatedLoop(...))"
            )
        task = weighed.task
        start = self._start(task)
        beta, spread = start.base_parameters_, np.maximum(start.std_, 1e-6 * np.abs(start.base_parameters_) + 1e-12)
        rest = self._rest(task, beta[None])[:, 0]
        sigma = np.maximum(np.sqrt(np.mean(rest**2, axis=0)), 1e-12)
        costs = [float(np.mean((rest / sigma) ** 2))]
        for _ in rounds(self.iterations):
            outputs = self._rest(task, np.vstack([beta, beta + np.diag(spread)])) / sigma
            J = (outputs[:, 1:] - outputs[:, :1]).transpose(0, 2, 1).reshape(-1, len(beta))
            step = np.linalg.lstsq(J, -outputs[:, 0].ravel(), rcond=1e-10)[0] * spread
            tried = np.mean((self._rest(task, beta + SIZES[:, None] * step) / sigma) ** 2, axis=(0, 2))
            best = int(np.argmin(tried))
            if tried[best] >= costs[-1]:
                break
            beta = beta + SIZES[best] * step
            costs.append(float(tried[best]))
            if costs[-2] - costs[-1] < 1e-5 * costs[-1]:
                break
        rest = self._rest(task, beta[None])[:, 0] / sigma
        return Estimate(weighed, beta, _sandwich(J, rest) * np.outer(spread, spread), about={"costs": costs})

    def _start(self, task: FitTask) -> Estimator:
        if self.start is not None and hasattr(self.start, "base_parameters_"):
            return self.start
        options = {name: getattr(self, name) for name in ("weighting", "dead_zone", "prior", "method", "threads")}
        samples, start = task.samples, self.start or LeastSquares(task.base.sought, **options)
        return start.fit(*samples.motion, samples.tau)

    def _rest(self, task: FitTask, betas: np.ndarray) -> np.ndarray:
        """Simulated less recorded, (samples, trials, positions and torques)."""
        assert self.loop is not None
        samples = task.samples
        q, _, _, tau = self.loop.run(task.base, betas)
        if len(q) != len(samples):
            raise ArgumentError(
                f"the loop gives {len(q)} rows for {len(samples)} samples.",
                hint="SimulatedLoop(..., rows=...), the steps of the samples",
            )
        return np.concatenate([q - samples.q[:, None], tau - samples.tau[:, None]], axis=-1)


def _sandwich(J: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """The covariance of the steps, every output's errors counted with their long-run variance."""
    variance = np.array([growth(column) for column in rest.T]) * np.mean(rest**2, axis=0)
    bread = np.linalg.pinv(J.T @ J)
    noisy = (J.reshape(*rest.shape, -1) * np.sqrt(variance)[:, None]).reshape(J.shape)
    return bread @ (noisy.T @ noisy) @ bread
