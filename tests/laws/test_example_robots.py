"""Robots of example-robot-data of every structure, on a fixed or a floating base, compared with Pinocchio.

By default Pinocchio gives a mimic joint its own coordinate; this test does the same (mimic=False). Bodies that cannot
exist are accepted, because Pinocchio accepts them.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from answers import answer
from appell.describe.load import load
from appell.dynamics import Dynamics
from appell.errors import ModelWarning
from appell_lab.references.oracle import Oracle, relative_error
from robots import distinct_example_cases, example_cases, random_motion

EXACT, SOLVED = 1e-12, 1e-11  # relative tolerances: of sums, and of solutions of linear systems
CASES = example_cases()


def test_example_robot_data_is_installed():
    assert len(CASES) >= 130


@pytest.mark.slow
@pytest.mark.parametrize("name", distinct_example_cases())
def test_agrees_with_pinocchio(name):
    path, base = CASES[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = load(path, base=base, physical=False, mimic=False)
    dyn, oracle = Dynamics(robot), Oracle.of_urdf(robot, path)
    q, v, a = random_motion(robot, np.random.default_rng(3))

    tau, M = oracle.inverse_dynamics(q, v, a), oracle.mass_matrix(q)
    assert relative_error(answer(dyn.inverse_dynamics, q, v, a), tau) <= EXACT
    assert relative_error(answer(dyn.mass_matrix, q), M) <= EXACT
    assert relative_error(answer(dyn.bias, q, v), oracle.bias(q, v)) <= EXACT
    assert np.abs(answer(dyn.gravity, q) - oracle.gravity(q)).max() <= EXACT * np.abs(tau).max()
    assert relative_error(answer(dyn.regressor, q, v, a), oracle.regressor(q, v, a)) <= EXACT
    scale = np.abs(oracle.energy(q, v)).max()
    np.testing.assert_allclose(answer(dyn.energy, q, v), oracle.energy(q, v), rtol=0, atol=EXACT * scale)
    frame = robot.frame_names[-1]
    assert relative_error(answer(dyn.jacobian(frame), q), oracle.jacobian(frame, q, "LOCAL")) <= EXACT

    derivatives = oracle.inverse_dynamics_derivatives(q, v, a)
    scale = max(np.abs(part).max() for part in derivatives)
    for ours, theirs in zip(answer(dyn.inverse_dynamics.jacobian("q", "v", "a"), q, v, a), derivatives, strict=True):
        assert np.abs(ours - theirs).max() <= SOLVED * scale

    # forward dynamics is as accurate as the inertia matrix allows; it is singular for the bodies of some files
    condition = np.linalg.cond(M)
    if condition < 1e12:
        tolerance = max(SOLVED, 1e-15 * condition)
        theirs = oracle.forward_dynamics(q, v, a)
        assert relative_error(answer(dyn.forward_dynamics, q, v, a), theirs) <= tolerance
