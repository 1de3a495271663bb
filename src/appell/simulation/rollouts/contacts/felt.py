"""The mass that is felt where something touches: how hard a unit impulse makes it go, at a few configurations.

    1/m' = mean of  trace(J M⁻¹ Jᵀ) / rank        at a point,  (M⁻¹)ⱼⱼ at a velocity,  D M⁻¹ Dᵀ at a drive          (1)

A point that moves in a plane has rank 2. The configurations are the system's start and random ones, always the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.dynamics import Dynamics
from appell.model.frame import Frame

SAMPLES = 8
STILL = 1e-9  # of the largest


class Felt:
    """Masses at points, velocities and drives of a catalogue, kg or kg m²."""

    def __init__(self, dyn: Dynamics, frames: Sequence[Frame], velocities: Sequence[int]):
        equations, rng = dyn.equations, np.random.default_rng(0)
        found: list[tuple[list[float], list[float], list[float]]] = []
        for k in range(SAMPLES):
            q = dyn.system.random_configuration(rng, within_limits=True) if k else np.array(dyn.system.start)
            inverse = np.array(equations.inverse_mass_matrix(q.tolist()), float)
            motions = equations.point_motions(frames, q.tolist(), [0.0] * dyn.system.nv) if frames else []
            drives = np.array(equations.drive_jacobian(q.tolist()), float).reshape(-1, dyn.system.nv)
            found.append(
                (
                    [_softness(np.array(motion.J, float), inverse) for motion in motions],
                    [float(inverse[j, j]) for j in velocities],
                    [float(row @ inverse @ row) for row in drives],
                )
            )
        self.points, self.velocities, self.drives = (
            [1.0 / float(np.mean(each)) for each in zip(*kind, strict=True)] for kind in zip(*found, strict=True)
        )


def _softness(J: np.ndarray, inverse: np.ndarray) -> float:
    """trace / rank of (1)."""
    sizes = np.linalg.eigvalsh(J @ inverse @ J.T)
    return float(sizes.sum() / max(1, (sizes > STILL * sizes.max()).sum()))
