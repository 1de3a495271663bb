"""Motion in the x-y plane of the joint: q = (x, y, angle), v the two linear and the angular velocity in link axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from appell.algebra.rotation import Pose, about_axis
from appell.algebra.scalar import cos, sin
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.model.joints.floating import screw_translation, screw_velocity
from appell.model.joints.motion import Motion, Partial


@dataclass(frozen=True)
class Planar(Motion):
    """Moves in the x-y plane: q = (x, y, angle), v the velocities in link axes."""

    name: ClassVar[str] = "planar"
    coordinates: ClassVar = (("x", "m"), ("y", "m"), ("angle", "rad"))
    velocities: ClassVar = (("vx", "m"), ("vy", "m"), ("w", "rad"))

    def pose(self, q) -> Pose:
        return Pose(about_axis(UNITS[2], q[2]), Vec3(q[0], q[1], 0.0))

    @property
    def partials(self) -> tuple[Partial, ...]:
        return (Partial(ZERO, UNITS[0]), Partial(ZERO, UNITS[1]), Partial(UNITS[2], ZERO))

    def rate(self, q, v):
        c, s = cos(q[2]), sin(q[2])
        return [c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]]

    @property
    def neutral(self) -> tuple[float, ...]:
        return (0.0, 0.0, 0.0)

    def step(self, q, v):
        flat = np.zeros((*v.shape[:-1], 1))
        moved = screw_translation(np.concatenate([v[..., :2], flat], -1), np.concatenate([flat, flat, v[..., 2:]], -1))
        c, s = np.cos(q[..., 2]), np.sin(q[..., 2])
        x = q[..., 0] + c * moved[..., 0] - s * moved[..., 1]
        y = q[..., 1] + s * moved[..., 0] + c * moved[..., 1]
        return np.stack([x, y, q[..., 2] + v[..., 2]], axis=-1)

    def difference(self, q0, q1):
        c, s, d = np.cos(q0[..., 2]), np.sin(q0[..., 2]), q1 - q0
        turn, flat = np.remainder(d[..., 2] + np.pi, 2.0 * np.pi) - np.pi, np.zeros_like(c)
        moved = np.stack([c * d[..., 0] + s * d[..., 1], c * d[..., 1] - s * d[..., 0], flat], axis=-1)
        velocity = screw_velocity(moved, np.stack([flat, flat, turn], axis=-1))
        return np.concatenate([velocity[..., :2], turn[..., None]], axis=-1)

    def random(self, rng):
        return np.concatenate([rng.uniform(-1.0, 1.0, 2), rng.uniform(-np.pi, np.pi, 1)])
