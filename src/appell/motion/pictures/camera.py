"""From where a scene is looked at: upright against gravity, aslant, or face on if everything lies in one plane.

The picture is a parallel projection, so that one scale holds all over it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError

AZIMUTH, ELEVATION = -55.0, 20.0  # degrees
FLAT = 1e-6  # thickness of a scene in one plane, relative to its size


@dataclass(frozen=True, eq=False)
class Camera:
    """Rows of `axes` are right, upwards and towards the viewer in the world; `up` is against gravity."""

    axes: np.ndarray
    up: np.ndarray
    flat: bool = False

    def project(self, points: np.ndarray) -> np.ndarray:
        """(..., 3) in the world to right, upwards and nearness."""
        return points @ self.axes.T

    @property
    def ground(self) -> np.ndarray:
        """Three directions as rows, the last one up."""
        return level_axes(self.up)

    @property
    def labels(self) -> tuple[str, str]:
        """Which axes of the world go right and up, if they do so exactly: x, -y, ..."""
        return _axis(self.axes[0]), _axis(self.axes[1])


def upwards(gravity) -> np.ndarray:
    """The unit vector against gravity; z if there is none."""
    g = np.array([*gravity], float)
    size = np.linalg.norm(g)
    return np.array([0.0, 0.0, 1.0]) if size == 0.0 else -g / size


def placed(points: np.ndarray, gravity, view: tuple[float, float] | None = None) -> Camera:
    """The camera for a cloud of points (n, 3); `view` is (azimuth, elevation) in degrees."""
    up = upwards(gravity)
    normal = _normal(points) if view is None else None
    if normal is not None:
        return Camera(_face_on(normal, up), up, flat=True)
    try:
        azimuth, elevation = np.radians([float(angle) for angle in (view or (AZIMUTH, ELEVATION))])
    except (TypeError, ValueError):
        raise ArgumentError(f"the view is {view!r}.", expected="(azimuth, elevation) in degrees") from None
    first, second, _ = level_axes(up)
    across = np.cos(azimuth) * first + np.sin(azimuth) * second
    near = np.cos(elevation) * across + np.sin(elevation) * up
    right = np.cross(up, across)
    return Camera(np.array([right, np.cross(near, right), near]), up)


def _normal(points: np.ndarray) -> np.ndarray | None:
    """The normal of the plane in which all points lie, if there is one and only one."""
    _, sizes, turn = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    return turn[2] if len(sizes) == 3 and sizes[2] <= FLAT * sizes[0] and sizes[1] > FLAT * sizes[0] else None


def level_axes(up: np.ndarray) -> np.ndarray:
    """A right-handed system with `up` last, its first axis as near to x as can be."""
    first = np.eye(3)[0 if abs(up[0]) < 0.9 else 1]
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(up, first), up])


def _face_on(normal: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Right, up and towards the viewer, for a plane that is looked at from the side or from above."""
    along = up - (up @ normal) * normal
    if np.linalg.norm(along) < 0.1:
        _, second, _ = level_axes(up)
        near = normal if normal @ up > 0.0 else -normal
        upward = second - (second @ near) * near
    else:
        near, upward = normal, along
    upward = upward / np.linalg.norm(upward)
    right = np.cross(upward, near)
    if np.linalg.norm(along) >= 0.1 and right[np.argmax(np.abs(right))] < 0.0:
        right, near = -right, -near
    return np.array([right, upward, near])


def _axis(direction: np.ndarray) -> str:
    k = int(np.argmax(np.abs(direction)))
    exact = abs(abs(direction[k]) - 1.0) < 1e-9
    return ("" if direction[k] > 0.0 else "-") + "xyz"[k] if exact else ""
