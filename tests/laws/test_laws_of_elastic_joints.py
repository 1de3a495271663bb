"""Laws of mechanics with elastic joints: trees, mechanisms and constrained robots whose motors move joints by springs.

The forces along the velocities are Q = Jᵀτ, with zeros along the elastic joints themselves.
"""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from answers import answer
from appell.model.system import System
from constrained_cases import constrained
from robots import random_tree
from systems import displacement, driven

COMPLETE = {"random tree with whole rotors", "puma with whole rotors"}


def elastic(system: System, seed: int = 0, some: bool = False) -> System:
    """Return the system with random actuators, and hardening springs with damping at its joints of one axis."""
    system, rng = driven(system, seed, springs=False), np.random.default_rng(seed)
    mimics = {link.joint.name for link in system.tree.links if link.joint.mimic} if system.tree else set()

    def geared(name: str, actuator: ap.Actuator) -> ap.Actuator:
        one_axis = system.tree is None or system.tree.joint(name).motion.nv == 1
        if not one_axis or name in mimics or (some and rng.random() < 0.5):
            return actuator
        spring = ap.Elasticity(*rng.uniform((500.0, 1.0, 1e4), (2000.0, 5.0, 1e6)))
        fields = {**vars(actuator), "elasticity": spring, "rotor_inertia": float(rng.uniform(1e-4, 1e-3))}
        return ap.Actuator(**fields)

    return system.with_actuators(geared)


def flexible_arm() -> System:
    """Return an arm of two flexible links with a load at its tip."""
    beam = ap.shapes.beam(0.8, ap.Section.tube(0.02, 0.018), E=7e10, rho=2700, bending=(1, 1), damping=1e-4)
    arm = ap.Builder("flexible arm").link("upper", ap.Revolute((0, 1, 0)), body=beam)
    arm.link("lower", ap.Revolute((0, 1, 0)), parent="upper", node="tip", body=beam)
    return arm.fixed("load", parent="lower", node="tip", mass=0.3, inertia=(2e-4, 2e-4, 2e-4)).build()


SYSTEMS = {
    "puma": lambda: elastic(ap.load("puma")),
    "puma with whole rotors": lambda: elastic(ap.load("puma")),
    "random tree": lambda: elastic(random_tree(301, 7, base="floating"), some=True),
    "random tree with whole rotors": lambda: elastic(
        random_tree(302, 6, base="floating", kinds=("revolute", "spherical"))
    ),
    "delta": lambda: elastic(ap.load("delta"), some=True),
    "agile-wrist": lambda: elastic(ap.load("agile-wrist")),
    "four-bar": lambda: elastic(ap.load("four-bar")),
    "floating loop": lambda: elastic(constrained("floating-fourbar"), some=True),
    "flexible arm": lambda: elastic(flexible_arm()),
}


@pytest.fixture(params=SYSTEMS, scope="module")
def dyn(request):
    rotors = "complete" if request.param in COMPLETE else True
    return ap.Dynamics(SYSTEMS[request.param](), friction=True, rotors=rotors)


@pytest.fixture
def motion(dyn):
    rng = np.random.default_rng(11)
    v, a = rng.normal(size=(2, dyn.system.nv))
    return dyn.system.random_configuration(rng, within_limits=False), v, a


def close(ours, theirs, scale, rtol=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * np.max(np.abs(scale)))


def is_complete(dyn) -> bool:
    return dyn.choice.rotors == "complete"


def test_every_system_has_motors_after_the_coordinates_of_its_bodies(dyn):
    system = dyn.system
    assert system.elastic_joints
    assert system.coordinate_names[system.link_nq :] == system.motor_names
    assert system.velocity_names[system.link_nv :] == system.motor_names
    assert len(system.start) == system.nq


def test_forces_are_the_gradient_of_the_gibbs_function(dyn, motion):
    Q = answer(dyn.generalized_forces, *motion)
    close(answer(dyn.gibbs_function.gradient("a"), *motion), Q, Q)


def test_the_inertia_matrix_is_the_hessian_of_the_gibbs_function_and_positive_definite(dyn, motion):
    M = answer(dyn.mass_matrix, motion[0])
    close(answer(dyn.gibbs_function.gradient("a").jacobian("a"), *motion), M, M)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


def test_forces_are_inertia_times_acceleration_plus_bias(dyn, motion):
    q, v, a = motion
    Q = answer(dyn.generalized_forces, q, v, a)
    close(answer(dyn.mass_matrix, q) @ a + answer(dyn.bias, q, v), Q, Q)


def test_forward_dynamics_solves_the_equations_of_motion(dyn, motion):
    q, v, _ = motion
    tau = np.random.default_rng(3).normal(size=dyn.system.nu)
    a = answer(dyn.forward_dynamics, q, v, tau)
    Q, h = answer(dyn.actuator_jacobian, q).T @ tau, answer(dyn.bias, q, v)
    close(answer(dyn.generalized_forces, q, v, a), Q, [*Q, *h], rtol=1e-11)


def test_forces_are_the_regressor_times_the_parameters(dyn, motion):
    if is_complete(dyn):
        with pytest.raises(ap.errors.ModelError, match=r"regressor .* is not available with rotors='complete'"):
            _ = dyn.regressor
        return
    Y, values = answer(dyn.regressor, *motion), dyn.parameter_values
    close(Y @ values, answer(dyn.generalized_forces, *motion), np.abs(Y) @ np.abs(values))
    assert {"stiffness", "damping", "hardening", "motor"} <= {parameter.kind for parameter in dyn.parameters}
    assert len({parameter.name for parameter in dyn.parameters}) == len(values)


def test_kinetic_energy_is_the_quadratic_form_of_the_inertia_matrix(dyn, motion):
    q, v, _ = motion
    assert answer(dyn.energy, q, v)[0] == pytest.approx(0.5 * v @ answer(dyn.mass_matrix, q) @ v, rel=1e-12)


def test_coriolis_forces_are_bias_less_gravity_and_friction_and_the_rate_of_inertia_is_skew(dyn, motion):
    q, v, _ = motion
    if is_complete(dyn):
        with pytest.raises(ap.errors.ModelError, match=r"Coriolis matrix .* is not available"):
            _ = dyn.coriolis
        return
    C, h = answer(dyn.coriolis, q, v), answer(dyn.bias, q, v)
    close(C @ v + answer(dyn.friction, q, v), h - answer(dyn.gravity, q), h)
    rate = answer(dyn.mass_matrix.jacobian("q"), q) @ displacement(dyn, q, v)
    close(rate, C + C.T, C)


def test_the_rate_of_energy_is_the_power_of_the_forces_less_the_losses(dyn, motion):
    q, v, a = motion
    offsets = answer(dyn.gravity, q) - answer(ap.Dynamics(dyn.system).gravity, q)
    power = v @ (answer(dyn.generalized_forces, q, v, a) - answer(dyn.friction, q, v) - offsets)
    (T_q, U_q), (T_v, _) = (answer(dyn.energy.jacobian(name), q, v) for name in ("q", "v"))
    rate = displacement(dyn, q, v)
    scale = np.abs([T_v @ a, U_q @ rate, power]).max()
    assert T_q @ rate + U_q @ rate + T_v @ a == pytest.approx(power, rel=1e-10, abs=1e-10 * scale)


def test_derivatives_of_forward_dynamics_are_those_of_the_equations(dyn, motion):
    """Differentiate Q(q, v, a(q, v, τ)) = Jᵀτ: ∂a/∂v = -M⁻¹ ∂Q/∂v, ∂a/∂τ = M⁻¹ Jᵀ, ∂a/∂q = M⁻¹ (∂(Jᵀτ) - ∂Q)/∂q."""
    q, v, _ = motion
    tau = np.random.default_rng(3).normal(size=dyn.system.nu)
    M, J = answer(dyn.mass_matrix, q), answer(dyn.actuator_jacobian, q)
    a = answer(dyn.forward_dynamics, q, v, tau)
    by_q, by_v, by_tau = answer(dyn.forward_dynamics.jacobian("q", "v", "tau"), q, v, tau)
    Q_q, Q_v = answer(dyn.generalized_forces.jacobian("q", "v"), q, v, a)
    moved = np.einsum("kjd,k->jd", answer(dyn.actuator_jacobian.jacobian("q"), q), tau)
    for ours, theirs in ((by_v, -Q_v), (by_tau, J.T), (by_q, moved - Q_q)):
        close(M @ ours, theirs, [1.0, *np.ravel(theirs)], rtol=1e-10)


def test_frames_depend_on_the_links_only(dyn, motion):
    system, (q, *_) = dyn.system, motion
    links, frame = ap.Dynamics(system.link_side), system.frame_names[-1]
    n, nv = system.link_nq, system.link_nv
    close(dyn.pose(frame)(q), links.pose(frame)(q[:n]), 1.0)
    J = dyn.jacobian(frame)(q)
    close(J[:, :nv], links.jacobian(frame)(q[:n]), 1.0)
    np.testing.assert_array_equal(J[:, nv:], 0.0)


def test_friction_opposes_motion_and_is_zero_at_rest(dyn, motion):
    q, v, _ = motion
    assert v @ answer(dyn.friction, q, v) >= 0.0
    np.testing.assert_array_equal(answer(dyn.friction, q, 0.0 * v), 0.0)


def test_formulations_agree(dyn, motion):
    system, (q, v, _) = dyn.system, motion
    if system.tree is None or system.is_constrained or any(link.joint.mimic for link in system.tree.links):
        pytest.skip("only trees have several formulations")
    tau = np.random.default_rng(3).normal(size=system.nu)
    formulation = "gibbs-gradient" if system.flexible else "newton-euler"
    other = ap.Dynamics(system, formulation, friction=True, rotors=dyn.choice.rotors)
    ours = answer(dyn.forward_dynamics, q, v, tau)
    close(answer(other.forward_dynamics, q, v, tau), ours, ours, rtol=1e-9)
