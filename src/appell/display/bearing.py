"""From which side something is looked at: upright, aslant, or face on if everything moves in one plane."""

from __future__ import annotations

import numpy as np

from appell.errors import ArgumentError

AZIMUTH, ELEVATION = -55.0, 20.0  # degrees
ALONG = 0.1  # the part of `up` in a plane below which the plane counts as level, and is seen from above


def bearing(up, flat=None, view: tuple[float, float] | None = None) -> np.ndarray:
    """Right, upwards and towards the viewer as rows: as chosen, else along the normal of a plane, else aslant."""
    up = np.asarray(up, float)
    if view is None and flat is not None:
        return _face_on(np.asarray(flat, float), up)
    try:
        azimuth, elevation = np.radians([float(angle) for angle in (view or (AZIMUTH, ELEVATION))])
    except (TypeError, ValueError):
        raise ArgumentError(f"the view is {view!r}.", expected="(azimuth, elevation) in degrees") from None
    first, second, _ = level_axes(up)
    across = np.cos(azimuth) * first + np.sin(azimuth) * second
    near = np.cos(elevation) * across + np.sin(elevation) * up
    right = np.cross(up, across)
    return np.array([right, np.cross(near, right), near])


def level_axes(up: np.ndarray) -> np.ndarray:
    """A right-handed system with `up` last, its first axis as near to x as can be."""
    first = np.eye(3)[0 if abs(up[0]) < 0.9 else 1]
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(up, first), up])


def _face_on(normal: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Right, up and towards the viewer, for a plane that is looked at from the side or from above."""
    along = up - (up @ normal) * normal
    above = np.linalg.norm(along) < ALONG
    if above:
        _, second, _ = level_axes(up)
        near = normal if normal @ up > 0.0 else -normal
        upward = second - (second @ near) * near
    else:
        near, upward = normal, along
    upward = upward / np.linalg.norm(upward)
    right = np.cross(upward, near)
    if not above and right[np.argmax(np.abs(right))] < 0.0:
        right, near = -right, -near
    return np.array([right, upward, near])
