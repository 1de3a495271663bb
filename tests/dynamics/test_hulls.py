"""Distances of convex hulls against Qhull, coal, bounds from both sides, and differences; inputs that are refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import appell as ap
from appell import hardware
from appell.algebra.hull import convex_hull, reduced_hull
from appell.algebra.mesh import Mesh
from appell.compile import function
from appell.describe.robot_packages import examples
from appell.errors import ArgumentError, DescriptionError, TraceError
from appell.formulate.distance import hulls
from appell_lab.campaigns.hulls import KINDS, TAGS, examine
from c_libraries import address, library

NO_FACES = np.empty((0, 3), int)


def hull_of(body, points, name, **options):
    mesh = ap.Collision(body, "mesh", triangles=Mesh(np.asarray(points, float), NO_FACES), name=name, **options)
    return ap.hull(mesh)


@pytest.fixture(scope="module")
def arm():
    rng = np.random.default_rng(0)
    shapes = [hull_of(f"link{k}", rng.normal(size=(12, 3)) * 0.1, f"link{k}") for k in (2, 5, 6)]
    post = ap.Collision(None, "box", (0.3, 0.4, 0.5), name="post", pose=[0.5, 0.4, 0.3])
    rod = ap.Collision("link3", "capsule", (0.05, 0.3), name="rod")
    floor = ap.Collision(None, "plane", name="floor", pose=[0.0, 0.0, -0.2])
    return ap.load("puma").with_collisions(*shapes, post, rod, floor)


@pytest.mark.parametrize("kind", KINDS)
def test_random_pairs_are_exact_by_bounds_from_both_sides_and_by_the_minkowski_difference(kind):
    result = examine(kind, seed=7, shapes=4, poses=100)
    assert max(result["largest error by tag, m"].values()) < 1e-9
    assert set(result["largest error by tag, m"]) == set(TAGS)
    assert result["overlapping"] > 20
    assert result["derivatives with an error above 1e-7"] == 0
    assert result["derivatives"] > 100
    assert result["coal"]["tolerance 1e-12"]["errors above 1e-5 m"] == 0


def test_gradients_of_a_robot_agree_with_differences(arm):
    dyn = ap.Dynamics(arm)
    f = dyn.distances()
    q, step = np.random.default_rng(1).uniform(-3.0, 3.0, (200, 6)), 1e-6
    d, point1, point2, normal, J = f(q)
    assert len(arm.collision_pairs.pairs) == 12
    assert (d < 0.0).any()
    assert np.abs(point1 - point2 - d[..., None] * normal).max() < 1e-14
    for k in range(6):
        plus, minus = (f(q + side * step * np.eye(6)[k])[0] for side in (1.0, -1.0))
        smooth = np.abs((plus - d) - (d - minus)) < 1e-11
        assert smooth.mean() > 0.7
        assert np.abs((plus - minus) / (2.0 * step) - J[..., k])[smooth].max() < 1e-7


def test_batches_single_samples_and_c_have_the_same_bits(arm, tmp_path, monkeypatch):
    monkeypatch.setattr(hulls, "MAX_ITERATIONS", 4)  # the C source contains every iteration
    f = ap.Dynamics(arm).distances([("link6", "rod")])
    q = np.random.default_rng(2).uniform(-3.0, 3.0, (13, 6))
    batch = f(q)
    c = library(f.to_c("distances"), tmp_path, "-O0")
    for k, row in enumerate(q):
        for one, other in zip(f(row), batch, strict=True):
            assert np.array_equal(one, other[k])
        values = [np.full(x[k].shape, np.nan) for x in batch]
        c.distances(address(row.copy()), *map(address, values))
        for value, other in zip(values, batch, strict=True):
            np.testing.assert_allclose(value, other[k], rtol=0.0, atol=1e-13)


def test_a_sample_that_is_not_finite_is_lost_alone(arm):
    f = ap.Dynamics(arm).distances(witnesses=False, gradient=False)
    q = np.random.default_rng(3).uniform(-3.0, 3.0, (9, 6))
    expected = f(q)
    q[4, 1] = np.nan
    values = f(q)
    assert np.isnan(values[4]).any()
    assert np.array_equal(np.delete(values, 4, axis=0), np.delete(expected, 4, axis=0))


def test_collisions_and_margins_use_hulls(arm):
    q = np.random.default_rng(4).uniform(-3.0, 3.0, (60, 6))
    expected = ap.Dynamics(arm).distances(witnesses=False, gradient=False)(q)
    result = ap.collisions(arm, q)
    np.testing.assert_allclose(result.distance, expected, rtol=0.0, atol=1e-14)
    assert not result.covered
    assert np.array_equal(result.touching, expected <= 0.0)


def test_hulls_of_meshes_lie_between_the_meshes_and_the_capsules():
    coal = pytest.importorskip("coal")
    if "ur5_robot" not in examples():
        pytest.skip("example-robot-data is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = ap.load(examples()["ur5_robot"])
    pairs = [("upper_arm_link", "wrist_2_link"), ("base_link", "wrist_3_link")]
    hulled = ap.hull(robot, vertices=24)
    q = np.random.default_rng(5).uniform(-2.0, 2.0, (20, 6))
    options = {"witnesses": False, "gradient": False}
    of_hulls = ap.Dynamics(hulled).distances(pairs, **options)(q)
    of_capsules = ap.Dynamics(robot).distances(pairs, **options)(q)
    assert np.median(of_hulls - of_capsules) > 0.01
    radii = {shape.name: shape.size[0] for shape in hulled.collisions if shape.shape == "hull"}
    from appell.motion.collision_check import _geometry

    geometry = {shape.name: _geometry(coal, shape) for shape in robot.collisions}
    dyn = ap.Dynamics(robot)
    poses = {shape.name: shape.pose.matrix for shape in robot.collisions}
    for k, (one, other) in enumerate(pairs):
        for row in range(len(q)):
            sides = []
            for name in (one, other):
                pose = np.array(dyn.pose(name, q[row])) @ np.array(poses[name], float)
                sides += [geometry[name], coal.Transform3s(pose[:3, :3].copy(), pose[:3, 3].copy())]
            exact = coal.distance(*sides, coal.DistanceRequest(), coal.DistanceResult())
            assert of_hulls[row, k] < exact + 1e-6
            if exact > 0.05:  # the meshes are close to convex
                assert of_hulls[row, k] > exact - 0.03 - radii[one] - radii[other]


def test_reduced_hulls_contain_all_points():
    points = np.random.default_rng(6).normal(size=(500, 3))
    complete = convex_hull(points)
    hull, radius = reduced_hull(points, 20)
    assert len(hull.vertices) == 20
    directions = np.random.default_rng(7).normal(size=(1000, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    heights = (hull.vertices @ directions.T).max(axis=0) + radius - (complete.vertices @ directions.T).max(axis=0)
    assert heights.min() >= 0.0
    assert heights.min() < 0.3 * radius
    assert reduced_hull(points[:15], 20)[1] == 0.0


@pytest.mark.parametrize("kind", ["cylinder", "ellipsoid"])
def test_hulls_of_cylinders_and_ellipsoids_contain_them(kind):
    size = (0.1, 0.6) if kind == "cylinder" else (0.3, 0.2, 0.1)
    shape = ap.hull(ap.Collision("arm", kind, size), vertices=32)
    directions = np.random.default_rng(8).normal(size=(1000, 3))
    if kind == "cylinder":
        heights = 0.1 * np.hypot(*directions[:, :2].T) + 0.3 * np.abs(directions[:, 2])
    else:
        heights = np.linalg.norm(directions * np.array(size), axis=1)
    of_hull = (shape.triangles.vertices @ directions.T).max(axis=0)
    assert (of_hull >= heights - 1e-12).all()
    assert 0.0 < shape.excess < 0.5


def test_bad_meshes_and_numbers_are_refused():
    ball = ap.Collision("upper", "mesh", triangles=Mesh(np.zeros((3, 3)), NO_FACES), name="ball")
    with pytest.raises(DescriptionError, match="'ball' is degenerate: all 3 corners of its mesh coincide"):
        ap.hull(ball)
    with pytest.raises(DescriptionError, match="corners that are not finite"):
        hull_of("upper", [[0.0, 0.0, np.nan], [1.0, 0.0, 0.0]], "ball")
    with pytest.raises(ArgumentError, match="a hull of 4 vertices"):
        ap.hull(ball, vertices=4)
    with pytest.raises(ArgumentError, match="a hull of 5000 vertices"):
        ap.hull(ball, vertices=5000)
    for surrounding in (ap.hull, ap.cover):
        for given in (3, None, "panda", ap.load("delta")):
            with pytest.raises(ArgumentError, match=r"the shape of ap\.(hull|cover) is .*\n.*a Collision, or a robot"):
                surrounding(given)
    with pytest.raises(ArgumentError, match="is a hull without triangles"):
        ap.Collision("upper", "hull", (0.0,))
    with pytest.raises(ArgumentError, match=r"the size of .* is \(-1\.0,\)"):
        ap.Collision("upper", "hull", (-1.0,), triangles=Mesh(np.eye(3), NO_FACES))


def test_an_open_mesh_stands_for_its_hull_and_a_flat_one_for_a_plate():
    corners = np.array([[x, y, z] for x in (0.0, 0.2) for y in (0.0, 0.3) for z in (0.0, 0.4)])
    ball = ap.Collision(None, "sphere", (0.05,), name="ball", pose=[0.1, 1.15, 0.2])
    for points, depth in ((corners, 0.3), (corners[corners[:, 1] == 0.0], 0.0)):
        robot = ap.load("planar-2r").with_collisions(hull_of("upper", points, "box"), ball)
        d, _, _, normal, _ = ap.Dynamics(robot).distance("box", "ball")([0.0, 0.0])
        assert d == pytest.approx(1.15 - depth - 0.05, abs=1e-15)
        assert np.allclose(normal, [0.0, -1.0, 0.0])


def test_functions_that_unroll_loops_are_refused_with_the_number_of_operations(arm, monkeypatch):
    f = ap.Dynamics(arm).distance("link6", "post", witnesses=False, gradient=False)
    monkeypatch.setattr(function, "MAX_UNROLLED", 10_000)
    with pytest.raises(TraceError, match=r"distance_link6_post of robot 'puma' has [\d,]+ operations"):
        f.jacobian("q")


def test_a_guard_refuses_hulls(arm):
    names = arm.actuator_names
    info = hardware.DeviceInfo("arm", names, modes=("torque",))
    with pytest.raises(ArgumentError, match="has convex hulls, with which a guard takes too long"):
        hardware.standard_servo(arm, info, margin=0.02)
