"""Forces that push and never pull, with and without friction."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy

from appell.simulation.contact.blocks import PUSH, Block, solve_blocks
from appell.simulation.contact.complementarity import solve_complementarity
from appell.simulation.contact.impact import ImpactPoints, collide


def by_enumeration(A, b):
    """Every set of active contacts in turn."""
    for active in product([False, True], repeat=len(b)):
        chosen = np.array(active)
        f = np.zeros(len(b))
        if chosen.any():
            f[chosen] = np.linalg.solve(A[np.ix_(chosen, chosen)], -b[chosen])
        if (f >= -1e-12).all() and (A @ f + b >= -1e-9).all():
            return f
    return None


def test_random_problems_have_the_solution_that_enumeration_finds():
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = rng.integers(1, 7)
        B = rng.normal(size=(n + 1, n))
        A, b = B.T @ B, rng.normal(size=n)
        np.testing.assert_allclose(solve_complementarity(A, b), by_enumeration(A, b), atol=1e-9)


def test_redundant_contacts_share_their_load_evenly():
    A = np.ones((4, 4))
    np.testing.assert_allclose(solve_complementarity(A, -np.ones(4)), 0.25)


def test_redundant_contacts_of_which_some_would_pull_are_solved():
    corners = np.array([[1, x, y] for x in (-1, 1) for y in (-1, 1)], float)
    A = corners @ corners.T
    b = corners @ np.array([-1.0, -1.5, 0.0])  # the load is off the base, so the box tips
    f = solve_complementarity(A, b)
    assert (f >= 0).all()
    assert (A @ f + b >= -1e-12).all()
    assert abs(f @ (A @ f + b)) < 1e-12


def test_contradictory_walls_are_reported():
    J = np.array([[1.0], [-1.0]])
    assert solve_complementarity(J @ J.T, np.array([-1.0, -1.0])) is None


def impact_points(rng, M, K, **given):
    J = rng.normal(size=(K, 3, len(M)))
    response = np.einsum("ij,kcj->kci", np.linalg.inv(M), J)
    defaults = {"restitution": rng.uniform(0, 1, K), "friction": np.zeros(K)}
    return ImpactPoints(J, response, **(defaults | given))


def mass(rng, nv):
    B = rng.normal(size=(nv, nv))
    return B @ B.T + np.eye(nv)


def test_no_impact_pulls_adds_energy_or_leaves_a_point_approaching():
    rng = np.random.default_rng(1)
    for trial in range(80):
        K, nv = int(rng.integers(1, 4)), int(rng.integers(2, 8))
        M, v = mass(rng, nv), rng.normal(size=nv)
        friction = rng.uniform(0, 1.5, K) if trial % 2 else np.zeros(K)
        contact = impact_points(rng, M, K, friction=friction)
        outcome = collide(M, v, contact)
        assert (outcome.impulses[:, 0] >= -1e-12).all()
        slack = 1e-9 * max(1.0, np.abs(outcome.impulses).max())
        assert (np.hypot(*outcome.impulses[:, 1:].T) <= friction * outcome.impulses[:, 0] + slack).all()
        assert outcome.v @ M @ outcome.v <= (v @ M @ v) * (1 + 1e-9)
        if not friction.any():
            assert (contact.normal @ outcome.v >= -1e-9).all()
            np.testing.assert_allclose(M @ (outcome.v - v), contact.normal.T @ outcome.impulses[:, 0], atol=1e-8)


def test_a_single_impact_obeys_newtons_law():
    rng = np.random.default_rng(2)
    M, v = mass(rng, 5), rng.normal(size=5)
    contact = impact_points(rng, M, 1, restitution=np.array([0.6]))
    if (contact.normal @ v)[0] > 0:
        v = -v
    np.testing.assert_allclose(contact.normal @ collide(M, v, contact).v, -0.6 * contact.normal @ v, atol=1e-12)


def test_friction_forces_obey_coulombs_law():
    rng = np.random.default_rng(3)
    for _ in range(100):
        K = int(rng.integers(1, 4))
        B = rng.normal(size=(3 * K + 3, 3 * K))
        A, b, mu = B.T @ B, rng.normal(size=3 * K), rng.uniform(0.05, 1.0, K)
        b[0::3] -= 2.0
        solution = solve_blocks(A, b, [Block("cone", x) for x in mu])
        assert solution.solved
        f, u = solution.f, A @ solution.f + b
        for k in range(K):
            (fn, *ft), (un, *ut) = f[3 * k : 3 * k + 3], u[3 * k : 3 * k + 3]
            assert fn >= 0.0
            assert un >= -1e-8
            assert fn * un == pytest.approx(0.0, abs=1e-8)
            assert np.hypot(*ft) <= mu[k] * fn + 1e-9
            if np.hypot(*ut) > 1e-7 and fn > 1e-9:
                np.testing.assert_allclose(ft, -mu[k] * fn * np.array(ut) / np.hypot(*ut), atol=1e-7)


def obeys(kind, bound, f, u, tiny):
    """The laws of the three kinds of blocks, one entry or three."""
    if kind == "box":
        return abs(f[0]) <= bound + tiny and (abs(u[0]) <= tiny or abs(f[0] + bound * np.sign(u[0])) <= tiny)
    pushes = f[0] >= 0.0 and u[0] >= -tiny and abs(f[0] * u[0]) <= tiny
    if kind == "push":
        return pushes
    speed, rubs = np.hypot(*u[1:]), np.hypot(*f[1:]) <= bound * f[0] + tiny
    return pushes and rubs and (speed <= 1e-6 or np.abs(f[1:] + bound * f[0] * u[1:] / speed).max() <= 1e-6)


def test_pushes_cones_and_boxes_are_solved_together():
    rng = np.random.default_rng(4)
    for trial in range(200):
        blocks = [
            (PUSH, Block("cone", rng.uniform(0.05, 1.0)), Block("box", rng.uniform(0.0, 2.0)))[k]
            for k in rng.integers(0, 3, rng.integers(1, 7))
        ]
        n = sum(block.size for block in blocks)
        J = rng.normal(size=(n, n + 2 if trial % 2 else max(n - 1, 1)))  # regular, or redundant
        A, b = J @ J.T, J @ rng.normal(size=J.shape[1])
        solution = solve_blocks(A, b, blocks)
        assert solution.solved, (trial, blocks, solution.residual)
        first = 0
        for block in blocks:
            s = slice(first, first + block.size)
            assert obeys(
                block.kind, block.bound, solution.f[s], (A @ solution.f + b)[s], 1e-7 * max(1.0, solution.f.max())
            )
            first += block.size


def test_boxes_alone_are_a_quadratic_programme():
    """|f| ≤ F minimises ½ fᵀAf + bᵀf: at its end no entry can be changed for less, whatever the direction."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        n = int(rng.integers(1, 8))
        B, b, F = rng.normal(size=(n + 1, n)), rng.normal(size=n), rng.uniform(0.0, 1.0, n)
        A = B.T @ B
        f = solve_blocks(A, b, [Block("box", x) for x in F]).f
        least = 0.5 * f @ A @ f + b @ f
        for other in np.clip(f + rng.normal(size=(200, n)) * rng.choice([1e-4, 1e-2, 1.0], (200, 1)), -F, F):
            assert 0.5 * other @ A @ other + b @ other >= least - 1e-12


def test_a_problem_without_a_solution_is_not_reported_as_solved():
    assert not solve_blocks(np.array([[-1.0]]), np.array([-1.0]), [PUSH]).solved  # pushing drives it further in
    walls = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert not solve_blocks(walls, np.array([-1.0, -1.0]), [PUSH, PUSH]).solved


def test_wrong_results_of_scipy_are_replaced(monkeypatch):
    """SciPy 1.17 moved a box at rest on four corners while other bodies collided."""
    monkeypatch.setattr(scipy.optimize, "nnls", lambda system, *_, **__: (np.ones(system.shape[1]), 0.0))
    rng = np.random.default_rng(1)
    for _ in range(200):
        n = rng.integers(1, 7)
        B = rng.normal(size=(n + 1, n))
        A, b = B.T @ B, rng.normal(size=n) * rng.choice([1.0, 1e-17], n)
        np.testing.assert_allclose(solve_complementarity(A, b), by_enumeration(A, b), atol=1e-9)
