"""Conversions between poses as seven numbers, x y z qx qy qz qw, and rotation matrices; leading axes are a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.show.scene.scene import AT_ORIGIN

LINEAR_ANGLE_RAD = 1e-6  # half angle below which interpolation is linear


def quaternions(R: np.ndarray) -> np.ndarray:
    """Convert rotation matrices (..., 3, 3) to unit quaternions (..., 4) with qw ≥ 0.

    4 p pᵀ is linear in R. Each of its rows is p times a component; the row with the largest component is normalised.
    """
    R = np.asarray(R, float)
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    x, y, z = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, xz, yz = R[..., 0, 1] + R[..., 1, 0], R[..., 0, 2] + R[..., 2, 0], R[..., 1, 2] + R[..., 2, 1]
    rows = [
        [1.0 + xx - yy - zz, xy, xz, x],
        [xy, 1.0 - xx + yy - zz, yz, y],
        [xz, yz, 1.0 - xx - yy + zz, z],
        [x, y, z, 1.0 + xx + yy + zz],
    ]
    outer = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    best = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    p = np.take_along_axis(outer, best[..., None, None], axis=-2)[..., 0, :]
    p = p / np.linalg.norm(p, axis=-1, keepdims=True)
    return np.where(p[..., 3:] < 0.0, -p, p)


def poses(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the poses (..., 7) with rotations (..., 3, 3) and origins (..., 3)."""
    return np.concatenate([np.asarray(x, float), quaternions(R)], axis=-1)


def rotations(pose: np.ndarray) -> np.ndarray:
    """Return the rotation matrices (..., 3, 3) of poses (..., 7) or of quaternions (..., 4)."""
    x, y, z, w = np.moveaxis(np.asarray(pose, float)[..., -4:], -1, 0)
    scale = 2.0 / (x * x + y * y + z * z + w * w)
    rows = [
        [1.0 - scale * (y * y + z * z), scale * (x * y - z * w), scale * (x * z + y * w)],
        [scale * (x * y + z * w), 1.0 - scale * (x * x + z * z), scale * (y * z - x * w)],
        [scale * (x * z - y * w), scale * (y * z + x * w), 1.0 - scale * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def pose_along(direction, at: Sequence[float] = AT_ORIGIN) -> tuple[float, ...]:
    """Return the pose with the origin of pose `at` whose z axis points along a direction given in the axes of `at`."""
    z = np.asarray(direction, float) / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    base = np.asarray(at, float)
    R = rotations(base) @ np.column_stack([x, np.cross(z, x), z])
    return tuple(poses(R, base[:3]).tolist())


def slerp(first: np.ndarray, last: np.ndarray, share) -> tuple[np.ndarray, np.ndarray]:
    """Interpolate quaternions (..., 4) along the shorter rotation.

    `share` is 0 at the first and 1 at the last quaternion. Returns the quaternions (..., 4) and the angle (...) of the
    full rotation in rad.
    """
    cosine = np.einsum("...i,...i->...", first, last)[..., None]
    last = np.where(cosine < 0.0, -last, last)
    half = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    wide = half > LINEAR_ANGLE_RAD
    sine = np.where(wide, np.sin(half), 1.0)
    one = np.where(wide, np.sin((1.0 - share) * half) / sine, 1.0 - share)
    other = np.where(wide, np.sin(share * half) / sine, share)
    return one * first + other * last, 2.0 * half[..., 0]
