"""Where a scene is looked at from: upright against gravity, aslant, or face on if everything lies in one plane.

Figures are drawn in a parallel projection (`ParallelCamera`), so that one scale holds all over them. Films are drawn in
a central projection (`PerspectiveCamera`), as of a long lens. With the camera at e, axes as rows (right, up, near) and
the focal length f in pixels, a point p is at

    x = cₓ + f r·(p - e) n        y = c_y - f u·(p - e) n        n = -1 / near·(p - e)                       (1)

n is its nearness, the reciprocal of its depth. The camera stands as near as it can with all points inside the frame.
For points (X, Y, Z) along the axes and a frame that opens as |x| ≤ k depth, this is linear in its place, (a, b, d):

    a + k d ≥ max(X + k Z)        -a + k d ≥ max(-X + k Z)                                                   (2)

whose least d has a half way between the two; likewise for Y. The larger d of the two counts.

What moves in one plane is seen from so far away that all is at one scale, as good as in a parallel projection.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError

GRID_LINES = 8  # about so many across what is shown
AZIMUTH, ELEVATION = -55.0, 20.0  # degrees
ALONG = 0.1  # the part of `up` in a plane below which the plane counts as level, and is seen from above


def view_axes(up, flat=None, view: tuple[float, float] | None = None) -> np.ndarray:
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


def grid_step(size: float) -> float:
    """The round distance of which about GRID_LINES fit into a size: 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(size / GRID_LINES))
    return power * next(k for k in (1.0, 2.0, 5.0, 10.0) if k * power * GRID_LINES >= size * (1.0 - 1e-9))


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


FLAT = 1e-6  # thickness of a scene in one plane, relative to its size


@dataclass(frozen=True, eq=False)
class ParallelCamera:
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


def parallel_camera(points: np.ndarray, gravity, view: tuple[float, float] | None = None) -> ParallelCamera:
    """The camera for a cloud of points (n, 3); `view` is (azimuth, elevation) in degrees."""
    up = upwards(gravity)
    normal = _normal(points) if view is None else None
    if normal is not None:
        return ParallelCamera(view_axes(up, normal), up, flat=True)
    return ParallelCamera(view_axes(up, view=view), up)


def _normal(points: np.ndarray) -> np.ndarray | None:
    """The normal of the plane in which all points lie, if there is one and only one."""
    _, sizes, turn = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)
    return turn[2] if len(sizes) == 3 and sizes[2] <= FLAT * sizes[0] and sizes[1] > FLAT * sizes[0] else None


def _axis(direction: np.ndarray) -> str:
    k = int(np.argmax(np.abs(direction)))
    exact = abs(abs(direction[k]) - 1.0) < 1e-9
    return ("" if direction[k] > 0.0 else "-") + "xyz"[k] if exact else ""


FIELD, FAR_FIELD = 30.0, 0.005  # degrees: how far the frame opens from below to above, and face on to a plane
SMALLEST = 0.05  # m: the least that fills a frame
NEAREST, BEFORE = 0.05, 8.0  # what is nearer than this part of the distance, and further before it than this many sizes


@dataclass(frozen=True, eq=False)
class PerspectiveCamera:
    """Where the camera is and how it projects to pixels: x to the right and y downwards from the upper left corner."""

    place: np.ndarray  # (3)
    axes: np.ndarray  # (3, 3)
    focal: float
    center: tuple[float, float]
    near: float  # the least depth that is drawn

    def project(self, points: np.ndarray) -> np.ndarray:
        """(..., 3) in the world to x, y and nearness (1); NaN behind the camera."""
        right, up, back = ((points.reshape(-1, 3) - self.place) @ self.axes.T).T.reshape(3, *points.shape[:-1])
        with np.errstate(invalid="ignore", divide="ignore"):
            nearness = np.where(back < 0.0, -1.0 / back, np.nan)
        x, y = self.center
        return np.stack([x + self.focal * right * nearness, y - self.focal * up * nearness, nearness], axis=-1)

    def rays(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Directions in the world (..., 3), not of unit length, in which pixels look."""
        right, up, back = self.axes.astype(x.dtype)
        x, y = ((x - self.center[0]) / self.focal)[..., None], ((self.center[1] - y) / self.focal)[..., None]
        return x * right + y * up - back

    def cut(self, corners: np.ndarray, normals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Triangles before the camera: those that reach behind it are cut; corners, normals, and which they were."""
        depth = (self.place - corners) @ self.axes[2] - self.near
        inside = depth > 0.0
        count = inside.sum(axis=1)
        whole = np.flatnonzero(count == 3)
        pieces = [(corners[whole], normals[whole], whole)]
        for least, picks in ((1, ((0, 3, 5),)), (2, ((0, 1, 4), (0, 4, 5)))):
            found = np.flatnonzero(count == least)
            if not len(found):
                continue
            start = np.argmax(inside[found], axis=1) if least == 1 else np.argmin(inside[found], axis=1) + 1
            order = (start[:, None] + np.arange(3)) % 3  # those before the camera come first, and turn as before
            d = np.take_along_axis(depth[found], order, axis=1)
            own = [_with_cuts(np.take_along_axis(a[found], order[:, :, None], axis=1), d) for a in (corners, normals)]
            pieces += [(own[0][:, pick], own[1][:, pick], found) for pick in picks]
        if len(pieces) == 1:
            return pieces[0]
        joined = [np.concatenate(parts) for parts in zip(*pieces, strict=True)]
        return joined[0], joined[1], joined[2]


def _with_cuts(values: np.ndarray, depth: np.ndarray) -> np.ndarray:
    """Three corners, then where the sides 01, 12 and 20 cross the plane of depth 0: (n, 6, 3)."""
    after, behind = np.roll(values, -1, axis=1), np.roll(depth, -1, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        cuts = values + (depth / (depth - behind))[..., None] * (after - values)  # of no use where none is crossed
    return np.concatenate([values, cuts], axis=1)


def perspective_camera(
    points: np.ndarray, axes: np.ndarray, frame: tuple[float, float, float, float], far: bool = False
) -> PerspectiveCamera:
    """The camera with all points (n, 3) in a frame of pixels (left, top, right, bottom); near to them, or from far."""
    left, top, right, bottom = frame
    half = np.array([right - left, bottom - top]) / 2.0
    focal = half[1] / np.tan(np.radians(FAR_FIELD if far else FIELD) / 2.0)
    opening = half / focal
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0 if len(points) else np.zeros(3)
    room = SMALLEST / 2.0 * np.concatenate([np.eye(3), -np.eye(3)])  # what is too small to fill the frame does not
    seen = np.concatenate([points - middle, room]) @ axes.T
    upper = (seen[:, :2] + opening * seen[:, 2:]).max(axis=0)
    lower = (-seen[:, :2] + opening * seen[:, 2:]).max(axis=0)
    distance = float(((upper + lower) / (2.0 * opening)).max())  # (2)
    place = middle + axes.T @ np.array([*((upper - lower) / 2.0), distance])
    center = ((left + right) / 2.0, (top + bottom) / 2.0)
    near = max(NEAREST * distance, distance - BEFORE * float(np.abs(seen).max()))
    return PerspectiveCamera(place, axes, float(focal), center, near)
