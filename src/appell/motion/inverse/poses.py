"""Poses as users give them: 4x4 matrices with any batch axes, checked before anything is computed."""

from __future__ import annotations

import numpy as np

from appell.errors import ArgumentError, ModelError
from appell.model.robot import Robot

TURN_TOLERANCE = 1e-6  # what a rotation may miss in RᵀR = 1; text files round


def checked_poses(pose, name: str = "pose") -> np.ndarray:
    """The pose as an array of floats (..., 4, 4), or the first that is no pose. NaN passes: it asks for nothing."""
    T = np.asarray(pose, float)
    if T.shape[-2:] != (4, 4):
        raise ArgumentError(
            f"{name} has shape {T.shape}.", expected="4x4 matrices in the last two axes, after any batch axes"
        )
    R = T[..., :3, :3]
    miss = np.abs(np.einsum("...ki,...kj->...ij", R, R) - np.eye(3)).max(axis=(-2, -1))
    mirrored = np.einsum("...i,...i->...", R[..., 0], np.cross(R[..., 1], R[..., 2])) < 0.0
    wrong = (miss > TURN_TOLERANCE) | mirrored
    if wrong.any():
        where = tuple(int(k) for k in np.argwhere(wrong)[0])
        at = f"{name}[{', '.join(map(str, where))}]" if where else name
        kind = "mirrors" if mirrored[where] else f"misses RᵀR = 1 by {miss[where]:.3g}"
        raise ArgumentError(f"the upper left 3x3 block of {at} {kind}.", expected="a rotation matrix")
    return T


def default_frame(robot: Robot) -> str:
    """'tool' if the robot has a frame of that name, else its last link if it is a chain."""
    if "tool" in robot.frame_names:
        return "tool"
    parents = [link.parent for link in robot.links]
    ends = [link.name for link in robot.links if link.name not in parents]
    if len(ends) != 1:
        raise ModelError(
            f"robot '{robot.name}' has no frame 'tool' and {len(ends)} ends: {', '.join(ends)}.",
            hint="name the frame that is to be brought to the pose",
        )
    return ends[0]
