"""What a loop watches: one number a coordinate or actuator, or one for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.control.axes import PerAxis, per_axis, word
from appell.errors import ArgumentError
from appell.model.system import System

_AXES = {"velocity": "coordinate", "following": "coordinate", "potentiometer": "actuator", "torque": "actuator"}


@dataclass(frozen=True)
class Guard:
    """Beyond position, velocity or following error the arm is stopped; torque is never asked for beyond its limit.

    Positions, velocities and following errors are along coordinates, potentiometers and torques at actuators.
    """

    lower: PerAxis
    upper: PerAxis
    velocity: PerAxis = 3.0  # rad/s or m/s
    following: PerAxis = 0.05  # rad or m between reference and arm
    potentiometer: PerAxis = 0.06  # rad or m between encoder and potentiometer
    torque: PerAxis = 100.0  # N m or N

    def of(self, system: System) -> Guard:
        """One number a coordinate or actuator of the system, checked."""
        found = {
            name: per_axis(system, axis, f"limit {name}", getattr(self, name), least=0.0, above=True)
            for name, axis in _AXES.items()
        }
        lower, upper = (
            per_axis(system, "coordinate", f"limit {name}", getattr(self, name)) for name in ("lower", "upper")
        )
        for name, low, high in zip(system.coordinate_names, lower, upper, strict=True):
            if not low < high:
                raise ArgumentError(
                    f"the limits of {word(system, 'coordinate')} '{name}' are {low:g} and {high:g}.",
                    expected="lower < upper",
                )
        return Guard(lower, upper, **found)

    def check_start(self, system: System, q: np.ndarray) -> None:
        """Raise if the arm stands outside its limits."""
        for name, x, low, high in zip(system.coordinate_names, q, self.lower, self.upper, strict=True):
            if not low <= x <= high:
                raise ArgumentError(
                    f"the limits exclude the start: {word(system, 'coordinate')} '{name}' stands at {x:.4g}.",
                    expected=f"between {low:.4g} and {high:.4g}",
                    hint="wider limits, or move the arm by hand",
                )
