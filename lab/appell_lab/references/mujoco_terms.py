"""MuJoCo as a judge: do the compiled terms of a robot equal those of the model it was read from?

    mj_inverse, constraints off            inverse dynamics with rotors and friction, dry friction apart
    mj_fullM                               Tᵀ M T with rotors                                    (`MujocoStates`: T)
    qfrc_bias - qfrc_spring - qfrc_gravcomp    bias with rotors: springs are a part of it here

Dry friction and limits are constraints in MuJoCo, which makes them soft, and are not compared here. What was left out
of a robot on request is taken out of the model as well (`stripped`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from appell.describe.mjcf.compiler import enum_name, mujoco
from appell.describe.mjcf.states import MujocoStates
from appell.dynamics import Dynamics
from appell.model.robot import ConstrainedRobot, Robot

SMALL = 1e-12  # scale below which a difference counts as it is


def stripped(model: Any, without: Iterable[str]) -> Any:
    """The model without what `without` names, as far as it has a part in smooth motion."""
    kinds = set(without)
    several = [k for k in range(model.njnt) if enum_name("mjtJoint", model.jnt_type[k]) in ("free", "ball")]
    if "fluid" in kinds:
        model.opt.density = model.opt.viscosity = 0.0
    if "gravcomp" in kinds:
        model.body_gravcomp[:] = 0.0
    if "tendon" in kinds:
        for what in ("stiffness", "damping", "armature", "frictionloss", "stiffnesspoly", "dampingpoly"):
            if hasattr(model, f"tendon_{what}"):
                getattr(model, f"tendon_{what}")[:] = 0.0
    if "spring" in kinds:
        model.jnt_stiffness[several] = 0.0
    if "armature" in kinds:
        free = [k for k in several if enum_name("mjtJoint", model.jnt_type[k]) == "free"]
        for start in model.jnt_dofadr[free]:
            model.dof_armature[start : start + 6] = 0.0
    engine = mujoco()
    engine.mj_setConst(model, engine.MjData(model))  # what MuJoCo keeps of bodies that are simple
    return model


def differences(model: Any, robot: Any, rng: np.random.Generator, compiled: bool = True) -> dict[str, float]:
    """At a random motion: forces relative to the largest of them, M to its largest entry."""
    engine, tree = mujoco(), robot.tree
    tree = tree.with_actuators(lambda _, own: replace(own, friction=replace(own.friction, coulomb=0.0)))
    states, data = MujocoStates(tree), engine.MjData(model)
    q = tree.random_configuration(rng, within_limits=False)
    v, a = rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    before = int(model.opt.disableflags)
    model.opt.disableflags = before | int(engine.mjtDisableBit.mjDSBL_CONSTRAINT)
    data.qpos[:], data.qvel[:], data.qacc[:] = states.qpos(q), states.qvel(q, v), states.qacc(q, v, a)
    engine.mj_inverse(model, data)
    model.opt.disableflags = before
    forces, M, h = _ours(tree, q, v, a, compiled)
    T = states.matrix(q)
    bias = data.qfrc_bias - data.qfrc_spring - data.qfrc_gravcomp
    largest = max(np.abs(data.qfrc_inverse).max(), np.abs(bias).max(), SMALL)
    return {
        "inverse dynamics": _apart(states.qfrc(q, forces), data.qfrc_inverse, largest),
        "mass matrix": _apart(T.T @ M @ T, full_matrix(model, data), None),
        "bias": _apart(states.qfrc(q, h + M @ _drift(states, q, v)), bias, largest),
    }


def _drift(states: MujocoStates, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """a where qacc = 0: MuJoCo's bias is that of a body that goes straight on in the world."""
    return states.a(q, v, np.zeros_like(v))


def _ours(tree: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, compiled: bool) -> tuple[np.ndarray, ...]:
    whole, bodies = Dynamics(tree, rotors=True, friction=True), Dynamics(tree, rotors=True)
    if compiled:
        return whole.inverse_dynamics(q, v, a), whole.mass_matrix(q), bodies.bias(q, v)
    state = q.tolist(), v.tolist()
    found = whole.equations.forces(*state, a.tolist(), {}), whole.equations.mass_matrix(state[0])
    return np.array(found[0], float), np.array(found[1], float), np.array(bodies.equations.bias(*state), float)


def full_matrix(model: Any, data: Any) -> np.ndarray:
    """mj_fullM, whose arguments changed with versions."""
    engine, M = mujoco(), np.zeros((model.nv, model.nv))
    try:
        engine.mj_fullM(model, data, M)
    except TypeError:
        engine.mj_fullM(model, M, data.qM)
    return M


def gaps(model: Any, robot: ConstrainedRobot, rng: np.random.Generator) -> dict[str, float]:
    """How far MuJoCo sees the loops open near the robot's home, and the velocities that its rows do not allow."""
    engine, states, data = mujoco(), MujocoStates(robot), mujoco().MjData(model)
    q = robot.random_configuration(rng, within_limits=False)
    data.qpos[:] = states.qpos(q)
    engine.mj_forward(model, data)
    equal = data.efc_type == int(engine.mjtConstraint.mjCNSTR_EQUALITY)
    J = np.asarray(data.efc_J)
    J = J.reshape(-1, model.nv) if J.size == len(equal) * model.nv else _dense(model, data)
    units = np.eye(robot.nv)
    free = [robot.map.velocity(q.tolist(), unit.tolist()) for unit in units]
    N = states.qvel(q, np.array(free, float).reshape(robot.nv, robot.tree.nv)).T
    size = np.abs(J[equal]).max(initial=SMALL)
    return {
        "gap": float(np.abs(data.efc_pos[equal]).max(initial=0.0)),
        "rate": float(np.abs(J[equal] @ N).max(initial=0.0) / size),
    }


def _dense(model: Any, data: Any) -> np.ndarray:
    engine, J = mujoco(), np.zeros((data.nefc, model.nv))
    engine.mju_sparse2dense(J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    return J


def _apart(ours: np.ndarray, theirs: np.ndarray, scale: float | None) -> float:
    return float(np.abs(ours - theirs).max() / (scale or max(np.abs(theirs).max(), SMALL)))
