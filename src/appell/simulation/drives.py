"""Drives with dry friction: how they move, and the equations of motion with their directions given.

    θ̇ = D v        θ̈ = D a + Ḋ v                                                                            (1)

While a drive slides, its direction s = ±1 stands in the equations in place of sign θ̇. A drive that is held still
(s = 0) is a row of D, at which a force acts that is no larger than the friction at rest.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics


class Drives:
    """The dry drives of a catalogue, none if it counts no friction."""

    def __init__(self, dyn: Dynamics):
        equations = dyn.equations
        self.dyn, self.index = dyn, equations.dry_drives
        self.chosen = chosen = [equations.drives[k] for k in self.index]
        self.names = [drive.name for drive in chosen]
        self.level = np.array([float(drive.actuator.friction.level(0.0)) for drive in chosen])  # at rest, N m or N

    def levels(self, rates: np.ndarray) -> list[float]:
        """The dry friction at these velocities, N m or N."""
        return [float(drive.actuator.friction.level(abs(rate))) for drive, rate in zip(self.chosen, rates, strict=True)]

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def motion(self) -> Function:
        """D, θ̇ and Ḋ v of (1)."""

        def body(equations, q, v):
            D, rate = equations.drive_jacobian(q), equations.drive_rates(q, v)
            drift = equations.drive_accelerations(q, v, [0.0] * len(v))
            return {
                "D": [D[k] for k in self.index],
                "rate": [rate[k] for k in self.index],
                "drift": [drift[k] for k in self.index],
            }

        return self.dyn.function("drives", body, "How the dry drives move.", inertial=False)

    @cached_property
    def rates(self) -> Function:
        """θ̇(q, v), for batches."""

        def body(equations, q, v):
            rate = equations.drive_rates(q, v)
            return {"rate": [rate[k] for k in self.index]}

        return self.dyn.function("drive_rates", body, "How fast the dry drives move.", inertial=False)

    @cached_property
    def axis(self) -> np.ndarray:
        """The velocity that a drive follows alone, where its row of D has one entry whatever q is; -1 elsewhere."""

        def body(equations, q):
            D = equations.drive_jacobian(q)
            return {"D": [D[k] for k in self.index]}

        entries = ~self.dyn.function("drive_rows", body, inertial=False).structural_zeros
        return np.where(entries.sum(axis=1) == 1, entries.argmax(axis=1), -1)
