"""Roll, pitch and yaw of a rotation, and whether they reproduce it exactly.

    R = Rz(yaw) Ry(pitch) Rx(roll),    R₃₁ = -sin pitch,    (R₃₂, R₃₃) = cos pitch (sin roll, cos roll)

Yaw is taken from R Rx(-roll), whose second column is (-sin yaw, cos yaw, 0); this stays accurate where cos pitch is 0.
"""

from __future__ import annotations

import math

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import atan2, cos, sin
from appell.algebra.vector import Vec3


def rpy_of(rotation: Mat3) -> Vec3:
    """Return roll, pitch and yaw about the fixed axes x, y and z, rad, which give the rotation up to rounding."""
    R = rotation
    level = math.hypot(R[2, 1], R[2, 2])
    roll = atan2(R[2, 1], R[2, 2]) if level > 0.0 else 0.0
    across = R @ Vec3(0.0, cos(roll), -sin(roll))
    return Vec3(roll, atan2(-R[2, 0], level), atan2(-across.x, across.y))


def is_exact(rpy: Vec3, rotation: Mat3) -> bool:
    """Whether these angles give exactly this matrix, bit for bit."""
    return Pose.from_rpy(rpy).rotation == rotation
