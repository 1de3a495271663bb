"""Rotations, poses and symmetric tensors, compared with NumPy."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from appell.algebra.matrix import IDENTITY, Mat3, axial, axial_of_product, outer, skew, symmetric_product
from appell.algebra.rotation import Pose, about_axis, compose, of_quaternion
from appell.algebra.scalar import atan2, select, snap, sqrt
from appell.algebra.vector import UNITS, Vec3
from appell.errors import ArgumentError


def array(m) -> np.ndarray:
    return np.array([list(row) for row in m.rows]) if isinstance(m, Mat3) else np.array(list(m))


@pytest.fixture
def rng():
    return np.random.default_rng(4)


def random_rotation(rng) -> Mat3:
    return of_quaternion(*rng.normal(size=4).tolist())


def vector(rng) -> Vec3:
    return Vec3.of(rng.normal(size=3).tolist())


def symmetric(rng) -> Mat3:
    return Mat3.symmetric(*rng.normal(size=6).tolist())


def test_a_quaternion_of_any_length_gives_a_rotation(rng):
    for _ in range(20):
        R = array(random_rotation(rng))
        np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
        assert np.linalg.det(R) == pytest.approx(1.0)


def test_a_rotation_about_an_axis_keeps_the_axis_and_rotates_by_the_angle(rng):
    axis = rng.normal(size=3)
    axis = Vec3.of((axis / np.linalg.norm(axis)).tolist())
    R = array(about_axis(axis, 0.7))
    np.testing.assert_allclose(R @ array(axis), array(axis), atol=1e-15)
    assert np.trace(R) == pytest.approx(1 + 2 * math.cos(0.7))
    np.testing.assert_allclose(array(about_axis(UNITS[2], math.pi / 2)) @ [1, 0, 0], [0, 1, 0], atol=1e-15)


@pytest.mark.parametrize("axis", range(3))
def test_a_rotated_tensor_is_r_s_rt_for_any_factors(rng, axis):
    S, v = symmetric(rng), vector(rng)
    for placement in (
        IDENTITY,
        random_rotation(rng),
        about_axis(UNITS[0], 0.3),
        Pose.from_rpy(Vec3(math.pi / 2, 0, 0)).rotation,
    ):
        R = compose(placement, about_axis(UNITS[axis], 0.9))
        full = array(R.matrix)
        np.testing.assert_allclose(array(R.conjugate(S)), full @ array(S) @ full.T, atol=1e-14)
        np.testing.assert_allclose(array(R @ v), full @ array(v), atol=1e-15)
        np.testing.assert_allclose(array(R.T @ v), full.T @ array(v), atol=1e-15)


def test_roll_pitch_and_yaw_rotate_about_fixed_axes_in_this_order():
    R = array(Pose.from_rpy(Vec3(0.1, 0.2, 0.3)).rotation)
    x, y, z = (array(about_axis(UNITS[k], angle)) for k, angle in enumerate((0.1, 0.2, 0.3)))
    np.testing.assert_allclose(R, z @ y @ x, atol=1e-15)


def test_right_angles_leave_exact_zeros_and_ones():
    R = array(Pose.from_rpy(Vec3(math.pi / 2, -math.pi / 2, math.pi)).rotation)
    assert set(np.abs(R).ravel()) == {0.0, 1.0}


def test_a_pose_and_its_inverse_cancel(rng):
    pose = Pose(random_rotation(rng), vector(rng))
    point = vector(rng)
    np.testing.assert_allclose(array((pose.inverse @ pose).apply(point)), array(point), atol=1e-14)


def test_matrix_identities(rng):
    u, v, S, M = vector(rng), vector(rng), symmetric(rng), Mat3.of(rng.normal(size=(3, 3)).tolist())
    np.testing.assert_allclose(array(skew(u) @ v), np.cross(array(u), array(v)))
    np.testing.assert_allclose(array(symmetric_product(u, v)), array(outer(u, v) + outer(v, u)))
    np.testing.assert_allclose(array(skew(axial(M))), array(M - M.T), atol=1e-15)
    np.testing.assert_allclose(array(axial_of_product(M, S)), array(axial(M @ S)), atol=1e-14)


def test_scalar_functions_of_numbers_agree_with_math():
    assert sqrt(2.0) == math.sqrt(2.0)
    assert atan2(1.0, -1.0) == math.atan2(1.0, -1.0)
    assert (select(1e-300, "yes", "no"), select(0.0, "yes", "no")) == ("yes", "no")
    assert snap(math.cos(math.pi / 2)) == 0.0
    assert snap(1e-9) == 1e-9


def test_a_pose_accepts_arrays_and_lists():
    pose = Pose.from_rpy(Vec3(0.1, 0.2, 0.3), Vec3(1.0, 2.0, 3.0))
    matrix = np.array(pose.matrix)
    assert Pose.from_matrix(matrix) == Pose.from_matrix(matrix[:3]) == Pose.from_matrix(matrix.tolist()) == pose
    assert Pose(matrix[:3, :3], matrix[:3, 3]) == Pose(matrix[:3, :3].tolist(), [1, 2, 3]) == pose
    assert all(type(x) is float for row in Pose.from_matrix(matrix).rows for x in row)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Pose.from_matrix(np.eye(3)), r"the matrix of a pose has shape \(3, 3\)"),
        (lambda: Pose.from_matrix(2 * np.eye(4)), "the last row of the matrix of a pose is"),
        (lambda: Pose.from_matrix(2 * np.eye(4)[:3]), r"the matrix of a pose is not orthonormal \(error 3"),
        (lambda: Pose(-np.eye(3)), "the rotation of a pose is a reflection"),
        (lambda: Pose(np.full((3, 3), np.nan)), "the rotation of a pose contains NaN"),
        (lambda: Pose("upside down"), "the rotation of a pose is 'upside down'"),
        (lambda: Pose(translation=[1, 2]), r"the translation of a pose has shape \(2,\)"),
    ],
)
def test_arrays_that_are_not_poses_are_named_errors(make, problem):
    with pytest.raises(ArgumentError, match=problem):
        make()


NOT_REAL = ("abc", ["1", "2", "3"], [None, 1.0, 2.0], [[1.0], [2.0, 3.0], 4.0], [10**400, 0, 0], [1j, 0.0, 0.0])


@pytest.mark.parametrize("values", [*NOT_REAL, np.array([1, 2, 3], "M8[s]"), object(), [1.0, 2.0], [np.nan, 0.0, 0.0]])
@pytest.mark.parametrize("call", [Pose.from_rpy, lambda x: Pose(np.eye(3), x)])
def test_a_pose_of_values_that_are_not_real_numbers_is_refused(call, values):
    """from_rpy once raised TypeError, ValueError and OverflowError; imaginary parts and dates were dropped."""
    with pytest.raises(ArgumentError, match=r"rpy|the translation of a pose"):
        call(values)


def test_a_pose_accepts_a_rotation_of_scipy():
    from scipy.spatial.transform import Rotation

    turned = Pose(Rotation.from_euler("xyz", [0.1, 0.2, 0.3]), [1.0, 2.0, 3.0])
    expected = Pose.from_rpy([0.1, 0.2, 0.3], Vec3(1.0, 2.0, 3.0))
    np.testing.assert_allclose(turned.rows, expected.rows, atol=1e-15)


@pytest.mark.parametrize("values", NOT_REAL)
def test_axes_gravity_records_states_surfaces_and_limits_refuse_what_is_not_a_real_number(values):
    import appell as ap

    arm = ap.load("planar-2r")
    first = arm.links[0]
    calls = [
        ap.Revolute,
        arm.with_gravity,
        ap.Plane,
        lambda x: ap.Record.of(x, {}),
        lambda x: ap.Record.of([0.0, 1.0, 2.0], {"q": x}),
        lambda x: arm.integrate(x[:2], [0.0, 0.0]),
        lambda x: arm.__class__("r", (replace(first, joint=replace(first.joint, limits=ap.Limits(-1.0, x))),)),
    ]
    for call in calls:
        with pytest.raises(ap.AppellError):
            call(values)
