"""The description itself as an estimate: what every fit has to beat on motion that it has not seen."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from appell.identify.estimators.estimator import Estimator


class Described(Estimator):
    """The parameters of the description, whatever the samples are; `fit` may be given none."""

    title: ClassVar[str] = "as described"

    def fit(self, q=None, v=None, a=None, tau=None) -> Self:
        sought = self.described
        self.base_, self.sought_, self.parameters_ = sought.base, sought, self._prior(sought)
        self.base_parameters_ = self.base_.values(self.parameters_)
        self.covariance_ = np.zeros((self.base_.count, self.base_.count))
        self.samples_, self.rank_, self.condition_ = 0, 0, np.inf
        return self
