"""Bounces that lose next to nothing: as many as there must be, and rest when the series ends."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from free_bodies import free_body

G = 9.81


@pytest.mark.parametrize("restitution", [0.97, 0.99])
def test_a_lively_ball_bounces_as_often_as_it_must_and_rests_in_time(restitution):
    robot, slowest = free_body([(0, 0, 0)]), 1e-5
    start = robot.neutral
    start[2] = 1.0
    contact = ap.Contact("all", ap.Plane((0, 0, 1)), restitution)
    motion = ap.simulate(ap.Dynamics(robot), start, until=100.0, contacts=contact, solver=ap.Solver(rest_speed=slowest))
    fall = np.sqrt(2.0 / G)
    bounces = int(np.ceil(np.log(slowest / (G * fall)) / np.log(restitution)))  # until they are slower than that
    assert len(motion.impacts) == bounces
    expected = fall * (1 + 2 * np.cumsum(np.concatenate([[0.0], restitution ** np.arange(1, bounces)])))
    np.testing.assert_allclose([event.time for event in motion.impacts], expected, atol=1e-9)
    rest = next(event for event in motion.events if event.kind == "rest")
    assert rest.time == pytest.approx(fall * (1 + restitution) / (1 - restitution), abs=1e-8)
