"""The reference in extended precision, compared with Pinocchio on ordinary trees and with its own differences."""

from __future__ import annotations

import numpy as np
import pytest

from appell_lab.fuzz.random_robots import random_links
from appell_lab.references.derivative_terms import derivative_terms
from appell_lab.references.long_tree import LongTree
from appell_lab.references.peer_tree import ONE_AXIS, PeerTree, our_robot

GRAVITY = [1.0, -2.0, -9.0]
TOLERANCE = 64 * 2.0**-52  # rounding of Pinocchio for an ordinary tree, relative to the terms


def tree(seed: int):
    """Return a tree of up to five links with ordinary numbers in both references, and three states."""
    rng = np.random.default_rng(seed)
    links = random_links(rng, 5, ordinary=True)
    robot = our_robot(links, GRAVITY)
    q = np.array([robot.random_configuration(rng, within_limits=False) for _ in range(3)])
    v, a = rng.normal(size=(2, 3, robot.nv))
    return LongTree(links, GRAVITY, robot), PeerTree(links, GRAVITY, robot), (q, v, a)


@pytest.mark.parametrize("seed", range(12))
def test_forces_and_derivatives_agree_with_pinocchio(seed):
    reference, peer, states = tree(seed)
    forces, (by_q, by_v, matrix) = reference.inverse_dynamics(*states), reference.inverse_derivatives(*states)
    for k, (q, v, a) in enumerate(zip(*states, strict=True)):
        sizes = np.sqrt(np.diag(peer.mass_matrix(q)))
        terms = (peer.rounding_terms(q, v, a), *derivative_terms(peer, q, v, a), np.outer(sizes, sizes))
        full = (peer.q(q), peer.G @ v, peer.G @ a)
        derivatives = peer.pin.computeRNEADerivatives(peer.model, peer.data, *full)[:2]
        theirs = (peer.inverse_dynamics(q, v, a), *(peer.G.T @ x @ peer.G for x in derivatives), peer.mass_matrix(q))
        ours = (forces[k], by_q[k], by_v[k], matrix[k])
        for mine, their, size in zip(ours, theirs, terms, strict=True):
            assert (np.abs(mine - their) <= TOLERANCE * size).all()


def test_these_trees_contain_all_kinds_of_joints():
    links = [link for seed in range(12) for link in tree(seed)[0].links]
    assert {link["kind"] for link in links} == {*ONE_AXIS, "spherical", "planar", "floating"}
    assert any(link["leader"] is not None for link in links)


@pytest.mark.parametrize("seed", range(3))
def test_inverse_dynamics_of_the_computed_accelerations_returns_the_forces(seed):
    reference, peer, (q, v, a) = tree(seed)
    tau = reference.inverse_dynamics(q, v, a)
    computed = reference.forward_dynamics(q, v, tau)
    terms = np.array([peer.rounding_terms(*state) for state in zip(q, v, a, strict=True)])
    residual = np.abs(reference.inverse_dynamics(q, v, computed) - tau)
    assert (residual <= 64 * np.finfo(np.longdouble).eps * terms).all()


def test_derivatives_agree_with_differences_of_forces():
    """Central differences along the coordinate of a one-axis joint; their error is that of the third derivative."""
    reference, _, (q, v, a) = tree(2)
    by_q, by_v, _ = reference.inverse_derivatives(q, v, a)
    step = 1e-5
    one_axis = [k for k, (coordinates, _) in enumerate(reference.spans) if coordinates.stop - coordinates.start == 1]
    assert one_axis
    force = reference.inverse_dynamics
    for k in one_axis:
        (coordinates, velocities), dv = reference.spans[k], np.zeros(reference.nv)
        dv[velocities] = step
        dq = np.zeros(q.shape[1])
        dq[coordinates] = step
        slope = (force(q + dq, v, a) - force(q - dq, v, a)) / (2 * step)
        np.testing.assert_allclose(slope, by_q[..., velocities.start], rtol=1e-6, atol=1e-6)
        slope = (force(q, v + dv, a) - force(q, v - dv, a)) / (2 * step)
        np.testing.assert_allclose(slope, by_v[..., velocities.start], rtol=1e-9, atol=1e-9)
