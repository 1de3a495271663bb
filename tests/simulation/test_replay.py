"""Simulation from torques: the robot follows the line that its torques were computed for."""

from __future__ import annotations

import numpy as np
import pytest

from appell import ArgumentError, Dynamics, load
from appell.motion import CartesianLine, Spline, zyz
from appell_lab.papers.open_loop import METHODS, frame_motion, replay


def provenzano_line():
    return CartesianLine(
        load("puma"), "tool", [0.6, 0.175, 0.25], [0.244, 0.527, 0.25], zyz(45, 60, 90), 5.0, (1, 1, 1)
    )


def test_every_method_follows_the_line_and_they_agree():
    line, robot = provenzano_line(), load("puma")
    runs = {method: replay(line, robot, method) for method in METHODS}
    for run in runs.values():
        assert run.tool_errors[0].max() <= 1e-5
        assert run.evaluations == runs["GA"].evaluations
        for key in "qva":
            assert np.abs(run.simulated[key] - runs["GA"].simulated[key]).max() < 1e-8
    q = runs["GA"].joint_errors[0]
    assert q.shape == (501, 6)
    assert q[0].max() < 1e-14
    assert 0.0 < q[-1].max() < 1e-4


def test_sampled_torques_lose_the_line_and_held_ones_sooner():
    line, robot = provenzano_line(), load("puma")
    errors = {feed: replay(line, robot, feed=feed).tool_errors[0] for feed in ("continuous", "interpolated", "held")}
    at_one_second = {feed: error[100] for feed, error in errors.items()}
    assert at_one_second["continuous"] < 1e-8 < at_one_second["interpolated"] < 1e-3 < at_one_second["held"]
    finer = replay(line, robot, feed="interpolated", interval=0.01).tool_errors[0]
    assert finer[100] < 0.02 * at_one_second["interpolated"]  # second order in the interval


def test_without_intervals_the_error_is_the_integrators_and_within_three_times_the_printed_one():
    """The open loop multiplies every error by about 1e5, so that the error follows the tolerance and nothing else."""
    coarse, finer = (replay(provenzano_line(), load("puma"), interval=None, rtol=x, atol=x) for x in (1e-6, 1e-8))
    error = coarse.tool_errors[0].max()
    assert 2.24e-3 / 3 < error < 2.24e-3 * 3  # printed: 2.24e-3 m, of another integrator of the same order
    assert coarse.evaluations < 200
    assert finer.tool_errors[0].max() < 0.05 * error  # a hundredth of the tolerance


def test_the_motion_of_the_tool_is_that_of_the_line():
    line, robot = provenzano_line(), load("puma")
    t = line.times(31)
    p, v, a = frame_motion(Dynamics(robot), "tool", line(t))
    np.testing.assert_allclose(p, line.pose(t)[:, :3, 3], atol=1e-13)
    np.testing.assert_allclose(
        v, np.tile((np.array([0.244, 0.527, 0.25]) - [0.6, 0.175, 0.25]) / 5.0, (31, 1)), atol=1e-13
    )
    np.testing.assert_allclose(a, np.zeros((31, 3)), atol=1e-13)


def test_any_path_of_any_robot_can_be_replayed():
    robot = load("panda")
    rng = np.random.default_rng(1)
    path = Spline([0.0, 0.5, 1.0], robot.start + rng.uniform(-0.2, 0.2, (3, 7)), 5, robot.joint_names)
    assert replay(path, robot, "gibbs-appell").tool_errors[0].max() < 1e-5


def test_wrong_arguments_are_named():
    line, robot = provenzano_line(), load("puma")
    for problem, options in {
        "no feed 'heldd'": {"feed": "heldd"},
        "interval is 0 s": {"interval": 0.0},
        "held forces need an interval": {"feed": "held", "interval": None},
        "no formulation 'GAH'": {"method": "GAH"},
    }.items():
        with pytest.raises(ArgumentError, match=problem):
            replay(line, robot, **options)
