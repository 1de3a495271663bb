"""Free motion: conservation laws, closed forms, and what a trajectory gives between its samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ellipk

import appell as ap
from free_bodies import free_body
from robots import example_urdfs, random_tree


def test_a_flying_talos_keeps_its_momentum_and_energy():
    path = next(p for p in example_urdfs() if p.name == "talos_reduced.urdf")
    robot = ap.load(path, base="floating", physical=False)
    dyn, rng = ap.Dynamics(robot), np.random.default_rng(1)
    motion = ap.simulate(
        dyn,
        robot.random_configuration(rng),
        0.5 * rng.normal(size=robot.nv),
        until=2.0,
        solver=ap.Solver(rtol=1e-11, atol=1e-12),
    )
    assert motion.finished
    t = np.linspace(0.0, 2.0, 101)
    q, v = motion(t)
    momentum = dyn.momentum(q, v)
    mass = sum(link.body.mass for link in robot.links if link.body)
    falling = momentum[:, :3] - mass * np.outer(t, list(robot.gravity))
    assert np.abs(falling - momentum[0, :3]).max() < 1e-9
    assert np.abs(momentum[:, 3:] - momentum[0, 3:]).max() < 1e-9
    assert np.ptp(motion.energy) < 1e-9
    assert np.abs(np.linalg.norm(q[:, 3:7], axis=1) - 1.0).max() < 1e-12


def test_the_t_handle_flips_with_the_period_of_eulers_equations():
    I1, I2, I3 = 0.1, 0.2, 0.3
    robot = free_body([], 1.0, (I1, I2, I3), gravity=(0, 0, 0), name="t-handle")
    omega = np.array([0.01, 5.0, 0.02])
    motion = ap.simulate(
        ap.Dynamics(robot), robot.neutral, [0, 0, 0, *omega], until=12.0, solver=ap.Solver(rtol=1e-11, atol=1e-13)
    )
    double_energy = I1 * omega[0] ** 2 + I2 * omega[1] ** 2 + I3 * omega[2] ** 2
    square = (I1 * omega[0]) ** 2 + (I2 * omega[1]) ** 2 + (I3 * omega[2]) ** 2
    low, high = (I1, I3) if square > double_energy * I2 else (I3, I1)  # Landau and Lifshitz, Mechanics, §37
    rate2 = (high - I2) * (square - double_energy * low) / (I1 * I2 * I3)
    modulus2 = (I2 - low) * (double_energy * high - square) / ((high - I2) * (square - double_energy * low))
    half_period = 2.0 * ellipk(modulus2) / np.sqrt(rate2)
    middle = motion(np.linspace(0, 12, 2401))[1][:, 4]
    signs = np.flatnonzero(np.diff(np.sign(middle)))
    flips = [brentq(lambda t: motion(t)[1][4], 0.005 * k, 0.005 * (k + 1), xtol=1e-14) for k in signs]
    assert len(flips) >= 3
    np.testing.assert_allclose(np.diff(flips), half_period, rtol=1e-8)


def test_a_thrown_body_follows_a_parabola_at_any_time():
    robot = free_body([])
    motion = ap.simulate(ap.Dynamics(robot), robot.neutral, [1, 2, 3, 0, 0, 0], until=1.0)
    t = np.linspace(0, 1, 17)
    expected = np.outer(t, [1, 2, 3]) + 0.5 * np.outer(t**2, [0, 0, -9.81])
    np.testing.assert_allclose(motion(t)[0][:, :3], expected, atol=1e-12)
    assert motion(0.5)[0].shape == (7,)


def test_quaternions_stay_unit_at_samples_and_between_them():
    robot = random_tree(3, 5, base="floating", kinds=("spherical", "revolute"))
    rng = np.random.default_rng(0)
    v0 = 3.0 * rng.normal(size=robot.nv)
    motion = ap.simulate(
        ap.Dynamics(robot), robot.random_configuration(rng), v0, until=3.0, solver=ap.Solver(rtol=1e-6, atol=1e-6)
    )
    for q in (motion.q, motion(np.linspace(0, 3, 1000))[0]):
        for low, high in motion.between.quaternions:
            assert np.abs(np.linalg.norm(q[:, low:high], axis=1) - 1.0).max() < 1e-12


@pytest.mark.parametrize("length", [1e-300, 1e-170, 1e160, 1e300])
def test_a_run_starts_at_a_quaternion_of_any_length(length):
    robot = random_tree(3, 5, base="floating", kinds=("spherical", "revolute"))
    q0, v0 = robot.random_configuration(1), np.linspace(-2.0, 2.0, robot.nv)
    wanted, stretched = ap.simulate(robot, q0, v0, until=0.3), q0.copy()
    for span in robot.quaternions:
        stretched[span] *= length
    motion = ap.simulate(robot, stretched, v0, until=0.3)
    np.testing.assert_allclose(motion.q[-1], wanted.q[-1], atol=1e-9)


@pytest.mark.parametrize("method", ["RK45", "RK23", "Radau", "BDF", "LSODA"])
def test_every_method_gives_the_same_motion(method):
    dyn = ap.Dynamics(ap.load("planar-2r"))
    expected = ap.simulate(dyn, until=0.5, torque=lambda t, q, v: -2.0 * v, solver=ap.Solver(rtol=1e-11, atol=1e-12))
    motion = ap.simulate(
        dyn, until=0.5, torque=lambda t, q, v: -2.0 * v, solver=ap.Solver(method=method, rtol=1e-7, atol=1e-9)
    )
    assert motion.finished
    t = np.linspace(0, 0.5, 40)
    np.testing.assert_allclose(motion(t)[0], expected(t)[0], atol=2e-5)


def test_radau_integrates_a_stiff_torque_in_few_steps():
    dyn = ap.Dynamics(ap.load("pendulum"))
    motion = ap.simulate(
        dyn, until=1.0, torque=lambda t, q, v: -1e6 * v, solver=ap.Solver(method="Radau", rtol=1e-6, atol=1e-8)
    )
    assert motion.finished
    assert len(motion.t) < 500


def test_constant_torques_are_recorded_and_do_work():
    robot = free_body([], gravity=(0, 0, 0))
    motion = ap.simulate(ap.Dynamics(robot), torque=[2, 0, 0, 0, 0, 0], until=1.0)
    assert motion.q[-1, 0] == pytest.approx(1.0, abs=1e-12)
    assert (motion.tau == [2, 0, 0, 0, 0, 0]).all()
    assert motion.energy[-1] == pytest.approx(2.0, abs=1e-12)


def test_joint_friction_of_the_dynamics_is_part_of_the_motion():
    robot = ap.Builder("disk", root=None)
    robot.link(
        "disk",
        ap.Revolute((0, 0, 1)),
        mass=1.0,
        inertia=(1, 1, 2.0),
        actuator=ap.Actuator(friction=ap.Friction(viscous=0.5)),
    )
    motion = ap.simulate(ap.Dynamics(robot.build(), friction=True), v0=[3.0], until=2.0)
    assert motion.v[-1, 0] == pytest.approx(3.0 * np.exp(-0.5), abs=1e-8)


def test_a_run_may_start_at_any_time():
    dyn = ap.Dynamics(ap.load("pendulum"))
    motion = ap.simulate(dyn, start=2.0, until=3.0, torque=lambda t, q, v: [t])
    assert motion.t[0] == 2.0
    assert motion.t[-1] == 3.0
    np.testing.assert_allclose(motion.tau[:, 0], motion.t)
