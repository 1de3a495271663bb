"""Physically consistent least squares: possible bodies, near the description unless the data contradict it.

    min  ½ χ²(π) + λ D(π ‖ π⁰)          the divergence of `nearest`, λ by `choose_prior_weight`                    (1)

χ² uses the noise of every joint, and the long-run variance of noise that is correlated over several samples, so that λ
weighs data against description in units of their uncertainties. The covariance is the inverse of the Hessian of (1): it
includes the effect of noise and the possible bias by the prior.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from appell.errors import ArgumentError
from appell.formulate.base import pseudo_inertia
from appell.identify.base.reduce import BaseParameters
from appell.identify.estimators.estimator import Estimate, SolvingEstimator
from appell.identify.estimators.nearest import Description, choose_prior_weight, nearest_physical
from appell.identify.estimators.task import WeightedTask, solve_least_squares
from appell.identify.parameter_set import NOT_NEGATIVE, ParameterSet
from appell.model.body import Body

UNOBSERVABLE_MASS_SHARE = 1e-9  # of a mass in the null space of B, from which it cannot be determined separately
MIN_NOISE = 1e-6  # smallest noise that is assumed, relative to the largest torque


class PhysicallyConsistent(SolvingEstimator):
    """Least squares over physically possible bodies, with the description as prior.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
    prior_weight : λ of (1), the weight of the description; by default the value with the largest likelihood
    **options
        Options of `Estimator`.

    Attributes
    ----------
    prior_weight_ : the weight that was used
    description_error_ : 1/√λ, the estimated relative error of the described bodies
    converged_ : false if the iteration did not converge, because the data contradict the description

    Examples
    --------
    >>> import numpy as np, appell as ap
    >>> arm = ap.load("planar-2r")
    >>> q, v, a = np.random.default_rng(0).normal(size=(3, 200, 2))
    >>> heavier = arm.with_payload(1.0)
    >>> tau = ap.Dynamics(heavier).inverse_dynamics(q, v, a)
    >>> fit = ap.identify.PhysicallyConsistent(arm).fit(q, v, a, tau)
    >>> fit.converged_, ap.identify.flaws(fit.parameter_set_, fit.parameters_)
    (True, {})
    """

    title: ClassVar[str] = "physically consistent"

    def __init__(self, system, *, prior_weight=None, **options):
        super().__init__(system, **options)
        self.prior_weight = prior_weight

    def _solve(self, weighted):
        if self.prior_weight is not None and not 0.0 < self.prior_weight < np.inf:
            raise ArgumentError(
                f"the prior weight is {self.prior_weight}.", expected="a positive number, or None to estimate it"
            )
        base = weighted.task.base
        R = in_units_of_noise(weighted, given=not isinstance(self.weighting, str))
        A, b = R[:, :-1] @ base.matrix, R[:, -1]
        known = description(base, weighted.task.prior, spreads(weighted))
        prior_weight = choose_prior_weight(A, b, known) if self.prior_weight is None else float(self.prior_weight)
        solution = nearest_physical(A, b, known, prior_weight)
        half = np.linalg.solve(solution.triangular_factor.T, base.matrix[:, known.free].T)
        about = {"prior_weight": prior_weight, "description_error": prior_weight**-0.5}
        about["converged"] = solution.converged
        return Estimate(weighted, base.values(solution.parameters), half.T @ half, solution.parameters, about)


def in_units_of_noise(weighted: WeightedTask, given: bool = False) -> np.ndarray:
    """Return the triangular factor of all joints, scaled such that the noise of a row is one.

    With `given`, the weights of the task keep their ratios; otherwise every joint is weighted by its noise.
    """
    sigma = weighted.noise(solve_least_squares(weighted.triangular_factor)[0])
    torque = np.linalg.norm(weighted.reduced.R[:, :, -1], axis=-1) / np.sqrt(np.maximum(weighted.reduced.rows, 1))
    sigma = np.maximum(sigma, MIN_NOISE * max(float(torque.max()), 1e-300)) * np.sqrt(weighted.inflation)
    scaled = weighted.weights * sigma
    return weighted.triangular_factor / scaled.max() if given else weighted.reduced.weighted(1.0 / sigma)


def spreads(weighted: WeightedTask) -> np.ndarray:
    """Return, for every actuator parameter, the value that would explain all of a joint's torque by itself."""
    base, reduced = weighted.task.base, weighted.reduced
    inertial = 10 * len(base.parameter_set.system.bodies)
    torque = np.linalg.norm(reduced.R[:, :, -1], axis=-1)
    effect = np.linalg.norm(reduced.R[:, :, :-1] @ base.matrix[:, inertial:], axis=1)  # (joints, parameters)
    joint = effect.argmax(axis=0)
    largest = effect.max(axis=0, initial=0.0)
    return np.where(largest > 0.0, torque[joint] / np.where(largest > 0.0, largest, 1.0), 1.0) + 1e-12


def description(base: BaseParameters, prior: np.ndarray, spread: np.ndarray) -> Description:
    """Return the prior knowledge of the parameters of a system."""
    parameter_set = base.parameter_set
    observable = np.linalg.qr(base.matrix.T)[0]  # basis of the changes of π that affect joint forces
    unobservable_mass = [
        float(observable[10 * k] @ observable[10 * k]) < 1.0 - UNOBSERVABLE_MASS_SHARE
        for k in range(len(parameter_set.system.bodies))
    ]
    massless = [parameter_set.is_massless(body) for body in parameter_set.system.bodies]
    not_negative = [k for k, parameter in enumerate(parameter_set.parameters) if parameter.kind in NOT_NEGATIVE]
    index = {(parameter.owner, parameter.kind): k for k, parameter in enumerate(parameter_set.parameters)}
    ordered = [(index[owner, "coulomb"], k) for (owner, kind), k in index.items() if kind == "static"]
    return Description(prior, massless, spread, not_negative, ordered, unobservable_mass)


def flaws(parameter_set: ParameterSet, parameters: np.ndarray) -> dict[str, str]:
    """Return the physically impossible bodies by name, with what is wrong with each; empty if all are possible."""
    problems = {}
    for k, name in enumerate(parameter_set.system.bodies):
        ten = np.asarray(parameters[10 * k : 10 * k + 10], float)
        if parameter_set.is_massless(name) and np.allclose(ten, 0.0, atol=1e-12):
            continue
        if ten[0] <= 0.0:
            problems[name] = f"has mass {ten[0]:.6g} kg, which is not positive"
            continue
        flaw = Body.from_parameters(ten.tolist()).flaw()
        least = float(np.linalg.eigvalsh(pseudo_inertia(ten))[0])
        if flaw or least <= 0.0:
            problems[name] = flaw or f"has a pseudo-inertia with eigenvalue {least:.3g}, which is not positive"
    return problems
