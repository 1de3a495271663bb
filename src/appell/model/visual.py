"""How a body looks. Nothing in the equations depends on it."""

from __future__ import annotations

from dataclasses import dataclass

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

    def __post_init__(self):
        if self.shape not in SIZES:
            raise ArgumentError(unknown_name("shape", str(self.shape), SIZES, "a visual"))
        if len(self.size) != len(SIZES[self.shape]):
            wanted = ", ".join(SIZES[self.shape])
            raise ArgumentError(f"the size of a {self.shape} is {self.size!r}.", expected=f"({wanted})")
