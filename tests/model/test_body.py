"""Bodies: the ten parameters, transforming and adding bodies, and values that are physically impossible."""

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


def assert_same(body: Body, expected: Body) -> None:
    np.testing.assert_allclose(body.parameters, expected.parameters, atol=1e-14)


@SEEDS
def test_the_ten_parameters_determine_a_body(seed):
    body = random_body(np.random.default_rng(seed))
    assert_same(Body.from_parameters(body.parameters), body)


@SEEDS
def test_the_inertia_about_the_origin_follows_from_the_parallel_axis_theorem(seed):
    body = random_body(np.random.default_rng(seed))
    c = np.array(list(body.com))
    expected = array(body.inertia) + body.mass * (c @ c * np.eye(3) - np.outer(c, c))
    np.testing.assert_allclose(array(body.about_origin.rotational), expected, atol=1e-15)


@SEEDS
def test_a_body_and_its_inertia_transform_alike(seed):
    rng = np.random.default_rng(seed)
    body, pose = random_body(rng), random_pose(rng)
    assert_same(body.moved(pose), Body.from_inertia(body.about_origin.moved(pose)))
    assert_same(body.moved(pose).moved(pose.inverse), body)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(array(body.moved(pose).inertia)), np.linalg.eigvalsh(array(body.inertia)), atol=1e-14
    )


def test_inertias_of_two_halves_add_up_to_that_of_the_body():
    half = Body(1.0, Vec3(0.5, 0.0, 0.0), IDENTITY)
    other = Body(1.0, Vec3(-0.5, 0.0, 0.0), IDENTITY)
    combined = Body.from_inertia(half.about_origin + other.about_origin)
    assert_same(combined, Body(2.0, Vec3(0.0, 0.0, 0.0), Mat3.symmetric(2.0, 0.0, 0.0, 2.5, 0.0, 2.5)))


@SEEDS
def test_a_possible_body_has_no_flaw(seed):
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
def test_textbook_bodies_are_accepted(moments):
    body = Body(1.0, (1.0, 0.0, 0.0), moments)
    assert body.flaw() == ""
    assert body.rounding_warning() == ""


def test_an_excess_due_to_rounded_digits_gives_a_warning_with_its_size():
    body = Body(1.0, (0.0, 0.0, 0.05165), PLATE)
    assert body.flaw() == ""
    warning = "exceeds the sum of the other two by 0.041 %"  # (4.5 - 2 * 2.24907) / 4.5 = 4.13e-4
    assert warning in body.rounding_warning()


def test_an_excess_that_rounding_cannot_explain_is_rejected_with_its_size():
    assert "the smallest is negative" in Body(1.0, (1, 0, 0), (-0.1, 1.0, 1.0)).flaw()
    assert "by 2 %" in Body(1.0, (1, 0, 0), (1.0, 0.96, 2.0)).flaw()
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
def test_a_body_accepts_plain_sequences(inertia):
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
def test_invalid_arguments_of_a_body_are_named(given, message):
    with pytest.raises(ModelError, match=message):
        Body(*given)


def test_parameters_with_zero_mass_are_rejected():
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


def test_a_flaw_states_the_numbers():
    assert "has mass -2 kg" in Body(-2.0, UNITS[0], IDENTITY).flaw()
    assert "not symmetric" in Body(1.0, UNITS[0], Mat3.of([[1, 1, 0], [0, 1, 0], [0, 0, 1]])).flaw()
    assert "moments of inertia 1, 1, 3 kg m²" in Body(1.0, UNITS[0], Mat3.symmetric(1, 0, 0, 1, 0, 3)).flaw()
    assert "not finite" in Body(1.0, Vec3(1e200, 0.0, 0.0), IDENTITY).flaw()
