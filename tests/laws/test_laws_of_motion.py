"""Laws of mechanics that need no judge: definitions, symmetries and balances, on every robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from answers import answer
from appell.dynamics import Dynamics
from appell.model.body import Body
from appell.model.frame import Frame
from robots import random_motion, random_trees, zoo

ROBOTS = {robot.name: robot for robot in [*zoo(), *random_trees(10, links=10, first_seed=100)]}


@pytest.fixture(params=ROBOTS, scope="module")
def robot(request):
    return ROBOTS[request.param]


@pytest.fixture(scope="module")
def dyn(robot):
    return Dynamics(robot)


@pytest.fixture
def motion(robot):
    return random_motion(robot, np.random.default_rng(11))


def close(ours, theirs, scale, rtol=1e-12):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * np.max(np.abs(scale)))


def test_joint_forces_are_the_gradient_of_the_gibbs_function(dyn, motion):
    tau = answer(dyn.inverse_dynamics, *motion)
    close(answer(dyn.gibbs_function.gradient("a"), *motion), tau, tau)


def test_the_inertia_matrix_is_the_hessian_of_the_gibbs_function(dyn, motion):
    M = answer(dyn.mass_matrix, motion[0])
    close(answer(dyn.gibbs_function.gradient("a").jacobian("a"), *motion), M, M)


def test_the_regressor_is_the_derivative_of_the_forces_by_the_parameters(robot, motion):
    Y = answer(Dynamics(robot).regressor, *motion)
    free = Dynamics(robot.with_free())
    parameters = np.ravel([link.body.parameters if link.body else np.zeros(10) for link in robot.links])
    close(answer(free.inverse_dynamics.jacobian("parameters"), *motion, parameters), Y, Y)
    tau = answer(free.inverse_dynamics, *motion, parameters)
    close(Y @ parameters, tau, np.abs(Y) @ np.abs(parameters))


def test_forces_are_inertia_times_acceleration_plus_bias(dyn, motion):
    q, v, a = motion
    tau = answer(dyn.inverse_dynamics, q, v, a)
    close(answer(dyn.mass_matrix, q) @ a + answer(dyn.bias, q, v), tau, tau)


def test_forward_dynamics_undoes_inverse_dynamics(dyn, motion):
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


def test_coriolis_forces_are_bias_less_gravity(dyn, motion):
    q, v, _ = motion
    h = answer(dyn.bias, q, v)
    close(answer(dyn.coriolis, q, v) @ v, h - answer(dyn.gravity, q), h)


def test_the_rate_of_the_inertia_matrix_less_twice_coriolis_is_skew(dyn, motion):
    q, v, _ = motion
    rate = answer(dyn.mass_matrix.jacobian("q"), q) @ v
    C = answer(dyn.coriolis, q, v)
    skew = rate - 2 * C
    close(skew, -skew.T, C)
    close(rate, C + C.T, C)


def test_power_of_the_joint_forces_is_the_rate_of_energy(dyn, motion):
    q, v, a = motion
    power = v @ answer(dyn.inverse_dynamics, q, v, a)
    (T_q, U_q), (T_v, _) = (answer(dyn.energy.jacobian(name), q, v) for name in ("q", "v"))
    assert T_q @ v + U_q @ v + T_v @ a == pytest.approx(power, rel=1e-10, abs=1e-10 * np.abs(T_v @ a))


def test_the_jacobian_gives_the_velocity_of_a_frame(robot, dyn, motion):
    q, v, _ = motion
    frame = robot.frame_names[-1]
    pose_rate = answer(dyn.pose(frame).jacobian("q"), q) @ v
    J = dyn.jacobian(frame, "LOCAL_WORLD_ALIGNED")(q)
    close((J @ v)[:3], pose_rate[:3, 3], np.abs(J) @ np.abs(v))
    spin = pose_rate[:3, :3] @ dyn.pose(frame)(q)[:3, :3].T
    close((J @ v)[3:], [spin[2, 1], spin[0, 2], spin[1, 0]], np.abs(J) @ np.abs(v))


@pytest.mark.parametrize("reference", ["LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED"])
def test_a_wrench_on_a_frame_works_through_the_jacobian(robot, motion, reference):
    frame = robot.frame_names[-1]
    dyn = Dynamics(robot, wrenches=[frame], reference=reference)
    wrench = np.random.default_rng(5).normal(size=6)
    pushed, free = answer(dyn.inverse_dynamics, *motion, wrench), answer(Dynamics(robot).inverse_dynamics, *motion)
    J = dyn.jacobian(frame, reference)(motion[0])
    close(free - pushed, J.T @ wrench, [*free, *(J.T @ wrench)])
    q, v, a = motion
    close(answer(dyn.forward_dynamics, q, v, pushed, wrench), a, a, rtol=1e-10)


def test_a_body_on_a_fixed_frame_acts_like_a_lumped_one(robot, motion):
    """Moving half of a link's matter to a second body at another frame and lumping it back changes nothing."""
    link = next(link for link in robot.links if link.body)
    half = Body(0.5 * link.body.mass, link.body.com, 0.5 * link.body.inertia)
    lumped = Body.from_inertia(half.about_origin + half.about_origin)
    other = Dynamics(robot.with_bodies({link.name: lumped}))
    tau = answer(Dynamics(robot).inverse_dynamics, *motion)
    close(answer(other.inverse_dynamics, *motion), tau, tau)


def test_damping_and_friction_act_only_on_request(robot, motion):
    q, v, a = motion
    joints = [replace(link, joint=replace(link.joint, damping=0.3, friction=0.2)) for link in robot.links]
    rough = replace(robot, links=tuple(joints))
    smooth = answer(Dynamics(robot).inverse_dynamics, *motion)
    close(answer(Dynamics(rough).inverse_dynamics, *motion), smooth, smooth)
    tau = answer(Dynamics(rough, friction=True).inverse_dynamics, *motion)
    drag = np.zeros(robot.nv)
    for link in robot.links:
        scale = link.joint.mimic.multiplier if link.joint.mimic else 1.0
        rate = scale * v[robot.span(link.joint)[1]]
        drag[robot.span(link.joint)[1]] += scale * (0.3 * rate + 0.2 * np.sign(rate))
    close(tau - smooth, drag, tau)
    close(answer(Dynamics(rough, friction=True).forward_dynamics, q, v, tau), a, a, rtol=1e-10)


def test_gravity_points_down():
    """A horizontal pendulum of 2 kg with its centre at 0.5 m needs +9.81 N m to be held against (0, 0, -9.81)."""
    from appell.algebra.matrix import Mat3
    from appell.algebra.vector import Vec3
    from appell.model.joints import Revolute
    from appell.model.robot import Joint, Link, Robot

    body = Body(2.0, Vec3(0.5, 0.0, 0.0), Mat3.symmetric(0.1, 0.0, 0.0, 0.1, 0.0, 0.1))
    arm = Robot("arm", (Link("rod", None, Joint("hinge", Revolute(Vec3(0.0, -1.0, 0.0))), body),), (Frame("f", "rod"),))
    assert Dynamics(arm).gravity([0.0])[0] == pytest.approx(9.81, rel=1e-15)


def test_quaternions_of_any_length_mean_the_same_attitude():
    robot = random_trees(1, links=3, first_seed=3)[0]
    q, v, a = random_motion(robot, np.random.default_rng(0))
    stretched = q.copy()
    for link in robot.moving:
        if link.joint.motion.name in ("floating", "spherical"):
            stop = robot.span(link.joint)[0].stop
            stretched[stop - 4 : stop] *= 1.7
    dyn = Dynamics(robot)
    tau = dyn.inverse_dynamics(q, v, a)
    close(dyn.inverse_dynamics(stretched, v, a), tau, tau)
