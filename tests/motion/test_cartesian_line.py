"""Straight lines: the papers' motions against the reference, derivatives that are exact, and invalid lines."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from appell import DH, ArgumentError, Dynamics, ModelError, SimulationError, from_dh, load
from appell.model.limits import Limits
from appell.motion import CartesianLine, zyz

REFERENCE = json.loads((Path(__file__).parents[1] / "references" / "puma_straight_lines.json").read_text())
RIGHT = np.pi / 2


def paper_line(name: str, configuration=(1, 1, 1)) -> CartesianLine:
    data = REFERENCE[name]
    return CartesianLine(load("puma"), "tool", data["p0"], data["p1"], zyz(*data["zyz_deg"]), data["T"], configuration)


def assert_derivatives(trajectory, t, tolerance=1e-6):
    """v and a against central differences; step 1e-5 leaves a relative 1e-10 of the third derivative, and rounding."""
    h = 1e-5
    _, v, a = trajectory(t)
    before, after = trajectory(t - h), trajectory(t + h)
    np.testing.assert_allclose((after[0] - before[0]) / (2 * h), v, atol=tolerance)
    np.testing.assert_allclose((after[1] - before[1]) / (2 * h), a, atol=tolerance)


@pytest.mark.parametrize("name", ["000", "002"])
def test_joints_and_torques_along_the_papers_lines_are_those_of_the_reference(name):
    rows = REFERENCE[name]["tool_0"]["rows"]
    q, v, a = paper_line(name)([row["t"] for row in rows])
    tau = Dynamics(load("puma")).inverse_dynamics(q, v, a)
    for ours, key in ((q, "q"), (v, "qd"), (a, "qdd"), (tau, "tau")):
        np.testing.assert_allclose(ours, [row[key] for row in rows], rtol=0, atol=1e-12)


@pytest.mark.parametrize("configuration", [(1, 1, 1), (1, -1, -1), (-1, 1, 1), (-1, -1, 1)])
def test_the_line_is_straight_in_every_configuration(configuration):
    line = paper_line("000", configuration)
    t = line.times(101)
    q = line(t)[0]
    np.testing.assert_allclose(Dynamics(line.robot).pose("tool")(q), line.pose(t), atol=1e-13)
    assert np.abs(np.diff(q, axis=0)).max() < 0.2  # no jump where an angle passes half a turn
    assert_derivatives(line, np.linspace(0.1, 4.9, 7))


def test_a_line_that_passes_half_a_turn_continues():
    line = paper_line("002")
    q = line(line.times())[0]
    assert q[:, 2].max() > np.pi
    assert_derivatives(line, np.linspace(0.1, 8.5, 9))


def test_following_from_a_start_gives_the_closed_form_line():
    closed = paper_line("000")
    followed = paper_line("000", closed(0.0)[0] + 0.02)
    t = closed.times(41)
    for ours, theirs in zip(followed(t), closed(t), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_a_turning_frame_and_a_redundant_arm_have_exact_derivatives():
    robot = load("panda")
    T = Dynamics(robot).pose("tool")(robot.start)
    R, p = T[:3, :3], T[:3, 3]
    line = CartesianLine(robot, "tool", p, p + np.array([0.1, 0.2, -0.1]), (R, R @ zyz(10, 20, 30)), 2.0)
    t = line.times(21)
    q, v, _ = line(t)
    np.testing.assert_allclose(Dynamics(robot).pose("tool")(q), line.pose(t), atol=1e-13)
    np.testing.assert_allclose(line.pose(2.0)[:3, :3], R @ zyz(10, 20, 30), atol=1e-14)
    assert_derivatives(line, np.linspace(0.05, 1.95, 9))
    J = Dynamics(robot).jacobian("tool")(q)
    idle = np.linalg.svd(J)[2][:, -1]
    assert np.abs(np.einsum("ti,ti->t", idle, v)).max() < 1e-12  # least velocity: nothing in the null space


def test_times_have_any_shape_and_stay_inside():
    line = paper_line("000")
    q, v, a = line(2.5)
    assert q.shape == v.shape == a.shape == (6,)
    assert line(np.ones((2, 3)))[0].shape == (2, 3, 6)
    for t in (-0.1, 5.1, np.nan):
        with pytest.raises(ArgumentError, match="0 ≤ t ≤ 5 s"):
            line(t)


def test_a_line_out_of_reach_names_the_time_and_the_joint():
    robot = load("puma")
    with pytest.raises(SimulationError, match=r"at t = 1\.8847 s: joint 'joint3' .* 0\.6279 m out of reach"):
        CartesianLine(robot, "tool", [0.5, 0, 0.05], [1.5, 0, 0.05], zyz(0, 90, 180), 5.0, (1, 1, 1))
    with pytest.raises(SimulationError, match=r"at t = 0 s: frame 'tool' misses its target by"):
        CartesianLine(robot, "tool", [1.5, 0, 0.05], [0.5, 0, 0.05], zyz(0, 90, 180), 5.0, np.zeros(6))


def through_a_straight_wrist():
    """Ends of a line in whose middle q5 = 0."""
    robot = load("puma")
    middle = Dynamics(robot).pose("tool")([0.2, -0.6, 2.6, 0.0, 0.0, 0.0])
    across = np.array([0.03, 0.0, 0.05])
    return robot, middle[:3, 3] - across, middle[:3, 3] + across, middle[:3, :3]


def test_a_line_that_would_flip_the_wrist_names_the_time_and_the_joint():
    robot, start, end, R = through_a_straight_wrist()
    with pytest.raises(SimulationError, match=r"at t = (1|0\.99999\d) s: joint 'joint[46]' would have to flip"):
        CartesianLine(robot, "tool", start, end, R, 2.0, (1, 1, 1))


def test_a_path_that_starts_singular_names_the_joint():
    robot, start, end, R = through_a_straight_wrist()
    with pytest.raises(SimulationError, match=r"singular at t = 0 s: there joint 'joint[46]'"):
        CartesianLine(robot, "tool", 0.5 * (start + end), end, R, 2.0, (1, 1, 1))


def test_a_line_that_a_redundant_arm_cannot_follow_names_the_time():
    robot = load("panda")
    T = Dynamics(robot).pose("tool")(robot.start)
    with pytest.raises(
        SimulationError, match=r"cannot be followed beyond t = 1\.\d+ s: there frame 'tool' .* joint 'joint"
    ):
        CartesianLine(robot, "tool", [0.5, 0, 0.4], [1.5, 0, 0.4], T[:3, :3], 5.0)


def test_limits_are_kept_by_full_turns_or_the_joint_is_named():
    def puma(limits):
        rows = [DH(), DH(-RIGHT), DH(0, 0.432, 0.15), DH(RIGHT, -0.02, 0.433, limits=limits), DH(-RIGHT), DH(RIGHT)]
        return from_dh(rows)

    data = REFERENCE["000"]
    line = (data["p0"], data["p1"], zyz(*data["zyz_deg"]), 5.0, (1, 1, 1))
    turned = CartesianLine(puma(Limits(-6.0, 0.0)), "tool", *line)
    np.testing.assert_allclose(turned(0.0)[0][3], data["tool_0"]["rows"][0]["q"][3] - 2 * np.pi, atol=1e-12)
    with pytest.raises(SimulationError, match=r"joint 'joint4' .* leaves its limits at t = 2\.\d+ s"):
        CartesianLine(puma(Limits(0.0, 2.8)), "tool", *line)


@pytest.mark.warns("massless")
def test_wrong_lines_are_refused_before_anything_is_computed():
    robot = load("puma")
    start, end, R = [0.6, 0.175, 0.25], [0.244, 0.527, 0.25], zyz(45, 60, 90)
    for problem, arguments in {
        "duration is 0 s": (robot, "tool", start, end, R, 0.0),
        "duration is nan s": (robot, "tool", start, end, R, np.nan),
        "start of the line is": (robot, "tool", [0.6, 0.2], end, R, 5.0),
        "end of the line is": (robot, "tool", start, [np.inf, 0, 0], R, 5.0),
        "orientation has shape": (robot, "tool", start, end, np.eye(4), 5.0),
        "block of orientation differs": (robot, "tool", start, end, 2 * R, 5.0),
        r"configuration \(1, 0, 1\) does not exist": (robot, "tool", start, end, R, 5.0, (1, 0, 1)),
        r"configuration has shape \(4,\)": (robot, "tool", start, end, R, 5.0, (1, 1, 1, 1)),
    }.items():
        with pytest.raises(ArgumentError, match=problem):
            CartesianLine(*arguments)
    with pytest.raises(ModelError, match="no frame 'hand'"):
        CartesianLine(robot, "hand", start, end, R, 5.0)
    with pytest.raises(ModelError, match="no closed-form inverse"):
        CartesianLine(load("panda"), "tool", start, end, R, 5.0, (1, 1, 1))
    floating = load("puma", base="floating")
    with pytest.raises(ModelError, match="is floating"):
        CartesianLine(floating, "tool", start, end, R, 5.0)
