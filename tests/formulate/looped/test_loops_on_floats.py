"""Loops on floats, iteration by iteration, against Pinocchio on random trees.

Errors are relative to the largest force or acceleration; in forward dynamics they grow with the condition number of the
inertia matrix, on both sides.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appell.algebra.loops import UNROLLED
from appell.formulate.gibbs_appell import inverse as straight
from appell.formulate.looped.aligned import aligned
from appell.formulate.looped.forward import forward_dynamics
from appell.formulate.looped.inverse import inverse_dynamics
from appell.formulate.looped.loop_tree import LoopTree
from appell.formulate.tree import Tree, regroup
from appell_lab.references.oracle import Oracle, relative_error
from robots import ALL_KINDS, random_motion, random_tree

EXACT, SOLVED = 1e-12, 1e-10
INDEPENDENT = ALL_KINDS[:-1]

trees = {"seed": st.integers(0, 10**6), "links": st.integers(1, 25), "base": st.sampled_from(["fixed", "floating"])}


def subject(seed, links, base, kinds=ALL_KINDS):
    robot = random_tree(seed, links, base=base, kinds=kinds)
    return robot, aligned(Tree.of(robot)).tree, [x.tolist() for x in random_motion(robot, np.random.default_rng(seed))]


@settings(max_examples=60, deadline=None)
@given(**trees, base_parameters=st.booleans())
def test_inverse_dynamics(seed, links, base, base_parameters):
    robot, tree, motion = subject(seed, links, base)
    loop_tree = LoopTree.of(regroup(tree) if base_parameters else tree)
    result = inverse_dynamics(loop_tree, UNROLLED, *motion, {})
    assert relative_error(result, Oracle(robot).inverse_dynamics(*map(np.array, motion))) <= EXACT


@settings(max_examples=60, deadline=None)
@given(**trees, base_parameters=st.booleans())
def test_forward_dynamics(seed, links, base, base_parameters):
    robot, tree, motion = subject(seed, links, base, INDEPENDENT)
    loop_tree = LoopTree.of(regroup(tree) if base_parameters else tree)
    result = forward_dynamics(loop_tree, UNROLLED, *motion, {})
    assert relative_error(result, Oracle(robot).forward_dynamics(*map(np.array, motion))) <= SOLVED


@settings(max_examples=30, deadline=None)
@given(**trees)
def test_a_tree_in_aligned_frames_is_the_same_robot(seed, links, base):
    robot, tree, motion = subject(seed, links, base)
    expected = straight.inverse_dynamics(Tree.of(robot), *motion)
    assert relative_error(straight.inverse_dynamics(tree, *motion), expected) <= EXACT


@pytest.mark.parametrize("links", [1, 10, 100])
def test_a_chain_uses_one_row_and_one_kind_of_joint(links):
    robot = random_tree(3, links, kinds=("revolute", "continuous"), branching=False)
    loop_tree = LoopTree.of(aligned(Tree.of(robot)).tree)
    assert set(loop_tree.branch_rows.values()) == {0}
    assert len(set(loop_tree.joint_kinds)) == 1


@settings(max_examples=60, deadline=None)
@given(**trees)
def test_no_row_is_reused_while_a_child_still_needs_it(seed, links, base):
    robot = subject(seed, links, base)[0]
    loop_tree = LoopTree.of(Tree.of(robot))
    holder = {0: -1}  # row -> the link that wrote it last
    for k, parent in enumerate(loop_tree.parents):
        assert holder[loop_tree.branch_rows[parent]] == parent
        holder[loop_tree.branch_rows[k]] = k
