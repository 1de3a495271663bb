"""A robot as the lines of a TOML document."""

from __future__ import annotations

import json
from collections.abc import Iterable

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.describe.rpy import is_exact, rpy_of
from appell.model.body import Body
from appell.model.frame import Frame
from appell.model.robot import Joint, Link, Robot


def toml_lines(robot: Robot) -> list[str]:
    lines = [f"name = {_text(robot.name)}"]
    lines += [f"{key} = {_text(text)}" for key in ("description", "reference") if (text := getattr(robot, key))]
    lines.append(f"gravity = {_list(robot.gravity)}")
    if robot.home is not None:
        lines.append(f"home = {_list(robot.home)}")
    if robot.free:
        lines.append(f"free = [{', '.join(map(_text, sorted(robot.free)))}]")
    for link in robot.links:
        lines += ["", *_link(link, missing=link.name in robot.missing)]
    for frame in robot.frames:
        lines += ["", *_frame(frame)]
    return lines


def _link(link: Link, missing: bool) -> list[str]:
    joint = link.joint
    lines = ["[[link]]", f"name = {_text(link.name)}"]
    if link.parent is not None:
        lines.append(f"parent = {_text(link.parent)}")
    lines += [f"joint = {_text(joint.motion.name)}", f"joint_name = {_text(joint.name)}"]
    if hasattr(joint.motion, "axis"):
        lines.append(f"axis = {_list(joint.motion.axis)}")
    lines += _place(joint.placement) + _options(joint)
    return lines if missing else lines + _body(link.body)


def _options(joint: Joint) -> list[str]:
    numbers = {key: getattr(joint.limits, key) for key in ("lower", "upper", "velocity", "effort")}
    numbers |= {key: getattr(joint, key) or None for key in ("damping", "friction")}
    lines = [f"{key} = {_number(value)}" for key, value in numbers.items() if value is not None]
    if joint.mimic is not None:
        leader, multiplier, offset = joint.mimic.leader, joint.mimic.multiplier, joint.mimic.offset
        factors = f"multiplier = {_number(multiplier)}, offset = {_number(offset)}"
        lines.append(f"mimic = {{ leader = {_text(leader)}, {factors} }}")
    return lines


def _body(body: Body | None) -> list[str]:
    if body is None:
        return ["mass = 0"]
    return [f"mass = {_number(body.mass)}", f"com = {_list(body.com)}", f"inertia = {_inertia(body.inertia)}"]


def _inertia(inertia: Mat3) -> str:
    xx, xy, xz, yy, yz, zz = inertia.upper
    if inertia != inertia.T:
        return _rows(inertia)
    return _list((xx, xy, xz, yy, yz, zz)) if any((xy, xz, yz)) else _list((xx, yy, zz))


def _frame(frame: Frame) -> list[str]:
    lines = ["[[frame]]", f"name = {_text(frame.name)}"]
    if frame.body is not None:
        lines.append(f"on = {_text(frame.body)}")
    return lines + _place(frame.pose)


def _place(pose: Pose) -> list[str]:
    lines = [f"xyz = {_list(pose.translation)}"] if any(pose.translation) else []
    rpy = rpy_of(pose.rotation)
    if not is_exact(rpy, pose.rotation):
        return [*lines, f"rotation = {_rows(pose.rotation)}"]
    return [*lines, f"rpy = {_list(rpy)}"] if any(rpy) else lines


def _rows(matrix: Mat3) -> str:
    return "[" + ", ".join(_list(row) for row in matrix.rows) + "]"


def _list(numbers: Iterable[float]) -> str:
    return "[" + ", ".join(_number(x) for x in numbers) + "]"


def _number(x: float) -> str:
    return repr(float(x))


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
