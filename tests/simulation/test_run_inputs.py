"""Inputs of a run: sampled laws, wrenches, limits, stop conditions, requested times, temporary walls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import appell as ap
from appell.simulation import Interrupted, Status
from free_bodies import free_body

G = 9.81
METHODS = ("DOP853", "RK45", "RK23", "Radau", "BDF", "LSODA")


def slider(mass=2.0, gravity=(0.0, 0.0, 0.0), **drive):
    """A mass on a straight rail along x."""
    builder = ap.Builder("slider", gravity=gravity)
    builder.link("cart", ap.Prismatic((1, 0, 0)), mass=mass, inertia=(1, 1, 1))
    robot = builder.build()
    return robot.with_actuators({"cart_joint": ap.Actuator(**drive)}) if drive else robot


def ball(height=1.0):
    robot = free_body([(0, 0, 0)])
    q = robot.neutral
    q[2] = height
    return robot, q


# ---- a plain robot


def test_a_robot_is_simulated_with_its_friction_and_rotors():
    robot = slider(2.0, rotor_inertia=1.0, friction=ap.Friction(viscous=0.5))
    motion = ap.simulate(robot, v0=[1.0], until=2.0)
    assert motion.v[-1, 0] == pytest.approx(np.exp(-0.5 * 2.0 / 3.0), rel=1e-8)
    assert ap.simulate(ap.Dynamics(robot), v0=[1.0], until=2.0).v[-1, 0] == pytest.approx(1.0, rel=1e-12)


def test_a_mechanism_is_simulated_with_its_dynamics():
    mechanism = ap.load("five-bar")
    motion = ap.simulate(mechanism, until=0.1)
    assert motion.q[-1] == pytest.approx(ap.simulate(ap.Dynamics(mechanism), until=0.1).q[-1], abs=1e-12)


@pytest.mark.parametrize("given", ["puma", None, 3])
def test_arguments_that_are_neither_dynamics_nor_systems_are_refused(given):
    with pytest.raises(ap.ArgumentError, match="the system of simulate is"):
        ap.simulate(given)


# ---- sampled laws


def held_pd(m, k, d, period, ticks, x):
    """x = (position, speed) of a double integrator at the ticks of a PD law held in between, in closed form."""
    step = expm(np.array([[0, 1, 0], [0, 0, 1 / m], [0, 0, 0]]) * period)
    closed = step[:2, :2] + np.outer(step[:2, 2], [-k, -d])
    return np.array([np.linalg.matrix_power(closed, n) @ x for n in range(ticks)])


@pytest.mark.parametrize("method", METHODS)
def test_a_sampled_law_is_the_exact_discrete_system(method):
    m, k, d, period = 2.0, 30.0, 4.0, 0.03
    times_of_calls = []

    def law(t, q, v):
        times_of_calls.append(t)
        return -k * q - d * v

    until = 1.0  # 33 periods and a third
    motion = ap.simulate(slider(m), [0.2], [-0.1], until, ap.Sampled(law, period), solver=method)
    ticks = 0.03 * np.arange(34)
    assert times_of_calls == list(ticks)
    expected = held_pd(m, k, d, period, 34, np.array([0.2, -0.1]))
    rows = np.searchsorted(motion.t, ticks)
    assert (motion.t[rows] == ticks).all()
    states = np.column_stack([motion.q[rows, 0], motion.v[rows, 0]])
    assert np.abs(states - expected).max() < (
        1e-10 if method in ("DOP853", "RK45", "RK23") else 1e-6
    )  # what BDF does at its tolerance
    acted = -k * expected[:, 0] - d * expected[:, 1]
    assert motion.tau[rows, 0] == pytest.approx(acted, abs=1e-5)
    held = acted[np.clip(np.searchsorted(ticks, motion.t, side="right") - 1, 0, 33)]
    assert motion.tau[:, 0] == pytest.approx(held, abs=1e-5)


def test_a_period_that_divides_the_run_has_no_tick_at_its_end():
    times_of_calls = []
    ap.simulate(
        slider(), until=0.3, torque=ap.Sampled(lambda t, q, v: times_of_calls.append(t) or [0.0], 0.1), start=-0.3
    )
    assert times_of_calls == pytest.approx([-0.3, -0.2, -0.1, 0.0, 0.1, 0.2], abs=1e-15)


def test_ticks_continue_through_impacts():
    robot, q = ball()
    times_of_calls = []

    def law(t, q, v):
        times_of_calls.append(t)
        return [0.0] * 6

    motion = ap.simulate(
        robot, q, until=1.0, torque=ap.Sampled(law, 0.01), contacts=ap.Contact("c0", ap.Plane(), 0.5, friction=0.0)
    )
    assert motion.finished
    assert times_of_calls == [0.01 * k for k in range(100)]
    assert motion.impacts[0].time == pytest.approx(np.sqrt(2 / G), abs=1e-10)


@pytest.mark.parametrize("period", [0.0, -1e-3, np.inf, np.nan, "1 ms", None])
def test_a_bad_period_is_named(period):
    with pytest.raises(ap.ArgumentError, match="period of a Sampled"):
        ap.Sampled(lambda t, q, v: q, period)


def test_an_invalid_sampled_law_is_named():
    with pytest.raises(ap.ArgumentError, match="law of a Sampled"):
        ap.Sampled([1.0], 0.1)
    with pytest.raises(Interrupted, match=r"torque\(t=0\.2\) is nan at actuator 'cart_joint'") as caught:
        ap.simulate(slider(), torque=ap.Sampled(lambda t, q, v: [np.nan if t > 0.15 else 0.0], 0.1))
    assert caught.value.record.t[-1] == 0.2


# ---- wrenches


def test_a_constant_force_at_a_free_body_gives_a_parabola_and_a_moment_a_spin():
    robot = free_body([(0, 0, 0)], mass=2.0, inertia=(0.1, 0.1, 0.1), gravity=(0, 0, 0))
    motion = ap.simulate(robot, until=2.0, wrenches={"c0": [0, 0, 4.0, 0, 0, 0.3]})
    assert motion.q[-1, :3] == pytest.approx([0, 0, 4.0], abs=1e-9)
    assert motion.v[-1, 5] == pytest.approx(6.0, abs=1e-9)


def test_the_reference_of_a_wrench_is_that_of_the_dynamics():
    robot = free_body([(0, 0, 0)], mass=2.0, gravity=(0, 0, 0))
    turned = robot.neutral
    turned[3:7] = [0, np.sqrt(0.5), 0, np.sqrt(0.5)]  # a quarter about y: its z is the world's x
    push = {"c0": [0, 0, 4.0, 0, 0, 0]}
    for reference, position in (("LOCAL", [4.0, 0, 0]), ("LOCAL_WORLD_ALIGNED", [0, 0, 4.0])):
        dyn = ap.Dynamics(robot, wrenches=["c0"], reference=reference)
        assert ap.simulate(dyn, turned, until=2.0, wrenches=push).q[-1, :3] == pytest.approx(position, abs=1e-9)


def test_a_wrench_may_be_a_function_of_time_and_state():
    robot = slider(2.0)
    motion = ap.simulate(robot, until=3.0, wrenches={"cart": lambda t, q, v: [np.cos(t), 0, 0, 0, 0, 0]})
    assert motion.q[:, 0] == pytest.approx((1 - np.cos(motion.t)) / 2, abs=1e-8)
    assert (motion.tau == 0.0).all()


def test_missing_unknown_and_malformed_wrenches_are_named():
    dyn = ap.Dynamics(slider(), wrenches=["cart"])
    with pytest.raises(ap.ArgumentError, match="no wrench is given on cart"):
        ap.simulate(dyn)
    with pytest.raises(ap.ArgumentError, match=r"'crt'\. Did you mean 'cart'"):
        ap.simulate(dyn, wrenches={"crt": np.zeros(6)})
    with pytest.raises(ap.ArgumentError, match="expect no wrenches"):
        ap.simulate(ap.Dynamics(slider()), wrenches={"cart": np.zeros(6)})
    with pytest.raises(ap.ModelError, match=r"'crt'\. Did you mean 'cart'"):
        ap.simulate(slider(), wrenches={"crt": np.zeros(6)})
    with pytest.raises(ap.ArgumentError, match=r"wrench on cart has shape \(3,\)"):
        ap.simulate(dyn, wrenches={"cart": [1, 2, 3]})
    with pytest.raises(ap.ArgumentError, match="wrenches is"):
        ap.simulate(dyn, wrenches=[1, 2, 3])
    with pytest.raises(Interrupted, match=r"wrench on cart\(t=0\) is nan at component 'fx'"):
        ap.simulate(dyn, wrenches={"cart": lambda t, q, v: np.full(6, np.nan)})


# ---- limits of the actuators


@pytest.mark.parametrize("kind", ["constant", "function", "sampled"])
def test_saturated_torques_act_and_are_recorded_clipped(kind):
    robot = slider(2.0, torque=3.0)
    torque = {
        "constant": [10.0],
        "function": lambda t, q, v: [10.0],
        "sampled": ap.Sampled(lambda t, q, v: [10.0], 0.1),
    }
    motion = ap.simulate(robot, until=1.0, torque=torque[kind], saturate=True)
    assert (motion.tau == 3.0).all()
    assert motion.v[-1, 0] == pytest.approx(1.5, rel=1e-12)
    assert ap.simulate(robot, until=1.0, torque=torque[kind]).v[-1, 0] == pytest.approx(5.0, rel=1e-12)


def test_an_actuator_without_a_limit_is_not_clipped():
    assert ap.simulate(slider(2.0), torque=[1e6], saturate=True).tau[0, 0] == 1e6


# ---- stop conditions


def test_a_run_stops_where_a_pendulum_passes_an_angle():
    """ω² = 2 k (cos q - cos q0) and t = ∫ dq/ω, judged by quadrature."""
    from scipy.integrate import quad

    builder = ap.Builder("pendulum", gravity=(0, 0, -G))
    builder.link("rod", ap.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(0.01, 0.01, 0.01))
    k = 1.0 * G * 0.5 / (0.25 + 0.01)
    motion = ap.simulate(
        builder.build(),
        [1.0],
        until=5.0,
        stop={"half": lambda t, q, v: q[0] - 0.5},
        solver=ap.Solver(rtol=1e-12, atol=1e-13),
    )
    assert motion.status == Status.STOPPED.name
    assert Status.STOPPED.ok
    assert motion.finished
    # q = 1 - u² takes the singularity out of the quadrature
    expected = quad(lambda u: 2 * u / np.sqrt(2 * k * (np.cos(1 - u * u) - np.cos(1.0))), 0, np.sqrt(0.5), epsabs=1e-13)
    assert motion.t[-1] == pytest.approx(expected[0], abs=1e-10)
    assert motion.q[-1, 0] == pytest.approx(0.5, abs=1e-12)
    assert motion.v[-1, 0] == pytest.approx(-np.sqrt(2 * k * (np.cos(0.5) - np.cos(1.0))), abs=1e-10)
    assert [(event.kind, event.note) for event in motion.events] == [("stop", "half")]


def test_the_first_of_several_conditions_counts_and_an_impact_can_meet_one():
    robot, q = ball()
    floor = ap.Contact("c0", ap.Plane(), 0.5, friction=0.0)
    conditions = {"late": lambda t, q, v: 2.0 - t, "rising": lambda t, q, v: 0.1 - v[2]}
    motion = ap.simulate(robot, q, until=5.0, contacts=floor, stop=conditions)
    assert motion.events[-1].note == "rising"
    assert motion.t[-1] == pytest.approx(np.sqrt(2 / G), abs=1e-10)
    assert motion.v[-1, 2] == pytest.approx(0.5 * np.sqrt(2 * G), abs=1e-8)
    late = ap.simulate(robot, q, until=5.0, contacts=floor, stop=conditions["late"], throw=True)
    assert late.t[-1] == pytest.approx(2.0, abs=1e-12)
    assert late.events[-1].kind == "stop"


def test_invalid_conditions_are_named():
    with pytest.raises(ap.ArgumentError, match="'far' is below zero at the start"):
        ap.simulate(slider(), stop={"far": lambda t, q, v: -1.0})
    with pytest.raises(ap.ArgumentError, match="stop contains"):
        ap.simulate(slider(), stop={"far": 3.0})
    with pytest.raises(Interrupted, match="'stop' returned nan"):
        ap.simulate(slider(), stop=lambda t, q, v: np.nan if t > 0.5 else 1.0)


# ---- requested times


@pytest.mark.parametrize("method", ["DOP853", "RK23"])
def test_rows_are_at_the_requested_times_only(method):
    robot, q = ball()
    floor, times = ap.Contact("c0", ap.Plane(), 0.5, friction=0.0), np.linspace(0.0, 1.0, 37)
    motion = ap.simulate(robot, q, until=1.2, contacts=floor, t_eval=times, solver=method)
    complete = ap.simulate(robot, q, until=1.2, contacts=floor, solver=method)
    assert (motion.t == times).all()
    assert motion.q == pytest.approx(complete(times)[0], abs=1e-12)
    assert [e.kind for e in motion.events] == [e.kind for e in complete.events]
    assert motion(1.1)[0] == pytest.approx(complete(1.1)[0], abs=1e-12)


def test_rows_at_requested_times_have_the_torque_that_acted():
    law = ap.Sampled(lambda t, q, v: [np.floor(10 * t + 1e-9)], 0.1)
    motion = ap.simulate(slider(), t_eval=[0.05, 0.1, 0.15, 0.999], torque=law)
    assert motion.tau[:, 0].tolist() == [0.0, 1.0, 1.0, 9.0]


@pytest.mark.parametrize("times", [[], [0.5, 0.2], [-0.1, 0.5], [0.5, 1.5], [[0.1], [0.2]], [np.nan], 3.0, ["a"]])
def test_invalid_requested_times_are_named(times):
    with pytest.raises(ap.ArgumentError, match="t_eval is"):
        ap.simulate(slider(), t_eval=times)


# ---- walls that appear and disappear


def test_a_ball_falls_when_its_floor_disappears():
    robot, q = ball(0.0)
    motion = ap.simulate(robot, q, until=1.0, contacts=ap.Contact("c0", ap.Plane(), 0.0, 0.5, during=(0.0, 0.4)))
    assert [(e.kind, e.time) for e in motion.events] == [("rest", 0.0), ("release", 0.4)]
    assert motion(0.4)[0][2] == pytest.approx(0.0, abs=1e-12)
    assert motion.q[-1, 2] == pytest.approx(-0.5 * G * 0.6**2, abs=1e-9)


def test_a_wall_that_appears_in_time_is_hit_and_one_that_is_absent_is_passed():
    robot, q = ball()
    fall = np.sqrt(2 / G)
    floor = ap.Contact("c0", ap.Plane(), 1.0, during=[(0.0, 0.1), (0.3, 0.6)], friction=0.0)
    cellar = ap.Contact("c0", ap.Plane((0, 0, 1), -1.0), 1.0, during=(0.0, 0.9), friction=0.0)
    motion = ap.simulate(robot, q, until=1.5, contacts=[floor, cellar])
    assert [e.surfaces for e in motion.impacts] == [(0,)]
    assert motion.impacts[0].time == pytest.approx(fall, abs=1e-10)
    assert motion.q[-1, 2] == pytest.approx(1.0 - 0.5 * G * (1.5 - 2 * fall) ** 2, abs=1e-8)


def test_a_wall_that_appears_around_a_point_ends_the_run_and_names_both():
    robot, q = ball()
    motion = ap.simulate(robot, q, contacts=ap.Contact("c0", ap.Plane((0, 0, 1), 0.5), during=(0.5, 1.0)))
    assert motion.status == Status.INSIDE.name
    assert "'c0' and the plane" in motion.message
    assert motion.t[-1] == 0.5


@pytest.mark.parametrize("during", [(1.0, 0.5), (1.0, 1.0), [(0, 2), (1, 3)], "now", 3.0, (0, np.nan), [], [(1, 2, 3)]])
def test_invalid_time_spans_are_refused(during):
    with pytest.raises(ap.ArgumentError, match="during of a contact is"):
        ap.Contact("all", ap.Plane(), during=during)


# ---- mechanisms, and functions that fail


@pytest.mark.parametrize("name", ["five-bar", "delta"])
def test_a_mechanism_that_reaches_the_end_of_its_range_ends_the_run_and_names_the_leg(name):
    motion = ap.simulate(ap.load(name), until=2.0)
    assert motion.status == Status.REACH.name
    assert "leg" in motion.message
    assert motion.events[-1].kind == "end of reach"
    assert 0.2 < motion.t[-1] < 0.3
    assert np.isfinite(motion.data).all()
    assert np.ptp(motion.energy) < 1e-6 * np.abs(motion.energy).max()


def test_contacts_on_a_mechanism_are_met():
    mechanism = ap.load("delta")
    z = float(ap.Dynamics(mechanism).pose("platform")(mechanism.start)[2, 3])
    floor = ap.Contact("platform", ap.Plane((0, 0, 1), z - 0.02), 0.5, 0.2)
    motion = ap.simulate(mechanism, until=0.3, contacts=floor)
    assert motion.finished, motion.message
    assert motion.impacts[0].points == ("platform",)
    assert (np.diff(motion.energy) < 1e-7).all()
    heights = ap.Dynamics(mechanism).pose("platform")(motion.q)[:, 2, 3]
    assert heights.min() > z - 0.02 - 1e-7


def test_contacts_with_a_mechanism_without_points_are_refused():
    with pytest.raises(ap.ArgumentError, match="no point of mechanism 'agile-wrist' can meet a wall"):
        ap.simulate(ap.load("agile-wrist"), contacts=ap.Contact("all", ap.Plane((0, 0, 1), -1.0)))


def test_an_exception_of_a_users_function_propagates_with_the_record_up_to_there():
    def law(t, q, v):
        return [0.1] if t < 0.5 else [{}["no such key"]]

    with pytest.raises(KeyError, match="no such key") as caught:
        ap.simulate(slider(), torque=law, solver=ap.Solver(max_step=0.1))
    record = caught.value.record
    assert 0.0 < record.t[-1] <= 0.5
    assert "The run had reached" in caught.value.__notes__[0]


@pytest.mark.parametrize("method", ["DOP853", "Radau"])
def test_a_joint_that_friction_holds_breaks_away_at_the_tick_that_pushes_hard_enough(method):
    robot = slider(2.0, friction=ap.Friction(coulomb=3.0))
    law = ap.Sampled(lambda t, q, v: [2.0 if t < 0.45 else 4.0], 0.1)
    motion = ap.simulate(robot, until=1.0, torque=law, solver=method)
    assert motion(0.5)[0][0] == pytest.approx(0.0, abs=1e-15)
    assert motion.q[-1, 0] == pytest.approx(0.5 * (4.0 - 3.0) / 2.0 * 0.5**2, abs=1e-9)
    assert [(event.kind, event.time) for event in motion.events][-1] == ("slip", pytest.approx(0.5, abs=1e-12))


def test_joint_limits_are_stops_on_request():
    builder = ap.Builder("lift", gravity=(0, 0, -G))
    builder.link("cage", ap.Prismatic((0, 0, 1)), mass=1.0, inertia=(1, 1, 1), limits=(-1.0, 1.0))
    robot, fall = builder.build(), np.sqrt(2 / G)
    motion = ap.simulate(robot, until=0.7, stops=0.5)
    assert motion.impacts[0].time == pytest.approx(fall, abs=1e-10)
    assert motion.impacts[0].points == ("cage_joint",)
    expected = -1.0 + 0.5 * G * fall * (0.7 - fall) - 0.5 * G * (0.7 - fall) ** 2
    assert motion.q[-1, 0] == pytest.approx(expected, abs=1e-8)
    assert ap.simulate(robot, until=0.7).q[-1, 0] == pytest.approx(-0.5 * G * 0.49, abs=1e-9)
    with pytest.raises(ap.ArgumentError, match=r"restitution 1\.5"):
        ap.simulate(robot, stops=1.5)
