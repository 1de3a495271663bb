"""Configurations of any system: limits, random configurations, integration and differences."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from appell_lab.references.oracle import Oracle
from robots import random_tree, random_trees


def test_limits_are_arrays_in_the_order_of_q_and_tau():
    limits = ap.load("panda").limits
    assert limits.lower.shape == limits.upper.shape == (ap.load("panda").nq,)
    assert limits.speed.shape == limits.torque.shape == (ap.load("panda").nu,)
    joint = ap.load("panda").joint("panda_joint4") if "panda_joint4" in ap.load("panda").joint_names else None
    first = ap.load("panda").joint(ap.load("panda").joint_names[0])
    assert limits.lower[0] == first.limits.lower
    assert limits.torque[0] == first.actuator.torque
    assert joint is None or limits.upper[3] == joint.limits.upper
    assert "lower" in str(limits)


@pytest.mark.warns("massless")
def test_unknown_limits_are_infinite():
    limits = ap.load("puma", base="floating").limits
    np.testing.assert_array_equal(limits.upper[:7], np.inf)
    np.testing.assert_array_equal(limits.lower[:7], -np.inf)
    np.testing.assert_array_equal(limits.torque[:6], np.inf)
    assert limits.coordinate_names[3] == "root_joint_qx"


def test_a_mechanism_has_limits():
    delta = ap.load("delta")
    np.testing.assert_array_equal(delta.limits.lower, [low for low, _ in delta.ranges])
    assert delta.limits.torque.shape == (3,)
    assert delta.limits.contain(delta.start)
    assert not delta.limits.contain(delta.start + 10.0)


@pytest.mark.parametrize("name", ap.zoo_names())
def test_random_configurations_are_within_the_limits_and_reproducible(name):
    system = ap.load(name)
    samples = np.array([system.random_configuration() for _ in range(20)])
    assert system.limits.contain(samples).all()
    assert np.ptp(samples, axis=0).min() > 0.0
    np.testing.assert_array_equal(system.random_configuration(7), system.random_configuration(np.random.default_rng(7)))


@pytest.mark.parametrize("limits", [(0.5, 0.7), (2.0, None), (None, -5.0)])
@pytest.mark.parametrize("kind", [ap.Revolute, ap.Prismatic])
def test_random_positions_of_a_joint_with_one_limit_are_near_it(kind, limits):
    arm = ap.Builder("r", root=None)
    arm.link("a", kind(), mass=1.0, inertia=(1, 1, 1), limits=limits)
    robot = arm.build()
    samples = np.array([robot.random_configuration(seed) for seed in range(50)])
    assert robot.limits.contain(samples).all()
    assert 0.1 < np.ptp(samples) < 7.0


@pytest.mark.parametrize("robot", random_trees(8, 8, first_seed=40), ids=str)
def test_the_difference_undoes_integration(robot):
    rng = np.random.default_rng(3)
    q0, q1 = (np.array([robot.random_configuration(rng) for _ in range(5)]) for _ in range(2))
    reached = robot.integrate(q0, robot.difference(q0, q1))
    dyn = ap.Dynamics(robot)
    for frame in robot.frame_names[-2:]:
        np.testing.assert_allclose(dyn.pose(frame)(reached), dyn.pose(frame)(q1), atol=1e-12)
    step = rng.uniform(-1.0, 1.0, (5, robot.nv))
    np.testing.assert_allclose(robot.difference(q0, robot.integrate(q0, step)), step, atol=1e-12)
    one = robot.difference(q0[0], q1)
    np.testing.assert_allclose(one, [robot.difference(q0[0], q) for q in q1], atol=1e-13)


@pytest.mark.parametrize("seed", range(6))
def test_the_difference_agrees_with_pinocchio(seed):
    robot = random_tree(seed, 6, base=("floating", "planar", "spherical")[seed % 3])
    judge, rng = Oracle(robot), np.random.default_rng(seed)
    q0, q1 = robot.random_configuration(rng), robot.random_configuration(rng)
    theirs = pin.difference(judge.model, judge.q(q0), judge.q(q1))
    np.testing.assert_allclose(judge.G @ robot.difference(q0, q1), theirs, atol=1e-11)


@pytest.mark.warns("massless")
def test_differences_of_tiny_and_half_rotations_are_accurate():
    body = ap.load("puma", base="floating")
    for size in (1e-12, 1e-6, 1e-3, 3.0, np.pi - 1e-9):
        step = np.zeros(body.nv)
        step[:6] = [0.3, -0.2, 0.1, *(size * np.array([2.0, -1.0, 2.0]) / 3.0)]
        q = body.random_configuration(1)
        np.testing.assert_allclose(body.difference(q, body.integrate(q, step))[:6], step[:6], rtol=1e-7, atol=1e-15)


@pytest.mark.warns("massless")
@pytest.mark.parametrize("size", [1e-200, 3.0, 1e200])
def test_the_length_of_a_quaternion_has_no_effect(size):
    robot = ap.load("puma", base="floating")
    q, step = robot.random_configuration(1), np.linspace(-1.0, 1.0, robot.nv)
    scaled = q * np.where([3 <= k < 7 for k in range(robot.nq)], size, 1.0)
    np.testing.assert_allclose(robot.integrate(scaled, step), robot.integrate(q, step), atol=1e-14)
    np.testing.assert_allclose(robot.difference(scaled, robot.integrate(q, step)), step, atol=1e-12)


def test_differences_of_a_mechanism_are_those_of_its_coordinates():
    delta = ap.load("delta")
    q = np.array([delta.random_configuration(seed) for seed in range(3)])
    np.testing.assert_array_equal(delta.difference(delta.start, q), q - delta.start)
    with pytest.raises(ap.ArgumentError, match="q1 has shape"):
        delta.difference(q, [0.0])
