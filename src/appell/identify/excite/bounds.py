"""What an exciting motion must keep to, and how far a motion is from it.

A limit that holds at all instants is made one smooth number, the Kreisselmeier-Steinhauser envelope of the samples,

    KS(x) = max x + log Σ exp ρ(x - max x) / ρ     ≥ max x                                                       (1)

so that an optimiser sees a few constraints a joint with exact gradients, and a motion it calls feasible is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from appell.errors import ArgumentError
from appell.identify.model import Model

SHARPNESS = 60.0  # ρ, for quantities divided by their limit
DEFAULT_VELOCITY = 1.5  # rad/s or m/s, where the description has no limit
RISE = 0.4  # seconds in which a joint may reach its top speed, where no acceleration is given


@dataclass(frozen=True, eq=False)
class Bounds:
    """Limits, one number a joint; `workspace` maps a frame to the corners of a box in the world, (lower, upper)."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    torque: np.ndarray
    workspace: Mapping[str, tuple] = field(default_factory=dict)

    @staticmethod
    def of(model: Model, *, margin: float = 0.05, workspace=None, **given) -> Bounds:
        """Those given (a number for all joints, or one each), else the robot's own less a margin, else ±π and 1.5/s."""
        n = model.nv
        if not model.is_flat:
            raise ArgumentError(
                f"'{model.name}' has joints that are not of one axis, which a series of sines does not describe.",
                expected="a robot whose joints are revolute, continuous or prismatic",
            )
        found = {"lower": np.full(n, -np.pi), "upper": np.full(n, np.pi), "velocity": np.full(n, DEFAULT_VELOCITY)}
        found["torque"] = np.full(n, np.inf)
        for k, link in enumerate(model.robot.moving if model.robot else ()):
            for name, key in (("lower", "lower"), ("upper", "upper"), ("velocity", "velocity"), ("effort", "torque")):
                value = getattr(link.joint.limits, name)
                if value is not None:
                    found[key][k] = value
        span = found["upper"] - found["lower"]
        found["lower"], found["upper"] = found["lower"] + margin * span, found["upper"] - margin * span
        for name in ("velocity", "torque"):
            found[name] = (1.0 - margin) * found[name]
        for name, value in given.items():
            if name not in ("lower", "upper", "velocity", "acceleration", "torque"):
                raise ArgumentError(
                    f"'{name}' is no limit of a motion.", expected="lower, upper, velocity, acceleration, torque"
                )
            if value is not None:
                found[name] = _each(name, value, n)
        found.setdefault("acceleration", found["velocity"] / RISE)
        bounds = Bounds(**found, workspace=dict(workspace or {}))
        bounds.check(model)
        return bounds

    def check(self, model: Model) -> None:
        for k, name in enumerate(model.velocity_names):
            if not self.lower[k] < self.upper[k]:
                raise ArgumentError(
                    f"joint '{name}' may move from {self.lower[k]:g} to {self.upper[k]:g}.", expected="room"
                )
            for what in ("velocity", "acceleration", "torque"):
                if not getattr(self, what)[k] > 0.0:
                    raise ArgumentError(
                        f"joint '{name}' has {what} limit {getattr(self, what)[k]:g}.", expected="more than 0"
                    )
        for frame, box in self.workspace.items():
            if model.robot is None:
                raise ArgumentError("a workspace box needs a tree robot.")
            model.robot.frame(frame)
            lower, upper = (np.asarray(corner, float) for corner in box)
            if lower.shape != (3,) or upper.shape != (3,) or not np.all(lower < upper):
                raise ArgumentError(
                    f"the box of frame '{frame}' is {box}.", expected="two corners (x, y, z), lower first"
                )


def envelope(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(1) over the first axis, and its derivative by the values."""
    top = values.max(axis=0)
    weights = np.exp(SHARPNESS * (values - top))
    total = weights.sum(axis=0)
    return top + np.log(total) / SHARPNESS, weights / total


def _each(name: str, value, n: int) -> np.ndarray:
    try:
        return np.broadcast_to(np.asarray(value, float), (n,)).copy()
    except ValueError:
        raise ArgumentError(f"{name} has shape {np.shape(value)}.", expected=f"a number, or {n}, one a joint") from None
