"""Named coordinate frames on bodies."""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra.rotation import Pose, as_pose

WORLD = None  # the carrier of a body that stands on the ground
IDENTITY_POSE = Pose()


@dataclass(frozen=True)
class Frame:
    """A frame fixed to a body of a system, or to the world (`body=None`), at `pose` in the axes of that body.

    The pose may be given as an array: a matrix of shape (4, 4), or a point of shape (3,), in m. `at` names a node of a
    flexible body, in whose axes the pose is then given.
    """

    name: str
    body: str | None
    pose: Pose = IDENTITY_POSE
    at: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "pose", as_pose(self.pose, f"the pose of frame '{self.name}'"))
