"""The eye: from where the picture is taken, and what of space is in it.

A central projection, as of a long lens. With the eye at e, axes as rows (right, up, near) and the focal length f in
pixels, a point p is at

    x = cₓ + f r·(p - e) n        y = c_y - f u·(p - e) n        n = -1 / near·(p - e)                       (1)

n is its nearness, the reciprocal of its depth. The eye stands as near as it can with all points inside the frame. For
points (X, Y, Z) along the axes and a frame that opens as |x| ≤ k depth, this is linear in where it stands, (a, b, d):

    a + k d ≥ max(X + k Z)        -a + k d ≥ max(-X + k Z)                                                   (2)

whose least d has a half way between the two; likewise for Y. The larger d of the two counts.

What moves in one plane is seen from so far away that all is at one scale, as good as in a parallel projection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

FIELD, FAR_FIELD = 30.0, 0.005  # degrees: how far the frame opens from below to above, and face on to a plane
SMALLEST = 0.05  # m: the least that fills a frame
NEAREST, BEFORE = 0.05, 8.0  # what is nearer than this part of the distance, and further before it than this many sizes


@dataclass(frozen=True, eq=False)
class Eye:
    """Where the eye is, and how it projects to pixels: x to the right and y downwards, from the upper left corner."""

    place: np.ndarray  # (3)
    axes: np.ndarray  # (3, 3)
    focal: float
    center: tuple[float, float]
    near: float  # the least depth that is drawn

    def project(self, points: np.ndarray) -> np.ndarray:
        """(..., 3) in the world to x, y and nearness (1); NaN behind the eye."""
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
        """Triangles before the eye: those that reach behind it are cut; corners, normals, and which they were."""
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
            order = (start[:, None] + np.arange(3)) % 3  # those before the eye come first, and turn as before
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


def placed(points: np.ndarray, axes: np.ndarray, frame: tuple[float, float, float, float], far: bool = False) -> Eye:
    """The eye that has all points (n, 3) in a frame of pixels: left, top, right, bottom; near to them, or from far."""
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
    return Eye(place, axes, float(focal), center, near)
