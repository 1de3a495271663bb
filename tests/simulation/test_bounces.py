"""Bounces with restitution near one: their number, and the time of rest at the end of the series."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from free_bodies import free_body

G = 9.81


@pytest.mark.parametrize("restitution", [0.97, 0.99])
def test_a_ball_of_high_restitution_has_the_expected_bounces_and_time_of_rest(restitution):
    robot, rest_speed = free_body([(0, 0, 0)]), 1e-5
    start = robot.neutral
    start[2] = 1.0
    contact = ap.Contact("all", ap.Plane((0, 0, 1)), restitution, friction=0.0)
    motion = ap.simulate(
        ap.Dynamics(robot), start, until=100.0, contacts=contact, solver=ap.Solver(rest_speed=rest_speed)
    )
    fall = np.sqrt(2.0 / G)
    bounces = int(np.ceil(np.log(rest_speed / (G * fall)) / np.log(restitution)))  # until they are slower than that
    assert len(motion.impacts) == bounces
    expected = fall * (1 + 2 * np.cumsum(np.concatenate([[0.0], restitution ** np.arange(1, bounces)])))
    np.testing.assert_allclose([event.time for event in motion.impacts], expected, atol=1e-9)
    rest = next(event for event in motion.events if event.kind == "rest")
    assert rest.time == pytest.approx(fall * (1 + restitution) / (1 - restitution), abs=1e-8)
