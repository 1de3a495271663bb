"""Pinocchio's results in our order of rows and columns."""

from __future__ import annotations

import numpy as np

from appell_lab.bench.subject import Twin

TRIANGULAR = {  # results of which Pinocchio fills the upper triangle only
    "mass_matrix": (0,),
    "inverse_dynamics_derivatives": (2,),
    "forward_dynamics_derivatives": (2,),
}


def arranged(twin: Twin, quantity: str, position: int, samples: np.ndarray) -> np.ndarray:
    """One result of a batch, samples first."""
    if position in TRIANGULAR.get(quantity, ()):
        upper = np.triu(samples)
        samples = upper + np.swapaxes(np.triu(samples, 1), -1, -2)
    samples = samples[:, twin.order]
    if quantity == "regressor":
        links = [twin.model.getJointId(link.joint.name) - 1 for link in twin.robot.links]
        return samples[:, :, [10 * link + k for link in links for k in range(10)]]
    return samples[:, :, twin.order] if samples.ndim == 3 else samples
