"""Closed-form inverse kinematics, compared with forward kinematics and reference configurations."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from appell import DH, ArgumentError, Dynamics, ModelError, from_dh, load
from appell.kinematics.inverse import CONFIGURATIONS, row_of, spherical_wrist
from appell.motion import zyz
from appell_lab.references.oracle import Oracle
from robots import random_pose

REFERENCE = json.loads((Path(__file__).parents[1] / "references" / "puma_straight_lines.json").read_text())
RIGHT = np.pi / 2


def pose_at(point, orientation):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = orientation, point
    return T


def wrapped(difference):
    """An angle difference modulo 2π."""
    return (difference + np.pi) % (2 * np.pi) - np.pi


def arm(seed: int):
    """A random arm with a spherical wrist: any lengths, offsets, angle offsets, signs of the axes, base and tool."""
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
def test_the_eight_start_configurations_agree_with_the_reference(line):
    data = REFERENCE[line]
    q = spherical_wrist(load("puma"))(pose_at(data["p0"], zyz(*data["zyz_deg"])))
    for row, flags, known in zip(q, CONFIGURATIONS, data["start_configurations_deg"], strict=True):
        assert flags == (known["shoulder"], known["elbow"], known["wrist"])
        np.testing.assert_allclose(np.degrees(row), known["q_deg"], rtol=0, atol=1e-12)


def test_all_solutions_of_100000_random_poses_are_exact_and_complete():
    robot = load("puma")
    pose = Dynamics(robot).pose("tool")
    q = np.random.default_rng(7).uniform(-np.pi, np.pi, (100_000, 6))
    T = pose(q)
    solutions = spherical_wrist(robot)(T)
    assert not np.isnan(solutions).any()  # without a shoulder offset every branch of a reachable pose exists
    assert np.abs(pose(solutions) - T[:, None]).max() < 1e-12
    nearest = np.abs(wrapped(solutions - q[:, None])).max(axis=-1).min(axis=-1)
    # near a singularity the error of a joint is rounding divided by the distance from it, and the joints after it, if
    # they are near their own singularity, multiply this error
    wrist = np.abs(np.sin(q[:, 4]))
    radius = np.hypot(T[:, 0, 3], T[:, 1, 3])
    shoulder = np.sqrt(np.maximum(radius**2 - 0.15**2, 0.0))
    upper, fore, far = 0.432, np.hypot(0.02, 0.433), np.hypot(shoulder, T[:, 2, 3])
    stretch = np.sqrt(np.maximum(1.0 - ((far**2 - upper**2 - fore**2) / (2 * upper * fore)) ** 2, 0.0))
    assert (nearest * wrist * shoulder * stretch * far).max() < 1e-14
    assert nearest.max() < 1e-7


@pytest.mark.parametrize("seed", range(8))
def test_every_arm_with_a_spherical_wrist_is_solved(seed):
    robot = arm(seed)
    pose = Dynamics(robot).pose("tool")
    q = np.random.default_rng(seed).uniform(-np.pi, np.pi, (2000, 6))
    solutions = spherical_wrist(robot)(pose(q))
    exists = ~np.isnan(solutions).any(axis=-1)
    assert exists.any(axis=-1).all()
    assert np.nanmax(np.abs(pose(solutions) - pose(q)[:, None])) < 1e-12
    nearest = np.nanmin(np.abs(wrapped(solutions - q[:, None])).max(axis=-1), axis=-1)
    assert np.quantile(nearest, 0.99) < 1e-11
    assert nearest.max() < 1e-6
    if seed % 2:  # axis 2 is offset from axis 1: some poses have solutions with one shoulder sign only
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
def test_singular_poses_are_solved(q):
    robot = load("puma")
    pose = Dynamics(robot).pose("tool")
    solutions = spherical_wrist(robot)(pose(q))
    assert not np.isnan(solutions).all(axis=0).any()
    np.testing.assert_allclose(pose(solutions), np.broadcast_to(pose(q), (8, 4, 4)), atol=1e-12)


def test_a_wrist_on_the_first_axis_is_solved():
    rows = [DH(), DH(-RIGHT), DH(0, 0.4), DH(RIGHT, 0, 0.4), DH(-RIGHT), DH(RIGHT)]
    robot = from_dh(rows)
    solutions = spherical_wrist(robot)(pose_at([0.0, 0.0, 0.5], zyz(10, 20, 30)))
    assert not np.isnan(solutions).any()
    np.testing.assert_allclose(
        Dynamics(robot).pose("tool")(solutions)[..., :3, 3], np.tile([0.0, 0.0, 0.5], (8, 1)), atol=1e-12
    )


def test_a_pose_out_of_reach_is_nan_and_has_a_shortfall():
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


def test_a_batch_gives_the_same_bits_as_its_samples():
    solver = spherical_wrist(load("puma"))
    T = Dynamics(load("puma")).pose("tool")(np.random.default_rng(2).uniform(-3, 3, (3, 5, 6)))
    batch = solver(T)
    assert batch.shape == (3, 5, 8, 6)
    for i in range(3):
        for j in range(5):
            np.testing.assert_array_equal(solver(T[i, j]), batch[i, j])


def test_a_robot_with_another_geometry_is_an_error_that_names_the_joint():
    def puma_with(**changes):
        rows = [DH(), DH(-RIGHT), DH(0, 0.432, 0.15), DH(RIGHT, -0.02, 0.433), DH(-RIGHT), DH(RIGHT)]
        for index, row in changes.items():
            rows[int(index[1:])] = row
        return from_dh(rows)

    cases = {
        "joint 'joint2' has an axis at 80°": puma_with(_1=DH(-np.radians(80))),
        "joint 'joint3' has an axis at 10°": puma_with(_2=DH(np.radians(10), 0.432)),
        "joint 'joint4' has an axis at 70°": puma_with(_3=DH(np.radians(70), -0.02, 0.433)),
        "joint 'joint5' has an axis at 45°": puma_with(_4=DH(np.radians(45))),
        "joint 'joint6' has an axis that misses the wrist centre, on the axis of joint 'joint5', by 0.1 m": puma_with(
            _5=DH(RIGHT, 0.1)
        ),
        "joint 'joint3' has the same axis as joint 'joint2'": puma_with(_2=DH(0.0, 0.0)),
        "joint 'joint3' is prismatic": load("stanford"),
        "is carried by 7 joints": load("panda"),
    }
    for problem, robot in cases.items():
        with pytest.raises(ModelError, match=problem):
            spherical_wrist(robot)


def test_matrices_that_are_not_poses_are_errors():
    solver = spherical_wrist(load("puma"))
    with pytest.raises(ArgumentError, match=r"shape \(3, 3\)"):
        solver(np.eye(3))
    with pytest.raises(ArgumentError, match=r"pose\[1\] differs"):
        solver([np.eye(4), 2 * np.eye(4)])
    with pytest.raises(ArgumentError, match="is a reflection"):
        solver(np.diag([1.0, 1.0, -1.0, 1.0]))
    with pytest.raises(ArgumentError, match="does not exist"):
        row_of(1, 2, 1)


def test_a_nan_pose_affects_only_its_own_sample():
    solver = spherical_wrist(load("puma"))
    T = np.stack([pose_at([0.5, 0.1, 0.1], np.eye(3))] * 5)
    T[2, 0, 3] = np.nan
    is_nan = np.isnan(solver(T)).any(axis=(1, 2))
    assert is_nan.tolist() == [False, False, True, False, False]
