"""How a body looks. Nothing in the equations depends on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from appell.algebra.rotation import Pose
from appell.errors import ArgumentError, unknown_name
from appell.model.frame import IN_PLACE

# what a shape's `size` says, in metres; all stand about their origin, cylinders and capsules along z
SIZES = {
    "box": ("x", "y", "z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),  # between the centres of its round ends
    "ellipsoid": ("x", "y", "z"),  # half axes
    "mesh": ("x", "y", "z"),  # scale of the file's numbers
}


@dataclass(frozen=True, eq=False)
class VisualMesh:
    """A mesh in memory; visuals may share one."""

    vertices: np.ndarray  # (vertices, 3), metres
    faces: np.ndarray  # (triangles, 3), numbers of vertices that turn left about the normal outwards


@dataclass(frozen=True)
class Visual:
    """A shape on a body, or on the world (None)."""

    body: str | None
    shape: str  # one of SIZES
    size: tuple[float, ...]
    pose: Pose = IN_PLACE  # of the shape in the axes of the body
    color: tuple[float, float, float, float] | None = None  # red, green, blue, opacity, 0 to 1; None: nobody said
    file: str = ""  # of a mesh: its path, as found or as it was written if it was not
    name: str = ""  # as its description calls it, or the link that it was described on
    triangles: VisualMesh | None = None  # of a mesh without a file, as MuJoCo's compiler makes it

    def __post_init__(self):
        if self.shape not in SIZES:
            raise ArgumentError(unknown_name("shape", str(self.shape), SIZES, "a visual"))
        wanted = ", ".join(SIZES[self.shape])
        if len(self.size) != len(SIZES[self.shape]) or not all(map(math.isfinite, self.size)):
            raise ArgumentError(f"the size of a {self.shape} is {self.size!r}.", expected=f"({wanted})")
        if self.shape != "mesh" and min(self.size) < 0.0:
            raise ArgumentError(f"the size of a {self.shape} is {self.size!r}.", expected="no negative numbers")
        if self.color is not None and not (len(self.color) == 4 and all(0.0 <= x <= 1.0 for x in self.color)):
            expected = "red, green, blue and opacity from 0 to 1"
            raise ArgumentError(f"the color of a {self.shape} is {self.color!r}.", expected=expected)
        if self.shape == "mesh" and not self.file and self.triangles is None:
            raise ArgumentError("a mesh has neither a file nor triangles.", expected='file="..."')


Stand = tuple[str | None, Pose]  # a body, or the world, and a place on it


def moved(visuals: Iterable[Visual], stand: Callable[[str | None], Stand]) -> tuple[Visual, ...]:
    """Visuals on other bodies: `stand` tells which body carries one now, and where the old one's axes are on it."""

    def placed(visual: Visual) -> Visual:
        body, place = stand(visual.body)
        if place == IN_PLACE:
            return visual if body == visual.body else replace(visual, body=body)
        return replace(visual, body=body, pose=place @ visual.pose)

    return tuple(map(placed, visuals))
