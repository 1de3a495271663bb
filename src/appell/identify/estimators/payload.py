"""Payload estimation: the inertial parameters of a load on one body of a system with known parameters.

    τ - τ_known(q, v, a) = Y_body(q, v, a) π_payload                                                              (1)

At most ten unknowns, in the axes of the body; fewer if the joint forces do not determine all ten.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from appell.identify.base.reduce import BaseParameters, part_of_base
from appell.identify.estimators.least_squares import LeastSquares
from appell.identify.estimators.nearest import Description, choose_prior_weight, nearest_physical
from appell.identify.estimators.physical import in_units_of_noise
from appell.identify.parameter_set import ParameterSet


class Payload(LeastSquares):
    """Least squares for the load on one body: Payload(robot, body="link6").fit(q, v, a, tau).mass_.

    Parameters
    ----------
    system : Robot, Mechanism or ParameterSet
    body : str, optional
        Name of the body that carries the load; by default the last one.
    known : array_like, optional
        Full parameters of the system without the load, friction included; by default those of the description.
    physical : bool
        Whether to return only physically possible loads.
    **options
        Options of `LeastSquares`.

    Attributes
    ----------
    payload_ : ndarray, shape (10,)
        Inertial parameters of the load.
    mass_, com_
        Its mass in kg, and its centre of mass in m.
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
        known = parameter_set.nominal if self.known is None else np.asarray(self.known, float)
        return np.asarray(parameter_set.regressor(q, v, a)) @ known

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
        payload = base.lift(beta, weighted.task.prior)[columns]
        com = payload[1:4] / payload[0] if payload[0] else np.full(3, np.nan)
        return replace(estimate, beta=beta, about={"payload": payload, "mass": float(payload[0]), "com": com})

    def predict(self, q, v, a) -> np.ndarray:
        """Return the predicted actuator forces with the load, of shape (..., nu), in N m or N."""
        return super().predict(q, v, a) + self._known_forces(self.parameter_set_, q, v, a)
