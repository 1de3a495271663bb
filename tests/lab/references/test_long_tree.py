"""The judge in long numbers is judged itself: by Pinocchio on ordinary trees, and by its own slopes and answers."""

from __future__ import annotations

import numpy as np
import pytest

from appell_lab.fuzz.random_robots import random_links
from appell_lab.references.derivative_terms import derivative_terms
from appell_lab.references.long_tree import LongTree
from appell_lab.references.peer_tree import ONE_AXIS, PeerTree, our_robot

GRAVITY = [1.0, -2.0, -9.0]
ROUNDINGS = 64 * 2.0**-52  # that Pinocchio may make of an ordinary tree, relative to the terms


def tree(seed: int):
    """A tree of up to five links with ordinary numbers, its judges, and three states."""
    rng = np.random.default_rng(seed)
    links = random_links(rng, 5, ordinary=True)
    robot = our_robot(links, GRAVITY)
    q = np.array([robot.random_configuration(rng, within_limits=False) for _ in range(3)])
    v, a = rng.normal(size=(2, 3, robot.nv))
    return LongTree(links, GRAVITY, robot), PeerTree(links, GRAVITY, robot), (q, v, a)


@pytest.mark.parametrize("seed", range(12))
def test_forces_and_derivatives_are_those_of_pinocchio(seed):
    judge, peer, states = tree(seed)
    forces, (by_place, by_speed, matrix) = judge.inverse_dynamics(*states), judge.inverse_derivatives(*states)
    for k, (q, v, a) in enumerate(zip(*states, strict=True)):
        sizes = np.sqrt(np.diag(peer.mass_matrix(q)))
        terms = (peer.rounding_terms(q, v, a), *derivative_terms(peer, q, v, a), np.outer(sizes, sizes))
        full = (peer.q(q), peer.G @ v, peer.G @ a)
        found = peer.pin.computeRNEADerivatives(peer.model, peer.data, *full)[:2]
        theirs = (peer.inverse_dynamics(q, v, a), *(peer.G.T @ x @ peer.G for x in found), peer.mass_matrix(q))
        ours = (forces[k], by_place[k], by_speed[k], matrix[k])
        for mine, their, size in zip(ours, theirs, terms, strict=True):
            assert (np.abs(mine - their) <= ROUNDINGS * size).all()


def test_all_kinds_of_joints_are_among_those_trees():
    links = [link for seed in range(12) for link in tree(seed)[0].links]
    assert {link["kind"] for link in links} == {*ONE_AXIS, "spherical", "planar", "floating"}
    assert any(link["leader"] is not None for link in links)


@pytest.mark.parametrize("seed", range(3))
def test_accelerations_need_the_forces_that_were_given(seed):
    judge, peer, (q, v, a) = tree(seed)
    tau = judge.inverse_dynamics(q, v, a)
    found = judge.forward_dynamics(q, v, tau)
    terms = np.array([peer.rounding_terms(*state) for state in zip(q, v, a, strict=True)])
    assert (np.abs(judge.inverse_dynamics(q, v, found) - tau) <= 64 * np.finfo(np.longdouble).eps * terms).all()


def test_derivatives_are_the_slopes_of_the_forces():
    """Central differences of long forces along a joint's own coordinate, whose error is that of a third derivative."""
    judge, _, (q, v, a) = tree(2)
    by_place, by_speed, _ = judge.inverse_derivatives(q, v, a)
    step = 1e-5
    slides = [k for k, (coordinates, _) in enumerate(judge.spans) if coordinates.stop - coordinates.start == 1]
    assert slides
    for k in slides:
        (coordinates, freedom), e = judge.spans[k], np.zeros(judge.nv)
        e[freedom] = step
        moved = np.zeros(q.shape[1])
        moved[coordinates] = step
        slope = (judge.inverse_dynamics(q + moved, v, a) - judge.inverse_dynamics(q - moved, v, a)) / (2 * step)
        np.testing.assert_allclose(slope, by_place[..., freedom.start], rtol=1e-6, atol=1e-6)
        slope = (judge.inverse_dynamics(q, v + e, a) - judge.inverse_dynamics(q, v - e, a)) / (2 * step)
        np.testing.assert_allclose(slope, by_speed[..., freedom.start], rtol=1e-9, atol=1e-9)
