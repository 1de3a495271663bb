"""Named coordinate frames on bodies."""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra.rotation import Pose

WORLD = None  # the carrier of a body that stands on the ground
IDENTITY_POSE = Pose()


@dataclass(frozen=True)
class Frame:
    """A frame fixed to a body of a system, or to the world (`body=None`), at `pose` in the axes of that body."""

    name: str
    body: str | None
    pose: Pose = IDENTITY_POSE
