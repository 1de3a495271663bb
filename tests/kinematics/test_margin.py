"""Inverse kinematics whose solutions keep a margin between collision shapes."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.describe.robot_packages import examples
from appell.describe.urdf.srdf import srdf_of
from appell.dynamics.margins import margin_of
from appell.errors import ArgumentError
from appell.kinematics.tasks import FrameTask

ELBOW = ap.Collision("lower", "sphere", (0.1,), name="elbow")


def test_the_other_elbow_is_taken_where_the_first_one_touches():
    robot = ap.load("planar-2r")
    q = np.array([0.8, -1.0])
    post = ap.Collision(None, "sphere", (0.1,), name="post", pose=[np.cos(0.8), np.sin(0.8), 0.0])
    robot = robot.with_collisions(ELBOW, post)
    solver = ap.kinematics.inverse.numerical(robot, [FrameTask("tool", rotation=0.0)])
    target = {"tool": ap.Dynamics(robot).pose("tool", q)}
    assert np.allclose(solver(target, start=q).q, q)
    solution = solver(target, start=q, margin=0.05)
    assert solution.reached
    assert solution.slack >= 0.0
    assert np.isclose(solution.q[1], 1.0)
    assert ap.collisions(robot, solution.q, margin=0.05).rows.size == 0
    with pytest.raises(ArgumentError, match="margin, in m, is -1"):
        solver(target, margin=-1.0)
    with pytest.raises(ArgumentError, match="has no collision shapes"):
        ap.kinematics.inverse.numerical(ap.load("planar-2r"), "tool")(np.eye(4), margin=0.1)


def test_a_target_that_only_touching_configurations_reach_is_not_reached():
    robot = ap.load("planar-2r")
    post = ap.Collision(None, "sphere", (0.2,), name="post", pose=[2.0, 0.0, 0.0])
    robot = robot.with_collisions(ap.Collision("lower", "sphere", (0.1,), name="tip", pose=[0.9, 0.0, 0.0]), post)
    solver = ap.kinematics.inverse.numerical(robot, [FrameTask("tool", rotation=0.0)])
    solution = solver({"tool": ap.Dynamics(robot).pose("tool", [0.05, -0.1])}, starts=5, margin=0.02)
    assert not solution.reached
    assert solution.slack < -0.02
    assert "reaches its target to" in str(solution)
    assert "nearer than their margin after 5 starts" in str(solution)


def test_solutions_for_a_ur5_keep_the_margin_on_its_meshes_by_coal():
    path, frame = examples().get("ur5_robot"), "ee_link"
    if path is None:
        pytest.skip("example-robot-data is not installed")
    robot = ap.with_srdf(ap.load(path), srdf_of(path))
    rng, margin = np.random.default_rng(3), margin_of(robot, 0.02)
    q = np.array([robot.random_configuration(rng) for _ in range(120)])
    q = q[(margin.slack(q) >= 0.0).all(axis=1)]
    poses = ap.Dynamics(robot).pose(frame)(q)
    solver = ap.kinematics.inverse.numerical(robot, frame)
    plain, kept = solver(poses), solver(poses, margin=0.02)
    assert plain.reached.all()
    assert kept.reached.mean() > 0.98
    near = [ap.collisions(robot, x.q, pairs=margin.pairs, margin=margin.least).rows for x in (plain, kept)]
    assert len(near[0]) > 0
    assert not set(near[1]) & set(np.flatnonzero(kept.reached))
    assert np.abs(ap.Dynamics(robot).pose(frame)(kept.q) - poses)[kept.reached].max() < 1e-9
