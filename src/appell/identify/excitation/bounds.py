"""Limits of an exciting motion.

A limit that must hold at all instants becomes one smooth constraint, the Kreisselmeier-Steinhauser envelope

    KS(x) = max x + log Σ exp ρ(x - max x) / ρ     ≥ max x                                                       (1)

of the samples. The optimiser then has few constraints per joint, with exact gradients, and because of the inequality in
(1) a motion that satisfies them satisfies the limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from appell.dynamics.margins import Margin, has_pairs, margin_of
from appell.errors import ArgumentError
from appell.model.collision import MARGIN_M, Pair
from appell.model.system import System
from appell.motion.working_limits import PLANNING_MARGIN, WorkingLimits

SHARPNESS = 60.0  # ρ, for quantities divided by their limit
RISE_TIME_S = 0.4  # in which a coordinate may reach its maximum speed, if no acceleration limit is given
COORDINATE = ("lower", "upper", "velocity", "acceleration")
ACTUATOR = ("speed", "torque")
LIMITS = (*COORDINATE, *ACTUATOR)


@dataclass(frozen=True, eq=False)
class MotionBounds:
    """Limits of coordinates, actuators and frames, in rad, m, s, N m and N.

    `workspace` maps the name of a frame to a box in the world that its origin must stay in, ((x, y, z), (x, y, z)) with
    the lower corner first. `clearance` is the distance, as a fraction of half its range, that the length of every leg
    of a mechanism keeps from both ends of that range. `margin` has the pairs of collision shapes that keep a distance.
    """

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    speed: np.ndarray  # of the actuators
    torque: np.ndarray  # of the actuators, at rest
    no_load_speed: np.ndarray  # of the actuators, at which no torque is left in the direction of motion
    workspace: Mapping[str, tuple] = field(default_factory=dict)
    clearance: float = 0.1
    margin: Margin | None = None

    @staticmethod
    def of(
        system: System,
        *,
        margin: float | None = MARGIN_M,
        pairs: Iterable[Pair] | None = None,
        reserve: float = PLANNING_MARGIN,
        working: WorkingLimits | None = None,
        workspace=None,
        clearance: float = 0.1,
        **given,
    ) -> MotionBounds:
        """Return the limits of a system, with given ones replaced.

        Parameters
        ----------
        system : a tree whose joints have one axis each, or a mechanism in closed form
        margin : float, optional
            Distance in m between collision shapes, those of the world included. Pairs that are always close (see
            `motion.check_margin`) must only not touch. None, or a robot without collision shapes: not checked.
        pairs : iterable of (str, str), optional
            Pairs of shapes or links that keep the margin; by default those of `robot.collision_pairs`.
        reserve : fraction of a range that is kept free at both ends, and by which speed and torque limits are reduced
        working : limits of the system; by default those of its description, and assumed ones with a `LimitWarning`
        workspace, clearance
            As described for the class.
        **given
            `lower`, `upper`, `velocity`, `acceleration` (one number, or one per coordinate), `speed`, `torque` (one
            number, or one per actuator); np.inf removes a limit. None and missing limits are those of `working`, and
            velocity / 0.4 s for accelerations.

        Examples
        --------
        >>> import appell as ap
        >>> bounds = ap.identify.MotionBounds.of(ap.load("puma"), velocity=1.0)
        >>> bounds.velocity.tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        """
        if system.is_constrained:
            raise ArgumentError(
                f"{system.owner} has constraints, which a Fourier series in all coordinates would violate.",
                expected="a tree, or a mechanism in closed form",
                hint="Use ap.motion.lift(robot, Fourier(...)) for a series in the independent joints.",
            )
        if not system.is_flat:
            raise ArgumentError(
                f"{system.owner} has joints with several axes, whose motion is not a Fourier series.",
                expected="a robot whose joints are revolute, continuous or prismatic, or a mechanism",
            )
        at_joints = system.actuator_names == system.velocity_names
        if working is None:
            working, missing = WorkingLimits.of(system), [name for name in LIMITS if given.get(name) is None]
            used = {"range": ("lower", "upper"), "speed": ("velocity",) if at_joints else (), "torque": ("torque",)}
            working.warn([kind for kind, names in used.items() if any(name in missing for name in names)])
        free = reserve * (working.upper - working.lower)
        limits = {
            "lower": working.lower + free,
            "upper": working.upper - free,
            "velocity": working.velocity * (1.0 - reserve) if at_joints else working.velocity,
            "speed": (1.0 - reserve) * np.where(system.limits.speed > 0.0, system.limits.speed, working.speed),
            "torque": (1.0 - reserve) * (working.torque if given.get("torque") is None else np.inf),
            "no_load_speed": np.array([x.no_load_speed or np.inf for x in system.actuators]),
        }
        for name, value in given.items():
            if name not in LIMITS:
                raise ArgumentError(f"'{name}' is not a limit of a motion.", expected=", ".join(LIMITS))
            if value is not None:
                limits[name] = _each(name, value, system.nu if name in ACTUATOR else system.nv)
        limits.setdefault("acceleration", limits["velocity"] / RISE_TIME_S)
        is_checked = pairs is not None or has_pairs(system)
        limits["margin"] = None if margin is None or not is_checked else margin_of(system, margin, pairs)
        bounds = MotionBounds(**limits, workspace=dict(workspace or {}), clearance=clearance)
        bounds.check(system)
        return bounds

    def check(self, system: System) -> None:
        """Raise an ArgumentError if a limit is not valid for the system."""
        for k, name in enumerate(system.coordinate_names):
            if not self.lower[k] < self.upper[k]:
                raise ArgumentError(
                    f"the range of '{name}' is {self.lower[k]:g} to {self.upper[k]:g}.", expected="lower < upper"
                )
        names = dict.fromkeys(COORDINATE[2:], system.velocity_names) | dict.fromkeys(ACTUATOR, system.actuator_names)
        for what, owners in names.items():
            for name, limit in zip(owners, getattr(self, what), strict=True):
                if not limit > 0.0:
                    raise ArgumentError(f"'{name}' has {what} limit {limit:g}.", expected="a positive number")
        if not 0.0 <= self.clearance < 1.0:
            raise ArgumentError(f"the clearance is {self.clearance:g}.", expected="a fraction, at least 0 and below 1")
        for frame, box in self.workspace.items():
            system.frame(frame)
            lower, upper = (np.asarray(corner, float) for corner in box)
            if lower.shape != (3,) or upper.shape != (3,) or not np.all(lower < upper):
                raise ArgumentError(
                    f"the workspace of frame '{frame}' is {box}.", expected="two corners (x, y, z), lower first"
                )


def envelope(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (1) over the first axis, and its derivative with respect to the values."""
    top = values.max(axis=0)
    weights = np.exp(SHARPNESS * (values - top))
    total = weights.sum(axis=0)
    return top + np.log(total) / SHARPNESS, weights / total


def _each(name: str, value, n: int) -> np.ndarray:
    try:
        return np.broadcast_to(np.asarray(value, float), (n,)).copy()
    except ValueError:
        raise ArgumentError(f"{name} has shape {np.shape(value)}.", expected=f"one number, or {n} numbers") from None
