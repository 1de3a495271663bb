"""The limits that a loop watches, one number a joint or one for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.control.axes import Axes, PerJoint
from appell.errors import ArgumentError

_ABOVE_ZERO = ("velocity", "following", "potentiometer", "torque")


@dataclass(frozen=True)
class Limits:
    """Beyond position, velocity or following error the arm is stopped; torque is never asked for beyond its limit."""

    lower: PerJoint
    upper: PerJoint
    velocity: PerJoint = 3.0  # rad/s
    following: PerJoint = 0.05  # rad between reference and arm
    potentiometer: PerJoint = 0.06  # rad between encoder and potentiometer
    torque: PerJoint = 100.0  # Nm

    def of(self, axes: Axes) -> Limits:
        """One number a joint, checked."""
        found = {
            name: axes.numbers(f"limit {name}", getattr(self, name), least=0.0, above=True) for name in _ABOVE_ZERO
        }
        lower, upper = (axes.numbers(f"limit {name}", getattr(self, name)) for name in ("lower", "upper"))
        for joint, low, high in zip(axes.names, lower, upper, strict=True):
            if not low < high:
                raise ArgumentError(
                    f"the limits of joint '{joint}' are {low:g} and {high:g}.", expected="lower < upper"
                )
        return Limits(lower, upper, **found)

    def check_start(self, axes: Axes, q: np.ndarray) -> None:
        """Raise if the arm stands outside its limits."""
        for joint, x, low, high in zip(axes.names, q, self.lower, self.upper, strict=True):
            if not low <= x <= high:
                raise ArgumentError(
                    f"the limits exclude the start: joint '{joint}' stands at {x:.4g}.",
                    expected=f"between {low:.4g} and {high:.4g}",
                    hint="wider limits, or move the arm by hand",
                )
