"""The verification of the paper: a stiff controller, a simulator with constraint forces, and the closed form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import appell as ap
from appell.describe.zoo.mechanisms import agile_wrist, five_bar
from appell.dynamics import Dynamics
from appell.formulate.systems import CLOSED_FORMS
from appell_lab.references.agile_wrist_tree import agile_wrist_tree, platform_motion, tree_state
from appell_lab.references.pinocchio_loops import LoopPeer, tree_states
from appell_lab.references.verification import paper_trajectory, verify


@pytest.fixture(scope="module")
def wrist():
    return agile_wrist(platform_com=(0.01, 0.0, 0.02))


def assert_within_the_papers_errors(result):
    assert (result.kinematic_errors < [1e-7, 1e-6, 1e-5]).all()
    assert result.torque_error < 1e-9  # 1e-5 in the paper
    assert result.gap < 1e-12
    assert np.abs(result.simulated_torque).max() > 0.1  # the torques are not negligible
    assert result.tracking_error < 1e-3


def test_the_start_of_the_trajectory(wrist):
    result = verify(wrist, until=0.3, instants=31)
    assert_within_the_papers_errors(result)
    assert np.ptp(result.platform[:, 0], axis=0).min() > 0.1  # the platform moved


@pytest.mark.slow
def test_the_complete_trajectory(wrist):
    assert_within_the_papers_errors(verify(wrist))


def test_the_closed_tree_and_the_closed_form_move_alike_under_the_same_torques(wrist):
    tree, dyn = agile_wrist_tree(wrist), Dynamics(wrist)
    rng = np.random.default_rng(1)
    for q, v, a in rng.uniform(-0.4, 0.4, (20, 3, 3)):
        position, velocity, acceleration = dyn.joint_motion(q, v, a)
        state = tree_state(position, velocity, q, v)
        tree_a = tree.forward_dynamics(state[:10], state[10:], dyn.inverse_dynamics(q, v, a))
        motion = platform_motion(state[6:10], state[16:], tree_a[6:])
        assert np.abs(np.array(motion) - (q, v, a)).max() < 1e-10
        assert np.abs(tree_a[tree.selected] - acceleration[:3]).max() < 1e-10


PLATE = (0.0, 0.0, 0.05165)  # centre of mass of a platform that is a flat plate
BRANCHES = list(itertools.product((1, -1), repeat=3))


def test_pinocchio_gives_the_same_torques_with_two_gaps_per_loop(wrist):
    q, v, a = paper_trajectory(np.linspace(0.0, 4.0, 60))
    dyn = Dynamics(wrist)
    assert np.abs(dyn.inverse_dynamics(q, v, a) - LoopPeer(wrist).motor_torques(dyn, q, v, a)).max() < 1e-12


@pytest.mark.parametrize("branches", BRANCHES, ids=str)
@pytest.mark.parametrize("formulation", CLOSED_FORMS)
def test_the_papers_platform_is_accepted_in_every_branch_and_its_torques_agree_with_pinocchio(branches, formulation):
    """Torques are at most a few N m: 1e-12 is several hundred units in their last place."""
    with pytest.warns(ap.ModelWarning, match="by 0.041 %"):
        plate = agile_wrist(platform_com=PLATE, branches=branches)
    dyn, peer = Dynamics(plate, formulation), LoopPeer(plate)
    q, v, a = paper_trajectory(np.linspace(0.0, 4.0, 101))
    ours, theirs = dyn.inverse_dynamics(q, v, a), peer.motor_torques(dyn, q, v, a)
    assert max(peer.residual(y) for y in tree_states(dyn, q, v, a)[0]) < 1e-14
    assert np.abs(ours - theirs).max() < 1e-12 * max(1.0, np.abs(theirs).max())


def test_simulate_runs_a_mechanism_under_a_computed_torque(wrist):
    dyn = Dynamics(wrist)

    def torque(t, q, v):
        desired, rate, acceleration = paper_trajectory(t)
        return dyn.inverse_dynamics(q, v, acceleration + 400.0 * (desired - q) + 40.0 * (rate - v))

    q, v, _ = paper_trajectory(0.0)
    record = ap.simulate(
        dyn, q + 0.02, v, until=0.5, torque=torque, solver=ap.Solver(rtol=1e-9, atol=1e-11), progress=False
    )
    assert record.finished
    assert np.abs(record.q[-1] - paper_trajectory(0.5)[0]).max() < 1e-4


def test_simulate_conserves_the_energy_of_a_free_mechanism():
    robot = Dynamics(five_bar(gravity=(0.0, 0.0, -9.81)))  # in a horizontal plane: gravity has no effect
    record = ap.simulate(
        robot, [0.0, 0.4], [0.3, -0.2], until=0.2, solver=ap.Solver(rtol=1e-10, atol=1e-12), progress=False
    )
    assert record.finished
    energy = sum(robot.energy(record.q, record.v))
    assert np.ptp(energy) < 1e-8 * energy[0]
