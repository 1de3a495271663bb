"""Where bodies of a mechanism hold each other, so that it can be seen whether its loops close.

Poses are written down one by one, and nothing in them says that two bodies meet. A pin does: a point of one body that
is a point of another, whatever the coordinates are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.model.system import vector_of

CLOSED = 1e-9  # m, and relative to how far the point is from the world's origin


@dataclass(frozen=True)
class Pin:
    """Two bodies that meet in a point of each, in m: Pin("crank", (0.1, 0, 0), "rod"); without `other`, the world."""

    body: str
    point: Sequence[float] = (0.0, 0.0, 0.0)
    other: str | None = None
    other_point: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self):
        for name in ("point", "other_point"):
            point = vector_of(getattr(self, name), f"the {name.replace('_', ' ')} of a pin on body '{self.body}'")
            object.__setattr__(self, name, tuple(point))

    def ends(self, places: Mapping[str, Pose]) -> tuple[Vec3, Vec3]:
        """Where the two points are in the world, with the bodies in these places."""
        here, there = places[self.body].apply(Vec3.of(self.point)), Vec3.of(self.other_point)
        return here, there if self.other is None else places[self.other].apply(there)

    def opened(self, places: Mapping[str, Pose]) -> str:
        """By how much it does not hold, as the end of a sentence; empty if it does."""
        one, other = self.ends(places)
        apart = math.hypot(*(one - other))
        if apart <= CLOSED * max(1.0, math.hypot(*one)):
            return ""
        return f"body '{self.body}' and {repr(self.other) if self.other else 'the world'} are {apart:.3g} m apart"
