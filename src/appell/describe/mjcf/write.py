"""A robot as the lines of an MJCF document.

Links are bodies whose joint stands at their origin, frames are sites, shapes that need no file are geoms, home is a
keyframe, and every joint of one axis has a motor. Links without mass share the body of the link they carry
(`describe.mjcf.rows`). Rotor inertia becomes armature, with the gear worked in. A mimic joint is a joint and an
equality constraint; a planar joint is two slides and a hinge. What MJCF has no words for is refused if motion depends
on it, and else named in a warning.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import UNITS
from appell.describe.drives import notable
from appell.describe.looks import HALVES
from appell.describe.mjcf.equality import Sites, equality_lines, equality_sites
from appell.describe.mjcf.rows import LinkRow, check_rows, outward, rows_of
from appell.describe.mjcf.visuals import SHOWN
from appell.describe.mjcf.words import listed, place_words, quaternion, tag
from appell.model.body import Body
from appell.model.frame import IN_PLACE
from appell.model.joints import Floating, Planar, Prismatic, Spherical
from appell.model.robot import ConstrainedRobot, Joint, Robot

SAID = ("gear", "rotor_inertia", "viscous", "coulomb", "torque", "stiffness", "rest")  # of an actuator


def mjcf_lines(robot: Robot | ConstrainedRobot) -> list[str]:
    """The document."""
    tree = robot.tree
    rows = list(rows_of(tree))
    check_rows(tree, rows)
    sites = equality_sites(robot) if isinstance(robot, ConstrainedRobot) else {}
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        tag("mujoco", model=tree.name),
        '  <compiler angle="radian" autolimits="true"/>',
        "  " + tag("option", "/", gravity=listed(tree.gravity)),
        "  <worldbody>",
        *_sites(tree, None, IN_PLACE, sites, "    "),
        *_geoms(tree, None, "    "),
    ]
    for row in (row for row in rows if row.links[0].parent is None):
        lines += _body(tree, row, rows, sites, "    ")
    lines.append("  </worldbody>")
    lines += _section("actuator", _motors(tree))
    lines += _section("equality", equality_lines(robot))
    lines += _section("keyframe", _home(tree, robot))
    return [*lines, "</mujoco>"]


def left_out(robot: Robot) -> str:
    """What MJCF has no words for, joint by joint; empty if it can say all."""
    told = []
    for link in robot.links:
        own = link.joint.actuator
        lost = {key: x for key, x in notable(own).items() if key not in SAID}
        lost = {key: x for key, x in lost.items() if key != "stribeck" or "static" in lost}
        told += [f"{key.replace('_', ' ')} {x:g} of joint '{link.joint.name}'" for key, x in lost.items()]
    merged = {link.name for row in rows_of(robot) for link in row.links[:-1]}
    told += [
        f"frame '{frame.name}' on '{frame.body}', which has no mass" for frame in robot.frames if frame.body in merged
    ]
    return "; ".join(told)


def reworded(robot: Robot) -> str:
    """What MJCF says in other words, so that coordinates or velocities are others; empty if there is none."""
    told = [
        f"joint '{x.joint.name}' mimics by an equality constraint, which gives way"
        for x in robot.links
        if x.joint.mimic
    ]
    planar = (link.joint for link in robot.links if isinstance(link.joint.motion, Planar))
    told += [
        f"joint '{joint.name}' is two slides and a hinge, its velocity in the axes of the world" for joint in planar
    ]
    order = [link.joint.name for row in outward(list(rows_of(robot))) for link in row.links]
    if order != [link.joint.name for link in robot.links]:
        told.append(f"joints stand in the order {', '.join(order)}")
    return "; ".join(told)


# ---- bodies


def _body(tree: Robot, row: LinkRow, rows: Sequence[LinkRow], sites: Sites, indent: str) -> list[str]:
    inside, link = indent + "  ", row.last
    lines = [indent + tag("body", name=link.name, **place_words(row.placement))]
    for own, rest in row.places():
        lines += [inside + joint for joint in _joints(own.joint, rest.inverse)]
    assert link.body is not None
    lines.append(inside + _inertial(link.body))
    lines += [*_sites(tree, link.name, IN_PLACE, sites, inside), *_geoms(tree, link.name, inside)]
    for own, rest in row.places():
        if own is not link:
            lines += [
                inside + tag("site", "/", name=name, **place_words(rest.inverse @ pose))
                for name, pose in sites.get(own.name, [])
            ]
    names = {own.name for own in row.links}
    for other in rows:
        if other.links[0].parent in names:
            lines += _body(tree, other, rows, sites, inside)
    return [*lines, indent + "</body>"]


def _joints(joint: Joint, place: Pose) -> Iterator[str]:
    """The tags of a joint that stands at `place` in its body."""
    about = _drive(joint)
    if isinstance(joint.motion, Floating):
        yield tag("joint", "/", name=joint.name, type="free", **about)
        return
    at = {"pos": listed(place.translation)} if any(place.translation) else {}
    if isinstance(joint.motion, Planar):
        x, y, z = (listed(place.rotation @ unit) for unit in UNITS)
        yield tag("joint", "/", name=f"{joint.name}_x", type="slide", axis=x, **about)
        yield tag("joint", "/", name=f"{joint.name}_y", type="slide", axis=y, **about)
        yield tag("joint", "/", name=f"{joint.name}_angle", type="hinge", axis=z, **at, **about)
    elif isinstance(joint.motion, Spherical):
        yield tag("joint", "/", name=joint.name, type="ball", **at, **about)
    else:
        kind = "slide" if isinstance(joint.motion, Prismatic) else "hinge"
        axis = listed(place.rotation @ joint.motion.axis)  # type: ignore[attr-defined]
        yield tag("joint", "/", name=joint.name, type=kind, axis=axis, **at, **_range(joint), **about)


def _drive(joint: Joint) -> dict[str, str]:
    own = joint.actuator
    words = {
        "armature": own.reflected_inertia,
        "damping": own.friction.viscous,
        "frictionloss": own.friction.coulomb,
        "stiffness": own.stiffness,
        "springref": own.rest if own.stiffness else 0.0,
    }
    return {key: repr(float(x)) for key, x in words.items() if x}


def _range(joint: Joint) -> dict[str, str]:
    """Both ends, as MJCF wants them; what is open is far away."""
    lower, upper = joint.limits.lower, joint.limits.upper
    if lower is None and upper is None:
        return {}
    return {"range": listed((-1e9 if lower is None else lower, 1e9 if upper is None else upper))}


def _inertial(body: Body) -> str:
    moments, axes = np.linalg.eigh(np.array([list(row) for row in body.inertia.rows], float))
    entries = body.inertia.upper
    if not any((entries[1], entries[2], entries[4])):
        diagonal = listed((entries[0], entries[3], entries[5]))
        return tag("inertial", "/", pos=listed(body.com), mass=repr(body.mass), diaginertia=diagonal)
    axes[:, 2] *= np.sign(np.linalg.det(axes))
    turn = {"quat": listed(quaternion(Mat3.of(axes.tolist())))}
    return tag("inertial", "/", pos=listed(body.com), mass=repr(body.mass), diaginertia=listed(moments), **turn)


def _sites(tree: Robot, link: str | None, place: Pose, extra: Sites, indent: str) -> list[str]:
    own = [(frame.name, frame.pose) for frame in tree.frames if frame.body == link] + extra.get(link, [])
    return [indent + tag("site", "/", name=name, **place_words(place @ pose)) for name, pose in own]


def _geoms(tree: Robot, link: str | None, indent: str) -> Iterator[str]:
    """Shapes that nothing collides with, in the group of what is seen; meshes are not written."""
    for own in tree.visuals:
        if own.body == link and own.shape in HALVES and min(own.size) > 0.0:
            size = listed(x / factor for x, factor in zip(own.size, HALVES[own.shape], strict=True))
            look = {} if own.color is None else {"rgba": listed(own.color)}
            seen = {"contype": "0", "conaffinity": "0", "group": str(SHOWN), "mass": "0"}
            yield indent + tag("geom", "/", type=own.shape, size=size, **place_words(own.pose), **look, **seen)


# ---- what stands beside the bodies


def _motors(tree: Robot) -> Iterator[str]:
    for link in tree.moving:
        joint = link.joint
        if joint.motion.nv == 1:
            most = joint.actuator.torque_limit
            bound = {"forcerange": listed((-most, most))} if math.isfinite(most) and most > 0.0 else {}
            yield tag("motor", "/", name=joint.name, joint=joint.name, **bound)


def _home(tree: Robot, robot: Robot | ConstrainedRobot) -> Iterator[str]:
    if robot.home is None:
        return
    q = robot.start
    for at in tree.quaternions:
        q[at] = np.roll(q[at], 1)
    whole: list[float] = []
    for own in (link.joint for row in outward(list(rows_of(tree))) for link in row.links):
        whole += [float(x) for x in tree.joint_position(own, q.tolist())]  # a mimic joint has a coordinate in MJCF
    yield tag("key", "/", name="home", qpos=listed(whole))


def _section(name: str, inside: Iterable[str]) -> list[str]:
    lines = ["    " + line for line in inside]
    return [f"  <{name}>", *lines, f"  </{name}>"] if lines else []
