"""Exciting motions: the Fourier series along which the parameters show best.

    q(t) = q₀ + Σₖ  aₖ/(kω) sin kωt - bₖ/(kω) cos kωt          Σₖ aₖ = 0,  Σₖ k bₖ = 0                               (1)

starts and ends at rest, without acceleration. The coefficients minimise one of

    condition   log σ_max/σ_min of the base regressor stacked over the motion                                     (2)
    logdet      -Σ log σ, the volume of what noise leaves uncertain                                               (3)

under limits on q, v, a, τ and places (see `bounds`). With Y = Σ σ u wᵀ, the derivative of (2) by Y is u₁w₁ᵀ/σ₁ -
u_nw_nᵀ/σ_n and of (3) -Y (YᵀY)⁻¹. One compiled function, the gradient of G·Y(q, v, a) for any G, carries both,
and that of τ = Yβ, on to the motion, from where (1) is linear. SciPy's SLSQP does the rest, (3) first as its
landscape is smoother."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import null_space
from scipy.optimize import minimize

from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.identify.base.base import BaseParameters, base_parameters
from appell.identify.estimators.calm import calm
from appell.identify.excite.bounds import Bounds, envelope
from appell.identify.model import Model, as_model
from appell.motion.path import Path
from appell.motion.paths.fourier import Fourier
from appell.motion.paths.spline import Spline

CRITERIA = ("condition", "logdet")
Gradient = tuple[np.ndarray, np.ndarray, np.ndarray]  # by q, v and a at every instant


@dataclass(frozen=True, eq=False)
class Excitation:
    """An exciting motion and what it is worth."""

    trajectory: Path
    condition: float  # of the base regressor along it, joints weighted with the torques they bear
    logdet: float
    load: dict[str, np.ndarray]  # the largest share of every limit that each joint uses
    evaluations: int


@calm
def excite(
    robot,
    *,
    duration: float = 10.0,
    harmonics: int = 5,
    criterion: str = "condition",
    bounds: Bounds | None = None,
    samples: int = 160,
    iterations: int = 150,
    starts: int = 2,
    seed: int = 0,
    progress: Callable[[int, int, float], None] | None = None,
    **options,
) -> Excitation:
    """The best of a few optimised motions; `progress(step, steps, condition)` is told of every iteration.

    Options are those of Model, and the limits lower=, upper=, velocity=, acceleration=, torque=, workspace= of
    Bounds.of."""
    limits = {key: options.pop(key) for key in tuple(options) if key in Bounds.__dataclass_fields__}
    model = as_model(robot, **options)
    if criterion not in CRITERIA:
        raise ArgumentError(f"'{criterion}' is no criterion.", expected=" or ".join(CRITERIA))
    if harmonics < 3:
        raise ArgumentError(f"{harmonics} harmonics cannot start and end at rest.", expected="3 or more")
    bounds = Bounds.of(model, **limits) if bounds is None else bounds
    problem = Problem(base_parameters(model), bounds, duration, harmonics, samples)
    rng, best, steps = np.random.default_rng(seed), None, 2 * iterations * starts
    count = 0

    def tell(x: np.ndarray) -> None:
        nonlocal count
        count += 1
        if progress is not None:
            progress(count, steps, problem.condition(x))

    for _ in range(starts):
        x = problem.feasible(rng.normal(size=problem.size))
        for stage in ("logdet", criterion):
            found = minimize(
                problem.objective, x, args=(stage,), jac=True, method="SLSQP", callback=tell,
                constraints={"type": "ineq", "fun": problem.slack, "jac": problem.slack_gradient},
                options={"maxiter": iterations, "ftol": 1e-6},
            )  # fmt: skip
            x = problem.feasible(found.x)
        if best is None or problem.objective(x, criterion)[0] < problem.objective(best, criterion)[0]:
            best = x
    assert best is not None
    return problem.result(best)


def random_spline(model: Model, bounds: Bounds, duration: float, rng: np.random.Generator, points: int = 11) -> Spline:
    """A quintic spline through random configurations, drawn in towards its first until it keeps to the limits."""
    n = model.nv
    base = rng.uniform(bounds.lower, bounds.upper, (points, n))
    times = np.linspace(0.0, duration, points)
    fine = np.linspace(0.0, duration, 400)
    size = np.ones(n)
    center = 0.5 * (bounds.lower + bounds.upper)
    for _ in range(60):
        spline = Spline(times, center + (base - center) * size, degree=5, names=model.velocity_names)
        q, v, a = spline(fine)
        excess = np.max(
            [np.abs(v).max(0) / bounds.velocity, np.abs(a).max(0) / bounds.acceleration,
             np.max(np.abs(q - center), axis=0) / (bounds.upper - center)], axis=0,
        )  # fmt: skip
        if np.all(excess <= 1.0):
            return spline
        size = size / np.maximum(excess, 1.0) * np.where(excess > 1.0, 0.999, 1.0)
    return spline


def quality(base: BaseParameters, trajectory: Path, samples: int = 400, weights=None) -> float:
    """The condition number of the base regressor along a motion; weights multiply the rows of the joints."""
    Y = np.asarray(base.model.regressor.columns(base.columns)(*trajectory(trajectory.times(samples))))
    Y = Y if weights is None else Y * np.asarray(weights)[:, None]
    s = np.linalg.svd(np.linalg.qr(Y.reshape(-1, base.count), mode="r"), compute_uv=False)
    return float(s[0] / s[-1]) if s[-1] > 0 else np.inf


class Problem:
    """The optimisation over x, (1 + 2 (harmonics - 1)) numbers a joint: q₀ and the free directions of (1)."""

    def __init__(self, base: BaseParameters, bounds: Bounds, duration: float, harmonics: int, samples: int):
        self.base, self.bounds = base, bounds
        self.model, self.duration, self.harmonics = base.model, duration, harmonics
        self.regressor = self.model.regressor.columns(base.columns)
        self.pull_back = self.regressor.pullback("q", "v", "a")
        self.beta = base.values()
        k = np.arange(1, harmonics + 1)
        self.rest = null_space(np.ones((1, harmonics))), null_space(k[None, :].astype(float))
        self.size = self.model.nv * (2 * harmonics - 1)
        self.maps = self._maps(np.linspace(0.0, duration, samples))
        self.frames = {}
        if bounds.workspace:
            dynamics = Dynamics(self.model.subject)
            self.frames = {name: (dynamics.pose(name), dynamics.pose(name).jacobian("q")) for name in bounds.workspace}
        self.evaluations = 0

    def _maps(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, v and a at the instants as matrices times x of one joint."""
        k = 2.0 * np.pi / self.duration * np.arange(1, self.harmonics + 1)
        c, s = np.cos(t[:, None] * k), np.sin(t[:, None] * k)
        cosine, sine = self.rest
        one, none = np.ones((len(t), 1)), np.zeros((len(t), 1))
        return (
            np.hstack([one, (s / k) @ cosine, -(c / k) @ sine]),
            np.hstack([none, c @ cosine, s @ sine]),
            np.hstack([none, -(s * k) @ cosine, (c * k) @ sine]),
        )

    def motion(self, x: np.ndarray, maps=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        X = x.reshape(-1, self.model.nv)
        q, v, a = (part @ X for part in (maps or self.maps))
        return q, v, a

    def _back(self, gradient) -> np.ndarray:
        """The derivative by x of something with these derivatives by q, v, a at every instant."""
        return np.ravel(sum(part.T @ g for part, g in zip(self.maps, gradient, strict=True)))

    # ---- (2) and (3)

    def objective(self, x: np.ndarray, criterion: str) -> tuple[float, np.ndarray]:
        self.evaluations += 1
        motion = self.motion(x)
        Y = np.asarray(self.regressor(*motion))
        flat = Y.reshape(-1, self.base.count)
        R = np.linalg.qr(flat, mode="r")
        _, s, Wt = np.linalg.svd(R)
        s = np.maximum(s, 1e-12 * s[0])
        if criterion == "condition":
            value = float(np.log(s[0] / s[-1]))
            G = np.outer(flat @ Wt[0], Wt[0]) / s[0] ** 2 - np.outer(flat @ Wt[-1], Wt[-1]) / s[-1] ** 2
        else:
            value = -float(np.sum(np.log(s))) / len(s)
            G = -(flat @ (Wt.T / s**2) @ Wt) / len(s)
        return value, self._back(self.pull_back(*motion, G.reshape(Y.shape)))

    def condition(self, x: np.ndarray) -> float:
        flat = np.asarray(self.regressor(*self.motion(x))).reshape(-1, self.base.count)
        s = np.linalg.svd(np.linalg.qr(flat, mode="r"), compute_uv=False)
        return float(s[0] / s[-1])

    # ---- limits, as numbers that must not be negative

    def _loads(self, motion, slim: bool = True):
        """Every limited quantity over its limit: arrays (instants, joints), and how a derivative by it goes back."""
        q, v, a = motion
        b = self.bounds
        middle, half = 0.5 * (b.lower + b.upper), 0.5 * (b.upper - b.lower)
        zero = np.zeros_like(q)
        for sign in (1.0, -1.0):
            yield "position", sign * (q - middle) / half, lambda w, s=sign: (s * w / half, zero, zero)
            yield "velocity", sign * v / b.velocity, lambda w, s=sign: (zero, s * w / b.velocity, zero)
            yield "acceleration", sign * a / b.acceleration, lambda w, s=sign: (zero, zero, s * w / b.acceleration)
            limited = np.isfinite(b.torque)
            if limited.any():
                tau = np.asarray(self.regressor(q, v, a)) @ self.beta
                scale = np.where(limited, sign / np.where(limited, b.torque, 1.0), 0.0)
                yield "torque", tau * scale, lambda w, k=scale: self.pull_back(q, v, a, (w * k)[..., None] * self.beta)
        for name, (pose, derivative) in self.frames.items():
            lower, upper = (np.asarray(corner, float) for corner in b.workspace[name])
            place = np.asarray(pose(q))[:, :3, 3]
            middle_, half_ = 0.5 * (lower + upper), 0.5 * (upper - lower)
            J = np.asarray(derivative(q))[:, :3, 3, :] / half_[:, None]
            for sign in (1.0, -1.0):
                yield (
                    f"place of {name}",
                    sign * (place - middle_) / half_,
                    lambda w, J=J, s=sign: (s * np.einsum("ti,tij->tj", w, J), zero, zero),
                )

    def slack(self, x: np.ndarray) -> np.ndarray:
        return np.concatenate([1.0 - envelope(load)[0] for _, load, _ in self._loads(self.motion(x))])

    def slack_gradient(self, x: np.ndarray) -> np.ndarray:
        rows = []
        for _, load, back in self._loads(self.motion(x)):
            weights = envelope(load)[1]
            for k in range(load.shape[1]):
                only = np.zeros_like(load)
                only[:, k] = weights[:, k]
                rows.append(-self._back(back(only)))
        return np.array(rows)

    def feasible(self, x: np.ndarray) -> np.ndarray:
        """x with its amplitudes reduced, about a centre that is moved inside, until all limits hold."""
        X = x.reshape(-1, self.model.nv).copy()
        room = 0.45 * (self.bounds.upper - self.bounds.lower)
        middle = 0.5 * (self.bounds.lower + self.bounds.upper)
        X[0] = np.clip(X[0], middle - room, middle + room)
        if self._worst(X) <= 1.0:
            return X.ravel()
        still = np.vstack([X[:1], np.zeros_like(X[1:])])
        if self._worst(still) > 1.0:
            X[0] = still[0] = middle
            if self._worst(still) > 1.0:
                raise ArgumentError(
                    f"'{self.model.name}' breaks its limits even at rest in mid-range: {self._culprit(still)}.",
                    hint="wider limits on torque or workspace",
                )
        low, high = 0.0, 1.0
        for _ in range(30):
            size = 0.5 * (low + high)
            low, high = (size, high) if self._worst(still + size * (X - still)) <= 1.0 else (low, size)
        return (still + low * (X - still)).ravel()

    def _worst(self, X: np.ndarray) -> float:
        return max(float(load.max()) for _, load, _ in self._loads(self.motion(X.ravel())))

    def _culprit(self, X: np.ndarray) -> str:
        return max((float(load.max()), what) for what, load, _ in self._loads(self.motion(X.ravel())))[1]

    # ---- the way out

    def result(self, x: np.ndarray) -> Excitation:
        X = x.reshape(-1, self.model.nv)
        free = self.harmonics - 1
        cosine, sine = self.rest[0] @ X[1 : 1 + free], self.rest[1] @ X[1 + free :]
        series = Fourier(1.0 / self.duration, cosine, sine, X[0], self.duration, names=self.model.velocity_names)
        loads: dict[str, np.ndarray] = {}
        for what, load, _ in self._loads(series(series.times(1000))):
            loads[what] = np.maximum(loads.get(what, -np.inf), load.max(axis=0))
        logdet = -self.objective(x, "logdet")[0] * self.base.count
        return Excitation(series, quality(self.base, series), logdet, loads, self.evaluations)
