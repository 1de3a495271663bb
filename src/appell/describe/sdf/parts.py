"""The <inertial> of a link and the <axis> of a joint in SDF.

A link without an <inertial> has the mass and inertia that SDF gives it: 1 kg, and 1 kg m² about every axis.
"""

from __future__ import annotations

from appell.algebra.matrix import Mat3
from appell.algebra.vector import UNITS, ZERO, Vec3
from appell.describe.sdf.poses import MODEL, Named, Places, numbers_of, pose_of
from appell.describe.urdf.parts import INERTIA
from appell.describe.xml import Element
from appell.model.actuator import Actuator, Friction
from appell.model.body import Body
from appell.model.joints import unit_axis
from appell.model.limits import Limits
from appell.model.robot import Mimic

UNLIMITED = 1e16  # what SDF writes where there is no limit
MODEL_AXES = 1.4  # up to this version an axis is in the axes of the model


def number_in(element: Element | None, tag: str, who: str, otherwise: float) -> float:
    """The number between the tags of a child, if there is one."""
    child = element.only(tag) if element is not None else None
    return otherwise if child is None or not child.content.strip() else child.number(who)


def body_of(link: Element, who: str) -> Body:
    """In the axes of the link."""
    inertial = link.only("inertial")
    if inertial is None:
        return Body(1.0, ZERO, (1.0, 1.0, 1.0))  # type: ignore[arg-type]
    if inertial.attributes.get("auto", "false").strip().lower() in ("true", "1"):
        raise inertial.error(f"the inertia of {who} is to be worked out from shapes.", expected="its numbers")
    if (added := inertial.only("fluid_added_mass")) is not None:
        raise added.error(f"{who} has an added mass of a fluid, which appell does not know.")
    tensor, where = inertial.only("inertia"), inertial.only("pose")
    if where is not None and where.attributes.get("relative_to", "").strip():
        raise where.error(f"the <inertial> of {who} stands relative to something else than its link.")
    diagonal = [1.0 if key[1] == key[2] else 0.0 for key in INERTIA]
    entries = [number_in(tensor, key, who, usual) for key, usual in zip(INERTIA, diagonal, strict=True)]
    mass = number_in(inertial, "mass", who, 1.0)
    return Body(mass, ZERO, Mat3.symmetric(*entries)).moved(pose_of(where, f"the <inertial> of {who}"))


def axis_of(places: Places, name: str, joint: Named, version: float) -> Vec3:
    """The direction of a joint's axis, in the axes of the joint."""
    tag, who = joint.element.only("axis"), f"joint '{name}'"
    if tag is None:
        raise joint.element.error(f"{who} has no <axis>.")
    xyz = tag.only("xyz")
    axis = Vec3.of(numbers_of(xyz, 3, f"<xyz> of {who}")) if xyz is not None else UNITS[2]
    if not any(axis):
        raise tag.error(f"{who} has axis (0, 0, 0), which has no direction.", expected="a non-zero 3-vector")
    other = xyz.attributes.get("expressed_in", "").strip() if xyz is not None else ""
    old = tag.only("use_parent_model_frame")
    if version <= MODEL_AXES or (old is not None and old.content.strip().lower() in ("true", "1")):
        other = other or MODEL
    if other:
        turn = places.pose(places.scoped(other, joint.scope), tag).rotation
        axis = places.pose(name, tag).rotation.T @ (turn @ axis)
    return unit_axis(axis)


def limits_of(joint: Element, who: str) -> Limits:
    axis = joint.only("axis")
    tag = axis.only("limit") if axis is not None else None
    bounds = (_bound(tag, key, who) for key in ("lower", "upper"))
    return Limits(*bounds)


def _bound(tag: Element | None, key: str, who: str) -> float | None:
    child = tag.only(key) if tag is not None else None
    if child is None or child.content.strip().lower().lstrip("+-") in ("", "inf", "infinity"):
        return None
    value = child.number(who)
    return None if abs(value) >= UNLIMITED else value


def actuator_of_axis(joint: Element, who: str) -> Actuator:
    """Damping, friction, spring and limits of a drive."""
    axis = joint.only("axis")
    dynamics, limit = (axis.only(tag) if axis is not None else None for tag in ("dynamics", "limit"))
    most = {key: _bound(limit, key, who) for key in ("effort", "velocity")}
    known = {key: None if value is None or value < 0.0 else value for key, value in most.items()}
    stiffness = number_in(dynamics, "spring_stiffness", who, 0.0)
    return Actuator(
        friction=Friction(number_in(dynamics, "damping", who, 0.0), number_in(dynamics, "friction", who, 0.0)),
        torque=known["effort"],
        speed=known["velocity"],
        stiffness=stiffness,
        rest=number_in(dynamics, "spring_reference", who, 0.0) if stiffness else 0.0,
    )


def mimic_of(joint: Element, scope: str, who: str) -> Mimic | None:
    """follower = multiplier (leader - reference) + offset."""
    axis = joint.only("axis")
    tag = axis.only("mimic") if axis is not None else None
    if tag is None:
        return None
    if tag.attributes.get("axis", "axis").strip() != "axis":
        raise tag.error(f"{who} mimics a second axis.", expected="the first")
    multiplier, offset = number_in(tag, "multiplier", who, 1.0), number_in(tag, "offset", who, 0.0)
    reference = number_in(tag, "reference", who, 0.0)
    return Mimic(scope + tag.text("joint", who), multiplier, offset - multiplier * reference)
