"""Output error: the parameters whose simulated run is closest to the recorded one.

Least squares compares forces along the measured motion. Here the complete loop of controller and robot is simulated,
and its positions and torques are compared with the record:

    min Σ (q - q̂(β))²/σ_q² + (τ - τ̂(β))²/σ_τ²                                                                     (1)

Nothing is differentiated or filtered, so that noise in the motion causes no bias. The Gauss-Newton method starts from
the result of another estimator; all perturbed robots of a Jacobian are simulated as one batch, with perturbations of
one standard deviation per parameter."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from appell.errors import ArgumentError
from appell.identify.estimators.estimator import Estimate, Estimator, SolvingEstimator, iteration_range
from appell.identify.estimators.least_squares import LeastSquares
from appell.identify.estimators.task import FitTask, variance_inflation
from appell.identify.simulated_loop import SimulatedLoop

STEP_LENGTHS = np.array([1.0, 0.5, 0.25, 0.1])  # of the line search, simulated as one batch


class OutputError(SolvingEstimator):
    """Output-error estimator.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
    loop : SimulatedLoop
        The control loop to simulate; it must give one row per sample.
    start : Estimator, optional
        Estimator whose result is refined; by default `LeastSquares`.
    iterations : int
        Largest number of Gauss-Newton steps.
    **options
        Options of `Estimator`.
    """

    title: ClassVar[str] = "output error"

    def __init__(
        self, system, *, loop: SimulatedLoop | None = None, start: Estimator | None = None, iterations=4, **options
    ):
        super().__init__(system, **options)
        self.loop = loop
        self.start = start
        self.iterations = iterations

    def _solve(self, weighted):
        if self.loop is None:
            raise ArgumentError(
                "no loop to simulate is given.", hint="Use OutputError(system, loop=SimulatedLoop(...))."
            )
        task = weighted.task
        start = self._start(task)
        beta, spread = start.base_parameters_, np.maximum(start.std_, 1e-6 * np.abs(start.base_parameters_) + 1e-12)
        rest = self._rest(task, beta[None])[:, 0]
        sigma = np.maximum(np.sqrt(np.mean(rest**2, axis=0)), 1e-12)
        costs = [float(np.mean((rest / sigma) ** 2))]
        for _ in iteration_range(self.iterations):
            outputs = self._rest(task, np.vstack([beta, beta + np.diag(spread)])) / sigma
            J = (outputs[:, 1:] - outputs[:, :1]).transpose(0, 2, 1).reshape(-1, len(beta))
            step = np.linalg.lstsq(J, -outputs[:, 0].ravel(), rcond=1e-10)[0] * spread
            tried = np.mean((self._rest(task, beta + STEP_LENGTHS[:, None] * step) / sigma) ** 2, axis=(0, 2))
            best = int(np.argmin(tried))
            if tried[best] >= costs[-1]:
                break
            beta = beta + STEP_LENGTHS[best] * step
            costs.append(float(tried[best]))
            if costs[-2] - costs[-1] < 1e-5 * costs[-1]:
                break
        rest = self._rest(task, beta[None])[:, 0] / sigma
        return Estimate(weighted, beta, _sandwich(J, rest) * np.outer(spread, spread), about={"costs": costs})

    def _start(self, task: FitTask) -> Estimator:
        if self.start is not None and hasattr(self.start, "base_parameters_"):
            return self.start
        options = {name: getattr(self, name) for name in ("weighting", "dead_zone", "prior", "method", "threads")}
        samples, start = task.samples, self.start or LeastSquares(task.base.parameter_set, **options)
        return start.fit(*samples.motion, samples.tau)

    def _rest(self, task: FitTask, betas: np.ndarray) -> np.ndarray:
        """Return simulated minus recorded positions and torques, of shape (samples, len(betas), nq + nu)."""
        assert self.loop is not None
        samples = task.samples
        q, _, _, tau = self.loop.run(task.base, betas)
        if len(q) != len(samples):
            raise ArgumentError(
                f"the loop gives {len(q)} rows for {len(samples)} samples.",
                hint="Pass the steps of the samples: SimulatedLoop(..., rows=...).",
            )
        return np.concatenate([q - samples.q[:, None], tau - samples.tau[:, None]], axis=-1)


def _sandwich(J: np.ndarray, rest: np.ndarray) -> np.ndarray:
    """Return the covariance of the scaled parameters, with the long-run variance of every output."""
    variance = np.array([variance_inflation(column) for column in rest.T]) * np.mean(rest**2, axis=0)
    bread = np.linalg.pinv(J.T @ J)
    noisy = (J.reshape(*rest.shape, -1) * np.sqrt(variance)[:, None]).reshape(J.shape)
    return bread @ (noisy.T @ noisy) @ bread
