"""A rope of many links: simulation, energy and frames; functions that are too long to compile raise an error."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import appell as ap
from appell.compile.tape import graph
from appell_lab.references.oracle import Oracle, relative_error
from robots import random_motion, random_tree, rope


def test_a_rope_of_a_hundred_links_swings_and_keeps_its_energy():
    robot = rope(100)
    q = np.zeros(100)
    q[0] = 0.3
    run = ap.simulate(robot, q, np.zeros(100), until=0.2)
    T, U = ap.Dynamics(robot).energy(run.q, run.v)
    assert np.max(T) > 1e-3
    np.testing.assert_allclose(T + U, (T + U)[0], rtol=0, atol=1e-6 * np.max(T))


@pytest.mark.parametrize("seed", [1, 2])
def test_energies_in_loops_agree_with_pinocchio(seed):
    robot = random_tree(seed, 9, base=("fixed", "floating")[seed % 2])
    dyn, oracle, (q, v, _) = (
        ap.Dynamics(robot, looped=True),
        Oracle(robot),
        random_motion(robot, np.random.default_rng(1)),
    )
    assert "energy" in dyn.looped
    assert relative_error(dyn.energy(q, v), oracle.energy(q, v)) <= 1e-13


@pytest.mark.parametrize("reference", ["LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED"])
def test_the_jacobian_of_a_frame_behind_many_joints_agrees_with_pinocchio(reference):
    robot = random_tree(6, 30, kinds=("revolute", "prismatic", "spherical", "mimic"), branching=False)
    dyn, oracle, (q, _, _) = ap.Dynamics(robot), Oracle(robot), random_motion(robot, np.random.default_rng(1))
    assert (
        relative_error(dyn.jacobian("link29", q, reference=reference), oracle.jacobian("link29", q, reference)) <= 1e-12
    )


def test_a_function_with_too_many_operations_is_rejected(monkeypatch):
    monkeypatch.setattr(graph, "MAX_NODES", 3000)
    dyn = ap.Dynamics(rope(60), looped=True)
    assert np.isfinite(dyn.inverse_dynamics(*np.zeros((3, 60)))).all()
    with pytest.raises(ap.TraceError, match="more than 3,000 operations"):
        _ = dyn.mass_matrix


def test_forward_dynamics_of_a_rope_with_alternating_massless_links_has_a_solution():
    solid = rope(60)
    links = tuple(replace(link, body=None) if k % 2 else link for k, link in enumerate(solid.links[::-1]))[::-1]
    robot = replace(solid, links=links)
    dyn, (q, v, tau) = ap.Dynamics(robot), random_motion(robot, np.random.default_rng(3))
    a = dyn.forward_dynamics(q, v, tau)
    scale = np.abs(dyn.inverse_dynamics(q, v, a) - dyn.bias(q, v)).max()
    np.testing.assert_allclose(dyn.inverse_dynamics(q, v, a), tau, rtol=0, atol=1e-9 * max(scale, 1.0))
    bare = replace(solid, links=(*solid.links[:-1], replace(solid.links[-1], body=None)))
    with pytest.raises(ap.ModelError, match="without moving any inertia"):
        _ = ap.Dynamics(bare).forward_dynamics
