"""Visuals follow all variations of a robot, and no computation depends on them."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.algebra.mesh import Mesh
from appell.compile.cache.content_hash import content_hash
from appell.errors import ArgumentError
from appell.model.visual import Visual
from link_poses import visual_poses

UNIT = (1.0, 1.0, 1.0)


def arm() -> ap.Robot:
    builder = ap.Builder("arm", home=(0.3, 0.4, 0.5))
    for name, parent in (("a", "base"), ("b", "a"), ("c", "b")):
        builder.link(
            name, ap.Revolute((1, 2, 3)), parent=parent, xyz=(1, 0.1, 0), rpy=(0.1, 0.2, 0.3), mass=1, inertia=UNIT
        )
        builder.visual(name, "box", (0.1, 0.2, 0.3), xyz=(0.5, 0.1, 0), rpy=(0.3, 0.2, 0.1))
    return builder.visual("base", "sphere", (0.1,)).build()


def test_visuals_of_locked_links_are_attached_to_the_links_that_carry_them():
    robot = arm()
    smaller = robot.locked({"b_joint": 0.7})
    assert [visual.body for visual in smaller.visuals] == ["a", "a", "c", None]
    poses = visual_poses(robot, np.array([0.2, 0.7, -0.4]))
    np.testing.assert_allclose(visual_poses(smaller, np.array([0.2, -0.4])), poses, atol=1e-14)
    on_world = robot.locked({"a_joint": 0.2})
    assert [visual.body for visual in on_world.visuals] == [None, "b", "c", None]


def test_variations_keep_the_visuals():
    robot = arm()
    heavier = robot.with_bodies({"a": ap.Body(2.0, (0, 0, 0), UNIT)})
    driven = robot.with_actuators({"a_joint": ap.Actuator(gear=3)})
    assert heavier.visuals == driven.visuals == robot.with_free("a").visuals == robot.visuals
    closed = robot.with_loops(ap.Gear({"a_joint": 1.0, "b_joint": -0.5}))
    assert closed.tree.visuals == robot.visuals
    assert pickle.loads(pickle.dumps(robot)).visuals == robot.visuals


def test_equality_and_content_hashes_ignore_the_visuals():
    robot = arm()
    bare = replace(robot, visuals=())
    assert bare == robot
    assert hash(bare) == hash(robot)
    assert content_hash(bare) == content_hash(robot)
    assert content_hash(replace(robot, name="other")) != content_hash(robot)
    solid = Mesh(np.zeros((3, 3)), np.zeros((1, 3), int))
    meshed = replace(robot, visuals=(Visual("a", "mesh", UNIT, triangles=solid),))
    assert content_hash(meshed) == content_hash(robot)
    assert pickle.loads(pickle.dumps(meshed)).visuals[0].triangles.vertices.shape == (3, 3)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("a", "bux", UNIT), "no shape 'bux'. Did you mean 'box'"),
        (("a", "box", (1.0,)), r"the size of a box is \(1.0,\)"),
        (("a", "box", (1.0, np.nan, 1.0)), "the size of a box"),
        (("a", "mesh", UNIT), "neither a file nor triangles"),
    ],
)
def test_an_invalid_visual_is_rejected(given, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        Visual(*given)
