"""The limits within which a robot is moved: those of its description, and rules where the description has none.

range       of the description; without one, or with lower = upper, ±π about zero (of a mechanism, about its start)  (1)
speed       of the actuator; without one, or with zero, 1.5 rad/s or m/s                                             (2)
torque      of the actuator; without one, or with zero, three times the torque of slow motions anywhere in the ranges,
            plus 5 N m or 20 N                                                                                       (3)

Coordinates of a tree move with the speeds of its actuators; a coordinate of a mechanism can at most cross its range in
one second. Excitation, time-optimal motions, control loops and simulated devices use these limits. Planned motions keep
5 % of speed and torque free for feedback, and 20 % if their accelerations may jump: when a joint with static friction
changes its direction, it falls behind, and needs speed and torque to catch up. Assumed limits are reported as a
`LimitWarning`.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import LimitWarning
from appell.model.system import System

UNLIMITED_RANGE = np.pi  # rad or m on both sides, (1)
DEFAULT_SPEED = 1.5  # rad/s or m/s, (2)
TORQUE_FACTOR = 3.0  # torque of an unknown motor relative to that of slow motions, (3)
TORQUE_RESERVE = {"rad": 5.0, "m": 20.0}  # N m or N that are added to it, (3)
PLANNING_MARGIN = 0.05  # of speed and torque, which a planned motion leaves to feedback; of a range, at both ends
JUMP_SHARE = 0.8  # of speed and torque, used by planned motions whose accelerations may jump
SLOW_SPEED, SLOW_ACCELERATION = 0.5, 2.0  # rad/s or m/s, rad/s² or m/s²
RANDOM_POSES = 400


@dataclass(frozen=True, eq=False)
class WorkingLimits:
    """Finite limits of a system; `assumed` maps "range", "speed" and "torque" to the names that have none described."""

    system: System  # with rigid joints
    lower: np.ndarray  # rad or m, (nq)
    upper: np.ndarray
    velocity: np.ndarray  # rad/s or m/s of the coordinates, (nv)
    speed: np.ndarray  # rad/s or m/s of the actuators, (nu)
    assumed: Mapping[str, tuple[str, ...]]

    @staticmethod
    def of(system: System) -> WorkingLimits:
        """Return the limits of a system by the rules (1) to (3); motors of elastic joints have none of their own."""
        if motors := len(system.elastic_joints):
            rigid, free = WorkingLimits.of(system.rigid), np.full(motors, np.inf)
            lower, upper = np.append(rigid.lower, -free), np.append(rigid.upper, free)
            return replace(rigid, lower=lower, upper=upper, velocity=np.append(rigid.velocity, free))
        lower, upper = coordinate_ranges(system).T
        described = system.limits
        known = (described.speed > 0.0) & np.isfinite(described.speed)
        speed = np.where(known, described.speed, DEFAULT_SPEED)
        velocity = np.minimum(DEFAULT_SPEED, (upper - lower)[: system.nv])
        if system.actuator_names == system.velocity_names:
            velocity = speed
        assumed = {
            "range": _names(system.coordinate_names, (described.lower == lower) & (described.upper == upper)),
            "speed": _names(system.actuator_names, known),
            "torque": _names(system.actuator_names, _known_torque(system)),
        }
        return WorkingLimits(system, lower, upper, velocity, speed, assumed)

    @cached_property
    def torque(self) -> np.ndarray:
        """Torques of the actuators in N m or N, (3)."""
        known = _known_torque(self.system)
        if known.all():
            return self.system.limits.torque
        factor = slow_torques(self.system, reachable_poses(self.system)[0])
        reserve = np.array([TORQUE_RESERVE[unit] for unit in self.system.actuator_units])
        return np.where(known, self.system.limits.torque, TORQUE_FACTOR * factor + reserve)

    def warn(self, kinds: Collection[str] = ("range", "speed", "torque"), stacklevel: int = 3) -> None:
        """Issue one `LimitWarning` per kind of limit that is used and assumed; it names the joints."""
        rules = {
            "range": f"±{UNLIMITED_RANGE:.3g} rad or m",
            "speed": f"{DEFAULT_SPEED:g} rad/s or m/s",
            "torque": f"{TORQUE_FACTOR:g} times the torque of slow motions",
        }
        for kind in kinds:
            if names := self.assumed[kind]:
                text = f"{self.system.owner} describes no {kind} limit of {_listed(names)}; assumed: {rules[kind]}."
                warnings.warn(text, LimitWarning, stacklevel=stacklevel)


def coordinate_ranges(system: System) -> np.ndarray:
    """Return lower and upper limits of every coordinate, (nq, 2), by rule (1)."""
    middle = system.start if system.is_closed_form else np.zeros(system.nq)
    default = np.column_stack([middle - UNLIMITED_RANGE, middle + UNLIMITED_RANGE])
    ranges = np.array(system.ranges, float).reshape(-1, 2)
    ranges = np.where(np.isfinite(ranges), ranges, default)
    return np.where((ranges[:, :1] < ranges[:, 1:]), ranges, default)


def _known_torque(system: System) -> np.ndarray:
    torque = system.limits.torque
    return (torque > 0.0) & np.isfinite(torque)


def _names(names: tuple[str, ...], known: np.ndarray) -> tuple[str, ...]:
    return tuple(name for name, is_known in zip(names, known, strict=True) if not is_known)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} others" if len(names) > 4 else "")


def reachable_poses(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Return reachable poses throughout the ranges, corners first, and the positions of the actuators there."""
    lower, upper = coordinate_ranges(system).T
    rng = np.random.default_rng(0)
    if not system.is_closed_form:
        poses = rng.uniform(lower, upper, (RANDOM_POSES, system.nq))
        return poses, np.array([lower, upper])
    corners = np.array(np.meshgrid(*([0.0, 1.0],) * system.nq)).reshape(system.nq, -1).T
    shares = np.vstack([corners, rng.random((RANDOM_POSES, system.nq))])
    poses = lower + (upper - lower) * shares
    dyn = Dynamics(system)
    with np.errstate(invalid="ignore"):
        theta, first = dyn.actuator_positions(poses), dyn.actuator_positions(system.start)
    revolution = np.where(np.array(system.actuator_units) == "rad", 2.0 * np.pi, np.inf)
    theta = theta - revolution * np.round((theta - first) / revolution) if np.isfinite(revolution).any() else theta
    good = np.isfinite(theta).all(axis=1)
    return poses[good], theta[good]


def slow_torques(system: System, poses: np.ndarray) -> np.ndarray:
    """Return the 99th percentile of every actuator's torque in slow motions through the poses."""
    rng = np.random.default_rng(1)
    v, a = (size * rng.choice([-1.0, 1.0], poses.shape) for size in (SLOW_SPEED, SLOW_ACCELERATION))
    with np.errstate(invalid="ignore"):
        tau = np.abs(Dynamics(system, friction=True, rotors=True).inverse_dynamics(poses, v, a))
    return np.percentile(tau[np.isfinite(tau).all(axis=1)], 99.0, axis=0)
