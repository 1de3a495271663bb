"""The URDF reader on valid files."""

from __future__ import annotations

import math

import numpy as np
import pytest

from appell.algebra.rotation import Pose
from appell.algebra.vector import UNITS, Vec3
from appell.describe.load import load_text
from appell.errors import DescriptionError, ModelWarning
from appell.model.actuator import Actuator, Friction
from appell.model.joints import Continuous, Floating, Planar, Prismatic, Revolute, Spherical
from appell.model.limits import Limits
from appell.model.robot import Mimic

BOX = '<mass value="2"/><inertia ixx="1" ixy="0" ixz="0" iyy="2" iyz="0" izz="2.5"/>'


def link(name: str, inertial: str = BOX) -> str:
    return f'<link name="{name}"><inertial>{inertial}</inertial></link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", inside: str = "") -> str:
    return f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>{inside}</joint>'


def read(*parts: str, **options):
    return load_text(f'<robot name="r">{"".join(parts)}</robot>', "urdf", **options)


@pytest.mark.parametrize(
    ("kind", "motion"),
    [
        ("revolute", Revolute(UNITS[0])),
        ("continuous", Continuous(UNITS[0])),
        ("prismatic", Prismatic(UNITS[0])),
        ("floating", Floating()),
        ("spherical", Spherical()),
        ("ball", Spherical()),
    ],
)
def test_every_kind_of_joint_is_supported_and_the_default_axis_is_x(kind, motion):
    assert read(link("a"), link("b"), joint("j", "a", "b", kind)).links[0].joint.motion == motion


def test_axes_are_normalised():
    robot = read(link("a"), link("b"), joint("j", "a", "b", inside='<axis xyz="0 3 4"/>'))
    assert robot.joint("j").motion == Revolute(Vec3(0.0, 0.6, 0.8))


def test_the_inertia_is_rotated_from_the_axes_of_its_origin():
    inertial = f'<origin xyz="0.1 0.2 0.3" rpy="0 0 {math.pi / 2}"/>' + BOX
    body = read(link("a"), link("b", inertial), joint("j", "a", "b")).link("b").body
    assert body.com == Vec3(0.1, 0.2, 0.3)
    np.testing.assert_allclose([body.inertia[k, k] for k in range(3)], [2, 1, 2.5], atol=1e-15)


def test_rpy_are_rotations_about_fixed_axes_in_the_order_x_y_z():
    robot = read(link("a"), link("b"), joint("j", "a", "b", inside=f'<origin rpy="{math.pi / 2} 0 {math.pi / 2}"/>'))
    assert (
        robot.joint("j").placement.rotation @ UNITS[1] == UNITS[2]
    )  # y is rotated about x to z, which yaw does not change
    assert robot.joint("j").placement.rotation @ UNITS[0] == UNITS[1]


def test_fixed_links_are_lumped_with_rotation_and_kept_as_frames():
    origin = f'<origin xyz="1 0 0" rpy="0 0 {math.pi / 2}"/>'
    parts = link("a"), link("b"), link("c"), joint("j", "a", "b"), joint("k", "b", "c", "fixed", origin)
    robot = read(*parts)
    assert robot.frame_names == ("b", "a", "c")
    body = robot.link("b").body
    assert body.mass == 4
    assert body.com == Vec3(0.5, 0.0, 0.0)
    # diag(1, 2, 2.5) + diag(2, 1, 2.5) about their own centres, and 2 kg on either side, 0.5 m from the common centre
    np.testing.assert_allclose([body.inertia[k, k] for k in range(3)], [3, 4, 6], atol=1e-14)


def test_mass_on_a_fixed_base_is_dropped_and_on_a_floating_base_it_is_kept():
    parts = link("a"), link("b"), joint("j", "a", "b")
    assert read(*parts).link_names == ("b",)
    floating = read(*parts, base="floating")
    assert floating.joint_names == ("root_joint", "j")
    assert floating.link("a").body.mass == 2


@pytest.mark.warns("massless")
def test_a_link_without_inertial_is_missing_only_if_it_moves_and_has_no_fixed_links():
    bare = '<link name="b"/>'
    assert read(link("a"), bare, joint("j", "a", "b")).missing == ("b",)
    assert read(link("a"), bare, link("c"), joint("j", "a", "b"), joint("k", "b", "c", "fixed")).missing == ()
    assert read('<link name="a"/>', link("b"), joint("j", "a", "b")).missing == ()
    assert read('<link name="a"/>', link("b"), joint("j", "a", "b"), base="floating").missing == ("a",)
    with pytest.warns(ModelWarning, match="link 'b' has no inertia and is treated as massless"):
        read(link("a"), bare, joint("j", "a", "b"), physical=False)


def test_links_have_the_order_of_the_file_with_ancestors_moved_up():
    names = [link(name) for name in "abcd"]
    early = read(*names, joint("j", "a", "b"), joint("k", "a", "c"), joint("l", "b", "d"))
    late = read(*names, joint("l", "b", "d"), joint("k", "a", "c"), joint("j", "a", "b"))
    assert early.joint_names == ("j", "k", "l")
    assert late.joint_names == ("j", "l", "k")


def test_mimic_chains_are_resolved_to_the_last_leader():
    one = '<mimic joint="j" multiplier="2" offset="1"/>'
    two = '<mimic joint="k" multiplier="-3" offset="0.5"/>'
    parts = [link(name) for name in "abcd"] + [joint("l", "c", "d", "continuous", two)]
    parts += [joint("k", "b", "c", "prismatic", one), joint("j", "a", "b")]
    robot = read(*parts)
    assert robot.joint_names == ("j",)
    assert robot.joint("k").mimic == Mimic("j", 2.0, 1.0)
    assert robot.joint("l").mimic == Mimic("j", -6.0, -2.5)
    assert read(*parts, mimic=False).joint_names == ("j", "k", "l")


def test_a_cycle_of_mimics_is_an_error():
    parts = [link(name) for name in "abc"] + [joint("j", "a", "b", inside='<mimic joint="k"/>')]
    with pytest.raises(DescriptionError, match="mimics itself, directly or through other joints"):
        read(*parts, joint("k", "b", "c", inside='<mimic joint="j"/>'))


def test_limits_and_friction_are_kept_except_position_limits_of_continuous_joints():
    inside = '<limit lower="-1" upper="2" velocity="3" effort="4"/><dynamics damping="5" friction="6"/>'
    parts = link("a"), link("b")
    revolute, continuous = (
        read(*parts, joint("j", "a", "b", kind, inside)).joint("j") for kind in ("revolute", "continuous")
    )
    assert revolute.limits == Limits(-1.0, 2.0)
    assert continuous.limits == Limits()
    assert revolute.actuator == continuous.actuator == Actuator(friction=Friction(5.0, 6.0), torque=4.0, speed=3.0)


def test_optional_tags_without_values_are_ignored():
    inside = '<limit/><limit_extra/><dynamics/><calibration/><safety_controller k_velocity="x"/>'
    robot = read(link("a"), '<link name="b"><inertial/></link>', joint("j", "a", "b", inside=inside))
    assert robot.joint("j").limits == Limits()
    assert robot.joint("j").actuator == Actuator()
    blank = '<limit lower="" upper=" " effort="inf"/><dynamics damping=""/>'
    empty = read(link("a"), link("b"), joint("j", "a", "b", inside=blank)).joint("j")
    assert (empty.limits, empty.actuator) == (Limits(), Actuator())


@pytest.mark.warns("<visual>")
def test_tags_that_do_not_affect_motion_are_ignored():
    noise = '<material name="m"/><gazebo><plugin x="nan"/></gazebo><transmission name="t"/><vendor:x/><!-- no -->'
    visual = '<link name="b"><visual><origin xyz="bad"/></visual><collision/><inertial>' + BOX + "</inertial></link>"
    assert read(noise, link("a"), visual, joint("j", "a", "b")).nv == 1


@pytest.mark.parametrize("normal", [UNITS[0], UNITS[1], -UNITS[2], Vec3(0.6, 0.0, 0.8)])
def test_a_planar_joint_moves_in_the_plane_normal_to_its_axis(normal):
    axis = '<axis xyz="{} {} {}"/>'.format(*normal)
    inertial = '<origin xyz="0.1 0.2 0.3"/>' + BOX
    parts = link("a"), link("b", inertial), link("c")
    robot = read(*parts, joint("j", "a", "b", "planar", axis), joint("k", "b", "c", inside='<origin xyz="1 2 3"/>'))
    plane, described = robot.joint("j"), robot.frame("b")
    assert plane.motion == Planar()
    assert described.body == "b_planar"

    def pose(q):
        return plane.placement @ plane.motion.pose(q) @ described.pose

    neutral, moved = pose([0.0, 0.0, 0.0]), pose([0.3, -0.4, 0.7])
    assert_close(neutral, Pose())
    assert abs(moved.translation.dot(normal)) < 1e-15
    assert math.isclose(moved.translation.dot(moved.translation), 0.25)
    np.testing.assert_allclose(list(moved.rotation @ normal), list(normal), atol=1e-15)
    assert_close(described.pose.inverse @ robot.joint("k").placement, Pose(translation=Vec3(1.0, 2.0, 3.0)))
    np.testing.assert_allclose(
        list(described.pose.inverse.apply(robot.link("b_planar").body.com)), [0.1, 0.2, 0.3], atol=1e-15
    )


def assert_close(actual: Pose, expected: Pose) -> None:
    for a, b in zip(actual.rotation.rows, expected.rotation.rows, strict=True):
        np.testing.assert_allclose(list(a), list(b), atol=1e-15)
    np.testing.assert_allclose(list(actual.translation), list(expected.translation), atol=1e-15)
