"""Closed-form inverse kinematics, judged by forward kinematics and by the reference configurations."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from appell import DH, ArgumentError, Dynamics, ModelError, from_dh, load
from appell.kinematics.inverse import CONFIGURATIONS, row_of, spherical_wrist
from appell.motion import zyz
from appell_lab.judges.oracle import Oracle
from robots import random_pose

REFERENCE = json.loads((Path(__file__).parents[1] / "references" / "puma_straight_lines.json").read_text())
RIGHT = np.pi / 2


def pose_at(point, orientation):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = orientation, point
    return T


def turned(difference):
    """An angle difference without whole turns."""
    return (difference + np.pi) % (2 * np.pi) - np.pi


def arm(seed: int):
    """A random arm of the family: any lengths, offsets, angle offsets, senses of the axes, base and tool."""
    rng = np.random.default_rng(seed)
    sign = rng.choice([-1.0, 1.0], 5)
    lengths, offsets, angles = rng.uniform(0.05, 0.5, 4), rng.uniform(-0.4, 0.4, 4), rng.uniform(-3, 3, 6)
    rows = [
        DH(0.0, 0.0, offsets[0], angles[0]),
        DH(sign[0] * RIGHT, lengths[0] * (seed % 2), offsets[1], angles[1]),
        DH(0.0 if sign[1] > 0 else np.pi, lengths[1], offsets[2], angles[2]),
        DH(sign[2] * RIGHT, lengths[2], 0.3 + lengths[3], angles[3]),
        DH(sign[3] * RIGHT, 0.0, 0.0, angles[4]),
        DH(sign[4] * RIGHT, 0.0, 0.0, angles[5]),
    ]
    return from_dh(rows, name=f"arm{seed}", base=random_pose(rng), tool=random_pose(rng))


@pytest.mark.parametrize("line", ["000", "002"])
def test_the_eight_start_configurations_are_those_of_the_reference(line):
    data = REFERENCE[line]
    q = spherical_wrist(load("puma"))(pose_at(data["p0"], zyz(*data["zyz_deg"])))
    for row, flags, known in zip(q, CONFIGURATIONS, data["start_configurations_deg"], strict=True):
        assert flags == (known["shoulder"], known["elbow"], known["wrist"])
        np.testing.assert_allclose(np.degrees(row), known["q_deg"], rtol=0, atol=1e-12)


def test_all_solutions_of_100000_random_poses_are_exact_and_none_is_missed():
    robot = load("puma")
    pose = Dynamics(robot).pose("tool")
    q = np.random.default_rng(7).uniform(-np.pi, np.pi, (100_000, 6))
    T = pose(q)
    found = spherical_wrist(robot)(T)
    assert not np.isnan(found).any()  # without a shoulder offset every branch of a reachable pose exists
    assert np.abs(pose(found) - T[:, None]).max() < 1e-12
    nearest = np.abs(turned(found - q[:, None])).max(axis=-1).min(axis=-1)
    # near a singularity a joint follows from the pose with an error of rounding over the distance from it, and the
    # joints behind it, near their own, multiply that
    wrist = np.abs(np.sin(q[:, 4]))
    radius = np.hypot(T[:, 0, 3], T[:, 1, 3])
    shoulder = np.sqrt(np.maximum(radius**2 - 0.15**2, 0.0))
    upper, fore, far = 0.432, np.hypot(0.02, 0.433), np.hypot(shoulder, T[:, 2, 3])
    stretch = np.sqrt(np.maximum(1.0 - ((far**2 - upper**2 - fore**2) / (2 * upper * fore)) ** 2, 0.0))
    assert (nearest * wrist * shoulder * stretch * far).max() < 1e-14
    assert nearest.max() < 1e-7


@pytest.mark.parametrize("seed", range(8))
def test_every_arm_of_the_family_is_solved(seed):
    robot = arm(seed)
    pose = Dynamics(robot).pose("tool")
    q = np.random.default_rng(seed).uniform(-np.pi, np.pi, (2000, 6))
    found = spherical_wrist(robot)(pose(q))
    exists = ~np.isnan(found).any(axis=-1)
    assert exists.any(axis=-1).all()
    assert np.nanmax(np.abs(pose(found) - pose(q)[:, None])) < 1e-12
    nearest = np.nanmin(np.abs(turned(found - q[:, None])).max(axis=-1), axis=-1)
    assert np.quantile(nearest, 0.99) < 1e-11
    assert nearest.max() < 1e-6
    if seed % 2:  # axis 2 beside axis 1: some poses are reached on one side only
        assert not exists.all()


def test_pinocchio_agrees_with_the_solutions():
    robot = arm(3)
    oracle = Oracle(robot)
    q = np.random.default_rng(0).uniform(-np.pi, np.pi, 6)
    for row in spherical_wrist(robot)(oracle.pose("tool", q)):
        if not np.isnan(row).any():
            np.testing.assert_allclose(oracle.pose("tool", row), oracle.pose("tool", q), atol=1e-12)


@pytest.mark.parametrize(
    "q",
    [
        (0.3, -0.5, 0.7, 0.4, 0.0, 0.2),  # wrist straight
        (0.3, -0.5, 0.7, 0.4, np.pi, 0.2),  # wrist folded
        (0.3, -0.5, np.arctan2(0.02, 0.433) + RIGHT, 0.4, 0.5, 0.2),  # arm stretched
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.3, -RIGHT, RIGHT, 0.4, 0.5, 0.2),
    ],
)
def test_singular_poses_are_reached_too(q):
    robot = load("puma")
    pose = Dynamics(robot).pose("tool")
    found = spherical_wrist(robot)(pose(q))
    assert not np.isnan(found).all(axis=0).any()
    np.testing.assert_allclose(pose(found), np.broadcast_to(pose(q), (8, 4, 4)), atol=1e-12)


def test_the_wrist_on_the_first_axis_is_reached_with_any_first_angle():
    rows = [DH(), DH(-RIGHT), DH(0, 0.4), DH(RIGHT, 0, 0.4), DH(-RIGHT), DH(RIGHT)]
    robot = from_dh(rows)
    found = spherical_wrist(robot)(pose_at([0.0, 0.0, 0.5], zyz(10, 20, 30)))
    assert not np.isnan(found).any()
    np.testing.assert_allclose(
        Dynamics(robot).pose("tool")(found)[..., :3, 3], np.tile([0.0, 0.0, 0.5], (8, 1)), atol=1e-12
    )


def test_a_pose_out_of_reach_is_nan_and_says_by_how_much():
    solver = spherical_wrist(load("puma"))
    T = pose_at([2.0, 0.0, 0.0], np.eye(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(solver(T)).all()
    along = np.sqrt(4.0 - 0.15**2)
    assert solver.shortfall(T) == pytest.approx(along - 0.432 - np.hypot(0.02, 0.433), abs=1e-12)
    assert solver.shortfall(pose_at([0.5, 0.1, 0.1], np.eye(3))) == 0.0
    inside = solver(np.stack([T, pose_at([0.5, 0.1, 0.1], np.eye(3))]))
    assert np.isnan(inside[0]).all()
    assert not np.isnan(inside[1]).any()


def test_a_batch_has_the_bits_of_its_samples():
    solver = spherical_wrist(load("puma"))
    T = Dynamics(load("puma")).pose("tool")(np.random.default_rng(2).uniform(-3, 3, (3, 5, 6)))
    whole = solver(T)
    assert whole.shape == (3, 5, 8, 6)
    for i in range(3):
        for j in range(5):
            np.testing.assert_array_equal(solver(T[i, j]), whole[i, j])


def test_a_robot_of_another_geometry_is_refused_and_the_joint_named():
    def puma_with(**changes):
        rows = [DH(), DH(-RIGHT), DH(0, 0.432, 0.15), DH(RIGHT, -0.02, 0.433), DH(-RIGHT), DH(RIGHT)]
        for index, row in changes.items():
            rows[int(index[1:])] = row
        return from_dh(rows)

    cases = {
        "joint 'joint2' turns about an axis 80°": puma_with(_1=DH(-np.radians(80))),
        "joint 'joint3' turns about an axis 10°": puma_with(_2=DH(np.radians(10), 0.432)),
        "joint 'joint4' turns about an axis 70°": puma_with(_3=DH(np.radians(70), -0.02, 0.433)),
        "joint 'joint5' turns about an axis 45°": puma_with(_4=DH(np.radians(45))),
        "joint 'joint6' has an axis that passes the wrist, on that of joint 'joint5', at 0.1 m": puma_with(
            _5=DH(RIGHT, 0.1)
        ),
        "joint 'joint3' has the axis of joint 'joint2'": puma_with(_2=DH(0.0, 0.0)),
        "joint 'joint3' is prismatic": load("stanford"),
        "stands on 7 joints": load("panda"),
    }
    for problem, robot in cases.items():
        with pytest.raises(ModelError, match=problem):
            spherical_wrist(robot)


def test_what_is_no_pose_is_refused():
    solver = spherical_wrist(load("puma"))
    with pytest.raises(ArgumentError, match=r"shape \(3, 3\)"):
        solver(np.eye(3))
    with pytest.raises(ArgumentError, match=r"pose\[1\] misses"):
        solver([np.eye(4), 2 * np.eye(4)])
    with pytest.raises(ArgumentError, match="mirrors"):
        solver(np.diag([1.0, 1.0, -1.0, 1.0]))
    with pytest.raises(ArgumentError, match="does not exist"):
        row_of(1, 2, 1)


def test_a_nan_pose_spoils_only_its_own_row():
    solver = spherical_wrist(load("puma"))
    T = np.stack([pose_at([0.5, 0.1, 0.1], np.eye(3))] * 5)
    T[2, 0, 3] = np.nan
    found = np.isnan(solver(T)).any(axis=(1, 2))
    assert found.tolist() == [False, False, True, False, False]
