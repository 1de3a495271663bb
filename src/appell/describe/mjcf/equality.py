"""Write constraints as the <equality> section of an MJCF document.

A `Point` becomes connect, a `Weld` becomes weld, and a `Gear` of one or two joints becomes joint. MJCF cannot express
other constraints.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

from appell.algebra.rotation import Pose
from appell.errors import ModelError
from appell.model.constraint import Closure, Constraint, Gear, Point, Weld, find_frame
from appell.model.robot import ConstrainedRobot, Robot

Sites = dict[str | None, list[tuple[str, Pose]]]  # names and poses by the link that carries them


def equality_sites(robot: ConstrainedRobot) -> Sites:
    """Return the ends of closures that are not frames of the robot yet."""
    sites: Sites = {}
    frames = {frame.name for frame in robot.tree.frames}
    for constraint in robot.constraints:
        _check(robot, constraint)
        if isinstance(constraint, Closure):
            for end, name in zip((constraint.a, constraint.b), site_names(robot, constraint), strict=True):
                frame = find_frame(robot.tree, end)
                if name not in frames:
                    sites.setdefault(frame.body, []).append((name, frame.pose))
    return sites


def site_names(robot: ConstrainedRobot, constraint: Closure) -> tuple[str, str]:
    """Return the names of the two sites of a closure: those of its frames, or new names."""
    frames = {frame.name for frame in robot.tree.frames}
    ends = zip((constraint.a, constraint.b), "ab", strict=True)
    one, other = (end if isinstance(end, str) and end in frames else f"{constraint.name}/{side}" for end, side in ends)
    return one, other


def equality_lines(robot: Robot | ConstrainedRobot) -> Iterator[str]:
    """Yield the tags of all constraints and mimic joints."""
    for link in robot.tree.links:
        if link.joint.mimic is not None:
            mimic = link.joint.mimic
            yield _joint(link.joint.name, link.joint.name, mimic.leader, mimic.offset, mimic.multiplier)
    for constraint in robot.constraints if isinstance(robot, ConstrainedRobot) else ():
        if isinstance(constraint, Gear):
            (first, first_ratio), *rest = constraint.ratios.items()
            other, ratio = rest[0] if rest else ("", 0.0)
            yield _joint(constraint.name, first, other, constraint.offset / first_ratio, -ratio / first_ratio)
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
    problem = f"{constraint.owner} of {robot.owner} cannot be written as MJCF."
    raise ModelError(problem, expected="points, welds, and gears of two joints", hint="Use to_toml().")
