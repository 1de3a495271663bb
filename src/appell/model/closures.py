"""The loops of a mechanism: points of two bodies that its poses must keep together.

Poses are functions written by hand, and a sign or a length gone wrong in one of them tears the mechanism apart without
any notice: torques come out for bodies that do not hold together. So both ends of every loop are placed when the
mechanism is made, at home and a little aside of it, where no symmetry hides an error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.errors import ModelError

if TYPE_CHECKING:
    from appell.model.mechanism import Mechanism

CLOSED = 1e-9  # m, or as a part of the distance from the origin: how far apart the two ends of a loop may be
ASIDE = 1e-3  # rad or m: the first coordinate's step away from home, the second twice as much, and so on

End = tuple[str | None, Sequence[float]]


@dataclass(frozen=True)
class Closure:
    """A joint that closes a loop: a point of one body is a point of another, wherever the mechanism stands.

    Each end is the name of a body (None: the ground) and the point in the body's own system, in m.
    """

    name: str
    first: End
    second: End

    def __post_init__(self):
        for end in ("first", "second"):
            body, point = getattr(self, end)
            object.__setattr__(self, end, (body, tuple(float(x) for x in point)))

    @property
    def bodies(self) -> tuple[str | None, str | None]:
        return self.first[0], self.second[0]

    def ends(self, poses: Mapping[str, Pose]) -> tuple[Vec3, Vec3]:
        """Where the two points are, in the world."""
        (one, x), (other, y) = self.first, self.second
        return (
            Vec3.of(x) if one is None else poses[one].apply(Vec3.of(x)),
            Vec3.of(y) if other is None else poses[other].apply(Vec3.of(y)),
        )


def check_closures(mechanism: Mechanism) -> None:
    """Raise a ModelError for the first loop that does not close, with the size of the gap."""
    for body in (body for loop in mechanism.closures for body in loop.bodies if body is not None):
        mechanism.find("body", body, mechanism.bodies)
    home = list(mechanism.home)
    aside = [x + (k + 1) * ASIDE for k, x in enumerate(home)]
    places = {"at home": home}
    if mechanism.closures and not mechanism.out_of_reach(aside):
        places[f"at q = ({', '.join(f'{x:.4g}' for x in aside)})"] = aside
    for where, q in places.items():
        try:
            poses = {part.name: part.base @ part.pose(q) for part in mechanism.parts}
        except (ValueError, ArithmeticError):  # no reach was given, and home is at the end of it
            return
        for loop in mechanism.closures:
            one, other = loop.ends(poses)
            gap, size = math.hypot(*(one - other)), max(1.0, math.hypot(*one))
            if not gap <= CLOSED * size:
                names = " and ".join("the ground" if body is None else f"'{body}'" for body in loop.bodies)
                raise ModelError(
                    f"loop '{loop.name}' of {mechanism.owner} does not close {where}: {names} are {gap:.3g} m apart.",
                    expected="poses that keep the two points together",
                    source=mechanism.source,
                )
