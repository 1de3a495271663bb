"""Collisions of a motion, compared with Pinocchio and coal on the meshes of a Panda."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import appell as ap
from appell.describe.robot_packages import examples
from appell.describe.urdf.srdf import srdf_of
from appell.errors import ArgumentError

BALL = ap.Collision("lower", "sphere", (0.1,), name="ball")
POST = ap.Collision(None, "sphere", (0.3,), name="post", pose=[1.0, 0.5, 0.0])


def swing(robot):
    """A slow motion of the first joint through the post."""
    t = np.linspace(0.0, 2.0, 201)
    q = np.stack([t - 0.5, 0.0 * t], axis=1)
    return ap.Record.of(t, {"q": q}, robot.coordinate_names)


def test_rows_times_and_intervals_of_a_record_are_those_of_the_geometry():
    robot = ap.load("planar-2r").with_collisions(BALL, POST)
    result = ap.collisions(robot, swing(robot))
    centers = ap.Dynamics(robot).pose("lower", swing(robot).q)[:, :3, 3]
    touching = np.linalg.norm(centers - [1.0, 0.5, 0.0], axis=1) <= 0.4
    assert 10 < touching.sum() < 190
    assert np.array_equal(result.rows, np.flatnonzero(touching))
    (interval,) = result.intervals
    assert interval.pair == ("ball", "post")
    assert (interval.start, interval.end) == (result.times[0], result.times[-1])
    assert f"ball and post from {result.times[0]:.6g} s" in str(result)
    assert len(ap.collisions(robot, swing(robot), margin=0.05).rows) > len(result.rows)


def test_a_motion_without_the_coordinates_of_the_robot_is_refused():
    robot = ap.load("planar-2r").with_collisions(BALL, POST)
    other = ap.Record.of(np.arange(3.0), {"q": np.zeros((3, 1))}, ["elbow"])
    with pytest.raises(ArgumentError, match="The motion has no coordinate"):
        ap.collisions(robot, other)


def test_the_colliding_rows_of_a_panda_are_those_of_pinocchio_and_coal():
    pin = pytest.importorskip("pinocchio")
    path = examples().get("panda")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = ap.with_srdf(ap.load(path, mimic=False), srdf_of(path))
    q = np.array([robot.random_configuration(seed) for seed in range(300)])
    pairs = [(one, other) for one in ("panda_link0", "panda_link1") for other in ("panda_link6", "panda_hand")]
    model = pin.buildModelFromUrdf(str(path))
    folder = str(path).partition("/example-robot-data/")[0]
    geometry = pin.buildGeomFromUrdf(model, str(path), pin.GeometryType.COLLISION, package_dirs=[folder])
    for pair in pairs:
        geometry.addCollisionPair(pin.CollisionPair(*(geometry.getGeometryId(f"{name}_0") for name in pair)))
    data, results = model.createData(), geometry.createData()
    expected = np.array([pin.computeCollisions(model, data, geometry, results, row, True) for row in q])
    result = ap.collisions(robot, q, pairs=pairs)
    assert 3 < expected.sum() < 100
    assert not result.covered
    assert result.rows.tolist() == np.flatnonzero(expected).tolist()
    conservative = ap.collisions(robot, q, pairs=pairs, exact=False)
    assert set(result.rows) < set(conservative.rows)
    assert conservative.covered == tuple(pairs)
    assert "4 pairs were checked with capsules around their shapes: conservative" in str(conservative)
