"""Sliders of every kind of joint, and the conversion between their values and coordinates."""

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
    """Return a robot with a base joint of this kind and a hinge."""
    joint = {"floating": ap.Floating(), "planar": ap.Planar(), "spherical": ap.Spherical()}[kind]
    body = ap.Body(1.0, ap.Vec3(0, 0, 0), (0.1, 0.1, 0.1))
    links = (
        ap.Link("base", None, ap.Joint("root", joint), body),
        ap.Link("arm", "base", ap.Joint("hinge", ap.Revolute(ap.Vec3(0, 1, 0))), body),
    )
    return ap.Robot(f"{kind} arm", links)


SYSTEMS = [*map(ap.load, zoo_names()), *map(free, ("floating", "planar", "spherical"))]


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_slider_values_and_coordinates_convert_into_each_other(system):
    sliders, rng = Sliders(system), np.random.default_rng(3)
    for _ in range(5):
        q = system.random_configuration(rng)
        q = np.clip(q, system.limits.lower, system.limits.upper)
        shown = sliders.at(q)
        assert [slider.value for slider in shown] == sliders.values(q)
        assert all(slider.lower <= slider.value <= slider.upper for slider in shown)
        assert len({slider.name for slider in shown}) == len(shown)
        assert all(math.isfinite(slider.lower) and math.isfinite(slider.upper) for slider in shown)
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
def test_joints_with_several_coordinates_have_readable_sliders(kind, names):
    robot = free(kind)
    labels = [f"{slider.name} {slider.unit}" for slider in Sliders(robot).at(robot.start)]
    assert labels == [*(f"root_{name}" for name in names), "hinge rad"]


def test_roll_pitch_and_yaw_follow_urdf():
    robot = free("spherical")
    q = Sliders(robot).put([20.0, -35.0, 110.0, 0.0], robot.start)
    quaternion = Rotation.from_euler("xyz", [20.0, -35.0, 110.0], degrees=True).as_quat()
    assert np.allclose(q[:4] * np.sign(q[3] * quaternion[3]), quaternion, atol=1e-15)


def test_requested_angles_are_kept_if_they_give_the_same_orientation():
    """At a pitch of 90 degrees the orientation depends only on the sum of roll and yaw."""
    robot = free("spherical")
    sliders, requested = Sliders(robot), [30.0, 90.0, 40.0, 0.1]
    q = sliders.put(requested, robot.start)
    assert sliders.values(q, requested) == requested
    assert sliders.values(q)[1] == pytest.approx(90.0, abs=1e-5)


def test_sliders_end_at_the_limits_and_values_are_clipped():
    panda = ap.load("panda")
    sliders = Sliders(panda)
    shown = sliders.at(panda.start)
    assert [slider.lower for slider in shown] == panda.limits.lower.tolist()
    assert [slider.upper for slider in shown] == panda.limits.upper.tolist()
    q = sliders.put([10.0] * 7, panda.start)
    assert (q == panda.limits.upper).all()


def test_without_limits_a_slider_spans_one_turn_or_some_metres():
    tree = ap.load("tree10")
    initial = {slider.name: slider for slider in Sliders(tree).at(tree.start)}
    assert (initial["q1"].lower, initial["q1"].upper) == (-math.pi, math.pi)
    assert initial["X1"].upper - initial["X1"].value == pytest.approx(2.0)
    moved = {slider.name: slider for slider in Sliders(tree).at(tree.start + 5.0)}
    assert moved["q1"].upper == moved["q1"].value > math.pi


def test_a_mimic_joint_has_no_slider():
    robot = ap.load(GRIPPER)
    assert "right" not in [slider.name for slider in Sliders(robot).at(robot.start)]


def test_only_independent_joints_of_a_constrained_robot_have_sliders():
    system = ap.load("four-bar")
    assert [slider.name for slider in Sliders(system).at(system.start)] == ["crank"]
