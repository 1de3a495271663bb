"""Triangle meshes and colours, as files contain them and scenes show them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Color = tuple[float, float, float, float]  # red, green, blue, opacity, 0 to 1


@dataclass(frozen=True, eq=False)
class Mesh:
    """A triangle mesh in memory. Several shapes may share one."""

    vertices: np.ndarray  # (vertices, 3), metres
    faces: np.ndarray  # (triangles, 3), indices of vertices, counterclockwise seen from outside
    smooth: bool = False  # shade smoothly across edges, as for a sphere
