"""The paper's verification: a stiff controller, a simulator that closes loops by forces, and the closed form."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.describe.zoo.mechanisms import agile_wrist, five_bar
from appell.dynamics import Dynamics
from appell.lab.bench.closed_loops import LoopPeer
from appell.lab.judges.agile_wrist_tree import agile_wrist_tree, platform_motion, tree_state
from appell.lab.judges.verification import paper_trajectory, verify


@pytest.fixture(scope="module")
def wrist():
    return agile_wrist(platform_com=(0.01, 0.0, 0.02))


def assert_within_the_papers_errors(found):
    assert (found.kinematic_errors < [1e-7, 1e-6, 1e-5]).all()
    assert found.torque_error < 1e-9  # the paper has 1e-5
    assert found.gap < 1e-12
    assert np.abs(found.simulated_torque).max() > 0.1  # the motors did work
    assert found.tracking_error < 1e-3


def test_the_first_tenths_of_the_trajectory(wrist):
    found = verify(wrist, until=0.3, instants=31)
    assert_within_the_papers_errors(found)
    assert np.ptp(found.platform[:, 0], axis=0).min() > 0.1  # and the platform moved


@pytest.mark.slow
def test_the_whole_trajectory(wrist):
    assert_within_the_papers_errors(verify(wrist))


def test_the_closed_tree_moves_as_the_closed_form_under_the_same_torques(wrist):
    tree, dyn = agile_wrist_tree(wrist), Dynamics(wrist)
    rng = np.random.default_rng(1)
    for q, v, a in rng.uniform(-0.4, 0.4, (20, 3, 3)):
        position, velocity, acceleration = dyn.joint_motion(q, v, a)
        state = tree_state(position, velocity, q, v)
        gain = tree.forward_dynamics(state[:10], state[10:], dyn.inverse_dynamics(q, v, a))
        again = platform_motion(state[6:10], state[16:], gain[6:])
        assert np.abs(np.array(again) - (q, v, a)).max() < 1e-10
        assert np.abs(gain[tree.selected] - acceleration[:3]).max() < 1e-10


def test_pinocchio_finds_the_same_torques_with_two_gaps_a_loop(wrist):
    peer = LoopPeer(wrist)
    q, v, a = paper_trajectory(np.linspace(0.0, 4.0, 60))
    joints = Dynamics(wrist).joint_motion(q, v, a)
    legs = [0, 3, 1, 4, 2, 5]
    states = [np.hstack([joint[:, legs], own]) for joint, own in zip(joints, (q, v, a), strict=True)]
    theirs = np.array([peer.torques(*state) for state in zip(*states, strict=True)])
    assert np.abs(Dynamics(wrist).inverse_dynamics(q, v, a) - theirs).max() < 1e-12


def test_simulate_runs_a_mechanism_under_a_computed_torque(wrist):
    dyn = Dynamics(wrist)

    def torque(t, q, v):
        wanted, rate, gain = paper_trajectory(t)
        return dyn.inverse_dynamics(q, v, gain + 400.0 * (wanted - q) + 40.0 * (rate - v))

    q, v, _ = paper_trajectory(0.0)
    found = ap.simulate(dyn, q + 0.02, v, until=0.5, torque=torque, rtol=1e-9, atol=1e-11, progress=False)
    assert found.finished
    assert np.abs(found.q[-1] - paper_trajectory(0.5)[0]).max() < 1e-4


def test_simulate_keeps_the_energy_of_a_free_mechanism():
    robot = Dynamics(five_bar(gravity=(0.0, 0.0, -9.81)))  # lying flat: nothing pulls
    found = ap.simulate(robot, [0.0, 0.4], [0.3, -0.2], until=0.2, rtol=1e-10, atol=1e-12, progress=False)
    assert found.finished
    energy = sum(robot.energy(found.q, found.v))
    assert np.ptp(energy) < 1e-8 * energy[0]
