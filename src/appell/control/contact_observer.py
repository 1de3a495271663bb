"""Detection of contacts by the generalised momentum, without a force sensor (De Luca and Mattone 2005).

The momentum p = M v changes by the torques, by known forces and by those of contacts

    dp/dt = B τ + b + τ_c                     b = Cᵀ v - g - f                                                    (1)

because dM/dt = C + Cᵀ. The residual r follows τ_c with the time constant 1 / `bandwidth`. With the torque held for a
period T,

    r⁺ = r + (1 - exp(-bandwidth T)) ((p⁺ - p) / T - B τ - ½ (b⁺ + b) - r)                                         (2)

Only positions, velocities and the commanded torque are needed, not accelerations. A contact is detected where |r| of a
coordinate exceeds its threshold. Dry friction is subtracted with a smooth sign; what remains of it, and the errors of
the model, bound the smallest threshold, as does noise: `noise_thresholds` computes it from residuals without contact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.scalar import Scalar, dot, maximum, select
from appell.control.axes import PerAxis, per_axis
from appell.errors import ArgumentError, check_number

if TYPE_CHECKING:
    from appell.control.design import Design


@dataclass(frozen=True)
class ContactObserver:
    """Observer of contact forces along the coordinates, for `Design(..., observer=ContactObserver(threshold=2.0))`.

    Parameters
    ----------
    threshold : float or sequence
        Residual of a coordinate above which there is a contact, in N m or N. Data of the compiled step, as `threshold`.
    bandwidth : float
        In 1/s.
    """

    threshold: PerAxis
    bandwidth: float = 50.0

    def __post_init__(self):
        check_number("the bandwidth of the contact observer", self.bandwidth, least=0.0, above=True)

    def thresholds(self, design: Design) -> tuple[float, ...]:
        """Return one threshold per coordinate of a design's model."""
        return per_axis(design.model, "coordinate", "threshold", self.threshold, least=0.0, above=True)

    def blocks(self, design: Design) -> dict[str, int]:
        """Return the sizes of the blocks that a step carries: residual r, p, b, and whether they are known."""
        n = design.model.nv
        return {"residual": n, "momentum": n, "known_forces": n, "observing": 1}

    def step(self, design: Design, q, v, before, blocks: dict[str, Sequence]) -> dict[str, list[Scalar]]:
        """Return the blocks after (2), over abstract scalars; `before` are the torques of the last period."""
        equations, period = design.parts.equations, design.period
        M, C = equations.mass_matrix(q), equations.coriolis(q, v)
        momentum = [dot(row, v) for row in M]
        passive = zip(equations.gravity(q), equations.friction_forces(q, v), strict=True)
        dry = equations.along_coordinates(q, design.dry_friction(q, v))
        columns = [dot(column, v) for column in zip(*C, strict=True)]
        known = [x - (g + f) - d for x, (g, f), d in zip(columns, passive, dry, strict=True)]  # b of (1)
        share = 1.0 - float(np.exp(-self.bandwidth * period))
        (observing,), residual = blocks["observing"], []
        applied = equations.along_coordinates(q, before)
        rows = zip(
            blocks["residual"], momentum, blocks["momentum"], applied, known, blocks["known_forces"], strict=True
        )
        for r, p, p_before, force, b, b_before in rows:
            seen = (p - p_before) / period - force - 0.5 * (b + b_before)
            residual.append(r + select(observing, share * (seen - r), 0.0))  # (2)
        return {"residual": residual, "momentum": momentum, "known_forces": known, "observing": [1.0]}


def excess(residual: Sequence, threshold: Sequence) -> Scalar:
    """Return the largest amount by which a residual exceeds its threshold; positive if there is a contact."""
    return reduce(maximum, [abs(r) - most for r, most in zip(residual, threshold, strict=True)])


def noise_thresholds(residuals: Any, false_alarms: float = 1e-9) -> tuple[float, ...]:
    """Return thresholds from residuals that were recorded without contact, one per coordinate.

    Parameters
    ----------
    residuals : array_like, shape (samples, nv)
        In N m or N, while the arm performs its task.
    false_alarms : float
        Probability that normally distributed noise of the same mean and variance exceeds the threshold in one sample.

    Returns
    -------
    tuple of float
        |mean| + k σ, with the quantile k of the normal distribution.
    """
    samples = np.asarray(residuals, float)
    if samples.ndim != 2 or len(samples) < 100 or not np.isfinite(samples).all():
        raise ArgumentError(f"residuals have shape {samples.shape}.", expected="at least 100 finite rows of nv numbers")
    if not 0.0 < false_alarms < 1.0:
        raise ArgumentError(f"false_alarms is {false_alarms!r}.", expected="a probability between 0 and 1")
    k = NormalDist().inv_cdf(1.0 - 0.5 * false_alarms) if false_alarms > 1e-15 else 8.0
    return tuple((np.abs(samples.mean(axis=0)) + k * samples.std(axis=0)).tolist())
