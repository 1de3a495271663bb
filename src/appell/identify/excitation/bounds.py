"""What an exciting motion must keep to.

A limit that holds at all instants is made one smooth number, the Kreisselmeier-Steinhauser envelope of the samples,

    KS(x) = max x + log Σ exp ρ(x - max x) / ρ     ≥ max x                                                       (1)

so that an optimiser sees a few constraints a joint with exact gradients, and a motion it calls feasible is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from appell.errors import ArgumentError
from appell.model.system import System

SHARPNESS = 60.0  # ρ, for quantities divided by their limit
USUAL = 1.5  # rad or m a second, where the description has no limit
RISE = 0.4  # seconds in which a coordinate may reach its top speed, where no acceleration is given
COORDINATE = ("lower", "upper", "velocity", "acceleration")
ACTUATOR = ("speed", "torque")


@dataclass(frozen=True, eq=False)
class MotionBounds:
    """Limits: of the coordinates, of the actuators, and of places.

    `workspace` maps a frame to the corners of a box in the world, (lower, upper). `clearance` is the share of the way
    from the middle of its reach to the end that every leg of a mechanism must keep.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    speed: np.ndarray  # of the actuators
    torque: np.ndarray
    workspace: Mapping[str, tuple] = field(default_factory=dict)
    clearance: float = 0.1

    @staticmethod
    def of(system: System, *, margin: float = 0.05, workspace=None, clearance: float = 0.1, **given) -> MotionBounds:
        """Those given (a number for all, or one each), else the system's own less a margin, else ±π and 1.5/s.

        MotionBounds.of(load("puma"), velocity=1.0). In a tree, where actuators are coordinates, `velocity` and the
        actuators' speeds are the same; in a mechanism a coordinate without a limit may cross its range in a second.
        """
        if system.is_constrained:
            raise ArgumentError(
                f"{system.owner} has constraints, which a series of sines in all coordinates would break.",
                expected="a tree, or a mechanism in closed form",
                hint="ap.motion.lift(robot, Fourier(...)) for a series of its independent joints",
            )
        if not system.is_flat:
            raise ArgumentError(
                f"{system.owner} has joints that are not of one axis, which a series of sines does not describe.",
                expected="a robot whose joints are revolute, continuous or prismatic, or a mechanism",
            )
        ends = np.array(system.ranges, float)
        lower, upper = np.where(np.isfinite(ends), ends, [-np.pi, np.pi]).T
        room = margin * (upper - lower)
        known = np.array([np.inf if own.speed is None else own.speed for own in system.actuators])
        same = system.actuator_names == system.velocity_names
        usual = np.full(system.nv, USUAL) if same else np.minimum(USUAL, upper - lower)
        found = {
            "lower": lower + room,
            "upper": upper - room,
            "velocity": np.where(np.isfinite(known), known, usual) * (1.0 - margin) if same else usual,
            "speed": (1.0 - margin) * known,
            "torque": (1.0 - margin) * np.array([own.torque_limit for own in system.actuators]),
        }
        for name, value in given.items():
            if name not in (*COORDINATE, *ACTUATOR):
                raise ArgumentError(f"'{name}' is no limit of a motion.", expected=", ".join((*COORDINATE, *ACTUATOR)))
            if value is not None:
                found[name] = _each(name, value, system.nu if name in ACTUATOR else system.nv)
        found.setdefault("acceleration", found["velocity"] / RISE)
        bounds = MotionBounds(**found, workspace=dict(workspace or {}), clearance=clearance)
        bounds.check(system)
        return bounds

    def check(self, system: System) -> None:
        for k, name in enumerate(system.coordinate_names):
            if not self.lower[k] < self.upper[k]:
                raise ArgumentError(f"'{name}' may move from {self.lower[k]:g} to {self.upper[k]:g}.", expected="room")
        names = dict.fromkeys(COORDINATE[2:], system.velocity_names) | dict.fromkeys(ACTUATOR, system.actuator_names)
        for what, owners in names.items():
            for name, limit in zip(owners, getattr(self, what), strict=True):
                if not limit > 0.0:
                    raise ArgumentError(f"'{name}' has {what} limit {limit:g}.", expected="more than 0")
        if not 0.0 <= self.clearance < 1.0:
            raise ArgumentError(f"the clearance is {self.clearance:g}.", expected="a share from 0 to below 1")
        for frame, box in self.workspace.items():
            system.frame(frame)
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
        raise ArgumentError(f"{name} has shape {np.shape(value)}.", expected=f"a number, or {n}, one each") from None
