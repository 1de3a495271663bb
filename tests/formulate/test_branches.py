"""The equations of the branches of a tree add up to those of the tree."""

from __future__ import annotations

import numpy as np
import pytest

from appell.describe.load import load
from appell.formulate.formulations import INVERSE_DYNAMICS, MASS_MATRIX
from appell.formulate.shafei import branches, inverse_dynamics, mass_matrix
from appell.formulate.tree import Tree
from appell_lab.references.oracle import relative_error
from robots import random_motion, random_tree


def test_the_robot_of_the_paper_has_four_branches_with_massless_shared_links():
    chains = branches(Tree.of(load("tree10")))
    assert len(chains) == 4
    masses = [sum(link.inertia.mass > 0 for link in branch.links) for branch in chains]
    assert sum(masses) == 10  # every link has its inertia in one branch
    for branch in chains:
        names = [link.name for link in branch.links]
        assert [link.parent for link in branch.links] == [None, *names[:-1]]


@pytest.mark.parametrize("robot", [load("tree10"), *(random_tree(seed, 9) for seed in range(5))], ids=str)
def test_the_branches_add_up_to_the_tree(robot):
    q, v, a = (x.tolist() for x in random_motion(robot, np.random.default_rng(1)))
    tree = Tree.of(robot)
    expected = INVERSE_DYNAMICS["gibbs-appell"](tree, q, v, a)
    assert relative_error(inverse_dynamics(tree, q, v, a), expected) < 1e-12
    assert relative_error(mass_matrix(tree, q), MASS_MATRIX["gibbs-appell"](tree, q)) < 1e-12
