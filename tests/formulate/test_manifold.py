"""Contact points of shapes against exact distances, and manifolds of faces that are known."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from appell.algebra.matrix import Mat3
from appell.algebra.rotation import Pose
from appell.algebra.vector import Vec3
from appell.formulate.distance.closest import Solid, closest
from appell.formulate.distance.manifold import (
    ABSENT_DISTANCE_M,
    COUNTS,
    EDGE_PREFERENCE,
    MANIFOLDS,
    contact_points,
    point_count,
)

RADIUS = {"point": 0.06, "segment": 0.05, "arc": 0.02}
FLAT = 1e-9


def pose(translation=(0.0, 0.0, 0.0), rotation=None) -> Pose:
    turned = np.eye(3) if rotation is None else rotation.as_matrix()
    return Pose(Mat3.of(turned.tolist()), Vec3(*map(float, translation)))


def random_solid(core: str, rng) -> Solid:
    sizes = {"point": (0.0,), "segment": rng.uniform(0.05, 0.3, 1), "box": rng.uniform(0.03, 0.2, 3), "plane": ()}
    sizes |= {"cylinder": rng.uniform(0.05, 0.2, 2), "arc": (0.2, 1.0)}
    at = pose(0.2 * rng.normal(size=3), Rotation.random(random_state=rng))
    return Solid(core, tuple(map(float, sizes[core])), RADIUS.get(core, 0.0), at)


def moved(solid: Solid, by: Vec3) -> Solid:
    return replace(solid, pose=Pose(solid.pose.rotation, solid.pose.translation + by))


def points_of(one: Solid, other: Solid) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    distance, normal, point = zip(*contact_points(one, other), strict=True)
    return np.array(distance), np.array([list(n) for n in normal]), np.array([list(p) for p in point])


@pytest.mark.parametrize("cores", MANIFOLDS, ids="-".join)
def test_the_deepest_point_of_shapes_that_overlap_slightly_has_their_distance(cores):
    rng = np.random.default_rng(3)
    for _ in range(60):
        one, other = (random_solid(core, rng) for core in cores)
        at = closest(one, other)
        one = moved(one, (-0.002 - at.distance) * at.normal)
        exact = closest(one, other)
        if abs(exact.distance + 0.002) > 1e-6:  # another part of the shapes is nearer after the shift
            continue
        distance, normal, _ = points_of(one, other)
        margin = EDGE_PREFERENCE * min((*one.size, *other.size)) if cores == ("box", "box") else 0.0
        assert len(distance) == point_count(*cores) == COUNTS.get(cores, 1)
        assert -margin - 1e-12 <= distance.min() - exact.distance <= 1e-12
        np.testing.assert_allclose(np.linalg.norm(normal, axis=1), 1.0, atol=1e-12)
        back, opposite, _ = points_of(other, one)
        if cores[0] != cores[1]:
            np.testing.assert_array_equal(back, distance)
            np.testing.assert_array_equal(opposite, -normal)


@pytest.mark.parametrize("cores", [("segment", "box"), ("segment", "segment"), ("box", "plane"), ("cylinder", "plane")])
def test_no_point_is_nearer_than_the_shapes_are(cores):
    rng = np.random.default_rng(4)
    for _ in range(60):
        one, other = (random_solid(core, rng) for core in cores)
        distance, _, _ = points_of(one, other)
        exact = closest(one, other).distance
        assert distance.min() - exact >= -1e-12
        if exact > 0.0:
            assert distance.min() - exact <= 1e-12


def box(half, height=0.0, turn=0.0, x=0.0) -> Solid:
    return Solid("box", tuple(half), 0.0, pose((x, 0.0, height), Rotation.from_euler("z", turn)))


def test_boxes_on_each_other_touch_at_the_corners_of_their_common_polygon():
    cube = box((0.1, 0.1, 0.1))
    distance, normal, point = points_of(box((0.1, 0.1, 0.1), 0.201), cube)
    np.testing.assert_allclose(distance, 0.001, atol=FLAT)
    np.testing.assert_allclose(normal, [[0, 0, 1]] * 4, atol=FLAT)
    corners = {(round(x, 4), round(y, 4)) for x, y, _ in point}
    assert corners == set(product((0.1, -0.1), repeat=2))

    bar = box((0.5, 0.02, 0.1), 0.199, np.radians(30.0))  # lies across, beyond two sides
    distance, _, point = points_of(bar, cube)
    np.testing.assert_allclose(distance, -0.001, atol=FLAT)
    middle, half = 0.1 * np.tan(np.radians(30.0)), 0.02 / np.cos(np.radians(30.0))
    expected = [(s * 0.1, s * middle + w * half) for s in (1, -1) for w in (1, -1)]
    corners_of_bar = sorted(map(tuple, np.round(point[:, :2], 4)))
    np.testing.assert_allclose(corners_of_bar, sorted(map(tuple, np.round(expected, 4))), atol=1e-9)

    turned = points_of(box((0.1, 0.1, 0.1), 0.2, np.radians(45.0)), cube)[2]  # an octagon: four of its corners
    assert len({tuple(np.round(p, 6)) for p in turned}) == 4
    assert np.abs(turned[:, :2].mean(axis=0)).max() < 1e-9


def test_the_deepest_corner_of_a_tilted_box_is_a_contact_point():
    rng, cube = np.random.default_rng(5), box((0.1, 0.1, 0.1))
    for _ in range(50):
        turn = Rotation.from_euler("xyz", [*rng.uniform(-0.02, 0.02, 2), rng.uniform(-1.5, 1.5)])
        upper = Solid("box", (0.06, 0.05, 0.04), 0.0, pose((*rng.uniform(-0.05, 0.05, 2), 0.14), turn))
        exact = closest(upper, cube)
        upper = moved(upper, (-1e-3 - exact.distance) * exact.normal)
        assert abs(points_of(upper, cube)[0].min() + 1e-3) < 5e-5


def test_edges_that_cross_touch_at_one_point():
    lower = Solid("box", (0.1, 0.1, 0.1), 0.0, pose(rotation=Rotation.from_euler("x", np.pi / 4)))
    turn = Rotation.from_euler("z", np.pi / 2) * Rotation.from_euler("x", np.pi / 4)
    upper = Solid("box", (0.1, 0.1, 0.1), 0.0, pose((0.0, 0.0, 0.2 * np.sqrt(2.0) + 0.001), turn))
    distance, normal, point = points_of(upper, lower)
    np.testing.assert_allclose(distance[0], 0.001, atol=FLAT)
    np.testing.assert_allclose(normal[0], [0, 0, 1], atol=FLAT)
    np.testing.assert_allclose(point[0], [0, 0, 0.1 * np.sqrt(2.0) + 0.0005], atol=FLAT)
    assert (distance[1:] == ABSENT_DISTANCE_M).all()


def test_boxes_beside_each_other_do_not_touch():
    distance, _, _ = points_of(box((0.1, 0.1, 0.1), height=0.21, x=0.25), box((0.1, 0.1, 0.1)))
    assert (distance == ABSENT_DISTANCE_M).all()
    assert point_count("box", "cylinder") == 0
