"""A robot from a model of Pinocchio, read by its attributes: Pinocchio itself is not imported.

Links are named after the BODY frame that stands on their joint, other frames are kept, and joints stand in the model's
order, so that v is laid out as there. So is q, but for what Pinocchio keeps as a cosine and a sine: an unbounded
revolute joint and the angle of a planar one are one number here.

    appell                         model
    gear, rotor inertia            rotorGearRatio, and rotorInertia or what makes up the armature
    viscous, Coulomb friction      damping, friction
    speed, torque, limits          velocityLimit, effortLimit, lowerPositionLimit and upperPositionLimit
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.scalar import snap
from appell.algebra.vector import Vec3
from appell.describe.pinocchio.visuals import visuals_of
from appell.errors import DescriptionError
from appell.model.actuator import Actuator, Friction
from appell.model.body import Body
from appell.model.frame import IN_PLACE, Frame
from appell.model.joints import Continuous, Floating, Motion, Planar, Prismatic, Revolute, Spherical
from appell.model.limits import NO_LIMITS, Limits
from appell.model.robot import Joint, Link, Mimic, Robot

NEEDED = ("joints", "names", "parents", "inertias", "jointPlacements", "frames", "gravity")
SEVERAL_AXES: dict[str, type[Motion]] = {"Spherical": Spherical, "FreeFlyer": Floating, "Planar": Planar}
TURNING = ("RX", "RY", "RZ", "RevoluteUnaligned")
ENDLESS = ("RUBX", "RUBY", "RUBZ", "RevoluteUnboundedUnaligned")
SLIDING = ("PX", "PY", "PZ", "PrismaticUnaligned")
UNBOUNDED = 1e300  # Pinocchio writes the largest double, or infinity, where it knows no limit
DROPPED = (
    "JOINT",
    "FIXED_JOINT",
)  # frames of joints: those that move are their links, others carry a BODY of their own


def from_pinocchio(model: Any, *, geometry: Any = None, name: str | None = None, physical: bool = True) -> Robot:
    """The robot of a Pinocchio model: from_pinocchio(pinocchio.buildModelFromUrdf("arm.urdf")).

    `geometry` is its geometry model, if there is one: pinocchio.buildGeomFromUrdf(model, ..., GeometryType.VISUAL).
    """
    if lacking := [what for what in NEEDED if not hasattr(model, what)]:
        raise DescriptionError(
            f"a {type(model).__name__} is no model of Pinocchio: it has no {', '.join(lacking)}.",
            expected="what pinocchio.buildModelFromUrdf(...) gives",
        )
    _refuse_strangers(model)
    links = _link_names(model)
    return Robot(
        name=name or model.name or "pinocchio",
        links=tuple(
            Link(links[k], links.get(int(model.parents[k])), _joint(model, k), _body(model.inertias[k])) for k in links
        ),
        frames=tuple(_frames(model, links)),
        gravity=Vec3.of(model.gravity.linear.tolist()),
        physical=physical,
        visuals=() if geometry is None else tuple(visuals_of(geometry, links, _pose)),
        source="a model of Pinocchio",
    )


def _refuse_strangers(model: Any) -> None:
    known = (*SEVERAL_AXES, *TURNING, *ENDLESS, *SLIDING, "Mimic")
    kinds = {model.names[k]: _kind(model, k) for k in range(1, len(model.joints))}
    strange = [f"'{name}' ({kind})" for name, kind in kinds.items() if kind not in known]
    if strange:
        problem = f"the model has joints that appell does not know: {', '.join(strange)}."
        raise DescriptionError(problem, expected="joints of the kinds " + ", ".join(known))


def _kind(model: Any, k: int) -> str:
    return model.joints[k].shortname().removeprefix("JointModel")


def _link_names(model: Any) -> dict[int, str]:
    """By the number of their joint: the first BODY frame in place, or else the joint's own name."""
    found: dict[int, str] = {}
    for frame in model.frames:
        if _type(frame) == "BODY" and frame.parentJoint > 0 and _pose(frame.placement) == IN_PLACE:
            found.setdefault(int(frame.parentJoint), frame.name)
    return {k: found.get(k, model.names[k]) for k in range(1, len(model.joints))}


def _frames(model: Any, links: dict[int, str]) -> Iterator[Frame]:
    """Every frame but those of joints, each name once."""
    taken = set(links.values())
    for frame in model.frames:
        if frame.name not in taken and _type(frame) not in DROPPED:
            taken.add(frame.name)
            yield Frame(frame.name, links.get(int(frame.parentJoint)), _pose(frame.placement))


def _type(frame: Any) -> str:
    return str(frame.type).rpartition(".")[2]


def _joint(model: Any, k: int) -> Joint:
    joint, kind, place = model.joints[k], _kind(model, k), _pose(model.jointPlacements[k])
    if kind in SEVERAL_AXES:
        return Joint(model.names[k], SEVERAL_AXES[kind](), place, actuator=_friction_alone(model, k))
    linear, angular = np.split(np.asarray(joint.createData().S, float).ravel(), 2)
    if kind == "Mimic":
        scaling, offset = joint.extract().scaling, joint.extract().offset
        leader = model.names[dict(zip(model.mimicking_joints, model.mimicked_joints, strict=True))[k]]
        followed: Motion = Revolute(_axis(angular / scaling)) if angular.any() else Prismatic(_axis(linear / scaling))
        return Joint(model.names[k], followed, place, mimic=Mimic(leader, scaling, offset))
    turning = Continuous if kind in ENDLESS else Revolute
    motion: Motion = Prismatic(_axis(linear)) if kind in SLIDING else turning(_axis(angular))
    bounds = (_bound(model, side, joint.idx_q) for side in ("lowerPositionLimit", "upperPositionLimit"))
    limits = NO_LIMITS if kind in ENDLESS else Limits(*bounds)
    return Joint(model.names[k], motion, place, limits, actuator=_actuator(model, joint.idx_v))


def _actuator(model: Any, v: int) -> Actuator:
    gear = _number(model, "rotorGearRatio", v) or 1.0
    armature, rotor = _number(model, "armature", v), _number(model, "rotorInertia", v)
    return Actuator(
        gear=gear,
        rotor_inertia=armature / gear**2 if armature else rotor,
        friction=Friction(_number(model, "damping", v), _number(model, "friction", v)),
        torque=_bound(model, "effortLimit", v),
        speed=_bound(model, "velocityLimit", v),
    )


def _friction_alone(model: Any, k: int) -> Actuator:
    """Of a joint of several axes, which has one friction for all of them."""
    joint = model.joints[k]
    own = {
        Friction(_number(model, "damping", v), _number(model, "friction", v))
        for v in range(joint.idx_v, joint.idx_v + joint.nv)
    }
    if len(own) > 1:
        problem = f"joint '{model.names[k]}' of the model has another friction along each of its axes."
        raise DescriptionError(problem, expected="one for all")
    return Actuator(friction=own.pop())


def _number(model: Any, what: str, k: int) -> float:
    return float(getattr(model, what)[k]) if hasattr(model, what) else 0.0


def _bound(model: Any, what: str, k: int) -> float | None:
    value = _number(model, what, k)
    return value if math.isfinite(value) and abs(value) < UNBOUNDED else None


def _body(inertia: Any) -> Body | None:
    matrix = [[float(x) for x in row] for row in np.asarray(inertia.inertia)]
    if inertia.mass == 0.0 and not np.any(matrix):
        return None
    return Body(float(inertia.mass), Vec3.of(inertia.lever.tolist()), Mat3.of(matrix))


def _axis(direction: np.ndarray) -> Vec3:
    return Vec3.of(direction.tolist())


def _pose(placement: Any) -> Pose:
    rotation = Mat3.of([snap(float(x)) for x in row] for row in np.asarray(placement.rotation))
    return Pose(rotation, Vec3.of([float(x) for x in placement.translation]))
