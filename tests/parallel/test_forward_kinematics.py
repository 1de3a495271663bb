"""Newton's method back from actuators to poses, and what it says when it fails."""

from __future__ import annotations

import numpy as np
import pytest

from appell.errors import ArgumentError
from appell.parallel import READY_MADE, agile_wrist, five_bar


@pytest.mark.parametrize("name", list(READY_MADE))
def test_forward_kinematics_undo_inverse_kinematics(name):
    mechanism = READY_MADE[name]()
    rng = np.random.default_rng(3)
    q = mechanism.robot.start + rng.uniform(-0.06, 0.06, (4, 25, mechanism.robot.nq))
    found = mechanism.forward_kinematics(mechanism.inverse_kinematics(q))
    assert found.shape == q.shape
    assert np.abs(found - q).max() < 1e-9
    assert np.abs(mechanism.forward_kinematics(mechanism.inverse_kinematics(q[0, 0])) - q[0, 0]).max() < 1e-9


def test_every_start_of_a_batch_is_its_own():
    wrist = agile_wrist()
    q = np.array([[0.3, 0.2, -0.1], [-0.6, 0.1, 0.4]])
    found = wrist.forward_kinematics(wrist.inverse_kinematics(q), start=q + 0.05)
    assert np.abs(found - q).max() < 1e-11


def test_actuators_without_a_pose_are_nan_in_a_batch_and_an_error_alone():
    apart = five_bar(base=0.6)
    none = [np.pi - 0.1, 0.1]  # elbows 1.1 m apart, and the second links span 0.8 m
    theta = np.array([apart.inverse_kinematics(apart.robot.home), none])
    found = apart.forward_kinematics(theta)
    assert np.abs(found[0] - apart.robot.home).max() < 1e-12
    assert np.isnan(found[1]).all()
    with pytest.raises(ArgumentError, match="does not arrive"):
        apart.forward_kinematics(none)


def test_a_start_out_of_reach_names_the_leg():
    with pytest.raises(ArgumentError, match="leg 'left' cannot reach"):
        five_bar().forward_kinematics([2.0, 1.0], start=[2.0, 2.0])


def test_wrong_shapes_are_named():
    with pytest.raises(ArgumentError, match="theta has shape"):
        five_bar().forward_kinematics([1.0, 2.0, 3.0])
