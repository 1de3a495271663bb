"""Control laws for elastic joints: they use the positions θ of the motors and q of the links.

    motor-pd            τ = Kp (θ_d - θ) + Kd (v_d - θ̇) + g(q_d)             θ_d = q_d + f⁻¹(g(q_d))                (1)
    torque-feedback     τ = (B/B_d) u + (1 - B/B_d) f,  u by (1)             the motor then has the inertia B_d    (2)
    elastic-tracking    τ of the feedforward with the snap u = s_d - k₃ δj - k₂ δa - k₁ δv - k₀ δq                 (3)

(1) is stable for every motion of the arm near rest if the stiffness of springs and gains exceeds the largest change of
gravity, Tomei's condition (1991), in positions of links and motors:

    λ_min [[k, -k], [-k, k + Kp]]  >  max |∂g/∂q|                                                                 (4)

(3) is feedback linearisation: the accelerations and jerks of the links follow from the state,

    a = M⁻¹ (f - h)          j = M⁻¹ f' (θ̇ - θ̇₀)          θ̇₀: velocity of the motors at which the jerk is zero     (5)

and each coordinate becomes a chain of four integrators, whose poles are all placed at -ω. j_d and s_d are differences
of a_d between two steps. Springs of (3) must not have damping, which would change the order of the chain.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.algebra.scalar import select
from appell.compile.tape.traced_array import traced_array
from appell.control.traced_law import LawState, TracedLaw
from appell.dynamics import Dynamics
from appell.dynamics.elastic import deflection
from appell.errors import ArgumentError, ModelError

if TYPE_CHECKING:
    from appell.control.design import Design

GRAVITY_SAMPLES = 200  # random configurations at which the change of gravity in (4) is evaluated
INERTIA_RATIO = 4.0  # B/B_d by default


def motor_pd() -> TracedLaw:
    """Return motor PD control with gravity compensation (1), whose gains satisfy (4).

    Parameters of the law, one number per actuator: `kp` (N m/rad) and `kd` (N m s/rad), by default the gains of the
    design. It uses the motor encoders only.
    """
    return TracedLaw("motor-pd", _motor_pd, parameters={"kp": _checked_kp, "kd": partial(_gain, name="kd")})


def torque_feedback() -> TracedLaw:
    """Return torque feedback (2) around motor PD control.

    Parameters of the law: `kp` and `kd` of `motor-pd`, and `inertia_ratio`, B/B_d per actuator.
    """
    parameters = {"kp": _checked_kp, "kd": partial(_gain, name="kd"), "inertia_ratio": _inertia_ratio}
    return TracedLaw("torque-feedback", _torque_feedback, parameters=parameters)


def elastic_tracking() -> TracedLaw:
    """Return feedback linearisation (3) of a tree whose joints are all elastic.

    Parameter of the law: `frequency` ω in 1/s, one number per joint; by default √kp of the gains of the design.
    """
    memory = {"accelerations": lambda design: np.zeros(2 * design.model.link_nv), "steps": 1}
    return TracedLaw("elastic-tracking", _elastic_tracking, memory, parameters={"frequency": _frequency})


# ---- parameters


def _elastic(design: Design) -> Any:
    model = design.model
    if not model.elastic_joints:
        raise ArgumentError(
            f"law '{design.law.name}' is for elastic joints; {model.owner} has none.",
            hint="Use law='pd-gravity' or 'tracking', or robot.with_elastic_joints(...).",
        )
    if model.nu != model.link_nv:
        raise ArgumentError(
            f"law '{design.law.name}' needs one actuator per coordinate; {model.owner} has {model.nu} actuators for "
            f"{model.link_nv} coordinates."
        )
    return model


def _gain(design: Design, name: str) -> np.ndarray:
    _elastic(design)
    if design.gains is None:
        raise ArgumentError(f"no gains are given for law '{design.law.name}'.", expected="Gains(kp, kd)")
    return np.array(getattr(design.gains, name))


def _inertia_ratio(design: Design) -> np.ndarray:
    return np.full(_elastic(design).nu, INERTIA_RATIO)


def _frequency(design: Design) -> np.ndarray:
    model = _elastic(design)
    springs = [actuator.elasticity for actuator in model.actuators]
    if not model.rigid.is_tree or None in springs:
        raise ModelError(
            f"law '{design.law.name}' does not support {model.owner}.", expected="a tree whose joints are all elastic"
        )
    if damped := [name for name in model.elastic_joints if model.drives[name].elasticity.damping]:
        raise ModelError(
            f"law '{design.law.name}' does not support damped springs; joint '{damped[0]}' of {model.owner} has one.",
            hint="Give the controller a model without damping: model.with_elastic_joints({...}).",
        )
    return np.sqrt(_gain(design, "kp"))


def _checked_kp(design: Design) -> np.ndarray:
    """Return kp after the check of (4)."""
    kp = np.asarray(design.parameters["kp"], float) if "kp" in design.parameters else _gain(design, "kp")
    model, slope = _elastic(design), gravity_slope(design.model)
    stiffness = tomei_stiffness(design.model, np.broadcast_to(kp, model.nu))
    if not stiffness > slope:
        raise ArgumentError(
            f"law '{design.law.name}' does not satisfy Tomei's condition for {model.owner}: the smallest stiffness of "
            f"springs and gains is {stiffness:.4g}, but gravity changes by up to {slope:.4g} N m/rad.",
            expected="a smallest eigenvalue of [[k, -k], [-k, k + kp]] above the largest change of gravity",
            hint="Increase kp; if the springs are too soft, no kp suffices.",
        )
    return kp


def gravity_slope(model: Any) -> float:
    """Return the largest |∂g/∂q| of a system at random configurations, at the actuators, N m/rad."""
    links = Dynamics(model.link_side)
    rng = np.random.default_rng(0)
    q = np.stack([links.system.random_configuration(rng) for _ in range(GRAVITY_SAMPLES)])
    rest = np.zeros(links.system.nv)
    slopes = links.inverse_dynamics.jacobian("q")(q, rest, rest)
    inverse = np.linalg.pinv(links.actuator_jacobian(q)) if not links.system.is_tree else np.eye(links.system.nv)
    return float(np.linalg.norm(slopes @ inverse, 2, axis=(-2, -1)).max())


def tomei_stiffness(model: Any, kp: np.ndarray) -> float:
    """Return the smallest eigenvalue of the stiffness of springs and gains in (4), N m/rad."""
    n, elastic = model.nu, [k for k, actuator in enumerate(model.actuators) if actuator.elasticity]
    matrix = np.zeros((n + len(elastic), n + len(elastic)))
    for k, gain in enumerate(kp):
        if k in elastic:
            i, stiffness = n + elastic.index(k), model.actuators[k].elasticity.stiffness
            matrix[np.ix_([k, i], [k, i])] += stiffness * np.array([[1.0, -1.0], [-1.0, 1.0]])
            matrix[i, i] += gain
        else:
            matrix[k, k] += gain
    return float(np.linalg.eigvalsh(matrix)[0])


# ---- laws


def _motor_pd(dyn: Dynamics, state: LawState) -> Any:
    design, zero = state.design, np.zeros(state.design.model.link_nv)
    targets = state.q_d if design.model.rigid.is_tree else design.coordinates_at(state.q, state.q_d)
    links = design.parts.links
    g = links.inverse_dynamics(targets, zero, zero)
    model, equations = design.model, design.parts.equations
    joints = links.equations.actuator_positions_near(targets, equations.actuator_positions(state.q))
    springs = [actuator.elasticity for actuator in model.actuators]
    theta_d = [
        x + deflection(spring, force) if spring else x for spring, x, force in zip(springs, joints, g, strict=True)
    ]
    rates_d = traced_array(links.equations.actuator_rates(targets, state.v_d))
    theta = traced_array(equations.actuator_positions(state.q))
    rates = traced_array(equations.actuator_rates(state.q, state.v))
    gains = state.parameters
    return gains["kp"] * (traced_array(theta_d) - theta) + gains["kd"] * (rates_d - rates) + g


def _torque_feedback(dyn: Dynamics, state: LawState) -> Any:
    u, ratio = _motor_pd(dyn, state), state.parameters["inertia_ratio"]
    torques = state.design.parts.spring_torques(state.q, state.v)
    mixed = zip(u, ratio, torques, strict=True)
    return [x if f is None else r * x + (1.0 - r) * f for x, r, f in mixed]  # (2)


def _elastic_tracking(dyn: Dynamics, state: LawState) -> Any:
    n, model, period = state.design.model.link_nv, state.design.model, state.period
    q, v, links = state.q[:n], state.v[:n], state.design.parts.links
    order = [model.elastic_joints.index(name) for name in model.actuator_names]
    theta, theta_rate = state.q[n:][order], state.v[n:][order]
    springs = [actuator.elasticity for actuator in model.actuators if actuator.elasticity]
    f = traced_array([spring.force(x, 0.0) for spring, x in zip(springs, theta - q, strict=True)])
    slopes = [spring.stiffness + 3.0 * spring.hardening * (x * x) for spring, x in zip(springs, theta - q, strict=True)]
    a = links.forward_dynamics(q, v, f)  # (5)
    still = dyn.flat_state(q, v, a, np.zeros(n))[1][n:][order]
    jerk = links.inverse_mass_matrix(q) @ (traced_array(slopes) * (theta_rate - still))
    steps, before = state.memory["steps"][0], state.memory["accelerations"]
    jerk_d = _difference(steps, state.a_d, before[n:], period)
    snap_d = _difference(steps - 1.0, jerk_d, _difference(steps - 1.0, before[n:], before[:n], period), period)
    w = state.parameters["frequency"]
    u = snap_d - 4.0 * w * (jerk - jerk_d) - 6.0 * w**2 * (a - state.a_d)
    u = u - 4.0 * w**3 * (v - state.v_d) - w**4 * (q - state.q_d)  # (3)
    tau = dyn.feedforward(q, v, a, jerk, u) + state.dry_friction(state.v_d)
    return tau, {"accelerations": [*before[n:], *state.a_d], "steps": [steps + 1.0]}


def _difference(known: Any, new: Any, old: Any, period: float) -> Any:
    """Return (new - old) / period, or 0 before `known` is positive."""
    return traced_array([select(known, (x - y) * (1.0 / period), 0.0) for x, y in zip(new, old, strict=True)])
