"""From where a scene is looked at: upright against gravity, aslant, or face on if everything lies in one plane.

The picture is a parallel projection, so that one scale holds all over it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from appell.display.bearing import bearing, level_axes

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
        return Camera(bearing(up, normal), up, flat=True)
    return Camera(bearing(up, view=view), up)


def _normal(points: np.ndarray) -> np.ndarray | None:
    """The normal of the plane in which all points lie, if there is one and only one."""
    _, sizes, turn = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    return turn[2] if len(sizes) == 3 and sizes[2] <= FLAT * sizes[0] and sizes[1] > FLAT * sizes[0] else None


def _axis(direction: np.ndarray) -> str:
    k = int(np.argmax(np.abs(direction)))
    exact = abs(abs(direction[k]) - 1.0) < 1e-9
    return ("" if direction[k] > 0.0 else "-") + "xyz"[k] if exact else ""
