"""What a joint must keep to, and all of it for a whole system, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from appell.model.system import System


@dataclass(frozen=True)
class Limits:
    """Where a one-axis joint must stay (a continuous one may go anywhere); None: not known. Radians or metres."""

    lower: float | None = None
    upper: float | None = None


NO_LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class LimitArrays:
    """Limits of a system, infinite where nothing is known: robot.limits.upper, robot.limits.torque.

    Positions stand in the order of q, rad or m; a part of a quaternion has none. Speeds (rad/s or m/s) and torques
    (N m or N) are those of the actuators, at the joint, in the order of tau, which in a tree is that of v.
    """

    lower: np.ndarray
    upper: np.ndarray
    speed: np.ndarray
    torque: np.ndarray
    coordinate_names: tuple[str, ...]
    actuator_names: tuple[str, ...]

    @staticmethod
    def of(system: System) -> LimitArrays:
        lower, upper = np.array(system.ranges, float).reshape(-1, 2).T.copy()
        speed = np.array([np.inf if own.speed is None else own.speed for own in system.actuators])
        torque = np.array([own.torque_limit for own in system.actuators])
        return LimitArrays(lower, upper, speed, torque, system.coordinate_names, system.actuator_names)

    def contain(self, q) -> np.ndarray:
        """Whether every coordinate of q is within its limits; one answer a sample."""
        q = np.asarray(q, float)
        return ((q >= self.lower) & (q <= self.upper)).all(axis=-1)

    def __str__(self) -> str:
        rows = [
            f"{name:<24} {low:12g} {high:12g}"
            for name, low, high in zip(self.coordinate_names, self.lower, self.upper, strict=True)
        ]
        rows += ["", f"{'actuator':<24} {'speed':>12} {'torque':>12}"]
        rows += [
            f"{name:<24} {speed:12g} {torque:12g}"
            for name, speed, torque in zip(self.actuator_names, self.speed, self.torque, strict=True)
        ]
        return "\n".join([f"{'coordinate':<24} {'lower':>12} {'upper':>12}", *rows])
