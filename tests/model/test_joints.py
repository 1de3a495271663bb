"""Every kind of joint implements the same interface, and its methods agree with each other."""

from __future__ import annotations

import numpy as np
import pytest

from appell.algebra.rotation import Pose
from appell.model.joints import KINDS, Motion

MOTIONS = [kind((1.0, -2.0, 0.5)) if hasattr(kind, "axis") else kind() for kind in KINDS.values()]
each = pytest.mark.parametrize("motion", MOTIONS, ids=lambda motion: motion.name)
STEP = 1e-6  # central differences of functions of order 1: error near STEP² + 1e-16 / STEP


def homogeneous(pose: Pose) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = [list(row) for row in pose.rotation.rows], list(pose.translation)
    return matrix


def pose_matrix(motion: Motion, q: np.ndarray) -> np.ndarray:
    return homogeneous(motion.pose([float(x) for x in q]))


@each
def test_the_pose_at_the_neutral_configuration_is_the_identity(motion):
    assert len(motion.neutral) == motion.nq
    assert len(motion.partials) == motion.nv
    np.testing.assert_array_equal(pose_matrix(motion, np.array(motion.neutral)), np.eye(4))


@each
def test_partials_are_the_velocity_of_the_link_in_its_own_axes(motion):
    rng = np.random.default_rng(0)
    q = motion.random(rng)
    for k, partial in enumerate(motion.partials):
        unit = np.eye(motion.nv)[k]
        forth, back = (pose_matrix(motion, motion.integrate(q, sign * STEP * unit)) for sign in (1.0, -1.0))
        rate = (forth - back) / (2 * STEP)
        twist = np.linalg.inv(pose_matrix(motion, q)) @ rate
        np.testing.assert_allclose(twist[:3, 3], list(partial.linear), atol=1e-9)
        np.testing.assert_allclose([twist[2, 1], twist[0, 2], twist[1, 0]], list(partial.angular), atol=1e-9)


@each
def test_the_rate_of_q_is_the_derivative_of_integration(motion):
    rng = np.random.default_rng(1)
    q, v = motion.random(rng), rng.normal(size=motion.nv)
    numeric = (motion.integrate(q, STEP * v) - motion.integrate(q, -STEP * v)) / (2 * STEP)
    np.testing.assert_allclose([float(x) for x in motion.rate(q, v)], numeric, atol=1e-9)


@each
def test_two_steps_with_the_same_velocity_add_up(motion):
    rng = np.random.default_rng(2)
    q, v = motion.random(rng), rng.normal(size=motion.nv)
    once, twice = motion.integrate(q, v), motion.integrate(motion.integrate(q, 0.25 * v), 0.75 * v)
    np.testing.assert_allclose(pose_matrix(motion, once), pose_matrix(motion, twice), atol=1e-14)


@each
def test_integration_of_a_batch_is_that_of_its_samples(motion):
    rng = np.random.default_rng(3)
    q = np.stack([motion.random(rng) for _ in range(4)])
    v = rng.normal(size=(4, motion.nv))
    np.testing.assert_allclose(
        motion.integrate(q, v), [motion.integrate(a, b) for a, b in zip(q, v, strict=True)], atol=1e-15
    )


@each
def test_tiny_steps_are_accurate(motion):
    v = np.full(motion.nv, 1e-9)
    moved = pose_matrix(motion, motion.integrate(np.array(motion.neutral), v)) - np.eye(4)
    linear = sum((1e-9 * np.array(list(partial.linear)) for partial in motion.partials), np.zeros(3))
    np.testing.assert_allclose(moved[:3, 3], linear, rtol=1e-8, atol=1e-24)
