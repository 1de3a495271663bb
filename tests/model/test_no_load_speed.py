"""Torque limits that fall with the speed: files, simulation, rollouts, controllers, environments and the cabinet."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.hardware import wiring_of
from appell.model.actuator import Actuator

MOTOR = {"torque": 8.0, "no_load_speed": 2.0}


def arm():
    return ap.load("planar-2r").with_gravity([0.0, 0.0, 0.0]).with_actuators({"shoulder": MOTOR})


def available(v):
    """The torques of the shoulder that (4) of `model.actuator` permits."""
    return -8.0 * np.clip(1.0 + v / 2.0, 0.0, 1.0), 8.0 * np.clip(1.0 - v / 2.0, 0.0, 1.0)


def test_the_torque_falls_in_the_direction_of_motion_only():
    motor = Actuator(**MOTOR)
    assert [motor.limited(100.0, v, 8.0) for v in (-1.0, 0.0, 1.0, 2.0, 3.0)] == [8.0, 8.0, 4.0, 0.0, 0.0]
    assert [motor.limited(-100.0, v, 8.0) for v in (-3.0, -1.0, 0.0, 1.0)] == [0.0, -4.0, -8.0, -8.0]
    assert motor.limited(100.0, 5.0, np.inf) == 100.0
    assert motor.limited(3.0, 1.0, 8.0) == 3.0


@pytest.mark.parametrize(
    ("fields", "flaw"),
    [
        ({"torque": 8.0, "no_load_speed": 0.0}, "no-load speed 0, at which it has no torque"),
        ({"torque": 8.0, "no_load_speed": -1.0}, "no load speed -1, which is negative"),
        ({"no_load_speed": 2.0}, "no-load speed 2, but no torque limit"),
        ({"torque": 8.0, "no_load_speed": 10**400}, "no load speed beyond the range of floats"),
    ],
)
def test_impossible_no_load_speeds_are_refused_by_name(fields, flaw):
    with pytest.raises(ap.ModelError, match=flaw):
        ap.load("planar-2r").with_actuators({"shoulder": fields})


def test_files_keep_the_no_load_speed_or_name_its_loss(tmp_path):
    robot = arm()
    ap.to_toml(robot, tmp_path / "arm.toml")
    assert ap.load(tmp_path / "arm.toml").actuators[0].no_load_speed == 2.0
    with pytest.warns(ap.ModelWarning, match="URDF cannot express these values.*no_load_speed|no load speed 2"):
        ap.to_urdf(robot, tmp_path / "arm.urdf")
    assert ap.load(tmp_path / "arm.urdf").actuators[0].no_load_speed == 2.0
    with pytest.warns(ap.ModelWarning, match="MJCF cannot express.*no load speed 2 of joint 'shoulder'"):
        ap.to_mjcf(robot, tmp_path / "arm.xml")


def test_constant_sampled_and_continuous_torques_are_limited_alike():
    robot, start = arm(), {"q0": [0.3, -0.4], "v0": [0.0, 0.0]}
    torques = [[50.0, 0.0], lambda t, q, v: [50.0, 0.0], ap.Sampled(lambda t, q, v: [50.0, 0.0], period=0.02)]
    options = {"until": 0.4, "saturate": True, "t_eval": np.linspace(0.0, 0.4, 21)}
    records = [ap.simulate(robot, torque=torque, **start, **options) for torque in torques]
    lower, upper = available(records[0].v[:, 0])
    np.testing.assert_allclose(records[0].tau[:, 0], np.clip(50.0, lower, upper), atol=1e-9)
    assert records[0].tau[-1, 0] < 6.0
    for record in records[1:]:
        np.testing.assert_allclose(record.q, records[0].q, atol=1e-8)
    batch = ap.rollout(robot, [[0.3, -0.4]], [[0.0, 0.0]], steps=400, dt=1e-3, torque=[50.0, 0.0], saturate=True)
    np.testing.assert_allclose(np.asarray(batch.q)[0, -1], records[0].q[-1], atol=1e-6)


def test_a_controller_and_an_environment_limit_torques_by_the_speed():
    robot = arm()
    design = ap.control.Design(robot, ap.control.critical(20.0, period=1e-3), law="tracking")
    controller = ap.control.Controller(design)
    target = np.array([2.0, 0.0]), np.zeros(2), np.zeros(2)
    for speed in (0.0, 1.0, 1.9):
        controller.reset()
        tau = controller(np.zeros(2), np.array([speed, 0.0]), target)
        assert tau[0] == pytest.approx(available(speed)[1])
    env = ap.gym_env(robot, lambda t, q, v, tau: tau[0], reset=lambda rng: ([0.0, 0.0], [1.0, 0.0]), substeps=1)
    env.reset(seed=0)
    assert env.step(np.array([8.0]))[1] == pytest.approx(available(1.0)[1], rel=0.02)  # the speed changes in the step


def test_the_generic_cabinet_has_the_voltage_of_the_no_load_speed():
    channel = wiring_of(arm()).channels[0]
    for speed in (0.0, 0.5, 1.5):
        amps = (channel.supply - channel.torque_per_ampere * speed) / channel.resistance
        assert amps * channel.torque_per_ampere == pytest.approx(available(speed)[1])
