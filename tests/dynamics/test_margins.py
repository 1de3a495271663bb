"""Pairs that keep a margin, the distance that each keeps, and pairs that are left out."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.dynamics.margins import has_pairs, margin_of
from appell.errors import ArgumentError

TIP = ap.Collision("lower", "sphere", (0.1,), name="tip", pose=[0.5, 0.0, 0.0])
POST = ap.Collision(None, "sphere", (0.2,), name="post", pose=[0.0, 1.4, 0.0])
RAIL = ap.Collision(None, "plane", name="rail", pose=[0.0, 0.0, -0.11])  # always 0.01 m below the tip
FLOOR = ap.Collision(None, "plane", name="floor")  # contains half of the tip


@pytest.fixture(scope="module")
def robot():
    return ap.load("planar-2r").with_collisions(TIP, POST, RAIL, FLOOR)


def test_pairs_that_are_always_close_must_only_not_touch_and_those_that_overlap_are_left_out(robot):
    margin = margin_of(robot, 0.05)
    assert dict(zip(margin.pairs, margin.least.tolist(), strict=True)) == {("tip", "post"): 0.05, ("tip", "rail"): 0.0}
    (left_out,) = margin.ignored
    assert left_out[:2] == ("tip", "floor")
    assert left_out.reason == "overlap in 100% of 1001 configurations"
    q = np.random.default_rng(1).uniform(-3.0, 3.0, (50, 2))
    expected = ap.Dynamics(robot).distances(margin.pairs, witnesses=False, gradient=False)(q) - margin.least
    assert np.array_equal(margin.slack(q), expected)
    assert margin_of(robot, 0.004).least.tolist() == [0.004, 0.004]


def test_pairs_that_never_come_near_are_not_near():
    far = ap.Collision(None, "sphere", (0.1,), name="far", pose=[9.0, 0.0, 0.0])
    margin = margin_of(ap.load("planar-2r").with_collisions(TIP, POST, far), 0.05)
    assert margin.near.pairs == (("tip", "post"),)
    alone = margin_of(ap.load("planar-2r").with_collisions(TIP, far), 0.05)
    assert alone.near.pairs == (("tip", "far"),)


def test_a_configuration_in_penetration_is_refused_with_depth_and_pair(robot):
    margin = margin_of(robot, 0.05)
    with pytest.raises(ArgumentError, match=r"at the start, collision shapes 'tip' and 'post' overlap by 0\.") as error:
        margin.check(np.array([0.5 * np.pi, 0.0]), "at the start", "Move it.")
    assert "a distance of 0.05 m" in str(error.value)
    margin.check(np.array([-0.5 * np.pi, 0.0]), "at the start", "Move it.")


def test_robots_without_pairs_and_invalid_margins_are_refused(robot):
    assert [has_pairs(each) for each in (ap.load("planar-2r"), ap.load("delta"), robot)] == [False, False, True]
    with pytest.raises(ArgumentError, match="has no collision shapes"):
        margin_of(ap.load("planar-2r"), 0.02)
    with pytest.raises(ArgumentError, match=r"margin, in m, is -0\.1"):
        margin_of(robot, -0.1)
    with pytest.raises(ArgumentError, match="no collision shape or link 'table'"):
        margin_of(robot, 0.02, [("tip", "table")])
    with pytest.raises(ArgumentError, match=r"all 1 pairs of collision shapes .* overlap in half of 1001"):
        margin_of(robot, 0.02, [("tip", "floor")])
