"""Closures as plain data, converted to constraints of appell; `ConstrainedTree` reads the same data.

    {"type": "hinge", "a": {"link": "bar5", "xyz": [0, 1, 0], "rpy": [0, 0, 0]}, "b": {"link": None}}

A side is a pose on a link, or on the world if its link is None. A distance has a `length`, a gear `ratio` (by joints)
and `offset`, wheels and balls a `radius`; a ball may roll on a plate with a given `spin`. Wheels rotate about y of a,
and knives cannot move along it. The name of closure k is 'closure k', its frames are 'k/a' and 'k/b'.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.model import constraint
from appell.model.constraint import Constraint
from appell.model.frame import Frame
from appell.model.robot import Robot

Closure = dict[str, Any]
ORIGIN = (0.0, 0.0, 0.0)
TIES: dict[str, type[constraint.Closure]] = {
    kind.kind: kind
    for kind in (
        constraint.Point,
        constraint.Orientation,
        constraint.Weld,
        constraint.Hinge,
        constraint.Universal,
        constraint.Cylindrical,
        constraint.Slider,
        constraint.OnLine,
        constraint.OnPlane,
        constraint.Flat,
    )
}
OTHERS: dict[str, Callable[[Closure, str, str, str | None], Constraint]] = {
    "distance": lambda data, name, a, b: constraint.Distance(a, b, data["length"], name=name),
    "gear": lambda data, name, a, b: constraint.Gear(data["ratio"], data["offset"], name=name),
    "rolling-disk": lambda data, name, a, b: constraint.Rolling(a, data["radius"], axis="y", on=b, name=name),
    "rolling-ball": lambda data, name, a, b: constraint.Rolling(
        a, data["radius"], on=b, ball=True, turning=data.get("spin", 0.0), name=name
    ),
    "knife": lambda data, name, a, b: constraint.Skate(a, across="y", name=name),
}


def framed(robot: Robot, closures: Sequence[Closure]) -> Robot:
    """Return the robot with a frame at every side of every closure."""
    sides = ((f"{k}/{side}", data[side]) for k, data in enumerate(closures) for side in ("a", "b") if side in data)
    return robot.with_frames([Frame(name, side["link"], pose(side)) for name, side in sides])


def pose(side: dict[str, Any]) -> Pose:
    """Return the pose of a side on its link."""
    return Pose.from_rpy(Vec3.of(side.get("rpy", ORIGIN)), Vec3.of(side.get("xyz", ORIGIN)))


def constraints(closures: Sequence[Closure]) -> list[Constraint]:
    """Return the closures as constraints, for a robot with the frames of `framed`."""
    return [_constraint(data, k) for k, data in enumerate(closures)]


def _constraint(data: Closure, k: int) -> Constraint:
    name, a, b = f"closure {k}", f"{k}/a", f"{k}/b" if "b" in data else None
    if data["type"] in TIES:
        return TIES[data["type"]](a, b, name=name)
    return OTHERS[data["type"]](data, name, a, b)
