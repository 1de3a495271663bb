"""Convert results of Pinocchio to the order of rows and columns of appell."""

from __future__ import annotations

import numpy as np

from appell_lab.bench.subject import Twin

TRIANGULAR = {  # positions of results of which Pinocchio fills only the upper triangle
    "mass_matrix": (0,),
    "inverse_dynamics_derivatives": (2,),
    "forward_dynamics_derivatives": (2,),
}


def arranged(twin: Twin, quantity: str, position: int, samples: np.ndarray) -> np.ndarray:
    """Return one result of a batch in the order of appell.

    Parameters
    ----------
    twin : the robot in Pinocchio
    quantity : name of the function
    position : position of the result among the results of the function
    samples : results of Pinocchio, samples first
    """
    if position in TRIANGULAR.get(quantity, ()):
        upper = np.triu(samples)
        samples = upper + np.swapaxes(np.triu(samples, 1), -1, -2)
    samples = samples[:, twin.order]
    if quantity == "regressor":
        links = [twin.model.getJointId(link.joint.name) - 1 for link in twin.robot.links]
        return samples[:, :, [10 * link + k for link in links for k in range(10)]]
    return samples[:, :, twin.order] if samples.ndim == 3 else samples
