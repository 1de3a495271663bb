"""The payload: what is held, found as matter added to one link of a robot that is known.

    τ - τ_robot(q, v, a) = Y_link(q, v, a) π_payload                                                              (1)

Ten unknowns at most, in the axes of the link; fewer if the joints cannot tell all ten apart.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from appell.errors import ArgumentError
from appell.identify.base.base import BaseParameters, subset
from appell.identify.estimators.consistent import consistent
from appell.identify.estimators.least_squares import LeastSquares
from appell.identify.model import Model, as_model


class Payload(LeastSquares):
    """Least squares for one link only; the rest of the robot, friction too, is taken as `known` full parameters.

    `link` is the last one by default; `physical` keeps the payload a body that can exist (needs cvxpy).
    """

    title: ClassVar[str] = "payload"

    def __init__(self, robot, *, link=None, known=None, physical=False, **options):
        super().__init__(robot, **options)
        self.link = link
        self.known = known
        self.physical = physical

    def _index(self, model: Model) -> int:
        name = model.link_names[-1] if self.link is None else self.link
        if name not in model.link_names:
            raise ArgumentError(f"'{model.name}' has no link '{name}'.", expected=", ".join(model.link_names))
        return model.link_names.index(name)

    def _base(self) -> BaseParameters:
        whole = self._model()
        bare = as_model(whole.subject)  # friction is known, not sought
        k = self._index(bare)
        columns, matrix = subset(bare, range(10 * k, 10 * k + 10))
        return BaseParameters(bare, columns, matrix, len(columns), None)

    def _offset(self, samples):
        whole = self._model()
        known = whole.nominal if self.known is None else np.asarray(self.known, float)
        return np.asarray(whole.regressor(*samples.motion)) @ known

    def _solve(self, reduced, samples):
        beta, covariance = super()._solve(reduced, samples)
        if self.physical:
            k = self._index(self.model_)
            own = slice(10 * k, 10 * k + 10)
            R = reduced.weighted(self.weights_)
            one = _OneBody(self.model_.link_names[k])
            rows = R[:, :-1] @ self.base_.matrix[:, own]
            full = np.zeros(len(self.model_.columns))
            full[own] = consistent(one, rows, R[:, -1], np.zeros(10))  # type: ignore[arg-type]
            beta = self.base_.values(full)
        return beta, covariance

    def _known(self) -> np.ndarray:
        return np.zeros(len(self.model_.columns)) if self.prior is None else super()._known()

    def _keep(self, beta, covariance, reduced, samples):
        super()._keep(beta, covariance, reduced, samples)
        k = self._index(self.model_)
        self.payload_ = self.parameters_[10 * k : 10 * k + 10]
        self.mass_ = float(self.payload_[0])
        self.com_ = self.payload_[1:4] / self.mass_ if self.mass_ else np.full(3, np.nan)

    def predict(self, q, v, a) -> np.ndarray:
        whole = self._model()
        known = whole.nominal if self.known is None else np.asarray(self.known, float)
        return super().predict(q, v, a) + np.asarray(whole.regressor(q, v, a)) @ known


class _OneBody:
    """A single link, as far as `consistent` asks."""

    robot = None
    columns: tuple = ()

    def __init__(self, name: str):
        self.link_names = (name,)
        self.name = name
