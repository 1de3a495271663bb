"""A named place on a body."""

from __future__ import annotations

from dataclasses import dataclass

from appell.algebra.rotation import Pose

WORLD = None  # what carries a body that stands on the ground
IN_PLACE = Pose()  # no turn, no shift


@dataclass(frozen=True)
class Frame:
    """A place on a body of a system, or on the world (None)."""

    name: str
    body: str | None
    pose: Pose = IN_PLACE
