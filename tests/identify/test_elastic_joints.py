"""Identification of elastic joints on simulated hardware, with each set of sensors."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError, ModelError
from served_robots import ur5

PERIOD = 1e-3
STIFFNESS = (2e4, 2e4, 1.5e4, 5e3, 5e3, 4e3)
START = np.array([0.0, -1.2, 1.0, -0.5, 0.5, 0.3])
WEAK = "wrist_3_joint"  # moves 0.2 kg: its spring deflects by a few counts of the encoders only


class Excitation:
    """A periodic motion of all joints from rest, with frequencies up to 2.5 Hz."""

    duration = 8.0
    w = 2.0 * np.pi * np.array([0.25, 0.75, 1.5, 2.5])[:, None]
    size = np.random.default_rng(3).normal(size=(4, 6)) * np.array([0.5, 0.15, 0.05, 0.02])[:, None]

    def __call__(self, t):
        c, w, phase = self.size, self.w, self.w * np.asarray(t)[..., None, None]
        terms = c * (1 - np.cos(phase)), c * w * np.sin(phase), c * w**2 * np.cos(phase)
        q, v, a = (term.sum(-2) for term in terms)
        return START + q, v, a


@pytest.fixture(scope="module")
def arm():
    motor = ap.Actuator(gear=101.0, rotor_inertia=6e-5, friction=ap.Friction(viscous=3.0, coulomb=4.0))
    robot = ur5().with_actuators(lambda name, _: motor)
    springs = {name: ap.Elasticity(k, damping=5.0) for name, k in zip(robot.joint_names, STIFFNESS, strict=True)}
    return robot.with_elastic_joints(springs)


@pytest.fixture(scope="module")
def response(arm):
    """Return the response of a controller with a rigid model, which measures motors, on a plant with springs."""
    design = ap.control.Design(arm.rigid, ap.control.critical(15.0, PERIOD), period=PERIOD, torque_limit=np.inf)
    plant = ap.hardware.Plant(arm)
    plant.set_state(ap.Dynamics(arm).flat_state(START, *np.zeros((3, 6)))[0])
    reference = ap.hardware.Reference.sampled(Excitation(), PERIOD)
    return ap.hardware.closed_loop(ap.control.Controller(design), plant, reference)


def relative_errors(fit):
    return {joint.joint: joint.stiffness / k - 1.0 for joint, k in zip(fit.joints, STIFFNESS, strict=True)}


@pytest.mark.parametrize("torque_noise", [None, 0.1])
def test_a_link_encoder_gives_the_stiffness_within_five_percent(arm, response, torque_noise):
    record = response.measured(link_counts=2.0**19, torque_noise=torque_noise)
    fit = ap.identify.identify_elastic_joints(arm, record)
    errors = relative_errors(fit)
    for joint in fit.joints:
        if joint.passed:
            assert abs(errors[joint.joint]) < 0.05
            assert abs(joint.motor_inertia / arm.actuators[0].reflected_inertia - 1.0) < 0.05
    assert fit.passed
    assert fit.robot.drives["elbow_joint"].elasticity.stiffness == pytest.approx(1.5e4, rel=0.05)


def test_a_torque_sensor_alone_gives_the_stiffness_of_joints_that_pass_within_five_percent(arm, response):
    fit = ap.identify.identify_elastic_joints(arm, response.measured(torque_noise=0.02))
    errors, passed = relative_errors(fit), [joint.joint for joint in fit.joints if joint.passed]
    assert set(passed) == {*arm.joint_names} - {WEAK}
    assert all(abs(errors[name]) < 0.05 for name in passed)
    assert all(np.isfinite(joint.motor_inertia) for joint in fit.joints)
    assert all(("add a link encoder" in joint.sentence) != joint.passed for joint in fit.joints)


def test_noise_of_a_torque_sensor_that_hides_the_springs_is_part_of_their_deviation(arm, response):
    """At this band, noise of 0.1 N m changes two stiffnesses by more than 6 %: least squares alone does not show it."""
    fit = ap.identify.identify_elastic_joints(arm, response.measured(torque_noise=0.1), band=40.0)
    errors = relative_errors(fit)
    assert max(abs(errors[joint.joint]) for joint in fit.joints if joint.joint != WEAK) > 0.05
    for joint in fit.joints:
        assert not joint.passed
        assert abs(errors[joint.joint]) < 2.0 * joint.stiffness_std / joint.stiffness


def test_without_both_sensors_the_fit_is_refused_with_the_reason(arm, response):
    fit = ap.identify.identify_elastic_joints(arm, response.measured())
    assert not fit.passed
    for joint in fit.joints:
        assert np.isnan(joint.stiffness)
        assert "without a link encoder or a torque sensor" in joint.sentence
    assert fit.robot == arm
    assert "refused" in fit.to_markdown()


def test_deflections_within_the_noise_are_refused(arm, response):
    fit = ap.identify.identify_elastic_joints(arm, response.measured(link_counts=2.0**11), band=20.0)
    assert not any(joint.passed for joint in fit.joints if joint.joint == WEAK)
    assert all(
        abs(x) < 0.05 for name, x in relative_errors(fit).items() if name in [j.joint for j in fit.joints if j.passed]
    )


def test_hardening_and_damping_are_identified_from_exact_records():
    arm = ap.load("planar-2r").with_actuators(lambda name, _: ap.Actuator(gear=50.0, rotor_inertia=1e-4))
    arm = arm.with_elastic_joints(dict.fromkeys(arm.joint_names, ap.Elasticity(500.0, damping=0.5, hardening=2e5)))

    def push(t, q, v):
        return [20.0 * np.cos(q[0]) + 14.0 * np.sin(9.0 * t), 5.0 + 9.0 * np.sin(13.0 * t)]

    record = ap.simulate(arm, until=3.0, torque=push, t_eval=np.arange(0.0, 3.0, 1e-3))
    for joint in ap.identify.identify_elastic_joints(arm, record, band=60.0).joints:
        assert joint.passed
        np.testing.assert_allclose([joint.stiffness, joint.damping], [500.0, 0.5], rtol=0.02)
        assert joint.hardening == pytest.approx(2e5, rel=0.05)


def test_records_and_systems_that_do_not_fit_are_named(arm, response):
    record = response.measured()
    columns = [k for k, title in enumerate(record.columns) if title != "motor_elbow_joint"]
    less = ap.Record(tuple(record.columns[k] for k in columns), record.data[:, columns])
    with pytest.raises(ArgumentError, match="no column 'motor_elbow_joint'"):
        ap.identify.identify_elastic_joints(arm, less)
    with pytest.raises(ModelError, match="no elastic joints"):
        ap.identify.identify_elastic_joints(arm.rigid, record)


def test_an_arm_and_a_seed_on_which_nothing_was_chosen():
    """A small part of benchmarks/elastic_identification.py: a Kinova, whose light last link requires short steps."""
    path = Path(__file__).parents[2] / "benchmarks" / "elastic_identification.py"
    spec = importlib.util.spec_from_file_location("elastic_identification", path)
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    assert ap.hardware.Plant(benchmark.elastic_arm("kinova", np.random.default_rng(9))).spring_step < PERIOD
    result = benchmark.run("kinova", 9, {name: benchmark.SENSORS[name] for name in ("link encoders", "neither")})
    assert int(result["link encoders"]["passed"][0]) >= 5
    assert result["link encoders"]["largest error of those that pass, %"] < 5.0
    assert result["neither"]["passed"] == "0 of 6"


def test_the_simulated_arm_measures_its_motors(arm):
    clock = ap.hardware.VirtualClock()
    q = ap.Dynamics(arm).flat_state(START, *np.zeros((3, 6)))[0]
    with pytest.warns(ap.errors.LimitWarning):
        device = ap.hardware.SimulatedArm(arm, clock, q)
    state = ap.hardware.JointState(device.info)
    assert device.read(state)
    np.testing.assert_array_equal(state.q, q[6:])
