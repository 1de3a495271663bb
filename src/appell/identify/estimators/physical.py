"""Physically consistent least squares: every body a body that can exist, and near the description unless data object.

    min  ½ χ²(π) + λ D(π ‖ π⁰)          the divergence of `nearest`, λ by `choose_pull`                            (1)

χ² counts every joint with its own noise, and noise that lasts over several samples with its long-run variance, so that
λ weighs data against description in honest units. The covariance is the inverse of the Hessian of (1): it holds both
what noise leaves open and what the pull may have taken away.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from appell.errors import ArgumentError
from appell.formulate.base import pseudo_inertia
from appell.identify.base.reduce import BaseParameters
from appell.identify.estimators.estimator import Estimate, SolvingEstimator
from appell.identify.estimators.nearest import Description, choose_pull, nearest_physical
from appell.identify.estimators.task import Weighed, solve_triangle
from appell.identify.sought import NOT_NEGATIVE, Sought
from appell.model.body import Body

UNFELT = 1e-9  # the share of a mass that lies in what no joint feels
FINEST = 1e-6  # of a joint's torque: no noise is taken to be less


class PhysicallyConsistent(SolvingEstimator):
    """Least squares over bodies that can exist, near the description where the data say nothing.

    `pull` is λ of (1), None for the one that the data ask for; `pull_` is what was taken, and `off_` = 1/√λ how far,
    relative to themselves, the described bodies were found to be off. `settled_` is false if data that contradict the
    description were followed as far as a number of steps leads.
    """

    title: ClassVar[str] = "physically consistent"

    def __init__(self, system, *, pull=None, **options):
        super().__init__(system, **options)
        self.pull = pull

    def _solve(self, weighed):
        if self.pull is not None and not 0.0 < self.pull < np.inf:
            raise ArgumentError(f"the pull is {self.pull}.", expected="a positive number, or None to choose it by data")
        base = weighed.task.base
        R = in_units_of_noise(weighed, given=not isinstance(self.weighting, str))
        A, b = R[:, :-1] @ base.matrix, R[:, -1]
        known = description(base, weighed.task.prior, spreads(weighed))
        pull = choose_pull(A, b, known) if self.pull is None else float(self.pull)
        found = nearest_physical(A, b, known, pull)
        half = np.linalg.solve(found.triangle.T, base.matrix[:, known.free].T)
        about = {"pull": pull, "off": pull**-0.5, "settled": found.settled}
        return Estimate(weighed, base.values(found.parameters), half.T @ half, found.parameters, about)


def in_units_of_noise(weighed: Weighed, given: bool = False) -> np.ndarray:
    """The triangle of all joints, weighted as asked for, such that the noise of a row is one."""
    sigma = weighed.noise(solve_triangle(weighed.triangle)[0])
    torque = np.linalg.norm(weighed.reduced.R[:, :, -1], axis=-1) / np.sqrt(np.maximum(weighed.reduced.rows, 1))
    sigma = np.maximum(sigma, FINEST * max(float(torque.max()), 1e-300)) * np.sqrt(weighed.inflation)
    scaled = weighed.weights * sigma
    return weighed.triangle / scaled.max() if given else weighed.reduced.weighted(1.0 / sigma)


def spreads(weighed: Weighed) -> np.ndarray:
    """For every parameter that is none of a body, the value that would explain all of a joint's torque by itself."""
    base, reduced = weighed.task.base, weighed.reduced
    inertial = 10 * len(base.sought.system.bodies)
    torque = np.linalg.norm(reduced.R[:, :, -1], axis=-1)
    effect = np.linalg.norm(reduced.R[:, :, :-1] @ base.matrix[:, inertial:], axis=1)  # (joints, parameters)
    own = effect.argmax(axis=0)
    most = effect.max(axis=0, initial=0.0)
    return np.where(most > 0.0, torque[own] / np.where(most > 0.0, most, 1.0), 1.0) + 1e-12


def description(base: BaseParameters, prior: np.ndarray, spread: np.ndarray) -> Description:
    """What is known of the parameters of a system beforehand."""
    sought = base.sought
    seen = np.linalg.qr(base.matrix.T)[0]  # what joints feel of π
    unfelt = [float(seen[10 * k] @ seen[10 * k]) < 1.0 - UNFELT for k in range(len(sought.system.bodies))]
    massless = [sought.is_massless(body) for body in sought.system.bodies]
    rest = [k for k, parameter in enumerate(sought.parameters) if parameter.kind in NOT_NEGATIVE]
    place = {(parameter.owner, parameter.kind): k for k, parameter in enumerate(sought.parameters)}
    pairs = [(place[who, "coulomb"], k) for (who, kind), k in place.items() if kind == "static"]
    return Description(prior, massless, spread, rest, pairs, unfelt)


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
