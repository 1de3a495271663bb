"""`load`, and the robots of the zoo."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from appell.describe.load import constrained_names, load, load_text, tree_names, zoo_names
from appell.describe.write import to_toml, to_urdf
from appell.describe.zoo.mechanisms import MECHANISMS
from appell.errors import DescriptionError
from robots import example_urdfs, zoo


def test_the_zoo_contains_its_robots():
    assert tree_names() == ("box", "panda", "pendulum", "planar-2r", "puma", "stanford", "tree10", "two-body")
    assert zoo_names() == tuple(sorted({*tree_names(), *constrained_names(), *MECHANISMS}))


@pytest.mark.parametrize("robot", zoo(), ids=str)
def test_every_robot_of_the_zoo_is_complete_and_has_a_reference(robot):
    assert robot.name in zoo_names()
    assert robot.missing == ()
    assert robot.description
    assert robot.reference
    assert robot.source == f"the zoo's {robot.name}.toml"


@pytest.mark.warns("massless")
def test_a_robot_can_be_renamed_and_get_a_floating_base():
    assert load("pendulum", name="clock").name == "clock"
    assert load("puma", base="floating").nq == 13
    assert load("panda", base="floating").home[:7] == (0, 0, 0, 0, 0, 0, 1)


def test_files_are_loaded_by_path_or_string(tmp_path):
    robot = load("pendulum")
    for name in ("p.urdf", "p.toml", "Q.TOML"):
        path = tmp_path / name
        (to_urdf if name.endswith("urdf") else to_toml)(robot, path)
        assert load(path) == load(str(path)) == robot
        assert load(path).source == str(path)


def test_a_byte_order_mark_is_accepted(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text("\ufeff" + to_toml(load("pendulum")), encoding="utf-8")
    assert load(path) == load("pendulum")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("pumma", "The zoo has no robot 'pumma'. Did you mean 'puma'"),
        ("robot.step", "'robot.step' is not a robot description that appell can read.*\n.*puma"),
        ("some/where", "'some/where' is not a robot description"),
        (Path("nowhere.urdf"), "the file does not exist.*\n.*nowhere.urdf"),
        ("", "directory"),
        (".", "the path is a directory"),
    ],
)
def test_a_source_that_cannot_be_read_is_a_named_error(source, message):
    with pytest.raises(DescriptionError, match=message):
        load(source)


def test_a_directory_named_like_a_file_is_an_error(tmp_path):
    (tmp_path / "robot.urdf").mkdir()
    with pytest.raises(DescriptionError, match="the path is a directory"):
        load(tmp_path / "robot.urdf")


def test_an_unknown_format_or_base_is_a_named_error():
    with pytest.raises(DescriptionError, match="no format 'yaml'"):
        load_text("", "yaml")
    with pytest.raises(DescriptionError, match="no base 'flying'"):
        load("puma", base="flying")


def test_the_tree_of_rods_starts_as_in_the_paper():
    robot = load("tree10")
    assert robot.joint_names == ("X1", "X2", *(f"q{i}" for i in range(1, 11)))
    assert [robot.frame(f"O{i}").body for i in (1, 2, 11)] == ["slide_y", "rod1", "rod10"]
    np.testing.assert_allclose(robot.start[:2], -(1 + np.sqrt(3)) / 2, rtol=1e-15)


@pytest.mark.filterwarnings("ignore::appell.errors.ModelWarning")
def test_puma_agrees_with_a_pinocchio_model_of_the_printed_table():
    import pinocchio as pin

    table = [  # twist, length, offset, mass, centre of mass, moments about it
        (0, 0, 0, 10.521, (0, -0.054, 0), (1.612, 0.5091, 1.612)),
        (-np.pi / 2, 0, 0, 15.781, (0.1398, 0, 0.1491), (0.4898, 8.0783, 8.2672)),
        (0, 0.432, 0.15, 8.767, (-0.00032, -0.197, 0), (3.3768, 0.3009, 3.3768)),
        (np.pi / 2, -0.02, 0.433, 1.052, (0, 0, -0.057), (0.181, 0.181, 0.1273)),
        (-np.pi / 2, 0, 0, 1.052, (0, -0.007, 0), (0.0735, 0.0735, 0.1273)),
        (np.pi / 2, 0, 0, 0.351, (0, 0, 0.0372), (0.0071, 0.0071, 0.0141)),
    ]
    reference, parent = pin.Model(), 0
    for i, (twist, length, offset, mass, com, moments) in enumerate(table, start=1):
        s = np.array([length, -offset * np.sin(twist), offset * np.cos(twist)])
        placement = pin.SE3(pin.utils.rotate("x", twist), s)
        parent = reference.addJoint(parent, pin.JointModelRZ(), placement, f"joint{i}")
        reference.appendBodyToJoint(parent, pin.Inertia(mass, np.array(com), np.diag(moments)), pin.SE3.Identity())
    written = pin.buildModelFromXML(to_urdf(load("puma")))
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v, a = rng.uniform(-3, 3, (3, 6))
        expected = pin.rnea(reference, reference.createData(), q, v, a)
        torques = pin.rnea(written, written.createData(), q, v, a)
        np.testing.assert_allclose(torques, expected, atol=1e-12 * np.abs(expected).max())


def test_panda_is_the_arm_of_the_example_urdf():
    path = next(path for path in example_urdfs() if path.name == "panda.urdf")
    ours, theirs = load("panda"), load(path)
    for i in range(1, 7):  # the seventh link of the URDF carries the hand
        link, other = ours.link(f"link{i}"), theirs.link(f"panda_link{i}")
        assert link.body == other.body
        assert link.joint.placement == other.joint.placement
        assert link.joint.limits == other.joint.limits
        assert link.joint.actuator.torque == other.joint.actuator.torque
        assert link.joint.actuator.speed == other.joint.actuator.speed
    assert ours.joint("joint7").placement == theirs.joint("panda_joint7").placement
    assert ours.frame("tool").pose == theirs.frame("panda_link8").pose
