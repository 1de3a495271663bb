"""Drives with dry friction: their Jacobian, velocities and accelerations.

    θ̇ = D v        θ̈ = D a + Ḋ v                                                                            (1)

While a drive slides, its direction s = ±1 replaces sign θ̇ in the equations of motion. A drive that sticks (s = 0) is a
constraint: its row of D, with a force that does not exceed the static friction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics


class Drives:
    """The drives of a `Dynamics` that have dry friction; none if its friction is switched off."""

    def __init__(self, dyn: Dynamics):
        equations = dyn.equations
        self.dyn, self.index = dyn, equations.dry_drives
        self.dry = dry = [equations.drives[k] for k in self.index]
        self.names = [drive.name for drive in dry]
        self.level = np.array([float(drive.actuator.friction.level(0.0)) for drive in dry])  # static, N m or N

    def levels(self, rates: np.ndarray) -> list[float]:
        """Return the dry friction at these drive velocities, N m or N."""
        return [float(drive.actuator.friction.level(abs(rate))) for drive, rate in zip(self.dry, rates, strict=True)]

    def __len__(self) -> int:
        return len(self.index)

    @cached_property
    def motion(self) -> Function:
        """Function of (q, v): D, θ̇ and Ḋ v of (1)."""

        def body(equations, q, v):
            D, rate = equations.drive_jacobian(q), equations.drive_rates(q, v)
            drift = equations.drive_accelerations(q, v, [0.0] * len(v))
            return {
                "D": [D[k] for k in self.index],
                "rate": [rate[k] for k in self.index],
                "drift": [drift[k] for k in self.index],
            }

        return self._function("drives", body, "Jacobian, velocities and drift of the dry drives.")

    @cached_property
    def rates(self) -> Function:
        """Function of (q, v): θ̇, for batches."""

        def body(equations, q, v):
            rate = equations.drive_rates(q, v)
            return {"rate": [rate[k] for k in self.index]}

        return self._function("drive_rates", body, "Velocities of the dry drives.")

    @cached_property
    def axis(self) -> np.ndarray:
        """Index of the only velocity that moves a drive, if its row of D has one structural entry; else -1."""

        def body(equations, q):
            D = equations.drive_jacobian(q)
            return {"D": [D[k] for k in self.index]}

        entries = ~self._function("drive_rows", body).structural_zeros
        return np.where(entries.sum(axis=1) == 1, entries.argmax(axis=1), -1)

    def _function(self, name: str, body: Callable[..., dict], doc: str = "") -> Function:
        return self.dyn.named((name,), lambda: self.dyn.function(name, body, doc, inertial=False))
