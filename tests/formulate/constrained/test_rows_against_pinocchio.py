"""Rows on random trees, in the axes of their loops, against the same rows in world axes with Pinocchio's kinematics.

Both restrict the same velocities: one set of rows is a matrix T times the other and, where the loop is closed and the
velocity satisfies the rows, T maps one drift to the other.
"""

from __future__ import annotations

import numpy as np
import pytest

from appell.formulate.constrained.rows import rows
from appell.formulate.tree import Tree
from appell_lab.fuzz.random_closures import PLACED, random_closures
from appell_lab.fuzz.random_robots import random_links
from appell_lab.references.constraint_rows import ConstrainedTree
from appell_lab.references.peer_tree import PeerTree, our_robot
from appell_lab.references.plain_closures import constraints, framed

CLOSE = 1e-12
GRAVITY = (0.0, 0.0, -9.81)
TREES = 10


def closed_trees(kind):
    """Trees with a closed closure of a kind whose rows have a condition number of at most 100."""
    seed = count = 0
    while count < TREES:
        seed += 1
        rng = np.random.default_rng([seed, 17])
        links = random_links(rng, 6, ordinary=True)
        robot = our_robot(links, GRAVITY)
        q = robot.random_configuration(rng, within_limits=False)
        if len(links) < 2:
            continue
        if not (made := random_closures(rng, PeerTree(links, GRAVITY, robot), q, kinds=(kind,))):
            continue
        robot = framed(robot, made)
        judge = ConstrainedTree(PeerTree(links, GRAVITY, robot), made)
        K = judge.rows(q, np.zeros(robot.nv)).K
        _, sizes, V = np.linalg.svd(K)
        active = sizes > 1e-9 * sizes[0]
        if not sizes[0] or sizes[active][-1] < 1e-2 * sizes[0] or active.sum() == robot.nv:
            continue
        count += 1
        w = V[active.sum() :].T @ rng.normal(size=robot.nv - active.sum())
        yield robot, constraints(made), judge.rows(q, w), q, w


@pytest.mark.parametrize("kind", PLACED)
def test_rows_agree_with_the_reference_up_to_axes(kind):
    for robot, held, theirs, q, w in closed_trees(kind):
        ours = rows(Tree.of(robot), held, q.tolist(), w.tolist())
        K, drift, offset = (
            np.array([getattr(row, part) for row in ours], float) for part in ("jacobian", "drift", "offset")
        )
        T = K @ np.linalg.pinv(theirs.K, rcond=1e-9)
        np.testing.assert_allclose(T @ theirs.K, K, rtol=0, atol=CLOSE * np.abs(K).max())
        np.testing.assert_allclose(T @ theirs.drift, drift, rtol=0, atol=CLOSE * max(1.0, np.abs(drift).max()))
        np.testing.assert_array_equal(offset, 0.0)
        assert len(ours) == len(theirs.gap)
        assert max((abs(row.gap) for row in ours if row.gap is not None), default=0.0) < CLOSE
        holonomic = [row.gap is not None for row in ours]
        assert holonomic == [flag for constraint in held for flag in constraint.holonomic]
        assert sum(holonomic) == np.isfinite(theirs.gap).sum()
