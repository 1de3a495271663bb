"""Appearance of a body. The equations do not depend on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from appell.algebra.mesh import Color, Mesh
from appell.algebra.rotation import Pose
from appell.errors import ArgumentError, is_finite, unknown_name, value_text
from appell.model.frame import IDENTITY_POSE

# Meaning of a shape's `size`, in metres. All shapes are centred at their origin, cylinders and capsules along z.
SIZES = {
    "box": ("x", "y", "z"),
    "sphere": ("radius",),
    "cylinder": ("radius", "length"),
    "capsule": ("radius", "length"),  # between the centres of its round ends
    "ellipsoid": ("x", "y", "z"),  # half axes
    "mesh": ("x", "y", "z"),  # scale factors of the coordinates in the file
}


@dataclass(frozen=True)
class Visual:
    """A shape fixed to a body, or to the world (`body=None`)."""

    body: str | None
    shape: str  # one of SIZES
    size: tuple[float, ...]
    pose: Pose = IDENTITY_POSE  # of the shape in the axes of the body
    color: Color | None = None  # None: unspecified
    file: str = ""  # path of a mesh: the resolved path, or the path as written if the file is missing
    name: str = ""  # name in the description, or the link on which the shape was described
    triangles: Mesh | None = None  # of a mesh without a file, as MuJoCo's compiler produces it

    def __post_init__(self):
        if self.shape not in SIZES:
            raise ArgumentError(unknown_name("shape", str(self.shape), SIZES, "a visual"))
        fields = ", ".join(SIZES[self.shape])
        if len(self.size) != len(SIZES[self.shape]) or not all(map(is_finite, self.size)):
            raise ArgumentError(f"the size of a {self.shape} is {value_text(self.size)}.", expected=f"({fields})")
        if self.shape != "mesh" and min(self.size) < 0.0:
            raise ArgumentError(
                f"the size of a {self.shape} is {self.size!r}.", expected="numbers that are not negative"
            )
        if self.color is not None and not (len(self.color) == 4 and all(0.0 <= x <= 1.0 for x in self.color)):
            expected = "red, green, blue and opacity from 0 to 1"
            raise ArgumentError(f"the color of a {self.shape} is {self.color!r}.", expected=expected)
        if self.shape == "mesh" and not self.file and self.triangles is None:
            raise ArgumentError("a mesh has neither a file nor triangles.", expected='file="..."')


Attachment = tuple[str | None, Pose]  # a body (None: the world) and a pose in its axes


Shape = TypeVar("Shape", bound=Any)  # Visual or Collision


def moved(shapes: Iterable[Shape], attachment: Callable[[str | None], Attachment]) -> tuple[Shape, ...]:
    """Reattach shapes to other bodies.

    `attachment(body)` returns the body that carries the shapes of `body` from now on, and the pose of the axes of
    `body` on it.
    """

    def reattached(shape: Shape) -> Shape:
        body, pose = attachment(shape.body)
        if pose == IDENTITY_POSE:
            return shape if body == shape.body else replace(shape, body=body)
        return replace(shape, body=body, pose=pose @ shape.pose)

    return tuple(map(reattached, shapes))
