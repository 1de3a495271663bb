"""Laws of constrained robots: constraint forces, their power, and independence of the choice of velocities."""

from __future__ import annotations

import numpy as np
import pytest

from answers import answer
from appell.dynamics import Dynamics
from constrained_cases import CASES, constrained
from systems import displacement

NAMES = [name for name in CASES if "states" in CASES[name] and "model" in CASES[name]]
MOVING = ("ball-on-turntable",)  # its plate rotates, so b is not zero


@pytest.fixture(params=NAMES, scope="module")
def dyn(request):
    return Dynamics(constrained(request.param))


@pytest.fixture
def state(dyn):
    """Return a closed q, v, w of the tree, forces along w, and the resulting accelerations and multipliers."""
    rng, system = np.random.default_rng(12), dyn.system
    q, v = system.random_configuration(rng, within_limits=False), rng.normal(size=system.nv)
    w, tau = answer(dyn.tree_velocity, q, v), rng.normal(size=system.tree.nv)
    a = answer(dyn.forward_dynamics, q, v, tau)
    return q, v, w, tau, a, answer(dyn.constraint_forces, q, v, tau)


def close(ours, theirs, scale, rtol=1e-11):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * max(1.0, np.abs(scale).max()))


def rows_of(dyn, q, w):
    """Return K and b."""
    return answer(dyn.row_rates.jacobian("w"), q, w), answer(dyn.row_rates, q, 0.0 * w)


def test_velocities_along_the_basis_satisfy_the_rows(dyn, state):
    q, _, w, *_ = state
    K, b = rows_of(dyn, q, w)
    N = answer(dyn.basis, q)
    close(K @ N, 0.0, np.abs(K) @ np.abs(N))
    close(K @ w, -b, np.abs(K) @ np.abs(w))
    assert np.linalg.matrix_rank(K, 1e-9) == dyn.system.rank


def test_constraint_forces_vanish_along_the_basis(dyn, state):
    """Nᵀ(M a + h - τ) = 0 with the terms of the tree, and M a + h - τ is Kᵀλ."""
    q, v, w, tau, a, multipliers = state
    acceleration = answer(dyn.tree_acceleration, q, v, a)
    forces = answer(Dynamics(dyn.system.tree).inverse_dynamics, q, w, acceleration)
    K, _ = rows_of(dyn, q, w)
    close(answer(dyn.basis, q).T @ (forces - tau), 0.0, forces)
    close(forces - tau, K.T @ multipliers, forces, rtol=1e-10)


def test_only_moving_constraints_do_work(dyn, state):
    """w·Kᵀλ = -b·λ, and dE/dt = w·τ - b·λ."""
    q, v, w, tau, a, multipliers = state
    K, b = rows_of(dyn, q, w)
    close(w @ K.T @ multipliers, -b @ multipliers, np.abs(K) @ np.abs(w) * np.abs(multipliers))
    assert b.any() == (dyn.system.name in MOVING)
    (T_q, U_q), (T_v, _) = (answer(dyn.energy.jacobian(name), q, v) for name in ("q", "v"))
    rate = displacement(dyn, q, v)
    power = T_q @ rate + U_q @ rate + T_v @ a
    terms = [T_q @ rate, U_q @ rate, T_v @ a]
    close(power, w @ tau - b @ multipliers, terms, rtol=1e-10)


def test_row_rates_stay_zero_along_the_motion(dyn, state):
    """d(K w + b)/dt = 0, by the derivative of the tape."""
    q, v, w, _, a, _ = state
    by_q = answer(dyn.row_rates.jacobian("q"), q, w)
    K, _ = rows_of(dyn, q, w)
    acceleration = answer(dyn.tree_acceleration, q, v, a)
    close(by_q @ displacement(dyn, q, v) + K @ acceleration, 0.0, np.abs(K) @ np.abs(acceleration))


def test_gaps_stay_closed(dyn, state):
    q, v, *_ = state
    if not any(any(constraint.holonomic) for constraint in dyn.system.constraints):
        return
    close(answer(dyn.gap, q), 0.0, 1.0, rtol=1e-12)
    slope = answer(dyn.gap.jacobian("q"), q)
    close(slope @ displacement(dyn, q, v), 0.0, slope)


def test_elimination_and_multipliers_give_the_same_motion(dyn, state):
    q, v, w, tau, a, _ = state
    acceleration = answer(dyn.constrained_acceleration, q, w, tau)
    close(answer(dyn.tree_acceleration, q, v, a), acceleration, acceleration)
    for method in ("elimination", "schur"):
        close(answer(Dynamics(dyn.system, forward=method).forward_dynamics, q, v, tau), a, a)


def test_the_motion_does_not_depend_on_the_choice_of_independent_velocities(dyn, state):
    """Compare with the velocities that are chosen by default."""
    q, v, w, tau, a, _ = state
    system = dyn.system
    other = Dynamics(system.tree.with_loops(*system.constraints, home=system.start))
    u = answer(other.independent_velocity, q, w)
    close(answer(other.tree_velocity, q, u), w, w)
    theirs = answer(other.tree_acceleration, q, u, answer(other.forward_dynamics, q, u, tau))
    close(answer(dyn.tree_acceleration, q, v, a), theirs, theirs, rtol=1e-10)


def test_mobility_is_the_constrained_inverse_of_the_inertia_matrix(dyn, state):
    q, _, w, *_ = state
    P, (K, _) = answer(dyn.mobility, q), rows_of(dyn, q, w)
    M = answer(Dynamics(dyn.system.tree).mass_matrix, q)
    close(P, P.T, P)
    close(K @ P, 0.0, np.abs(K) @ np.abs(P))
    close(P @ M @ P, P, P, rtol=1e-10)


def test_a_batch_gives_the_bits_of_its_samples(dyn, state):
    q, v, _, tau, *_ = state
    batch = dyn.forward_dynamics(np.tile(q, (5, 1)), np.outer(np.arange(5), v), tau)
    alone = [dyn.forward_dynamics(q, k * v, tau) for k in range(5)]
    np.testing.assert_array_equal(batch, alone)


def test_a_free_floating_mechanism_conserves_its_momentum():
    dyn = Dynamics(constrained("floating-fourbar").with_gravity((0.0, 0.0, 0.0)))
    rng, system = np.random.default_rng(3), dyn.system
    q, v = system.random_configuration(rng, within_limits=False), rng.normal(size=system.nv)
    tau = np.concatenate([np.zeros(6), rng.normal(size=3)])  # at its joints, not at its base
    a = dyn.forward_dynamics(q, v, tau)
    momentum = dyn.momentum(q, v)
    terms = dyn.momentum.jacobian("q")(q, v) @ displacement(dyn, q, v), dyn.momentum.jacobian("v")(q, v) @ a
    close(terms[0] + terms[1], 0.0, [*momentum, *terms[0]])
