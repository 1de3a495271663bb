"""Actuators of joints in a compiled MJCF model.

    MJCF                                          appell
    armature (of the joint, of its motors)        rotor inertia with gear 1, active with Dynamics(rotors=True)
    damping (of both), frictionloss               viscous and Coulomb friction, active with friction=True
    stiffness, springref                          a spring, always active
    forcerange, ctrlrange of a motor, gear        torque limit: the sum over all motors of the joint
    actuatorfrcrange                              torque limit, if it is smaller

MuJoCo adds the armature to the diagonal of M; the mass matrix of Dynamics(rotors=True) equals that one. Servo gains
belong to a controller and are not read: tau corresponds to qfrc_actuator + qfrc_applied of MuJoCo.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from appell.describe.mjcf.compiler import enum_name, is_disabled
from appell.describe.mjcf.context import ReadContext, has
from appell.model.actuator import Actuator, Friction

Motors = dict[int, list[int]]  # the actuators of every joint, by number


def motors_by_joint(context: ReadContext) -> Motors:
    """Return the actuators that drive each joint; only forces at joints with one axis are accepted."""
    model = context.model
    driven: Motors = {}
    for k in range(model.nu):
        owner, joint = f"actuator '{context.name('actuator', k)}'", int(model.actuator_trnid[k, 0])
        if model.actuator_plugin[k] >= 0:
            context.reject("plugin", f"{owner} is a plugin.", context.where("actuator", k))
        elif (kind := enum_name("mjtTrn", model.actuator_trntype[k])) not in ("joint", "jointinparent"):
            context.reject("actuator", f"{owner} acts on a {kind} instead of a joint.", context.where("actuator", k))
        elif enum_name("mjtJoint", model.jnt_type[joint]) not in ("hinge", "slide"):
            problem = f"{owner} acts on joint '{context.name('joint', joint)}', which has several axes."
            context.reject("actuator", problem, context.where("actuator", k), "a hinge or slide joint")
        else:
            driven.setdefault(joint, []).append(k)
    servos = [
        context.name("actuator", k)
        for actuators in driven.values()
        for k in actuators
        if model.actuator_biasprm[k].any()
    ]
    if servos:
        more = f" and {len(servos) - 5} more" if len(servos) > 5 else ""
        context.note(f"the gains of {len(servos)} servo{'s' * (len(servos) > 1)}: {', '.join(servos[:5])}{more}")
    return driven


def joint_actuator(context: ReadContext, joint: int, motors: list[int]) -> Actuator:
    """Return the actuator of a joint that is driven by `motors`; both are numbers in the model."""
    model = context.model
    dof, kind = int(model.jnt_dofadr[joint]), enum_name("mjtJoint", model.jnt_type[joint])
    gears = {k: float(model.actuator_gear[k, 0]) for k in motors}
    armature = float(model.dof_armature[dof]) + _reflected(model, "actuator_armature", gears)
    damping = float(model.dof_damping[dof]) + _reflected(model, "actuator_damping", gears)
    dry, stiffness = float(model.dof_frictionloss[dof]), float(model.jnt_stiffness[joint])
    owner, where = f"joint '{context.name('joint', joint)}'", context.where("joint", joint)
    has_several_axes = kind in ("free", "ball")
    if has(model, "dof_dampingpoly", dof) or any(has(model, "actuator_dampingpoly", k) for k in motors):
        context.reject("friction", f"{owner} has polynomial damping.", where, "a single damping coefficient")
    if (
        (stiffness and has_several_axes)
        or has(model, "jnt_stiffnesspoly", joint)
        or has(model, "jnt_springyield", joint)
    ):
        kind_of_spring = "a spring about several axes" if has_several_axes else "a nonlinear spring"
        context.reject("spring", f"{owner} has {kind_of_spring}.", where, "one stiffness, at a hinge or slide joint")
        stiffness = 0.0
    if kind == "free" and armature:
        problem = f"{owner} is a free joint with armature {armature:g}, which acts in the axes of the world."
        context.reject("armature", problem, where, '<freejoint/>, or armature="0"')
        armature = 0.0
    if kind == "free" and dry:
        problem = f"{owner} is a free joint with frictionloss {dry:g}, which acts in the axes of the world."
        context.reject("friction", problem, where)
        dry = 0.0
    return Actuator(
        rotor_inertia=armature,
        friction=Friction(
            viscous=0.0 if is_disabled(model, "damper") else damping,
            coulomb=0.0 if is_disabled(model, "frictionloss") else dry,
        ),
        torque=None if has_several_axes else _torque_limit(context, joint, gears),
        stiffness=0.0 if is_disabled(model, "spring") else stiffness,
        rest=float(model.qpos_spring[model.jnt_qposadr[joint]]) if stiffness else 0.0,
    )


def _reflected(model: Any, what: str, gears: dict[int, float]) -> float:
    values = getattr(model, what, None)
    return 0.0 if values is None else sum(gear * gear * float(np.ravel(values[k])[0]) for k, gear in gears.items())


def _torque_limit(context: ReadContext, joint: int, gears: dict[int, float]) -> float | None:
    """Return the largest torque or force at a joint; None if it is unlimited or the joint has no motor."""
    model = context.model
    limit = sum(abs(gear) * _force_limit(context, k) for k, gear in gears.items()) if gears else math.inf
    if model.jnt_actfrclimited[joint]:
        owner = f"joint '{context.name('joint', joint)}'"
        limit = min(limit, _symmetric_limit(context, model.jnt_actfrcrange[joint], owner))
    return limit if math.isfinite(limit) else None


def _force_limit(context: ReadContext, k: int) -> float:
    """Return the largest force of an actuator before its gear, from its force range and its control range."""
    model, owner = context.model, f"actuator '{context.name('actuator', k)}'"
    limit = (
        _symmetric_limit(context, model.actuator_forcerange[k], owner) if model.actuator_forcelimited[k] else math.inf
    )
    is_direct_drive = (
        enum_name("mjtGain", model.actuator_gaintype[k]) == "fixed" and not model.actuator_biasprm[k].any()
    )
    has_no_dynamics = enum_name("mjtDyn", model.actuator_dyntype[k]) in ("none", "filter", "filterexact")
    if is_direct_drive and has_no_dynamics and model.actuator_ctrllimited[k]:
        gain = abs(float(model.actuator_gainprm[k, 0]))
        limit = min(limit, gain * _symmetric_limit(context, model.actuator_ctrlrange[k], owner))
    return limit


def _symmetric_limit(context: ReadContext, bounds: np.ndarray, owner: str) -> float:
    """Return the larger side of a range; limits of an `Actuator` are symmetric."""
    low, high = (float(x) for x in bounds)
    if low != -high:
        context.note(f"the asymmetric range {low:g} to {high:g} of {owner}, read as ±{max(abs(low), abs(high)):g}")
    return max(abs(low), abs(high))
