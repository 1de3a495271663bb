"""Free motion in space: q is position and quaternion, v the linear and angular velocity, both in link axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.model.joints.motion import Motion, Partial
from appell.model.joints.spherical import (
    Spherical,
    quaternion_difference,
    quaternion_rate,
    quaternion_step,
    random_quaternion,
    unit_quaternion,
)


@dataclass(frozen=True)
class Floating(Motion):
    """Moves freely: q is place and quaternion, v linear and angular velocity in link axes."""

    name: ClassVar[str] = "floating"
    coordinates: ClassVar = (("x", "m"), ("y", "m"), ("z", "m"), *Spherical.coordinates)
    velocities: ClassVar = (("vx", "m"), ("vy", "m"), ("vz", "m"), *Spherical.velocities)

    def pose(self, q) -> Pose:
        return Pose(of_quaternion(*q[3:]), Vec3.of(q[:3]))

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (*(Partial(ZERO, unit) for unit in UNITS), *(Partial(unit, ZERO) for unit in UNITS))

    def rate(self, q, v):
        return [*(of_quaternion(*q[3:]) @ Vec3.of(v[:3])), *quaternion_rate(q[3:], v[3:])]

    @property
    def neutral(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)

    def step(self, q, v):
        position, quaternion = q[..., :3], unit_quaternion(q[..., 3:])
        moved = position + turn_by(quaternion, screw_translation(v[..., :3], v[..., 3:]))
        return np.concatenate([moved, quaternion_step(quaternion, v[..., 3:])], axis=-1)

    def difference(self, q0, q1):
        turn = quaternion_difference(q0[..., 3:], q1[..., 3:])
        back = unit_quaternion(q0[..., 3:]) * [-1.0, -1.0, -1.0, 1.0]
        return np.concatenate([screw_velocity(turn_by(back, q1[..., :3] - q0[..., :3]), turn), turn], axis=-1)

    def random(self, rng):
        return np.concatenate([rng.uniform(-1.0, 1.0, 3), random_quaternion(rng)])


def turn_by(quaternion: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """R(q) x for quaternions and vectors along the last axis."""
    axis, w = quaternion[..., :3], quaternion[..., 3:]
    once = np.cross(axis, vector)
    return vector + 2.0 * (w * once + np.cross(axis, once))


def screw_translation(linear: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """Displacement after unit time of a body with constant velocity in its own axes: the integral of exp(t ω̃) v."""
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    tiny = angle < 1e-4
    safe = np.where(tiny, 1.0, angle)
    first = np.where(tiny, 0.5 - angle**2 / 24, (1.0 - np.cos(safe)) / safe**2)
    second = np.where(tiny, 1.0 / 6 - angle**2 / 120, (safe - np.sin(safe)) / safe**3)
    once = np.cross(turn, linear)
    return linear + first * once + second * np.cross(turn, once)


def screw_velocity(moved: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """The linear velocity whose `screw_translation` is `moved`; the turn must be less than a whole one."""
    half = 0.5 * np.linalg.norm(turn, axis=-1, keepdims=True)
    tiny = half < 1e-3
    safe = np.where(tiny, 1.0, half)
    second = np.where(tiny, 1.0 / 12 + half**2 / 180, (1.0 - safe / np.tan(safe)) / (4.0 * safe**2))
    once = np.cross(turn, moved)
    return moved - 0.5 * once + second * np.cross(turn, once)
