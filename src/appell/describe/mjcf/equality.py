"""Loops and couplings as the <equality> of an MJCF.

A point is a connect, a weld a weld, a gear between two joints (or of one that is held) a joint. MJCF has no other.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

from appell.algebra.rotation import Pose
from appell.errors import ModelError
from appell.model.constraint import Closure, Constraint, Gear, Point, Weld, find_frame
from appell.model.robot import ConstrainedRobot, Robot

Sites = dict[str | None, list[tuple[str, Pose]]]  # by the link that carries them


def equality_sites(robot: ConstrainedRobot) -> Sites:
    """Places that are tied and are no frames of the robot yet."""
    found: Sites = {}
    frames = {frame.name for frame in robot.tree.frames}
    for constraint in robot.constraints:
        _check(robot, constraint)
        if isinstance(constraint, Closure):
            for place, name in zip((constraint.a, constraint.b), site_names(robot, constraint), strict=True):
                frame = find_frame(robot.tree, place)
                if name not in frames:
                    found.setdefault(frame.body, []).append((name, frame.pose))
    return found


def site_names(robot: ConstrainedRobot, constraint: Closure) -> tuple[str, str]:
    """The frames of a closure, or names for the places that are none."""
    frames = {frame.name for frame in robot.tree.frames}
    ends = zip((constraint.a, constraint.b), "ab", strict=True)
    one, other = (
        place if isinstance(place, str) and place in frames else f"{constraint.name}/{side}" for place, side in ends
    )
    return one, other


def equality_lines(robot: Robot | ConstrainedRobot) -> Iterator[str]:
    """The tags of all constraints, and of mimic joints."""
    for link in robot.tree.links:
        if link.joint.mimic is not None:
            mimic = link.joint.mimic
            yield _joint(link.joint.name, link.joint.name, mimic.leader, mimic.offset, mimic.multiplier)
    for constraint in robot.constraints if isinstance(robot, ConstrainedRobot) else ():
        if isinstance(constraint, Gear):
            (first, own), *rest = constraint.ratios.items()
            other, ratio = rest[0] if rest else ("", 0.0)
            yield _joint(constraint.name, first, other, constraint.offset / own, -ratio / own)
        elif isinstance(constraint, Closure) and isinstance(robot, ConstrainedRobot):
            kind = "connect" if isinstance(constraint, Point) else "weld"
            one, other = map(quoteattr, site_names(robot, constraint))
            yield f"<{kind} name={quoteattr(constraint.name)} site1={one} site2={other}/>"


def _joint(name: str, first: str, second: str, offset: float, ratio: float) -> str:
    leader = f" joint2={quoteattr(second)}" if second else ""
    numbers = f"{float(offset)!r} {float(ratio)!r} 0 0 0"
    return f'<joint name={quoteattr(name)} joint1={quoteattr(first)}{leader} polycoef="{numbers}"/>'


def _check(robot: ConstrainedRobot, constraint: Constraint) -> None:
    if isinstance(constraint, (Point, Weld)) or (isinstance(constraint, Gear) and len(constraint.ratios) <= 2):
        return
    told = f"{constraint.owner} of {robot.owner} cannot stand in an MJCF."
    raise ModelError(told, expected="points, welds, and gears of two joints", hint="to_toml()")
