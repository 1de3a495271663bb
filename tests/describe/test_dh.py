"""Both Denavit-Hartenberg conventions, against the matrices that define them."""

from __future__ import annotations

import numpy as np
import pytest

from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.describe.dh import DH, from_dh
from appell.errors import DescriptionError
from appell.model.limits import Limits
from appell.model.robot import Robot


def rotation(axis: int, angle: float) -> np.ndarray:
    c, s, i, j = np.cos(angle), np.sin(angle), (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(4)
    matrix[i, i], matrix[i, j], matrix[j, i], matrix[j, j] = c, -s, s, c
    return matrix


def shift(axis: int, length: float) -> np.ndarray:
    matrix = np.eye(4)
    matrix[axis, 3] = length
    return matrix


def by_definition(row: DH, q: float, convention: str) -> np.ndarray:
    angle, offset = (row.angle + q, row.offset) if row.kind == "revolute" else (row.angle, row.offset + q)
    if convention == "modified":
        return rotation(0, row.twist) @ shift(0, row.length) @ rotation(2, angle) @ shift(2, offset)
    return rotation(2, angle) @ shift(2, offset) @ shift(0, row.length) @ rotation(0, row.twist)


def homogeneous(pose: Pose) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3] = [list(row) for row in pose.rotation.rows]
    matrix[:3, 3] = list(pose.translation)
    return matrix


def pose_of(robot: Robot, name: str, q: np.ndarray) -> np.ndarray:
    frame = robot.frame(name)
    pose, link = frame.pose, frame.body
    while link is not None:
        joint = robot.link(link).joint
        pose = joint.placement @ joint.motion.pose([float(x) for x in robot.joint_position(joint, q)]) @ pose
        link = robot.link(link).parent
    return homogeneous(pose)


def random_rows(seed: int) -> list[DH]:
    rng = np.random.default_rng(seed)
    rows = []
    for kind in rng.choice(["revolute", "prismatic"], 5):
        twist, length, offset, angle = (float(x) for x in rng.uniform(-1.5, 1.5, 4))
        com, inertia = rng.uniform(-1, 1, 3), (1.0, 0.1, 0.2, 1.2, 0.3, 1.4)
        rows.append(DH(twist, length, offset, angle, str(kind), mass=1.0, com=com.tolist(), inertia=inertia))
    return rows


@pytest.mark.parametrize("convention", ["modified", "standard"])
@pytest.mark.parametrize("seed", range(5))
def test_frames_have_the_poses_of_the_definition(convention, seed):
    rows, q = random_rows(seed), np.random.default_rng(seed + 100).uniform(-1, 1, 5)
    base, tool = Pose.from_rpy(Vec3(0.1, 0.2, 0.3), Vec3(1.0, 2.0, 3.0)), Pose(translation=Vec3(0.0, 0.0, 0.5))
    robot = from_dh(rows, convention, base=base, tool=tool)
    expected = homogeneous(base)
    np.testing.assert_allclose(pose_of(robot, "base", q), expected, atol=1e-15)
    for i, row in enumerate(rows, start=1):
        expected = expected @ by_definition(row, q[i - 1], convention)
        frame = f"link{i}" if convention == "modified" else f"frame{i}"
        np.testing.assert_allclose(pose_of(robot, frame, q), expected, atol=1e-14)
    np.testing.assert_allclose(pose_of(robot, "tool", q), expected @ homogeneous(tool), atol=1e-14)


@pytest.mark.parametrize("seed", range(5))
def test_inertia_of_the_standard_convention_is_given_in_the_distal_frame(seed):
    rows = random_rows(seed)
    robot = from_dh(rows, "standard")
    for i, row in enumerate(rows, start=1):
        frame, body = robot.frame(f"frame{i}"), robot.link(f"link{i}").body
        given = body.moved(frame.pose.inverse)
        np.testing.assert_allclose(list(given.com), row.com, atol=1e-14)
        np.testing.assert_allclose(given.inertia.upper, row.inertia, atol=1e-14)


def test_right_angles_give_exact_zeros_and_ones():
    rows = [DH(twist=k * np.pi / 2, angle=k * np.pi / 2, mass=0) for k in (-3, -2, -1, 1, 2, 3, 4)]
    for convention in ("modified", "standard"):
        for link in from_dh(rows, convention).links:
            entries = {x for row in link.joint.placement.rotation.rows for x in row}
            assert entries <= {0.0, 1.0, -1.0}


def test_names_limits_and_missing_masses_are_kept():
    robot = from_dh([DH(limits=(-1, 1)), DH(name="arm", joint="elbow", mass=0)], name="r", gravity=(0, -9.81, 0))
    assert robot.joint_names == ("joint1", "elbow")
    assert robot.link_names == ("link1", "arm")
    assert robot.joint("joint1").limits == Limits(-1, 1)
    assert robot.missing == ("link1",)
    assert robot.gravity == Vec3(0, -9.81, 0)


@pytest.mark.parametrize(
    ("rows", "convention", "message"),
    [
        ([DH(mass=0)], "classic", "convention is 'classic'.*\n.*modified or standard"),
        ([], "modified", "has no rows"),
        (
            [DH(), (0.0, 0.0, 0.3, 0.0)],
            "modified",
            r"row 2 of the DH table is \(0.0, 0.0, 0.3, 0.0\).*\n.*DH\(twist=..., ",
        ),
        ([{"twist": 0.1}], "modified", "row 1 of the DH table is {'twist': 0.1}"),
        (np.zeros((2, 4)), "modified", "row 1 of the DH table is array"),
        ([DH(kind="helical")], "modified", "row 1 of the DH table has kind 'helical'"),
        ([DH(), DH(twist=float("nan"))], "modified", "the twist of row 2 of the DH table is nan"),
        ([DH(length="long")], "modified", "the length of row 1 of the DH table is 'long'"),
        ([DH(mass=1.0)], "modified", "link 'link1' has a mass but no inertia"),
        ([DH(mass=0, name="a"), DH(mass=0, name="a")], "standard", "two links named 'a'"),
    ],
)
def test_invalid_tables_are_named_errors(rows, convention, message):
    with pytest.raises(DescriptionError, match=message):
        from_dh(rows, convention)


def test_symbols_of_the_parameters_are_named_errors():
    with pytest.raises(
        DescriptionError, match=r"(?s)no parameter alpha or d\..*twist \(alpha\), length.*Write twist=, offset="
    ):
        DH(alpha=0.1, d=0.3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'beta'"):
        DH(beta=0.1)
