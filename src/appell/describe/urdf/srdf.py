"""The posture that an SRDF beside a URDF knows by name: <group_state name="half_sitting"> and the values of its joints.

Of several the first is taken. A floating joint has seven numbers there, as here. Joints that the robot does not have
are left out, those that the posture does not name stay where they start.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from appell.describe.files import read_text
from appell.describe.xml import parse
from appell.model.robot import Robot


def with_posture(robot: Robot, urdf: Path) -> Robot:
    """The robot with the posture of the SRDF that belongs to its file as home, if there is one."""
    path = _beside(urdf)
    state = next(parse(read_text(path), str(path)).all("group_state"), None) if path is not None else None
    if state is None:
        return robot
    home, own = robot.start, {joint.name: joint for joint in (link.joint for link in robot.moving)}
    for told in state.all("joint"):
        name = told.text("name", "a posture")
        if name in own:
            home[robot.span(own[name])[0]] = told.floats("value", own[name].motion.nq, f"joint '{name}'")
    return replace(robot, home=tuple(home.tolist()))


def _beside(urdf: Path) -> Path | None:
    """srdf/talos.srdf for robots/talos_full_v2.urdf: of those whose names begin its own, the longest."""
    found = [path for path in (urdf.parents[1] / "srdf").glob("*.srdf") if urdf.stem.startswith(path.stem)]
    return max(found, key=lambda path: len(path.stem), default=None)
