"""The matrices of an impact as Shafei 2018 prints them, against the impacts of the simulator."""

from __future__ import annotations

import numpy as np
import pytest

from appell.errors import ArgumentError
from appell.simulation.contact.impact import ImpactPoints, collide, impact_equations


@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("points", [1, 2, 3])
def test_points_that_all_bounce_move_as_in_the_simulator(points, restitution):
    rng = np.random.default_rng(points)
    root = rng.normal(size=(6, 6))
    M, J = np.eye(6) + 0.02 * root @ root.T, rng.normal(size=(points, 3, 6))
    J[:, 0] = np.linalg.qr(rng.normal(size=(6, points)))[0].T  # almost independent points all bounce
    v = -np.linalg.lstsq(J[:, 0], rng.uniform(0.5, 1.0, points), rcond=None)[0]  # all approach
    response = np.linalg.solve(M, J.reshape(-1, 6).T).T.reshape(J.shape)
    impact_points = ImpactPoints(J, response, np.full(points, restitution), np.zeros(points))
    left, right = impact_equations(M, J[:, 0], restitution)
    solved = np.linalg.solve(left, right @ v)
    impulses = solved[6:]
    collision = collide(M, v, impact_points)
    assert (impulses > 0.0).all()
    np.testing.assert_allclose(collision.v, solved[:6], atol=1e-12)
    np.testing.assert_allclose(collision.impulses[:, 0], impulses, atol=1e-12)
    energy = 0.5 * solved[:6] @ M @ solved[:6] - 0.5 * v @ M @ v
    np.testing.assert_allclose(energy, impulses @ J[:, 0] @ v * (1 - restitution) / 2, atol=1e-11)


def test_the_matrix_has_the_inertia_the_normals_and_a_block_of_zeros():
    M, N = np.diag([1.0, 2.0, 3.0]), np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    left, right = impact_equations(M, N, 0.5)
    np.testing.assert_array_equal(left[:3, :3], M)
    np.testing.assert_array_equal(left[:3, 3:], -N.T)
    np.testing.assert_array_equal(left[3:, :3], N)
    assert not left[3:, 3:].any()
    np.testing.assert_array_equal(right, np.vstack([M, -0.5 * N]))


@pytest.mark.parametrize(("M", "N"), [(np.eye(3), np.ones((1, 2))), (np.ones((2, 3)), np.ones((1, 3)))])
def test_matrices_of_mismatched_shapes_are_refused(M, N):
    with pytest.raises(ArgumentError, match=r"do not match.*\n.*\(nv, nv\) and \(points, nv\)"):
        impact_equations(M, N, 1.0)
