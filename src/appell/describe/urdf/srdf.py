"""Read the home posture of a robot from the SRDF that belongs to its URDF: <group_state name="half_sitting">.

The first <group_state> is used. A floating joint has seven numbers, as in q. Joints that the robot does not have are
ignored; joints that the posture does not contain keep their start values.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from appell.describe.files import read_text
from appell.describe.xml import parse
from appell.model.robot import Robot


def with_posture(robot: Robot, urdf: Path) -> Robot:
    """Return the robot with the posture of its SRDF as home, if there is one."""
    path = _srdf_of(urdf)
    state = next(parse(read_text(path), str(path)).all("group_state"), None) if path is not None else None
    if state is None:
        return robot
    home, joints = robot.start, {joint.name: joint for joint in (link.joint for link in robot.moving)}
    for element in state.all("joint"):
        name = element.text("name", "a posture")
        if name in joints:
            home[robot.span(joints[name])[0]] = element.floats("value", joints[name].motion.nq, f"joint '{name}'")
    return replace(robot, home=tuple(home.tolist()))


def _srdf_of(urdf: Path) -> Path | None:
    """Return srdf/talos.srdf for robots/talos_full_v2.urdf: the file with the longest name that is a prefix."""
    candidates = [path for path in (urdf.parents[1] / "srdf").glob("*.srdf") if urdf.stem.startswith(path.stem)]
    return max(candidates, key=lambda path: len(path.stem), default=None)
