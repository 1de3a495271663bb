"""Poses: conversions between rotation matrices and quaternions, compared with SciPy."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from appell.show.scene.poses import pose_along, poses, quaternions, rotations


def test_quaternions_agree_with_scipy():
    random = Rotation.random(500, random_state=5)
    halves = Rotation.from_rotvec(np.pi * np.eye(3)[[0, 1, 2, 0, 1, 2]] * np.repeat([1.0, 1.0 - 1e-9], 3)[:, None])
    for known in (random, halves, Rotation.identity(2)):
        p, expected = quaternions(known.as_matrix()), known.as_quat()
        np.testing.assert_allclose(np.abs(np.einsum("ni,ni->n", p, expected)), 1.0, atol=1e-14)
        assert (p[:, 3] >= 0.0).all()
        np.testing.assert_allclose(rotations(p), known.as_matrix(), atol=1e-14)


def test_batches_of_any_shape_are_accepted():
    R = Rotation.random(6, random_state=1).as_matrix().reshape(2, 3, 3, 3)
    batch = poses(R, np.ones((2, 3, 3)))
    assert batch.shape == (2, 3, 7)
    np.testing.assert_allclose(rotations(batch), R, atol=1e-14)


def test_the_z_axis_points_along_a_direction():
    rng = np.random.default_rng(2)
    for direction in (*np.eye(3), *-np.eye(3), *rng.normal(size=(20, 3))):
        at = (*rng.normal(size=3), *Rotation.random(random_state=rng).as_quat())
        pose = np.array(pose_along(3.0 * direction, at))
        R = rotations(pose)
        expected = Rotation.from_quat(at[3:]).apply(direction / np.linalg.norm(direction))
        np.testing.assert_allclose(R[:, 2], expected, atol=1e-12)
        assert np.linalg.det(R) > 0.999
        np.testing.assert_allclose(pose[:3], at[:3])
