"""Cameras and viewpoints of a scene: an oblique view with gravity down, or face on if everything lies in one plane.

Figures use a parallel projection (`ParallelCamera`), so that one scale holds in the whole figure. Movies use a
perspective projection (`PerspectiveCamera`) with a narrow field of view. With the camera at e, its axes as rows (right,
up, near) and the focal length f in pixels, a point p is projected to

    x = cₓ + f r·(p - e) n        y = c_y - f u·(p - e) n        n = -1 / near·(p - e)                       (1)

n is the nearness of the point, the reciprocal of its depth. The camera is placed as close as possible with all points
inside the frame. For points (X, Y, Z) along the camera axes and a frame |x| ≤ k depth, this condition is linear in the
camera position (a, b, d):

    a + k d ≥ max(X + k Z)        -a + k d ≥ max(-X + k Z)                                                   (2)

At the smallest d both hold with equality, which gives a; likewise for Y. The larger d of the two is used.

A planar scene is seen from so far away that the projection is practically parallel and one scale holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError

GRID_LINES = 8  # approximate number of grid lines across the scene
AZIMUTH_DEG, ELEVATION_DEG = -55.0, 20.0  # default viewpoint
MAX_SLOPE_OF_LEVEL_PLANE = 0.1  # component of `up` in a plane below which the plane is seen from above


def view_axes(up, flat=None, view: tuple[float, float] | None = None) -> np.ndarray:
    """Return the camera axes as rows: right, up and towards the viewer.

    Parameters
    ----------
    up : array_like, shape (3,)
        Unit vector opposite to gravity.
    flat : array_like, shape (3,), optional
        Normal of the plane of a planar scene, which is then seen face on unless `view` is given.
    view : tuple of float, optional
        Azimuth and elevation in degrees. The default is an oblique view from above.

    Returns
    -------
    ndarray, shape (3, 3)
    """
    up = np.asarray(up, float)
    if view is None and flat is not None:
        return _face_on(np.asarray(flat, float), up)
    try:
        azimuth, elevation = np.radians([float(angle) for angle in (view or (AZIMUTH_DEG, ELEVATION_DEG))])
    except (TypeError, ValueError):
        raise ArgumentError(f"view is {view!r}.", expected="(azimuth, elevation) in degrees") from None
    first, second, _ = level_axes(up)
    across = np.cos(azimuth) * first + np.sin(azimuth) * second
    near = np.cos(elevation) * across + np.sin(elevation) * up
    right = np.cross(up, across)
    return np.array([right, np.cross(near, right), near])


def grid_step(size: float) -> float:
    """Return the spacing of about GRID_LINES lines across a size, with first digit 1, 2 or 5."""
    power = 10.0 ** math.floor(math.log10(size / GRID_LINES))
    return power * next(k for k in (1.0, 2.0, 5.0, 10.0) if k * power * GRID_LINES >= size * (1.0 - 1e-9))


def level_axes(up: np.ndarray) -> np.ndarray:
    """Return right-handed axes as rows, the last one `up` and the first one as close to x as possible."""
    first = np.eye(3)[0 if abs(up[0]) < 0.9 else 1]
    first = first - (first @ up) * up
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(up, first), up])


def _face_on(normal: np.ndarray, up: np.ndarray) -> np.ndarray:
    """Return the camera axes that show a plane from the side, or from above if it is level."""
    along = up - (up @ normal) * normal
    above = np.linalg.norm(along) < MAX_SLOPE_OF_LEVEL_PLANE
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


FLATNESS_TOLERANCE = 1e-6  # thickness of a planar scene, relative to its size


@dataclass(frozen=True, eq=False)
class ParallelCamera:
    """A parallel projection; rows of `axes` are right, up and towards the viewer, and `up` is opposite to gravity."""

    axes: np.ndarray
    up: np.ndarray
    flat: bool = False

    def project(self, points: np.ndarray) -> np.ndarray:
        """Project world points (..., 3) to coordinates right, up and towards the viewer."""
        return points @ self.axes.T

    @property
    def ground(self) -> np.ndarray:
        """Horizontal axes as the first two rows, up as the last one."""
        return level_axes(self.up)

    @property
    def labels(self) -> tuple[str, str]:
        """World axes that point exactly right and up, such as x or -y; empty strings for other directions."""
        return _axis(self.axes[0]), _axis(self.axes[1])


def upwards(gravity) -> np.ndarray:
    """Return the unit vector opposite to gravity, or z if gravity is zero."""
    g = np.array([*gravity], float)
    size = np.linalg.norm(g)
    return np.array([0.0, 0.0, 1.0]) if size == 0.0 else -g / size


def parallel_camera(points: np.ndarray, gravity, view: tuple[float, float] | None = None) -> ParallelCamera:
    """Return the camera for points (n, 3); `view` is (azimuth, elevation) in degrees."""
    up = upwards(gravity)
    normal = _normal(points) if view is None else None
    if normal is not None:
        return ParallelCamera(view_axes(up, normal), up, flat=True)
    return ParallelCamera(view_axes(up, view=view), up)


def _normal(points: np.ndarray) -> np.ndarray | None:
    """Return the normal of the plane that contains all points; None if they span a volume, a line or a point."""
    _, sizes, axes = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    limit = FLATNESS_TOLERANCE * sizes[0]
    return axes[2] if len(sizes) == 3 and sizes[2] <= limit and sizes[1] > limit else None


def _axis(direction: np.ndarray) -> str:
    k = int(np.argmax(np.abs(direction)))
    exact = abs(abs(direction[k]) - 1.0) < 1e-9
    return ("" if direction[k] > 0.0 else "-") + "xyz"[k] if exact else ""


FIELD_OF_VIEW_DEG, FAR_FIELD_OF_VIEW_DEG = 30.0, 0.005  # vertical field of view; the second is for planar scenes
MIN_SUBJECT_SIZE_M = 0.05  # smaller subjects do not fill the frame
# Triangles nearer to the camera than both limits are clipped: a fraction of the camera distance, and the distance minus
# a multiple of the subject's size.
NEAR_PLANE_FRACTION, NEAR_PLANE_SIZES = 0.05, 8.0


@dataclass(frozen=True, eq=False)
class PerspectiveCamera:
    """A perspective projection to pixels, x to the right and y downwards from the upper left corner."""

    position: np.ndarray  # (3)
    axes: np.ndarray  # (3, 3)
    focal: float
    center: tuple[float, float]
    near: float  # depth of the near clipping plane, in m

    def project(self, points: np.ndarray) -> np.ndarray:
        """Project world points (..., 3) to x, y and nearness (1); NaN behind the camera."""
        right, up, back = ((points.reshape(-1, 3) - self.position) @ self.axes.T).T.reshape(3, *points.shape[:-1])
        with np.errstate(invalid="ignore", divide="ignore"):
            nearness = np.where(back < 0.0, -1.0 / back, np.nan)
        x, y = self.center
        return np.stack([x + self.focal * right * nearness, y - self.focal * up * nearness, nearness], axis=-1)

    def rays(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the viewing directions (..., 3) of pixels in the world, not normalised."""
        right, up, back = self.axes.astype(x.dtype)
        x, y = ((x - self.center[0]) / self.focal)[..., None], ((self.center[1] - y) / self.focal)[..., None]
        return x * right + y * up - back

    def cut(self, corners: np.ndarray, normals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Clip triangles (n, 3, 3) at the near plane.

        Returns the corners and corner normals of the clipped triangles, and the index of the original triangle of each.
        """
        depth = (self.position - corners) @ self.axes[2] - self.near
        inside = depth > 0.0
        count = inside.sum(axis=1)
        unclipped = np.flatnonzero(count == 3)
        pieces = [(corners[unclipped], normals[unclipped], unclipped)]
        for visible, picks in ((1, ((0, 3, 5),)), (2, ((0, 1, 4), (0, 4, 5)))):
            clipped = np.flatnonzero(count == visible)
            if not len(clipped):
                continue
            start = np.argmax(inside[clipped], axis=1) if visible == 1 else np.argmin(inside[clipped], axis=1) + 1
            order = (start[:, None] + np.arange(3)) % 3  # visible corners first, with the same orientation
            d = np.take_along_axis(depth[clipped], order, axis=1)
            ordered = [np.take_along_axis(a[clipped], order[:, :, None], axis=1) for a in (corners, normals)]
            cut_corners, cut_normals = (_with_cuts(values, d) for values in ordered)
            pieces += [(cut_corners[:, pick], cut_normals[:, pick], clipped) for pick in picks]
        if len(pieces) == 1:
            return pieces[0]
        joined = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
        return joined[0], joined[1], joined[2]


def _with_cuts(values: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Return values at three corners, then where the sides 01, 12 and 20 cross the plane of depth 0: (n, 6, 3)."""
    after, behind = np.roll(values, -1, axis=1), np.roll(depth, -1, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        cuts = values + (depth / (depth - behind))[..., None] * (
            after - values
        )  # meaningless for sides that do not cross
    return np.concatenate([values, cuts], axis=1)


def perspective_camera(
    points: np.ndarray, axes: np.ndarray, frame: tuple[float, float, float, float], far: bool = False
) -> PerspectiveCamera:
    """Return the camera that fits all points (n, 3) into a frame.

    Parameters
    ----------
    points : ndarray, shape (n, 3)
        Points in the world that must be visible, in m.
    axes : ndarray, shape (3, 3)
        Camera axes as rows: right, up and towards the viewer.
    frame : tuple of float
        Left, top, right and bottom of the frame in pixels.
    far : bool
        Use a very small field of view, which is practically a parallel projection.
    """
    left, top, right, bottom = frame
    half = np.array([right - left, bottom - top]) / 2.0
    focal = half[1] / np.tan(np.radians(FAR_FIELD_OF_VIEW_DEG if far else FIELD_OF_VIEW_DEG) / 2.0)
    opening = half / focal
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0 if len(points) else np.zeros(3)
    smallest = MIN_SUBJECT_SIZE_M / 2.0 * np.concatenate([np.eye(3), -np.eye(3)])
    seen = np.concatenate([points - middle, smallest]) @ axes.T
    upper = (seen[:, :2] + opening * seen[:, 2:]).max(axis=0)
    lower = (-seen[:, :2] + opening * seen[:, 2:]).max(axis=0)
    distance = float(((upper + lower) / (2.0 * opening)).max())  # (2)
    position = middle + axes.T @ np.array([*((upper - lower) / 2.0), distance])
    center = ((left + right) / 2.0, (top + bottom) / 2.0)
    near = max(NEAR_PLANE_FRACTION * distance, distance - NEAR_PLANE_SIZES * float(np.abs(seen).max()))
    return PerspectiveCamera(position, axes, float(focal), center, near)
