"""The reference for constraints over Pinocchio: it reproduces published numbers, and its rows are consistent."""

from __future__ import annotations

import numpy as np
import pytest

from appell_lab.references.constraint_rows import KINDS, ConstrainedTree
from appell_lab.references.oracle import Oracle
from constrained_cases import CASES, STATES, state, tree
from robots import random_tree


@pytest.mark.parametrize(("name", "k"), STATES)
def test_motions_and_forces_are_the_published_ones(name, k):
    given, model = state(name, k), CASES[name]["model"]
    constrained = ConstrainedTree(Oracle(tree(model)), model["closures"])
    rows = constrained.rows(given["q"], given["v"])
    motion = constrained.move(given["q"], given["v"], given["tau"])
    assert np.nanmax([*np.abs(rows.gap), 0.0]) < 1e-15
    assert np.abs(rows.K @ given["v"] + rows.offset).max() <= 1e-14 * max(1.0, np.abs(given["v"]).max())
    assert np.linalg.matrix_rank(rows.K, 1e-9) == given.get("rank", 6)  # 6 is that of the bicycle
    np.testing.assert_allclose(motion.a, given["a"], rtol=0, atol=1e-13 * np.abs(given["a"]).max())
    for ours, theirs in (
        (motion.multipliers, "closure_forces"),
        (motion.constraint_forces, "generalized_constraint_force"),
    ):
        if theirs in given:
            np.testing.assert_allclose(ours, given[theirs], rtol=0, atol=1e-13 * np.abs(given[theirs]).max())


SIDES = {"a": {"link": "link3", "xyz": [0.3, -0.2, 0.1], "rpy": [0.4, 1.0, -0.3]}}
SIDES |= {"b": {"link": "link1", "xyz": [-0.1, 0.2, 0.4], "rpy": [1.1, -0.4, 0.2]}}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "orientation"])
def test_rates_of_gaps_and_rows_agree_with_differences(kind):
    """Along a motion of a random tree with both frames on moving links; a step of 1e-5 s leaves half of the digits."""
    rng = np.random.default_rng(21)
    robot = random_tree(21, 5, kinds=("revolute", "prismatic", "spherical", "planar"))
    closure = {"type": kind, "length": 1.0, "radius": 0.3, **SIDES}
    constrained, step = ConstrainedTree(Oracle(robot), [closure]), 1e-5
    q, v = robot.random_configuration(rng, within_limits=False), rng.normal(size=robot.nv)
    before, after, here = (constrained.rows(robot.integrate(q, s * step * v), v) for s in (-1, 1, 0))
    rate = here.K @ v
    drift = ((after.K - before.K) @ v) / (2 * step)
    np.testing.assert_allclose(here.drift, drift, rtol=0, atol=1e-7 * max(1.0, np.abs(drift).max()))
    gaps = np.isfinite(here.gap)
    if kind.startswith("rolling"):  # the last gap is along the normal of b
        rate = np.where(gaps, rate @ constrained._frame(SIDES["b"]).R[:, 2], rate)
    if kind != "weld":  # the rate of its rotational gap agrees only where it is closed
        slope = (after.gap - before.gap) / (2 * step)
        np.testing.assert_allclose(rate[gaps], slope[gaps], rtol=0, atol=1e-7 * max(1.0, np.abs(rate).max()))
