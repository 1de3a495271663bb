"""Poses as seven numbers, x y z qx qy qz qw, from rotation matrices and back; leading axes are a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from appell.show.scene.scene import AT_ORIGIN

CHORD = 1e-6  # rad: half an angle up to which a chord is an arc


def quaternions(R: np.ndarray) -> np.ndarray:
    """(..., 3, 3) to unit quaternions (..., 4) with qw not negative.

    4 p pᵀ is linear in R; of its columns, each p times a component, the one with the largest component is normalised.
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
    """Axes (..., 3, 3) and origins (..., 3) as poses (..., 7)."""
    return np.concatenate([np.asarray(x, float), quaternions(R)], axis=-1)


def rotations(pose: np.ndarray) -> np.ndarray:
    """The axes (..., 3, 3) of poses (..., 7), or of quaternions (..., 4)."""
    x, y, z, w = np.moveaxis(np.asarray(pose, float)[..., -4:], -1, 0)
    scale = 2.0 / (x * x + y * y + z * z + w * w)
    rows = [
        [1.0 - scale * (y * y + z * z), scale * (x * y - z * w), scale * (x * z + y * w)],
        [scale * (x * y + z * w), 1.0 - scale * (x * x + z * z), scale * (y * z - x * w)],
        [scale * (x * z - y * w), scale * (y * z + x * w), 1.0 - scale * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def turned_to(direction, at: Sequence[float] = AT_ORIGIN) -> tuple[float, ...]:
    """The pose, in that of `at`, whose z axis has a direction there."""
    z = np.asarray(direction, float) / np.linalg.norm(direction)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    own = np.asarray(at, float)
    turn = rotations(own) @ np.column_stack([x, np.cross(z, x), z])
    return tuple(poses(turn, own[:3]).tolist())


def slerp(first: np.ndarray, last: np.ndarray, share) -> tuple[np.ndarray, np.ndarray]:
    """Quaternions (..., 4) a share of the short way from one attitude to another, and the angle of the whole way."""
    cosine = np.einsum("...i,...i->...", first, last)[..., None]
    last = np.where(cosine < 0.0, -last, last)
    half = np.arccos(np.clip(np.abs(cosine), 0.0, 1.0))
    wide = half > CHORD
    sine = np.where(wide, np.sin(half), 1.0)
    one = np.where(wide, np.sin((1.0 - share) * half) / sine, 1.0 - share)
    other = np.where(wide, np.sin(share * half) / sine, share)
    return one * first + other * last, 2.0 * half[..., 0]
