"""What MJCF says of a joint's drive, as an actuator.

    MJCF                                          appell
    armature (of the joint, of its motors)        rotor inertia, with gear 1: counts with Dynamics(rotors=True)
    damping (of both), frictionloss               viscous and Coulomb friction: count with friction=True
    stiffness, springref                          a spring, which always counts
    forcerange, ctrlrange of a motor, gear        torque: the most that all motors of the joint give together
    actuatorfrcrange                              the same, if it is less

M of MuJoCo has the armature on its diagonal, so that of Dynamics(rotors=True) equals it. Gains of servos are a
controller's: tau here is what MuJoCo calls qfrc_actuator + qfrc_applied.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from appell.describe.mjcf.engine import is_off, word
from appell.describe.mjcf.findings import Findings, has
from appell.model.actuator import Actuator, Friction

Motors = dict[int, list[int]]  # the actuators at every joint


def motors(found: Findings) -> Motors:
    """Which actuators drive which joint; those that are no force at a joint of one axis are refused."""
    model = found.model
    driven: Motors = {}
    for k in range(model.nu):
        who, joint = f"actuator '{found.name('actuator', k)}'", int(model.actuator_trnid[k, 0])
        if model.actuator_plugin[k] >= 0:
            found.refuse("plugin", f"{who} is a plugin.", found.where("actuator", k))
        elif (kind := word("mjtTrn", model.actuator_trntype[k])) not in ("joint", "jointinparent"):
            found.refuse("actuator", f"{who} acts on a {kind}, not on a joint.", found.where("actuator", k))
        elif word("mjtJoint", model.jnt_type[joint]) not in ("hinge", "slide"):
            problem = f"{who} acts on joint '{found.name('joint', joint)}', which has several axes."
            found.refuse("actuator", problem, found.where("actuator", k), "a hinge or a slide")
        else:
            driven.setdefault(joint, []).append(k)
    servos = [found.name("actuator", k) for own in driven.values() for k in own if model.actuator_biasprm[k].any()]
    if servos:
        found.note(f"the gains of {len(servos)} servos: {', '.join(servos[:5])}{', ...' if len(servos) > 5 else ''}")
    return driven


def drive(found: Findings, joint: int, own: list[int]) -> Actuator:
    """The actuator of a joint."""
    model = found.model
    dof, kind = int(model.jnt_dofadr[joint]), word("mjtJoint", model.jnt_type[joint])
    gears = {k: float(model.actuator_gear[k, 0]) for k in own}
    armature = float(model.dof_armature[dof]) + _reflected(model, "actuator_armature", gears)
    damping = float(model.dof_damping[dof]) + _reflected(model, "actuator_damping", gears)
    dry, stiffness = float(model.dof_frictionloss[dof]), float(model.jnt_stiffness[joint])
    who, where = f"joint '{found.name('joint', joint)}'", found.where("joint", joint)
    several = kind in ("free", "ball")
    if has(model, "dof_dampingpoly", dof) or any(has(model, "actuator_dampingpoly", k) for k in own):
        found.refuse("friction", f"{who} has a damping that is a polynomial.", where, "one number")
    if (stiffness and several) or has(model, "jnt_stiffnesspoly", joint) or has(model, "jnt_springyield", joint):
        why = "turns about several axes" if several else "is not linear"
        found.refuse("spring", f"{who} has a spring, which {why}.", where, "one stiffness, at a hinge or a slide")
        stiffness = 0.0
    if kind == "free" and armature:
        problem = f"{who} is free and has armature {armature:g}, in the axes of the world."
        found.refuse("armature", problem, where, '<freejoint/>, or armature="0"')
        armature = 0.0
    if kind == "free" and dry:
        found.refuse("friction", f"{who} is free and has frictionloss {dry:g}, in the axes of the world.", where)
        dry = 0.0
    return Actuator(
        rotor_inertia=armature,
        friction=Friction(
            viscous=0.0 if is_off(model, "damper") else damping,
            coulomb=0.0 if is_off(model, "frictionloss") else dry,
        ),
        torque=None if several else _torque(found, joint, gears),
        stiffness=0.0 if is_off(model, "spring") else stiffness,
        rest=float(model.qpos_spring[model.jnt_qposadr[joint]]) if stiffness else 0.0,
    )


def _reflected(model: Any, what: str, gears: dict[int, float]) -> float:
    values = getattr(model, what, None)
    return 0.0 if values is None else sum(gear * gear * float(np.ravel(values[k])[0]) for k, gear in gears.items())


def _torque(found: Findings, joint: int, gears: dict[int, float]) -> float | None:
    """The most that drives a joint; None if nothing bounds it, or nothing drives it."""
    model = found.model
    most = sum(abs(gear) * _strongest(found, k) for k, gear in gears.items()) if gears else math.inf
    if model.jnt_actfrclimited[joint]:
        most = min(most, _reach(found, model.jnt_actfrcrange[joint], f"joint '{found.name('joint', joint)}'"))
    return most if math.isfinite(most) else None


def _strongest(found: Findings, k: int) -> float:
    """The largest force of an actuator, before its gear: its range, or what the range of its control makes."""
    model, who = found.model, f"actuator '{found.name('actuator', k)}'"
    most = _reach(found, model.actuator_forcerange[k], who) if model.actuator_forcelimited[k] else math.inf
    plain = word("mjtGain", model.actuator_gaintype[k]) == "fixed" and not model.actuator_biasprm[k].any()
    direct = word("mjtDyn", model.actuator_dyntype[k]) in ("none", "filter", "filterexact")
    if plain and direct and model.actuator_ctrllimited[k]:
        gain = abs(float(model.actuator_gainprm[k, 0]))
        most = min(most, gain * _reach(found, model.actuator_ctrlrange[k], who))
    return most


def _reach(found: Findings, bounds: np.ndarray, who: str) -> float:
    """The larger side of a range; appell's limits are the same to either side."""
    low, high = (float(x) for x in bounds)
    if low != -high:
        found.note(f"the range {low:g} to {high:g} of {who} counts as {max(abs(low), abs(high)):g} to either side")
    return max(abs(low), abs(high))
