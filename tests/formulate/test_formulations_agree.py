"""Every method agrees with Pinocchio: on the zoo, on random trees and, for methods for chains, on random chains."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from appell.algebra.vector import Vec3
from appell.formulate.formulations import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX, SOLVERS, forward_method
from appell.formulate.tree import Tree, regroup
from appell_lab.references.oracle import Oracle, relative_error
from robots import ALL_KINDS, random_chain, random_motion, random_tree, random_trees, zoo

# Rounding errors of sums of some hundred terms; forward dynamics loses digits by the condition number of M, < 1e5.
TOLERANCE = 1e-11
ROBOTS = [*zoo(), *random_trees(20, links=8), *(random_chain(100 + seed, 3 + seed % 8) for seed in range(20))]


def suits(method, robot) -> bool:
    return not list(method.obstacles(robot))


def sample(robot, seed=0):
    rng = np.random.default_rng(seed)
    return (Oracle(robot), *random_motion(robot, rng), rng.normal(size=robot.nv))


def trees(robot, method):
    """The tree with its bodies and, if the method supports them, with base parameters."""
    tree = Tree.of(robot)
    return [tree, regroup(tree)] if method.regroup else [tree]


@pytest.mark.parametrize("robot", ROBOTS, ids=str)
def test_every_inverse_dynamics_agrees_with_pinocchio(robot):
    oracle, q, v, a, _ = sample(robot)
    expected = oracle.inverse_dynamics(q, v, a)
    for method in INVERSE_DYNAMICS.values():
        for tree in trees(robot, method):
            tau = method(tree, q.tolist(), v.tolist(), a.tolist(), {})
            assert relative_error(tau, expected) < TOLERANCE, method.name


@pytest.mark.parametrize("robot", ROBOTS, ids=str)
def test_every_inertia_matrix_agrees_with_pinocchio(robot):
    oracle, q, *_ = sample(robot)
    expected = oracle.mass_matrix(q)
    for method in MASS_MATRIX.values():
        if suits(method, robot):
            for tree in trees(robot, method):
                assert relative_error(method(tree, q.tolist()), expected) < TOLERANCE, method.name


@pytest.mark.parametrize("robot", ROBOTS, ids=str)
def test_every_forward_dynamics_agrees_with_pinocchio(robot):
    oracle, q, v, _, tau = sample(robot)
    expected = oracle.forward_dynamics(q, v, tau)
    inverse, inertia = INVERSE_DYNAMICS["gibbs-appell"], MASS_MATRIX["gibbs-appell"]
    for name in (*SOLVERS, *FORWARD_DYNAMICS):
        method = forward_method(name, inverse, inertia)
        if suits(method, robot):
            for tree in trees(robot, method):
                a = method(tree, q.tolist(), v.tolist(), tau.tolist(), {})
                assert relative_error(a, expected) < TOLERANCE, name


@pytest.mark.parametrize("robot", [random_tree(seed, 6, kinds=ALL_KINDS) for seed in range(4)], ids=str)
def test_every_method_supports_external_wrenches(robot):
    """Pinocchio takes the same wrenches: one per joint, in the joint's own axes, force first."""
    oracle, q, v, a, tau = sample(robot)
    rng = np.random.default_rng(5)
    loads = {link.name: rng.normal(size=6) for link in robot.links[1:4]}
    external = {name: (Vec3.of(w[:3].tolist()), Vec3.of(w[3:].tolist())) for name, w in loads.items()}
    forces = [pin.Force.Zero() for _ in range(oracle.model.njoints)]
    for name, w in loads.items():
        forces[oracle.ids[name]] = pin.Force(w)
    full = pin.rnea(oracle.model, oracle.data, oracle.q(q), oracle.G @ v, oracle.G @ a, forces)
    expected = oracle.G.T @ full
    tree = Tree.of(robot)
    for method in INVERSE_DYNAMICS.values():
        result = method(tree, q.tolist(), v.tolist(), a.tolist(), external)
        assert relative_error(result, expected) < TOLERANCE, method.name
    bias = oracle.G.T @ pin.rnea(oracle.model, oracle.data, oracle.q(q), oracle.G @ v, 0 * (oracle.G @ a), forces)
    expected = np.linalg.solve(oracle.mass_matrix(q), tau - bias)
    for method in FORWARD_DYNAMICS.values():
        if suits(method, robot):
            result = method(tree, q.tolist(), v.tolist(), tau.tolist(), external)
            assert relative_error(result, expected) < TOLERANCE, method.name
