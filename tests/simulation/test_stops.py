"""Joint limits as stops: they bounce, hold and let go like any wall."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import appell as ap

G = 9.81


def lift(lower=0.0, upper=2.0, **options):
    """A mass on a vertical slide."""
    builder = ap.Builder("lift", root=None)
    limits = ap.Limits(lower=lower, upper=upper)
    builder.link("cabin", ap.Prismatic((0, 0, 1)), mass=3.0, inertia=(1, 1, 1), limits=limits, **options)
    return builder.build()


def test_a_joint_bounces_on_its_stop_and_rests_when_the_series_of_bounces_ends():
    e = 0.6
    motion = ap.simulate(ap.Dynamics(lift()), [1.0], until=4.0, stops=e)
    fall = np.sqrt(2.0 / G)
    times = np.array([event.time for event in motion.impacts])
    series = fall * (1 + 2 * np.cumsum(np.concatenate([[0.0], e ** np.arange(1, len(times))])))
    np.testing.assert_allclose(times, series, atol=1e-9)
    assert {event.points for event in motion.impacts} == {("cabin_joint",)}
    assert motion.impacts[0].impulses[0] == pytest.approx(3.0 * (1 + e) * G * fall, rel=1e-10)
    rest = next(event for event in motion.events if event.kind == "rest")
    assert rest.time == pytest.approx(fall * (1 + e) / (1 - e), abs=1e-9)
    assert motion.q[-1, 0] == pytest.approx(0.0, abs=1e-9)
    assert motion.v[-1, 0] == 0.0


def test_a_joint_at_its_stop_is_released_when_it_is_pulled_away():
    motion = ap.simulate(ap.Dynamics(lift()), [0.0], until=3.0, stops=0.0, torque=lambda t, q, v: [20.0 * t])
    assert [event.kind for event in motion.events][:2] == ["rest", "release"]
    assert motion.events[1].time == pytest.approx(3.0 * G / 20.0, abs=1e-8)
    assert motion.events[2].kind == "impact"  # the upper one
    assert motion(motion.events[2].time)[0][0] == pytest.approx(2.0, abs=1e-9)
    assert motion.q[-1, 0] == pytest.approx(2.0, abs=1e-9)


def test_only_the_named_joints_stop_and_each_with_its_own_restitution():
    builder = ap.Builder("arm", root=None)
    limits = ap.Limits(lower=-0.5, upper=0.5)
    shape = {"mass": 1.0, "com": (0, 0, -0.2), "inertia": (0.02, 0.02, 0.02), "limits": limits}
    builder.link("upper", ap.Revolute((0, 1, 0)), **shape)
    builder.link("lower", ap.Revolute((0, 1, 0)), parent="upper", xyz=(0, 0, -0.4), **shape)
    dyn = ap.Dynamics(builder.build())
    start = [0.4, -0.4]
    free = ap.simulate(dyn, start, [2.0, 0.0], until=2.0)
    assert not free.events
    assert np.abs(free.q).max() > 0.6
    both = ap.simulate(dyn, start, [2.0, 0.0], until=2.0, stops={"upper_joint": 1.0, "lower_joint": 1.0})
    assert both.finished
    assert {name for event in both.impacts for name in event.points} == {"upper_joint", "lower_joint"}
    assert np.abs(both.q).max() <= 0.5 + 1e-7
    assert np.ptp(both.energy) < 1e-7
    one = ap.simulate(dyn, start, [2.0, 0.0], until=2.0, stops={"upper_joint": 0.3})
    assert {name for event in one.impacts for name in event.points} == {"upper_joint"}
    assert np.abs(one.q[:, 1]).max() > 0.5
    for event in one.impacts:
        assert event.v_after[0] == pytest.approx(-0.3 * event.v_before[0], abs=1e-10)


def test_a_mimic_joint_stops_its_leader():
    builder = ap.Builder("pair", root=None)
    builder.link("a", ap.Prismatic((1, 0, 0)), mass=1.0, inertia=(1, 1, 1))
    limits = ap.Limits(lower=-0.3, upper=10.0)
    mimic = ap.Mimic("a_joint", multiplier=-0.5, offset=0.1)
    builder.link("b", ap.Prismatic((1, 0, 0)), mass=1.0, inertia=(1, 1, 1), limits=limits, mimic=mimic)
    motion = ap.simulate(ap.Dynamics(builder.build()), [0.0], [1.0], until=1.0, stops=1.0)
    assert [event.points for event in motion.impacts] == [("b_joint",)]
    assert motion.impacts[0].time == pytest.approx(0.8, abs=1e-10)  # 0.1 - 0.5 x = -0.3
    assert motion.v[-1, 0] == pytest.approx(-1.0, abs=1e-12)


def test_a_mechanism_stops_at_the_limits_of_its_coordinates():
    mechanism = replace(ap.load("five-bar"), ranges=((-1.0, 1.0), (0.4, 1.0)))
    motion = ap.simulate(ap.Dynamics(mechanism), [0.0, 0.4875], until=0.6, stops=0.5)
    assert motion.finished
    assert motion.impacts[0].points == (mechanism.coordinate_names[1],)
    assert motion.q[:, 1].min() >= 0.4 - 1e-7
    hit = motion.impacts[0]
    assert hit.v_after[1] == pytest.approx(-0.5 * hit.v_before[1], rel=1e-9)


def test_invalid_stops_are_named():
    dyn = ap.Dynamics(lift())
    with pytest.raises(ap.ArgumentError, match=r"'cabin_joint' and its upper limit 2 \(0.5 beyond it\)"):
        ap.simulate(dyn, [2.5], stops=0.5)
    with pytest.raises(ap.ArgumentError, match="Did you mean 'cabin_joint'"):
        ap.simulate(dyn, [1.0], stops={"cabin_join": 0.5})
    with pytest.raises(ap.ArgumentError, match=r"restitution 1\.5"):
        ap.simulate(dyn, [1.0], stops=1.5)
    with pytest.raises(ap.ArgumentError, match="no joint with limits"):
        ap.simulate(ap.Dynamics(lift(None, None)), [1.0], stops=0.5)


def test_friction_may_hold_a_joint_at_its_stop_or_short_of_it():
    actuator = ap.Actuator(friction=ap.Friction(coulomb=40.0))  # more than its weight
    motion = ap.simulate(
        ap.Dynamics(lift(actuator=actuator), friction=True),
        [1.0],
        [-5.0],
        until=2.0,
        stops=0.5,
        solver=ap.Solver(rtol=1e-10),
    )
    down, up = 40.0 / 3.0 - G, 40.0 / 3.0 + G
    hit = np.sqrt(25.0 - 2.0 * down * 1.0)  # slowed down by friction less weight
    rise = (0.5 * hit) ** 2 / (2.0 * up)
    assert [event.kind for event in motion.events] == ["impact", "stick"]
    assert motion.q[-1, 0] == pytest.approx(rise, abs=1e-8)
    assert motion.v[-1, 0] == 0.0
