"""All functions of `Dynamics` compared with Pinocchio, on the zoo and on random trees with all kinds of joints.

Errors are relative to the largest entry. Rounding alone allows about 1e-15 times the number of links; forward dynamics
and derivatives also depend on the condition number of the inertia matrix, on both sides.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from answers import answer, interpreted
from appell.dynamics import Dynamics
from appell_lab.references.oracle import Oracle, relative_error
from robots import random_motion, random_tree, zoo

EXACT, SOLVED = 1e-12, 1e-11  # relative tolerances: of sums, and of solutions of linear systems

ZOO = {robot.name: robot for robot in zoo()}
TREES = {  # 20 trees of up to 30 links, half of them on a floating base; `appell fuzz --only robots` uses more
    f"tree{seed}": (seed, 1 + (seed * 29) // 19, "floating" if seed % 2 else "fixed") for seed in range(20)
}
SOME_TREES = list(TREES)[:14:3]  # up to 19 links, on both bases; larger trees take seconds to trace
REFERENCES = ("LOCAL", "WORLD", "LOCAL_WORLD_ALIGNED")


@cache
def subject(name):
    if name in ZOO:
        robot = ZOO[name]
    else:
        seed, links, base = TREES[name]
        robot = random_tree(seed, links, base=base)
    return robot, Dynamics(robot), Oracle(robot), random_motion(robot, np.random.default_rng(7))


@pytest.fixture(params=[*ZOO, *TREES])
def case(request):
    return subject(request.param)


def test_inverse_dynamics(case):
    _, dyn, oracle, motion = case
    assert relative_error(answer(dyn.inverse_dynamics, *motion), oracle.inverse_dynamics(*motion)) <= EXACT


def test_forward_dynamics(case):
    _, dyn, oracle, motion = case
    assert relative_error(answer(dyn.forward_dynamics, *motion), oracle.forward_dynamics(*motion)) <= SOLVED


def test_inertia_matrix(case):
    _, dyn, oracle, (q, _, _) = case
    assert relative_error(answer(dyn.mass_matrix, q), oracle.mass_matrix(q)) <= EXACT


def test_bias_and_gravity(case):
    _, dyn, oracle, (q, v, _) = case
    assert relative_error(answer(dyn.bias, q, v), oracle.bias(q, v)) <= EXACT
    scale = max(np.abs(oracle.gravity(q)).max(), np.abs(oracle.bias(q, v)).max())  # gravity may be zero
    assert np.abs(answer(dyn.gravity, q) - oracle.gravity(q)).max() <= EXACT * scale


def test_coriolis_matrix(case):
    _, dyn, oracle, (q, v, _) = case
    scale = max(np.abs(oracle.coriolis(q, v)).max(), 1e-3 * np.abs(oracle.mass_matrix(q)).max())
    assert np.abs(answer(dyn.coriolis, q, v) - oracle.coriolis(q, v)).max() <= EXACT * scale


def test_energy_momentum_and_centre_of_mass(case):
    _, dyn, oracle, (q, v, _) = case
    for ours, theirs in zip(answer(dyn.energy, q, v), oracle.energy(q, v), strict=True):
        assert abs(ours - theirs) <= EXACT * max(np.abs(oracle.energy(q, v)))
    assert relative_error(answer(dyn.momentum, q, v), oracle.momentum(q, v)) <= EXACT
    assert relative_error(answer(dyn.center_of_mass, q), oracle.center_of_mass(q)) <= EXACT


def test_regressor(case):
    _, dyn, oracle, motion = case
    assert relative_error(answer(dyn.regressor, *motion), oracle.regressor(*motion)) <= EXACT


def test_derivatives_of_inverse_dynamics(case):
    _, dyn, oracle, motion = case
    ours = answer(dyn.inverse_dynamics.jacobian("q", "v", "a"), *motion)
    expected = oracle.inverse_dynamics_derivatives(*motion)
    scale = max(np.abs(part).max() for part in expected)
    for part, theirs in zip(ours, expected, strict=True):
        assert np.abs(part - theirs).max() <= SOLVED * scale


@pytest.mark.parametrize("name", [*ZOO, *SOME_TREES])
def test_derivatives_of_forward_dynamics(name):
    _, dyn, oracle, motion = subject(name)
    ours = answer(dyn.forward_dynamics.jacobian("q", "v", "tau"), *motion)
    for part, theirs in zip(ours, oracle.forward_dynamics_derivatives(*motion), strict=True):
        scale = max(np.abs(theirs).max(), 1e-9)
        assert np.abs(part - theirs).max() <= SOLVED * scale


@pytest.mark.parametrize("reference", REFERENCES)
def test_poses_and_jacobians_of_frames(case, reference):
    """Evaluated by the interpreter; `test_frames` uses compiled functions."""
    robot, dyn, oracle, (q, v, _) = case
    for frame in {robot.frame_names[0], robot.link_names[-1], robot.frame_names[-1]}:
        assert relative_error(interpreted(dyn.pose(frame), q), oracle.pose(frame, q)) <= EXACT
        expected = oracle.jacobian(frame, q, reference)
        scale = max(np.abs(expected).max(), 1.0)
        assert np.abs(interpreted(dyn.jacobian(frame, reference), q) - expected).max() <= EXACT * scale
        rate = oracle.jacobian_rate(frame, q, v, reference)
        scale = max(np.abs(rate).max(), 1.0)
        assert np.abs(interpreted(dyn.jacobian_rate(frame, reference), q, v) - rate).max() <= EXACT * scale


@pytest.mark.parametrize("name", ["puma", *list(TREES)[::3]])
def test_rotors_agree_with_pinocchios_armature(name):
    """Reflected rotor inertias, including those of mimic joints; the articulated-body recursion contains them."""
    robot = ZOO[name] if name in ZOO else random_tree(*TREES[name][:2], base=TREES[name][2], actuators=True)
    oracle, (q, v, a) = Oracle(robot, rotors=True), random_motion(robot, np.random.default_rng(7))
    for formulation in ("gibbs-appell", "newton-euler"):
        forward = "ldl" if oracle.has_mimic else None
        dyn = Dynamics(robot, formulation, forward=forward, rotors=True)
        tau = oracle.inverse_dynamics(q, v, a)
        assert relative_error(answer(dyn.inverse_dynamics, q, v, a), tau) <= EXACT
        assert relative_error(answer(dyn.mass_matrix, q), oracle.mass_matrix(q)) <= EXACT
        assert relative_error(answer(dyn.forward_dynamics, q, v, tau), oracle.forward_dynamics(q, v, tau)) <= SOLVED
        assert relative_error(answer(dyn.energy, q, v), oracle.energy(q, v)) <= EXACT
    bare = Oracle(robot).mass_matrix(q)
    assert relative_error(oracle.mass_matrix(q), bare) > 1e-6 or not any(a.rotor_inertia for a in robot.actuators)
