"""Write a robot as the lines of a TOML document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.describe.actuator_table import ELASTIC_KEYS, non_default_entries
from appell.describe.rpy import is_exact, rpy_of
from appell.describe.toml.beams import flexible_lines
from appell.model.actuator import Actuator
from appell.model.body import Body
from appell.model.flexible import FlexibleBody
from appell.model.frame import Frame
from appell.model.robot import Joint, Link, Robot


def toml_lines(robot: Robot, settings: Iterable[str] = ()) -> list[str]:
    """Return the lines of the document; `settings` are further lines of its top-level table."""
    lines = [f"name = {text(robot.name)}"]
    lines += [f"{key} = {text(about)}" for key in ("description", "reference") if (about := getattr(robot, key))]
    lines.append(f"gravity = {list_text(robot.gravity)}")
    if robot.home is not None:
        lines.append(f"home = {list_text(robot.home)}")
    if robot.free:
        lines.append(f"free = [{', '.join(map(text, sorted(robot.free)))}]")
    if robot.ignored_pairs:
        lines += ["ignored_pairs = [", *(f"  [{', '.join(map(text, pair))}]," for pair in robot.ignored_pairs), "]"]
    lines += settings
    for link in robot.links:
        lines += ["", *_link(link, missing=link.name in robot.missing), *_shapes(robot, link.name)]
    for frame in robot.frames:
        lines += ["", *frame_lines(frame)]
    return [*lines, *_shapes(robot, None)]


def _link(link: Link, missing: bool) -> list[str]:
    joint = link.joint
    lines = ["[[link]]", f"name = {text(link.name)}"]
    if link.parent is not None:
        lines.append(f"parent = {text(link.parent)}")
    lines += [f"joint = {text(joint.motion.name)}", f"joint_name = {text(joint.name)}"]
    if hasattr(joint.motion, "axis"):
        lines.append(f"axis = {list_text(joint.motion.axis)}")
    lines += [f"at = {text(link.at)}"] if link.at else []
    lines += pose_lines(joint.placement) + _options(joint)
    if isinstance(link.body, FlexibleBody):
        return lines + flexible_lines(link.body, f"link '{link.name}'")
    return lines if missing else lines + body_lines(link.body)


def _shapes(robot: Robot, body: str | None) -> Iterator[str]:
    """Yield the shapes of a link, or of the world; meshes without a file cannot be written."""
    shapes: list[tuple[str, Any]] = [("visual", shape) for shape in robot.visuals]
    shapes += [("collision", shape) for shape in robot.collisions]
    for kind, visual in shapes:
        if visual.body != body or visual.triangles is not None:
            continue
        yield from ("", f"[[{kind}]]" if body is None else f"[[link.{kind}]]", f"shape = {text(visual.shape)}")
        if visual.name and visual.name != body:
            yield f"name = {text(visual.name)}"
        if kind == "collision" and visual.link != (body or "world"):
            yield f"link = {text(visual.link)}"
        if visual.file:
            yield f"file = {text(visual.file)}"
        yield f"size = {list_text(visual.size)}"
        yield from pose_lines(visual.pose)
        if kind == "visual" and visual.color is not None:
            yield f"color = {list_text(visual.color)}"


def _options(joint: Joint) -> list[str]:
    limits = {key: getattr(joint.limits, key) for key in ("lower", "upper")}
    lines = [f"{key} = {number_text(value)}" for key, value in limits.items() if value is not None]
    if entries := actuator_entries(joint.actuator):
        lines.append(f"actuator = {{ {', '.join(entries)} }}")
    if joint.mimic is not None:
        leader, multiplier, offset = joint.mimic.leader, joint.mimic.multiplier, joint.mimic.offset
        factors = f"multiplier = {number_text(multiplier)}, offset = {number_text(offset)}"
        lines.append(f"mimic = {{ leader = {text(leader)}, {factors} }}")
    return lines


def actuator_entries(actuator: Actuator) -> list[str]:
    """Return the entries of an actuator that differ from an ideal one."""
    entries = non_default_entries(actuator)
    spring = {name: entries.pop(key) for key, name in ELASTIC_KEYS.items() if key in entries}
    lines = [f"{key} = {number_text(value)}" for key, value in entries.items()]
    listed = ", ".join(f"{key} = {number_text(value)}" for key, value in spring.items())
    return [*lines, f"elastic = {{ {listed} }}"] if spring else lines


def body_lines(body: Body | None) -> list[str]:
    """Return the lines of a body; `mass = 0` for None."""
    if body is None:
        return ["mass = 0"]
    return [f"mass = {number_text(body.mass)}", f"com = {list_text(body.com)}", f"inertia = {_inertia(body.inertia)}"]


def _inertia(inertia: Mat3) -> str:
    xx, xy, xz, yy, yz, zz = inertia.upper
    if inertia != inertia.T:
        return _rows(inertia)
    return list_text((xx, xy, xz, yy, yz, zz)) if any((xy, xz, yz)) else list_text((xx, yy, zz))


def frame_lines(frame: Frame) -> list[str]:
    """Return the table of a frame."""
    lines = ["[[frame]]", f"name = {text(frame.name)}"]
    if frame.body is not None:
        lines.append(f"on = {text(frame.body)}")
    lines += [f"at = {text(frame.at)}"] if frame.at else []
    return lines + pose_lines(frame.pose)


def pose_lines(pose: Pose) -> list[str]:
    """Return the lines xyz and rpy or rotation of a pose; identities are omitted."""
    lines = [f"xyz = {list_text(pose.translation)}"] if any(pose.translation) else []
    rpy = rpy_of(pose.rotation)
    if not is_exact(rpy, pose.rotation):
        return [*lines, f"rotation = {_rows(pose.rotation)}"]
    return [*lines, f"rpy = {list_text(rpy)}"] if any(rpy) else lines


def _rows(matrix: Mat3) -> str:
    return "[" + ", ".join(list_text(row) for row in matrix.rows) + "]"


def list_text(numbers: Iterable[float]) -> str:
    """Return numbers as a TOML list with all digits."""
    return "[" + ", ".join(number_text(x) for x in numbers) + "]"


def number_text(x: float) -> str:
    """Return a number with all digits."""
    return repr(float(x))


def text(string: str) -> str:
    """Return a quoted TOML string."""
    return json.dumps(string, ensure_ascii=False).replace("\x7f", "\\u007f")
