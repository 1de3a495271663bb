"""Sliders: what they are for every kind of joint, and that values and coordinates go into each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell as ap
from appell.describe.load import zoo_names
from appell.show.stage.sliders import Sliders
from grippers import GRIPPER


def free(kind):
    """A link that moves as a joint lets it, and a hinge on it."""
    joint = {"floating": ap.Floating(), "planar": ap.Planar(), "spherical": ap.Spherical()}[kind]
    body = ap.Body(1.0, ap.Vec3(0, 0, 0), (0.1, 0.1, 0.1))
    links = (
        ap.Link("base", None, ap.Joint("root", joint), body),
        ap.Link("arm", "base", ap.Joint("hinge", ap.Revolute(ap.Vec3(0, 1, 0))), body),
    )
    return ap.Robot(f"{kind} arm", links)


SYSTEMS = [*map(ap.load, zoo_names()), *map(free, ("floating", "planar", "spherical"))]


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_values_and_coordinates_go_into_each_other(system):
    sliders, rng = Sliders(system), np.random.default_rng(3)
    for _ in range(5):
        q = system.random_configuration(rng)
        q = np.clip(q, system.limits.lower, system.limits.upper)
        found = sliders.at(q)
        assert [slider.value for slider in found] == sliders.values(q)
        assert all(slider.lower <= slider.value <= slider.upper for slider in found)
        assert len({slider.name for slider in found}) == len(found)
        assert all(math.isfinite(slider.lower) and math.isfinite(slider.upper) for slider in found)
        back = sliders.put(sliders.values(q), q)
        assert np.abs(system.difference(q, back)).max() < 1e-12


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("floating", ["x m", "y m", "z m", "roll deg", "pitch deg", "yaw deg"]),
        ("planar", ["x m", "y m", "angle deg"]),
        ("spherical", ["roll deg", "pitch deg", "yaw deg"]),
    ],
)
def test_joints_of_several_coordinates_have_sliders_that_people_can_read(kind, names):
    robot = free(kind)
    found = [f"{slider.name} {slider.unit}" for slider in Sliders(robot).at(robot.start)]
    assert found == [*(f"root_{name}" for name in names), "hinge rad"]


def test_roll_pitch_and_yaw_are_those_of_urdf():
    robot = free("spherical")
    q = Sliders(robot).put([20.0, -35.0, 110.0, 0.0], robot.start)
    quaternion = Rotation.from_euler("xyz", [20.0, -35.0, 110.0], degrees=True).as_quat()
    assert np.allclose(q[:4] * np.sign(q[3] * quaternion[3]), quaternion, atol=1e-15)


def test_angles_stay_as_asked_where_many_mean_the_same():
    """With the pitch at a right angle only the sum of roll and yaw is told by the turn."""
    robot = free("spherical")
    sliders, asked = Sliders(robot), [30.0, 90.0, 40.0, 0.1]
    q = sliders.put(asked, robot.start)
    assert sliders.values(q, asked) == asked
    assert sliders.values(q)[1] == pytest.approx(90.0, abs=1e-5)


def test_sliders_go_as_far_as_the_limits_and_no_value_goes_beyond():
    panda = ap.load("panda")
    sliders = Sliders(panda)
    found = sliders.at(panda.start)
    assert [slider.lower for slider in found] == panda.limits.lower.tolist()
    assert [slider.upper for slider in found] == panda.limits.upper.tolist()
    q = sliders.put([10.0] * 7, panda.start)
    assert (q == panda.limits.upper).all()


def test_without_limits_a_slider_is_a_turn_or_some_metres_about_where_it_stands():
    tree = ap.load("tree10")
    found = {slider.name: slider for slider in Sliders(tree).at(tree.start)}
    assert (found["q1"].lower, found["q1"].upper) == (-math.pi, math.pi)
    assert found["X1"].upper - found["X1"].value == pytest.approx(2.0)
    turned = {slider.name: slider for slider in Sliders(tree).at(tree.start + 5.0)}
    assert turned["q1"].upper == turned["q1"].value > math.pi


def test_a_joint_that_mimics_another_has_no_slider():
    robot = ap.load(GRIPPER)
    assert "right" not in [slider.name for slider in Sliders(robot).at(robot.start)]


def test_of_a_constrained_robot_those_joints_have_sliders_that_tell_where_it_is():
    system = ap.load("four-bar")
    assert [slider.name for slider in Sliders(system).at(system.start)] == ["crank"]
