"""Write a robot as the lines of an MJCF document.

Links are bodies with the joint at their origin, frames are sites, shapes without a file are geoms, home is a keyframe,
and every joint with one axis has a motor. Massless links share the body of the link they carry
(`describe.mjcf.link_groups`). Rotor inertia becomes armature, multiplied by gear². A mimic joint is a joint and an
equality constraint; a planar joint is two slides and a hinge. What MJCF cannot express is an error if the motion
depends on it, and is named in a warning otherwise.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from operator import truediv

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import UNITS
from appell.describe.actuator_table import non_default_entries
from appell.describe.mjcf.attributes import numbers_text, pose_attributes, quaternion, tag
from appell.describe.mjcf.equality import Sites, equality_lines, equality_sites
from appell.describe.mjcf.link_groups import LinkGroup, check_groups, depth_first, link_groups
from appell.describe.mjcf.tree import unique
from appell.describe.mjcf.visuals import LAST_VISIBLE_GROUP
from appell.describe.visuals import SIZE_FACTORS
from appell.model.body import Body
from appell.model.constraint import WORLD_NAME
from appell.model.frame import IDENTITY_POSE
from appell.model.joints import Floating, Planar, Prismatic, Spherical
from appell.model.robot import ConstrainedRobot, Joint, Robot

EXPRESSIBLE = ("gear", "rotor_inertia", "viscous", "coulomb", "torque", "stiffness", "rest")  # keys of an actuator


def mjcf_lines(robot: Robot | ConstrainedRobot) -> list[str]:
    """Return the lines of the document; raise ModelError for what MuJoCo does not accept."""
    tree = robot.tree
    groups = list(link_groups(tree))
    check_groups(tree, groups)
    sites = equality_sites(robot) if isinstance(robot, ConstrainedRobot) else {}
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        tag("mujoco", model=tree.name),
        '  <compiler angle="radian" autolimits="true"/>',
        "  " + tag("option", "/", gravity=numbers_text(tree.gravity)),
        "  <worldbody>",
        *_sites(tree, None, IDENTITY_POSE, sites, "    "),
        *_geoms(tree, None, "    "),
    ]
    for group in (group for group in groups if group.links[0].parent is None):
        lines += _body(tree, group, groups, sites, "    ")
    lines.append("  </worldbody>")
    lines += _section("actuator", _motors(tree))
    lines += _section("equality", equality_lines(robot))
    lines += _section("keyframe", _home(tree, robot))
    return [*lines, "</mujoco>"]


def lost_in_mjcf(robot: Robot) -> str:
    """Return what MJCF cannot express, joint by joint; empty if it can express everything."""
    phrases = []
    for link in robot.links:
        actuator = link.joint.actuator
        lost = {key: x for key, x in non_default_entries(actuator).items() if key not in EXPRESSIBLE}
        lost = {key: x for key, x in lost.items() if key != "stribeck" or "static" in lost}
        lost |= {"torque limit": 0.0} if actuator.torque_limit == 0.0 else {}  # MuJoCo rejects empty ranges
        phrases += [f"{key.replace('_', ' ')} {x:g} of joint '{link.joint.name}'" for key, x in lost.items()]
    merged = {link.name for group in link_groups(robot) for link in group.links[:-1]}
    phrases += [
        f"frame '{frame.name}' on massless link '{frame.body}'" for frame in robot.frames if frame.body in merged
    ]
    return "; ".join(phrases)


def changed_in_mjcf(robot: Robot) -> str:
    """Return what has other names, limits, coordinates or velocities in MJCF; empty if nothing has."""
    phrases = [
        f"mimic joint '{x.joint.name}' is an equality constraint, which is compliant"
        for x in robot.links
        if x.joint.mimic
    ]
    planar = (link.joint for link in robot.links if isinstance(link.joint.motion, Planar))
    phrases += [
        f"planar joint '{joint.name}' is two slides and a hinge, with its velocity in world axes" for joint in planar
    ]
    phrases += [
        f"the equal limits of joint '{joint.name}' are a range of one rounding error"
        for joint in (link.joint for link in robot.links)
        if joint.limits.lower is not None and joint.limits.lower == joint.limits.upper
    ]
    if any(group.last.name == WORLD_NAME for group in link_groups(robot)):
        phrases.append(f"link '{WORLD_NAME}' is the body '{_body_name(robot, WORLD_NAME)}'")
    order = [link.joint.name for group in depth_first(list(link_groups(robot))) for link in group.links]
    if order != [link.joint.name for link in robot.links]:
        phrases.append(f"the order of the joints is {', '.join(order)}")
    return "; ".join(phrases)


# ---- bodies


def _body(tree: Robot, group: LinkGroup, groups: Sequence[LinkGroup], sites: Sites, indent: str) -> list[str]:
    inside, link = indent + "  ", group.last
    lines = [indent + tag("body", name=_body_name(tree, link.name), **pose_attributes(group.placement))]
    for member, pose_of_last in group.poses_of_last():
        lines += [inside + joint for joint in _joints(member.joint, pose_of_last.inverse)]
    assert link.body is not None
    lines.append(inside + _inertial(link.body))
    lines += [*_sites(tree, link.name, IDENTITY_POSE, sites, inside), *_geoms(tree, link.name, inside)]
    for member, pose_of_last in group.poses_of_last():
        if member is not link:
            lines += [
                inside + tag("site", "/", name=name, **pose_attributes(pose_of_last.inverse @ pose))
                for name, pose in sites.get(member.name, [])
            ]
    names = {member.name for member in group.links}
    for other in groups:
        if other.links[0].parent in names:
            lines += _body(tree, other, groups, sites, inside)
    return [*lines, indent + "</body>"]


def _body_name(tree: Robot, link: str) -> str:
    """Return the name of the body of a link. In MJCF, the name 'world' is reserved for the world."""
    return unique([f"{WORLD_NAME}_link"], tree.link_names)[0] if link == WORLD_NAME else link


def _joints(joint: Joint, pose: Pose) -> Iterator[str]:
    """Yield the tags of a joint with the given pose in its body."""
    actuator = _actuator_attributes(joint)
    if isinstance(joint.motion, Floating):
        yield tag("joint", "/", name=joint.name, type="free", **actuator)
        return
    at = {"pos": numbers_text(pose.translation)} if any(pose.translation) else {}
    if isinstance(joint.motion, Planar):
        x, y, z = (numbers_text(pose.rotation @ unit) for unit in UNITS)
        yield tag("joint", "/", name=f"{joint.name}_x", type="slide", axis=x, **actuator)
        yield tag("joint", "/", name=f"{joint.name}_y", type="slide", axis=y, **actuator)
        yield tag("joint", "/", name=f"{joint.name}_angle", type="hinge", axis=z, **at, **actuator)
    elif isinstance(joint.motion, Spherical):
        yield tag("joint", "/", name=joint.name, type="ball", **at, **actuator)
    else:
        kind = "slide" if isinstance(joint.motion, Prismatic) else "hinge"
        axis = numbers_text(pose.rotation @ joint.motion.axis)  # type: ignore[attr-defined]
        yield tag("joint", "/", name=joint.name, type=kind, axis=axis, **at, **_range(joint), **actuator)


def _actuator_attributes(joint: Joint) -> dict[str, str]:
    actuator = joint.actuator
    values = {
        "armature": actuator.reflected_inertia,
        "damping": actuator.friction.viscous,
        "frictionloss": actuator.friction.coulomb,
        "stiffness": actuator.stiffness,
        "springref": actuator.rest if actuator.stiffness else 0.0,
    }
    return {key: repr(float(x)) for key, x in values.items() if x}


def _range(joint: Joint) -> dict[str, str]:
    """Return both limits, which MJCF requires; a missing one is ±1e9.

    MuJoCo ignores or rejects a range of two equal numbers. Equal limits are therefore written with the next larger
    number as upper limit.
    """
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is None and upper is None:
        return {}
    if lower is not None and lower == upper:
        upper = math.nextafter(upper, math.inf) if upper else sys.float_info.min  # not 5e-324, which MuJoCo rejects
    return {"range": numbers_text((-1e9 if lower is None else lower, 1e9 if upper is None else upper))}


def _inertial(body: Body) -> str:
    moments, axes = np.linalg.eigh(np.array([list(row) for row in body.inertia.rows], float))
    entries = body.inertia.upper
    if not any((entries[1], entries[2], entries[4])):
        diagonal = numbers_text(_without_excess([entries[0], entries[3], entries[5]]))
        return tag("inertial", "/", pos=numbers_text(body.com), mass=repr(body.mass), diaginertia=diagonal)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    attributes = {
        "diaginertia": numbers_text(_without_excess(moments.tolist())),
        "quat": numbers_text(quaternion(Mat3.of(axes.tolist()))),
    }
    return tag("inertial", "/", pos=numbers_text(body.com), mass=repr(body.mass), **attributes)


def _without_excess(moments: list[float]) -> list[float]:
    """Return principal moments none of which exceeds the sum of the others, which rounding may cause for a plate."""
    largest = moments.index(max(moments))
    others = [x for k, x in enumerate(moments) if k != largest]
    moments[largest] = min(moments[largest], others[0] + others[1])
    return moments


def _sites(tree: Robot, link: str | None, offset: Pose, extra: Sites, indent: str) -> list[str]:
    frames = [(frame.name, frame.pose) for frame in tree.frames if frame.body == link] + extra.get(link, [])
    return [indent + tag("site", "/", name=name, **pose_attributes(offset @ pose)) for name, pose in frames]


def _geoms(tree: Robot, link: str | None, indent: str) -> Iterator[str]:
    """Yield visible geoms without collisions; meshes are not written."""
    for visual in tree.visuals:
        if visual.body == link and visual.shape in SIZE_FACTORS and min(visual.size) > 0.0:
            factors = SIZE_FACTORS[visual.shape]
            attributes = {"type": visual.shape, "size": numbers_text(map(truediv, visual.size, factors))}
            attributes |= pose_attributes(visual.pose)
            attributes |= {} if visual.color is None else {"rgba": numbers_text(visual.color)}
            attributes |= {"contype": "0", "conaffinity": "0", "group": str(LAST_VISIBLE_GROUP), "mass": "0"}
            yield indent + tag("geom", "/", **attributes)


# ---- motors and keyframe


def _motors(tree: Robot) -> Iterator[str]:
    for link in tree.moving:
        joint = link.joint
        if joint.motion.nv == 1:
            limit = joint.actuator.torque_limit
            force_range = {"forcerange": numbers_text((-limit, limit))} if math.isfinite(limit) and limit > 0.0 else {}
            yield tag("motor", "/", name=joint.name, joint=joint.name, **force_range)


def _home(tree: Robot, robot: Robot | ConstrainedRobot) -> Iterator[str]:
    if robot.home is None:
        return
    q = robot.start
    for at in tree.quaternions:
        q[at] = np.roll(q[at], 1)
    qpos: list[float] = []
    for joint in (link.joint for group in depth_first(list(link_groups(tree))) for link in group.links):
        qpos += [float(x) for x in tree.joint_position(joint, q.tolist())]  # a mimic joint has a coordinate in MJCF
    yield tag("key", "/", name="home", qpos=numbers_text(qpos))


def _section(name: str, inside: Iterable[str]) -> list[str]:
    lines = ["    " + line for line in inside]
    return [f"  <{name}>", *lines, f"  </{name}>"] if lines else []
