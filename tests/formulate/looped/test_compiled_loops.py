"""Compiled loops against Pinocchio on long chains and trees, and against straight-line code with all options.

Errors are relative to the largest force or acceleration. Rounding errors grow with the number of links and, in forward
dynamics, with the condition number of the inertia matrix.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from answers import interpreted
from appell.dynamics import Dynamics
from appell.formulate.gibbs_appell.inverse import inverse_dynamics
from appell.formulate.tree import Tree
from appell_lab.references.oracle import Oracle, relative_error
from robots import ALL_KINDS, random_motion, random_tree, zoo

EXACT, SOLVED = 1e-12, 1e-10
ZOO = {robot.name: robot for robot in zoo()}


def motion_of(robot, seed=5):
    return random_motion(robot, np.random.default_rng(seed))


@pytest.mark.parametrize("links", [50, 100, 200])
def test_long_chains_against_pinocchio(links):
    robot = random_tree(links, links, kinds=("revolute",), branching=False)
    dyn, oracle, motion = Dynamics(robot), Oracle(robot), motion_of(robot)
    assert {"inverse_dynamics", "forward_dynamics"} <= set(dyn.looped)
    assert relative_error(dyn.inverse_dynamics(*motion), oracle.inverse_dynamics(*motion)) <= EXACT
    assert relative_error(dyn.forward_dynamics(*motion), oracle.forward_dynamics(*motion)) <= SOLVED
    rate, a = dyn.state_rate(*motion)
    np.testing.assert_array_equal(rate, motion[1])
    np.testing.assert_array_equal(a, dyn.forward_dynamics(*motion))


def test_a_thousand_links_against_straight_line_code_on_floats():
    """Pinocchio would need 32 GB, because it allocates 4 n³ numbers for second derivatives."""
    robot = random_tree(1000, 1000, kinds=("revolute",), branching=False)
    dyn, motion, tree = Dynamics(robot), motion_of(robot), Tree.of(robot)
    expected = inverse_dynamics(tree, *(x.tolist() for x in motion))
    assert relative_error(dyn.inverse_dynamics(*motion), expected) <= EXACT
    q, v, tau = motion
    a = dyn.forward_dynamics(q, v, tau)
    bias = inverse_dynamics(tree, q.tolist(), v.tolist(), [0.0] * 1000)
    needed = inverse_dynamics(tree, q.tolist(), v.tolist(), a.tolist())
    assert np.abs(needed - tau).max() <= SOLVED * np.abs(bias).max()


@pytest.mark.parametrize("seed", range(1, 3))
def test_large_trees_with_all_kinds_of_joints_against_pinocchio(seed):
    robot = random_tree(seed, 60 + 20 * seed, base=("fixed", "floating")[seed % 2], kinds=ALL_KINDS[: 6 + seed % 2])
    dyn, oracle, motion = Dynamics(robot), Oracle(robot), motion_of(robot)
    assert relative_error(dyn.inverse_dynamics(*motion), oracle.inverse_dynamics(*motion)) <= EXACT
    assert relative_error(dyn.bias(*motion[:2]), oracle.bias(*motion[:2])) <= EXACT
    assert relative_error(dyn.gravity(motion[0]), oracle.gravity(motion[0])) <= EXACT
    if "forward_dynamics" in dyn.looped:
        assert relative_error(dyn.forward_dynamics(*motion), oracle.forward_dynamics(*motion)) <= SOLVED
        rate = interpreted(dyn.state_rate, *motion)[0]
        np.testing.assert_allclose(rate, dyn.coordinate_rate(*motion[:2]), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", ZOO)
def test_loops_agree_with_straight_line_code_on_robots_of_the_zoo(name):
    both_forms_agree(ZOO[name], 3, lambda function, *arguments: function(*arguments))


@settings(max_examples=6, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    links=st.integers(1, 5),
    base=st.sampled_from(["fixed", "floating"]),
    friction=st.booleans(),
    rotors=st.booleans(),
    reference=st.sampled_from(["LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED"]),
    free=st.integers(0, 2),
    pushed=st.integers(0, 2),
)
def test_loops_agree_with_straight_line_code_for_all_options(
    seed, links, base, friction, rotors, reference, free, pushed
):
    robot = random_tree(seed, links, base=base, actuators=True)
    robot = replace(robot, free=frozenset(robot.link_names[:free]))
    frames = [frame.name for frame in robot.frames[:pushed]]
    options = {"friction": friction, "rotors": rotors, "reference": reference, "wrenches": frames}
    both_forms_agree(robot, seed, interpreted, **options)


def both_forms_agree(robot, seed, evaluated, **options):
    loops, straight = (Dynamics(robot, looped=loops, **options) for loops in (True, False))
    assert straight.looped == ()
    rng = np.random.default_rng(seed)
    q, v, a = random_motion(robot, rng)
    wrenches = [rng.normal(size=6) for _ in options.get("wrenches", ())]
    bodies = [link.body.parameters for link in robot.links if link.name in robot.free]
    free = [1.3 * np.concatenate(bodies)] if bodies else []
    for name in ("inverse_dynamics", "forward_dynamics"):
        arguments = (q, v, a, *wrenches, *free)
        expected = interpreted(getattr(straight, name), *arguments)
        limit = EXACT if name == "inverse_dynamics" else SOLVED
        assert relative_error(evaluated(getattr(loops, name), *arguments), expected) <= limit


def test_a_batch_equals_its_samples_and_single_precision_agrees_approximately():
    robot = random_tree(8, 60, base="floating", kinds=("revolute", "prismatic", "spherical"))
    dyn, rng = Dynamics(robot), np.random.default_rng(0)
    batch = [np.array(part) for part in zip(*(random_motion(robot, rng) for _ in range(9)), strict=True)]
    for function, limit in ((dyn.inverse_dynamics, 1e-4), (dyn.bias, 1e-4)):
        arguments = batch[: len(function.inputs)]
        results = function(*arguments)
        for k in range(9):
            np.testing.assert_array_equal(function(*(x[k] for x in arguments)), results[k])
        single = function(*(x.astype(np.float32) for x in arguments))
        assert single.dtype == np.float32
        assert relative_error(single, results) <= limit


def test_derivatives_of_a_loop_are_those_of_straight_line_code():
    robot = random_tree(2, 7, base="floating")
    loops, straight = Dynamics(robot, looped=True), Dynamics(robot, looped=False)
    motion = motion_of(robot)
    jacobians = loops.inverse_dynamics.jacobian("q", "v")(*motion)
    for one, other in zip(jacobians, straight.inverse_dynamics.jacobian("q", "v")(*motion), strict=True):
        assert relative_error(one, other) <= 1e-11


def test_a_nan_in_one_sample_affects_no_other():
    robot = random_tree(4, 55, kinds=("revolute",), branching=False)
    dyn, (q, v, a) = Dynamics(robot), motion_of(robot)
    batch = np.stack([q, q, q])
    batch[1, 17] = np.nan
    tau = dyn.inverse_dynamics(batch, v, a)
    assert np.isnan(tau[1]).all()
    np.testing.assert_array_equal(tau[[0, 2]], dyn.inverse_dynamics(np.stack([q, q]), v, a))


def test_large_angles_are_accurate():
    robot = random_tree(4, 55, kinds=("revolute",), branching=False)
    dyn, oracle, (q, v, a) = Dynamics(robot), Oracle(robot), motion_of(robot)
    q[::7] *= 1e15
    assert relative_error(dyn.inverse_dynamics(q, v, a), oracle.inverse_dynamics(q, v, a)) <= EXACT
    assert np.isfinite(dyn.inverse_dynamics(1e290 * q, v, a)).all()
