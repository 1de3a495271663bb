"""A robot that is written and read again is the same, number for number."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.describe.load import load, load_text
from appell.describe.rpy import is_exact, rpy_of
from appell.describe.write import to_mjcf, to_toml, to_urdf
from appell.errors import ArgumentError, ModelWarning
from appell.model.actuator import Actuator, Friction
from appell.model.frame import Frame
from appell.model.limits import Limits
from appell.model.robot import Joint, Robot
from robots import example_urdfs, random_pose, random_tree, random_trees, zoo

FORMATS = ["urdf", "toml"]


def written_and_read(robot: Robot, format: str) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        text = to_urdf(robot) if format == "urdf" else to_toml(robot)
        return load_text(text, format, physical=robot.physical)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("robot", zoo() + random_trees(20) + random_trees(10, actuators=True), ids=str)
def test_the_zoo_and_random_trees_survive_a_round_trip(robot, format):
    back = written_and_read(robot, format)
    assert back == robot
    assert (back.description, back.reference) == (robot.description, robot.reference)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["talos_full_v2", "romeo", "icub", "human", "tiago_pro"])
def test_robots_read_from_urdf_survive_a_round_trip(name, format):
    path = next(path for path in example_urdfs() if path.stem == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robots = [load(path, base=base, physical=False) for base in ("fixed", "floating")]
    for robot in robots:
        assert written_and_read(robot, format) == robot


@pytest.mark.warns("massless")
@pytest.mark.parametrize("format", FORMATS)
def test_all_fields_of_a_robot_survive_a_round_trip(format):
    rng = np.random.default_rng(3)
    robot = random_tree(3, 6)
    one_axis = next(link for link in robot.links if link.joint.motion.name == "revolute")
    joint = replace(
        one_axis.joint, limits=Limits(upper=1.0), actuator=Actuator(friction=Friction(0.1, 0.2), torque=3.0)
    )
    links = tuple(replace(link, joint=joint) if link is one_axis else link for link in robot.links)
    links = (replace(links[0], body=None), replace(links[1], body=None), *links[2:])
    robot = replace(
        robot,
        name="ro & <bot> \"x\" 'y' \\",
        links=links,
        frames=(Frame("äöü & <", None, random_pose(rng)), Frame("world", None), *robot.frames),
        home=tuple(rng.normal(size=robot.nq).tolist()),
        free=frozenset({"link2", "link3"}),
        missing=("link0",),
        description='two\nlines, "quoted" \\',
    )
    back = written_and_read(robot, format)
    assert back == robot
    assert back.description == robot.description


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("base", ["floating", "planar", "spherical"])
def test_a_moving_base_survives_a_round_trip_as_a_joint(base, format):
    robot = random_tree(1, 3, base=base)
    assert written_and_read(robot, format) == robot


@pytest.mark.parametrize("format", FORMATS)
def test_a_root_joint_of_any_name_survives_a_round_trip(format):
    robot = random_tree(2, 3)
    first = replace(robot.links[0], joint=replace(robot.links[0].joint, name="frame0_joint"))
    robot = replace(robot, links=(first, *robot.links[1:]))
    assert isinstance(robot.links[0].joint, Joint)
    assert written_and_read(robot, format) == robot


@pytest.mark.filterwarnings("ignore::appell.errors.ModelWarning")
def test_files_are_written_completely_and_replace_older_ones(tmp_path):
    robot = load("puma")
    for name in ("puma.urdf", "puma.toml"):
        path = tmp_path / name
        path.write_text("older")
        text = (to_urdf if name.endswith("urdf") else to_toml)(robot, path, overwrite=True)
        assert path.read_text(encoding="utf-8") == text
        assert load(path) == robot
    assert sorted(path.name for path in tmp_path.iterdir()) == ["puma.toml", "puma.urdf"]


ANGLES = st.floats(-4.0, 4.0) | st.sampled_from([k * np.pi / 2 for k in range(-4, 5)])


@given(roll=ANGLES, pitch=ANGLES, yaw=ANGLES)
@settings(max_examples=300, deadline=None)
def test_roll_pitch_and_yaw_are_accurate_to_rounding_even_where_cos_pitch_vanishes(roll, pitch, yaw):
    rotation = Pose.from_rpy(Vec3(roll, pitch, yaw)).rotation
    recovered = Pose.from_rpy(rpy_of(rotation)).rotation
    assert max(abs(x) for row in (recovered - rotation).rows for x in row) < 2e-15


def test_right_angles_are_written_exactly_as_roll_pitch_and_yaw():
    quarter = [0.0, np.pi / 2, np.pi, -np.pi / 2]
    for rpy in [Vec3(a, b, c) for a in quarter for b in quarter for c in quarter]:
        rotation: Mat3 = Pose.from_rpy(rpy).rotation
        assert is_exact(rpy_of(rotation), rotation)


@pytest.mark.parametrize(("write", "name"), [(to_urdf, "arm.urdf"), (to_toml, "arm.toml"), (to_mjcf, "arm.xml")])
def test_an_existing_file_is_replaced_only_on_request(tmp_path, write, name):
    path = tmp_path / name
    path.write_text("mine", encoding="utf-8")
    robot = load("planar-2r")
    with pytest.raises(ArgumentError, match=f"{name} already exists"):
        write(robot, path)
    assert path.read_text(encoding="utf-8") == "mine"
    assert write(robot, path, overwrite=True) == path.read_text(encoding="utf-8")
