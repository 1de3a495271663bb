"""Where everything that can be seen of a system is: lines, joints, ellipsoids of inertia, at configurations.

Whatever draws a system in lines needs a `Sketch` and nothing more; `Shape(dyn).at(q)` gives it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Sketch:
    """Where everything is: leading axes are those of the configurations."""

    segments: np.ndarray  # (..., segments, 2, 3) in the world
    branches: np.ndarray  # (segments), -1 for what stands still
    thin: np.ndarray  # (segments), whether a line only leads to a centre of mass
    joints: np.ndarray  # (..., joints, 3)
    centers: np.ndarray  # (..., ellipsoids, 3)
    axes: np.ndarray  # (..., ellipsoids, 3, 3)
    bare: np.ndarray  # (ellipsoids)
    anchors: np.ndarray  # (anchors, 3), where the world carries a joint

    @property
    def places(self) -> np.ndarray:
        """The ends of lines, joints, and centres of bodies of which nothing else is seen: (places, 3)."""
        return _finite([self.segments, self.joints, self.centers[..., self.bare, :], self.anchors])

    def points(self, solid: np.ndarray) -> np.ndarray:
        """The places, and the tips of these ellipsoids: what has to be in the picture, (points, 3)."""
        half = np.swapaxes(self.axes[..., solid, :, :], -1, -2)
        tips = self.centers[..., solid, None, :] + np.concatenate([half, -half], axis=-2)
        return _finite([self.places, tips])


def _finite(parts: list[np.ndarray]) -> np.ndarray:
    """All points (n, 3), but those of legs that do not reach."""
    points = np.concatenate([part.reshape(-1, 3) for part in parts])
    return points[np.isfinite(points).all(axis=-1)]
