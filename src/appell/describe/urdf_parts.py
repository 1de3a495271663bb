"""The <joint> and <link> of a URDF, one at a time.

A planar joint of URDF moves in the plane normal to its axis; a robot's moves in its own x-y plane. For any axis but z
the link '<child>_planar', turned so that its z is the axis, does the moving and carries the described link as a frame.
"""

from __future__ import annotations

from typing import Any

from appell.algebra.matrix import IDENTITY, Mat3, skew
from appell.algebra.rotation import Pose
from appell.algebra.scalar import snap
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.describe.build import Builder
from appell.describe.urdf_drives import Gearing, limit_of, read_actuator
from appell.describe.values import shortened
from appell.describe.xml import Element
from appell.model.body import Body
from appell.model.frame import IN_PLACE
from appell.model.joints import KINDS, Motion, Planar
from appell.model.joints.motion import unit_axis
from appell.model.robot import NO_LIMITS, Limits, Mimic

TYPES: dict[str, type[Motion] | None] = {**KINDS, "ball": KINDS["spherical"], "fixed": None}
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
SAME_ROTATION = 1e-9


def read_joint(builder: Builder, name: str, joint: Element, child: Element, parent: str, gearing: Gearing) -> None:
    """Add a joint and the link on it."""
    who, link = f"joint '{name}'", child.attributes["name"].strip()
    kind = joint.text("type", who)
    if kind not in TYPES:
        raise joint.error(f"{who} has type {shortened(kind)}.", expected=", ".join(TYPES))
    motion, place = TYPES[kind], placement(joint, who)
    shared: dict[str, Any] = {"parent": parent, "joint_name": name, "where": joint.where, **_matter(child)}
    if motion is None:
        builder.fixed(link, at=place, **shared)
        return
    shared |= {"mimic": _mimic(joint, who), "actuator": read_actuator(joint, who, gearing, limited=motion.nv == 1)}
    if motion is Planar:
        _add_planar(builder, link, place, _axis(joint, who), shared)
    elif hasattr(motion, "axis"):
        limits = NO_LIMITS if kind == "continuous" else _limits(joint, who)
        builder.link(link, motion(_axis(joint, who)), at=place, limits=limits, **shared)  # type: ignore[call-arg]
    else:
        builder.link(link, motion(), at=place, **shared)


def body_of(link: Element) -> Body | None:
    """The body of a link's <inertial>, turned into the axes of the link, maybe of no mass; None if it has none."""
    who, inertial = f"link '{link.attributes['name']}'", link.only("inertial")
    if inertial is None or not inertial.children:
        return None
    mass = inertial.need("mass", who).float("value", who)
    tensor = inertial.need("inertia", who)
    inertia = Mat3.symmetric(*(tensor.float(key, who) for key in INERTIA))
    return Body(mass, ZERO, inertia).moved(placement(inertial, who))


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


def _matter(link: Element) -> dict[str, Any]:
    body, note = body_of(link), link.only("appell")
    if body is not None and body.is_nothing:
        return {"mass": 0.0}
    massless = body is None and note is not None and note.attributes.get("massless") == "true"
    return {"body": body, "mass": 0.0 if massless else None}


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
    plane, body = f"{link}_planar", shared.pop("body")
    builder.link(plane, Planar(), at=place @ tilt, **shared)
    fixture, where = f"{shared['joint_name']}_tilt", shared["where"]
    builder.fixed(link, parent=plane, at=tilt.inverse, joint_name=fixture, body=body, where=where)


def _turn_z_to(normal: Vec3) -> Mat3:
    """The shortest rotation that takes z to a unit vector: 1 + ṽ + ṽ² / (1 + cos), v = z × normal."""
    if normal == -UNITS[2]:
        return Mat3((UNITS[0], -UNITS[1], -UNITS[2]))
    turn = skew(UNITS[2].cross(normal))
    rotation = IDENTITY + turn + (1.0 / (1.0 + normal.z)) * (turn @ turn)
    return Mat3.of([snap(x) for x in row] for row in rotation.rows)


def _limits(joint: Element, who: str) -> Limits:
    return Limits(*(limit_of(joint, key, who) for key in ("lower", "upper")))


def _mimic(joint: Element, who: str) -> Mimic | None:
    tag = joint.only("mimic")
    if tag is None:
        return None
    factors = {key: tag.float(key, who) for key in ("multiplier", "offset") if tag.attributes.get(key, "").strip()}
    return Mimic(tag.text("joint", who), **factors)
