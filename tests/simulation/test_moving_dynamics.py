"""One rule for friction, rotors and limits: a robot moves with what it was described with, a `Dynamics` as it is."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell import ArgumentError
from appell.compile.tape.graph import Graph
from appell.dynamics.moving import moving_dynamics
from appell.identify import excite
from appell.simulation import Rollout

DRIVES = {"friction": True, "rotors": True}


def test_a_robot_is_simulated_with_its_friction_and_rotors():
    record = ap.simulate(ap.load("puma"), until=0.5, progress=False)
    assert record["energy"][-1] == pytest.approx(16.75, abs=0.005)
    same = ap.simulate(ap.Dynamics(ap.load("puma"), **DRIVES), until=0.5, progress=False)
    assert np.array_equal(record.data, same.data)


def test_friction_and_rotors_of_a_robot_can_be_switched_off():
    bare = ap.simulate(ap.load("puma"), until=0.5, friction=False, rotors=False, progress=False)
    assert bare["energy"][-1] == pytest.approx(26.98, abs=0.005)
    assert np.array_equal(bare.data, ap.simulate(ap.Dynamics(ap.load("puma")), until=0.5, progress=False).data)


@pytest.mark.parametrize("name", ["puma", "delta", "four-bar"])
def test_a_second_run_traces_no_function_again(name, monkeypatch):
    system, graphs = ap.load(name), []
    first = ap.simulate(system, until=0.01)
    monkeypatch.setattr(Graph, "__init__", lambda *_: graphs.append(1))
    again = ap.simulate(system, until=0.01)
    assert not graphs
    assert np.array_equal(first.data, again.data)


def test_simulate_and_rollout_give_the_same_motion():
    robot = ap.load("puma")
    for options in ({}, {"friction": False}, {"rotors": False}, {"friction": False, "rotors": False}):
        exact = ap.simulate(robot, until=0.1, t_eval=[0.1], progress=False, **options)
        plan = Rollout(robot, method="rk4", **options)
        many = plan(steps=2000, dt=5e-5, output=ap.simulation.Output(every=2000))
        np.testing.assert_allclose(many["q"][0, -1], exact.q[-1], atol=2e-3)
        assert many.about["friction"] is exact.about["friction"] is options.get("friction", True)
        assert many.about["rotors"] is exact.about["rotors"] is options.get("rotors", True)


@pytest.mark.parametrize("switch", ["friction", "rotors"])
def test_a_switch_that_contradicts_the_given_dynamics_is_refused(switch):
    bare = ap.Dynamics(ap.load("puma"))
    with pytest.raises(ArgumentError, match=f"{switch}=True of simulate contradicts a Dynamics with {switch}=False"):
        ap.simulate(bare, **{switch: True})
    with pytest.raises(ArgumentError, match=f"{switch} of rollout is 'yes'"):
        ap.rollout(ap.load("puma"), **{switch: "yes"})
    assert moving_dynamics(bare, "simulate", **{switch: False}) is bare


def test_a_record_states_how_it_was_made():
    robot = ap.load("puma")
    about = ap.simulate(robot, until=0.01, solver=ap.Solver(rtol=1e-6, atol=1e-7, method="RK45"), progress=False).about
    assert (about["method"], about["rtol"], about["atol"]) == ("RK45", 1e-6, 1e-7)
    assert (about["robot"], about["friction"], about["rotors"]) == ("puma", True, True)
    assert (about["formulation"], about["appell"]) == (ap.Dynamics(robot).formulation, ap.__version__)
    heavier = ap.simulate(robot.with_payload(1.0, "tool"), until=0.01, progress=False).about
    assert len(about["robot_hash"]) == 16
    assert about["robot_hash"] != heavier["robot_hash"]
    many = ap.rollout(robot, steps=2, dt=1e-3).about
    assert {"dt", "every", "dtype", "method"} <= many.keys()
    assert {key: many[key] for key in ("robot", "robot_hash", "friction", "rotors", "formulation", "appell")} == {
        key: about[key] for key in ("robot", "robot_hash", "friction", "rotors", "formulation", "appell")
    }


def test_an_exciting_motion_keeps_torque_limits_with_friction_that_is_not_estimated():
    robot = ap.load("planar-2r").with_gravity((0.0, -9.81, 0.0))
    robot = robot.with_actuators(lambda name, actuator: ap.Actuator(friction=ap.Friction(viscous=4.0, coulomb=3.0)))
    dyn = ap.Dynamics(robot, **DRIVES)
    weight = np.abs(dyn.gravity(np.random.default_rng(0).uniform(-3.0, 3.0, (500, 2)))).max(axis=0)
    limit = weight + 8.0
    excitation = excite(robot, torque=limit, velocity=3.0, duration=4.0, harmonics=3, starts=1, iterations=10)
    q, v, a = excitation.path(excitation.path.times(400))
    share = (np.abs(dyn.inverse_dynamics(q, v, a)) / limit).max()
    assert share <= 1.01
    np.testing.assert_allclose(excitation.load["torque"].max(), share, rtol=0.02)
