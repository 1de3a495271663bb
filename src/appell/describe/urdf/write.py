"""Write a robot as the lines of a URDF document.

Frames are massless links on fixed joints. The root is the first frame if that coincides with the world; otherwise a
root is added, because URDF requires one, and marked as hidden.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.describe.actuator_table import non_default_entries
from appell.describe.rpy import is_exact, rpy_of
from appell.describe.urdf.parts import APPELL_KEYS, INERTIA
from appell.model.actuator import IDEAL
from appell.model.body import Body
from appell.model.frame import IDENTITY_POSE, Frame
from appell.model.joints import Planar
from appell.model.robot import Joint, Link, Robot
from appell.model.visual import SIZES

UNLIMITED = 1e9  # written for unknown limits where URDF requires a number

UNKNOWN_TO_URDF = ("ellipsoid", "plane", "arc")  # shapes


def urdf_lines(robot: Robot) -> list[str]:
    """Return the lines of the document."""
    first = robot.frames[0] if robot.frames else None
    has_root = first is not None and first.body is None and first.pose == IDENTITY_POSE
    root = first.name if first is not None and has_root else _unused("world", robot.frame_names)
    frames = robot.frames[1:] if has_root else robot.frames
    joints = [link.joint.name for link in robot.links]

    lines = ['<?xml version="1.0" encoding="utf-8"?>', _tag("robot", name=robot.name)]
    lines += _settings(robot, hidden_root=not has_root)
    lines += _link_element(root, list(_shapes(robot, None)))
    for link in robot.links:
        lines += _link(robot, link)
        lines += _joint(link.joint, link.parent or root, link.name)
    for joint in (link.joint for link in robot.links):
        lines += transmission_lines(joint.name, joint.actuator.gear) if joint.actuator.gear != IDEAL.gear else []
    for frame in frames:
        name = _unused(f"{frame.name}_joint", joints)
        joints.append(name)
        lines += _frame(frame, name, root)
    return [*lines, "</robot>"]


def _settings(robot: Robot, hidden_root: bool) -> list[str]:
    notes = {"gravity": _numbers(robot.gravity)}
    if robot.home is not None:
        notes["home"] = _numbers(robot.home)
    if hidden_root:
        notes["hidden_root"] = "true"
    for key in ("description", "reference"):
        if text := getattr(robot, key):
            notes[key] = "".join(c for c in text if c.isprintable() or c == "\n")
    free = ["    " + _tag("free", "/", link=name) for name in sorted(robot.free)]
    return ["  " + _tag("appell", **notes), *free, "  </appell>"]


def _link(robot: Robot, link: Link) -> list[str]:
    massless = [] if link.name in robot.missing else ['    <appell massless="true"/>']
    inside = massless if link.body is None else _inertial(link.body)
    return _link_element(link.name, [*inside, *_shapes(robot, link.name)])


def _link_element(name: str, inside: list[str]) -> list[str]:
    if not inside:
        return ["  " + _tag("link", "/", name=name)]
    return ["  " + _tag("link", name=name), *inside, "  </link>"]


def _shapes(robot: Robot, body: str | None) -> Iterator[str]:
    """Yield the shapes of a link, except meshes without a file and shapes that URDF cannot express."""
    shapes: list[tuple[str, Any]] = [("visual", shape) for shape in robot.visuals]
    shapes += [("collision", shape) for shape in robot.collisions]
    for tag, visual in shapes:
        if visual.body != body or visual.triangles is not None or visual.shape in UNKNOWN_TO_URDF:
            continue
        name = {"name": visual.name} if visual.name and visual.name != body else {}
        yield from ("    " + _tag(tag, **name), "      " + _origin(visual.pose), "      <geometry>")
        if visual.shape == "mesh":
            file = visual.file
            if os.path.isabs(file):  # file:///arm.stl, file:///C:/arm.stl
                file = f"file:///{Path(file).as_posix().removeprefix('/')}"
            yield "        " + _tag("mesh", "/", filename=file, scale=_numbers(visual.size))
        elif visual.shape == "box":
            yield "        " + _tag("box", "/", size=_numbers(visual.size))
        else:
            sizes = zip(SIZES[visual.shape], visual.size, strict=True)
            yield "        " + _tag(visual.shape, "/", **{key: repr(float(x)) for key, x in sizes})
        yield "      </geometry>"
        if tag == "visual" and visual.color is not None:
            color = _numbers(visual.color)
            yield "      " + _tag("material", name=color) + _tag("color", "/", rgba=color) + "</material>"
        yield f"    </{tag}>"


def _inertial(body: Body) -> list[str]:
    return [
        "    <inertial>",
        "      " + _tag("origin", "/", xyz=_numbers(body.com), rpy="0 0 0"),
        "      " + _tag("mass", "/", value=_numbers([body.mass])),
        "      " + _tag("inertia", "/", **dict(zip(INERTIA, map(repr, map(float, body.inertia.upper)), strict=True))),
        "    </inertial>",
    ]


def _joint(joint: Joint, parent: str, child: str) -> list[str]:
    lines = ["  " + _tag("joint", name=joint.name, type=joint.motion.name), *_ends(joint.placement, parent, child)]
    axis = Vec3(0.0, 0.0, 1.0) if isinstance(joint.motion, Planar) else getattr(joint.motion, "axis", None)
    if axis is not None:
        lines.append("    " + _tag("axis", "/", xyz=_numbers(axis)))
    actuator = joint.actuator
    if joint.motion.name in ("revolute", "prismatic") or actuator.torque is not None or actuator.speed is not None:
        lines.append("    " + _limit(joint))
    if joint.mimic is not None:
        multiplier, offset = repr(float(joint.mimic.multiplier)), repr(float(joint.mimic.offset))
        lines.append("    " + _tag("mimic", "/", joint=joint.mimic.leader, multiplier=multiplier, offset=offset))
    viscous, coulomb = actuator.friction.viscous, actuator.friction.coulomb
    if viscous or coulomb:
        lines.append("    " + _tag("dynamics", "/", damping=repr(float(viscous)), friction=repr(float(coulomb))))
    if extra := _appell_entries(joint):
        lines.append("    " + _tag("appell", "/", **{key: repr(float(x)) for key, x in extra.items()}))
    return [*lines, "  </joint>"]


def transmission_lines(joint: str, gear: float) -> list[str]:
    """Return the transmission of a joint with a gear ratio."""
    return [
        "  " + _tag("transmission", name=f"{joint}_transmission"),
        "    <type>transmission_interface/SimpleTransmission</type>",
        "    " + _tag("joint", name=joint),
        "      <hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>",
        "    </joint>",
        "    " + _tag("actuator", name=f"{joint}_motor"),
        f"      <mechanicalReduction>{float(gear)!r}</mechanicalReduction>",
        "    </actuator>",
        "  </transmission>",
    ]


def _appell_entries(joint: Joint) -> dict[str, float]:
    """Return the entries of an actuator that URDF cannot express."""
    return {key: x for key, x in non_default_entries(joint.actuator).items() if key in APPELL_KEYS}


def nonstandard_actuators(robot: Robot) -> str:
    """Return the actuator values that readers other than appell ignore, joint by joint; empty if there are none."""
    entries = {link.joint.name: _appell_entries(link.joint) for link in robot.links}
    listed = {
        name: ", ".join(f"{key.replace('_', ' ')} {x:g}" for key, x in extra.items()) for name, extra in entries.items()
    }
    return "; ".join(f"joint '{name}' has {values}" for name, values in listed.items() if values)


def _frame(frame: Frame, joint: str, root: str) -> list[str]:
    ends = _ends(frame.pose, frame.body or root, frame.name)
    opening = [_tag("link", "/", name=frame.name), _tag("joint", name=joint, type="fixed")]
    return [*("  " + line for line in opening), *ends, "  </joint>"]


def _ends(pose: Pose, parent: str, child: str) -> list[str]:
    lines = ["    " + _tag("parent", "/", link=parent), "    " + _tag("child", "/", link=child)]
    return lines if pose == IDENTITY_POSE else [*lines, "    " + _origin(pose)]


def _origin(pose: Pose) -> str:
    rpy, entries = rpy_of(pose.rotation), (x for row in pose.rotation.rows for x in row)
    matrix = {} if is_exact(rpy, pose.rotation) else {"rotation": _numbers(entries)}
    return _tag("origin", "/", xyz=_numbers(pose.translation), rpy=_numbers(rpy), **matrix)


def _limit(joint: Joint) -> str:
    """Return the <limit> with all four numbers, which other readers require, and the list of those that are known."""
    values = {"lower": joint.limits.lower, "upper": joint.limits.upper}
    values |= {"velocity": joint.actuator.speed, "effort": joint.actuator.torque}
    known = [key for key, value in values.items() if value is not None]
    texts = {key: repr(float(value)) for key, value in values.items() if value is not None}
    placeholders = {key: repr(-UNLIMITED if key == "lower" else UNLIMITED) for key in values if key not in known}
    return _tag("limit", "/", **texts, **placeholders, **({"known": " ".join(known)} if placeholders else {}))


def _tag(tag: str, end: str = "", /, **attributes: str) -> str:
    return f"<{tag}" + "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items()) + f"{end}>"


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(x)) for x in values)


def _unused(name: str, taken: Iterable[str]) -> str:
    taken = set(taken)
    while name in taken:
        name += "_"
    return name
