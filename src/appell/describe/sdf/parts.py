"""Read the <inertial> of a link and the <axis> of a joint in SDF.

A link without an <inertial> has the defaults of SDF: 1 kg, and 1 kg m² about every axis.
"""

from __future__ import annotations

from appell.algebra.matrix import Mat3
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.describe.sdf.poses import MODEL, NamedPart, PoseGraph, numbers_of, pose_of
from appell.describe.urdf.parts import INERTIA
from appell.describe.xml import Element
from appell.model.actuator import Actuator, Friction
from appell.model.body import Body
from appell.model.joints import unit_axis
from appell.model.limits import Limits
from appell.model.robot import Mimic

UNLIMITED = 1e16  # limits of this size or larger mean that there is no limit
LAST_MODEL_AXES_VERSION = 1.4  # up to this version of SDF, joint axes are expressed in the axes of the model


def number_in(element: Element | None, tag: str, owner: str, default: float) -> float:
    """Return the number in a child with this tag, or the default if there is none."""
    child = element.only(tag) if element is not None else None
    return default if child is None or not child.content.strip() else child.number(owner)


def body_of(link: Element, owner: str) -> Body:
    """Return mass and inertia of a link, in its axes."""
    inertial = link.only("inertial")
    if inertial is None:
        return Body(1.0, ZERO, (1.0, 1.0, 1.0))  # type: ignore[arg-type]
    if inertial.attributes.get("auto", "false").strip().lower() in ("true", "1"):
        raise inertial.error(
            f"the inertia of {owner} is to be computed from shapes, which appell does not support.", expected="numbers"
        )
    if (added := inertial.only("fluid_added_mass")) is not None:
        raise added.error(f"{owner} has a fluid added mass, which appell does not support.")
    tensor, pose = inertial.only("inertia"), inertial.only("pose")
    if pose is not None and pose.attributes.get("relative_to", "").strip():
        raise pose.error(f"the <inertial> of {owner} has a pose that is not relative to its link.")
    diagonal = [1.0 if key[1] == key[2] else 0.0 for key in INERTIA]
    entries = [number_in(tensor, key, owner, default) for key, default in zip(INERTIA, diagonal, strict=True)]
    mass = number_in(inertial, "mass", owner, 1.0)
    return Body(mass, ZERO, Mat3.symmetric(*entries)).moved(pose_of(pose, f"the <inertial> of {owner}"))


def axis_of(graph: PoseGraph, name: str, joint: NamedPart, version: float, axis_tag: str = "axis") -> Vec3:
    """Return the unit vector along a joint's axis, in the axes of the joint.

    Parameters
    ----------
    graph : poses of the model
    name : name of the joint
    joint : the joint
    version : version of SDF
    axis_tag : the tag of the axis, "axis" or "axis2"
    """
    owner = f"joint '{name}'"
    tag = joint.element.need(axis_tag, owner)
    xyz = tag.only("xyz")
    axis = Vec3.of(numbers_of(xyz, 3, f"<xyz> of {owner}")) if xyz is not None else UNITS[2]
    if not any(axis):
        raise tag.error(f"{owner} has axis (0, 0, 0), which has no direction.", expected="a non-zero 3-vector")
    frame = xyz.attributes.get("expressed_in", "").strip() if xyz is not None else ""
    uses_model = tag.only("use_parent_model_frame")
    in_model_axes = uses_model is not None and uses_model.content.strip().lower() in ("true", "1")
    if version <= LAST_MODEL_AXES_VERSION or in_model_axes:
        frame = frame or MODEL
    if frame:
        rotation = graph.pose(graph.scoped(frame, joint.scope), tag).rotation
        axis = graph.pose(name, tag).rotation.T @ (rotation @ axis)
    return unit_axis(axis)


def limits_of(joint: Element, owner: str) -> Limits:
    """Return the limits of a joint's axis."""
    axis = joint.only("axis")
    tag = axis.only("limit") if axis is not None else None
    bounds = (_bound(tag, key, owner) for key in ("lower", "upper"))
    return Limits(*bounds)


def _bound(tag: Element | None, key: str, owner: str) -> float | None:
    child = tag.only(key) if tag is not None else None
    if child is None or child.content.strip().lower().lstrip("+-") in ("", "inf", "infinity"):
        return None
    value = child.number(owner)
    return None if abs(value) >= UNLIMITED else value


def actuator_of_axis(joint: Element, owner: str) -> Actuator:
    """Return damping, friction, spring and limits of a joint as an actuator."""
    axis = joint.only("axis")
    dynamics, limit = (axis.only(tag) if axis is not None else None for tag in ("dynamics", "limit"))
    bounds = {key: _bound(limit, key, owner) for key in ("effort", "velocity")}
    limits = {key: None if value is None or value < 0.0 else value for key, value in bounds.items()}
    stiffness = number_in(dynamics, "spring_stiffness", owner, 0.0)
    return Actuator(
        friction=Friction(number_in(dynamics, "damping", owner, 0.0), number_in(dynamics, "friction", owner, 0.0)),
        torque=limits["effort"],
        speed=limits["velocity"],
        stiffness=stiffness,
        rest=number_in(dynamics, "spring_reference", owner, 0.0) if stiffness else 0.0,
    )


def mimic_of(joint: Element, scope: str, owner: str) -> Mimic | None:
    """Return the mimic of a joint: follower = multiplier (leader - reference) + offset."""
    axis = joint.only("axis")
    tag = axis.only("mimic") if axis is not None else None
    if tag is None:
        return None
    if tag.attributes.get("axis", "axis").strip() != "axis":
        raise tag.error(f"{owner} mimics the second axis of a joint.", expected="the first axis")
    multiplier, offset = number_in(tag, "multiplier", owner, 1.0), number_in(tag, "offset", owner, 0.0)
    reference = number_in(tag, "reference", owner, 0.0)
    return Mimic(scope + tag.text("joint", owner), multiplier, offset - multiplier * reference)
