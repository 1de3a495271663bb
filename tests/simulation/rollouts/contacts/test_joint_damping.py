"""Viscous friction of joints in moreau: small inertias with strong friction, against `simulate`."""

from __future__ import annotations

import warnings
from itertools import pairwise

import numpy as np
import pytest

import appell as ap
from appell.describe.robot_packages import examples


def driven(robot, end, dt, torque):
    """The configurations at the end by `simulate`, and by moreau with steps dt."""
    steps = round(end / dt)
    solver = ap.Solver(rtol=1e-9, atol=1e-11)
    exact = ap.simulate(robot, robot.start, until=end, torque=lambda t, q, v: torque(t), solver=solver)
    held = np.array([torque((k + 0.5) * dt) for k in range(steps)])
    records = ap.rollout(robot, robot.start, torque=held, dt=dt, steps=steps, method="moreau")
    return exact.q[-1], records["q"][0, -1]


@pytest.mark.parametrize("name", ["z1", "xarm7", "allegro_right_hand"])
def test_hands_and_wrists_with_strong_friction_follow_the_exact_motion(name):
    """Their joints lose speed with 3,600 to 1,770,000 per second; explicit steps of 1 ms are unstable above 2,000."""
    if name not in examples():
        pytest.skip("example-robot-data is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ap.ModelWarning)
        robot = ap.load(examples()[name], physical=False)
    limit = np.where(np.isfinite(robot.limits.torque), robot.limits.torque, 10.0)
    exact, q = driven(robot, 0.2, 1e-3, lambda t: 0.5 * limit * np.sin(3.0 * t + np.arange(robot.nu)))
    assert np.abs(exact - robot.start).max() > 0.1
    np.testing.assert_allclose(q, exact, atol=1e-3)


def test_the_error_with_viscous_friction_is_of_second_order():
    robot = ap.load("planar-2r").with_actuators(
        {name: {"friction": ap.Friction(viscous=8.0)} for name in ap.load("planar-2r").joint_names}
    )
    errors = []
    for dt in (4e-3, 2e-3, 1e-3):
        exact, q = driven(robot, 0.4, dt, lambda t: np.array([3.0 * np.cos(5.0 * t), 1.0]))
        errors.append(np.abs(q - exact).max())
    assert errors[2] < 1e-5
    assert all(3.5 < a / b < 4.5 for a, b in pairwise(errors))


def test_friction_that_is_implicit_causes_no_warning_but_gains_do():
    robot = ap.load("pendulum").with_actuators({"hinge": {"friction": ap.Friction(viscous=1e4)}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        records = ap.rollout(robot, [0.5], steps=100, dt=1e-2, method="moreau")
    assert 0.4 < records.q[0, -1, 0] < 0.5
    with pytest.warns(ap.StepWarning, match="damping is too strong"):
        ap.rollout(robot, [0.5], steps=1, dt=1e-2, method="moreau", law=lambda t, q, v: [-1e4 * v[0]])
    with pytest.warns(ap.StepWarning, match="method='moreau'"):
        ap.rollout(robot, [0.5], steps=1, dt=1e-2, method="rk4")
