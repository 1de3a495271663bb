"""MuJoCo as the reference: compare the compiled terms of a robot with those of the MuJoCo model it was read from.

    mj_inverse, constraints off            inverse dynamics with rotors and friction except dry friction
    mj_fullM                               Tᵀ M T with rotors                                    (`MujocoStates`: T)
    qfrc_bias - qfrc_spring - qfrc_gravcomp    bias with rotors; in appell it contains the springs

Dry friction and limits are soft constraints in MuJoCo and are not compared. What the reader left out of a robot on
request is removed from the model too (`stripped`).
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

SMALLEST_SCALE = 1e-12  # differences of smaller quantities are divided by this instead


def stripped(model: Any, without: Iterable[str]) -> Any:
    """Return the model without the parts named in `without`, as far as they affect smooth motion."""
    kinds = set(without)
    multi_axis = [k for k in range(model.njnt) if enum_name("mjtJoint", model.jnt_type[k]) in ("free", "ball")]
    if "fluid" in kinds:
        model.opt.density = model.opt.viscosity = 0.0
    if "gravcomp" in kinds:
        model.body_gravcomp[:] = 0.0
    if "tendon" in kinds:
        for name in ("stiffness", "damping", "armature", "frictionloss", "stiffnesspoly", "dampingpoly"):
            if hasattr(model, f"tendon_{name}"):
                getattr(model, f"tendon_{name}")[:] = 0.0
    if "spring" in kinds:
        model.jnt_stiffness[multi_axis] = 0.0
    if "armature" in kinds:
        free = [k for k in multi_axis if enum_name("mjtJoint", model.jnt_type[k]) == "free"]
        for start in model.jnt_dofadr[free]:
            model.dof_armature[start : start + 6] = 0.0
    engine = mujoco()
    engine.mj_setConst(model, engine.MjData(model))  # updates the constants that MuJoCo derives from the model
    return model


def differences(model: Any, robot: Any, rng: np.random.Generator, compiled: bool = True) -> dict[str, float]:
    """Return the differences at a random state: forces relative to the largest force, M to its largest entry."""
    engine, tree = mujoco(), robot.tree
    tree = tree.with_actuators(lambda _, actuator: replace(actuator, friction=replace(actuator.friction, coulomb=0.0)))
    states, data = MujocoStates(tree), engine.MjData(model)
    q = tree.random_configuration(rng, within_limits=False)
    v, a = rng.normal(size=tree.nv), rng.normal(size=tree.nv)
    flags = int(model.opt.disableflags)
    model.opt.disableflags = flags | int(engine.mjtDisableBit.mjDSBL_CONSTRAINT)
    data.qpos[:], data.qvel[:], data.qacc[:] = states.qpos(q), states.qvel(q, v), states.qacc(q, v, a)
    engine.mj_inverse(model, data)
    model.opt.disableflags = flags
    forces, M, h = _ours(tree, q, v, a, compiled)
    T = states.matrix(q)
    bias = data.qfrc_bias - data.qfrc_spring - data.qfrc_gravcomp
    largest = max(np.abs(data.qfrc_inverse).max(), np.abs(bias).max(), SMALLEST_SCALE)
    return {
        "inverse dynamics": _difference(states.qfrc(q, forces), data.qfrc_inverse, largest),
        "mass matrix": _difference(T.T @ M @ T, full_matrix(model, data), None),
        "bias": _difference(states.qfrc(q, h + M @ _drift(states, q, v)), bias, largest),
    }


def _drift(states: MujocoStates, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return a where qacc = 0: MuJoCo's bias is that of a body without acceleration in world axes."""
    return states.a(q, v, np.zeros_like(v))


def _ours(tree: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray, compiled: bool) -> tuple[np.ndarray, ...]:
    with_friction, bodies = Dynamics(tree, rotors=True, friction=True), Dynamics(tree, rotors=True)
    if compiled:
        return with_friction.inverse_dynamics(q, v, a), with_friction.mass_matrix(q), bodies.bias(q, v)
    state = q.tolist(), v.tolist()
    forces = with_friction.equations.forces(*state, a.tolist(), {})
    M, h = with_friction.equations.mass_matrix(state[0]), bodies.equations.bias(*state)
    return np.array(forces, float), np.array(M, float), np.array(h, float)


def full_matrix(model: Any, data: Any) -> np.ndarray:
    """Return the inertia matrix by mj_fullM, whose arguments depend on the version of MuJoCo."""
    engine, M = mujoco(), np.zeros((model.nv, model.nv))
    try:
        engine.mj_fullM(model, data, M)
    except TypeError:
        engine.mj_fullM(model, M, data.qM)
    return M


def gaps(model: Any, robot: ConstrainedRobot, rng: np.random.Generator) -> dict[str, float]:
    """Return the gaps of the loops according to MuJoCo near the robot's home, and the rates of its rows along N."""
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
    size = np.abs(J[equal]).max(initial=SMALLEST_SCALE)
    return {
        "gap": float(np.abs(data.efc_pos[equal]).max(initial=0.0)),
        "rate": float(np.abs(J[equal] @ N).max(initial=0.0) / size),
    }


def _dense(model: Any, data: Any) -> np.ndarray:
    engine, J = mujoco(), np.zeros((data.nefc, model.nv))
    engine.mju_sparse2dense(J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    return J


def _difference(ours: np.ndarray, theirs: np.ndarray, scale: float | None) -> float:
    return float(np.abs(ours - theirs).max() / (scale or max(np.abs(theirs).max(), SMALLEST_SCALE)))


def movable(model: Any, robot: ConstrainedRobot) -> int:
    """Return the number of velocities that the equality constraints of MuJoCo leave free near the robot's home."""
    engine, states, data = mujoco(), MujocoStates(robot), mujoco().MjData(model)
    data.qpos[:] = states.qpos(robot.random_configuration(np.random.default_rng(0), within_limits=False))
    engine.mj_forward(model, data)
    equal = data.efc_type == int(engine.mjtConstraint.mjCNSTR_EQUALITY)
    J = np.asarray(data.efc_J)
    J = J.reshape(-1, model.nv) if J.size == len(equal) * model.nv else _dense(model, data)
    return int(model.nv - np.linalg.matrix_rank(J[equal], tol=1e-9))
