"""Convert a Pinocchio model to a robot by its attributes; Pinocchio itself is not imported.

Links are named after the BODY frame at their joint, other frames are kept, and joints have the order of the model, so
that v has the same layout. q has the same layout too, except where Pinocchio stores a cosine and a sine: an unbounded
revolute joint and the angle of a planar joint are one number here.

    appell                         model
    gear, rotor inertia            rotorGearRatio, and rotorInertia or armature / rotorGearRatio²
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
from appell.model.frame import IDENTITY_POSE, Frame
from appell.model.joints import Continuous, Floating, Motion, Planar, Prismatic, Revolute, Spherical
from appell.model.limits import NO_LIMITS, Limits
from appell.model.robot import Joint, Link, Mimic, Robot

REQUIRED_ATTRIBUTES = ("joints", "names", "parents", "inertias", "jointPlacements", "frames", "gravity")
SEVERAL_AXES: dict[str, type[Motion]] = {"Spherical": Spherical, "FreeFlyer": Floating, "Planar": Planar}
REVOLUTE = ("RX", "RY", "RZ", "RevoluteUnaligned")
UNBOUNDED_REVOLUTE = ("RUBX", "RUBY", "RUBZ", "RevoluteUnboundedUnaligned")
PRISMATIC = ("PX", "PY", "PZ", "PrismaticUnaligned")
UNLIMITED = 1e300  # larger limits mean that there is none: Pinocchio uses the largest double or infinity
DROPPED_FRAMES = ("JOINT", "FIXED_JOINT")  # moving joints are links, fixed ones have a BODY frame as well


def from_pinocchio(model: Any, *, geometry: Any = None, name: str | None = None, physical: bool = True) -> Robot:
    """Return the robot of a Pinocchio model.

    Parameters
    ----------
    model : a `pinocchio.Model`, as from `pinocchio.buildModelFromUrdf("arm.urdf")`
    geometry : geometry model with visual shapes, as from
        `pinocchio.buildGeomFromUrdf(model, ..., GeometryType.VISUAL)`; optional
    name : name of the robot, instead of that of the model
    physical : whether bodies that cannot exist are rejected

    Returns
    -------
    A `Robot` with the same v; q differs where Pinocchio stores a cosine and a sine.

    Raises
    ------
    DescriptionError
        If `model` is not a Pinocchio model, or has joints that appell does not support.

    Examples
    --------
    >>> import appell as ap, pinocchio
    >>> ap.from_pinocchio(pinocchio.buildSampleModelManipulator()).nv
    6
    """
    if missing := [what for what in REQUIRED_ATTRIBUTES if not hasattr(model, what)]:
        raise DescriptionError(
            f"a {type(model).__name__} is not a Pinocchio model: it has no {', '.join(missing)}.",
            expected="a pinocchio.Model, as from pinocchio.buildModelFromUrdf(...)",
        )
    _check_joints(model)
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


def _check_joints(model: Any) -> None:
    supported = (*SEVERAL_AXES, *REVOLUTE, *UNBOUNDED_REVOLUTE, *PRISMATIC, "Mimic")
    kinds = {model.names[k]: _kind(model, k) for k in range(1, len(model.joints))}
    unsupported = [f"'{name}' ({kind})" for name, kind in kinds.items() if kind not in supported]
    if unsupported:
        problem = f"the model has joints that appell does not support: {', '.join(unsupported)}."
        raise DescriptionError(problem, expected="joints of the kinds " + ", ".join(supported))


def _kind(model: Any, k: int) -> str:
    return model.joints[k].shortname().removeprefix("JointModel")


def _link_names(model: Any) -> dict[int, str]:
    """Return the names of links by joint number: the first BODY frame at the joint, or the name of the joint."""
    body_names: dict[int, str] = {}
    for frame in model.frames:
        if _type(frame) == "BODY" and frame.parentJoint > 0 and _pose(frame.placement) == IDENTITY_POSE:
            body_names.setdefault(int(frame.parentJoint), frame.name)
    return {k: body_names.get(k, model.names[k]) for k in range(1, len(model.joints))}


def _frames(model: Any, links: dict[int, str]) -> Iterator[Frame]:
    """Yield all frames except those of joints, each name once."""
    taken = set(links.values())
    for frame in model.frames:
        if frame.name not in taken and _type(frame) not in DROPPED_FRAMES:
            taken.add(frame.name)
            yield Frame(frame.name, links.get(int(frame.parentJoint)), _pose(frame.placement))


def _type(frame: Any) -> str:
    return str(frame.type).rpartition(".")[2]


def _joint(model: Any, k: int) -> Joint:
    joint, kind, placement = model.joints[k], _kind(model, k), _pose(model.jointPlacements[k])
    if kind in SEVERAL_AXES:
        return Joint(model.names[k], SEVERAL_AXES[kind](), placement, actuator=_friction_only(model, k))
    linear, angular = np.split(np.asarray(joint.createData().S, float).ravel(), 2)
    if kind == "Mimic":
        scaling, offset = joint.extract().scaling, joint.extract().offset
        leader = model.names[dict(zip(model.mimicking_joints, model.mimicked_joints, strict=True))[k]]
        mimicking: Motion = Revolute(_axis(angular / scaling)) if angular.any() else Prismatic(_axis(linear / scaling))
        return Joint(model.names[k], mimicking, placement, mimic=Mimic(leader, scaling, offset))
    revolute = Continuous if kind in UNBOUNDED_REVOLUTE else Revolute
    motion: Motion = Prismatic(_axis(linear)) if kind in PRISMATIC else revolute(_axis(angular))
    bounds = (_bound(model, side, joint.idx_q) for side in ("lowerPositionLimit", "upperPositionLimit"))
    limits = NO_LIMITS if kind in UNBOUNDED_REVOLUTE else Limits(*bounds)
    return Joint(model.names[k], motion, placement, limits, actuator=_actuator(model, joint.idx_v))


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


def _friction_only(model: Any, k: int) -> Actuator:
    """Return the actuator of a joint with several axes, which must have the same friction about all of them."""
    joint = model.joints[k]
    frictions = {
        Friction(_number(model, "damping", v), _number(model, "friction", v))
        for v in range(joint.idx_v, joint.idx_v + joint.nv)
    }
    if len(frictions) > 1:
        problem = f"joint '{model.names[k]}' of the model has different friction about its axes."
        raise DescriptionError(problem, expected="the same friction about all axes")
    return Actuator(friction=frictions.pop())


def _number(model: Any, what: str, k: int) -> float:
    return float(getattr(model, what)[k]) if hasattr(model, what) else 0.0


def _bound(model: Any, what: str, k: int) -> float | None:
    value = _number(model, what, k)
    return value if math.isfinite(value) and abs(value) < UNLIMITED else None


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
