"""Torques, energies and joint motions of the mechanisms of the zoo against Pinocchio with closed loops."""

from __future__ import annotations

import numpy as np
import pytest

from appell.describe.zoo.mechanisms import MECHANISMS
from appell.dynamics import Dynamics
from appell.kinematics.mechanisms import condition
from formulate.closed_form.reference_trees import JUDGES
from robots import random_body

SPREAD = {"agile-wrist": 0.5, "five-bar": 0.1, "three-rrr": 0.1, "delta": 0.15, "stewart-gough": 0.15}


def states(dyn, rng, count=100):
    """Random reachable motions near home with condition numbers below 100."""
    system = dyn.system
    q = system.start + rng.uniform(-1, 1, (4 * count, system.nq)) * SPREAD[system.name]
    q = q[condition(dyn, q) < 100.0][:count]
    assert len(q) == count
    return q, rng.normal(size=q.shape), rng.normal(size=q.shape)


@pytest.fixture(params=list(JUDGES), scope="module")
def case(request):
    """The robot with random bodies and oblique gravity, so that no symmetry hides an error, and its reference."""
    rng = np.random.default_rng(2014)
    plain = MECHANISMS[request.param](gravity=(1.0, -2.0, -9.0))
    system = plain.with_bodies({name: random_body(rng) for name in plain.body_names})
    judge, mechanism = JUDGES[request.param](system), Dynamics(system)
    q, v, a = states(mechanism, rng)
    theta = mechanism.actuator_positions(q)
    assembled = [judge.loops.assemble(x, judge.guess(x, t)) for x, t in zip(q, theta, strict=True)]
    y = [configuration for configuration, _ in assembled]
    moves = [judge.loops.motion(*state) for state in zip(y, v, a, strict=True)]
    return mechanism, judge, (q, v, a), y, moves, max(moved for _, moved in assembled)


def test_inverse_kinematics_closes_the_loops(case):
    *_, moved = case
    assert moved < 1e-11


def test_actuator_torques_agree_with_the_closed_tree(case):
    mechanism, judge, motion, y, moves, _ = case
    theirs = np.array([judge.loops.torques(configuration, *move) for configuration, move in zip(y, moves, strict=True)])
    error = np.abs(mechanism.inverse_dynamics(*motion) - theirs)
    assert error.max() < 1e-9, error.max()


def test_joint_rates_and_accelerations_agree_with_the_closed_tree(case):
    mechanism, judge, motion, _, moves, _ = case
    columns = [judge.loops.index(name) for name in judge.loops.actuators]
    _, rates, accelerations = mechanism.joint_motion(*motion)
    n = mechanism.system.nu
    theirs = np.array(moves)[:, :, columns]
    assert np.abs(rates[:, :n] - theirs[:, 0]).max() < 1e-10
    assert np.abs(accelerations[:, :n] - theirs[:, 1]).max() < 1e-9


def test_energies_agree_with_the_closed_tree(case):
    mechanism, judge, (q, v, _), y, moves, _ = case
    theirs = np.array(
        [judge.loops.energy(configuration, rate) for configuration, (rate, _) in zip(y, moves, strict=True)]
    ).T
    T, U = mechanism.energy(q, v)
    assert np.allclose(T, theirs[0], rtol=1e-11)
    assert np.allclose(U, theirs[1], rtol=1e-11, atol=1e-11)
