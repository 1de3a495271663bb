"""Collisions of a motion, compared with Pinocchio and coal on the meshes of a Panda."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import appell as ap
from appell.algebra.mesh import Mesh
from appell.describe.robot_packages import examples
from appell.describe.urdf.srdf import srdf_of
from appell.errors import ArgumentError, DescriptionError, SimulationError
from appell.motion import CartesianLine, Ramp, Spline, check_margin, time_optimal, zyz

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


def test_rows_that_are_not_finite_are_listed_and_do_not_count_as_touching():
    robot = ap.load("planar-2r").with_collisions(BALL, POST)
    result = ap.collisions(robot, [[0.0, 0.0], [np.nan, 0.0], [0.5, 0.0]])
    assert result.not_finite.tolist() == [1]
    assert result.rows.tolist() == [2]
    assert "1 rows are not finite and were not checked, the first at row 1" in str(result)
    clean = ap.collisions(robot, [[-1.0, 0.0], [np.inf, 0.0]])
    assert not len(clean.rows)
    assert "no collisions in 2 rows" in str(clean)
    assert "not finite" in str(clean)
    with pytest.raises(ArgumentError, match="row 1 of the motion is not finite"):
        check_margin(robot, [[-1.0, 0.0], [np.nan, 0.0]], 0.01)


def test_a_motion_without_rows_is_refused():
    robot = ap.load("planar-2r").with_collisions(BALL, POST)
    with pytest.raises(ArgumentError, match="the motion has no rows"):
        ap.collisions(robot, np.zeros((0, 2)))


def test_every_pair_may_have_its_own_margin():
    robot = ap.load("planar-2r").with_collisions(BALL, POST, ap.Collision(None, "plane", name="floor"))
    pairs = [("ball", "post"), ("ball", "floor")]
    q = [[-1.0, 0.0], [0.1, 0.0]]
    assert ap.collisions(robot, q, pairs=pairs, margin=[9.0, -0.2]).touching.tolist() == [[True, False]] * 2
    with pytest.raises(ArgumentError, match="margin has shape"):
        ap.collisions(robot, q, pairs=pairs, margin=[0.1, 0.1, 0.1])


def test_open_and_flat_meshes_are_compared_and_meshes_without_extent_are_refused():
    corners = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.3, 0.0], [0.3, 0.3, 0.1]])
    meshes = {
        "open": Mesh(corners, np.array([[0, 1, 2], [1, 3, 2]])),
        "flat": Mesh(corners * [1.0, 1.0, 0.0], np.array([[0, 1, 2], [1, 3, 2]])),
        "point": Mesh(corners * 0.0, np.array([[0, 1, 2]])),
    }
    for name, mesh in meshes.items():
        shape = ap.Collision(None, "mesh", name=name, triangles=mesh, pose=[0.95, 0.4, -0.05])
        robot = ap.load("planar-2r").with_collisions(BALL, shape)
        if name == "point":
            with pytest.raises(DescriptionError, match="collision shape 'point'"):
                ap.collisions(robot, [[0.5, 0.0]])
        else:
            assert ap.collisions(robot, [[0.45, 0.0], [-1.0, 0.0]]).touching[:, 0].tolist() == [True, False]


def test_motions_along_a_path_are_refused_with_time_and_pair():
    robot = ap.load("planar-2r").with_collisions(BALL, POST)
    through = Ramp([-0.5, 0.0], [1.5, 0.0], 1.0, 2.0, names=robot.coordinate_names)
    limits = {"velocity": 1.0, "acceleration": 4.0, "torque": np.inf}
    with pytest.raises(
        SimulationError, match=r"'ball' and 'post' of robot 'planar-2r' are too near .* from .* s to"
    ) as e:
        time_optimal(through, robot, **limits, margin=0.05)
    first = ap.collisions(robot, through, margin=0.05).intervals[0]
    assert f"from {first.start:.6g} s to {first.end:.6g} s" in str(e.value)
    assert "more than 0.05 m" in str(e.value)
    aside = Ramp([-0.5, 0.0], [-1.5, 0.0], 1.0, 2.0, names=robot.coordinate_names)
    free, kept = (time_optimal(aside, robot, **limits, margin=margin) for margin in (None, 0.05))
    assert free.duration == kept.duration
    assert time_optimal(through, robot, **limits).duration > 1.0
    with pytest.raises(ArgumentError, match="has no collision shapes"):
        time_optimal(aside, ap.load("planar-2r"), **limits, margin=0.05)


def test_a_line_takes_another_configuration_if_the_first_one_is_too_near():
    puma = ap.load("puma")
    ends = [0.45, 0.15, 0.2], [0.45, -0.05, 0.2]
    free = CartesianLine(puma, "tool", *ends, zyz(0, 120, 0), 2.0)
    elbow = ap.Dynamics(puma).pose("link3", free(1.0)[0])[:3, 3]
    shapes = (
        ap.Collision("link3", "sphere", (0.08,), name="elbow"),
        ap.Collision(None, "sphere", (0.05,), name="lamp", pose=elbow),
    )
    robot = puma.with_collisions(*shapes)
    kept = CartesianLine(robot, "tool", *ends, zyz(0, 120, 0), 2.0, margin=0.02)
    assert not len(ap.collisions(robot, kept, margin=0.02).rows)
    assert len(ap.collisions(robot, free, margin=0.02).rows)
    t = np.linspace(0.0, 2.0, 7)
    assert np.allclose(ap.Dynamics(puma).pose("tool", kept(t)[0]), kept.pose(t), atol=1e-9)
    with pytest.raises(SimulationError, match="'elbow' and 'lamp'"):
        CartesianLine(robot, "tool", *ends, zyz(0, 120, 0), 2.0, configuration=(1, 1, 1), margin=0.02)


def test_time_optimal_motions_of_a_ur5_keep_the_margin_on_the_meshes_by_coal():
    path = examples().get("ur5_robot")
    if path is None:
        pytest.skip("example-robot-data is not installed")
    robot = ap.with_srdf(ap.load(path), srdf_of(path))
    folded = [0.4, -0.6, 2.75, 1.2, -1.2, 0.0]
    names, start = robot.coordinate_names, [0.0, -1.2, 1.0, 0.3, 0.5, 0.0]
    with pytest.raises(SimulationError, match="'upper_arm_link' and 'wrist_2_link'"):
        time_optimal(Spline([0.0, 1.0], [start, folded], 5, names), robot, margin=0.02)
    fast = time_optimal(Spline([0.0, 1.0], [start, [0.4, -0.6, 1.5, 0.8, -0.5, 0.0]], 5, names), robot, margin=0.02)
    assert not len(ap.collisions(robot, fast, margin=0.02).rows)
