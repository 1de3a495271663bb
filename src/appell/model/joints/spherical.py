"""Rotation about a point: q is a quaternion (x, y, z, w), v the angular velocity in link axes.

The two are tied by q̇ = ½ q ⊗ (ω, 0).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.linalg import norm

from appell.algebra.rotation import Pose, of_quaternion
from appell.algebra.vector import UNITS, ZERO
from appell.model.joints.motion import Motion, Partial


@dataclass(frozen=True)
class Spherical(Motion):
    """Turns about a point: q is a quaternion (x, y, z, w), v the angular velocity in link axes."""

    name: ClassVar[str] = "spherical"
    coordinates: ClassVar = (("qx", "1"), ("qy", "1"), ("qz", "1"), ("qw", "1"))
    velocities: ClassVar = (("wx", "rad"), ("wy", "rad"), ("wz", "rad"))

    def pose(self, q) -> Pose:
        return Pose(of_quaternion(*q), ZERO)

    @property
    def partials(self) -> tuple[Partial, ...]:
        return tuple(Partial(unit, ZERO) for unit in UNITS)

    def rate(self, q, v):
        return quaternion_rate(q, v)

    @property
    def neutral(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0, 1.0)

    def step(self, q, v):
        return quaternion_step(q, v)

    def difference(self, q0, q1):
        return quaternion_difference(q0, q1)

    def random(self, rng):
        return random_quaternion(rng)


def quaternion_rate(q, omega):
    """q̇ of a quaternion for an angular velocity in body axes."""
    x, y, z, w = q
    wx, wy, wz = omega
    return [
        0.5 * (w * wx + y * wz - z * wy),
        0.5 * (w * wy + z * wx - x * wz),
        0.5 * (w * wz + x * wy - y * wx),
        -0.5 * (x * wx + y * wy + z * wz),
    ]


def quaternion_step(q: np.ndarray, turn: np.ndarray) -> np.ndarray:
    """q ⊗ exp(turn / 2), of unit length; `turn` is a rotation vector in body axes."""
    angle = norm(turn, axis=-1, keepdims=True)
    scaled = 0.5 * np.sinc(angle / (2 * np.pi)) * turn
    return unit_quaternion(_product(unit_quaternion(q), np.concatenate([scaled, np.cos(0.5 * angle)], axis=-1)))


def quaternion_difference(q0: np.ndarray, q1: np.ndarray) -> np.ndarray:
    """The rotation vector, in body axes and of length up to π, that leads from q0 to q1."""
    back = unit_quaternion(q0) * [-1.0, -1.0, -1.0, 1.0]
    turn = _product(back, unit_quaternion(q1))
    turn = np.where(turn[..., 3:] < 0.0, -turn, turn)
    sine = norm(turn[..., :3], axis=-1, keepdims=True)
    safe = np.where(sine == 0.0, 1.0, sine)
    return np.where(sine == 0.0, 2.0, 2.0 * np.arctan2(sine, turn[..., 3:]) / safe) * turn[..., :3]


def unit_quaternion(q: np.ndarray) -> np.ndarray:
    """The same turn by a quaternion of unit length, whatever its size is."""
    q = q / np.abs(q).max(axis=-1, keepdims=True)
    return q / norm(q, axis=-1, keepdims=True)


def _product(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """q ⊗ p."""
    x, y, z, w = np.moveaxis(q, -1, 0)
    dx, dy, dz, dw = np.moveaxis(p, -1, 0)
    return np.stack(
        [
            w * dx + x * dw + y * dz - z * dy,
            w * dy - x * dz + y * dw + z * dx,
            w * dz + x * dy - y * dx + z * dw,
            w * dw - x * dx - y * dy - z * dz,
        ],
        axis=-1,
    )


def random_quaternion(rng: np.random.Generator) -> np.ndarray:
    quaternion = rng.normal(size=4)
    return quaternion / norm(quaternion)
