"""Output error: the parameters whose simulated positions are closest to the measured ones.

Least squares compares forces along the measured motion. Here the motion itself is simulated from the measured torques,
in short segments with an initial state each, and its positions are compared with the record:

    min over β, d and all x₀      Σ (q - q̂)²/σ²          M a = τ(t + d) - h(q̂, v̂, β)                               (1)

The torques may be late by d, which is estimated too. Nothing is differentiated, so that noise of the positions causes
no bias. The derivatives S of the state by all unknowns are integrated with the motion. Forces are linear in β, so that
they follow from the regressor and from the derivatives of inverse dynamics f = Y β at the simulated acceleration:

    M ∂a/∂β = -Y(q, v, a)      M ∂a/∂d = τ̇      M ∂a/∂q = -∂f/∂q      M ∂a/∂v = -∂f/∂v                            (2)

The Runge-Kutta method applied to (2) gives the exact derivatives of its own result. All segments are one batch of the
compiled functions. σ of every joint is the root mean square of its residuals, which makes (1) the maximum of the
likelihood; Levenberg-Marquardt steps eliminate the initial states segment by segment.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar, NamedTuple, Protocol, Self

import numpy as np
from scipy.interpolate import CubicSpline

from appell.errors import ArgumentError, SimulationError
from appell.identify.estimators.estimator import Estimate, Estimator, SolvingEstimator, iteration_range
from appell.identify.estimators.task import FitTask, WeightedTask, solve_least_squares
from appell.identify.processing import STEP_TOLERANCE
from appell.identify.samples import samples_of
from appell.identify.simulated_loop import ParameterMotion
from appell.motion.measurement import GAP_RATIO
from appell.motion.record import Record

MIN_SEGMENT_SAMPLES = 8
MAX_SAMPLES = 20_000  # of longer records, evenly spaced segments are simulated
MAX_STEP_RATE = 1.0  # step times the fastest decay rate; the Runge-Kutta method is stable up to 2.8
MAX_SUBSTEPS = 16  # per sample
DAMPING = 10.0 ** np.arange(-6, 5)  # of Levenberg-Marquardt steps, relative to the diagonal
TOLERANCE = 1e-2  # change of the log-likelihood at which the iteration ends
COMMON_TOLERANCE = 1e-3  # the same per residual, while all joints have a common weight
NONE = np.zeros(())


class OutputError(SolvingEstimator):
    """Output-error estimator.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
        As many actuators as coordinates.
    segment : float
        Length of the simulated segments in s. Longer segments determine the parameters better, shorter ones tolerate
        unstable motions and torque noise.
    delay : whether to estimate the time by which the torques are late
    start : estimator whose result is refined, fitted or not; by default weighted least squares
    iterations : int
        Largest number of Levenberg-Marquardt steps, first with a common weight of all joints and then with their own.
    **options
        Options of `Estimator`.

    Attributes
    ----------
    delay_, delay_std_ : estimated delay of the torques and its standard deviation, in s
    position_errors_ : ndarray, shape (nq,)
        Root mean square of measured minus simulated positions, in rad or m.
    log_likelihoods_ : logarithm of the likelihood before every step and at the end, without constants
    """

    title: ClassVar[str] = "output error"

    def __init__(
        self, system, *, segment=0.3, delay=True, start: Estimator | None = None, iterations=20, **options
    ):  # fmt: skip
        super().__init__(system, **options)
        self.segment = segment
        self.delay = delay
        self.start = start
        self.iterations = iterations

    def fit(self, q, v, a, tau, t=None) -> Self:
        """Estimate the parameters from arrays of samples at times t, of shape (samples,), in s.

        q, v, a and tau are those of `SolvingEstimator.fit`. v and a are used for the start only. The steps of t must be
        even, except for gaps, which no segment crosses.
        """
        if t is None:
            raise ArgumentError("the times of the samples are missing.", hint="Pass t, or use fit_record(record).")
        return self._run(q, v, a, tau, partial(self._solve, t=np.asarray(t, float)))

    def fit_record(self, record: Record) -> Self:
        """Estimate the parameters from a record with columns q, v, a and tau for the names of the system."""
        samples = samples_of(record, self.described.system)
        noise = record.about.get("noise", {}).get("q", 0.0)
        return self._run(*samples.motion, samples.tau, partial(self._solve, t=record.t, noise=np.asarray(noise)))

    def _solve(self, weighted: WeightedTask, t: np.ndarray = NONE, noise: np.ndarray = NONE) -> Estimate:
        task, count = weighted.task, weighted.task.base.count
        segments = Segments(
            partial(ParameterMotion, task.base), task.samples.q, task.samples.v, task.samples.tau, t, self.segment
        )
        x, states = self._first(weighted, segments)
        x, residuals, normal, logs = maximise(segments, x, states, bool(self.delay), self.iterations)
        covariance = normal.covariance(residuals, noise)
        about = {
            "delay": float(x[-1]),
            "delay_std": float(np.sqrt(covariance[-1, -1])) if self.delay else 0.0,
            "position_errors": _scales(residuals),
            "log_likelihoods": [*logs, _log_likelihood(residuals)],
        }
        return Estimate(weighted, x[:count], covariance[:count, :count], about=about)

    def _first(self, weighted: WeightedTask, segments: Segments) -> tuple[np.ndarray, np.ndarray]:
        """Return β with a delay of zero, and the initial states: of the start, or of the description otherwise."""
        task = weighted.task
        if self.start is None:
            starts = [solve_least_squares(weighted.triangular_factor)[0], task.base.values(task.prior)]
        else:
            starts = [_fitted(self.start, task).base_parameters_]
        for beta in starts:
            x = np.append(beta, 0.0)
            rates = ParameterMotion(task.base, beta).partials(segments.q, segments.v, np.zeros_like(segments.v))[1]
            segments.choose_substeps(float(np.abs(rates).sum(axis=-1).max()))
            if np.isfinite(_log_likelihood(segments.residuals(x, segments.states))):
                return x, segments.states
        raise SimulationError(
            "the motion that the first estimate gives diverges.",
            hint="Pass start=identify.PhysicallyConsistent(...), or shorten the segments: OutputError(segment=0.1).",
        )


def _fitted(start: Estimator, task: FitTask) -> Estimator:
    if hasattr(start, "base_parameters_"):
        return start
    return start.fit(*task.samples.motion, task.samples.tau)


class Maximum(NamedTuple):
    """The most likely unknowns, their residuals and normal equations, and the log-likelihoods before every step."""

    x: np.ndarray
    residuals: np.ndarray
    normal: NormalEquations
    logs: list[float]


def maximise(segments: Segments, x: np.ndarray, states: np.ndarray, delay: bool, iterations: int) -> Maximum:
    """Maximise the likelihood (1) from a first estimate, by Levenberg-Marquardt steps."""
    residuals, logs = segments.residuals(x, states), []
    # far from the solution, weights from the residuals would favour joints that happen to fit
    for spread, tolerance in ((segments.spread, COMMON_TOLERANCE * residuals.size), (None, TOLERANCE)):
        for _ in iteration_range(iterations):
            logs.append(_log_likelihood(residuals))
            before = _log_likelihood(residuals, spread)
            normal = segments.linearise(x, states, residuals, delay, spread)
            for damping in DAMPING:
                dx, dstates = normal.step(damping)
                tried = x + dx, states + dstates
                after = segments.residuals(*tried)
                if (better := _log_likelihood(after, spread)) > before:
                    (x, states), residuals = tried, after
                    break
            if not better > before + tolerance:
                break
    return Maximum(x, residuals, normal, logs)


class SimulatedMotion(Protocol):
    """Equations of motion for given parameters."""

    def slope(self, X: np.ndarray, tau: np.ndarray, tau_rate: np.ndarray) -> np.ndarray:
        """Return the derivative by time of the state and of its derivatives; see `ParameterMotion.slope`."""


class Segments:
    """Parts of a record that are simulated as one batch; arrays have the shape (segments, samples, joints).

    Parameters
    ----------
    motion : returns the equations of motion for the parameters
    q, v, tau : ndarray, shape (samples, joints)
        Positions, velocities and torques.
    t : ndarray, shape (samples,)
        Times with even steps, except for gaps, in s.
    length : length of a segment in s
    """

    def __init__(
        self,
        motion: Callable[[np.ndarray], SimulatedMotion],
        q: np.ndarray,
        v: np.ndarray,
        tau: np.ndarray,
        t: np.ndarray,
        length: float,
    ):
        if t.shape != (len(q),):
            raise ArgumentError(f"t has shape {t.shape}.", expected=f"({len(q)},), one time per sample")
        self.motion, self.step = motion, float(np.median(np.diff(t)))
        if not (self.step > 0.0 and length >= MIN_SEGMENT_SAMPLES * self.step):
            raise ArgumentError(
                f"the segments are {length:g} s long, and the samples are {self.step:g} s apart.",
                expected=f"increasing times and segments of at least {MIN_SEGMENT_SAMPLES} samples",
            )
        steps, size = np.diff(t), int(length / self.step)
        gaps = np.flatnonzero(steps > GAP_RATIO * self.step) + 1
        if np.any(np.abs(np.delete(steps, gaps - 1) - self.step) > STEP_TOLERANCE * self.step):
            raise ArgumentError(
                f"the steps of t are uneven: from {steps.min():g} to {steps.max():g} s.",
                hint="Resample the record with identify.process(record).",
            )
        runs = zip([0, *gaps], [*gaps, len(t)], strict=True)
        first = [k for start, stop in runs for k in range(start, stop - size + 1, size)]
        if not first:
            raise ArgumentError(f"the record has no run of {length:g} s without gaps.", hint="Shorten the segments.")
        used = np.unique(np.linspace(0, len(first) - 1, min(len(first), max(1, MAX_SAMPLES // size))).astype(int))
        rows = np.array(first)[used, None] + np.arange(size)
        self.t, self.q, self.v = t[rows], q[rows], v[rows]
        self.states = np.concatenate([self.q[:, 0], self.v[:, 0]], axis=-1)
        self.spread = np.maximum(np.std(q, axis=0), 1e-9)
        self.torque = CubicSpline(t, tau)
        self.substeps = 1

    def choose_substeps(self, fastest: float) -> None:
        """Choose the number of steps per sample from the fastest rate of decay or angular frequency, 1/s."""
        self.substeps = int(np.clip(np.ceil(self.step * fastest / MAX_STEP_RATE), 1, MAX_SUBSTEPS))

    def residuals(self, x: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return simulated minus measured positions for β and delay x and initial states (segments, 2 nv)."""
        return self._run(x, states[..., None])[..., 0] - self.q

    def linearise(
        self, x: np.ndarray, states: np.ndarray, residuals: np.ndarray, delay: bool, spread=None
    ) -> NormalEquations:
        """Return the normal equations with the weights of `_scales`, without the delay if it is not estimated."""
        count, size = len(x), states.shape[-1]
        unit = np.zeros((len(states), size, count + size))
        unit[..., count:] = np.eye(size)
        J = self._run(x, np.concatenate([states[..., None], unit], axis=-1))[..., 1:]
        if not delay:
            J[..., count - 1] = 0.0
        sigma = _scales(residuals, spread)
        return NormalEquations(J / sigma[:, None], residuals / sigma, count)

    def _run(self, x: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return the rows of q of all samples; `columns` are the initial states and, if any, their derivatives by x₀.

        Parameters
        ----------
        x : β and the delay
        columns : ndarray, shape (segments, 2 nv, 1 or 1 + unknowns)
        """
        motion, n, h = self.motion(x[:-1]), self.q.shape[-1], self.step / self.substeps
        times = self.t[:, :1] + 0.5 * h * np.arange(2 * self.substeps * (self.t.shape[1] - 1) + 1) + x[-1]
        torque, rate = self.torque(times), self.torque(times, 1)

        def slope(X: np.ndarray, k: int) -> np.ndarray:
            return motion.slope(X, torque[:, k], rate[:, k])

        rows = [columns[:, :n]]
        with np.errstate(all="ignore"):
            for k in range(0, times.shape[1] - 1, 2):
                k1 = slope(columns, k)
                k2 = slope(columns + 0.5 * h * k1, k + 1)
                k3 = slope(columns + 0.5 * h * k2, k + 1)
                k4 = slope(columns + h * k3, k + 2)
                columns = columns + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
                if (k // 2 + 1) % self.substeps == 0:
                    rows.append(columns[:, :n])
        return np.stack(rows, axis=1)


class NormalEquations:
    """Σ Jᵀ J of all segments, with the initial states eliminated; the columns of J are x and the states."""

    def __init__(self, J: np.ndarray, residuals: np.ndarray, count: int):
        self.shape, self.count = residuals.shape, count
        flat = J.reshape(len(J), -1, J.shape[-1])
        self.of_x, self.of_states, self.errors = flat[..., :count], flat[..., count:], residuals.reshape(len(J), -1, 1)

    def step(self, damping: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the changes of x and of the initial states."""
        reduced, back = self._eliminated(damping)
        H, g = np.einsum("skx,sky->xy", self.of_x, reduced), np.einsum("skx,sk->x", reduced, self.errors[..., 0])
        scale = np.sqrt(np.einsum("skx,skx->x", self.of_x, self.of_x))
        scale = np.where(scale > 0.0, scale, 1.0)
        inverse = np.linalg.pinv(H / np.outer(scale, scale) + damping * np.eye(len(g)), rcond=1e-13, hermitian=True)
        dx = -(inverse @ (g / scale)) / scale
        return dx, -(back[..., -1] + back[..., :-1] @ dx)

    def covariance(self, residuals: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return the covariance of x.

        The variance of a joint is at least that of the white noise that its positions had before they were filtered.
        Correlated errors, such as those that noise of the torques causes, increase the gradients g of the segments:
        the variance is multiplied by Σ gᵀ B g relative to its value for independent errors, B their covariance of x.
        """
        reduced, sigma, count = self._eliminated(0.0)[0], _scales(residuals), len(residuals)
        scale = np.sqrt(np.einsum("skx,skx->x", reduced, reduced))
        inverse = np.where(scale > 0.0, 1.0 / np.where(scale > 0.0, scale, 1.0), 0.0)
        J = (reduced * inverse).reshape(*self.shape, -1)
        information = np.einsum("slnx,slny->nxy", J, J, optimize=True)
        bread = np.linalg.pinv(information.sum(axis=0), rcond=1e-13, hermitian=True)
        g = np.einsum("slnx,sln->snx", J, residuals / sigma, optimize=True)
        spread = np.einsum("snx,xy,sny->n", g, bread, g, optimize=True) * count / max(1, count - 1)
        variance = np.maximum(spread / np.einsum("nxy,xy->n", information, bread), (noise / sigma) ** 2)
        free = max(1, residuals.size - self.count - self.of_states.shape[-1] * count)
        meat = np.einsum("nxy,n->xy", information, np.maximum(variance, 1.0)) * (residuals.size / free)
        return bread @ meat @ bread * np.outer(inverse, inverse)

    def _eliminated(self, damping: float) -> tuple[np.ndarray, np.ndarray]:
        """Return J by x without its part in the columns of the states, and the states' coefficients of (J, errors)."""
        H = np.swapaxes(self.of_states, -1, -2) @ self.of_states
        H = H + damping * np.einsum("sii,ij->sij", H, np.eye(H.shape[-1]))
        both = np.concatenate([self.of_x, self.errors], axis=-1)
        back = np.linalg.solve(H, np.swapaxes(self.of_states, -1, -2) @ both)
        return self.of_x - self.of_states @ back[..., :-1], back


def _scales(residuals: np.ndarray, spread: np.ndarray | None = None) -> np.ndarray:
    """Return the root mean square of every joint's residuals, or one multiple of `spread` for all joints."""
    if spread is not None:
        return spread * np.sqrt(np.mean((residuals / spread) ** 2))
    return np.maximum(np.sqrt(np.mean(residuals**2, axis=(0, 1))), 1e-13)


def _log_likelihood(residuals: np.ndarray, spread: np.ndarray | None = None) -> float:
    """Return the logarithm of the likelihood with the noise that the residuals show; -inf for a diverged motion."""
    with np.errstate(all="ignore"):
        value = -residuals[..., 0].size * np.sum(np.log(_scales(residuals, spread)))
    return float(value) if np.isfinite(value) else -np.inf
