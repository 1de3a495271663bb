"""Payload estimation: the inertial parameters of a load on one body of a system with known parameters.

    τ - τ_known(q, v, a) = Y_body(q, v, a) π_payload                                                              (1)

At most ten unknowns, in the axes of the body; fewer if the joint forces do not determine all ten. The centre of mass
and the inertia about it are functions of the ten; their standard deviations follow from the covariance by
linearisation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np

from appell.identify.base.reduce import BaseParameters, part_of_base
from appell.identify.estimators.least_squares import LeastSquares
from appell.identify.estimators.nearest import Description, choose_prior_weight, nearest_physical
from appell.identify.estimators.physical import in_units_of_noise
from appell.identify.parameter_set import ParameterSet

UNDETERMINED_SHARE = 1e-6  # of a parameter in the null space, from which the joint forces do not determine it
UNCERTAIN_DEVIATION = 0.3  # standard deviation relative to the size of the load, from which a value is uncertain
QUANTITIES = ("mass", *(f"centre {x}" for x in "xyz"), "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
UNITS = ("kg", "m", "m", "m", *("kg m²",) * 6)


class PayloadValue(NamedTuple):
    """An estimated property of a load: its inertia is about its centre of mass, in the axes of the body."""

    quantity: str
    unit: str
    value: float
    low: float  # end of the 95 % interval
    high: float
    note: str  # empty, "uncertain", or "not shown by this motion"


class Payload(LeastSquares):
    """Least squares for the load on one body: Payload(robot, body="link6").fit(q, v, a, tau).mass_.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
    body : name of the body that carries the load; by default the last one
    known : full parameters of the system without the load, friction included; by default those of the description
    physical : whether to return only physically possible loads
    **options
        Options of `LeastSquares`.

    Attributes
    ----------
    payload_ : ndarray, shape (10,)
        Inertial parameters of the load.
    mass_, com_
        Its mass in kg, and its centre of mass in m.
    properties_ : mass, centre of mass and inertia about it, with confidence intervals and what the motion does not show
    parameters_ : full parameters of the system with the load
    """

    title: ClassVar[str] = "payload"

    def __init__(self, system, *, body=None, known=None, physical=False, **options):
        super().__init__(system, **options)
        self.body = body
        self.known = known
        self.physical = physical

    def _columns(self, parameter_set: ParameterSet) -> slice:
        """Return the columns of the body that carries the load."""
        names = parameter_set.system.body_names
        name = names[-1] if self.body is None else self.body
        parameter_set.system.find("body", name, parameter_set.system.bodies)
        k = 10 * names.index(name)
        return slice(k, k + 10)

    def _base(self, parameter_set: ParameterSet) -> BaseParameters:
        columns = self._columns(parameter_set)
        return part_of_base(parameter_set, range(columns.start, columns.stop))

    def _known_forces(self, parameter_set: ParameterSet, q, v, a) -> np.ndarray:
        return np.asarray(parameter_set.regressor(q, v, a)) @ self._known(parameter_set)

    def _known(self, parameter_set: ParameterSet) -> np.ndarray:
        return parameter_set.nominal if self.known is None else np.asarray(self.known, float)

    def _prior(self, parameter_set: ParameterSet) -> np.ndarray:
        return np.zeros_like(parameter_set.nominal) if self.prior is None else super()._prior(parameter_set)

    def _solve(self, weighted):
        estimate, base = super()._solve(weighted), weighted.task.base
        columns, beta = self._columns(base.parameter_set), estimate.beta
        if self.physical:
            R, full = in_units_of_noise(weighted), np.zeros_like(base.parameter_set.nominal)
            A, b = R[:, :-1] @ base.matrix[:, columns], R[:, -1]
            known = Description(np.zeros(10), [False], np.zeros(0))
            full[columns] = nearest_physical(A, b, known, choose_prior_weight(A, b, known)).parameters
            beta = base.values(full)
        lifted = base.lift(beta, weighted.task.prior)
        payload = lifted[columns]
        com = payload[1:4] / payload[0] if payload[0] else np.full(3, np.nan)
        about = {"payload": payload, "mass": float(payload[0]), "com": com}
        about["properties"] = _properties(payload, base.matrix[:, columns], estimate.covariance)
        full = self._known(base.parameter_set) + lifted
        return replace(estimate, beta=beta, parameters=full, about=about)

    def predict(self, q, v, a) -> np.ndarray:
        """Return the predicted actuator forces with the load, of shape (..., nu), in N m or N."""
        return super().predict(q, v, a) + self._known_forces(self.parameter_set_, q, v, a)


def _properties(payload: np.ndarray, matrix: np.ndarray, covariance: np.ndarray) -> tuple[PayloadValue, ...]:
    """Return the properties of a load whose base parameters `matrix @ payload` have a covariance."""
    inverse = np.linalg.pinv(matrix)
    null = np.eye(10) - inverse @ matrix
    spread = inverse @ covariance @ inverse.T
    values, scale = _about_centre(payload), np.maximum(np.abs(payload), 1e-3 * np.abs(payload).max() + 1e-12)
    steps = 1e-6 * np.diag(scale)
    J = np.column_stack([_about_centre(payload + h) - _about_centre(payload - h) for h in steps]) / (2e-6 * scale)
    deviation = np.sqrt(np.maximum(np.einsum("ia,ab,ib->i", J, spread, J), 0.0))
    hidden = np.linalg.norm((J * scale) @ null, axis=1) > UNDETERMINED_SHARE * np.linalg.norm(J * scale, axis=1)
    radius = max(float(np.linalg.norm(values[1:4])), 0.05)  # m
    size = np.array([abs(values[0]), *[radius] * 3, *[abs(values[0]) * radius**2] * 6])
    rows = []
    for k, (quantity, unit) in enumerate(zip(QUANTITIES, UNITS, strict=True)):
        half = 1.96 * deviation[k]
        uncertain = "uncertain" if not deviation[k] <= UNCERTAIN_DEVIATION * size[k] else ""
        note = "not shown by this motion" if hidden[k] else uncertain
        low, high = (-np.inf, np.inf) if hidden[k] else (values[k] - half, values[k] + half)
        rows.append(PayloadValue(quantity, unit, float(values[k]), float(low), float(high), note))
    return tuple(rows)


def _about_centre(ten: np.ndarray) -> np.ndarray:
    """Return mass, centre of mass and inertia about it for ten inertial parameters about the origin."""
    mass = ten[0] if ten[0] else np.nan
    x, y, z = com = ten[1:4] / mass
    return np.array(
        [ten[0], *com, ten[4] - mass * (y * y + z * z), ten[5] + mass * x * y, ten[6] - mass * (x * x + z * z),
         ten[7] + mass * x * z, ten[8] + mass * y * z, ten[9] - mass * (x * x + y * y)]
    )  # fmt: skip
