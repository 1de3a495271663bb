"""Physics that holds for every mechanism, on every ready-made robot."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from appell.compile.function import Function
from appell.compile.splice import inline
from appell.compile.taylor import Taylor
from appell.parallel import READY_MADE

SPREAD = {"agile-wrist": 0.4, "five-bar": 0.08, "3-rrr": 0.08, "delta": 0.15, "stewart-gough": 0.15}


HEAVY = "stewart-gough"  # six coordinates and thirteen bodies: its regressor takes seconds to compile
ROBOTS = [pytest.param(name, marks=[pytest.mark.slow] * (name == HEAVY)) for name in READY_MADE]


@pytest.fixture(params=ROBOTS, scope="module")
def case(request):
    mechanism = READY_MADE[request.param](gravity=(1.0, -2.0, -9.0))
    rng = np.random.default_rng(7)
    shape = (50, mechanism.robot.nq)
    q = mechanism.robot.start + rng.uniform(-1, 1, shape) * SPREAD[request.param]
    return mechanism, q, rng.normal(size=shape), rng.normal(size=shape)


def test_the_inertia_matrix_is_symmetric_positive_definite_and_carries_the_kinetic_energy(case):
    mechanism, q, v, _ = case
    M = mechanism.mass_matrix(q)
    assert np.array_equal(M, M.swapaxes(1, 2))
    assert np.linalg.eigvalsh(M).min() > 0.0
    assert np.allclose(mechanism.energy(q, v)[0], 0.5 * np.einsum("ti,tij,tj->t", v, M, v), rtol=1e-13)


def test_coriolis_gives_the_velocity_forces_and_leaves_a_skew_rest(case):
    mechanism, q, v, _ = case
    C = mechanism.coriolis(q, v)
    forces = mechanism.bias(q, v) - mechanism.gravity(q)
    assert np.abs(np.einsum("tij,tj->ti", C, v) - forces).max() < 1e-12 * np.abs(forces).max()
    inertia = Taylor("inertia", mechanism.robot.nq, lambda q: inline(mechanism.mass_matrix.tape, q)[0])
    rate = Function.of("rate", {"q": q.shape[1], "v": q.shape[1]}, lambda q, v: {"rate": inertia.rate(q, v)})
    rest = rate(q, v) - 2 * C
    assert np.abs(rest + rest.swapaxes(1, 2)).max() < 1e-12 * np.abs(C).max()
    assert np.abs(rest).max() > 1e-2 * np.abs(C).max()


def test_forward_dynamics_undo_inverse_dynamics(case):
    mechanism, q, v, a = case
    again = mechanism.forward_dynamics(q, v, mechanism.inverse_dynamics(q, v, a))
    assert np.abs(again - a).max() < 1e-10


def test_generalised_forces_are_the_gradient_of_the_gibbs_function(case):
    mechanism, q, v, a = case
    Q = mechanism.generalized_forces(q, v, a)
    assert np.abs(mechanism.gibbs_function.gradient("a")(q, v, a) - Q).max() < 1e-12 * np.abs(Q).max()


def test_actuators_do_the_work_that_the_energy_gains(case):
    mechanism, q, v, a = case
    dT, dU = (np.einsum("ti,ti->t", d, v) for d in mechanism.energy.jacobian("q")(q, v))
    gain = dT + dU + np.einsum("ti,ti->t", mechanism.energy.jacobian("v")(q, v)[0], a)
    rates = np.einsum("tij,tj->ti", mechanism.actuator_jacobian(q), v)
    power = np.einsum("ti,ti->t", mechanism.inverse_dynamics(q, v, a), rates)
    assert np.abs(gain - power).max() < 1e-11 * np.abs(power).max()


def test_torques_are_linear_in_the_parameters(case):
    mechanism, q, v, a = case
    Y, tau = mechanism.regressor(q, v, a), mechanism.inverse_dynamics(q, v, a)
    assert Y.shape == (len(q), mechanism.robot.nu, 10 * len(mechanism.robot.bodies))
    assert np.abs(Y @ mechanism.parameters - tau).max() < 1e-12 * np.abs(tau).max()


def test_derivatives_are_those_of_finite_differences(case):
    mechanism, q, v, a = case
    exact = mechanism.inverse_dynamics.jacobian("q")(q, v, a)
    step = 1e-5
    for k in range(mechanism.robot.nq):
        shift = step * np.eye(mechanism.robot.nq)[k]
        ahead, behind = mechanism.inverse_dynamics(q + shift, v, a), mechanism.inverse_dynamics(q - shift, v, a)
        error = np.abs((ahead - behind) / (2 * step) - exact[..., k])
        assert error.max() < 1e-5 * np.abs(exact).max()  # O(step²) of a third derivative in the hundreds


def test_a_batch_is_its_samples_bit_for_bit(case):
    mechanism, q, v, a = case
    whole = mechanism.inverse_dynamics(q, v, a)
    assert np.array_equal(whole[3], mechanism.inverse_dynamics(q[3], v[3], a[3]))
    again = pickle.loads(pickle.dumps(mechanism.inverse_dynamics))
    assert np.array_equal(whole, again(q, v, a))


def test_poses_are_rotations_wherever_the_robot_reaches(case):
    mechanism, q, _, _ = case
    for name in (body.name for body in mechanism.robot.bodies):
        pose = mechanism.pose(name)(q)
        R = pose[:, :3, :3]
        assert np.abs(R @ R.swapaxes(1, 2) - np.eye(3)).max() < 1e-13
        assert np.linalg.det(R).min() > 0.999


def test_counts_are_there_for_every_function(case):
    mechanism, *_ = case
    count = mechanism.inverse_dynamics.count()
    assert count.mul > count.div > 0
