"""The bodies nearest to a description that explain the data.

    min  ½ ‖A π - b‖² + λ Σᵢ D(Σᵢ ‖ Σᵢ⁰) + ½ Σₖ ((πₖ - πₖ⁰) / sₖ)² - μ Σ log (what must not be negative)            (1)
    D(Σ ‖ Σ⁰) = tr(Σ⁰⁻¹ Σ) - log det(Σ⁰⁻¹ Σ) - 4                                                                  (2)

Σᵢ is the pseudo-inertia ∫ (r, 1)(r, 1)ᵀ dm of body i, and a body can exist if and only if it is positive definite
(Wensing, Kim and Slotine 2018). The divergence (2) is zero at the described body and infinite at the edge of what can
exist, so no constraint is left; it is the same in all coordinates, and near Σ⁰ it counts changes relative to the body:
½ tr (Σ⁰⁻¹ dΣ)². Directions of π that the data do not see, orthogonal in that measure, stay where the description has
them. A mass that no joint feels by itself, as it can be traded for matter of the link below, is known from elsewhere or
not at all: κ (m/m⁰ - log m/m⁰ - 1) is added to its D with a large κ, so that moments and centres move instead.

Friction and rotors, of which a description often says nothing, have a wide spread sₖ instead, and a barrier with a
small μ keeps them and the difference of static and Coulomb level above zero.

(1) is smooth and convex. Newton's step is a least-squares problem, so that no normal equations are formed: with
Σ⁰ = C Cᵀ, C⁻¹ Σ C⁻ᵀ = L Lᵀ and Fₖ = L⁻¹ C⁻¹ (∂Σ/∂πₖ) C⁻ᵀ L⁻ᵀ, the derivatives of D are

    ∂D/∂πₖ = ⟨Fₖ, LᵀL - 1⟩          ∂²D/∂πₖ∂πₗ = ⟨Fₖ, Fₗ⟩                                                        (3)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import solve_triangular

from appell.formulate.base import UNITS, parameters_of, pseudo_inertia

BARRIER = 1e-3  # μ: shifts what is a standard deviation above zero by a thousandth of it
THIN = 1e-3  # least eigenvalue of a described Σ, relative to a body of its mass and 0.1 m
STIFF = 300.0  # κ: such a mass moves some seventeen times less than the rest of its body
VAGUE = 1e-3  # of λ, for bodies of which the description says nothing
STEPS, CLOSE = 60, 1e-2  # of Newton at most, and the decrement that is good enough after them
ENOUGH, ROUNDING = 1e-6, 1e-14  # its decrement: in units of χ², which noise makes of the order of one; and relative
SHORT = 0.9  # of the way to where (1) is infinite
FALL = 1.5  # decades of the path a stage
SPREADS = (1e-3, 10.0)  # 1/√λ: a description is off by a thousandth at least, and by ten times at most
MESH = 121


@dataclass(frozen=True, eq=False)
class Description:
    """What is known of π beforehand: a body each ten parameters, or none where it is `massless`; then the others."""

    prior: np.ndarray
    massless: Sequence[bool]
    spread: np.ndarray  # sₖ of those after the bodies
    not_negative: Sequence[int] = ()
    ordered: Sequence[tuple[int, int]] = ()  # the first not above the second
    unfelt: Sequence[bool] = ()  # whether the mass of a body is one that no joint feels by itself
    centre: np.ndarray = field(init=False)  # the prior, every body of it one that can exist
    shapes: list[np.ndarray | None] = field(init=False)  # C⁻¹ (∂Σ/∂π) C⁻ᵀ of every body, (10, 4, 4)
    trust: np.ndarray = field(init=False)  # of every body, λ is multiplied by it
    stiffness: np.ndarray = field(init=False)  # κ of every body

    def __post_init__(self):
        centre, trust = np.array(self.prior, float), np.ones(len(self.massless))
        shapes: list[np.ndarray | None] = []
        for k, nothing in enumerate(self.massless):
            own = slice(10 * k, 10 * k + 10)
            if nothing:
                centre[own] = 0.0
                shapes.append(None)
                continue
            trust[k] = 1.0 if centre[own.start] > 0.0 else VAGUE
            sigma = _thickened(pseudo_inertia(centre[own]))
            centre[own] = parameters_of(sigma)
            C = np.linalg.inv(np.linalg.cholesky(sigma))
            shapes.append(C @ UNITS @ C.T)
        stiffness = STIFF * np.asarray(self.unfelt or np.zeros(len(trust)), float)
        found = {"centre": centre, "shapes": shapes, "trust": trust, "stiffness": stiffness * (trust == 1.0)}
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @property
    def inertial(self) -> int:
        return 10 * len(self.massless)

    @property
    def free(self) -> np.ndarray:
        """The parameters that are not zero by decree."""
        return np.concatenate([np.repeat(~np.asarray(self.massless, bool), 10), np.ones(len(self.spread), bool)])

    def rows(self, x: np.ndarray, pull: float, barrier: float) -> tuple[np.ndarray, np.ndarray] | None:
        """J and r with Jᵀr the gradient and JᵀJ the Hessian of all of (1) but the data; None where it is infinite."""
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
            weight, mass, own = np.sqrt(pull * self.trust[k]), self.centre[10 * k], x[10 * k]
            add(slice(10 * k, 10 * k + 10), weight * F.T, weight * (root.T @ root - np.eye(4)).ravel())
            stiff = weight * np.sqrt(self.stiffness[k])
            add([10 * k], np.array([[stiff / own]]), [stiff * (own / mass - 1.0)])
        others = np.arange(self.inertial, len(x))
        add(others, np.diag(1.0 / self.spread), (x[others] - self.centre[others]) / self.spread)
        for above, below in self._gaps():
            gap = x[above] - (x[below] if below is not None else 0.0)
            if gap <= 0.0:
                return None
            row = np.array([[1.0, -1.0]]) if below is not None else np.array([[1.0]])
            add([above] if below is None else [above, below], np.sqrt(barrier) / gap * row, [-np.sqrt(barrier)])
        return np.vstack(jacobian), np.concatenate(rest)

    def cost(self, x: np.ndarray, pull: float, barrier: float) -> float:
        """All of (1) but the data."""
        total = 0.0
        for k, shape in enumerate(self.shapes):
            if shape is None:
                continue
            root = _root(S := np.tensordot(x[10 * k : 10 * k + 10], shape, 1))
            if root is None:
                return np.inf
            share = x[10 * k] / self.centre[10 * k]
            own = np.trace(S) - 2.0 * np.sum(np.log(np.diag(root))) - 4.0  # (2)
            total += pull * self.trust[k] * (own + self.stiffness[k] * (share - np.log(share) - 1.0))
        away = (x[self.inertial :] - self.centre[self.inertial :]) / self.spread
        gaps = np.array([x[above] - (x[below] if below is not None else 0.0) for above, below in self._gaps()])
        if np.any(gaps <= 0.0):
            return np.inf
        return float(total + 0.5 * away @ away - barrier * np.sum(np.log(gaps)))

    def metrics(self) -> list[np.ndarray]:
        """Of every body with matter, the triangle L with L Lᵀ the Hessian of its divergence at the centre."""
        found = []
        for k, shape in enumerate(self.shapes):
            if shape is not None:
                flat = shape.reshape(10, 16)
                hessian = flat @ flat.T
                hessian[0, 0] += self.stiffness[k] / self.centre[10 * k] ** 2
                found.append(np.linalg.cholesky(hessian))
        return found

    def room(self, x: np.ndarray, step: np.ndarray) -> float:
        """How many steps lead to where (1) is infinite."""
        worst = 0.0
        for k, shape in enumerate(self.shapes):
            if shape is not None:
                own = slice(10 * k, 10 * k + 10)
                inverse = np.linalg.inv(np.linalg.cholesky(np.tensordot(x[own], shape, 1)))
                change = inverse @ np.tensordot(step[own], shape, 1) @ inverse.T
                worst = max(worst, -float(np.linalg.eigvalsh(change)[0]))
        for above, below in self._gaps():
            gap, change = (y[above] - (y[below] if below is not None else 0.0) for y in (x, step))
            worst = max(worst, -change / gap)
        return 1.0 / worst if worst > 0.0 else np.inf

    def start(self) -> np.ndarray:
        """The centre, moved off the barriers."""
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
    """π of (1), and the triangle R with RᵀR the Hessian there, the barrier left out, which is no knowledge.

    Of data that contradict the description it may be unsettled after all steps, though each of its bodies can exist.
    """

    parameters: np.ndarray
    triangle: np.ndarray
    settled: bool


def nearest_physical(A: np.ndarray, b: np.ndarray, known: Description, pull: float) -> Nearest:
    """(1), found along a path: pull and barrier begin strong enough to outweigh the data, and fall to what they are."""
    x = known.start()
    rest = A @ x - b
    stages = int(np.ceil(np.log10(max(float(rest @ rest) / pull, 1.0)) / FALL))
    for stage in range(stages, -1, -1):
        strength = 10.0 ** (FALL * stage)
        found = _newton(A, b, known, x, pull * strength, BARRIER * strength)
        x = found.parameters
    rows = known.rows(x, pull, 0.0)
    assert rows is not None
    R = np.asarray(np.linalg.qr(np.vstack([A, rows[0]])[:, known.free], mode="r"))
    return Nearest(_at_rest(known, x), R, found.settled)


def _newton(A: np.ndarray, b: np.ndarray, known: Description, x: np.ndarray, pull: float, barrier: float) -> Nearest:
    free = known.free

    def value(at: np.ndarray) -> float:
        rest = A @ at - b
        return 0.5 * float(rest @ rest) + known.cost(at, pull, barrier)

    now = value(x)
    for _ in range(STEPS):
        found = known.rows(x, pull, barrier)
        assert found is not None  # no step leaves what is finite
        whole = np.vstack([A, found[0]])[:, free]
        rest = np.concatenate([A @ x - b, found[1]])
        triangle = np.asarray(np.linalg.qr(np.column_stack([whole, rest]), mode="r"))
        R, right = triangle[: free.sum(), :-1], triangle[: free.sum(), -1]
        step = np.zeros_like(x)
        step[free] = -solve_triangular(R, right)
        decrement, length = float(right @ right), min(1.0, SHORT * known.room(x, step))
        if decrement <= ENOUGH * (1.0 + min(pull, barrier)) + ROUNDING * abs(now):
            return Nearest(x, R, True)
        while (then := value(x + length * step)) > now - 0.1 * length * decrement and length > 1e-8:
            length *= 0.5
        if length <= 1e-8:  # rounding is all that is left
            return Nearest(x, R, True)
        x, now = x + length * step, then
    return Nearest(x, R, decrement <= CLOSE)


def _at_rest(known: Description, x: np.ndarray) -> np.ndarray:
    """x with what the barrier alone keeps above zero put there."""
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


def _thickened(sigma: np.ndarray) -> np.ndarray:
    """Σ with eigenvalues of at least `THIN`, in units of a body of this mass and 0.1 m; of 1 kg if it has none."""
    mass = sigma[3, 3] if sigma[3, 3] > 0.0 else 1.0
    if sigma[3, 3] <= 0.0:
        return np.diag([0.01, 0.01, 0.01, 1.0])
    size = np.sqrt(mass) * np.array([0.1, 0.1, 0.1, 1.0])
    values, vectors = np.linalg.eigh(sigma / np.outer(size, size))
    if values[0] >= THIN:
        return sigma
    return (vectors * np.maximum(values, THIN)) @ vectors.T * np.outer(size, size)


def choose_pull(A: np.ndarray, b: np.ndarray, known: Description) -> float:
    """λ of (1) for data A π = b with noise of unit variance.

    How far to believe a description: as far as the data say that it is right.

    Near the described bodies the divergence of `nearest` is ½ ‖z‖², z the change of all bodies relative to themselves,
    and the data are linear in z. If the description is off by chance, each zₖ with variance 1/λ, and the noise has unit
    variance, then along the singular directions of the data, of strength sₖ, what is measured is cₖ with

        cₖ ~ N(0, 1 + sₖ²/λ)          λ = argmin Σₖ  log(1 + sₖ²/λ) + cₖ² / (1 + sₖ²/λ)                              (1)

    which is the likelihood of the data with all bodies averaged out (MacKay 1992). Directions that the data fix, sₖ² ≫
    λ, show how far the description is off, and are hardly pulled; directions that they do not see, sₖ² ≪ λ, say nothing
    and stay with the description; those between get what they deserve. Friction and rotors are averaged out first.
    """
    strength, measured = _directions(A, b, known)
    spreads = np.geomspace(*SPREADS, MESH)
    variance = 1.0 + np.outer(spreads**2, strength**2)
    unlikely = np.sum(np.log(variance) + measured**2 / variance, axis=1)
    return float(1.0 / spreads[int(np.argmin(unlikely))] ** 2)


def _directions(A: np.ndarray, b: np.ndarray, known: Description) -> tuple[np.ndarray, np.ndarray]:
    """sₖ and cₖ of (1)."""
    bodies = known.free[: known.inertial]
    others = len(known.spread)
    wide = np.vstack([A[:, known.inertial :], np.diag(1.0 / known.spread)])
    own = np.vstack([A[:, : known.inertial][:, bodies], np.zeros((others, bodies.sum()))])
    rest = np.concatenate([b - A @ known.centre, np.zeros(others)])
    triangle = np.asarray(np.linalg.qr(np.column_stack([wide, own, rest]), mode="r"))[others:]
    T, right = triangle[:, others:-1], triangle[:, -1]
    columns = []
    for k, root in enumerate(known.metrics()):  # dπ = root⁻ᵀ z
        columns.append(np.linalg.solve(root, T[:, 10 * k : 10 * k + 10].T).T)
    trust = known.trust[~np.asarray(known.massless, bool)]
    W = np.hstack([block / np.sqrt(share) for block, share in zip(columns, trust, strict=True)])
    U, strength, _ = np.linalg.svd(W, full_matrices=False)
    return strength, U.T @ right
