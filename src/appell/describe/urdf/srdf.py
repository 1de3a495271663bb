"""Read the SRDF that belongs to a URDF: the home posture, and the pairs of links whose collisions are not checked.

    <group_state name="half_sitting">                        the first one is the home posture
    <disable_collisions link1="..." link2="..." reason="Never"/>

A floating joint has seven numbers, as in q. Joints and links that the robot does not have are ignored; joints that the
posture does not contain keep their start values.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from appell.describe.files import read_text
from appell.describe.xml import Element, parse
from appell.model.collision import IgnoredPair
from appell.model.robot import Robot


def with_srdf(robot: Robot, path: str | Path) -> Robot:
    """Return the robot with the home posture and the disabled collisions of an SRDF file.

    >>> import appell as ap
    >>> panda = ap.with_srdf(ap.load("panda.urdf"), "panda.srdf")  # doctest: +SKIP
    """
    document = parse(read_text(Path(path)), str(path))
    what = "disable_collisions"
    pairs = (
        IgnoredPair(tag.text("link1", what), tag.text("link2", what), f"SRDF: {_reason(tag)}")
        for tag in document.all(what)
    )
    robot = replace(robot, ignored_pairs=(*robot.ignored_pairs, *pairs))
    state = next(document.all("group_state"), None)
    if state is None:
        return robot
    home, joints = robot.start, {joint.name: joint for joint in (link.joint for link in robot.moving)}
    for element in state.all("joint"):
        name = element.text("name", "a posture")
        if name in joints:
            home[robot.span(joints[name])[0]] = element.floats("value", joints[name].motion.nq, f"joint '{name}'")
    return replace(robot, home=tuple(home.tolist()))


def _reason(tag: Element) -> str:
    return tag.attributes.get("reason", "").strip() or "no reason given"


def srdf_of(urdf: Path) -> Path | None:
    """Return srdf/talos.srdf for robots/talos_full_v2.urdf: the file with the longest name that is a prefix."""
    candidates = [path for path in (urdf.parents[1] / "srdf").glob("*.srdf") if urdf.stem.startswith(path.stem)]
    return max(candidates, key=lambda path: len(path.stem), default=None)
