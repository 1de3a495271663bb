"""The section `puma`: the printed arm is that of the zoo, and the printed errors have the ratios of this motion."""

from __future__ import annotations

import numpy as np
import pytest

from appell.describe.load import load_tree
from appell.dynamics import Dynamics
from appell_lab.papers.open_loop import replay
from appell_lab.papers.puma import printed_arm
from appell_lab.papers.puma_lines import LINES, PROVENZANO_LINE
from appell_lab.papers.puma_open_loop import PRINTED, SAMPLES, _small_error


@pytest.fixture(scope="module")
def robot():
    return load_tree("puma")


@pytest.fixture(scope="module")
def line(robot):
    return PROVENZANO_LINE.trajectory(robot)


def test_the_arm_of_the_printed_tables_is_the_one_of_the_zoo(robot):
    state = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 20, 6))
    ours, printed, craig = (
        Dynamics(arm).inverse_dynamics(*state) for arm in (robot, printed_arm(-1.0), printed_arm(1.0))
    )
    np.testing.assert_array_equal(ours, printed)
    assert np.abs(ours - craig).max() > 1.0  # N m: the sign of d matters


def test_all_lines_but_one_have_a_speed_of_0_1_m_per_s():
    speeds = {x.paper: np.linalg.norm(np.subtract(x.end, x.start)) / x.duration for x in LINES}
    assert speeds["Provenzano"] == pytest.approx(0.1, abs=2e-4)
    assert speeds["Valera 2003"] == pytest.approx(0.1, abs=2e-4)
    assert speeds["Mata 2002"] == pytest.approx(0.0657, abs=5e-5)


def test_errors_of_the_moduli_have_the_printed_ratios_and_distances_do_not(robot, line):
    printed = np.array(PRINTED["GA"], float)  # position, velocity, acceleration by largest, mean
    run = replay(line, robot, samples=SAMPLES)
    moduli = np.array([(x.max(), x.mean()) for x in run.modulus_errors])
    np.testing.assert_allclose(moduli[:, 1] / moduli[:, 0], printed[:, 1] / printed[:, 0], rtol=0.02)
    np.testing.assert_allclose(moduli[1:, 0] / moduli[0, 0], printed[1:, 0] / printed[0, 0], rtol=0.08)
    distances = [x.max() for x in run.tool_errors]
    assert distances[1] / distances[0] > 2.0  # printed 0.66
    assert moduli[0, 0] < 0.01 * printed[0, 0]  # the size is not reproduced


def test_the_error_of_a_modulus_is_at_most_that_of_the_vector(robot, line):
    run = replay(line, robot, samples=11)
    for modulus, distance in zip(run.modulus_errors, run.tool_errors, strict=True):
        assert np.all(modulus <= distance * (1 + 1e-9) + 1e-15)


def test_the_ratios_belong_to_the_arm_and_not_to_the_integrator(robot, line):
    """An initial error, integrated with tight tolerances, has the ratios of an error caused by loose tolerances."""
    growth, (position, velocity, acceleration) = _small_error(robot, line)
    assert growth == pytest.approx(1.76e5, rel=0.01)  # an independent computation with Pinocchio gives 1.76e5
    loose = [x.max() for x in replay(line, robot, samples=SAMPLES).modulus_errors]
    assert velocity.max() / position.max() == pytest.approx(loose[1] / loose[0], rel=0.01)
    assert acceleration.max() / position.max() == pytest.approx(loose[2] / loose[0], rel=0.01)


def test_the_printed_table_contradicts_the_printed_conclusion():
    """The paper concludes GA < CRBA; its table has CRBA < GA < ABA in every row."""
    crba, ga, aba = (np.array(PRINTED[name], float) for name in ("CRBA", "GA", "ABA"))
    assert np.all(crba < ga)
    assert np.all(ga < aba)
