"""Read the <joint> and <link> tags of a URDF.

A planar joint of URDF moves in the plane normal to its axis, a `Planar` joint in its x-y plane. For any axis other than
z, the link '<child>_planar', rotated so that its z axis is the axis of the joint, moves and carries the described link
as a frame.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose, rotation_of_z_to
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.describe.actuator_table import KEYS, actuator_from_table
from appell.describe.build import Builder
from appell.describe.diagnostics import ErrorCollector
from appell.describe.values import shortened
from appell.describe.visuals import MeshFiles, clipped, collision, read_or_note, visual
from appell.describe.xml import Element
from appell.errors import ModelWarning, unknown_name
from appell.model.actuator import IDEAL, Actuator
from appell.model.body import Body
from appell.model.collision import Collision
from appell.model.frame import IDENTITY_POSE
from appell.model.joints import KINDS, Motion, Planar, unit_axis
from appell.model.limits import NO_LIMITS, Limits
from appell.model.robot import Mimic
from appell.model.visual import Visual

TYPES: dict[str, type[Motion] | None] = {**KINDS, "ball": KINDS["spherical"], "fixed": None}
INERTIA = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
ROTATION_TOLERANCE = 1e-9  # largest difference of the matrix entries of rpy and rotation


def read_joint(
    builder: Builder, name: str, joint: Element, child: Element, parent: str, gearing: Gearing, errors: ErrorCollector
) -> None:
    """Add a joint and its child link to the builder.

    Parameters
    ----------
    builder : receives the link
    name, joint : name and tag of the joint
    child : tag of the child link
    parent : name of the parent link
    gearing : gear ratio and rotor inertia from transmissions
    errors : collects errors
    """
    owner, link, attempt = f"joint '{name}'", child.attributes["name"].strip(), errors.attempt
    kind = attempt("continuous", _kind, joint, owner)
    motion, pose = TYPES[kind], attempt(IDENTITY_POSE, placement, joint, owner)
    shared: dict[str, Any] = {"parent": parent, "joint_name": name, "where": joint.where, **body_options(child, errors)}
    if motion is None:
        builder.fixed(link, at=pose, **shared)
        return
    actuator = attempt(IDEAL, read_actuator, joint, owner, gearing, limited=motion.nv == 1)
    shared |= {"mimic": attempt(None, _mimic, joint, owner), "actuator": actuator}
    if motion is Planar:
        _add_planar(builder, link, pose, attempt(UNITS[2], _axis, joint, owner), shared)
    elif hasattr(motion, "axis"):
        limits = NO_LIMITS if kind == "continuous" else attempt(NO_LIMITS, _limits, joint, owner)
        axis = attempt(UNITS[2], _axis, joint, owner)
        builder.link(link, motion(axis), at=pose, limits=limits, **shared)  # type: ignore[call-arg]
    else:
        builder.link(link, motion(), at=pose, **shared)


def _kind(joint: Element, owner: str) -> str:
    kind = joint.text("type", owner)
    if kind not in TYPES:
        raise joint.error(f"{owner} has type {shortened(kind)}.", expected=", ".join(TYPES))
    return kind


def body_options(link: Element, errors: ErrorCollector) -> dict[str, Any]:
    """Return the inertia of a link as options of `Builder.link`: a `body`, `mass` 0 if declared massless, or none."""
    inertial, extra = errors.attempt(None, link.only, "inertial"), errors.attempt(None, link.only, "appell")
    if inertial is None or not inertial.children:
        massless = extra is not None and extra.attributes.get("massless") == "true"
        return {"mass": 0.0} if massless else {}
    body = _body(inertial, f"link '{link.attributes['name'].strip()}'", errors)
    return {"mass": 0.0} if body is None or body.is_zero else {"body": body, "body_where": inertial.where}


def _body(inertial: Element, owner: str, errors: ErrorCollector) -> Body | None:
    """Return the body of an <inertial> in the axes of the link; None if it cannot be read."""
    attempt, error_count = errors.attempt, len(errors.collected)
    mass_tag, tensor = (attempt(None, inertial.need, tag, owner) for tag in ("mass", "inertia"))
    mass = attempt(0.0, mass_tag.float, "value", owner) if mass_tag is not None else 0.0
    entries = [attempt(0.0, tensor.float, key, owner) for key in INERTIA] if tensor is not None else []
    pose = attempt(IDENTITY_POSE, placement, inertial, owner)
    if len(errors.collected) > error_count:
        return None
    return Body(mass, ZERO, Mat3.symmetric(*entries)).moved(pose)


def placement(element: Element, owner: str) -> Pose:
    """Return the pose of the <origin> of a joint, an inertial or a visual; the identity without one."""
    origin = element.only("origin")
    if origin is None:
        return IDENTITY_POSE
    xyz, rpy = (Vec3.of(origin.floats(key, 3, owner)) if key in origin.attributes else ZERO for key in ("xyz", "rpy"))
    pose = Pose.from_rpy(rpy, xyz)
    if "rotation" not in origin.attributes:
        return pose
    numbers = origin.floats("rotation", 9, owner)
    exact = Mat3.of((numbers[:3], numbers[3:6], numbers[6:]))
    if max(abs(x) for row in (exact - pose.rotation).rows for x in row) > ROTATION_TOLERANCE:
        raise origin.error(
            f"rpy and rotation of {owner} are different rotations.", hint="Remove the rotation attribute."
        )
    return Pose(exact, xyz)


def _axis(joint: Element, owner: str) -> Vec3:
    tag = joint.only("axis")
    if tag is None:
        return UNITS[0]  # the default of URDF
    axis = tag.floats("xyz", 3, owner)
    if not any(axis):
        expected = "a non-zero 3-vector, for example 0 0 1"
        raise tag.error(f"{owner} has axis (0, 0, 0), which has no direction.", expected)
    return unit_axis(axis)


def _add_planar(builder: Builder, link: str, pose: Pose, normal: Vec3, shared: dict[str, Any]) -> None:
    tilt = Pose(rotation_of_z_to(normal))
    if tilt == IDENTITY_POSE:
        builder.link(link, Planar(), at=pose, **shared)
        return
    plane, body = f"{link}_planar", {key: shared.pop(key) for key in ("body", "body_where") if key in shared}
    builder.link(plane, Planar(), at=pose @ tilt, **shared)
    tilt_joint, where = f"{shared['joint_name']}_tilt", shared["where"]
    builder.fixed(link, parent=plane, at=tilt.inverse, joint_name=tilt_joint, where=where, **body)


def _limits(joint: Element, owner: str) -> Limits:
    return Limits(*(limit_of(joint, key, owner) for key in ("lower", "upper")))


def _mimic(joint: Element, owner: str) -> Mimic | None:
    tag = joint.only("mimic")
    if tag is None:
        return None
    factors = {key: tag.float(key, owner) for key in ("multiplier", "offset") if tag.attributes.get(key, "").strip()}
    return Mimic(tag.text("joint", owner), **factors)


# ---- Actuators of a URDF
#
#     <dynamics damping friction>     viscous and Coulomb friction
#     <limit velocity effort>         speed and torque limits
#     <transmission>                  gear ratio, and the rotor inertia if <motorInertia> is given
#     <appell rotor_inertia="..."/>   in <joint>: values that URDF cannot express, read by appell only
#
# A transmission is in <robot> or in <ros2_control>; its <mechanicalReduction> is in <actuator>, in <joint> or in the
# transmission itself. Only simple transmissions with one joint are gear ratios: differentials, grippers and the like
# are skipped, and so is a transmission without a joint or a reduction. Files of one arm often contain the transmissions
# of a complete robot, so those of joints that do not exist are skipped with one warning.


DYNAMICS = {"viscous": "damping", "coulomb": "friction"}
LIMIT = {"speed": "velocity", "torque": "effort"}
APPELL_KEYS = tuple(key for key in KEYS if key not in ("gear", *DYNAMICS, *LIMIT))
SIMPLE = "SimpleTransmission"
GEARING = {"gear": ("mechanicalReduction", "mechanical_reduction"), "rotor_inertia": ("motorInertia", "rotor_inertia")}
Gearing = Mapping[str, float]


def read_actuator(joint: Element, owner: str, gearing: Gearing, limited: bool) -> Actuator:
    """Return the actuator of a joint.

    Parameters
    ----------
    joint : tag of the joint
    owner : name of the joint in messages
    gearing : gear ratio and rotor inertia from transmissions
    limited : whether the <limit> applies, which is so for joints with one axis
    """
    table = dict(gearing)
    dynamics = joint.only("dynamics")
    for key, attribute in DYNAMICS.items():
        if dynamics is not None and dynamics.attributes.get(attribute, "").strip():
            table[key] = dynamics.float(attribute, owner)
    for key, attribute in LIMIT.items() if limited else ():
        if (limit := limit_of(joint, attribute, owner)) is not None:
            table[key] = limit
    if (extra := joint.only("appell")) is not None:
        for key in extra.attributes:
            if key not in APPELL_KEYS:
                raise extra.error(unknown_name("attribute", key, APPELL_KEYS, f"<appell> of {owner}"))
            table[key] = extra.float(key, owner)
    return actuator_from_table(table, owner, joint.where)


def limit_of(joint: Element, key: str, owner: str) -> float | None:
    """Return a number of a joint's <limit>; None if it is missing, infinite, or not listed in `known`."""
    tag = joint.only("limit")
    if tag is None or key not in tag.attributes.get("known", key).split():
        return None
    text = tag.attributes.get(key, "").strip().lower()
    return None if text.lstrip("+-") in ("", "inf", "infinity") else tag.float(key, owner)


def read_gearings(document: Element, joints: Mapping[str, Element]) -> dict[str, Gearing]:
    """Return gear ratios and rotor inertias of the simple transmissions, by joint."""
    gearings: dict[str, Gearing] = {}
    unknown = []
    for transmission in transmissions(document):
        ends, motors = list(transmission.all("joint")), list(transmission.all("actuator"))
        if not _is_simple(transmission) or len(ends) != 1 or len(motors) > 1:
            continue
        name = ends[0].attributes.get("name", "").strip()
        gearing = _gearing([*motors, *ends, transmission], f"the transmission of joint '{name}'")
        if not (name and gearing):
            continue
        if name not in joints:
            unknown.append(f"'{name}' (line {transmission.line})")
        elif gearings.setdefault(name, gearing) != gearing:
            problem = f"joint '{name}' has two transmissions with different values."
            raise transmission.error(problem, expected="one transmission")
    if unknown:
        listed = ", ".join(unknown[:10]) + (f" and {len(unknown) - 10} more" if len(unknown) > 10 else "")
        where = f"\n  read from {document.source}" if document.source else ""
        warnings.warn(
            f"ignored: transmissions of joints that do not exist: {listed}.{where}", ModelWarning, stacklevel=2
        )
    return gearings


def transmissions(document: Element) -> Iterator[Element]:
    """Yield the transmissions of the robot and of its <ros2_control>."""
    yield from document.all("transmission")
    for control in document.all("ros2_control"):
        yield from control.all("transmission")


def _is_simple(transmission: Element) -> bool:
    inside = [child.content for tag in ("type", "plugin") for child in transmission.all(tag)]
    kind = next(filter(None, [transmission.attributes.get("type", ""), *inside]), SIMPLE)
    return kind.strip().endswith(SIMPLE)


def _gearing(elements: list[Element], owner: str) -> dict[str, float]:
    """Return the numbers of a transmission, from the first element that has them as a tag or an attribute."""
    gearing: dict[str, float] = {}
    for key, spellings in GEARING.items():
        for element in elements:
            for spelling in spellings:
                tag = element.only(spelling)
                if tag is not None and tag.content.strip():
                    gearing.setdefault(key, tag.number(owner))
                elif element.attributes.get(spelling, "").strip():
                    gearing.setdefault(key, element.float(spelling, owner))
    return gearing


# ---- The <visual> tags of a URDF: shapes on links, with the colours of <material> tags
#
# If a robot has no visuals, its <collision> shapes are used. A shape that cannot be read is skipped with a warning.


SIZES = {"sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length")}
Colors = dict[str, tuple[float, ...]]


def read_visuals(
    builder: Builder, document: Element, links: Mapping[str, Element], files: MeshFiles, notes: list[str]
) -> None:
    """Add the shapes of all links to the builder.

    Parameters
    ----------
    builder : receives the shapes
    document : the <robot>
    links : tags of the links by name
    files : finds mesh files
    notes : receives a note about every shape that could not be read
    """
    tag_name = "visual" if any(True for link in links.values() for _ in link.all("visual")) else "collision"
    tags = [(name, tag) for name, link in links.items() for tag in link.all(tag_name)]
    colors = _colors(document, [tag for _, tag in tags])
    for name, tag in tags:
        what = f"a <{tag_name}> of link '{name}' (line {tag.line})"
        shape = read_or_note(notes, what, lambda tag=tag, name=name: _visual(tag, name, colors, files))  # type: ignore[misc]
        if shape is not None:
            builder.visuals.append(shape)


def read_collisions(builder: Builder, links: Mapping[str, Element], files: MeshFiles, notes: list[str]) -> None:
    """Add the <collision> shapes of all links to the builder; see `read_visuals` for the arguments."""
    for name, tag in [(name, tag) for name, link in links.items() for tag in link.all("collision")]:
        what = f"a <collision> of link '{name}' (line {tag.line})"
        shape = read_or_note(notes, what, lambda tag=tag, name=name: _collision(tag, name, files))  # type: ignore[misc]
        if shape is not None:
            builder.collisions.append(shape)


def _collision(tag: Element, link: str, files: MeshFiles) -> Collision:
    shape = _visual(tag, link, {}, files)
    return collision(link, shape.shape, shape.size, shape.pose, shape.file, shape.name, tag.where)


def _visual(tag: Element, link: str, colors: Colors, files: MeshFiles) -> Visual:
    owner = f"link '{link}'"
    geometry = tag.need("geometry", owner)
    if not geometry.children:
        raise geometry.error("the <geometry> is empty.")
    shape = geometry.children[0]
    pose, color = placement(tag, owner), _color(tag.only("material"), colors)
    name = tag.attributes.get("name", "").strip() or link
    if shape.tag == "mesh":
        scale = shape.attributes.get("scale", "").split()
        count = 1 if len(scale) == 1 else 3  # a single number applies to all axes
        size = shape.floats("scale", count, owner) * (3 // count) if scale else None
        return visual(link, "mesh", size, pose, color, files.find(shape.text("filename", owner)), name)
    if shape.tag == "box":
        return visual(link, "box", shape.floats("size", 3, owner), pose, color, "", name)
    if shape.tag not in SIZES:
        raise shape.error(f"<{shape.tag}> is not a supported shape.", expected=", ".join((*SIZES, "box", "mesh")))
    return visual(link, shape.tag, [shape.float(key, owner) for key in SIZES[shape.tag]], pose, color, "", name)


def _color(material: Element | None, colors: Colors) -> tuple[float, ...] | None:
    if material is None:
        return None
    return _color_of(material) or colors.get(material.attributes.get("name", "").strip())


def _colors(document: Element, tags: list[Element]) -> Colors:
    """Return the colours of named materials: those of the robot, then those defined in links."""
    colors: Colors = {}
    for material in (*document.all("material"), *(one for tag in tags for one in tag.all("material"))):
        color, name = _color_of(material), material.attributes.get("name", "").strip()
        if color is not None and name:
            colors.setdefault(name, color)
    return colors


def _color_of(material: Element) -> tuple[float, ...] | None:
    """Return the <color> of a material; None if it has none, or an invalid one."""
    words = next((color.attributes.get("rgba", "").split() for color in material.all("color")), [])
    try:
        color = clipped(float(word) for word in words)
    except ValueError:
        return None
    return color if len(color) == 4 else (*color, 1.0) if len(color) == 3 else None
