"""Robots of the zoo with joints anywhere, and loops that must close."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.describe.load import load_text
from appell.describe.write import to_toml
from appell.describe.zoo.mechanisms import MECHANISMS, five_bar, stewart_gough, three_rrr
from appell.errors import ArgumentError, ModelError
from formulate.closed_form import judges
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
ANYWHERE = {"base_points": BASE, "platform_points": PLATFORM, "home": (0.02, -0.01, 0.7, 0.1, 0.05, -0.05)}


def test_a_stewart_gough_platform_on_any_twelve_points_has_the_torques_of_constraint_forces():
    rng = np.random.default_rng(1965)
    plain = stewart_gough(**ANYWHERE, gravity=(1.0, -2.0, -9.0))
    system = plain.with_bodies({name: random_body(rng) for name in plain.body_names})
    judge, dyn = judges.stewart_gough(system, np.array(BASE), np.array(PLATFORM)), ap.Dynamics(system)
    for _ in range(20):
        q = system.start + rng.uniform(-0.1, 0.1, 6)
        v, a = rng.normal(size=6), rng.normal(size=6)
        y, moved = judge.loops.assemble(q, judge.guess(q, dyn.actuator_positions(q)))
        assert moved < 1e-11
        theirs = judge.loops.torques(y, *judge.loops.motion(y, v, a))
        assert np.abs(dyn.inverse_dynamics(q, v, a) - theirs).max() < 1e-9


def test_lengths_are_the_distances_of_the_points():
    x, y, z, yaw, pitch, roll = ANYWHERE["home"]
    R = judges.rot("z", yaw) @ judges.rot("y", pitch) @ judges.rot("x", roll)
    expected = np.linalg.norm([x, y, z] + np.array(PLATFORM) @ R.T - BASE, axis=1)
    found = ap.Dynamics(stewart_gough(**ANYWHERE)).actuator_positions(ANYWHERE["home"])
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_legs_may_lie_down():
    """Three legs upright and three along the ground, as in a machine tool; no leg lies in its own joint's axis."""
    base = ((1, 0, 0), (-1, 1, 0), (-1, -1, 0), (3, 0, 1), (0, 3, 1), (0, 3.2, 1))
    platform = ((0.5, 0, -0.1), (-0.5, 0.5, -0.1), (-0.5, -0.5, -0.1), (0.6, 0, 0), (0.3, 0.6, 0), (-0.3, 0.6, 0))
    robot = stewart_gough(base_points=base, platform_points=platform, home=(0, 0, 1, 0, 0, 0))
    assert np.isfinite(ap.Dynamics(robot).inverse_dynamics(robot.start, np.ones(6), np.ones(6))).all()


def test_it_is_written_and_read_again():
    robot = stewart_gough(**ANYWHERE)
    again = load_text(to_toml(robot), "toml")
    q = robot.start + 0.01
    np.testing.assert_array_equal(ap.Dynamics(again).gravity(q), ap.Dynamics(robot).gravity(q))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_points": BASE[:5]}, "base points .*\n.*six points"),
        ({"platform_points": "abc"}, "platform points 'abc'"),
        ({"base_points": [(0, 0)] * 6}, "six points"),
        ({"base_points": [(0, 0, float("nan"))] * 6}, "six points"),
        ({"home": (0, 0, 1)}, "has home .*\n.*x, y, z, yaw, pitch, roll"),
        ({"base_points": BASE, "platform_points": BASE, "home": (0,) * 6}, "leg 1 .* has no length at home"),
    ],
)
def test_points_that_are_none_are_refused(options, message):
    with pytest.raises(ArgumentError, match=message):
        stewart_gough(**options)


def test_planar_robots_stand_anywhere_too():
    """Moved by a vector, motors and pin together, nothing changes."""
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
def test_every_mechanism_of_the_zoo_has_its_loops(name):
    robot = MECHANISMS[name]()
    assert len(robot.closures) >= len(robot.driven)


def crank_slider(rod_length: float = 0.3, tilt: float = 0.0, end: str = "slider", home: float = 0.3) -> ap.Mechanism:
    """A crank of 0.1 m and a rod of 0.3 m, closed by the theorem of cosines; the outline of the rod may be wrong."""

    def angle(q):
        c = (q[0] * q[0] + 0.1**2 - 0.3**2) / (2 * 0.1 * q[0])
        return ap.legs.Angle(c, ap.sqrt(1.0 - c * c))

    def rod(q):
        x, y = 0.1 * angle(q).cosine, 0.1 * angle(q).sine
        return ap.Pose(ap.legs.Angle((q[0] - x) / 0.3, -y / 0.3).about_z, ap.Vec3(x, y + tilt * (q[0] - home), 0.0))

    bodies = [
        ap.MovingBody("crank", lambda q: ap.Pose(angle(q).about_z), ap.shapes.rod(1.0, 0.1, com=(0.05, 0, 0))),
        ap.MovingBody("rod", rod, ap.shapes.rod(1.0, 0.3, com=(0.15, 0, 0))),
        ap.MovingBody("slider", lambda q: ap.Pose(translation=ap.Vec3(q[0], 0.0, 0.0)), ap.shapes.point(1.0)),
    ]
    loops = [
        ap.Closure("elbow", ("crank", (0.1, 0, 0)), ("rod", (0, 0, 0))),
        ap.Closure("pin", ("rod", [rod_length, 0, 0]), (end, (0, 0, 0))),
    ]
    drive = ap.LegJoint("motor", lambda q: angle(q).value)
    return ap.Mechanism("crank-slider", ("x",), bodies, [drive], home=(home,), units=("m",), closures=loops)


def test_a_loop_that_closes_passes():
    assert len(crank_slider().closures) == 2


def test_a_loop_that_does_not_close_is_named_with_its_gap():
    gap = r"does not close at home: 'rod' and 'slider' are 0\.01 m apart"
    with pytest.raises(ModelError, match=f"loop 'pin' of mechanism 'crank-slider' {gap}"):
        crank_slider(rod_length=0.31)


def test_a_loop_that_closes_at_home_only_is_named_too():
    with pytest.raises(ModelError, match=r"loop 'elbow' .* does not close at q = \(0\.301\): .* are 0\.0005 m apart"):
        crank_slider(tilt=0.5)


def test_a_loop_of_a_body_that_is_not_there_is_refused():
    with pytest.raises(ModelError, match=r"no body 'slidr'\. Did you mean 'slider'"):
        crank_slider(end="slidr")


def test_a_home_at_the_end_of_reach_is_no_crash():
    """At x = 0.4 m crank and rod are in line, and a little further on there is no such triangle."""
    assert crank_slider(home=0.3999).start[0] == 0.3999
    with pytest.raises(ModelError, match=r"body 'crank' of mechanism 'crank-slider' has no pose at home"):
        crank_slider(home=0.45)
