"""Base classes of the estimators: fit(q, v, a, tau), predict, score, and results whose names end in an underscore.

    samples ─▶ checked, known forces subtracted ─▶ weighted triangular factors ─▶ solution ─▶ attributes

A fit is this sequence; each stage is a value computed from the previous one, and only the last stage changes the
estimator. Subclasses define how the solution is computed.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import norm

from appell.errors import ArgumentError
from appell.identify.base.reduce import BaseParameters
from appell.identify.estimators.blas_threads import limit_blas_threads
from appell.identify.estimators.task import FitTask, WeightedTask, weight_task
from appell.identify.estimators.width import find_widths, needs_widths, with_widths
from appell.identify.parameter_set import ParameterSet, select_parameters
from appell.identify.samples import checked_samples, samples_of
from appell.motion.record import Record


@dataclass(frozen=True, eq=False)
class Estimate:
    """The solution of a fit: β, its covariance, and optionally full parameters and further results.

    Without `parameters`, the full parameters are those nearest to the prior with this β.
    """

    weighted: WeightedTask
    beta: np.ndarray
    covariance: np.ndarray
    parameters: np.ndarray | None = None
    about: Mapping[str, Any] = field(
        default_factory=dict
    )  # further results: name -> value, stored as the attribute name_
    bread: np.ndarray | None = None  # covariance without the uncertainty of the widths, if they were estimated


class Estimator(ABC):
    """Base class of the estimators: LeastSquares(load("puma"), friction=True).fit(q, v, a, tau).parameters_.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
        The system to identify, or its selected parameters.
    friction, rotor, width
        Parameters to estimate in addition to the inertial ones, as in `select_parameters`; not with a ParameterSet.
    weighting : "joint", None or array_like
        Weights of the joints: the inverse of the noise of each joint, equal weights, or one factor per joint.
    dead_zone : float or array_like
        Speed in rad/s or m/s, one number or one per actuator; slower samples of an actuator are left out, because
        friction changes sign there and noise in v has the largest effect.
    prior : full parameters to return where the data determine nothing; by default those of the description
    threads : number of threads that reduce the samples; by default the number of cores

    Attributes
    ----------
    parameters_, base_parameters_ : estimated full and base parameters, in SI units
    covariance_, std_ : covariance matrix and standard deviations of the base parameters
    block_covariance_ : ndarray
        Covariance matrix that includes the effect of errors of the model, from the gradients of blocks of the record.
    base_, parameter_set_
        The base parameters and the parameters that were estimated.
    samples_, rank_, condition_
        Number of samples, and rank and condition number of the weighted regressor with columns of unit length.
    """

    title: ClassVar[str] = ""  # name in reports
    base_: BaseParameters
    parameter_set_: ParameterSet
    parameters_: np.ndarray
    base_parameters_: np.ndarray
    covariance_: np.ndarray  # of the base parameters
    block_covariance_: np.ndarray
    samples_: int
    torque_power_: np.ndarray  # mean square of every torque, in (N m)² or N²
    rank_: int
    condition_: float

    def __init__(
        self, system, *, friction=(), rotor=False, width=None, weighting="joint", dead_zone=0.0, prior=None,
        threads=None,
    ):  # fmt: skip
        self.system = system
        self.friction = friction
        self.rotor = rotor
        self.width = width
        self.weighting = weighting
        self.dead_zone = dead_zone
        self.prior = prior
        self.threads = threads

    # ---- conventions of scikit-learn

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the options of the constructor by name."""
        names: list[str] = []
        for kind in type(self).__mro__[:-1]:
            names += [name for name in inspect.signature(kind).parameters if name not in ("self", "options")]
        return {name: getattr(self, name) for name in dict.fromkeys(names) if hasattr(self, name)}

    def set_params(self, **params) -> Self:
        """Change options of the constructor."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ArgumentError(f"{type(self).__name__} has no option '{name}'.", expected=", ".join(known))
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = {name: value for name, value in self.get_params().items() if name != "system" and value}
        options = "".join(f", {name}={value!r}" for name, value in changed.items() if not isinstance(value, np.ndarray))
        return f"{type(self).__name__}({self.described.system.name!r}{options})"

    # ---- fitting

    @abstractmethod
    def fit(self, q, v, a, tau) -> Self:
        """Estimate the parameters from arrays of samples; see `SolvingEstimator.fit`."""

    def fit_record(self, record: Record) -> Self:
        """Estimate the parameters from a record with columns q, v, a and tau for the names of the system."""
        samples = samples_of(record, self.described.system)
        return self.fit(*samples.motion, samples.tau)

    @property
    def described(self) -> ParameterSet:
        """The parameters to estimate, with their described values."""
        return select_parameters(self.system, friction=self.friction, rotor=self.rotor, width=self.width)

    def moving(self, q, v, parameter_set: ParameterSet | None = None) -> np.ndarray:
        """Return which joints are outside their dead zone, of shape (samples, joints)."""
        parameter_set = self.result("parameter_set_") if parameter_set is None else parameter_set
        return np.abs(parameter_set.rates(q, v)) >= np.asarray(self.dead_zone, float)

    def _prior(self, parameter_set: ParameterSet) -> np.ndarray:
        if self.prior is None:
            return parameter_set.nominal
        prior = np.asarray(self.prior, float)
        if prior.shape != parameter_set.nominal.shape:
            raise ArgumentError(
                f"prior has shape {prior.shape}.", expected=f"{len(parameter_set.nominal)} numbers, one per parameter"
            )
        return prior

    # ---- results

    @property
    def std_(self) -> np.ndarray:
        """Standard deviation of every base parameter."""
        return np.sqrt(np.maximum(np.diag(self.result("covariance_")), 0.0))

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """Return the confidence intervals of the base parameters at this level, of shape (count, 2)."""
        half = float(norm.ppf(0.5 + 0.5 * level)) * self.std_
        return np.stack([self.base_parameters_ - half, self.base_parameters_ + half], axis=-1)

    @limit_blas_threads
    def predict(self, q, v, a) -> np.ndarray:
        """Return the predicted actuator forces of a motion, of shape (..., nu), in N m or N."""
        beta = self.result("base_parameters_")
        return np.asarray(self.base_.regressor(q, v, a)) @ beta

    def errors(self, q, v, a, tau, *, after: Callable[[np.ndarray], np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """Return the prediction errors of every joint.

        Samples inside the dead zone are left out: while a joint sticks, its torque does not follow from its motion.

        Parameters
        ----------
        q, v, a, tau : of shapes (samples, nq), (samples, nv), (samples, nv) and (samples, nu)
        after : applied to the prediction, because it was applied to tau; for example a low-pass filter

        Returns
        -------
        dict of str to ndarray
            "rms" and "max", in N m or N; "relative", the RMS error relative to the range of tau; "r2"; and "counted",
            the fraction of samples outside the dead zone.
        """
        tau, moving = np.asarray(tau, float), self.moving(q, v)
        predicted = self.predict(q, v, a)
        rest = np.where(moving, tau - (predicted if after is None else after(predicted)), 0.0)
        count = np.maximum(moving.sum(axis=0), 1)
        centred = np.where(moving, tau - np.sum(tau * moving, axis=0) / count, 0.0)
        power = np.sum(rest**2, axis=0)
        rms = np.where(moving.any(axis=0), np.sqrt(power / count), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {
                "rms": rms,
                "max": np.abs(rest).max(axis=0),
                "relative": rms / np.ptp(tau, axis=0),
                "r2": 1.0 - power / np.sum(centred**2, axis=0),
                "counted": moving.mean(axis=0),
            }

    def score(self, q, v, a, tau) -> float:
        """Return R², averaged over the joints."""
        return float(np.mean(self.errors(q, v, a, tau)["r2"]))

    def result(self, name: str) -> Any:
        """Return a result of the fit by its name, such as "parameters_"; raise an error before the first fit."""
        if not hasattr(self, "base_parameters_"):
            raise ArgumentError(
                f"this {type(self).__name__} has not been fitted.", hint="Call fit(q, v, a, tau) first."
            )
        return getattr(self, name)


class SolvingEstimator(Estimator):
    """An estimator that solves for the base parameters of weighted samples; subclasses define `_solve`."""

    def fit(self, q, v, a, tau) -> Self:
        """Estimate the parameters from arrays of samples.

        Parameters
        ----------
        q : array_like, shape (samples, nq)
            Configurations.
        v, a : array_like, shape (samples, nv)
            Velocities and accelerations.
        tau : array_like, shape (samples, nu)
            Actuator forces, in N m or N.

        Returns
        -------
        self
            With the results as attributes: `parameters_`, `base_parameters_`, `covariance_` and others.

        Raises
        ------
        ArgumentError
            If shapes are wrong, values are not finite, or the samples do not determine the parameters.

        Examples
        --------
        >>> import numpy as np, appell as ap
        >>> arm = ap.load("planar-2r")
        >>> q, v, a = np.random.default_rng(0).normal(size=(3, 200, 2))
        >>> tau = ap.Dynamics(arm).inverse_dynamics(q, v, a)
        >>> fit = ap.identify.LeastSquares(arm).fit(q, v, a, tau)
        >>> bool(np.allclose(fit.base_parameters_, fit.base_.values()))
        True
        """
        return self._run(q, v, a, tau, self._solve)

    @limit_blas_threads
    def _run(self, q, v, a, tau, solve: Callable[[WeightedTask], Estimate]) -> Self:
        task = self._task(q, v, a, tau)
        self.torque_power_ = np.mean(np.asarray(tau, float) ** 2, axis=0)
        if not needs_widths(task.base):
            return self._keep(solve(weight_task(task, self.weighting)))
        widths = find_widths(task)
        task = replace(task, base=with_widths(task.base, widths.values))
        estimate = solve(weight_task(task, self.weighting))
        width_covariance = estimate.covariance @ widths.information @ estimate.covariance
        about = dict(estimate.about) | {"widths": widths.values, "width_bounds": widths.bounds}
        total = estimate.covariance + width_covariance
        return self._keep(replace(estimate, covariance=total, bread=estimate.covariance, about=about))

    def _task(self, q, v, a, tau) -> FitTask:
        parameter_set = self.described
        base = self._base(parameter_set)
        samples = checked_samples(parameter_set, q, v, a, tau, base.count)
        known = self._known_forces(parameter_set, *samples.motion)
        samples = samples if known is None else replace(samples, tau=samples.tau - known)
        moving = self.moving(samples.q, samples.v, parameter_set).astype(float) if np.any(self.dead_zone) else None
        return FitTask(base, samples, self._prior(parameter_set), moving, self.threads)

    def _base(self, parameter_set: ParameterSet) -> BaseParameters:
        return parameter_set.base

    def _known_forces(self, parameter_set: ParameterSet, q, v, a) -> np.ndarray | None:
        """Return actuator forces that are known and subtracted from tau; None by default."""
        return None

    @abstractmethod
    def _solve(self, weighted: WeightedTask) -> Estimate: ...

    def _keep(self, estimate: Estimate) -> Self:
        weighted, task = estimate.weighted, estimate.weighted.task
        R = weighted.triangular_factor[:-1, :-1]
        size = np.linalg.norm(R, axis=0)
        singular = np.linalg.svd(R / np.where(size > 0, size, 1.0), compute_uv=False)
        self.base_ = task.base
        self.parameter_set_ = task.base.parameter_set
        self.weights_ = weighted.weights
        self.inflation_ = weighted.inflation
        self.base_parameters_ = estimate.beta
        self.covariance_ = estimate.covariance
        bread = estimate.covariance if estimate.bread is None else estimate.bread
        self.block_covariance_ = weighted.block_covariance(estimate.beta, bread)
        self.rank_ = int(np.sum(singular > max(R.shape) * np.finfo(float).eps * singular[0]))
        self.condition_ = float(singular[0] / singular[-1]) if singular[-1] > 0 else np.inf
        self.residual_std_ = weighted.noise(estimate.beta)
        self.samples_ = len(task.samples)
        lifted = task.base.lift(estimate.beta, task.prior) if estimate.parameters is None else estimate.parameters
        self.parameters_ = lifted
        for name, value in estimate.about.items():
            setattr(self, f"{name}_", value)
        return self


def iteration_range(iterations) -> range:
    """Return the range 1, 2, ..., iterations."""
    if int(iterations) != iterations or iterations < 1:
        raise ArgumentError(f"iterations is {iterations}.", expected="an integer, at least 1")
    return range(1, int(iterations) + 1)
