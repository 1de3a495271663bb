"""Linearisation of trees, against Pinocchio's derivatives and python-control."""

from __future__ import annotations

import sys

import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from appell.control.linear import linearize
from appell.errors import ArgumentError
from appell_lab.references.oracle import Oracle
from control_motion import START, driven, ideal
from robots import random_tree


def test_the_matrices_agree_with_pinocchio(puma):
    model = pin.buildModelFromXML(ap.to_urdf(ideal(puma)))
    data, v, tau = model.createData(), np.linspace(-1, 1, 6), np.linspace(20, -60, 6)
    system = linearize(ideal(puma), START, v, tau)
    pin.computeABADerivatives(model, data, START, v, tau)
    M = pin.crba(model, data, START)
    M = np.triu(M) + np.triu(M, 1).T
    np.testing.assert_allclose(system.A[6:, :6], data.ddq_dq, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(system.A[6:, 6:], data.ddq_dv, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(system.B[6:], np.linalg.inv(M), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(system.A[:6], np.hstack([np.zeros((6, 6)), np.eye(6)]))


def test_python_control_gets_the_same_system_with_names(puma):
    import control

    system = linearize(driven(puma, viscous=2.0), START)
    theirs = system.to_control()
    np.testing.assert_allclose(np.sort_complex(control.poles(theirs)), np.sort_complex(system.poles), atol=1e-9)
    assert theirs.state_labels[:2] == ["q_joint1", "q_joint2"]
    assert theirs.input_labels[5] == "tau_joint6"
    sampled = system.sampled(1e-3).to_control()
    assert sampled.dt == 1e-3
    np.testing.assert_allclose(sampled.A, control.c2d(theirs, 1e-3).A, atol=1e-12)


def test_a_sampled_system_keeps_its_poles(puma):
    system = linearize(driven(puma, viscous=2.0), START)
    np.testing.assert_allclose(
        np.sort_complex(system.sampled(1e-3).poles), np.sort_complex(system.poles), rtol=1e-5, atol=1e-5
    )
    with pytest.raises(ArgumentError, match="already discrete"):
        system.sampled(1e-3).sampled(1e-3)


def test_a_missing_python_control_is_named(puma, monkeypatch):
    monkeypatch.setitem(sys.modules, "control", None)
    with pytest.raises(ArgumentError, match=r"pip install .appell\[tuning\]"):
        linearize(ideal(puma), START).to_control()


def test_a_state_of_the_wrong_size_is_rejected(puma):
    with pytest.raises(ArgumentError, match=r"q has shape \(2,\); its last axis must be 6 for robot 'puma'"):
        linearize(ideal(puma), [0.0, 1.0])
    with pytest.raises(ArgumentError, match=r"expected  one state, of shape \(6,\)"):
        linearize(ideal(puma), np.zeros((3, 6)))


# ---- moving bases and selected actuators


def advanced(dyn, q, v, tau, time):
    """Return the state after a short time, by a Runge-Kutta step on the manifold with v in the frame of q."""
    robot, n = dyn.system, dyn.system.nv

    def acceleration(step, v):
        return dyn.forward_dynamics(robot.integrate(q, step), v, tau)

    def rate(step, v):
        """Return the rate of a step whose end moves with v, v + ½[step, v] + ..., to second order."""
        return v + 0.5 * robot.bracket(step) @ v

    y = np.zeros(n), v
    k1 = rate(*y), acceleration(*y)
    middle = [y[i] + 0.5 * time * k1[i] for i in (0, 1)]
    k2 = rate(*middle), acceleration(*middle)
    middle = [y[i] + 0.5 * time * k2[i] for i in (0, 1)]
    k3 = rate(*middle), acceleration(*middle)
    end = [y[i] + time * k3[i] for i in (0, 1)]
    k4 = rate(*end), acceleration(*end)
    step, v = (y[i] + time / 6 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) for i in (0, 1))
    return robot.integrate(q, step), v


@pytest.mark.parametrize("base", ["floating", "planar", "spherical"])
def test_neighbouring_motions_separate_as_the_linear_system_predicts(base):
    """Two motions are integrated for a short time forwards and backwards; their distance changes by A and B."""
    robot = random_tree(3, 2, base=base, kinds=("revolute", "prismatic"))
    rng = np.random.default_rng(0)
    q, v, tau = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nu)
    linear, dyn, n = linearize(robot, q, v, tau), ap.Dynamics(robot), robot.nv
    time, size = 1e-4, 1e-5

    def apart(x, u, t):
        """Return the distance at time t of two motions that start at ±x with torques ±u."""
        ends = []
        for sign in (size, -size):
            start = robot.integrate(q, sign * x[:n]), v + sign * x[n:]
            ends.append(advanced(dyn, *start, tau + sign * u, t))
        (q1, v1), (q0, v0) = ends
        middle = advanced(dyn, q, v, tau, t)[0]
        step = (robot.difference(middle, q1) - robot.difference(middle, q0)) / (2 * size)
        return np.concatenate([step, (v1 - v0) / (2 * size)])

    zero, none = np.zeros(2 * n), np.zeros(n)
    for k in range(2 * n):
        x = np.eye(2 * n)[k]
        numeric = (apart(x, none, time) - apart(x, none, -time)) / (2 * time)
        np.testing.assert_allclose(numeric, linear.A[:, k], atol=2e-5 * np.abs(linear.A).max())
    for k in range(n):
        numeric = (apart(zero, np.eye(n)[k], time) - apart(zero, np.eye(n)[k], -time)) / (2 * time)
        np.testing.assert_allclose(numeric, linear.B[:, k], atol=2e-5 * np.abs(linear.B).max())


@pytest.mark.parametrize("base", ["floating", "planar", "spherical"])
def test_the_derivatives_on_moving_bases_agree_with_pinocchio(base):
    robot = random_tree(3, 2, base=base, kinds=("revolute", "prismatic"))
    judge, rng = Oracle(robot), np.random.default_rng(1)
    q, v, tau = robot.random_configuration(rng), rng.normal(size=robot.nv), rng.normal(size=robot.nu)
    linear, n = linearize(ideal(robot), q, v, tau), robot.nv
    pin.computeABADerivatives(judge.model, judge.data, judge.q(q), judge.G @ v, judge.G @ tau)
    for ours, theirs in ((linear.A[n:, :n], judge.data.ddq_dq), (linear.A[n:, n:], judge.data.ddq_dv)):
        np.testing.assert_allclose(ours, judge.G.T @ theirs @ judge.G, atol=1e-9 * np.abs(theirs).max())
    np.testing.assert_allclose(linear.B[n:], np.linalg.inv(judge.mass_matrix(q)), rtol=1e-7, atol=1e-9)
    assert linear.states[0] == f"q_{robot.velocity_names[0]}"
    assert len(linear.states) == 2 * n


def test_selected_actuators_are_the_columns_of_B():
    robot = random_tree(5, 3, base="floating", kinds=("revolute",))
    arm = [name for name in robot.actuator_names if name.startswith("joint")]
    q, v, tau = robot.start, np.linspace(-1, 1, robot.nv), np.linspace(-5, 5, robot.nu)
    full_system, some = linearize(robot, q, v, tau), linearize(robot, q, v, [3.0, 1.0], actuators=["joint2", "joint0"])
    columns = [robot.actuator_names.index(name) for name in ("joint2", "joint0")]
    np.testing.assert_array_equal(some.B, full_system.B[:, columns])
    assert some.inputs == ("tau_joint2", "tau_joint0")
    full = np.zeros(robot.nu)
    full[columns] = 3.0, 1.0
    np.testing.assert_allclose(some.A, linearize(robot, q, v, full).A, atol=1e-12)
    with pytest.raises(ArgumentError, match=r"(?s)actuators joint0, .* cannot hold robot 'random5' there.*tau=\.\.\."):
        linearize(robot, q, actuators=arm)
    with pytest.raises(ap.ModelError, match="no actuator 'joint9'"):
        linearize(robot, q, actuators=["joint9"])


def test_a_subset_of_the_actuators_can_hold_a_state():
    """A pendulum that hangs down from a cart needs no torque, so the drive of the cart holds it."""
    cart = ap.Builder("cart", root=None)
    cart.link("cart", ap.Prismatic(axis=(1, 0, 0)), mass=2.0, inertia=(1, 1, 1), joint_name="slide")
    cart.link("pole", ap.Revolute(axis=(0, 1, 0)), parent="cart", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    linear = linearize(cart.build(), [0.3, 0.0], actuators=["slide"])
    assert linear.B.shape == (4, 1)
    M = np.array([[3.0, -0.5], [-0.5, 0.35]])
    np.testing.assert_allclose(linear.B[2:, 0], np.linalg.inv(M)[:, 0], rtol=1e-12)
    np.testing.assert_allclose(linear.A[2:, 1], -np.linalg.inv(M)[:, 1] * 9.81 * 0.5, rtol=1e-12)


def test_a_system_with_free_parameters_is_rejected():
    with pytest.raises(ap.ModelError, match="mechanism 'delta' has free inertial parameters: those of platform"):
        linearize(ap.load("delta").with_free("platform"), ap.load("delta").start)
