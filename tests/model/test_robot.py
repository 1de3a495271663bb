"""Interface of a robot: coordinates, names, configurations and variations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from appell.algebra.vector import Vec3
from appell.describe.load import load
from appell.errors import ArgumentError, ModelError, ModelWarning
from appell.model.actuator import Actuator, Friction
from appell.model.frame import Frame
from appell.model.joints import Floating, Prismatic, Revolute
from appell.model.robot import Joint, Link, Mimic, Robot
from robots import random_body, random_motion, random_tree, random_trees

BODY = random_body(np.random.default_rng(0))


def hand() -> Robot:
    links = (
        Link("ship", None, Joint("sea", Floating()), BODY),
        Link("arm", "ship", Joint("shoulder", Revolute()), BODY),
        Link("left", "arm", Joint("left", Prismatic(), mimic=Mimic("right", -2.0, 0.5)), BODY),
        Link("right", "arm", Joint("right", Prismatic()), BODY),
    )
    return Robot("hand", links, (Frame("tip", "left"),))


def test_coordinates_are_in_the_order_of_the_links_and_mimic_joints_have_none():
    robot = hand()
    assert (robot.nq, robot.nv) == (9, 8)
    assert robot.joint_names == ("sea", "shoulder", "right")
    assert robot.span(robot.joint("right")) == (slice(8, 9), slice(7, 8))
    assert robot.span(robot.joint("left")) == robot.span(robot.joint("right"))


def test_a_mimic_follows_its_leader():
    robot = hand()
    q, v = np.arange(9.0), np.arange(8.0)
    assert robot.joint_position(robot.joint("left"), q) == [-2.0 * 8.0 + 0.5]
    assert robot.joint_velocity(robot.joint("left"), v) == [-2.0 * 7.0]


def test_links_and_frames_are_found_by_name_and_unknown_names_are_rejected():
    robot = hand()
    assert robot.frame_names == ("ship", "arm", "left", "right", "tip")
    assert robot.frame("arm") == Frame("arm", "arm")
    for find, kind in ((robot.link, "link"), (robot.joint, "joint"), (robot.frame, "frame")):
        with pytest.raises(ModelError, match=f"robot 'hand' has no {kind} 'rigt'. Did you mean 'right'"):
            find("rigt")


def test_the_text_of_a_robot_is_one_line():
    assert str(load("puma")) == "puma (6 links, nq=6, nv=6)"
    assert repr(load("puma")) == "<Robot puma (6 links, nq=6, nv=6)>"


def test_the_start_is_home_or_the_neutral_configuration():
    assert load("pendulum").start == pytest.approx(np.pi / 4)
    np.testing.assert_array_equal(hand().start, [0, 0, 0, 0, 0, 0, 1, 0, 0])


@pytest.mark.parametrize("robot", random_trees(6), ids=str)
def test_integrating_forth_and_back_returns(robot):
    q, v, _ = random_motion(robot, np.random.default_rng(0))
    moved = robot.integrate(q, v)
    assert moved.shape == (robot.nq,)
    back = robot.integrate(moved, -v)
    np.testing.assert_allclose(back, q, atol=1e-12)


def test_integration_broadcasts_batches_and_refuses_wrong_sizes():
    robot = hand()
    assert robot.integrate(robot.neutral, np.zeros((3, 1, robot.nv))).shape == (3, 1, robot.nq)
    with pytest.raises(ArgumentError, match=r"step has shape .* its last axis must be 8 for robot 'hand'"):
        robot.integrate(robot.neutral, np.zeros(9))


def test_variations_change_only_the_given_parts():
    robot = random_tree(1, 4)
    other = random_body(np.random.default_rng(9))
    assert robot.with_free().free == frozenset(robot.link_names)
    assert robot.with_free("link1").free == {"link1"}
    assert robot.with_bodies({"link1": other}).link("link1").body == other
    assert robot.with_bodies({"link1": other}).link("link2") == robot.link("link2")
    assert robot.with_frames([Frame("tip", "link1")]).frame_names == (*robot.frame_names, "tip")
    assert robot.with_gravity((0, 0, 1)).gravity == Vec3(0, 0, 1)
    with pytest.raises(ModelError, match="no body 'unknown'"):
        robot.with_free("unknown")


def test_equal_robots_have_equal_hashes():
    assert hash(load("puma")) == hash(load("puma"))
    assert load("puma") != load("puma", name="other")


@pytest.mark.parametrize("gravity", [[0, 0, -1], np.array([0, 0, -1], np.float32), (0.0, 0.0, -1.0)])
def test_gravity_may_be_given_as_any_three_numbers(gravity):
    robot = replace(random_tree(1, 3), gravity=gravity)
    assert robot.gravity == Vec3(0.0, 0.0, -1.0)
    assert all(type(x) is float for x in robot.gravity)


@pytest.mark.parametrize("gravity", [None, 9.81, "down", (0, 0), [0, 0, "g"]])
def test_gravity_that_is_not_a_vector_is_named(gravity):
    with pytest.raises(ArgumentError, match=r"the gravity of robot 'random1' (is|has shape)"):
        random_tree(1, 3).with_gravity(gravity)


@pytest.mark.parametrize(
    ("actuator", "words"),
    [
        (3, "which is not an Actuator"),
        (Actuator(gear="big"), "gear 'big', which is not a number"),
        (Actuator(friction=0.3), "which is not a Friction"),
        (Actuator(friction=Friction(viscous="much")), "viscous 'much', which is not a number"),
    ],
)
def test_an_invalid_actuator_is_named_with_its_joint(actuator, words):
    with pytest.raises(ModelError, match=f"joint 'joint0' of robot 'random1' has .*{words}"):
        random_tree(1, 3).with_actuators({"joint0": actuator})


def test_changed_fields_of_an_actuator_keep_the_other_fields():
    puma, friction = load("puma"), Friction(viscous=1.0)
    changed = puma.with_actuators({"joint2": {"friction": friction, "speed": None}})
    expected = list(puma.actuators)
    expected[1] = replace(expected[1], friction=friction, speed=None)
    assert changed.actuators == tuple(expected)
    np.testing.assert_array_equal(changed.limits.torque, puma.limits.torque)


def test_an_unknown_field_of_an_actuator_is_named():
    with pytest.raises(
        ModelError, match=r"actuator 'joint2' of robot 'puma' has no field 'frction'\. Did you mean 'fric"
    ):
        load("puma").with_actuators({"joint2": {"frction": Friction()}})


def test_limits_that_a_replaced_actuator_loses_are_named():
    puma, friction = load("puma"), Friction(viscous=1.0)
    with pytest.warns(
        ModelWarning, match=r"removes the limits of robot 'puma.*': 'joint2' \(torque .*, .*\)\. The new"
    ):
        changed = puma.with_actuators({"joint2": Actuator(friction=friction)})
    assert changed.actuators[1] == Actuator(friction=friction)
    puma.with_actuators({"joint2": Actuator(torque=1.0)})  # with a limit: no warning
    puma.with_actuators(lambda name, actuator: Actuator())  # a function receives the present actuator: no warning


def test_the_actuators_of_mechanisms_and_constrained_robots_change_by_field():
    for name in ("delta", "five-bar"):
        system = load(name).with_actuators(lambda *_: Actuator(torque=5.0))
        first = system.actuator_names[0]
        changed = system.with_actuators({first: {"gear": 3.0}})
        assert changed.actuators == (Actuator(gear=3.0, torque=5.0), *system.actuators[1:])
