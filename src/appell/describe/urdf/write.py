"""A robot as the lines of a URDF document.

Frames are links without mass on fixed joints. The root is the first frame if that is the world itself; a root made up
because URDF needs one is marked as hidden.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import quoteattr

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.describe.drives import notable
from appell.describe.rpy import is_exact, rpy_of
from appell.describe.urdf.parts import INERTIA, UNSPOKEN
from appell.model.actuator import IDEAL
from appell.model.body import Body
from appell.model.frame import IN_PLACE, Frame
from appell.model.joints import Planar
from appell.model.robot import Joint, Link, Robot
from appell.model.visual import SIZES

UNLIMITED = 1e9  # written where nothing is known but URDF wants a number


def urdf_lines(robot: Robot) -> list[str]:
    first = robot.frames[0] if robot.frames else None
    shown = first is not None and first.body is None and first.pose == IN_PLACE
    root = first.name if first is not None and shown else _unused("world", robot.frame_names)
    frames = robot.frames[1:] if shown else robot.frames
    joints = [link.joint.name for link in robot.links]

    lines = ['<?xml version="1.0" encoding="utf-8"?>', _tag("robot", name=robot.name)]
    lines += _settings(robot, hidden_root=not shown)
    lines += _whole_link(root, list(_visuals(robot, None)))
    for link in robot.links:
        lines += _link(robot, link)
        lines += _joint(link.joint, link.parent or root, link.name)
    for joint in (link.joint for link in robot.links):
        lines += _transmission(joint)
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
    return _whole_link(link.name, [*inside, *_visuals(robot, link.name)])


def _whole_link(name: str, inside: list[str]) -> list[str]:
    if not inside:
        return ["  " + _tag("link", "/", name=name)]
    return ["  " + _tag("link", name=name), *inside, "  </link>"]


def _visuals(robot: Robot, body: str | None) -> Iterator[str]:
    """The shapes of a link; URDF knows no ellipsoids, and of meshes none without a file."""
    for own in robot.visuals:
        if own.body != body or own.triangles is not None or own.shape == "ellipsoid":
            continue
        name = {"name": own.name} if own.name and own.name != body else {}
        yield from ("    " + _tag("visual", **name), "      " + _origin(own.pose), "      <geometry>")
        if own.shape == "mesh":
            file = f"file://{own.file}" if own.file.startswith("/") else own.file
            yield "        " + _tag("mesh", "/", filename=file, scale=_numbers(own.size))
        elif own.shape == "box":
            yield "        " + _tag("box", "/", size=_numbers(own.size))
        else:
            sizes = zip(SIZES[own.shape], own.size, strict=True)
            yield "        " + _tag(own.shape, "/", **{key: repr(float(x)) for key, x in sizes})
        yield "      </geometry>"
        if own.color is not None:
            color = _numbers(own.color)
            yield "      " + _tag("material", name=color) + _tag("color", "/", rgba=color) + "</material>"
        yield "    </visual>"


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
    drive = joint.actuator
    if joint.motion.name in ("revolute", "prismatic") or drive.torque is not None or drive.speed is not None:
        lines.append("    " + _limit(joint))
    if joint.mimic is not None:
        multiplier, offset = repr(joint.mimic.multiplier), repr(joint.mimic.offset)
        lines.append("    " + _tag("mimic", "/", joint=joint.mimic.leader, multiplier=multiplier, offset=offset))
    viscous, coulomb = drive.friction.viscous, drive.friction.coulomb
    if viscous or coulomb:
        lines.append("    " + _tag("dynamics", "/", damping=repr(float(viscous)), friction=repr(float(coulomb))))
    if extra := _unspoken(joint):
        lines.append("    " + _tag("appell", "/", **{key: repr(float(x)) for key, x in extra.items()}))
    return [*lines, "  </joint>"]


def _transmission(joint: Joint) -> list[str]:
    if joint.actuator.gear == IDEAL.gear:
        return []
    return [
        "  " + _tag("transmission", name=f"{joint.name}_transmission"),
        "    <type>transmission_interface/SimpleTransmission</type>",
        "    " + _tag("joint", name=joint.name),
        "      <hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>",
        "    </joint>",
        "    " + _tag("actuator", name=f"{joint.name}_motor"),
        f"      <mechanicalReduction>{float(joint.actuator.gear)!r}</mechanicalReduction>",
        "    </actuator>",
        "  </transmission>",
    ]


def _unspoken(joint: Joint) -> dict[str, float]:
    """What URDF has no words for."""
    return {key: x for key, x in notable(joint.actuator).items() if key in UNSPOKEN}


def unseen(robot: Robot) -> str:
    """What readers other than appell will not see of the actuators, joint by joint; empty if they see all."""
    told = {link.joint.name: _unspoken(link.joint) for link in robot.links}
    listed = {
        name: ", ".join(f"{key.replace('_', ' ')} {x:g}" for key, x in extra.items()) for name, extra in told.items()
    }
    return "; ".join(f"joint '{name}' has {values}" for name, values in listed.items() if values)


def _frame(frame: Frame, joint: str, root: str) -> list[str]:
    ends = _ends(frame.pose, frame.body or root, frame.name)
    opening = [_tag("link", "/", name=frame.name), _tag("joint", name=joint, type="fixed")]
    return [*("  " + line for line in opening), *ends, "  </joint>"]


def _ends(pose: Pose, parent: str, child: str) -> list[str]:
    lines = ["    " + _tag("parent", "/", link=parent), "    " + _tag("child", "/", link=child)]
    return lines if pose == IN_PLACE else [*lines, "    " + _origin(pose)]


def _origin(pose: Pose) -> str:
    rpy, entries = rpy_of(pose.rotation), (x for row in pose.rotation.rows for x in row)
    matrix = {} if is_exact(rpy, pose.rotation) else {"rotation": _numbers(entries)}
    return _tag("origin", "/", xyz=_numbers(pose.translation), rpy=_numbers(rpy), **matrix)


def _limit(joint: Joint) -> str:
    """All four numbers, as other readers insist on them, and which of them are known if not all are."""
    values = {"lower": joint.limits.lower, "upper": joint.limits.upper}
    values |= {"velocity": joint.actuator.speed, "effort": joint.actuator.torque}
    known = [key for key, value in values.items() if value is not None]
    texts = {key: repr(float(value)) for key, value in values.items() if value is not None}
    stand_in = {key: repr(-UNLIMITED if key == "lower" else UNLIMITED) for key in values if key not in known}
    return _tag("limit", "/", **texts, **stand_in, **({"known": " ".join(known)} if stand_in else {}))


def _tag(tag: str, end: str = "", /, **attributes: str) -> str:
    return f"<{tag}" + "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items()) + f"{end}>"


def _numbers(values: Iterable[float]) -> str:
    return " ".join(repr(float(x)) for x in values)


def _unused(name: str, taken: Iterable[str]) -> str:
    taken = set(taken)
    while name in taken:
        name += "_"
    return name
