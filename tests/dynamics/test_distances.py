"""Distances as Functions: gradients, batches, covers, exports, sampled pairs, and invalid pairs."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.compile.native.machine import host
from appell.describe.robot_packages import examples
from appell.dynamics import distances
from appell.errors import ArgumentError, ModelWarning
from c_libraries import address, library

BALL = ap.Collision("lower", "sphere", (0.1,), name="ball", pose=[0.5, 0.0, 0.0])
POST = ap.Collision(None, "capsule", (0.1, 0.3), name="post", pose=[0.9, 0.5, 0.1])

ARM = """
name = "arm"
[[link]]
name = "upper"
joint = "revolute"
axis = [0, 1, 0]
mass = 1.0
inertia = [0.1, 0.1, 0.1]
[[link.collision]]
shape = "capsule"
size = [0.05, 0.4]
xyz = [0, 0, 0.3]
[[link]]
name = "slide"
parent = "upper"
joint = "prismatic"
axis = [0, 0, 1]
xyz = [0, 0, 0.6]
mass = 1.0
inertia = [0.1, 0.1, 0.1]
[[link]]
name = "wrist"
parent = "slide"
joint = "spherical"
mass = 1.0
inertia = [0.1, 0.1, 0.1]
[[link.collision]]
shape = "box"
size = [0.3, 0.1, 0.2]
xyz = [0.3, 0.1, 0]
[[link.collision]]
shape = "cylinder"
size = [0.05, 0.3]
xyz = [0, 0.3, 0.1]
[[collision]]
name = "block"
shape = "sphere"
size = [0.3]
xyz = [1.2, 0, 0.4]
[[collision]]
name = "floor"
shape = "plane"
xyz = [0, 0, -0.6]
rpy = [0.1, 0.2, 0]
"""


def directional(function, robot, q, direction, step=1e-6):
    """Central difference of the distances along a direction of v."""
    plus, minus = (function(robot.integrate(q, side * step * direction)) for side in (1.0, -1.0))
    return (plus - minus) / (2.0 * step)


def configurations(robot, count, seed=0):
    rng = np.random.default_rng(seed)
    return np.array([robot.random_configuration(rng) for _ in range(count)]), rng.normal(size=(count, robot.nv))


def test_gradients_are_the_derivatives_along_v_for_all_joints_and_shapes():
    robot = ap.load(ARM)
    dyn = ap.Dynamics(robot)
    q, v = configurations(robot, 50)
    distance, _, _, _, J = dyn.distances()(q)
    expected = directional(dyn.distances(witnesses=False, gradient=False), robot, q, v)
    error = np.abs(np.einsum("bpk,bk->bp", J, v) - expected)
    assert distance.shape == (50, 6)
    assert np.quantile(error, 0.97) < 1e-7  # a few are at switches


def test_a_batch_equals_its_samples_and_all_variants_agree():
    dyn = ap.Dynamics(ap.load(ARM))
    q, _ = configurations(dyn.system, 9)
    batch = dyn.distances()(q)
    for k in range(9):
        for complete, single in zip(batch, dyn.distances()(q[k]), strict=True):
            assert np.array_equal(complete[k], single)
    assert np.allclose(dyn.distances(witnesses=False, gradient=False)(q), batch[0], atol=1e-15)  # fused differently
    one, p1, p2, n, J = dyn.distance("wrist 2", "block")(q)
    index = dyn.system.collision_pairs.pairs.index(("wrist 2", "block"))
    assert np.allclose(p1 - p2, one[:, None] * n, atol=1e-15)
    assert np.allclose(one, batch[0][:, index], atol=1e-15)
    assert np.allclose(J, batch[4][:, index], atol=1e-14)


def test_the_distance_of_a_link_is_the_smallest_of_its_shapes():
    dyn = ap.Dynamics(ap.load(ARM))
    q, _ = configurations(dyn.system, 20)
    link, p1, *_ = dyn.distance("wrist", "floor")(q)
    shapes = [dyn.distance(name, "floor")(q) for name in ("wrist 1", "wrist 2")]
    assert np.array_equal(link, np.minimum(shapes[0][0], shapes[1][0]))
    assert all(np.array_equal(p1[k], shapes[int(shapes[1][0][k] < shapes[0][0][k])][1][k]) for k in range(20))


@pytest.mark.parametrize("smooth", [0.0, 0.05])
def test_one_kernel_per_kind_of_pair_gives_the_same_distances(smooth, monkeypatch):
    arc = ap.Collision("upper", "arc", (0.3, 1.0, 0.02), name="arc", pose=[0.1, 0.0, 0.5])
    plate = ap.Collision(None, "box", (0.4, 0.3, 0.02), name="plate", pose=[0.2, 0.6, 0.3])
    robot = ap.load(ARM).with_collisions(arc, plate)
    dyn = ap.Dynamics(robot)
    pairs = (*robot.collision_pairs.pairs, ("wrist", "floor"), ("wrist", "upper"))  # links with several shapes
    q, _ = configurations(robot, 50)
    q[7, 0] = np.nan
    monkeypatch.setattr(distances, "MAX_EVALUATED", 100)  # several calls per kernel
    values = distances.PairDistances(dyn, pairs, smooth)(q)
    expected = dyn.distances(pairs, witnesses=False, gradient=False, smooth=smooth)(q)
    assert np.isnan(values[7, pairs.index(("wrist 2", "block"))])
    np.testing.assert_allclose(values, expected, rtol=0.0, atol=1e-14)


def loaded(name, **options):
    if name not in examples():
        pytest.skip("example-robot-data is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ap.load(examples()[name], **options)


def test_a_floating_quadruped_above_a_floor_agrees_with_coal():
    coal = pytest.importorskip("coal")
    robot = loaded("solo12", base="floating")
    shapes = [ap.Collision(link, "capsule", (0.02, 0.1), name=link) for link in robot.link_names if "LOWER" in link]
    robot = replace(robot, collisions=()).with_collisions(*shapes, ap.Collision(None, "plane", name="floor"))
    dyn = ap.Dynamics(robot)
    q, v = configurations(robot, 6)
    d, p1, _, _, J = dyn.distances()(q)
    assert (
        np.abs(
            np.einsum("bpk,bk->bp", J, v) - directional(dyn.distances(witnesses=False, gradient=False), robot, q, v)
        ).max()
        < 1e-7
    )
    for k, (one, other) in enumerate(robot.collision_pairs.pairs):
        sides = []
        for name in (one, other):
            geometry = coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0) if name == "floor" else coal.Capsule(0.02, 0.1)
            pose = np.eye(4) if name == "floor" else dyn.pose(name, q[0])
            sides += [geometry, coal.Transform3s(pose[:3, :3].copy(), pose[:3, 3].copy())]
        result = coal.DistanceResult()
        assert abs(coal.distance(*sides, coal.DistanceRequest(), result) - d[0, k]) < 1e-9
        assert np.abs(result.getNearestPoint1() - p1[0, k]).max() < 1e-6


def test_meshes_are_covered_so_that_distances_are_never_too_large():
    pytest.importorskip("coal")
    robot = loaded("ur5_robot")
    dyn = ap.Dynamics(robot)
    pairs = robot.collision_pairs.pairs[:3]
    q, _ = configurations(robot, 20)
    result = ap.collisions(dyn, q, pairs=pairs)
    assert not (result.touching & (result.distance > 0.0)).any()
    assert len(ap.collisions(dyn, q, pairs=pairs, exact=False).rows) >= len(result.rows)


def test_sampling_lists_pairs_that_always_or_never_touch_with_the_reason():
    ball = ap.Collision("lower", "sphere", (0.1,), name="ball")
    wall = ap.Collision(None, "plane", name="wall")
    far = ap.Collision(None, "sphere", (0.1,), name="far", pose=[9.0, 0.0, 0.0])
    near = ap.Collision(None, "sphere", (0.1,), name="near", pose=[1.0, 0.0, 0.0])
    dyn = ap.Dynamics(ap.load("planar-2r").with_collisions(ball, wall, far, near))
    pairs, ignored = dyn.collision_pairs(200)
    reasons = {pair[:2]: pair.reason for pair in ignored}
    assert pairs == (("ball", "near"),)
    assert reasons["ball", "wall"] == "touch in all of 201 configurations, by at least 0.1 m"
    assert reasons["ball", "far"].startswith("never touch in 201 configurations; the smallest distance is 7.")


def test_exports_compute_the_same_distances():
    casadi = pytest.importorskip("casadi")
    dyn = ap.Dynamics(ap.load(ARM))
    function = dyn.distances([("upper", "wrist 2"), ("wrist", "floor")])
    q, _ = configurations(dyn.system, 3)
    expected = function(q[0])
    values = function.to_casadi()(q[0])
    for value, other in zip(values, expected, strict=True):
        assert np.allclose(np.array(casadi.DM(value)).reshape(other.shape), other, atol=1e-13)


def test_distances_in_c_have_the_same_bits(tmp_path):
    dyn = ap.Dynamics(ap.load(ARM))
    function = dyn.distances()
    q, _ = configurations(dyn.system, 20)
    c, expected = library(function.to_c("distances"), tmp_path, "-O0"), function(q)
    for k, row in enumerate(np.ascontiguousarray(q)):
        values = [np.full(x[k].shape, np.nan) for x in expected]
        c.distances(address(row), *map(address, values))
        for value, other in zip(values, expected, strict=True):
            assert np.array_equal(value, other[k]) if host().has_fma else np.allclose(value, other[k], atol=1e-13)


def test_distances_in_jax_agree_and_have_the_gradient_of_the_function():
    jax = pytest.importorskip("jax")
    dyn = ap.Dynamics(ap.load("planar-2r").with_collisions(BALL, POST))
    pairs = dyn.system.collision_pairs.pairs
    q = np.random.default_rng(0).uniform(-3.0, 3.0, (5, 2))
    with jax.enable_x64(True):
        values = dyn.distances(pairs).to_jax()(q)
        single = dyn.distances(pairs, witnesses=False, gradient=False).to_jax()
        slopes = jax.vmap(jax.jacobian(single))(q)
    for value, other in zip(values, dyn.distances(pairs)(q), strict=True):
        assert np.allclose(value, other, atol=1e-12)
    assert np.allclose(slopes, values[-1], atol=1e-9)


@pytest.mark.parametrize(
    ("pairs", "problem"),
    [
        ([("upper", "table")], "no collision shape or link 'table'"),
        ([("wrist 1", "wrist 2")], "'wrist 1' and 'wrist 2' are fixed to each other on link 'wrist'"),
        (["upper"], "a pair of collision shapes is 'upper'"),
        ([], "has no pair of collision shapes to check"),
    ],
)
def test_pairs_that_do_not_exist_are_refused(pairs, problem):
    with pytest.raises(ArgumentError, match=problem):
        ap.Dynamics(ap.load(ARM)).distances(pairs)


def test_robots_without_shapes_and_mechanisms_are_refused():
    with pytest.raises(ArgumentError, match="has no collision shapes"):
        ap.Dynamics(ap.load("puma")).distances()
    with pytest.raises(ArgumentError, match="is a mechanism in closed form"):
        ap.Dynamics(ap.load("delta")).distances()
    with pytest.raises(ArgumentError, match="smooth is 2"):
        ap.Dynamics(ap.load(ARM)).distances(smooth=2.0)


def test_many_pairs_warn_with_the_time_and_the_reason(monkeypatch):
    monkeypatch.setattr(distances, "MANY_PAIRS", 3)
    with pytest.warns(ModelWarning, match="6 pairs of collision shapes compile in about .* s, because each pair has"):
        ap.Dynamics(ap.load(ARM)).distances()


def test_constrained_robots_have_gradients_along_their_independent_velocities():
    bars = ap.load("four-bar")
    ball = ap.Collision("coupler", "sphere", (0.05,), name="ball")
    post = ap.Collision(None, "sphere", (0.05,), name="post", pose=[0.1, 0.9, 0.1])
    robot = bars.with_collisions(ball, post)
    dyn = ap.Dynamics(robot)
    q, step = robot.start, 1e-6
    _, J = dyn.distances(witnesses=False)(q)
    only = dyn.distances(witnesses=False, gradient=False)
    plus, minus = (only(robot.integrate(q, [side * step])) for side in (1.0, -1.0))
    assert abs((plus - minus)[0] / (2.0 * step) - J[0, 0]) < 1e-7
