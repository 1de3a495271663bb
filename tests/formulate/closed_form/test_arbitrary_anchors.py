"""Mechanisms of the zoo with joints at arbitrary points."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.describe.load import load_text
from appell.describe.write import to_toml
from appell.describe.zoo.mechanisms import MECHANISMS, five_bar, stewart_gough, three_rrr
from appell.errors import ArgumentError, ModelError
from formulate.closed_form import reference_trees
from robots import random_body

BASE = ((0.5, 0.1, 0.0), (0.2, 0.45, 0.1), (-0.3, 0.4, 0.0), (-0.55, 0.0, -0.1), (-0.2, -0.5, 0.05), (0.35, -0.4, 0.0))
PLATFORM = (
    (0.2, 0.1, 0.0),
    (0.0, 0.3, 0.0),
    (-0.1, 0.2, 0.05),
    (-0.3, 0.0, 0.0),
    (0.0, -0.25, 0.0),
    (0.25, -0.1, -0.05),
)
ANYWHERE = {"base_anchors": BASE, "platform_anchors": PLATFORM, "home": (0.02, -0.01, 0.7, 0.1, 0.05, -0.05)}


def test_torques_of_a_stewart_gough_platform_with_arbitrary_anchors_agree_with_the_closed_tree():
    rng = np.random.default_rng(1965)
    plain = stewart_gough(**ANYWHERE, gravity=(1.0, -2.0, -9.0))
    system = plain.with_bodies({name: random_body(rng) for name in plain.body_names})
    judge, dyn = reference_trees.stewart_gough(system, np.array(BASE), np.array(PLATFORM)), ap.Dynamics(system)
    for _ in range(20):
        q = system.start + rng.uniform(-0.1, 0.1, 6)
        v, a = rng.normal(size=6), rng.normal(size=6)
        y, moved = judge.loops.assemble(q, judge.guess(q, dyn.actuator_positions(q)))
        assert moved < 1e-11
        theirs = judge.loops.torques(y, *judge.loops.motion(y, v, a))
        assert np.abs(dyn.inverse_dynamics(q, v, a) - theirs).max() < 1e-9


def test_leg_lengths_are_the_distances_of_the_anchors():
    x, y, z, yaw, pitch, roll = ANYWHERE["home"]
    R = reference_trees.rot("z", yaw) @ reference_trees.rot("y", pitch) @ reference_trees.rot("x", roll)
    expected = np.linalg.norm([x, y, z] + np.array(PLATFORM) @ R.T - BASE, axis=1)
    lengths = ap.Dynamics(stewart_gough(**ANYWHERE)).actuator_positions(ANYWHERE["home"])
    np.testing.assert_allclose(lengths, expected, rtol=1e-14)


def test_legs_can_be_horizontal():
    """Three vertical and three horizontal legs, as in a machine tool; no leg is along its own joint axis."""
    base = ((1, 0, 0), (-1, 1, 0), (-1, -1, 0), (3, 0, 1), (0, 3, 1), (0, 3.2, 1))
    platform = ((0.5, 0, -0.1), (-0.5, 0.5, -0.1), (-0.5, -0.5, -0.1), (0.6, 0, 0), (0.3, 0.6, 0), (-0.3, 0.6, 0))
    robot = stewart_gough(base_anchors=base, platform_anchors=platform, home=(0, 0, 1, 0, 0, 0))
    assert np.isfinite(ap.Dynamics(robot).inverse_dynamics(robot.start, np.ones(6), np.ones(6))).all()


def test_a_platform_with_arbitrary_anchors_is_written_to_a_file_and_read_again():
    robot = stewart_gough(**ANYWHERE)
    again = load_text(to_toml(robot), "toml")
    q = robot.start + 0.01
    np.testing.assert_array_equal(ap.Dynamics(again).gravity(q), ap.Dynamics(robot).gravity(q))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_anchors": BASE[:5]}, "the anchors .*\n.*six points"),
        ({"platform_anchors": "abc"}, "the anchors 'abc'"),
        ({"base_anchors": [(0, 0)] * 6}, "six points"),
        ({"base_anchors": [(0, 0, float("nan"))] * 6}, "six points"),
        ({"home": (0, 0, 1)}, "has home .*\n.*x, y, z, yaw, pitch, roll"),
        ({"base_anchors": BASE, "platform_anchors": BASE, "home": (0,) * 6}, "leg 1 .* has length 0 at home"),
    ],
)
def test_invalid_anchors_are_rejected(options, message):
    with pytest.raises(ArgumentError, match=message):
        stewart_gough(**options)


def test_planar_robots_can_have_arbitrary_motor_positions():
    """Translating motors and pin together does not change the torques."""
    q, v, a = np.array([0.02, 0.45]), np.array([0.3, -0.2]), np.array([1.0, 2.0])
    moved = ap.Dynamics(five_bar(motors=((0.85, 2.0), (1.15, 2.0)))).inverse_dynamics(q + np.array([1.0, 2.0]), v, a)
    np.testing.assert_allclose(moved, ap.Dynamics(five_bar()).inverse_dynamics(q, v, a), rtol=1e-12)
    pins = ((0.1, 0.02), (-0.08, 0.09), (-0.05, -0.11))
    motors = ((0.5, 0.1), (-0.3, 0.4), (-0.2, -0.5))
    robot = three_rrr(motors=motors, pins=pins)
    theta = ap.Dynamics(robot).actuator_positions([0.01, 0.02, 0.1])
    c, s = np.cos(0.1), np.sin(0.1)
    for angle, motor, pin in zip(theta, motors, pins, strict=True):
        elbow = np.array(motor) + 0.3 * np.array([np.cos(angle), np.sin(angle)])
        held = np.array([0.01 + c * pin[0] - s * pin[1], 0.02 + s * pin[0] + c * pin[1]])
        assert np.linalg.norm(held - elbow) == pytest.approx(0.3, rel=1e-12)
    with pytest.raises(ArgumentError, match="the pins of a 3-RRR are"):
        three_rrr(pins=((0, 0), (1, 1)))


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_of_the_zoo_has_pins(name):
    robot = MECHANISMS[name]()
    assert len(robot.pins) >= len(robot.driven)


def test_the_error_of_an_unreachable_home_names_the_body():
    def pose(q):
        return ap.Pose(translation=ap.Vec3(ap.sqrt(1.0 - q[0] * q[0]), 0.0, 0.0))

    drive = ap.LegJoint("motor", lambda q: q[0])
    with pytest.raises(ModelError, match="body 'block' of mechanism 'm' has no pose at home"):
        ap.Mechanism("m", ("x",), [ap.MovingBody("block", pose, ap.shapes.point(1.0))], [drive], home=(2.0,))
