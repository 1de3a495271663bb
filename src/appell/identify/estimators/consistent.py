"""Physically consistent least squares: every link a body that can exist.

    min ‖R (Bπ, -1)‖² + λ ‖(π - π⁰)/s‖²     Σᵢ(π) ⪰ ε for every link; friction, rotors not negative             (1)

A body can exist if and only if its pseudo-inertia Σ = ∫ (r, 1)(r, 1)ᵀ dm is positive semidefinite (Wensing, Kim
and Slotine 2018): mass, inertia and the triangle inequality in one linear matrix inequality. The second term,
with a λ far below the noise, settles what the data leave open. It is a semidefinite program; cvxpy states it and
Clarabel solves it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from appell.errors import ArgumentError
from appell.identify.base.structure import UNITS, pseudo_inertia
from appell.identify.estimators.estimator import Estimator
from appell.identify.model import Model


class PhysicallyConsistent(Estimator):
    """Least squares over bodies that can exist; needs `pip install appell[identify]`.

    `margin` is the least eigenvalue of Σ allowed, relative to a link of this size: (prior mass or 1 kg, 0.1 m);
    `pull` is λ, in units of one standard deviation of the noise of all samples.
    """

    title: ClassVar[str] = "physically consistent"

    def __init__(self, robot, *, margin=1e-4, pull=1e-3, **options):
        super().__init__(robot, **options)
        self.margin = margin
        self.pull = pull

    def _solve(self, reduced, samples):
        R = reduced.weighted(self.weights_)
        rows = R[:, :-1] @ self.base_.matrix
        self.full_ = consistent(self.model_, rows, R[:, -1], self._known(), self.margin, self.pull)
        beta = self.base_.values(self.full_)
        return beta, self._covariance(reduced, beta)

    def _lift(self, beta: np.ndarray) -> np.ndarray:
        return self.full_


def consistent(
    model: Model, rows: np.ndarray, right: np.ndarray, prior: np.ndarray, margin=1e-4, pull=1e-3
) -> np.ndarray:
    """(1): full parameters that minimise ‖rows π - right‖, every link a body that can exist."""
    try:
        import cvxpy
    except ImportError:
        raise ArgumentError(
            "physically consistent fits need cvxpy and clarabel, which are not installed.",
            hint="pip install 'appell[identify]'",
        ) from None
    scale = _scale(model, prior)
    x = cvxpy.Variable(len(prior))  # parameters in units of their scale
    constraints = []
    for k in range(len(model.link_names)):
        own = slice(10 * k, 10 * k + 10)
        if _is_massless(model, k):
            constraints.append(x[own] == 0)
            continue
        mass = scale[10 * k]
        balance = np.diag(1.0 / np.sqrt([0.01 * mass] * 3 + [mass]))  # Σ of a link of this size becomes about 1
        units = [balance @ unit @ balance * s for unit, s in zip(UNITS, scale[own], strict=True)]
        sigma = cvxpy.Variable((4, 4), PSD=True)
        constraints.append(sigma + margin * np.eye(4) == sum(unit * x[10 * k + i] for i, unit in enumerate(units)))
    rest = [k for k, column in enumerate(model.columns) if column.kind in ("rotor", "coulomb", "viscous")]
    if rest:
        constraints.append(x[rest] >= 0)
    whole = np.asarray(np.linalg.qr(np.column_stack([rows * scale, right]), mode="r"))
    unit = max(float(np.abs(whole).max()), 1e-300)
    objective = cvxpy.norm(
        cvxpy.hstack([(whole[:, :-1] / unit) @ x - whole[:, -1] / unit, pull / unit * (x - prior / scale)])
    )
    problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
    try:
        problem.solve(solver=cvxpy.CLARABEL)
    except cvxpy.SolverError as error:
        raise ArgumentError(f"the consistent fit of '{model.name}' was not solved: {error}.") from None
    if x.value is None:
        raise ArgumentError(f"the consistent fit of '{model.name}' was not solved: {problem.status}.")
    return np.asarray(x.value) * scale


def flaws(model: Model, parameters: np.ndarray) -> dict[str, str]:
    """The links whose parameters no body can have, and what is wrong with each."""
    from appell.model.body import Body

    found = {}
    for k, link in enumerate(model.link_names):
        own = np.asarray(parameters[10 * k : 10 * k + 10], float)
        if _is_massless(model, k) and np.allclose(own, 0.0, atol=1e-12):
            continue
        if own[0] <= 0.0:
            found[link] = f"has mass {own[0]:.6g} kg, which is not positive"
            continue
        flaw = Body.from_parameters(own.tolist()).flaw()
        least = float(np.linalg.eigvalsh(pseudo_inertia(own))[0])
        if flaw or least <= 0.0:
            found[link] = flaw or f"has a pseudo-inertia with the eigenvalue {least:.3g}, which is not positive"
    return found


def _is_massless(model: Model, k: int) -> bool:
    """Whether the description has this link without matter on purpose."""
    robot = model.robot
    return robot is not None and robot.links[k].body is None and robot.links[k].name not in robot.missing


def _scale(model: Model, prior: np.ndarray) -> np.ndarray:
    """A typical size of every parameter: the prior mass (or 1 kg) at 0.1 m for links, 1 for joints."""
    found = np.ones(len(prior))
    for k in range(len(model.link_names)):
        mass = prior[10 * k] if prior[10 * k] > 0.0 else 1.0
        found[10 * k : 10 * k + 10] = mass * np.array([1.0, *[0.1] * 3, *[0.01] * 6])
    return found
