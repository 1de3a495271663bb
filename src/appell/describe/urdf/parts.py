"""The <joint> and <link> of a URDF, one at a time.

A planar joint of URDF moves in the plane normal to its axis; a robot's moves in its own x-y plane. For any axis but z
the link '<child>_planar', turned so that its z is the axis, does the moving and carries the described link as a frame.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from appell.algebra.matrix import IDENTITY, Mat3, outer, skew
from appell.algebra.rotation import Pose
from appell.algebra.scalar import snap
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.describe.build import Builder
from appell.describe.drives import KEYS, actuator_of
from appell.describe.flaws import Flaws
from appell.describe.looks import MeshFiles, remarked, visual, within
from appell.describe.values import shortened
from appell.describe.xml import Element
from appell.errors import ModelWarning, unknown_name
from appell.model.actuator import IDEAL, Actuator
from appell.model.body import Body
from appell.model.frame import IN_PLACE
from appell.model.joints import KINDS, Motion, Planar, unit_axis
from appell.model.limits import NO_LIMITS, Limits
from appell.model.robot import Mimic
from appell.model.visual import Visual

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


# ---- What a URDF says about what drives its joints
#
#     <dynamics damping friction>     viscous and Coulomb friction
#     <limit velocity effort>         speed and torque
#     <transmission>                  gear, and the rotor's inertia where <motorInertia> is given
#     <appell rotor_inertia="..."/>   in <joint>: what URDF has no words for, for appell alone
#
# A transmission stands in <robot> or in <ros2_control>; its <mechanicalReduction> in <actuator>, in <joint> or in
# itself. Only simple ones, of one joint, are a gear ratio: differentials, grippers and the like are skipped, and so is
# one that names no joint or no reduction. Files of one arm often keep the transmissions of the whole robot, so those of
# joints that do not exist are skipped with one warning.


DYNAMICS = {"viscous": "damping", "coulomb": "friction"}
LIMIT = {"speed": "velocity", "torque": "effort"}
UNSPOKEN = tuple(key for key in KEYS if key not in ("gear", *DYNAMICS, *LIMIT))
SIMPLE = "SimpleTransmission"
GEARING = {"gear": ("mechanicalReduction", "mechanical_reduction"), "rotor_inertia": ("motorInertia", "rotor_inertia")}
Gearing = Mapping[str, float]


def read_actuator(joint: Element, who: str, gearing: Gearing, limited: bool) -> Actuator:
    """What drives a joint: what its tags say (its <limit> only if it has one axis), and what transmissions do."""
    table = dict(gearing)
    dynamics = joint.only("dynamics")
    for key, attribute in DYNAMICS.items():
        if dynamics is not None and dynamics.attributes.get(attribute, "").strip():
            table[key] = dynamics.float(attribute, who)
    for key, attribute in LIMIT.items() if limited else ():
        if (most := limit_of(joint, attribute, who)) is not None:
            table[key] = most
    if (extra := joint.only("appell")) is not None:
        for key in extra.attributes:
            if key not in UNSPOKEN:
                raise extra.error(unknown_name("attribute", key, UNSPOKEN, f"<appell> of {who}"))
            table[key] = extra.float(key, who)
    return actuator_of(table, who, joint.where)


def limit_of(joint: Element, key: str, who: str) -> float | None:
    """A number of a joint's <limit>; None where it is blank, infinite, or said to be unknown."""
    tag = joint.only("limit")
    if tag is None or key not in tag.attributes.get("known", key).split():
        return None
    text = tag.attributes.get(key, "").strip().lower()
    return None if text.lstrip("+-") in ("", "inf", "infinity") else tag.float(key, who)


def read_gearings(document: Element, joints: Mapping[str, Element]) -> dict[str, Gearing]:
    """Gear ratios (and rotor inertias) of the simple transmissions, by joint."""
    found: dict[str, Gearing] = {}
    strangers = []
    for transmission in transmissions(document):
        ends, motors = list(transmission.all("joint")), list(transmission.all("actuator"))
        if not _is_simple(transmission) or len(ends) != 1 or len(motors) > 1:
            continue
        name = ends[0].attributes.get("name", "").strip()
        gearing = _gearing([*motors, *ends, transmission], f"the transmission of joint '{name}'")
        if not (name and gearing):
            continue
        if name not in joints:
            strangers.append(f"'{name}' (line {transmission.line})")
        elif found.setdefault(name, gearing) != gearing:
            raise transmission.error(f"two transmissions of joint '{name}' disagree.", expected="one of them")
    if strangers:
        listed = ", ".join(strangers[:10]) + (f" and {len(strangers) - 10} more" if len(strangers) > 10 else "")
        where = f"\n  read from {document.source}" if document.source else ""
        warnings.warn(f"transmissions of joints that are not there: {listed}.{where}", ModelWarning, stacklevel=2)
    return found


def transmissions(document: Element) -> Iterator[Element]:
    """Those of the robot, and those in its <ros2_control>."""
    yield from document.all("transmission")
    for control in document.all("ros2_control"):
        yield from control.all("transmission")


def _is_simple(transmission: Element) -> bool:
    inside = [child.content for tag in ("type", "plugin") for child in transmission.all(tag)]
    kind = next(filter(None, [transmission.attributes.get("type", ""), *inside]), SIMPLE)
    return kind.strip().endswith(SIMPLE)


def _gearing(places: list[Element], who: str) -> dict[str, float]:
    """The numbers of a transmission, from the first place that gives them as a tag or an attribute."""
    gearing: dict[str, float] = {}
    for key, spellings in GEARING.items():
        for place in places:
            for spelling in spellings:
                tag = place.only(spelling)
                if tag is not None and tag.content.strip():
                    gearing.setdefault(key, tag.number(who))
                elif place.attributes.get(spelling, "").strip():
                    gearing.setdefault(key, place.float(spelling, who))
    return gearing


# ---- The <visual> tags of a URDF: shapes on links, with the colours of <material> tags
#
# A robot without visuals is shown by its <collision> shapes. A visual that cannot be read is skipped with a warning.


SIZES = {"sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}
Colors = dict[str, tuple[float, ...]]


def read_visuals(
    builder: Builder, document: Element, links: Mapping[str, Element], files: MeshFiles, notes: list[str]
) -> None:
    """Add the shapes of all links."""
    seen = "visual" if any(True for link in links.values() for _ in link.all("visual")) else "collision"
    tags = [(name, tag) for name, link in links.items() for tag in link.all(seen)]
    colors = _colors(document, [tag for _, tag in tags])
    for name, tag in tags:
        told = f"a <{seen}> of link '{name}' (line {tag.line})"
        found = remarked(notes, told, lambda tag=tag, name=name: _visual(tag, name, colors, files))  # type: ignore[misc]
        if found is not None:
            builder.visuals.append(found)


def _visual(tag: Element, link: str, colors: Colors, files: MeshFiles) -> Visual | None:
    who = f"link '{link}'"
    geometry = tag.need("geometry", who)
    if not geometry.children:
        raise geometry.error("its <geometry> is empty.")
    shape = geometry.children[0]
    pose, color = placement(tag, who), _color(tag.only("material"), colors)
    called = tag.attributes.get("name", "").strip() or link
    if shape.tag == "mesh":
        scale = shape.attributes.get("scale", "").split()
        count = 1 if len(scale) == 1 else 3  # one number is meant for all axes
        size = shape.floats("scale", count, who) * (3 // count) if scale else None
        return visual(link, "mesh", size, pose, color, files.find(shape.text("filename", who)), called)
    if shape.tag == "box":
        return visual(link, "box", shape.floats("size", 3, who), pose, color, "", called)
    if shape.tag not in SIZES:
        raise shape.error(f"<{shape.tag}> is no shape that is known.")
    return visual(link, shape.tag, [shape.float(key, who) for key in SIZES[shape.tag]], pose, color, "", called)


def _color(material: Element | None, colors: Colors) -> tuple[float, ...] | None:
    if material is None:
        return None
    return _own_color(material) or colors.get(material.attributes.get("name", "").strip())


def _colors(document: Element, tags: list[Element]) -> Colors:
    """The colours of named materials: those of the robot, then those that links give and others use."""
    found: Colors = {}
    for material in (*document.all("material"), *(one for tag in tags for one in tag.all("material"))):
        color, name = _own_color(material), material.attributes.get("name", "").strip()
        if color is not None and name:
            found.setdefault(name, color)
    return found


def _own_color(material: Element) -> tuple[float, ...] | None:
    """The colour that a material says itself; None if it says none, or what is none."""
    words = next((color.attributes.get("rgba", "").split() for color in material.all("color")), [])
    try:
        color = within(float(word) for word in words)
    except ValueError:
        return None
    return color if len(color) == 4 else (*color, 1.0) if len(color) == 3 else None
