"""Control of a frame: operational-space control, Cartesian impedance, and hybrid control of force and position.

With the Jacobian J of the frame (world axes at its origin), its pose error e and the inertia Λ in task space

    V = J v        e = (p - p_d, ½ Σ r_di × r_i)        Λ = (J M⁻¹ Jᵀ)⁻¹        J̄ = M⁻¹ Jᵀ Λ                        (1)

where r_i and r_di are the columns of the rotations R and R_d: for a rotation by θ about n from R_d to R, the second
part of e is n sin θ. The desired motion of the frame is that of the frame at the joint reference q_d, v_d, a_d.

    operational-space   a = J̄ (A* - J̇ v) + (1 - J̄ J) u            A* = A_d - Kd (V - V_d) - Kp e                   (2)
                        u = a_d - kd (v - v_d) - kp (q - q_d)      posture, without effect on the frame
    impedance           τ = M a_d + C v_d + g - Jᵀ (K e + D (V - V_d)) - (1 - Jᵀ J̄ᵀ)(k (q - q_d) + d (v - v_d))     (3)
    hybrid              (2) with A* along the surface only, and Jᵀ n f added                                         (4)
                        f = f_d + ki ∫(f_d - f_m) - d n·V          f_m = -n·F, F the measured force on the frame

(2) gives ë + Kd ė + Kp e = 0 for the position of the frame. Under (3) with a constant reference, the frame yields to an
external wrench W by K e = W, and ½ vᵀMv plus the energy of the springs decreases at the rate VᵀD V. Along the normal of
a wall of stiffness k, (4) gives m x⃛ + d ẍ + k ẋ + ki k x = ki f_d for the apparent mass m of the frame, which is stable
for ki < d / m.

J M⁻¹ Jᵀ is regularised by a small multiple of the unit matrix: near singular configurations, and for arms with fewer
than six joints, the frame follows as far as the joints allow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.scalar import clamp, dot
from appell.algebra.solve import LDL
from appell.compile.tape.traced_array import traced_array
from appell.control.traced_law import LawState, TracedLaw
from appell.dynamics import Dynamics
from appell.errors import ModelError
from appell.model.system import System

if TYPE_CHECKING:
    from appell.control.design import Design

REGULARIZATION = 1e-8  # of the mean of the diagonal of J M⁻¹ Jᵀ
AXES = "LOCAL_WORLD_ALIGNED"
DEFAULT_FREQUENCY = 20.0  # 1/s, of the error, for designs without gains
FORCE_SHARE = 0.5  # of a motion's frequency, for the integral action on a force
INTEGRAL_LIMIT = 2.0  # of the integral action on a force, in multiples of the desired force


@dataclass(frozen=True)
class TaskMotion:
    """The motion of a frame and of its reference, (1), over traced scalars."""

    J: Any
    error: Any
    velocity_error: Any  # V - V_d
    acceleration: Any  # A_d
    drift: Any  # J̇ v
    inverse_inertia: Any  # M⁻¹
    inertia: LDL  # factors of Λ⁻¹

    def consistent(self, wanted: Any) -> Any:
        """Return J̄ x for a motion x of the frame."""
        return self.inverse_inertia @ (self.J.T @ traced_array(self.inertia.solve(list(wanted))))

    def without_effect(self, forces: Any) -> Any:
        """Return (1 - Jᵀ J̄ᵀ) x for forces x of the joints."""
        return forces - self.J.T @ traced_array(self.inertia.solve(list(self.J @ (self.inverse_inertia @ forces))))


def task_motion(dyn: Dynamics, state: LawState, frame: str) -> TaskMotion:
    """Return (1) for a frame."""
    q, v, q_d, v_d = state.q, state.v, state.q_d, state.v_d
    J, inverse = dyn.jacobian(frame, q, reference=AXES), dyn.inverse_mass_matrix(q)
    pose, target = dyn.pose(frame, q), dyn.pose(frame, q_d)
    turned = sum(np.cross(target[:3, k], pose[:3, k]) for k in range(3))
    gram = J @ inverse @ J.T
    shift = REGULARIZATION / 6.0 * sum(gram[k, k] for k in range(6))
    return TaskMotion(
        J,
        np.concatenate([pose[:3, 3] - target[:3, 3], 0.5 * turned]),
        J @ v - dyn.velocity(frame, q_d, v_d, reference=AXES),
        dyn.acceleration(frame, q_d, v_d, state.a_d, reference=AXES),
        dyn.jacobian_rate(frame, q, v, reference=AXES) @ v,
        inverse,
        LDL.of(gram + shift * np.eye(6)),
    )


def controlled_frame(system: System, frame: str | None) -> str:
    """Return the name of a frame of an arm: the given one, by default "tool" or the last one."""
    if system.tree is None or system.is_constrained:
        raise ModelError(
            f"{system.owner} is a mechanism, so the law of a frame does not apply to it.",
            expected="an arm, whose joints are its coordinates",
            hint="Use a law of its coordinates, such as tracking.",
        )
    names = system.frame_names
    return system.frame(frame or ("tool" if "tool" in names else names[-1])).name


def apparent_masses(design: Design, frame: str | None) -> np.ndarray:
    """Return the inertia of a frame along and about each world axis at the start.

    An axis along which it cannot move there has the largest inertia of the other two.
    """
    equations, q = design.parts.equations, design.model.start.tolist()
    named = design.model.frame(controlled_frame(design.model, frame))
    J = np.array(equations.jacobian(named, AXES, q), float)
    mobility = np.einsum("ij,jk,ik->i", J, np.array(equations.inverse_mass_matrix(q), float), J)
    kinds = mobility.reshape(2, 3)  # along the axes, and about them
    movable = kinds > 1e-3 * kinds.max(axis=1, keepdims=True)
    masses = 1.0 / np.where(movable, kinds, np.inf)
    return np.where(movable, masses, masses.max(axis=1, keepdims=True)).ravel()


def gain(design: Design, name: str) -> float:
    """Return gain kp or kd of a design, of its first joint; those of `DEFAULT_FREQUENCY` without gains."""
    if design.gains is None:
        return DEFAULT_FREQUENCY**2 if name == "kp" else 2.0 * DEFAULT_FREQUENCY
    return getattr(design.gains, name)[0]


def joint_gain(design: Design, name: str) -> np.ndarray:
    """Return gain kp or kd of a design per joint."""
    return np.full(design.model.nv, gain(design, name)) if design.gains is None else getattr(design.gains, name)


def operational_space(frame: str | None = None) -> TracedLaw:
    """Return operational-space control (2) of a frame, by default "tool" or the last frame.

    Parameters of the law: `kp` (1/s²) and `kd` (1/s) of the frame, six each, position first; `posture_kp` and
    `posture_kd` of the joints. By default all are the gains of the design.
    """
    parameters = {name: partial(_repeated, name=name) for name in ("kp", "kd")}
    parameters |= {f"posture_{name}": partial(joint_gain, name=name) for name in ("kp", "kd")}
    return TracedLaw("operational-space", partial(_operational, frame=frame), parameters=parameters)


def impedance(frame: str | None = None) -> TracedLaw:
    """Return Cartesian impedance control (3) of a frame, by default "tool" or the last frame.

    Parameters of the law: `stiffness` (N/m, N m/rad) and `damping` (N s/m, N m s/rad) of the frame, six each;
    `posture_stiffness` and `posture_damping` of the joints (N m/rad, N m s/rad). By default they are the gains of the
    design times the inertias at the start.
    """
    parameters = {
        "stiffness": partial(_scaled, frame=frame, name="kp"),
        "damping": partial(_scaled, frame=frame, name="kd"),
        "posture_stiffness": partial(joint_inertia_gain, name="kp"),
        "posture_damping": partial(joint_inertia_gain, name="kd"),
    }
    return TracedLaw("impedance", partial(_impedance, frame=frame), parameters=parameters)


def hybrid_force(frame: str | None = None) -> TracedLaw:
    """Return hybrid control (4) of a frame: a force along the normal of a surface, a motion along the surface.

    The sensor `wrench` holds the force (N) and moment (N m) of the environment on the frame, in world axes at its
    origin. Parameters of the law: the unit vector `normal` into the surface (world axes), `force` f_d (N),
    `force_integral` ki (1/s) and `normal_damping` d (N s/m), and those of operational-space control.
    """
    parameters = {
        "normal": (0.0, 0.0, -1.0),
        "force": 10.0,
        "force_integral": _force_integral,
        "normal_damping": partial(_normal_damping, frame=frame),
    }
    parameters |= operational_space(frame).parameters
    function = partial(_hybrid, frame=frame)
    return TracedLaw("hybrid-force", function, {"force_sum": 1}, {"wrench": 6}, parameters)


def _repeated(design: Design, name: str) -> np.ndarray:
    return np.full(6, gain(design, name))


def _scaled(design: Design, frame: str | None, name: str) -> np.ndarray:
    return gain(design, name) * apparent_masses(design, frame)


def _force_integral(design: Design) -> float:
    return FORCE_SHARE * 0.5 * gain(design, "kd")


def _normal_damping(design: Design, frame: str | None) -> float:
    return gain(design, "kd") * float(apparent_masses(design, frame)[:3].max())


def joint_inertia_gain(design: Design, name: str) -> np.ndarray:
    """Return a gain times the inertia of each joint at the start."""
    M = design.parts.equations.mass_matrix(design.model.start.tolist())
    return joint_gain(design, name) * np.array([float(M[k][k]) for k in range(len(M))])


def _operational(dyn: Dynamics, state: LawState, frame: str | None):
    motion = task_motion(dyn, state, controlled_frame(state.design.model, frame))
    wanted = _wanted(state, motion)
    return _joint_torques(dyn, state, motion, wanted)


def _wanted(state: LawState, motion: TaskMotion) -> Any:
    """Return A* of (2)."""
    gains = state.parameters
    return motion.acceleration - gains["kd"] * motion.velocity_error - gains["kp"] * motion.error


def _joint_torques(dyn: Dynamics, state: LawState, motion: TaskMotion, wanted: Any) -> Any:
    """Return the torques of (2) for A*."""
    gains = state.parameters
    u = state.a_d - gains["posture_kd"] * (state.v - state.v_d) - gains["posture_kp"] * (state.q - state.q_d)
    a = u + motion.consistent(wanted - motion.drift - motion.J @ u)
    return dyn.inverse_dynamics(state.q, state.v, a) + state.dry_friction(state.v_d)


def _impedance(dyn: Dynamics, state: LawState, frame: str | None):
    q, v, v_d, gains = state.q, state.v, state.v_d, state.parameters
    motion = task_motion(dyn, state, controlled_frame(state.design.model, frame))
    ahead = dyn.mass_matrix(q) @ state.a_d + dyn.coriolis(q, v) @ v_d + dyn.gravity(q) + dyn.friction(q, v_d)
    wrench = gains["stiffness"] * motion.error + gains["damping"] * motion.velocity_error
    posture = gains["posture_stiffness"] * (q - state.q_d) + gains["posture_damping"] * (v - v_d)
    return ahead + state.dry_friction(v_d) - motion.J.T @ wrench - motion.without_effect(posture)


def _hybrid(dyn: Dynamics, state: LawState, frame: str | None):
    gains, (sum_,) = state.parameters, state.memory["force_sum"]
    motion = task_motion(dyn, state, controlled_frame(state.design.model, frame))
    normal, (desired,), (rate,) = gains["normal"], gains["force"], gains["force_integral"]
    wanted, drift = _wanted(state, motion), motion.drift
    along = dot(normal, wanted[:3] - drift[:3])
    free = np.concatenate([wanted[:3] - along * normal, wanted[3:]])  # no acceleration along the normal but by f
    measured = -dot(normal, state.sensors["wrench"][:3])
    speed = dot(normal, (motion.J @ state.v)[:3])
    force = desired + rate * sum_ - gains["normal_damping"][0] * speed  # (4)
    tau = _joint_torques(dyn, state, motion, free) + motion.J[:3].T @ (force * normal)
    limit = INTEGRAL_LIMIT * abs(desired) / rate
    return tau, {"force_sum": [clamp(sum_ + state.period * (desired - measured), -limit, limit)]}
