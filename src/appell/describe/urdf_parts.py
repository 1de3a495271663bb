"""The <joint> and <link> of a URDF, one at a time.

A planar joint of URDF moves in the plane normal to its axis; a robot's moves in its own x-y plane. For any axis but z
the link '<child>_planar', turned so that its z is the axis, does the moving and carries the described link as a frame.
"""

from __future__ import annotations

import math
from typing import Any

from appell.algebra.matrix import IDENTITY, Mat3, outer, skew
from appell.algebra.rotation import Pose
from appell.algebra.scalar import snap
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.describe.build import Builder
from appell.describe.flaws import Flaws
from appell.describe.urdf_drives import Gearing, limit_of, read_actuator
from appell.describe.values import shortened
from appell.describe.xml import Element
from appell.model.actuator import IDEAL
from appell.model.body import Body
from appell.model.frame import IN_PLACE
from appell.model.joints import KINDS, Motion, Planar
from appell.model.joints.motion import unit_axis
from appell.model.limits import NO_LIMITS, Limits
from appell.model.robot import Mimic

TYPES: dict[str, type[Motion] | None] = {**KINDS, "ball": KINDS["spherical"], "fixed": None}
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
SAME_ROTATION = 1e-9


def read_joint(
    builder: Builder, name: str, joint: Element, child: Element, parent: str, gearing: Gearing, flaws: Flaws
) -> None:
    """Add a joint and the link on it."""
    who, link, tried = f"joint '{name}'", child.attributes["name"].strip(), flaws.tried
    kind = tried("continuous", _kind, joint, who)
    motion, place = TYPES[kind], tried(IN_PLACE, placement, joint, who)
    shared: dict[str, Any] = {"parent": parent, "joint_name": name, "where": joint.where, **matter_of(child, flaws)}
    if motion is None:
        builder.fixed(link, at=place, **shared)
        return
    actuator = tried(IDEAL, read_actuator, joint, who, gearing, limited=motion.nv == 1)
    shared |= {"mimic": tried(None, _mimic, joint, who), "actuator": actuator}
    if motion is Planar:
        _add_planar(builder, link, place, tried(UNITS[2], _axis, joint, who), shared)
    elif hasattr(motion, "axis"):
        limits = NO_LIMITS if kind == "continuous" else tried(NO_LIMITS, _limits, joint, who)
        axis = tried(UNITS[2], _axis, joint, who)
        builder.link(link, motion(axis), at=place, limits=limits, **shared)  # type: ignore[call-arg]
    else:
        builder.link(link, motion(), at=place, **shared)


def _kind(joint: Element, who: str) -> str:
    kind = joint.text("type", who)
    if kind not in TYPES:
        raise joint.error(f"{who} has type {shortened(kind)}.", expected=", ".join(TYPES))
    return kind


def matter_of(link: Element, flaws: Flaws) -> dict[str, Any]:
    """The `body` of a link's <inertial>, or `mass` 0 if there is said to be none; neither if nothing is said."""
    inertial, note = flaws.tried(None, link.only, "inertial"), flaws.tried(None, link.only, "appell")
    if inertial is None or not inertial.children:
        massless = note is not None and note.attributes.get("massless") == "true"
        return {"mass": 0.0} if massless else {}
    body = _body(inertial, f"link '{link.attributes['name'].strip()}'", flaws)
    return {"mass": 0.0} if body is None or body.is_nothing else {"body": body, "body_where": inertial.where}


def _body(inertial: Element, who: str, flaws: Flaws) -> Body | None:
    """Turned into the axes of the link; None if it cannot be read."""
    tried, before = flaws.tried, len(flaws.found)
    weight, tensor = (tried(None, inertial.need, tag, who) for tag in ("mass", "inertia"))
    mass = tried(0.0, weight.float, "value", who) if weight is not None else 0.0
    entries = [tried(0.0, tensor.float, key, who) for key in INERTIA] if tensor is not None else []
    place = tried(IN_PLACE, placement, inertial, who)
    if len(flaws.found) > before:
        return None
    return Body(mass, ZERO, Mat3.symmetric(*entries)).moved(place)


def placement(element: Element, who: str) -> Pose:
    """The pose of the <origin> of a joint or an inertial."""
    origin = element.only("origin")
    if origin is None:
        return IN_PLACE
    xyz, rpy = (Vec3.of(origin.floats(key, 3, who)) if key in origin.attributes else ZERO for key in ("xyz", "rpy"))
    pose = Pose.from_rpy(rpy, xyz)
    if "rotation" not in origin.attributes:
        return pose
    numbers = origin.floats("rotation", 9, who)
    exact = Mat3.of((numbers[:3], numbers[3:6], numbers[6:]))
    if max(abs(x) for row in (exact - pose.rotation).rows for x in row) > SAME_ROTATION:
        raise origin.error(f"rpy and rotation of {who} are two rotations.", hint="remove the rotation attribute")
    return Pose(exact, xyz)


def _axis(joint: Element, who: str) -> Vec3:
    tag = joint.only("axis")
    if tag is None:
        return UNITS[0]  # what URDF says
    axis = tag.floats("xyz", 3, who)
    if not any(axis):
        expected = "a non-zero 3-vector, for example 0 0 1"
        raise tag.error(f"{who} has axis (0, 0, 0), which has no direction.", expected)
    return unit_axis(axis)


def _add_planar(builder: Builder, link: str, place: Pose, normal: Vec3, shared: dict[str, Any]) -> None:
    tilt = Pose(_turn_z_to(normal))
    if tilt == IN_PLACE:
        builder.link(link, Planar(), at=place, **shared)
        return
    plane, body = f"{link}_planar", {key: shared.pop(key) for key in ("body", "body_where") if key in shared}
    builder.link(plane, Planar(), at=place @ tilt, **shared)
    fixture, where = f"{shared['joint_name']}_tilt", shared["where"]
    builder.fixed(link, parent=plane, at=tilt.inverse, joint_name=fixture, where=where, **body)


def _turn_z_to(normal: Vec3) -> Mat3:
    """The shortest rotation that takes z to a unit vector n: 1 + ṽ + ṽ² / (1 + n_z) with v = z × n.

    Below the plane 1 + n_z cancels. There ṽ² = |v|² (e eᵀ - 1) along the unit vector e of v, and |v|² = 1 - n_z² leaves
    the factor 1 - n_z.
    """
    length = math.hypot(normal.x, normal.y)
    if length == 0.0:
        return IDENTITY if normal.z > 0.0 else Mat3((UNITS[0], -UNITS[1], -UNITS[2]))
    v = Vec3(-normal.y, normal.x, 0.0)
    if normal.z >= 0.0:
        square = (1.0 / (1.0 + normal.z)) * (skew(v) @ skew(v))
    else:
        e = (1.0 / length) * v
        square = (1.0 - normal.z) * (outer(e, e) - IDENTITY)
    rotation = IDENTITY + skew(v) + square
    return Mat3.of([snap(x) for x in row] for row in rotation.rows)


def _limits(joint: Element, who: str) -> Limits:
    return Limits(*(limit_of(joint, key, who) for key in ("lower", "upper")))


def _mimic(joint: Element, who: str) -> Mimic | None:
    tag = joint.only("mimic")
    if tag is None:
        return None
    factors = {key: tag.float(key, who) for key in ("multiplier", "offset") if tag.attributes.get(key, "").strip()}
    return Mimic(tag.text("joint", who), **factors)
