"""Bodies: the ten parameters, moving them, adding them, and what none of them can have."""

from __future__ import annotations

import numpy as np
import pytest

from appell.algebra.matrix import IDENTITY, Mat3
from appell.algebra.vector import UNITS, Vec3
from appell.errors import ModelError
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
    assert_same(body.moved(pose), Body.from_inertia(body.about_origin.moved(pose)))
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


PLATE = (2.24907e-4, 2.24907e-4, 4.5e-4)  # a published platform, flat to its printed digits
TEXTBOOK = {
    "a point mass": (0.0, 0.0, 0.0),
    "an ideal rod": (0.0, 1.0, 1.0),
    "an ideal plate": (1.0, 2.0, 3.0),
    "a rod with a negative moment of rounding size": (-1e-12, 1.0, 1.0),
    "a plate with an excess of rounding size": (0.1, 0.2, 0.1 + 0.2 + 1e-10),
}


@pytest.mark.parametrize("moments", TEXTBOOK.values(), ids=TEXTBOOK)
def test_bodies_from_textbooks_are_bodies(moments):
    body = Body(1.0, (1.0, 0.0, 0.0), moments)
    assert body.flaw() == ""
    assert body.rounding_warning() == ""


def test_an_excess_of_printed_digits_is_doubted_with_its_size():
    body = Body(1.0, (0.0, 0.0, 0.05165), PLATE)
    assert body.flaw() == ""
    assert (
        "exceeds the sum of the other two by 0.041 %" in body.rounding_warning()
    )  # (4.5 - 2 * 2.24907) / 4.5 = 4.13e-4


def test_what_no_rounding_excuses_is_refused_with_its_excess():
    assert "the smallest is negative" in Body(1.0, (1, 0, 0), (-0.1, 1.0, 1.0)).flaw()
    assert "2 % above" in Body(1.0, (1, 0, 0), (1.0, 0.96, 2.0)).flaw()
    assert "negative" in Body(1.0, (1, 0, 0), (-1.0, -1.0, -1.0)).flaw()


@pytest.mark.parametrize(
    "inertia",
    [
        (1.0, 2.0, 2.5),
        [1.0, 0.0, 0.0, 2.0, 0.0, 2.5],
        ((1.0, 0.0, 0.0), (0.0, 2.0, 0.0), (0.0, 0.0, 2.5)),
        np.diag([1.0, 2.0, 2.5]),
        np.array([1, 2, 2.5]),
    ],
)
def test_a_body_is_made_of_plain_sequences(inertia):
    expected = Body(2.0, Vec3(0.1, 0.2, 0.3), Mat3.symmetric(1.0, 0.0, 0.0, 2.0, 0.0, 2.5))
    for com in ((0.1, 0.2, 0.3), [0.1, 0.2, 0.3], np.array([0.1, 0.2, 0.3])):
        assert Body(2.0, com, inertia) == expected
    assert hash(Body(np.float64(2.0), com, inertia)) == hash(expected)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1.0, (0, 0), (1, 1, 1)), r"centre of mass \(0, 0\).*\n.*three numbers"),
        ((1.0, "abc", (1, 1, 1)), "centre of mass 'abc'"),
        ((1.0, (0, 0, 0), (1, 1)), r"inertia \(1, 1\).*\n.*3 numbers"),
        ((1.0, (0, 0, 0), 3.0), "inertia 3.0"),
        (("heavy", (0, 0, 0), (1, 1, 1)), "mass 'heavy'"),
    ],
)
def test_what_is_no_body_is_refused_by_name(given, message):
    with pytest.raises(ModelError, match=message):
        Body(*given)


def test_ten_parameters_without_mass_are_no_body():
    with pytest.raises(ModelError, match="mass 0 has no centre"):
        Body.from_parameters([0.0] * 10)


@pytest.mark.parametrize("small", [1e-8, 1e-10, 1e-14])
@pytest.mark.parametrize("axis", range(3))
def test_a_slender_body_keeps_its_small_moment(small, axis):
    moments = [1e6, 1e6, 1e6]
    moments[axis] = small
    body = Body(1.0, (0.0, 0.0, 0.0), moments)
    assert body.about_origin.rotational[axis, axis] == small
    assert Body.from_parameters(body.parameters).inertia[axis, axis] == small


def test_a_flaw_quotes_the_numbers():
    assert "has mass -2 kg" in Body(-2.0, UNITS[0], IDENTITY).flaw()
    assert "not symmetric" in Body(1.0, UNITS[0], Mat3.of([[1, 1, 0], [0, 1, 0], [0, 0, 1]])).flaw()
    assert "moments of inertia 1, 1, 3 kg m²" in Body(1.0, UNITS[0], Mat3.symmetric(1, 0, 0, 1, 0, 3)).flaw()
    assert "not finite" in Body(1.0, Vec3(1e200, 0.0, 0.0), IDENTITY).flaw()
