"""The physically possible bodies nearest to a description that explain the data.

    min  ½ ‖A π - b‖² + λ Σᵢ D(Σᵢ ‖ Σᵢ⁰) + ½ Σₖ ((πₖ - πₖ⁰) / sₖ)² - μ Σ log (what must not be negative)            (1)
    D(Σ ‖ Σ⁰) = tr(Σ⁰⁻¹ Σ) - log det(Σ⁰⁻¹ Σ) - 4                                                                  (2)

Σᵢ is the pseudo-inertia ∫ (r, 1)(r, 1)ᵀ dm of body i; a body is physically possible if and only if it is positive
definite (Wensing, Kim and Slotine 2018). The divergence (2) is zero at the described body and infinite on the boundary
of the possible bodies, so that no constraints are needed. It is invariant under coordinate changes, and near Σ⁰ it
measures changes relative to the body: ½ tr (Σ⁰⁻¹ dΣ)². Directions of π that the data do not determine, orthogonal in
this metric, keep their described values. A mass that the data cannot determine separately, because it can be exchanged
with mass of the parent link, should keep its described value: κ (m/m⁰ - log m/m⁰ - 1) with a large κ is added to its D,
so that moments and centres of mass change instead.

Friction and rotor inertias, which descriptions often omit, have a wide spread sₖ instead, and a barrier with a small μ
keeps them, and the difference between static and Coulomb level, positive.

(1) is smooth and convex. The Newton step is a least-squares problem, so that no normal equations are formed: with
Σ⁰ = C Cᵀ, C⁻¹ Σ C⁻ᵀ = L Lᵀ and Fₖ = L⁻¹ C⁻¹ (∂Σ/∂πₖ) C⁻ᵀ L⁻ᵀ, the derivatives of D are

    ∂D/∂πₖ = ⟨Fₖ, LᵀL - 1⟩          ∂²D/∂πₖ∂πₗ = ⟨Fₖ, Fₗ⟩                                                        (3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from appell.formulate.base import UNITS, parameters_of, pseudo_inertia

BARRIER = 1e-3  # μ: shifts a value one standard deviation above zero by a thousandth of it
MIN_EIGENVALUE = 1e-3  # of a described Σ, relative to a body of its mass with a radius of gyration of 0.1 m
MASS_STIFFNESS = 300.0  # κ: such a mass changes about seventeen times less than the rest of its body
UNKNOWN_BODY_WEIGHT = 1e-3  # factor on λ for bodies without described inertia
MAX_NEWTON_STEPS = 60
ACCEPTED_DECREMENT = 1e-2  # Newton decrement with which the last step still counts as converged
DECREMENT_TOLERANCE = 1e-6  # in units of χ², of which noise makes the order of one
RELATIVE_DECREMENT_TOLERANCE = 1e-14  # relative to the cost
STEP_FRACTION = 0.9  # of the distance to where (1) is infinite
MIN_STEP_LENGTH = 1e-8  # of the line search; below it only rounding is left
DECADES_PER_STAGE = 1.5  # by which prior weight and barrier decrease from stage to stage
ERROR_RANGE = (1e-3, 10.0)  # of 1/√λ, the relative error of a description
ERROR_GRID_SIZE = 121


@dataclass(frozen=True, eq=False)
class Description:
    """Prior knowledge of π: ten parameters per body (zeros if it is `massless`), then the actuator parameters."""

    prior: np.ndarray
    massless: Sequence[bool]
    spread: np.ndarray  # sₖ of the actuator parameters
    not_negative: Sequence[int] = ()  # indices of parameters that must not be negative
    ordered: Sequence[tuple[int, int]] = ()  # pairs of indices; the first parameter must not exceed the second
    unobservable_mass: Sequence[bool] = ()  # whether the mass of a body cannot be determined separately
    centre: np.ndarray = field(init=False)  # the prior, with every body made physically possible
    shapes: list[np.ndarray | None] = field(init=False)  # C⁻¹ (∂Σ/∂π) C⁻ᵀ of every body, (10, 4, 4)
    trust: np.ndarray = field(init=False)  # factor on λ of every body
    stiffness: np.ndarray = field(init=False)  # κ of every body

    def __post_init__(self):
        centre, trust = np.array(self.prior, float), np.ones(len(self.massless))
        shapes: list[np.ndarray | None] = []
        for k, massless in enumerate(self.massless):
            ten = slice(10 * k, 10 * k + 10)
            if massless:
                centre[ten] = 0.0
                shapes.append(None)
                continue
            trust[k] = 1.0 if centre[ten.start] > 0.0 else UNKNOWN_BODY_WEIGHT
            sigma = _regularized(pseudo_inertia(centre[ten]))
            centre[ten] = parameters_of(sigma)
            C = np.linalg.inv(np.linalg.cholesky(sigma))
            shapes.append(C @ UNITS @ C.T)
        stiffness = MASS_STIFFNESS * np.asarray(self.unobservable_mass or np.zeros(len(trust)), float)
        fields = {"centre": centre, "shapes": shapes, "trust": trust, "stiffness": stiffness * (trust == 1.0)}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def inertial(self) -> int:
        """Number of inertial parameters."""
        return 10 * len(self.massless)

    @property
    def free(self) -> np.ndarray:
        """Mask of the parameters that are estimated: all except those of massless bodies."""
        return np.concatenate([np.repeat(~np.asarray(self.massless, bool), 10), np.ones(len(self.spread), bool)])

    def rows(self, x: np.ndarray, prior_weight: float, barrier: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return J and r with Jᵀr the gradient and JᵀJ the Hessian of (1) without the data; None where infinite."""
        jacobian, rest = [], []

        def add(columns, block, value) -> None:
            wide = np.zeros((len(block), len(x)))
            wide[:, columns] = block
            jacobian.append(wide)
            rest.append(value)

        for k, shape in enumerate(self.shapes):
            if shape is None:
                continue
            root = _root(np.tensordot(x[10 * k : 10 * k + 10], shape, 1))
            if root is None:
                return None
            inverse = np.linalg.inv(root)
            F = (inverse @ shape @ inverse.T).reshape(10, 16)  # (3)
            weight, described_mass, mass = np.sqrt(prior_weight * self.trust[k]), self.centre[10 * k], x[10 * k]
            add(slice(10 * k, 10 * k + 10), weight * F.T, weight * (root.T @ root - np.eye(4)).ravel())
            stiff = weight * np.sqrt(self.stiffness[k])
            add([10 * k], np.array([[stiff / mass]]), [stiff * (mass / described_mass - 1.0)])
        others = np.arange(self.inertial, len(x))
        add(others, np.diag(1.0 / self.spread), (x[others] - self.centre[others]) / self.spread)
        for above, below in self._gaps():
            gap = x[above] - (x[below] if below is not None else 0.0)
            if gap <= 0.0:
                return None
            row = np.array([[1.0, -1.0]]) if below is not None else np.array([[1.0]])
            add([above] if below is None else [above, below], np.sqrt(barrier) / gap * row, [-np.sqrt(barrier)])
        return np.vstack(jacobian), np.concatenate(rest)

    def cost(self, x: np.ndarray, prior_weight: float, barrier: float) -> float:
        """Return (1) without the data."""
        total = 0.0
        for k, shape in enumerate(self.shapes):
            if shape is None:
                continue
            root = _root(S := np.tensordot(x[10 * k : 10 * k + 10], shape, 1))
            if root is None:
                return np.inf
            share = x[10 * k] / self.centre[10 * k]
            divergence = np.trace(S) - 2.0 * np.sum(np.log(np.diag(root))) - 4.0  # (2)
            total += prior_weight * self.trust[k] * (divergence + self.stiffness[k] * (share - np.log(share) - 1.0))
        deviation = (x[self.inertial :] - self.centre[self.inertial :]) / self.spread
        gaps = np.array([x[above] - (x[below] if below is not None else 0.0) for above, below in self._gaps()])
        if np.any(gaps <= 0.0):
            return np.inf
        return float(total + 0.5 * deviation @ deviation - barrier * np.sum(np.log(gaps)))

    def metrics(self) -> list[np.ndarray]:
        """Return, for every body with mass, L with L Lᵀ the Hessian of its divergence at the centre."""
        factors = []
        for k, shape in enumerate(self.shapes):
            if shape is not None:
                flat = shape.reshape(10, 16)
                hessian = flat @ flat.T
                hessian[0, 0] += self.stiffness[k] / self.centre[10 * k] ** 2
                factors.append(np.linalg.cholesky(hessian))
        return factors

    def distance_to_boundary(self, x: np.ndarray, step: np.ndarray) -> float:
        """Return the multiple of `step` at which (1) becomes infinite."""
        worst = 0.0
        for k, shape in enumerate(self.shapes):
            if shape is not None:
                ten = slice(10 * k, 10 * k + 10)
                inverse = np.linalg.inv(np.linalg.cholesky(np.tensordot(x[ten], shape, 1)))
                change = inverse @ np.tensordot(step[ten], shape, 1) @ inverse.T
                worst = max(worst, -float(np.linalg.eigvalsh(change)[0]))
        for above, below in self._gaps():
            gap, change = (y[above] - (y[below] if below is not None else 0.0) for y in (x, step))
            worst = max(worst, -change / gap)
        return 1.0 / worst if worst > 0.0 else np.inf

    def start(self) -> np.ndarray:
        """Return the centre, moved away from the barriers."""
        x = self.centre.copy()
        for k in self.not_negative:
            x[k] = max(x[k], 1e-3 * self.spread[k - self.inertial])
        for lower, upper in self.ordered:
            x[upper] = max(x[upper], x[lower] + 1e-3 * self.spread[upper - self.inertial])
        return x

    def _gaps(self) -> list[tuple[int, int | None]]:
        return [*((k, None) for k in self.not_negative), *((upper, lower) for lower, upper in self.ordered)]


@dataclass(frozen=True, eq=False)
class Nearest:
    """The solution π of (1), and R with RᵀR the Hessian of (1) without the barrier there.

    If the data contradict the description, the iteration may not converge; the bodies are physically possible even
    then.
    """

    parameters: np.ndarray
    triangular_factor: np.ndarray
    converged: bool


def nearest_physical(A: np.ndarray, b: np.ndarray, known: Description, prior_weight: float) -> Nearest:
    """Minimise (1) in stages: prior weight and barrier start large enough to outweigh the data, and then decrease.

    Parameters
    ----------
    A : ndarray, shape (rows, parameters)
    b : ndarray, shape (rows,)
        The data, A π = b, with noise of unit variance.
    known : Description
    prior_weight : λ of (1)
    """
    x = known.start()
    rest = A @ x - b
    stages = int(np.ceil(np.log10(max(float(rest @ rest) / prior_weight, 1.0)) / DECADES_PER_STAGE))
    for stage in range(stages, -1, -1):
        strength = 10.0 ** (DECADES_PER_STAGE * stage)
        solution = _newton(A, b, known, x, prior_weight * strength, BARRIER * strength)
        x = solution.parameters
    rows = known.rows(x, prior_weight, 0.0)
    assert rows is not None
    R = np.asarray(np.linalg.qr(np.vstack([A, rows[0]])[:, known.free], mode="r"))
    return Nearest(_without_barrier(known, x), R, solution.converged)


def _newton(
    A: np.ndarray, b: np.ndarray, known: Description, x: np.ndarray, prior_weight: float, barrier: float
) -> Nearest:
    free = known.free

    def value(at: np.ndarray) -> float:
        rest = A @ at - b
        return 0.5 * float(rest @ rest) + known.cost(at, prior_weight, barrier)

    now = value(x)
    for _ in range(MAX_NEWTON_STEPS):
        rows = known.rows(x, prior_weight, barrier)
        assert rows is not None  # the line search accepts only steps to finite costs
        jacobian = np.vstack([A, rows[0]])[:, free]
        rest = np.concatenate([A @ x - b, rows[1]])
        triangular_factor = np.asarray(np.linalg.qr(np.column_stack([jacobian, rest]), mode="r"))
        R, right = triangular_factor[: free.sum(), :-1], triangular_factor[: free.sum(), -1]
        step = np.zeros_like(x)
        step[free] = -solve_triangular(R, right)
        decrement, length = float(right @ right), min(1.0, STEP_FRACTION * known.distance_to_boundary(x, step))
        tolerance = DECREMENT_TOLERANCE * (1.0 + min(prior_weight, barrier)) + RELATIVE_DECREMENT_TOLERANCE * abs(now)
        if decrement <= tolerance:
            return Nearest(x, R, True)
        while (then := value(x + length * step)) > now - 0.1 * length * decrement and length > MIN_STEP_LENGTH:
            length *= 0.5
        if length <= MIN_STEP_LENGTH:
            return Nearest(x, R, True)
        x, now = x + length * step, then
    return Nearest(x, R, decrement <= ACCEPTED_DECREMENT)


def _without_barrier(known: Description, x: np.ndarray) -> np.ndarray:
    """Return x with zeros for the parameters that only the barrier keeps above zero."""
    x = x.copy()
    for k in known.not_negative:
        if x[k] < 1e-6 * known.spread[k - known.inertial]:
            x[k] = 0.0
    return x


def _root(S: np.ndarray) -> np.ndarray | None:
    try:
        return np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        return None


def _regularized(sigma: np.ndarray) -> np.ndarray:
    """Return Σ with scaled eigenvalues of at least `MIN_EIGENVALUE`; a body without mass gets 1 kg and 0.1 m."""
    mass = sigma[3, 3] if sigma[3, 3] > 0.0 else 1.0
    if sigma[3, 3] <= 0.0:
        return np.diag([0.01, 0.01, 0.01, 1.0])
    size = np.sqrt(mass) * np.array([0.1, 0.1, 0.1, 1.0])
    values, vectors = np.linalg.eigh(sigma / np.outer(size, size))
    if values[0] >= MIN_EIGENVALUE:
        return sigma
    return (vectors * np.maximum(values, MIN_EIGENVALUE)) @ vectors.T * np.outer(size, size)


def choose_prior_weight(A: np.ndarray, b: np.ndarray, known: Description) -> float:
    """Return the prior weight λ of (1) with the largest likelihood, for data A π = b with noise of unit variance.

    Near the described bodies the divergence is ½ ‖z‖², with z the relative change of all bodies, and the data are
    linear in z. If the errors of the description are random, with variance 1/λ for each zₖ, and the noise has unit
    variance, then the data cₖ along their singular directions, with singular values sₖ, satisfy

        cₖ ~ N(0, 1 + sₖ²/λ)          λ = argmin Σₖ  log(1 + sₖ²/λ) + cₖ² / (1 + sₖ²/λ)                              (4)

    which maximises the likelihood with all bodies integrated out (MacKay 1992). Directions that the data determine, sₖ²
    ≫ λ, show the error of the description and are hardly changed by the prior; directions that they do not determine,
    sₖ² ≪ λ, carry no information and keep their described values. Friction and rotors are integrated out first.
    """
    strength, measured = _directions(A, b, known)
    errors = np.geomspace(*ERROR_RANGE, ERROR_GRID_SIZE)
    variance = 1.0 + np.outer(errors**2, strength**2)
    cost = np.sum(np.log(variance) + measured**2 / variance, axis=1)
    return float(1.0 / errors[int(np.argmin(cost))] ** 2)


def _directions(A: np.ndarray, b: np.ndarray, known: Description) -> tuple[np.ndarray, np.ndarray]:
    """Return sₖ and cₖ of (4)."""
    bodies = known.free[: known.inertial]
    others = len(known.spread)
    actuator_columns = np.vstack([A[:, known.inertial :], np.diag(1.0 / known.spread)])
    body_columns = np.vstack([A[:, : known.inertial][:, bodies], np.zeros((others, bodies.sum()))])
    rest = np.concatenate([b - A @ known.centre, np.zeros(others)])
    triangular_factor = np.asarray(np.linalg.qr(np.column_stack([actuator_columns, body_columns, rest]), mode="r"))[
        others:
    ]
    T, right = triangular_factor[:, others:-1], triangular_factor[:, -1]
    columns = []
    for k, root in enumerate(known.metrics()):  # dπ = root⁻ᵀ z
        columns.append(np.linalg.solve(root, T[:, 10 * k : 10 * k + 10].T).T)
    trust = known.trust[~np.asarray(known.massless, bool)]
    W = np.hstack([block / np.sqrt(share) for block, share in zip(columns, trust, strict=True)])
    U, strength, _ = np.linalg.svd(W, full_matrices=False)
    return strength, U.T @ right
