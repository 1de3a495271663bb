"""Forward kinematics of mechanisms by Newton's method, and its errors."""

from __future__ import annotations

import numpy as np
import pytest

from appell.describe.load import load
from appell.describe.zoo.mechanisms import MECHANISMS, agile_wrist, five_bar
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.kinematics.mechanisms import forward_kinematics


@pytest.mark.parametrize("name", [*MECHANISMS, "puma"])
def test_forward_kinematics_invert_the_actuator_positions(name):
    dyn = Dynamics(load(name))
    rng = np.random.default_rng(3)
    q = dyn.system.start + rng.uniform(-0.06, 0.06, (4, 25, dyn.system.nq))
    solution = forward_kinematics(dyn, dyn.actuator_positions(q))
    assert solution.shape == q.shape
    assert np.abs(solution - q).max() < 1e-9
    assert np.abs(forward_kinematics(dyn, dyn.actuator_positions(q[0, 0])) - q[0, 0]).max() < 1e-9


def test_every_sample_of_a_batch_has_its_own_start():
    wrist = Dynamics(agile_wrist())
    q = np.array([[0.3, 0.2, -0.1], [-0.6, 0.1, 0.4]])
    solution = forward_kinematics(wrist, wrist.actuator_positions(q), start=q + 0.05)
    assert np.abs(solution - q).max() < 1e-11


def test_actuator_positions_without_a_pose_are_nan_in_a_batch_and_an_error_otherwise():
    dyn = Dynamics(five_bar(base=0.6))
    unreachable = [np.pi - 0.1, 0.1]  # elbows 1.1 m apart, and the second links span 0.8 m
    theta = np.array([dyn.actuator_positions(dyn.system.home), unreachable])
    solution = forward_kinematics(dyn, theta)
    assert np.abs(solution[0] - dyn.system.home).max() < 1e-12
    assert np.isnan(solution[1]).all()
    with pytest.raises(ArgumentError, match="does not converge"):
        forward_kinematics(dyn, unreachable)


def test_a_start_out_of_reach_names_the_leg():
    with pytest.raises(ArgumentError, match="leg 'left' cannot reach"):
        forward_kinematics(Dynamics(five_bar()), [2.0, 1.0], start=[2.0, 2.0])


def test_wrong_shapes_are_named_errors():
    with pytest.raises(ArgumentError, match="theta has shape"):
        forward_kinematics(Dynamics(five_bar()), [1.0, 2.0, 3.0])
