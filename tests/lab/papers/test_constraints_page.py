"""The classic mechanisms of the section `constraints`, compared with reference numbers from other descriptions."""

from __future__ import annotations

import numpy as np
import pytest

from appell.dynamics import Dynamics
from appell.simulation import simulate
from appell_lab.papers.classics import Disk, Sleigh, andrews_squeezer, bricard, snakeboard, squeezing
from appell_lab.papers.constraints import SQUEEZED, TIGHT, digits
from appell_lab.papers.whipple import Canonical, bicycle
from constrained_cases import CASES, constrained, state


def test_the_squeezer_agrees_with_the_reference_at_the_start_and_after_0_03_s():
    robot = andrews_squeezer()
    dyn = Dynamics(robot)
    for k in (0, 1):
        given = state("andrews-squeezer", k)
        v = dyn.independent_velocity(given["q"], given["v"])
        tau = squeezing(0.0, given["q"], v)
        np.testing.assert_allclose(tau, given["tau"][[0, 2]], rtol=1e-14)
        a = dyn.tree_acceleration(given["q"], v, dyn.forward_dynamics(given["q"], v, tau))
        np.testing.assert_allclose(a, given["a"], rtol=0, atol=1e-12 * np.abs(given["a"]).max())
    motion = simulate(dyn, until=0.03, torque=squeezing, **TIGHT)
    end = dict(zip(robot.coordinate_names, motion.q[-1], strict=True))
    assert min(digits(end[name], exact) for name, _, exact in SQUEEZED) > 10.5
    assert max(digits(float(exact), printed) for _, printed, exact in SQUEEZED) < 13.0  # of the test set


@pytest.mark.parametrize(
    ("ours", "name"), [(bricard, "bricard"), (snakeboard, "snakeboard"), (Sleigh().robot, "chaplygin-sleigh")]
)
def test_a_mechanism_agrees_with_the_reference(ours, name):
    given, robot = state(name), ours()
    mine, theirs = Dynamics(robot), Dynamics(constrained(name))
    q, v = given["q"], theirs.independent_velocity(given["q"], given["v"])
    np.testing.assert_allclose(mine.mass_matrix(q), theirs.mass_matrix(q), rtol=0, atol=1e-14)
    np.testing.assert_allclose(mine.bias(q, v), theirs.bias(q, v), rtol=0, atol=1e-13)


def test_the_bicycle_has_the_matrices_and_the_stable_range_of_the_reference():
    canonical, expected = Canonical.of(bicycle()), CASES["whipple-bicycle"]
    for name, matrix in expected["canonical"].items():
        np.testing.assert_allclose(getattr(canonical, name), matrix, rtol=0, atol=1e-12 * np.abs(matrix).max())
    np.testing.assert_allclose(canonical.stable_range(), expected["stable_range"], rtol=1e-12)


def test_the_disk_agrees_with_the_reference():
    expected, disk = CASES["rolling-disk"], Disk()
    assert disk.critical_spin == pytest.approx(expected["straight_rolling"]["critical_spin"], rel=1e-15)
    for case in expected["straight_rolling"]["cases"]:
        assert disk.slope(case["spin"]) == pytest.approx(case["eigenvalue_squared"], rel=1e-14)
    for steady in expected["steady"]:
        spin = disk.steady_spin(steady["theta"], steady["yaw_rate"])
        assert spin == pytest.approx(steady["spin_about_axis"], rel=1e-14)


def test_digits_counts_the_digits_that_two_numbers_share():
    assert digits(1.0, "1") == 17.0
    assert digits(1.0001, "1") == pytest.approx(4.0)
    assert digits(-1.0, "1") < 0.0
