"""Physically consistent least squares: every body a body that can exist.

    min ‖R (Bπ, -1)‖² + λ ‖(π - π⁰)/s‖²     Σᵢ(π) ⪰ ε for every body; friction, rotors not negative             (1)

A body can exist if and only if its pseudo-inertia Σ = ∫ (r, 1)(r, 1)ᵀ dm is positive semidefinite (Wensing, Kim
and Slotine 2018): mass, inertia and the triangle inequality in one linear matrix inequality. The second term,
with a λ far below the noise, settles what the data leave open. It is a semidefinite program; cvxpy states it and
Clarabel solves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from appell.errors import ArgumentError
from appell.identify.base.structure import UNITS, pseudo_inertia
from appell.identify.estimators.estimator import Estimate, Estimator
from appell.identify.sought import NOT_NEGATIVE, Sought
from appell.model.body import Body


class PhysicallyConsistent(Estimator):
    """Least squares over bodies that can exist; needs `pip install appell[identify]`.

    `margin` is the least eigenvalue of Σ allowed, relative to a body of this size: (prior mass or 1 kg, 0.1 m);
    `pull` is λ, in units of one standard deviation of the noise of all samples.
    """

    title: ClassVar[str] = "physically consistent"

    def __init__(self, system, *, margin=1e-4, pull=1e-3, **options):
        super().__init__(system, **options)
        self.margin = margin
        self.pull = pull

    def _solve(self, weighed):
        base, R = weighed.task.base, weighed.triangle
        rows = R[:, :-1] @ base.matrix
        full = physical_parameters(base.sought, rows, R[:, -1], weighed.task.prior, self.margin, self.pull)
        beta = base.values(full)
        return Estimate(weighed, beta, weighed.covariance(beta), full)


def physical_parameters(
    sought: Sought, rows: np.ndarray, right: np.ndarray, prior: np.ndarray, margin=1e-4, pull=1e-3
) -> np.ndarray:
    """(1) for all parameters of a system."""
    massless = [sought.is_massless(body) for body in sought.system.bodies]
    rest = [k for k, parameter in enumerate(sought.parameters) if parameter.kind in NOT_NEGATIVE]
    place = {(parameter.owner, parameter.kind): k for k, parameter in enumerate(sought.parameters)}
    pairs = [(place[who, "coulomb"], k) for (who, kind), k in place.items() if kind == "static"]
    return nearest_physical(sought.system.owner, rows, right, prior, massless, rest, pairs, margin, pull)


def nearest_physical(
    owner: str,
    rows: np.ndarray,
    right: np.ndarray,
    prior: np.ndarray,
    massless: Sequence[bool],
    not_negative: Sequence[int] = (),
    ordered: Sequence[tuple[int, int]] = (),
    margin: float = 1e-4,
    pull: float = 1e-3,
) -> np.ndarray:
    """(1): full parameters that minimise ‖rows π - right‖; ten for each body, `massless` or not, then others.

    Of two that are `ordered`, the first is not above the second.
    """
    try:
        import cvxpy
    except ImportError:
        raise ArgumentError(
            "physically consistent fits need cvxpy and clarabel, which are not installed.",
            hint="pip install 'appell[identify]'",
        ) from None
    scale = _scale(prior, len(massless))
    x = cvxpy.Variable(len(prior))  # parameters in units of their scale
    constraints = []
    for k, nothing in enumerate(massless):
        own = slice(10 * k, 10 * k + 10)
        if nothing:
            constraints.append(x[own] == 0)
            continue
        mass = scale[10 * k]
        balance = np.diag(1.0 / np.sqrt([0.01 * mass] * 3 + [mass]))  # Σ of a body of this size becomes about 1
        units = [balance @ unit @ balance * s for unit, s in zip(UNITS, scale[own], strict=True)]
        sigma = cvxpy.Variable((4, 4), PSD=True)
        constraints.append(sigma + margin * np.eye(4) == sum(unit * x[10 * k + i] for i, unit in enumerate(units)))
    if not_negative:
        constraints.append(x[list(not_negative)] >= 0)
    constraints += [x[lower] <= x[upper] for lower, upper in ordered]
    whole = np.asarray(np.linalg.qr(np.column_stack([rows * scale, right]), mode="r"))
    unit = max(float(np.abs(whole).max()), 1e-300)
    objective = cvxpy.norm(
        cvxpy.hstack([(whole[:, :-1] / unit) @ x - whole[:, -1] / unit, pull / unit * (x - prior / scale)])
    )
    problem = cvxpy.Problem(cvxpy.Minimize(objective), constraints)
    try:
        problem.solve(solver=cvxpy.CLARABEL)
    except cvxpy.SolverError as error:
        raise ArgumentError(f"the consistent fit of {owner} was not solved: {error}.") from None
    if x.value is None:
        raise ArgumentError(f"the consistent fit of {owner} was not solved: {problem.status}.")
    found = np.asarray(x.value) * scale
    found[list(not_negative)] = np.maximum(found[list(not_negative)], 0.0)  # within the solver's own tolerance
    for lower, upper in ordered:
        found[upper] = max(found[upper], found[lower])
    return found


def flaws(sought: Sought, parameters: np.ndarray) -> dict[str, str]:
    """The bodies whose parameters nothing can have, and what is wrong with each."""
    found = {}
    for k, name in enumerate(sought.system.bodies):
        own = np.asarray(parameters[10 * k : 10 * k + 10], float)
        if sought.is_massless(name) and np.allclose(own, 0.0, atol=1e-12):
            continue
        if own[0] <= 0.0:
            found[name] = f"has mass {own[0]:.6g} kg, which is not positive"
            continue
        flaw = Body.from_parameters(own.tolist()).flaw()
        least = float(np.linalg.eigvalsh(pseudo_inertia(own))[0])
        if flaw or least <= 0.0:
            found[name] = flaw or f"has a pseudo-inertia with the eigenvalue {least:.3g}, which is not positive"
    return found


def _scale(prior: np.ndarray, bodies: int) -> np.ndarray:
    """A typical size of every parameter: the prior mass (or 1 kg) at 0.1 m for bodies, 1 for the others."""
    found = np.ones(len(prior))
    for k in range(bodies):
        mass = prior[10 * k] if prior[10 * k] > 0.0 else 1.0
        found[10 * k : 10 * k + 10] = mass * np.array([1.0, *[0.1] * 3, *[0.01] * 6])
    return found
