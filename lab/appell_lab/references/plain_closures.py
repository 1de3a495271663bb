"""Closures as plain data, made into ours: what is held together is told twice, to appell and to `ConstrainedTree`.

    {"type": "hinge", "a": {"link": "bar5", "xyz": [0, 1, 0], "rpy": [0, 0, 0]}, "b": {"link": None}}

A side is a place on a link, or on the world if its link is None. A distance has a `length`, a gear `ratio` (by joints)
and `offset`, wheels and balls a `radius`, and a ball may roll on a plate of a given `spin`. Wheels turn about y of a,
and knives cannot move along it. Closure k is called 'closure k', its frames 'k/a' and 'k/b'.
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
    """The robot with a frame at every side of every closure."""
    sides = ((f"{k}/{side}", data[side]) for k, data in enumerate(closures) for side in ("a", "b") if side in data)
    return robot.with_frames([Frame(name, side["link"], pose(side)) for name, side in sides])


def pose(side: dict[str, Any]) -> Pose:
    return Pose.from_rpy(Vec3.of(side.get("rpy", ORIGIN)), Vec3.of(side.get("xyz", ORIGIN)))


def constraints(closures: Sequence[Closure]) -> list[Constraint]:
    """The closures of a robot that has their frames."""
    return [_constraint(data, k) for k, data in enumerate(closures)]


def _constraint(data: Closure, k: int) -> Constraint:
    name, a, b = f"closure {k}", f"{k}/a", f"{k}/b" if "b" in data else None
    if data["type"] in TIES:
        return TIES[data["type"]](a, b, name=name)
    return OTHERS[data["type"]](data, name, a, b)
