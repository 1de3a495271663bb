"""What all estimators share: fit(q, v, a, tau), predict, score, and results that end in an underscore.

    samples ─▶ checked, what is known taken off ─▶ weighed triangles ─▶ solved ─▶ kept

A fit is this sequence; each step is a value made of the one before it, and only the last changes the estimator. What a
kind of estimator adds is how it solves.
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
from appell.identify.estimators.one_thread import calm
from appell.identify.estimators.task import FitTask, Weighed, weigh
from appell.identify.estimators.width import find_widths, looks_for_width, with_widths
from appell.identify.samples import checked, columns_of
from appell.identify.sought import Sought, seek
from appell.motion.record import Record


@dataclass(frozen=True, eq=False)
class Estimate:
    """β, its covariance, full parameters if they are not simply lifted from β, and what else is worth keeping."""

    weighed: Weighed
    beta: np.ndarray
    covariance: np.ndarray
    parameters: np.ndarray | None = None
    about: Mapping[str, Any] = field(default_factory=dict)  # name -> value, kept as name_


class Estimator(ABC):
    """A way to find parameters: LeastSquares(load("puma"), friction=True).fit(q, v, a, tau).parameters_.

    `system` is a robot, a mechanism, or what `seek` makes of one, with `friction`, `rotor` and `width`. `weighting` is
    "joint", None for equal weights, or one factor a joint. Rows of a joint slower than `dead_zone` (a number, or
    one a joint) are left out: where friction changes sign, noise in v does most harm. `prior` are full parameters
    to return where the data say nothing; by default those of the description.
    """

    title: ClassVar[str] = ""
    base_: BaseParameters  # results, there once it is fitted
    sought_: Sought
    parameters_: np.ndarray
    base_parameters_: np.ndarray
    covariance_: np.ndarray  # of the base parameters
    samples_: int
    rank_: int
    condition_: float

    def __init__(
        self, system, *, friction=(), rotor=False, width=None, weighting="joint", dead_zone=0.0, prior=None,
        method="qr", threads=None,
    ):  # fmt: skip
        self.system = system
        self.friction = friction
        self.rotor = rotor
        self.width = width
        self.weighting = weighting
        self.dead_zone = dead_zone
        self.prior = prior
        self.method = method
        self.threads = threads

    # ---- scikit-learn's manners

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        names: list[str] = []
        for kind in type(self).__mro__[:-1]:
            names += [name for name in inspect.signature(kind).parameters if name not in ("self", "options")]
        return {name: getattr(self, name) for name in dict.fromkeys(names) if hasattr(self, name)}

    def set_params(self, **params) -> Self:
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
        """Find the parameters from arrays (samples, n)."""

    def fit_record(self, record: Record) -> Self:
        """Find the parameters from a record with q, v, a and tau, by the system's names."""
        found = columns_of(record, self.described.system)
        return self.fit(*found.motion, found.tau)

    @property
    def described(self) -> Sought:
        """What is sought, as it stands before any fit."""
        return seek(self.system, friction=self.friction, rotor=self.rotor, width=self.width)

    def _moving(self, sought: Sought, q, v) -> np.ndarray:
        """Which joints are outside their dead zone, sample by sample."""
        return np.abs(sought.rates(q, v)) >= np.asarray(self.dead_zone, float)

    def _prior(self, sought: Sought) -> np.ndarray:
        if self.prior is None:
            return sought.nominal
        prior = np.asarray(self.prior, float)
        if prior.shape != sought.nominal.shape:
            raise ArgumentError(
                f"prior has shape {prior.shape}.", expected=f"{len(sought.nominal)} numbers, one a parameter"
            )
        return prior

    # ---- results

    @property
    def std_(self) -> np.ndarray:
        """Standard deviation of every base parameter."""
        return np.sqrt(np.maximum(np.diag(self.result("covariance_")), 0.0))

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """(count, 2): where each base parameter lies with this probability."""
        reach = float(norm.ppf(0.5 + 0.5 * level)) * self.std_
        return np.stack([self.base_parameters_ - reach, self.base_parameters_ + reach], axis=-1)

    @calm
    def predict(self, q, v, a) -> np.ndarray:
        """Actuator forces of a motion."""
        beta = self.result("base_parameters_")
        return np.asarray(self.base_.regressor(q, v, a)) @ beta

    def errors(self, q, v, a, tau, *, after: Callable[[np.ndarray], np.ndarray] | None = None) -> dict[str, np.ndarray]:
        """A joint: rms and largest error, rms relative to the range of tau, R², and the share of rows that counted.

        Rows inside the dead zone do not: while a joint sticks, its torque is not told by its motion. `after` is what
        is done to the prediction because it was done to tau, such as a low-pass.
        """
        tau, moving = np.asarray(tau, float), self._moving(self.result("sought_"), q, v)
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
        """R², the mean over the joints."""
        return float(np.mean(self.errors(q, v, a, tau)["r2"]))

    def result(self, name: str) -> Any:
        """A result of the fit, or an error if there was none."""
        if not hasattr(self, "base_parameters_"):
            raise ArgumentError(f"this {type(self).__name__} has not been fitted.", hint="fit(q, v, a, tau) first")
        return getattr(self, name)


class SolvingEstimator(Estimator):
    """An estimator that solves for the parameters of weighed samples; what a kind of it adds is how."""

    def fit(self, q, v, a, tau) -> Self:
        """Find the parameters from arrays (samples, n)."""
        return self._run(q, v, a, tau, self._solve)

    @calm
    def _run(self, q, v, a, tau, solve: Callable[[Weighed], Estimate]) -> Self:
        weighed = weigh(self._task(q, v, a, tau), self.weighting)
        if not looks_for_width(weighed.task.base):
            return self._keep(solve(weighed))
        widths = find_widths(weighed)
        task = replace(weighed.task, base=with_widths(weighed.task.base, widths.values))
        estimate = solve(weigh(task, self.weighting))
        open_ = estimate.covariance @ widths.doubt @ estimate.covariance
        about = dict(estimate.about) | {"widths": widths.values, "width_bounds": widths.bounds}
        return self._keep(replace(estimate, covariance=estimate.covariance + open_, about=about))

    def _task(self, q, v, a, tau) -> FitTask:
        sought = self.described
        base = self._base(sought)
        samples = checked(sought, q, v, a, tau, base.count)
        known = self._known_forces(sought, *samples.motion)
        samples = samples if known is None else replace(samples, tau=samples.tau - known)
        moving = self._moving(sought, samples.q, samples.v).astype(float) if np.any(self.dead_zone) else None
        return FitTask(base, samples, self._prior(sought), moving, self.method, self.threads)

    def _base(self, sought: Sought) -> BaseParameters:
        return sought.base

    def _known_forces(self, sought: Sought, q, v, a) -> np.ndarray | None:
        """Forces that are known beforehand; none as a rule."""
        return None

    @abstractmethod
    def _solve(self, weighed: Weighed) -> Estimate: ...

    def _keep(self, estimate: Estimate) -> Self:
        weighed, task = estimate.weighed, estimate.weighed.task
        R = weighed.triangle[:-1, :-1]
        size = np.linalg.norm(R, axis=0)
        singular = np.linalg.svd(R / np.where(size > 0, size, 1.0), compute_uv=False)
        self.base_ = task.base
        self.sought_ = task.base.sought
        self.weights_ = weighed.weights
        self.inflation_ = weighed.inflation
        self.base_parameters_ = estimate.beta
        self.covariance_ = estimate.covariance
        self.rank_ = int(np.sum(singular > max(R.shape) * np.finfo(float).eps * singular[0]))
        self.condition_ = float(singular[0] / singular[-1]) if singular[-1] > 0 else np.inf
        self.residual_std_ = weighed.noise(estimate.beta)
        self.samples_ = len(task.samples)
        lifted = task.base.lift(estimate.beta, task.prior) if estimate.parameters is None else estimate.parameters
        self.parameters_ = lifted
        for name, value in estimate.about.items():
            setattr(self, f"{name}_", value)
        return self


def rounds(iterations) -> range:
    """1, 2, ... iterations, at least one."""
    if int(iterations) != iterations or iterations < 1:
        raise ArgumentError(f"iterations is {iterations}.", expected="a whole number from 1")
    return range(1, int(iterations) + 1)
