"""Limits of a joint, and the limits of a whole system as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from appell.algebra.scalar import plain

if TYPE_CHECKING:
    from appell.model.system import System


@dataclass(frozen=True)
class Limits:
    """Position limits of a joint with one axis, rad or m; None: unknown. A continuous joint has none."""

    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):  # numbers of NumPy would be written to files as np.float64(...)
            object.__setattr__(self, name, plain(getattr(self, name)))


NO_LIMITS = Limits()


@dataclass(frozen=True, eq=False)
class LimitArrays:
    """Limits of a system as arrays, infinite where unknown: `robot.limits.upper`, `robot.limits.torque`.

    `lower` and `upper` (nq) are positions in the order of q, rad or m; components of quaternions have no limits.
    `speed` (rad/s or m/s) and `torque` (N m or N), both (nu), are limits of the actuators at the joint, in the order of
    tau. In a tree this is the order of v.
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
        speed = np.array([np.inf if actuator.speed is None else actuator.speed for actuator in system.actuators])
        torque = np.array([actuator.torque_limit for actuator in system.actuators])
        return LimitArrays(lower, upper, speed, torque, system.coordinate_names, system.actuator_names)

    def contain(self, q) -> np.ndarray:
        """Whether all coordinates of q (..., nq) are within their limits: one boolean per sample, shape (...)."""
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
