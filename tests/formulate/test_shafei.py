"""The Appendix of Shafei 2018: its steps agree with their definitions, and its branches with the paper."""

from __future__ import annotations

import numpy as np
import pytest

from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.formulate.formulations import INVERSE_DYNAMICS, MASS_MATRIX
from appell.formulate.shafei import (
    Compound,
    assembled_matrix,
    assembled_vector,
    branch_equations,
    branches,
    chain,
    rate,
    spins,
    split,
    velocity_second_rates,
    velocity_term,
)
from appell.formulate.tree import Tree
from appell_lab.references.oracle import relative_error
from robots import ONE_AXIS, random_motion, random_tree

TREE10 = load("tree10")
LINKS = {1: (1, 2, 3, 4), 2: (1, 2, 5, 6, 7), 3: (1, 2, 5, 8), 4: (1, 2, 5, 9, 10)}  # as §3.1.3 lists them


def numbers(matrix) -> np.ndarray:
    return np.array([list(row) for row in matrix.rows], float)


@pytest.fixture(scope="module")
def motion():
    return [x.tolist() for x in random_motion(TREE10, np.random.default_rng(7))]


@pytest.fixture(scope="module", params=range(4), ids=lambda k: f"branch {k + 1}")
def branch(request, motion):
    return chain(branches(Tree.of(TREE10))[request.param], *motion[:2])


def test_the_branches_and_their_coordinates_are_those_of_the_paper(motion):
    parts = branch_equations(Tree.of(TREE10), *motion[:2])
    for part, links in zip(parts, LINKS.values(), strict=True):
        assert part.order == (*(f"rod{k}" for k in links), "slide_x", "slide_y")
        assert part.base == ("slide_x", "slide_y")
        M = np.array(part.matrix)
        assert M.shape == (len(links) + 2,) * 2
        assert len(part.vector) == len(links) + 2
        np.testing.assert_allclose(M, M.T, atol=1e-14)


def test_entries_of_the_inertia_matrix_for_joints_in_different_branches_are_zero(motion):
    tree = Tree.of(TREE10)
    M = np.array(assembled_matrix(tree, branch_equations(tree, *motion[:2])))
    together = {(a + 1, b + 1) for links in LINKS.values() for a in links for b in links}
    apart = [(a, b) for a in range(2, 12) for b in range(2, 12) if (a, b) not in together]
    assert apart
    assert all(M[pair] == 0.0 for pair in apart)


def test_compound_transformations_are_products_of_those_between_two_links(branch):
    compound, n = Compound(branch), len(branch.links)
    poses = [np.eye(4)]
    for link in branch.links:
        poses.append(poses[-1] @ numbers(link.E) @ numbers(link.A))
    for i in range(n + 1):
        np.testing.assert_allclose(numbers(compound.T(i)), poses[i], atol=1e-14)
        for j in range(i, n + 1):
            np.testing.assert_allclose(poses[i] @ numbers(compound.transform(i, j)), poses[j], atol=1e-14)
            if i:
                turn = poses[i][:3, :3].T @ poses[j][:3, :3]
                np.testing.assert_allclose(numbers(compound.R(i, j)), turn, atol=1e-14)
                np.testing.assert_allclose(numbers(compound.R(j, i)), turn.T, atol=1e-14)


def test_derivatives_of_a_joint_are_the_time_derivatives_of_its_matrix():
    """Ȧ and Ä at constant q̇, by central differences with errors of 1e-6 and 1e-4."""
    tree = branches(Tree.of(random_tree(3, 5, kinds=ONE_AXIS)))[0]
    q, v, _ = (x.tolist() for x in random_motion(tree.robot, np.random.default_rng(3)))
    along = [chain(tree, [x + t * y for x, y in zip(q, v, strict=True)], v) for t in (-1e-4, 0.0, 1e-4)]
    for before, at, after in zip(*(c.links for c in along), strict=True):
        low, here, high = (numbers(link.A) for link in (before, at, after))
        np.testing.assert_allclose(numbers(rate(at)), (high - low) / 2e-4, atol=1e-6)
        np.testing.assert_allclose(numbers(velocity_term(at)), (high - 2 * here + low) / 1e-8, atol=1e-4)


def test_velocity_terms_are_second_derivatives_at_constant_rates():
    robot = random_tree(5, 6, kinds=ONE_AXIS)
    tree = branches(Tree.of(robot))[0]
    q, v, _ = (x.tolist() for x in random_motion(robot, np.random.default_rng(5)))
    poses = []
    for t in (-1e-4, 0.0, 1e-4):
        compound = Compound(chain(tree, [x + t * y for x, y in zip(q, v, strict=True)], v))
        poses.append([numbers(compound.T(i)) for i in range(1, len(compound.chain.links) + 1)])
    at = chain(tree, q, v)
    second_rates, turning = velocity_second_rates(at, Compound(at)), spins(at, Compound(at))
    for low, here, high, second_rate, (omega, _) in zip(*poses, second_rates, turning, strict=True):
        np.testing.assert_allclose(numbers(second_rate), (high - 2 * here + low) / 1e-8, atol=1e-3)
        tilde = here[:3, :3].T @ (high - low)[:3, :3] / 2e-4
        np.testing.assert_allclose([tilde[2, 1], tilde[0, 2], tilde[1, 0]], list(omega), atol=1e-6)


def test_a_rod_of_the_paper_is_split_as_in_the_paper():
    """B₁ of a rod of 1 kg and 1 m along x; B₂ is that of Table 2, whose 5.89 is not exactly 2 · 2.94."""
    B1, B2 = split(TREE10.link("rod1").body.about_origin)
    line = np.zeros((4, 4))
    line[0, 0], line[0, 3], line[3, 0], line[3, 3] = 1 / 3, 1 / 2, 1 / 2, 1.0
    np.testing.assert_allclose(numbers(B1), line / 2, atol=1e-7)
    np.testing.assert_allclose(numbers(B2), np.diag([5.89e-5, 2.945e-5, 2.945e-5]), atol=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_the_appendix_agrees_with_every_other_formulation_on_random_trees(seed):
    robot = random_tree(seed, 4 + seed % 6)
    tree = Tree.of(robot)
    q, v, a = (x.tolist() for x in random_motion(robot, np.random.default_rng(seed)))
    parts = branch_equations(tree, q, v)
    matrix, right = assembled_matrix(tree, parts), assembled_vector(tree, parts)
    for method in INVERSE_DYNAMICS.values():
        expected = np.array(method(tree, q, v, a))
        assert relative_error(np.array(matrix) @ a - right, expected) < 1e-12, method.name
    for method in MASS_MATRIX.values():
        if not list(method.obstacles(robot)):
            assert relative_error(matrix, method(tree, q)) < 1e-12, method.name


def test_the_appendix_can_be_used_as_a_formulation():
    one, other = (Dynamics(TREE10, name) for name in ("shafei", "gibbs-appell"))
    q, v, a = random_motion(TREE10, np.random.default_rng(2))
    for name, arguments in (("bias", (q, v)), ("mass_matrix", (q,)), ("forward_dynamics", (q, v, a))):
        assert relative_error(getattr(one, name)(*arguments), getattr(other, name)(*arguments)) < 1e-11, name


@pytest.mark.parametrize("free", [("rod1", "rod3"), ("slide_y", "rod2")])
def test_links_with_free_parameters_can_be_anywhere_in_a_branch(free):
    """A prismatic link with free parameters does not belong to the base."""
    robot, rng = TREE10.with_free(*free), np.random.default_rng(1)
    motion, parameters = random_motion(robot, rng), rng.normal(size=20)
    one, other = (Dynamics(robot, name).inverse_dynamics(*motion, parameters) for name in ("shafei", "gibbs-appell"))
    assert relative_error(one, other) < 1e-12
