"""Newton's method for equations with projections, against the laws of contacts and known solutions."""

from __future__ import annotations

import numpy as np
import pytest

from appell.compile.ode.newton import ProjectedEquations


def equations(A, first=(), mu=(), lower=0.0, upper=np.inf):
    """Return the equations of a matrix with equal bounds of all entries."""
    n = len(A)
    r = np.full(n, 1.0 / np.linalg.norm(A, 2))
    return ProjectedEquations(A, r, np.full(n, lower), np.full(n, upper), np.array(first, int), np.array(mu, float))


@pytest.mark.parametrize("n", [1, 4, 7, 18])
def test_clipped_entries_satisfy_complementarity(n):
    rng = np.random.default_rng(n)
    Q = rng.normal(size=(n, n + 2))
    A, b = Q @ Q.T, rng.normal(size=n)
    f, error = equations(A).solve(b, np.zeros(n), 1e-12)
    u = A @ f + b
    assert error <= 1e-12
    assert f.min() >= 0.0
    np.testing.assert_allclose(np.minimum(f, u), 0.0, atol=1e-9 * np.abs(b).max())


def test_entries_between_two_bounds_stop_at_them():
    f, _ = equations(np.diag([1.0, 2.0, 4.0]), lower=-1.0, upper=1.0).solve(
        np.array([3.0, 1.0, -8.0]), np.zeros(3), 1e-12
    )
    np.testing.assert_allclose(f, [-1.0, -0.5, 1.0], atol=1e-14)


@pytest.mark.parametrize("cones", [1, 2, 4])
def test_cones_push_and_their_friction_opposes_the_slip(cones):
    rng, sticking, sliding = np.random.default_rng(cones), 0, 0
    for _ in range(60):
        n, mu = 3 * cones, rng.uniform(0.1, 2.0, cones)
        Q = rng.normal(size=(n, n + 4))
        A, b = Q @ Q.T, rng.normal(size=n)
        f, error = equations(A, 3 * np.arange(cones), mu).solve(b, np.zeros(n), 1e-12)
        if error > 1e-10:
            continue  # another start is needed
        u = (A @ f + b).reshape(-1, 3)
        for force, velocity, coefficient in zip(f.reshape(-1, 3), u, mu, strict=True):
            assert force[0] >= 0.0
            assert abs(min(force[0], velocity[0])) < 1e-8
            length, speed = np.hypot(*force[1:]), np.hypot(*velocity[1:])
            assert length <= coefficient * force[0] + 1e-9
            if speed > 1e-6:
                sliding += force[0] > 0.0
                np.testing.assert_allclose(force[1:], -coefficient * force[0] * velocity[1:] / speed, atol=1e-8)
            elif force[0] > 0.0:
                sticking += 1
    assert sticking > 2
    assert sliding > 2


def test_of_redundant_forces_those_nearest_to_the_start_are_returned():
    f, error = equations(np.ones((3, 3))).solve(np.full(3, -6.0), np.zeros(3), 1e-12)
    assert error <= 1e-12
    np.testing.assert_allclose(f, 2.0, atol=1e-13)


def test_a_problem_that_is_not_finite_has_no_small_error():
    for A, b in ((np.full((2, 2), np.nan), np.ones(2)), (np.eye(2), np.array([1.0, np.nan]))):
        problem = ProjectedEquations(A, np.ones(2), np.zeros(2), np.full(2, np.inf), np.zeros(0, int), np.zeros(0))
        assert not problem.solve(b, np.ones(2), 1e-12)[1] <= 1e-8
