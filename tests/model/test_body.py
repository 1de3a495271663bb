"""Bodies: the ten parameters, moving them, adding them, and what none of them can have."""

from __future__ import annotations

import numpy as np
import pytest

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.vector import UNITS, Vec3
from appell.model.body import Body
from robots import random_body, random_pose

SEEDS = pytest.mark.parametrize("seed", range(5))


def array(matrix: Mat3) -> np.ndarray:
    return np.array([list(row) for row in matrix.rows])


def assert_same(found: Body, expected: Body) -> None:
    np.testing.assert_allclose(found.parameters, expected.parameters, atol=1e-14)


@SEEDS
def test_the_ten_parameters_say_all_of_a_body(seed):
    body = random_body(np.random.default_rng(seed))
    assert_same(Body.from_parameters(body.parameters), body)


@SEEDS
def test_the_inertia_about_the_origin_follows_from_the_parallel_axes(seed):
    body = random_body(np.random.default_rng(seed))
    c = np.array(list(body.com))
    expected = array(body.inertia) + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    np.testing.assert_allclose(array(body.about_origin.rotational), expected, atol=1e-15)


@SEEDS
def test_a_moved_body_is_the_same_matter_seen_from_elsewhere(seed):
    rng = np.random.default_rng(seed)
    body, pose = random_body(rng), random_pose(rng)
    assert_same(body.moved(pose), Body.from_inertia(body.about_origin.seen_from(pose)))
    assert_same(body.moved(pose).moved(pose.inverse), body)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(array(body.moved(pose).inertia)), np.linalg.eigvalsh(array(body.inertia)), atol=1e-14
    )


def test_two_halves_make_a_whole():
    half = Body(1.0, Vec3(0.5, 0.0, 0.0), IDENTITY)
    other = Body(1.0, Vec3(-0.5, 0.0, 0.0), IDENTITY)
    whole = Body.from_inertia(half.about_origin + other.about_origin)
    assert_same(whole, Body(2.0, Vec3(0.0, 0.0, 0.0), Mat3.symmetric(2.0, 0.0, 0.0, 2.5, 0.0, 2.5)))


@SEEDS
def test_a_body_that_exists_has_no_flaw(seed):
    assert random_body(np.random.default_rng(seed)).flaw() == ""


def test_a_thin_rod_is_just_possible_and_no_more():
    assert Body(1.0, UNITS[0], Mat3.symmetric(1e-9, 0.0, 0.0, 1.0, 0.0, 1.0)).flaw() == ""
    assert "not all positive" in Body(1.0, UNITS[0], Mat3.symmetric(0.0, 0.0, 0.0, 1.0, 0.0, 1.0)).flaw()


def test_a_flaw_quotes_the_numbers():
    assert "has mass -2 kg" in Body(-2.0, UNITS[0], IDENTITY).flaw()
    assert "not symmetric" in Body(1.0, UNITS[0], Mat3.of([[1, 1, 0], [0, 1, 0], [0, 0, 1]])).flaw()
    assert "moments of inertia 1, 1, 3 kg m²" in Body(1.0, UNITS[0], Mat3.symmetric(1, 0, 0, 1, 0, 3)).flaw()
    assert "not finite" in Body(1.0, Vec3(1e200, 0.0, 0.0), IDENTITY).flaw()
