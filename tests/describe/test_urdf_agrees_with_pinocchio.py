"""Every URDF of example-robot-data that Pinocchio loads gives the same robot in both readers.

Pinocchio orders joints alphabetically and appell in the order of the file, so everything is compared by name.
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from appell.describe.load import load, load_text
from appell.describe.write import to_urdf
from appell.errors import ModelError, ModelWarning
from appell.model.robot import Joint, Robot
from link_poses import homogeneous, link_poses, same_configuration
from robots import example_cases, example_urdfs

# Both multiply the same numbers in a different order: some tens of roundings of entries of order 1.
TOLERANCE = 1e-13


CASES = [pytest.param(*case, id=name) for name, case in example_cases().items()]


@cache
def both(path: Path, base: str) -> tuple:
    """The robot and the Pinocchio model of a file."""
    model = pin.buildModelFromUrdf(str(path), *((pin.JointModelFreeFlyer(),) if base == "floating" else ()))
    return load_without_warnings(path, base=base, mimic=False), model


def load_without_warnings(path: Path, **options) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load(path, physical=False, **options)


def test_the_package_of_examples_is_installed():
    assert len(CASES) > 120


@pytest.mark.parametrize(("path", "base"), CASES)
def test_joints_have_the_same_parents_and_placements(path, base):
    robot, model = both(path, base)
    assert sorted(link.joint.name for link in robot.links) == sorted(model.names[1:])
    carrier = {link.name: link.joint.name for link in robot.links} | {None: "universe"}
    for link in robot.links:
        index = model.getJointId(link.joint.name)
        assert model.names[model.parents[index]] == carrier[link.parent]
        expected = model.jointPlacements[index].homogeneous
        np.testing.assert_allclose(homogeneous(link.joint.placement), expected, atol=TOLERANCE)


@pytest.mark.parametrize(("path", "base"), CASES)
def test_fixed_links_are_lumped_into_the_same_bodies(path, base):
    robot, model = both(path, base)
    for link in robot.links:
        expected = model.inertias[model.getJointId(link.joint.name)].toDynamicParameters()
        parameters = np.zeros(10) if link.body is None else link.body.parameters
        np.testing.assert_allclose(parameters, expected, atol=TOLERANCE * max(1.0, np.abs(expected).max()))
    total = sum(link.body.mass for link in robot.links if link.body is not None)
    np.testing.assert_allclose(total, pin.computeTotalMass(model), rtol=TOLERANCE)


@pytest.mark.parametrize(("path", "base"), CASES)
def test_every_link_has_the_same_pose_in_a_random_configuration(path, base):
    robot, model = both(path, base)
    assert_same_poses(robot, model)


def assert_same_poses(robot: Robot, model) -> None:
    q, data = robot.random_configuration(np.random.default_rng(0)), model.createData()
    poses = link_poses(robot, q)
    pin.framesForwardKinematics(model, data, same_configuration(robot, model, q))
    for index, frame in enumerate(model.frames):
        if frame.type != pin.FrameType.BODY or frame.name == "universe":
            continue
        ours = robot.frame(frame.name)
        pose = homogeneous(poses[ours.body] @ ours.pose)
        np.testing.assert_allclose(pose, data.oMf[index].homogeneous, atol=30 * TOLERANCE)


@pytest.mark.parametrize(
    "name", ["baxter", "panda", "pr2", "tiago_pro"]
)  # in the others, leaders come after followers, which Pinocchio does not accept
def test_mimic_joints_agree_with_pinocchio(name):
    path = next(path for path in example_urdfs() if path.stem == name)
    robot, model = load_without_warnings(path), pin.buildModelFromUrdf(str(path), mimic=True)
    leaders = {
        model.names[i]: model.names[j] for i, j in zip(model.mimicking_joints, model.mimicked_joints, strict=True)
    }
    assert leaders == {joint.name: joint.mimic.leader for joint in followers(robot)}
    assert robot.nv == model.nv
    assert_same_poses(robot, model)


def followers(robot: Robot) -> list[Joint]:
    return [link.joint for link in robot.links if link.joint.mimic is not None]


def test_an_example_without_a_moving_joint_is_an_error_on_a_fixed_base():
    path = next(path for path in example_urdfs() if path.stem == "iris_simple")
    with pytest.raises(ModelError, match="'iris' has no moving joint"):
        load(path)
    assert load(path, base="floating").nv == 6


@pytest.mark.filterwarnings("ignore::appell.errors.ModelWarning")
@pytest.mark.parametrize("name", ["puma", "stanford", "panda", "tree10", "two-body", "pendulum", "planar-2r"])
def test_pinocchio_reads_urdf_written_by_appell(name):
    robot = load(name)
    model = pin.buildModelFromXML(to_urdf(robot))
    for link in robot.links:
        index = model.getJointId(link.joint.name)
        np.testing.assert_allclose(
            homogeneous(link.joint.placement), model.jointPlacements[index].homogeneous, atol=1e-15
        )
        parameters = np.zeros(10) if link.body is None else link.body.parameters
        np.testing.assert_allclose(model.inertias[index].toDynamicParameters(), parameters, atol=1e-14)


def test_a_planar_joint_with_normal_z_agrees_with_pinocchio():
    text = """<robot name="cart"><link name="ground"/>
      <link name="cart"><inertial><origin xyz="0.1 0 0.2"/><mass value="2"/>
        <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
      <joint name="slide" type="planar"><origin xyz="1 2 3" rpy="0.3 0.2 0.1"/><axis xyz="0 0 1"/>
        <parent link="ground"/><child link="cart"/></joint></robot>"""
    robot, model = load_text(text, "urdf"), pin.buildModelFromXML(text)
    q = np.array([0.4, -0.3, 0.7])
    data = model.createData()
    pin.framesForwardKinematics(model, data, same_configuration(robot, model, q))
    expected = data.oMf[model.getFrameId("cart")].homogeneous
    np.testing.assert_allclose(homogeneous(link_poses(robot, q)["cart"]), expected, atol=1e-15)
