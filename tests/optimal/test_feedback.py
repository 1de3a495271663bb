"""Feedback about an optimal motion: a law for simulations, rollouts, control loops and C."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError

GOAL = np.array([0.8, -0.5])


@pytest.fixture(scope="module")
def record():
    return ap.optimize(
        ap.load("planar-2r"),
        [0.0, 0.0],
        steps=40,
        dt=0.02,
        cost=lambda t, q, v, tau: 1e-3 * ap.square(tau) + 0.1 * ap.square(v),
        final_cost=lambda q, v: 1e3 * ap.square(q - GOAL) + 10.0 * ap.square(v),
        limits={"torque": [40.0, 15.0]},
    )


def test_the_rolled_out_law_repeats_the_motion(record):
    records = ap.rollout(ap.load("planar-2r"), [0.0, 0.0], steps=40, dt=0.02, law=record.feedback(), method="euler")
    np.testing.assert_allclose(records["q"][0], record.q, atol=1e-7)


def test_feedback_leads_a_disturbed_start_to_the_goal_and_holds_it(record):
    robot, law = ap.load("planar-2r"), record.feedback(period=0.002)
    led = ap.simulate(robot, [0.1, -0.1], until=2.0, torque=law)
    alone = ap.simulate(
        robot, [0.1, -0.1], until=0.8, torque=ap.Sampled(lambda t, q, v: record.tau[min(round(t / 0.02), 39)], 0.02)
    )
    assert np.abs(led.q[-1] - GOAL).max() < 0.02 < np.abs(alone.q[-1] - GOAL).max()
    assert (np.abs(led.tau) <= [40.0, 15.0]).all()


def test_function_rollout_and_control_loop_compute_the_same_torque(record):
    law, q, v = record.feedback(), np.array([0.3, -0.2]), np.array([0.5, 0.4])
    design = ap.control.Design(ap.load("planar-2r"), law=law.traced, period=law.period)
    controller = ap.control.Controller(design)
    kernel = law.kernel_law()
    for t in (0.0, 0.11, 0.5, 5.0):
        tau = law(t, q, v)
        np.testing.assert_array_equal(controller(q, v, np.zeros((3, 2)), time=t), tau)
        row = kernel.signal(np.array([t]))[0]
        f = ap.Function.of(
            "row", {"q": 2, "v": 2}, lambda q, v, row=row: {"tau": kernel.torque(0.0, q, v, [], row.tolist())[0]}
        )
        np.testing.assert_allclose(f(q, v), tau, rtol=1e-12, atol=1e-12)


def test_the_law_in_c_has_the_motion_in_constant_tables(record):
    code = record.feedback().to_c("track")
    assert "static const double track_numbers" in code.source


def test_wrong_uses_are_refused(record):
    with pytest.raises(ArgumentError, match="period"):
        record.feedback(period=0.0)
    with pytest.raises(ArgumentError, match="reference"):
        ap.rollout(ap.load("planar-2r"), [0.0, 0.0], steps=2, dt=0.02, law=record.feedback(), reference=GOAL)
