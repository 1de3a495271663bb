"""The payload: what is held, found as matter added to one body of a system that is known.

    τ - τ_known(q, v, a) = Y_body(q, v, a) π_payload                                                              (1)

Ten unknowns at most, in the axes of the body; fewer if the joints cannot tell all ten apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from appell.identify.base.reduce import BaseParameters, part_of_base
from appell.identify.estimators.least_squares import LeastSquares
from appell.identify.estimators.nearest import Description, choose_pull, nearest_physical
from appell.identify.estimators.physical import in_units_of_noise
from appell.identify.sought import Sought


class Payload(LeastSquares):
    """Least squares for one body only: Payload(robot, body="link6").fit(q, v, a, tau).mass_.

    All else, friction too, is taken as `known`, full parameters. `body` is the last one by default; `physical` keeps
    the payload a body that can exist.
    """

    title: ClassVar[str] = "payload"

    def __init__(self, system, *, body=None, known=None, physical=False, **options):
        super().__init__(system, **options)
        self.body = body
        self.known = known
        self.physical = physical

    def _own(self, sought: Sought) -> slice:
        names = sought.system.body_names
        name = names[-1] if self.body is None else self.body
        sought.system.find("body", name, sought.system.bodies)
        k = 10 * names.index(name)
        return slice(k, k + 10)

    def _base(self, sought: Sought) -> BaseParameters:
        own = self._own(sought)
        return part_of_base(sought, range(own.start, own.stop))

    def _known_forces(self, sought: Sought, q, v, a) -> np.ndarray:
        known = sought.nominal if self.known is None else np.asarray(self.known, float)
        return np.asarray(sought.regressor(q, v, a)) @ known

    def _prior(self, sought: Sought) -> np.ndarray:
        return np.zeros_like(sought.nominal) if self.prior is None else super()._prior(sought)

    def _solve(self, weighed):
        found, base = super()._solve(weighed), weighed.task.base
        own, beta = self._own(base.sought), found.beta
        if self.physical:
            R, full = in_units_of_noise(weighed), np.zeros_like(base.sought.nominal)
            A, b = R[:, :-1] @ base.matrix[:, own], R[:, -1]
            known = Description(np.zeros(10), [False], np.zeros(0))
            full[own] = nearest_physical(A, b, known, choose_pull(A, b, known)).parameters
            beta = base.values(full)
        payload = base.lift(beta, weighed.task.prior)[own]
        com = payload[1:4] / payload[0] if payload[0] else np.full(3, np.nan)
        return replace(found, beta=beta, about={"payload": payload, "mass": float(payload[0]), "com": com})

    def predict(self, q, v, a) -> np.ndarray:
        return super().predict(q, v, a) + self._known_forces(self.sought_, q, v, a)
