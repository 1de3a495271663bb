"""Where bodies of a mechanism hold each other, so that it can be seen whether its loops close.

Poses are written down one by one, and nothing in them says that two bodies meet. A pin does: a point of one body that
is a point of another, whatever the coordinates are. It is looked at in the home pose and a step beside it along every
coordinate, both ways, as far as the legs reach there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from appell.algebra.vector import Vec3
from appell.model.mechanism_parts import MovingBody

CLOSED = 1e-9  # m, and relative to how far the point is from the world's origin
STEP = 0.01  # rad or m


@dataclass(frozen=True)
class Pin:
    """Two bodies that meet in a point of each, in m: Pin("crank", (0.1, 0, 0), "rod"); without `other`, the world."""

    body: str
    point: Sequence[float] = (0.0, 0.0, 0.0)
    other: str | None = None
    other_point: Sequence[float] = (0.0, 0.0, 0.0)

    def __post_init__(self):
        for name in ("point", "other_point"):
            object.__setattr__(self, name, tuple(float(x) for x in getattr(self, name)))

    def ends(self, parts: Mapping[str, MovingBody], q: Sequence[float]) -> tuple[Vec3, Vec3]:
        """Where the two points are in the world."""
        places = ((self.body, self.point), (self.other, self.other_point))
        one, other = (
            Vec3.of(at) if name is None else (parts[name].base @ parts[name].pose(q)).apply(Vec3.of(at))
            for name, at in places
        )
        return one, other


def opened(
    pins: Sequence[Pin],
    parts: Mapping[str, MovingBody],
    home: Sequence[float],
    names: Sequence[str],
    reaches: Callable[[Sequence[float]], bool],
) -> str:
    """Which pin does not hold and where, as a sentence; empty if all do."""
    for q in _nearby(home) if pins else ():
        if not reaches(q):
            continue
        for pin in pins:
            try:
                one, other = pin.ends(parts, q)
            except (ValueError, ZeroDivisionError):  # out of reach, where nobody has said how far a leg reaches
                continue
            apart = math.hypot(*(one - other))
            if not apart <= CLOSED * max(1.0, math.hypot(*one)):
                where = ", ".join(f"{name} = {x:g}" for name, x in zip(names, q, strict=True))
                meeting = f"body '{pin.body}' and {'the world' if pin.other is None else repr(pin.other)}"
                return f"{meeting} are {apart:.3g} m apart at {where}"
    return ""


def _nearby(home: Sequence[float]) -> list[list[float]]:
    beside = [
        [x + sign * STEP * (i == k) for i, x in enumerate(home)] for k in range(len(home)) for sign in (1.0, -1.0)
    ]
    return [list(home), *beside]
