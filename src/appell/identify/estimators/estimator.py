"""What all estimators share: fit(q, v, a, tau), predict, score, and results that end in an underscore.

A fit is a least-squares problem in base parameters, reduced to one triangle a joint (see `stream`). Joints are
weighted with the inverse of their own noise, which a first, unweighted fit tells. Noise that lasts over several
samples, as all filtered noise does, is counted with its long-run variance,

    σ² (1 + 2 Σₖ ρₖ)          ρₖ the autocorrelation of the residuals of one joint at lag k                          (1)

so that the standard deviations do not take a thousand samples of the same error for a thousand errors.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import norm

from appell.compile.function import Function
from appell.errors import ArgumentError
from appell.identify.base.base import BaseParameters, base_parameters
from appell.identify.estimators.calm import calm
from appell.identify.estimators.stream import Triangles, triangles
from appell.identify.model import Model, as_model
from appell.identify.samples import Samples, check

WINDOW = 0.1  # of a record, the longest lag in (1)
ENOUGH = 200_000  # samples that (1) looks at


class Estimator(ABC):
    """A way to find parameters; subclasses say how in `_solve`.

    `robot` is a Robot, a mechanism or a Model. `friction`, `rotor` and `width` are those of Model. `weighting` is
    "joint", None for equal weights, or one factor a joint. Rows of a joint slower than `dead_zone` (a number, or
    one a joint) are left out: where friction changes sign, noise in v does most harm. `prior` are full parameters
    to return where the data say nothing; by default those of the robot's description."""

    title: ClassVar[str] = ""

    def __init__(
        self, robot, *, friction=(), rotor=False, width=0.0, weighting="joint", dead_zone=0.0, prior=None, method="qr",
        threads=None,
    ):  # fmt: skip
        self.robot = robot
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
        changed = {name: value for name, value in self.get_params().items() if name != "robot" and value}
        options = "".join(f", {name}={value!r}" for name, value in changed.items() if not isinstance(value, np.ndarray))
        return f"{type(self).__name__}({self._model().name!r}{options})"

    # ---- fitting

    def fit(self, q, v, a, tau) -> Self:
        """Find the parameters from (samples, joints) arrays."""
        self._prepare(check(self._model(), q, v, a, tau, self._unknowns()))
        return self

    def _model(self) -> Model:
        if isinstance(self.robot, Model):
            return self.robot
        key = (id(self.robot), self.friction, self.rotor, self.width)
        if getattr(self, "_made", (None,))[0] != key:
            model = as_model(self.robot, friction=self.friction, rotor=self.rotor, width=self.width)
            self._made: tuple[Any, Model] = (key, model)
        return self._made[1]

    def _unknowns(self) -> int:
        self.base_ = self._base()
        return self.base_.count

    def _base(self) -> BaseParameters:
        return base_parameters(self._model())

    @calm
    def _prepare(self, samples: Samples) -> None:
        model = self.model_ = self.base_.model
        self.regressor_ = model.regressor.columns(self.base_.columns)
        reduced = self._reduce(samples, self._offset(samples))
        self._weigh(samples, reduced)
        beta, covariance = self._solve(reduced, samples)
        self._keep(beta, covariance, reduced, samples)

    def _reduce(self, samples: Samples, offset, weights=None) -> Triangles:
        tau = samples.tau if offset is None else samples.tau - offset
        moving = self._moving(samples)
        factors = weights
        if moving is not None:
            factors = (
                (lambda span: moving[span] * weights(span)) if weights is not None else (lambda span: moving[span])
            )
        return triangles(
            self.regressor_, samples.motion, tau, method=self.method, threads=self.threads, weights=factors
        )

    def _moving(self, samples: Samples) -> np.ndarray | None:
        """1 where a joint is outside its dead zone, 0 inside; None if it has none."""
        if not np.any(self.dead_zone):
            return None
        return (np.abs(samples.v) >= np.asarray(self.dead_zone, float)).astype(float)

    def _offset(self, samples: Samples) -> np.ndarray | None:
        """Joint forces that are known beforehand; none as a rule."""
        return None

    def _weigh(self, samples: Samples, reduced: Triangles) -> None:
        """The weight of every joint, one over its noise, and the growth of the noise by (1)."""
        nv = self.model_.nv
        self.inflation_ = np.ones(nv)
        if self.weighting is None:
            self.weights_ = np.ones(nv)
            beta = solve_triangle(reduced.weighted(self.weights_))[0]
        elif isinstance(self.weighting, str):
            if self.weighting != "joint":
                raise ArgumentError(f"weighting is '{self.weighting}'.", expected="'joint', None, or a factor a joint")
            self.weights_ = 1.0 / _scale(reduced)
            for _ in range(3):
                beta = solve_triangle(reduced.weighted(self.weights_))[0]
                self.weights_ = 1.0 / self._noise(beta, reduced)
        else:
            self.weights_ = np.broadcast_to(np.asarray(self.weighting, float), (nv,)).copy()
            if not np.all(self.weights_ > 0.0):
                raise ArgumentError(f"the weights are {self.weights_}.", expected="positive factors, one a joint")
            beta = solve_triangle(reduced.weighted(self.weights_))[0]
        self.inflation_ = self._long_run(beta, samples)

    def _noise(self, beta: np.ndarray, reduced: Triangles) -> np.ndarray:
        """Standard deviation of every joint's residuals, never below what rounding leaves."""
        share = self.base_.count / self.model_.nv
        sigma = reduced.residual_norms(beta) / np.sqrt(np.maximum(reduced.rows - share, 1.0))
        return np.maximum(sigma, 1e-13 * _scale(reduced))

    def _long_run(self, beta: np.ndarray, samples: Samples) -> np.ndarray:
        """(1) for every joint, at least 1; lags are summed up to where the autocorrelation has died away."""
        some = samples.part(slice(0, ENOUGH))
        errors = some.tau - self.regressor_(*some.motion) @ beta
        offset = self._offset(some)
        errors = errors if offset is None else errors - offset
        moving = self._moving(some)
        errors = errors if moving is None else errors * moving
        return np.array([growth(column) for column in errors.T])

    @abstractmethod
    def _solve(self, reduced: Triangles, samples: Samples) -> tuple[np.ndarray, np.ndarray]:
        """β and its covariance."""

    def _covariance(self, reduced: Triangles, beta: np.ndarray) -> np.ndarray:
        """(Σ_j Y_jᵀY_j / σ_j²)⁻¹ with the noise of (1), put around the weights that were used."""
        sigma = self._noise(beta, reduced)
        R = reduced.weighted(self.weights_)[:-1, :-1]
        inverse = np.linalg.pinv(R, rcond=1e-14)
        middle = np.einsum("jka,jkb->ab", *(self._true_rows(reduced, sigma),) * 2)
        bread = inverse @ inverse.T
        return bread @ middle @ bread

    def _true_rows(self, reduced: Triangles, sigma: np.ndarray) -> np.ndarray:
        factor = self.weights_**2 * sigma * np.sqrt(self.inflation_)
        return reduced.R[:, :, :-1] * factor[:, None, None]

    def _keep(self, beta: np.ndarray, covariance: np.ndarray, reduced: Triangles, samples: Samples) -> None:
        R = reduced.weighted(self.weights_)[:-1, :-1]
        size = np.linalg.norm(R, axis=0)
        singular = np.linalg.svd(R / np.where(size > 0, size, 1.0), compute_uv=False)
        self.base_parameters_ = beta
        self.covariance_ = covariance
        self.rank_ = int(np.sum(singular > max(R.shape) * np.finfo(float).eps * singular[0]))
        self.condition_ = float(singular[0] / singular[-1]) if singular[-1] > 0 else np.inf
        self.residual_std_ = self._noise(beta, reduced)
        self.samples_ = len(samples)
        self.parameters_ = self._lift(beta)

    def _lift(self, beta: np.ndarray) -> np.ndarray:
        return self.base_.lift(beta, self._known())

    def _known(self) -> np.ndarray:
        """The full parameters to return where the data say nothing."""
        if self.prior is None:
            return self.model_.nominal
        prior = np.asarray(self.prior, float)
        if prior.shape != (len(self.model_.columns),):
            raise ArgumentError(
                f"prior has shape {prior.shape}.", expected=f"{len(self.model_.columns)} numbers, one a parameter"
            )
        return prior

    # ---- results

    @property
    def std_(self) -> np.ndarray:
        """Standard deviation of every base parameter."""
        return np.sqrt(np.maximum(np.diag(self._fitted("covariance_")), 0.0))

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """(count, 2): where each base parameter lies with this probability."""
        reach = float(norm.ppf(0.5 + 0.5 * level)) * self.std_
        return np.stack([self.base_parameters_ - reach, self.base_parameters_ + reach], axis=-1)

    @calm
    def predict(self, q, v, a) -> np.ndarray:
        """Joint forces of a motion."""
        beta = self._fitted("base_parameters_")
        return np.asarray(self.regressor_(q, v, a)) @ beta

    def errors(self, q, v, a, tau) -> dict[str, np.ndarray]:
        """For every joint: rms and largest error, rms relative to the range of tau, and R²."""
        tau = np.asarray(tau, float)
        rest = tau - self.predict(q, v, a)
        rms, span = np.sqrt(np.mean(rest**2, axis=0)), np.ptp(tau, axis=0)
        spread = np.sum((tau - tau.mean(axis=0)) ** 2, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return {
                "rms": rms,
                "max": np.abs(rest).max(axis=0),
                "relative": rms / span,
                "r2": 1.0 - np.sum(rest**2, axis=0) / spread,
            }

    def score(self, q, v, a, tau) -> float:
        """R², the mean over the joints."""
        return float(np.mean(self.errors(q, v, a, tau)["r2"]))

    def _fitted(self, name: str):
        if not hasattr(self, "base_parameters_"):
            raise ArgumentError(f"this {type(self).__name__} has not been fitted.", hint="fit(q, v, a, tau) first")
        return getattr(self, name)

    @property
    def regressor(self) -> Function:
        return self._fitted("regressor_")


def solve_triangle(R: np.ndarray, rcond: float = 1e-13) -> tuple[np.ndarray, int]:
    """The β that minimises ‖R (β, -1)‖, of least length if there are many, and the rank; columns scaled."""
    size = np.linalg.norm(R[:, :-1], axis=0)
    size = np.where(size > 0.0, size, 1.0)
    U, s, Vt = np.linalg.svd(R[:-1, :-1] / size)
    keep = s > rcond * s[0]
    coefficients = np.where(keep, (U.T @ R[:-1, -1]) / np.where(keep, s, 1.0), 0.0)
    return (Vt.T @ coefficients) / size, int(keep.sum())


def _scale(reduced: Triangles) -> np.ndarray:
    """The root mean square of every joint's tau."""
    size = np.linalg.norm(reduced.R[:, :, -1], axis=-1) / np.sqrt(np.maximum(reduced.rows, 1))
    return np.where(size > 0.0, size, max(float(size.max()), 1e-300))


def growth(errors: np.ndarray) -> float:
    """(1), by Sokal's rule: the sum stops at five times itself."""
    count = len(errors)
    centred = errors - errors.mean()
    power = np.abs(np.fft.rfft(centred, 2 * count)) ** 2
    correlation = np.fft.irfft(power)[: max(2, int(WINDOW * count))]
    if correlation[0] <= 0.0:
        return 1.0
    sums = 2.0 * np.cumsum(correlation / correlation[0]) - 1.0
    enough = np.flatnonzero(np.arange(len(sums)) >= 5.0 * sums)
    return float(max(1.0, sums[enough[0] if len(enough) else -1]))
