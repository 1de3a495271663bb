"""Locked joints and payloads, compared with reduced models of Pinocchio and with the full robot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from answers import answer
from appell.model.body import welded
from appell_lab.references.oracle import Oracle, relative_error, se3
from robots import random_body, random_tree
from systems import driven

EXACT = 1e-11


def locked_joints(robot, rng):
    """Positions of some joints, including leaders of mimic joints, and a q with these positions."""
    free = [link.joint for link in robot.moving]
    chosen = [joint for joint in free[:-1] if rng.random() < 0.5] or free[:1]
    q = robot.random_configuration(rng)
    return {joint.name: q[robot.span(joint)[0]].tolist() for joint in chosen}, q


def remaining(robot, positions, size):
    """Indices of the entries of q (0) or v (1) that remain."""
    spans = [robot.span(link.joint)[size] for link in robot.moving if link.joint.name not in positions]
    return np.concatenate([np.arange(span.start, span.stop) for span in spans])


@pytest.mark.parametrize("seed", range(6))
def test_a_robot_with_locked_joints_agrees_with_the_reduced_model_of_pinocchio(seed):
    rng = np.random.default_rng(seed)
    robot = random_tree(seed, 7, base=("fixed", "floating")[seed % 2])
    positions, q = locked_joints(robot, rng)
    small, full = robot.locked(positions), Oracle(robot)
    names = [link.joint.name for link in robot.links]
    removed = [name for name in names if name not in [link.joint.name for link in small.links]]
    assert set(positions) <= set(removed)
    ids = [full.model.getJointId(name) for name in removed]
    judge = Oracle(small, pin.buildReducedModel(full.model, ids, full.q(q)))
    at, (v, a) = q[remaining(robot, positions, 0)], rng.normal(size=(2, small.nv))
    dyn = ap.Dynamics(small)
    assert relative_error(answer(dyn.inverse_dynamics, at, v, a), judge.inverse_dynamics(at, v, a)) < EXACT
    assert relative_error(answer(dyn.mass_matrix, at), judge.mass_matrix(at)) < EXACT
    assert relative_error(answer(dyn.forward_dynamics, at, v, a), judge.forward_dynamics(at, v, a)) < 1e-9
    assert set(small.frame_names) == set(robot.frame_names)
    for frame in robot.frame_names[::3]:
        assert relative_error(answer(dyn.pose(frame), at), judge.pose(frame, at)) < EXACT
        np.testing.assert_allclose(answer(dyn.jacobian(frame), at), judge.jacobian(frame, at, "LOCAL"), atol=1e-11)


@pytest.mark.parametrize("seed", range(4))
def test_locking_joints_does_not_change_the_forces_at_others(seed):
    """Including drives with rotors, friction and springs; a locked joint has no drive."""
    rng = np.random.default_rng(seed)
    robot = driven(random_tree(seed + 20, 7, base=("fixed", "floating")[seed % 2]), seed)
    positions, q = locked_joints(robot, rng)
    small, rows = robot.locked(positions), remaining(robot, positions, 1)
    on = {"friction": True, "rotors": True}
    v, a = np.zeros((2, robot.nv))
    v[rows], a[rows] = rng.normal(size=(2, len(rows)))
    expected = answer(ap.Dynamics(robot, **on).inverse_dynamics, q, v, a)[rows]
    at = q[remaining(robot, positions, 0)]
    ours = answer(ap.Dynamics(small, **on).inverse_dynamics, at, v[rows], a[rows])
    assert relative_error(ours, expected) < EXACT


def test_joints_without_a_position_are_locked_at_the_start_configuration():
    robot = replace(ap.load("puma"), home=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6))
    small = robot.locked(["joint2", "joint5"])
    assert small.joint_names == ("joint1", "joint3", "joint4", "joint6")
    np.testing.assert_array_equal(small.start, [0.1, 0.3, 0.4, 0.6])
    assert small.joint("joint3").limits == robot.joint("joint3").limits
    assert small.joint("joint3").actuator == robot.joint("joint3").actuator
    q = small.start
    np.testing.assert_allclose(
        ap.Dynamics(small).pose("tool")(q), ap.Dynamics(robot).pose("tool")(robot.start), atol=1e-14
    )
    assert robot.locked("joint2") == robot.locked({"joint2": 0.2})


def test_free_parameters_of_a_locked_link_move_to_the_link_that_carries_it():
    robot = ap.load("puma").with_free("link3")
    assert robot.locked({"joint3": 0.0}).free == {"link2"}
    assert robot.locked({"joint1": 0.0, "joint2": 0.0, "joint3": 0.0}).free == set()


def test_joints_that_cannot_be_locked_are_named():
    arm = ap.Builder("r", root=None)
    arm.link("a", ap.Revolute(), mass=1.0, inertia=(1, 1, 1), joint_name="lead")
    arm.link("b", ap.Revolute(), parent="a", mass=1.0, inertia=(1, 1, 1), joint_name="follow", mimic="lead")
    robot = arm.build()
    with pytest.raises(ap.ModelError, match=r"(?s)joint 'follow' of robot 'r' mimics 'lead'.*Use 'lead'"):
        robot.locked(["follow"])
    with pytest.raises(ap.ModelError, match=r"no joint 'leed'\. Did you mean 'lead'"):
        robot.locked(["leed"])
    with pytest.raises(ap.ModelError, match="no moving joint"):
        robot.locked(["lead"])
    with pytest.raises(ap.ArgumentError, match=r"(?s)joint 'lead' of robot 'r' cannot be at \[1, 2\].*1 finite"):
        robot.locked({"lead": [1, 2]})
    with pytest.raises(ap.ModelError, match="the joints of mechanism 'delta' cannot be locked"):
        ap.load("delta").locked(["arm1"])


# ---- payloads


@pytest.mark.parametrize("seed", range(4))
def test_a_payload_agrees_with_a_body_appended_in_pinocchio(seed):
    rng = np.random.default_rng(seed)
    robot, body = random_tree(seed, 6, kinds=("revolute", "prismatic", "spherical")), random_body(rng)
    frame = robot.frames[0]
    loaded, judge = robot.with_payload(body, frame.name), Oracle(robot)
    inertia = pin.Inertia.FromDynamicParameters(np.array(body.parameters))
    judge.model.appendBodyToJoint(judge.ids[frame.body], inertia, se3(pin, frame.pose))
    judge.data = judge.model.createData()
    q, (v, a) = robot.random_configuration(rng), rng.normal(size=(2, robot.nv))
    assert relative_error(ap.Dynamics(loaded).inverse_dynamics(q, v, a), judge.inverse_dynamics(q, v, a)) < EXACT
    assert loaded.mass == pytest.approx(robot.mass + body.mass, rel=1e-14)
    assert loaded.bodies[frame.body].mass == pytest.approx(robot.bodies[frame.body].mass + body.mass, rel=1e-14)


@pytest.mark.parametrize("name", ["puma", "delta", "stewart-gough"])
def test_the_weight_of_a_payload_acts_at_its_centre_of_mass(name):
    """Virtual work m g·ṗ of this point, for trees and mechanisms."""
    system, com = ap.load(name), np.array([0.01, -0.02, 0.03])
    frame = system.frame_names[-1]
    q = system.start + 0.02
    dyn, loaded = ap.Dynamics(system), ap.Dynamics(system.with_payload(2.0, frame, com=com))
    J, R = dyn.jacobian(frame, "LOCAL_WORLD_ALIGNED")(q), dyn.pose(frame)(q)[:3, :3]
    point = J[:3] - np.cross(R @ com, J[3:].T).T
    np.testing.assert_allclose(loaded.gravity(q) - dyn.gravity(q), 2.0 * 9.81 * point[2], atol=1e-10)


def test_a_slender_body_keeps_its_small_moment_with_a_payload():
    """Combining bodies about their centres of mass loses no digits of small moments."""
    rod = ap.Builder("r", root=None)
    rod.link("rod", ap.Revolute(axis=(1, 0, 0)), mass=1.0, inertia=(1e-9, 1e3, 1e3))
    pebble = ap.Body.from_parameters((1.0, 0.0, 0.0, 0.0, 1e-9, 0.0, 1e-9, 0.0, 0.0, 1e-9))
    loaded = rod.build().with_payload(pebble)
    assert loaded.bodies["rod"].inertia[0, 0] == pytest.approx(2e-9, rel=1e-12)


@pytest.mark.parametrize("load", [0.0, -1.0, np.nan, np.inf, "2", None])
def test_an_invalid_payload_is_rejected(load):
    with pytest.raises(ap.ArgumentError, match="expected  a Body, or a positive mass"):
        ap.load("puma").with_payload(load, "tool")


def test_a_payload_on_the_world_or_on_a_body_with_free_parameters_is_rejected():
    with pytest.raises(ap.ModelError, match="does not move"):
        ap.load("puma").with_payload(1.0, ap.load("puma").frames[0].name)
    with pytest.raises(ap.ModelError, match="body 'link6' of robot 'puma' cannot carry a load"):
        ap.load("puma").with_free().with_payload(1.0, "tool")


def test_the_inertias_of_combined_bodies_without_mass_add_up():
    rotors = ap.Body(0.0, (0, 0, 0), (1, 2, 3)), ap.Body(0.0, (1, 0, 0), (1, 1, 1))
    body = welded(*rotors)
    assert (body.mass, body.inertia.upper) == (0.0, (2.0, 0.0, 0.0, 3.0, 0.0, 4.0))
