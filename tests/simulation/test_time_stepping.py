"""Many events in a short time: falling chains and trees with friction end, gain no energy, do not penetrate."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.simulation import Status
from appell.simulation.contact.contact import Contacts
from appell.simulation.contact.geometry import Geometry
from appell.simulation.contact.time_stepping import TimeStepping
from appell.simulation.flow import FreeMotion
from appell.simulation.inputs import Inputs
from drops import KINDS, deepest, random_start, wall_around
from free_bodies import damped_leg, free_body
from robots import random_tree

G = 9.81
DEEP = 1e-7  # m, the tolerance of simulate; straight lines between rows of time stepping may add as much again


def chain(rods=6, length=0.2, mass=0.1):
    """Rods in a row on a floating base, hinged about y, with their ends as points."""
    builder = ap.Builder("chain", base="floating", root="rod1")
    inertia = (1e-5, mass * length**2 / 12, mass * length**2 / 12)
    builder.root_body(mass, (length / 2, 0, 0), inertia)
    builder.frame("tail", on="rod1", xyz=(0, 0, 0))
    for k in range(2, rods + 1):
        attachment = {"parent": f"rod{k - 1}", "xyz": (length, 0, 0)}
        builder.link(
            f"rod{k}", ap.Revolute((0, 1, 0)), **attachment, mass=mass, com=(length / 2, 0, 0), inertia=inertia
        )
    builder.frame("tip", on=f"rod{rods}", xyz=(length, 0, 0))
    return builder.build()


def crooked(robot, height=0.5, seed=0):
    q = robot.neutral
    q[2], q[7:] = height, 0.4 * np.random.default_rng(seed).normal(size=robot.nv - 6)
    return q


def rise(motion):
    """Return the largest growth of the energy, relative to its largest value."""
    latest = np.maximum.accumulate(motion.energy[::-1])[::-1]
    return (latest - motion.energy).max() / max(1.0, np.abs(motion.energy).max())


def kinds(motion):
    return [event.kind for event in motion.events]


@pytest.mark.slow
def test_a_chain_of_six_rods_falls_on_a_floor_with_friction_and_comes_to_lie_on_it():
    robot = chain()
    dyn, floor = ap.Dynamics(robot), ap.Contact("all", ap.Plane(), 0.3, 0.3)
    motion = ap.simulate(dyn, crooked(robot), until=2.0, contacts=floor)
    assert motion.finished, motion.message
    assert kinds(motion).count("time stepping") == kinds(motion).count("event driven") > 0
    assert rise(motion) < 1e-9
    assert deepest(motion, Contacts(dyn, floor)) < 2 * DEEP
    assert np.abs(motion.v[-1]).max() < 1e-4  # it lies still
    assert motion.energy[-1] == pytest.approx(0.0, abs=1e-6)  # and flat: z = 0 is level with the floor


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_drops_with_friction_end_and_neither_gain_energy_nor_penetrate(seed):
    rng = np.random.default_rng(1000 + seed)
    links = int(rng.integers(1, 4))
    base = ("floating", "fixed")[seed % 2]
    robot = random_tree(1000 + seed, links, base=base, kinds=KINDS).with_gravity((0, 0, -G))
    dyn = ap.Dynamics(robot)
    surface, seen = wall_around(robot, 0.6 * (links + 1), rng)
    for _ in range(4):
        e, mu = float((0.0, 0.3, 0.6, rng.uniform(0, 0.9))[rng.integers(4)]), float(rng.uniform(0.05, 1.2))
        q0, v0 = random_start(robot, seen.gaps, rng), rng.normal(size=robot.nv)
        motion = ap.simulate(dyn, q0, v0, until=0.8, contacts=ap.Contact("all", surface, e, mu))
        assert motion.finished, motion
        assert rise(motion) < 1e-6
        assert deepest(motion, seen) < 2 * DEEP


# ---- the step by itself, against closed forms


def stepped(robot, q, v, h, duration, contacts=(), torque=None, stops=None):
    """Times and states of time stepping alone."""
    dyn = ap.Dynamics(robot, friction=True)
    flow = FreeMotion(dyn, Inputs(dyn, torque, None, False, 0.0))
    stepping = TimeStepping(flow, Geometry(flow.states, Contacts(dyn, contacts, stops), flow.drives), 1e-12)
    y, states = np.concatenate([q, v]), []
    for k in range(round(duration / h)):
        step = stepping.take(k * h, y, h)
        assert step.solved
        y = step.y
        states.append(y)
    states = np.array(states)
    return states[:, : robot.nq], states[:, robot.nq :]


def brick(slope=0.0):
    """A body on three feet, gravity leaning by `slope`."""
    lean = (G * np.sin(slope), 0.0, -G * np.cos(slope))
    return free_body([(0.1, 0, 0), (-0.1, 0.1, 0), (-0.1, -0.1, 0)], 2.0, (0.02, 0.02, 0.02), lean)


def test_a_damped_leg_comes_to_rest_in_the_pose_of_exact_events():
    robot, law, q0 = damped_leg()
    floor = [ap.Contact("foot", ap.Plane(), 0.0, 0.9)]
    q, _ = stepped(robot, q0, np.zeros(3), 2e-3, 0.8, floor, law)
    exact = ap.simulate(robot, q0, until=0.8, torque=law, contacts=floor)
    np.testing.assert_allclose(q[-1], exact.q[-1], atol=2e-3)  # it was 0.17 rad off


@pytest.mark.parametrize("h", [2e-3, 5e-4])
def test_a_brick_slides_to_a_stop_at_the_distance_of_coulombs_law(h):
    robot, mu = brick(), 0.3
    q, v = stepped(robot, robot.neutral, [1.0, 0, 0, 0, 0, 0], h, 0.5, [ap.Contact("all", ap.Plane(), 0.0, mu)])
    assert q[-1, 0] == pytest.approx(1.0 / (2 * mu * G), abs=0.5 * mu * G * h * h)  # the last step stops within itself
    assert np.abs(v[-1]).max() < 1e-12
    assert np.abs(q[:, 2]).max() < 1e-12


def test_a_brick_on_a_slope_sticks_or_slides_by_its_friction():
    slope, h = 0.3, 1e-3
    robot = brick(slope)
    floor = [ap.Contact("all", ap.Plane(), 0.0, 1.2 * np.tan(slope))]
    q, _ = stepped(robot, robot.neutral, np.zeros(6), h, 0.2, floor)
    assert np.abs(q[-1, :3]).max() < 1e-12
    mu = 0.5 * np.tan(slope)
    q, v = stepped(robot, robot.neutral, np.zeros(6), h, 0.2, [ap.Contact("all", ap.Plane(), 0.0, mu)])
    a = G * (np.sin(slope) - mu * np.cos(slope))
    assert v[-1, 0] == pytest.approx(0.2 * a, rel=1e-9)
    assert q[-1, 0] == pytest.approx(0.5 * a * 0.04, rel=1e-9)


def test_time_stepping_through_a_bounce_is_of_first_order():
    robot = free_body([(0, 0, 0)])
    start = robot.neutral
    start[2] = 1.0
    fall, e, end = np.sqrt(2 / G), 0.5, 0.7
    expected = e * G * fall * (end - fall) - 0.5 * G * (end - fall) ** 2
    for h in (1e-2, 7e-3, 1e-3):
        q, _ = stepped(robot, start, np.zeros(6), h, end, [ap.Contact("c0", ap.Plane(), e, friction=0.0)])
        assert abs(q[-1, 2] - expected) < (1.0 + e) * G * fall * h  # as if it bounced up to h early or late


def test_dry_joints_stick_and_slip_in_time_stepping():
    builder = ap.Builder("slider", gravity=(0, 0, 0))
    builder.link("cart", ap.Prismatic((1, 0, 0)), mass=2.0, inertia=(1, 1, 1))
    robot = builder.build().with_actuators({"cart_joint": ap.Actuator(friction=ap.Friction(coulomb=3.0))})
    q, v = stepped(robot, [0.0], [0.0], 1e-3, 1.0, torque=[2.9])
    assert np.abs(q).max() < 1e-15
    q, v = stepped(robot, [0.0], [0.0], 1e-3, 1.0, torque=[4.0])
    assert v[-1, 0] == pytest.approx(0.5, rel=1e-9)
    assert q[-1, 0] == pytest.approx(0.25, rel=1e-9)
    q, v = stepped(robot, [0.0], [1.0], 1e-3, 1.0, torque=[0.0])
    assert abs(v[-1, 0]) < 1e-15
    assert q[-1, 0] == pytest.approx(1 / 3, abs=1e-6)


# ---- when a run changes to time stepping, and when not


def test_a_ball_of_high_restitution_bounces_event_by_event_to_its_rest():
    robot = free_body([(0, 0, 0)])
    q = robot.neutral
    q[2] = 0.1
    motion = ap.simulate(robot, q, until=6.0, contacts=ap.Contact("c0", ap.Plane(), 0.9, 0.5))
    assert motion.finished
    assert "time stepping" not in kinds(motion)
    fall = np.sqrt(0.2 / G)
    assert motion.events[-1].time == pytest.approx(fall * (1 + 2 * 0.9 / 0.1), abs=1e-5)


@pytest.mark.parametrize("mu", [1.8, 3.0])
@pytest.mark.parametrize("catches", [True, False])
def test_a_rod_that_jams_catches_or_is_stepped_through_its_paradox(mu, catches, monkeypatch):
    """Dragged with its tip ahead, no finite force keeps it from the floor (Painlevé); an impulse does."""
    if not catches:
        monkeypatch.setattr("appell.simulation.events.effects.catch", lambda *given: None)
    rod = free_body([(0, 0, -0.5), (0, 0, 0.5)], 1.0, (1 / 12, 1 / 12, 1e-3))
    q, lean = rod.neutral, 0.3
    q[2], q[3:7] = 0.5 * np.cos(lean), [0, np.sin(lean / 2), 0, np.cos(lean / 2)]
    v = [-3.0 * np.cos(lean), 0, -3.0 * np.sin(lean), 0, 0, 0]
    motion = ap.simulate(rod, q, v, until=1.0, contacts=ap.Contact("all", ap.Plane(), 0.0, mu))
    assert motion.finished, motion.message
    first = motion.events[0]
    assert first.kind == ("impact" if catches else "time stepping")
    assert catches or "No contact forces" in first.note
    assert rise(motion) < 1e-9
    jam = motion.v[np.searchsorted(motion.t, 1e-3)]  # the tip stands still at once, and the rod turns over it
    turning = -3.0 * 0.5 * np.cos(lean) / (0.25 + 1 / 12)
    assert jam[4] == pytest.approx(turning, rel=1e-2)
    assert not catches or first.v_after[4] == pytest.approx(turning, rel=1e-9)


@pytest.mark.slow
def test_ticks_and_requested_times_are_kept_during_time_stepping():
    robot = chain()
    times_of_calls, floor = [], ap.Contact("all", ap.Plane(), 0.3, 0.3)

    def law(t, q, v):
        times_of_calls.append(t)
        return np.zeros(robot.nv)

    times = np.linspace(0.0, 0.65, 66)
    given = {"until": 0.65, "contacts": floor, "torque": ap.Sampled(law, 0.001), "t_eval": times}
    motion = ap.simulate(ap.Dynamics(robot), crooked(robot), **given)
    assert motion.finished, motion.message
    assert "time stepping" in kinds(motion)
    assert times_of_calls == [0.001 * k for k in range(650)]
    assert (motion.t == times).all()
    assert rise(motion) < 1e-9


@pytest.mark.parametrize("method", ["DOP853", "RK45", "LSODA"])
def test_a_run_that_almost_stops_advancing_ends_as_stalled(method):
    """A torque that jumps at v = 0 holds a joint there by ever smaller steps."""
    builder = ap.Builder("slider", gravity=(0, 0, 0))
    builder.link("cart", ap.Prismatic((1, 0, 0)), mass=2.0, inertia=(1, 1, 1))
    motion = ap.simulate(builder.build(), v0=[1.0], torque=lambda t, q, v: -10.0 * np.sign(v), solver=method)
    assert motion.status == Status.STALLED.name
    assert "'cart_joint' has the largest acceleration" in motion.message
    assert motion.t[-1] == pytest.approx(0.2, abs=1e-4)


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_least_progress_is_a_positive_time(value):
    with pytest.raises(ap.ArgumentError, match="least_progress"):
        ap.simulate(ap.load("pendulum"), solver=ap.Solver(least_progress=value))


def test_joint_stops_hold_in_time_stepping():
    builder = ap.Builder("lift", gravity=(0, 0, -G))
    builder.link("cage", ap.Prismatic((0, 0, 1)), mass=1.0, inertia=(1, 1, 1), limits=(-0.1, 1.0))
    q, v = stepped(builder.build(), [0.0], [0.0], 1e-3, 0.5, stops=0.0)
    assert q.min() > -0.1 - 1e-12
    assert q[-1, 0] == pytest.approx(-0.1, abs=1e-12)
    assert abs(v[-1, 0]) < 1e-12
