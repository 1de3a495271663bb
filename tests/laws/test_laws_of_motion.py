"""Laws of mechanics: definitions, symmetries and balances, on every system.

Trees, mechanisms and constrained robots, each bare and with actuators that have gears, rotors, friction, offsets and
springs. Forces along the coordinates are Q = Jᵀτ, with J the actuator Jacobian, the identity for a tree.
"""

from __future__ import annotations

import numpy as np
import pytest

from answers import answer, interpreted
from appell.dynamics import Dynamics
from systems import displacement, driven, motion_of, systems, tree_of

SYSTEMS = systems()
SLOW_SYSTEMS = ("stewart-gough", "whipple-bicycle")  # derivatives take seconds to trace
ALL_TERMS = {"friction": True, "rotors": True}


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW_SYSTEMS)) for name in SYSTEMS], scope="module"
)
def bare(request):
    return SYSTEMS[request.param]


@pytest.fixture(params=["bare", "driven"], scope="module")
def dyn(request, bare):
    return Dynamics(bare) if request.param == "bare" else Dynamics(driven(bare), **ALL_TERMS)


@pytest.fixture
def motion(bare):
    return motion_of(bare, np.random.default_rng(11))


def close(ours, theirs, scale, rtol=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * np.max(np.abs(scale)))


def generalized(dyn, q, tau):
    return answer(dyn.actuator_jacobian, q).T @ tau


def test_forces_are_the_gradient_of_the_gibbs_function(dyn, motion):
    Q = generalized(dyn, motion[0], answer(dyn.inverse_dynamics, *motion))
    close(answer(dyn.gibbs_function.gradient("a"), *motion), Q, Q)
    close(answer(dyn.generalized_forces, *motion), Q, Q)


def test_the_inertia_matrix_is_the_hessian_of_the_gibbs_function(dyn, motion):
    M = answer(dyn.mass_matrix, motion[0])
    close(answer(dyn.gibbs_function.gradient("a").jacobian("a"), *motion), M, M)


def test_forces_are_the_regressor_times_the_parameters(dyn, motion):
    Y, values = answer(dyn.regressor, *motion), dyn.parameter_values
    tau = answer(dyn.inverse_dynamics, *motion)
    close(Y @ values, tau, np.abs(Y) @ np.abs(values))
    assert len({parameter.name for parameter in dyn.parameters}) == len(values)


def test_the_regressor_is_the_derivative_of_the_forces_by_the_parameters(bare, motion):
    Y, free = answer(Dynamics(bare).regressor, *motion), Dynamics(bare.with_free())
    values = np.ravel([body.parameters if body else np.zeros(10) for body in bare.bodies.values()])
    close(answer(free.inverse_dynamics.jacobian("parameters"), *motion, values), Y, Y)
    tau = answer(free.inverse_dynamics, *motion, values)
    close(Y @ values, tau, np.abs(Y) @ np.abs(values))


def test_forces_are_inertia_times_acceleration_plus_bias(dyn, motion):
    q, v, a = motion
    Q = generalized(dyn, q, answer(dyn.inverse_dynamics, q, v, a))
    close(answer(dyn.mass_matrix, q) @ a + answer(dyn.bias, q, v), Q, Q)


def test_the_bias_is_inverse_dynamics_without_acceleration(dyn, motion):
    q, v, _ = motion
    h = answer(dyn.bias, q, v)
    close(generalized(dyn, q, answer(dyn.inverse_dynamics, q, v, np.zeros_like(v))), h, h)


def test_forward_dynamics_is_the_inverse_of_inverse_dynamics(dyn, motion):
    q, v, a = motion
    close(answer(dyn.forward_dynamics, q, v, answer(dyn.inverse_dynamics, q, v, a)), a, a, rtol=1e-10)


def test_the_inertia_matrix_is_symmetric_and_positive_definite(dyn, motion):
    M = answer(dyn.mass_matrix, motion[0])
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0


def test_kinetic_energy_is_the_quadratic_form_of_the_inertia_matrix(dyn, motion):
    q, v, _ = motion
    kinetic, _ = answer(dyn.energy, q, v)
    assert kinetic == pytest.approx(0.5 * v @ answer(dyn.mass_matrix, q) @ v, rel=1e-12)


def test_coriolis_forces_are_bias_less_gravity_and_friction(dyn, motion):
    q, v, _ = motion
    h = answer(dyn.bias, q, v)
    close(answer(dyn.coriolis, q, v) @ v + answer(dyn.friction, q, v), h - answer(dyn.gravity, q), h)


def test_the_rate_of_the_inertia_matrix_less_twice_coriolis_is_skew(dyn, motion):
    q, v, _ = motion
    rate = answer(dyn.mass_matrix.jacobian("q"), q) @ displacement(dyn, q, v)
    C = answer(dyn.coriolis, q, v)
    skew = rate - 2 * C
    close(skew, -skew.T, C)
    close(rate, C + C.T, C)


def test_the_rate_of_energy_is_the_power_of_the_forces_less_the_loss_by_friction(dyn, motion):
    q, v, a = motion
    lost = answer(dyn.friction, q, v) + answer(dyn.gravity, q) - answer(Dynamics(dyn.system).gravity, q)  # and offsets
    power = v @ (generalized(dyn, q, answer(dyn.inverse_dynamics, q, v, a)) - lost)
    (T_q, U_q), (T_v, _) = (answer(dyn.energy.jacobian(name), q, v) for name in ("q", "v"))
    rate = displacement(dyn, q, v)
    assert T_q @ rate + U_q @ rate + T_v @ a == pytest.approx(power, rel=1e-10, abs=1e-10 * np.abs(T_v @ a))


def test_friction_opposes_motion_and_is_zero_at_rest(dyn, motion):
    q, v, _ = motion
    assert v @ answer(dyn.friction, q, v) >= 0.0
    np.testing.assert_array_equal(answer(dyn.friction, q, 0.0 * v), 0.0)


def test_friction_and_rotors_are_included_only_on_request(bare, motion):
    q, v, _ = motion
    ours, theirs = Dynamics(driven(bare, springs=False)), Dynamics(bare)
    tau, M = answer(theirs.inverse_dynamics, *motion), answer(theirs.mass_matrix, q)
    close(answer(ours.inverse_dynamics, *motion), tau, tau)
    close(answer(ours.mass_matrix, q), M, M)
    rough = Dynamics(driven(bare), **ALL_TERMS)
    assert np.abs(answer(rough.bias, q, v) - answer(Dynamics(bare).bias, q, v)).max() > 1e-3


def test_springs_are_always_included_and_obey_hookes_law(bare, motion):
    """Compare with Hooke's law at every actuator, mapped to the coordinates by the gradient of its position."""
    q = motion[0]
    sprung, slack = Dynamics(driven(bare)), Dynamics(driven(bare, springs=False))
    energy, forces = 0.0, np.zeros(bare.nv)
    for name, actuator in sprung.system.drives.items():
        position, slope = drive_position(sprung, name, q)
        energy += 0.5 * actuator.stiffness * (position - actuator.rest) ** 2
        forces += actuator.stiffness * (position - actuator.rest) * slope
    scale = [1.0, *forces, *answer(slack.gravity, q)]
    close(answer(sprung.gravity, q) - answer(slack.gravity, q), forces, scale)
    (_, with_springs), (_, without) = (answer(dyn.energy, q, 0.0 * motion[1]) for dyn in (sprung, slack))
    assert with_springs - without == pytest.approx(energy, rel=1e-9, abs=1e-9)


def drive_position(dyn, name, q):
    """Return θ of an actuator and ∂θ/∂q; zero for joints with several axes."""
    system, tree = dyn.system, tree_of(dyn.system)
    if tree is None:
        k = system.actuator_names.index(name)
        return answer(dyn.actuator_positions, q)[k], answer(dyn.actuator_jacobian, q)[k]
    joint, slope = tree.joint(name), np.zeros(tree.nv)
    if joint.motion.nv != 1:
        return 0.0, np.zeros(system.nv)
    slope[tree.span(joint)[1]] = joint.scale
    along = slope if system is tree else answer(dyn.basis, q).T @ slope
    return tree.joint_position(joint, q)[0], along


@pytest.mark.parametrize("switch", ["friction", "rotors"])
def test_friction_or_rotors_alone_give_consistent_equations(bare, motion, switch):
    q, v, a = motion
    dyn = Dynamics(driven(bare), **{switch: True})
    tau = answer(dyn.inverse_dynamics, q, v, a)
    Q = generalized(dyn, q, tau)
    close(answer(dyn.mass_matrix, q) @ a + answer(dyn.bias, q, v), Q, Q)
    close(answer(dyn.forward_dynamics, q, v, tau), a, a, rtol=1e-10)


def test_momentum_is_the_sum_over_the_bodies(bare, motion):
    q, v, _ = motion
    dyn, linear, angular = Dynamics(bare), np.zeros(3), np.zeros(3)
    com = answer(dyn.center_of_mass, q)
    first = np.zeros(3)
    for name, body in bare.bodies.items():
        if body is None:
            continue
        pose = interpreted(dyn.pose(name), q)
        twist = interpreted(dyn.jacobian(name, "LOCAL_WORLD_ALIGNED"), q) @ v
        R, arm = pose[:3, :3], pose[:3, :3] @ np.array(list(body.com))
        p = body.mass * (twist[:3] + np.cross(twist[3:], arm))
        inertia = R @ np.array([list(row) for row in body.inertia.rows]) @ R.T
        linear, first = linear + p, first + body.mass * (pose[:3, 3] + arm)
        angular = angular + inertia @ twist[3:] + np.cross(pose[:3, 3] + arm - com, p)
    mass = sum(body.mass for body in bare.bodies.values() if body)
    close(com, first / mass, [1.0, *com])
    close(answer(dyn.momentum, q, v), [*linear, *angular], [*linear, *angular, 1.0], rtol=1e-11)


def test_the_jacobian_gives_the_velocity_of_a_frame(bare, motion):
    q, v, _ = motion
    frame, dyn = bare.frame_names[-1], Dynamics(bare)
    pose_rate = answer(dyn.pose(frame).jacobian("q"), q) @ displacement(dyn, q, v)
    J = dyn.jacobian(frame, "LOCAL_WORLD_ALIGNED")(q)
    close((J @ v)[:3], pose_rate[:3, 3], np.abs(J) @ np.abs(v))
    spin = pose_rate[:3, :3] @ dyn.pose(frame)(q)[:3, :3].T
    close((J @ v)[3:], [spin[2, 1], spin[0, 2], spin[1, 0]], np.abs(J) @ np.abs(v))


@pytest.mark.parametrize("reference", ["LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED"])
def test_the_rate_of_the_jacobian_is_its_derivative_along_the_motion(bare, motion, reference):
    q, v, _ = motion
    frame, dyn = bare.frame_names[-1], Dynamics(bare)
    rate = answer(dyn.jacobian(frame, reference).jacobian("q"), q) @ displacement(dyn, q, v)
    close(answer(dyn.jacobian_rate(frame, reference), q, v), rate, [1.0, *np.ravel(rate)])


@pytest.mark.parametrize("reference", ["LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED"])
def test_a_wrench_on_a_frame_acts_through_the_jacobian(bare, motion, reference):
    frame, (q, v, a) = bare.frame_names[-1], motion
    dyn = Dynamics(bare, wrenches=[frame], reference=reference)
    wrench = np.random.default_rng(5).normal(size=6)
    pushed, free = answer(dyn.inverse_dynamics, *motion, wrench), answer(Dynamics(bare).inverse_dynamics, *motion)
    share = dyn.jacobian(frame, reference)(q).T @ wrench
    close(generalized(dyn, q, free - pushed), share, [*generalized(dyn, q, free), *share])
    close(answer(dyn.forward_dynamics, q, v, pushed, wrench), a, a, rtol=1e-10)


def test_point_motions_agree_with_the_jacobian_and_its_rate(bare, motion):
    """Contacts use `point_motions` of the equations; functions of frames must agree."""
    from appell.compile.function import Function
    from appell.compile.tape.tape import Array
    from appell.compile.tape.trace import trace

    q, v, _ = motion
    frame, dyn = bare.frame(bare.frame_names[-1]), Dynamics(bare)

    def body(q, v):
        (point,) = dyn.equations.point_motions([frame], q, v)
        return {"x": list(point.position), "u": list(point.velocity), "w": list(point.drift), "J": point.J}

    function = Function(trace("point", [Array("q", (bare.nq,)), Array("v", (bare.nv,))], body))
    x, u, w, J = answer(function, q, v)
    full = dyn.jacobian(frame.name, "LOCAL_WORLD_ALIGNED")(q)
    close(x, dyn.pose(frame.name)(q)[:3, 3], [1.0, *x])
    close(J, full[:3], [1.0, *np.ravel(J)])
    close(u, full[:3] @ v, [1.0, *u])
    close(w, answer(dyn.jacobian_rate(frame.name, "LOCAL_WORLD_ALIGNED"), q, v)[:3] @ v, [1.0, *w], rtol=1e-11)


def test_formulations_agree_with_friction_and_rotors(bare, motion):
    """Rotors are part of the articulated-body recursion; all other terms are added outside it."""
    q, v, a = motion
    system = driven(bare)
    tree = tree_of(bare)
    names = ("newton-euler", "kane") if tree else ("explicit",) * (bare.design is not None)
    ours = Dynamics(system, **ALL_TERMS)
    tau = answer(ours.inverse_dynamics, q, v, a)
    for name in names:
        forward = "ldl" if tree is bare and any(link.joint.mimic for link in tree.links) else None
        other = Dynamics(system, name, forward=forward, **ALL_TERMS)
        close(answer(other.inverse_dynamics, q, v, a), tau, tau)
        close(answer(other.mass_matrix, q), answer(ours.mass_matrix, q), answer(ours.mass_matrix, q))
        close(answer(other.forward_dynamics, q, v, tau), a, a, rtol=1e-10)
