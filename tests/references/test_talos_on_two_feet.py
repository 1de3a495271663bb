"""Talos with both feet welded to the ground, compared with an independent reader and recursion in 30 digits."""

from __future__ import annotations

import numpy as np
import pytest

from answers import answer
from appell.dynamics import Dynamics
from appell_lab.bench.loop_robots import FEET, fixed_feet
from appell_lab.bench.subject import find
from constrained_cases import CASES

EXACT = 1e-12  # relative to the largest entry; accelerations span 1e4, and the reference agrees with Pinocchio to 1e-15
STATES = CASES["talos-two-feet"]["states"]


def rearranged(robot, joints, values):
    """Return values of the reference in the joint order of q or v of appell."""
    spans = {link.joint.name: [s.stop - s.start for s in robot.span(link.joint)] for link in robot.links}
    which = 0 if len(values) == robot.nq else 1
    cuts = np.cumsum([spans[name][which] for name in joints])[:-1]
    parts = dict(zip(joints, np.split(np.array(values, float), cuts), strict=True))
    return np.concatenate([parts[link.joint.name] for link in robot.links])


@pytest.fixture(params=range(len(STATES)), scope="module")
def case(request):
    given, tree = STATES[request.param], find("talos").robot
    q, v, tau, a = (rearranged(tree, given["joints"], given[name]) for name in ("q", "v", "tau", "a"))
    soles = {foot: Dynamics(tree).pose(foot)(q) for foot in FEET}
    return Dynamics(tree.with_loops(*fixed_feet(tree, FEET, q), home=q)), q, v, tau, a, soles, given


def test_accelerations(case):
    dyn, q, w, tau, a, _, given = case
    assert dyn.system.rank == given["rank"]
    close(answer(dyn.constrained_acceleration, q, w, tau), a)


def test_accelerations_by_independent_velocities(case):
    dyn, q, w, tau, a, _, _ = case
    names = dyn.system.tree.velocity_names
    u = w[[names.index(name) for name in dyn.system.velocity_names]]
    close(answer(dyn.tree_velocity, q, u), w, 1.0)
    close(answer(dyn.tree_acceleration, q, u, answer(dyn.forward_dynamics, q, u, tau)), a)


def test_wrenches_on_the_soles(case):
    dyn, q, w, tau, _, soles, given = case
    names = dyn.system.tree.velocity_names
    u = w[[names.index(name) for name in dyn.system.velocity_names]]
    for foot, expected in given["foot_wrenches_on_the_robot_in_sole_axes"].items():
        force, moment = np.split(answer(dyn.constraint_wrench(foot), q, u, tau), 2)
        R = soles[foot][:3, :3]
        close([*(R.T @ force), *(R.T @ moment)], expected)


def close(ours, theirs, least=0.0):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=EXACT * max(np.abs(theirs).max(), least))
