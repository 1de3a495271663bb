"""Poses, places, tables, numbers and names may be arrays, lists, tuples, scalars of NumPy or rotations of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import appell as ap
from appell.cli.input import configuration_if_given
from appell.errors import AppellError

ROTATION = Rotation.from_euler("xyz", [0.1, 0.2, 0.3])
MATRIX = np.eye(4)
MATRIX[:3, :3], MATRIX[:3, 3] = ROTATION.as_matrix(), [0.1, 0.2, 0.3]
POSE = ap.Pose.from_matrix(MATRIX)
ARM = ap.load("planar-2r")
BODY = ap.Body(1.0, (0.1, 0, 0), (0.1, 0.2, 0.2))


def joint_at(pose) -> ap.Robot:
    return ap.Builder("r").link("rod", ap.Revolute(), at=pose, mass=1, inertia=(1, 1, 1)).build()


POSE_ARGUMENTS = {  # functions of a pose, and what they return for it
    "a frame": lambda pose: ap.Frame("f", "link2", pose).pose,
    "a joint": lambda pose: ap.Joint("j", ap.Revolute(), pose).placement,
    "a link of a builder": lambda pose: joint_at(pose).joint("rod_joint").placement,
    "a root": lambda pose: ap.Builder("r", at=pose).at,
    "a product": lambda pose: POSE @ pose,
    "a moved body": lambda pose: BODY.moved(pose),
    "a closure": lambda pose: ap.Weld("tool", pose).b,
    "a tool": lambda pose: ap.from_dh([ap.DH()], tool=pose).frame("tool").pose,
}


@pytest.mark.parametrize("name", POSE_ARGUMENTS)
def test_a_place_may_be_a_pose_a_matrix_a_list_a_point_or_a_rotation(name):
    make = POSE_ARGUMENTS[name]
    assert make(MATRIX) == make(MATRIX.tolist()) == make(MATRIX[:3]) == make(POSE)
    assert make(np.array([0.1, 0.2, 0.3])) == make((0.1, 0.2, 0.3)) == make(ap.Pose(translation=(0.1, 0.2, 0.3)))
    assert make(ap.Vec3(0.1, 0.2, 0.3)) == make((0.1, 0.2, 0.3))
    assert make(ROTATION) == make(ROTATION.as_matrix()) == make(ap.Pose(ROTATION))
    for wrong in (np.eye(5), 2 * np.eye(4)[:3], 3.0, np.full(3, np.nan)):
        with pytest.raises(AppellError, match=r"has shape|not orthonormal|is 3.0|contains NaN"):
            make(wrong)


def test_numbers_and_names_of_numpy_give_the_same_robot_and_files():
    def robot(number, name, array) -> ap.Robot:
        motor = ap.Actuator(gear=number(3.0), friction=ap.Friction(number(0.5)), torque=number(4.0), speed=number(2.0))
        builder = ap.Builder(name("r"), gravity=array([0.0, 0.0, -9.0]), home=array([0.25, 0.5]))
        body = {"mass": number(1.0), "com": array([0.5, 0.0, 0.0]), "inertia": array([1.0, 1.0, 1.0])}
        builder.link(name("a"), ap.Revolute(array([0.0, 1.0, 0.0])), limits=array([-1.0, 1.0]), actuator=motor, **body)
        builder.link("b", ap.Prismatic(), parent=name("a"), xyz=array([1.0, 0.0, 0.0]), **body)
        builder.link("c", ap.Prismatic(), parent="a", mimic=ap.Mimic(name("b_joint"), number(2.0), number(0.5)), **body)
        builder.visual(name("a"), "box", array([1.0, 1.0, 1.0]), color=array([1.0, 0.0, 0.0]))
        return builder.build().with_payload(number(0.5), name("c"), com=array([0.5, 0.0, 0.0]))

    plain, of_numpy = robot(float, str, tuple), robot(np.float32, np.str_, np.array)
    assert plain == of_numpy
    assert ap.to_urdf(plain) == ap.to_urdf(of_numpy)
    assert ap.to_toml(plain) == ap.to_toml(of_numpy)


def test_a_table_of_numbers_needs_the_names_of_its_columns():
    table = np.array([[0.1, 0.3, 0.5, 0.2], [0.4, 0.2, 0.0, -0.3]])
    expected = ap.from_dh([ap.DH(twist=a, length=b, offset=c, angle=d) for a, b, c, d in table])
    assert ap.from_dh(table, columns=["alpha", "a", "d", "theta"]) == expected
    assert ap.from_dh([tuple(row[::-1]) for row in table], columns=("angle", "offset", "length", "twist")) == expected
    with pytest.raises(ap.DescriptionError, match=r"(?s)row 1 of the DH table is array.*pass columns="):
        ap.from_dh(table)
    with pytest.raises(ap.DescriptionError, match="row 1 of the DH table has 4 numbers"):
        ap.from_dh(table, columns=["alpha", "a", "d"])
    with pytest.raises(ap.DescriptionError, match="the columns of the DH table are alpha, twist"):
        ap.from_dh(table[:, :2], columns=["alpha", "twist"])


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: ap.kinematics.inverse.numerical(ARM, ["tool", 2]), "a task of robot .planar-2r. is 2"),
        (lambda: ARM.with_payload(1.0, ["tool"]), r"a frame of robot 'planar-2r' is named \['tool'\]"),
        (lambda: ap.Builder("r").link("a", ap.Revolute(), limits=1.0), "the limits of link 'a' are 1.0"),
    ],
)
def test_a_list_or_a_number_in_the_wrong_place_is_named(call, problem):
    with pytest.raises(AppellError, match=problem):
        call()


# ---- positions of joints by name


def test_positions_by_name_are_a_configuration():
    arm = ap.load("example-robot-data:ur5")
    q = arm.configuration({"elbow_joint": 1.0, np.str_("wrist_1_joint"): np.array([0.5])})
    expected = arm.start
    expected[[2, 3]] = 1.0, 0.5
    np.testing.assert_array_equal(q, expected)
    np.testing.assert_array_equal(arm.configuration({}), arm.start)
    with pytest.raises(ap.ModelError, match=r"has no joint or coordinate 'elbow'\. Did you mean 'elbow_joint'"):
        arm.configuration({"elbow": 1.0})
    with pytest.raises(ap.ArgumentError, match=r"(?s)joint 'elbow_joint' of .* cannot be at \[1, 2\].*1 finite number"):
        arm.configuration({"elbow_joint": [1, 2]})
    with pytest.raises(ap.ArgumentError, match=r"positions is 1\.0"):
        arm.configuration(1.0)


@pytest.mark.warns("massless")
def test_the_position_of_a_floating_base_is_a_pose_or_coordinates():
    robot = ap.load("puma", base="floating")
    coordinates = [*MATRIX[:3, 3], *ROTATION.as_quat()]
    for position in (MATRIX, POSE, coordinates):
        np.testing.assert_allclose(robot.configuration({"root_joint": position})[:7], coordinates, atol=1e-15)
    assert robot.configuration({"root_joint_z": 2.0, "joint2": 0.3})[2] == 2.0
    with pytest.raises(ap.ArgumentError, match=r"(?s)'root_joint' of .* cannot be at .*7 finite numbers, or a pose"):
        robot.configuration({"root_joint": [0.0] * 6})


def test_the_position_of_a_spherical_joint_is_a_rotation_or_a_quaternion():
    robot = ap.load("example-robot-data:ur5", base="spherical")
    for position in (ROTATION, ROTATION.as_matrix(), ROTATION.as_quat()):
        np.testing.assert_allclose(robot.configuration({"root_joint": position})[:4], ROTATION.as_quat(), atol=1e-15)


def test_loops_are_closed_around_the_positions_of_a_constrained_robot():
    bars = ap.load("four-bar")
    q = bars.configuration({"crank": 1.0})
    assert q[0] == 1.0
    assert np.abs(ap.Dynamics(bars).equations.gap(q.tolist())).max() < 1e-12
    with pytest.raises(ap.ModelError, match="cannot be closed while 'crank', 'rocker' are held"):
        bars.configuration({"crank": 1.0, "rocker": 0.1})


def test_the_command_line_reads_positions_by_name():
    arm = ap.load("example-robot-data:ur5")
    np.testing.assert_array_equal(
        configuration_if_given("elbow_joint=1,wrist_1_joint=-0.5", arm),
        arm.configuration({"elbow_joint": 1.0, "wrist_1_joint": -0.5}),
    )
    np.testing.assert_array_equal(configuration_if_given("0.5", arm), np.full(6, 0.5))
    with pytest.raises(ap.ModelError, match="Did you mean 'elbow_joint'"):
        configuration_if_given("elbow=1", arm)
    with pytest.raises(ap.ArgumentError, match="--q is 'high'"):
        configuration_if_given("elbow_joint=high", arm)


def test_a_mechanism_has_positions_of_its_coordinates():
    delta = ap.load("delta")
    np.testing.assert_array_equal(delta.configuration({"z": -0.5}), [*delta.start[:2], -0.5])
    with pytest.raises(ap.ModelError, match="has no coordinate 'Z'"):
        delta.configuration({"Z": 0.0})
    with pytest.raises(ap.ArgumentError, match="coordinate 'z' of mechanism 'delta' cannot be 'low'"):
        delta.configuration({"z": "low"})
