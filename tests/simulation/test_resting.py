"""Bodies that bounce, land, slide and stay, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from free_bodies import box, free_body

FLOOR = ap.Plane((0, 0, 1))
G = 9.81


def start_at(robot, height):
    q = robot.neutral
    q[2] = height
    return q


@pytest.mark.parametrize("restitution", [0.8, 0.5, 0.1])
def test_a_dropped_ball_rests_when_the_geometric_series_of_its_bounces_ends(restitution):
    robot = free_body([(0, 0, 0)])
    motion = ap.simulate(
        ap.Dynamics(robot),
        start_at(robot, 1.0),
        until=5.0,
        contacts=ap.Contact("all", FLOOR, restitution, friction=0.0),
    )
    fall = np.sqrt(2.0 / G)
    rest = [event for event in motion.events if event.kind == "rest"]
    assert [event.points for event in rest] == [("c0",)]
    assert rest[0].time == pytest.approx(fall * (1 + restitution) / (1 - restitution), abs=1e-9)
    bounces = np.array([event.time for event in motion.impacts])
    expected = fall * (1 + 2 * np.cumsum(np.concatenate([[0.0], restitution ** np.arange(1, len(bounces))])))
    np.testing.assert_allclose(bounces, expected, atol=1e-9)
    assert abs(motion.q[-1, 2]) < 1e-9
    assert np.abs(motion.v[-1]).max() < 1e-9


def test_a_ball_without_loss_bounces_for_ever():
    robot = free_body([(0, 0, 0)])
    motion = ap.simulate(
        ap.Dynamics(robot),
        start_at(robot, 1.0),
        until=10.0,
        contacts=ap.Contact("all", FLOOR, restitution=1.0, friction=0.0),
    )
    assert len(motion.events) == 1 + int((10.0 - np.sqrt(2 / G)) / (2 * np.sqrt(2 / G)))
    assert np.ptp(motion.energy) < 1e-9


def test_a_box_lands_flat_on_four_corners_and_stays():
    robot = box()
    motion = ap.simulate(
        ap.Dynamics(robot),
        start_at(robot, 0.5),
        until=3.0,
        contacts=ap.Contact("all", FLOOR, restitution=0.0, friction=0.0),
    )
    impact, rest = motion.events
    assert impact.time == pytest.approx(np.sqrt(0.8 / G), abs=1e-10)
    assert set(impact.points) == {"c0", "c1", "c2", "c3"}
    np.testing.assert_allclose(impact.impulses, 0.25 * 2.0 * np.sqrt(2 * G * 0.4), rtol=1e-9)  # shared evenly
    assert rest.kind == "rest"
    np.testing.assert_allclose(motion.q[-1], [0, 0, 0.1, 0, 0, 0, 1], atol=1e-9)
    assert np.abs(motion.v[-1]).max() < 1e-9


def test_a_box_that_starts_on_the_floor_never_leaves_it():
    robot = box()
    motion = ap.simulate(
        ap.Dynamics(robot),
        start_at(robot, 0.1),
        until=1.0,
        contacts=ap.Contact("all", FLOOR, restitution=1.0, friction=0.0),
    )
    assert [event.kind for event in motion.events] == ["rest"]
    np.testing.assert_allclose(motion.q[-1], [0, 0, 0.1, 0, 0, 0, 1], atol=1e-9)


@pytest.mark.parametrize("friction", [0.0, 0.3, 0.9])
def test_a_box_on_a_slope_slides_with_coulombs_acceleration_or_sticks(friction):
    slope = np.radians(30.0)
    robot = box(gravity=(G * np.sin(slope), 0.0, -G * np.cos(slope)))
    contact = ap.Contact("all", FLOOR, restitution=0.0, friction=friction)
    motion = ap.simulate(ap.Dynamics(robot), start_at(robot, 0.1), until=1.0, contacts=contact)
    a = max(G * (np.sin(slope) - friction * np.cos(slope)), 0.0)
    assert motion.q[-1, 0] == pytest.approx(0.5 * a, abs=1e-7)


def test_a_sliding_box_stops_at_the_distance_of_coulombs_law_and_stays():
    robot, mu, speed = box(), 0.4, 2.0
    contact = ap.Contact("all", FLOOR, restitution=0.0, friction=mu)
    motion = ap.simulate(ap.Dynamics(robot), start_at(robot, 0.1), [speed, 0, 0, 0, 0, 0], until=1.5, contacts=contact)
    stop = next(event for event in motion.events if event.kind == "stick")
    assert stop.time == pytest.approx(speed / (mu * G), abs=1e-6)
    assert motion.q[-1, 0] == pytest.approx(speed**2 / (2 * mu * G), abs=1e-6)
    assert np.abs(motion.v[-1]).max() < 1e-8


def test_a_point_on_a_ball_leaves_it_where_its_force_vanishes():
    """A particle that slides down a smooth sphere from rest near the top leaves it at cos θ = 2/3 (of its start)."""
    robot = free_body([(0, 0, 0)])
    angle = 0.1
    q0 = robot.neutral
    q0[:3] = np.sin(angle), 0.0, np.cos(angle)
    contact = ap.Contact("all", ap.Sphere(1.0, inside=False), restitution=0.0, friction=0.0)
    motion = ap.simulate(ap.Dynamics(robot), q0, until=2.0, contacts=contact, solver=ap.Solver(rtol=1e-10, atol=1e-12))
    leave = next(event for event in motion.events if event.kind == "release")
    assert motion(leave.time)[0][2] == pytest.approx(2.0 / 3.0 * np.cos(angle), abs=1e-6)


def test_friction_at_an_impact_stops_sliding_within_its_cone():
    """A point that strikes a floor: the tangential impulse is -m v_t within the cone, else μ times the normal."""
    robot = free_body([(0, 0, 0)])
    for mu in (0.2, 5.0):
        contact = ap.Contact("all", FLOOR, restitution=0.5, friction=mu)
        v0 = [3.0, 4.0, -2.0, 0, 0, 0]
        motion = ap.simulate(ap.Dynamics(robot), start_at(robot, 1.0), v0, until=0.5, contacts=contact)
        hit = motion.impacts[0]
        expected = -np.array([0.6, 0.8, 0.0]) * min(5.0, mu * hit.impulses[0])
        np.testing.assert_allclose(hit.frictions[0], expected, atol=1e-9)


def test_a_chain_of_thirty_links_swings_in_a_sphere():
    builder = ap.Builder("chain", root=None)
    parent = None
    for k in range(30):
        axis = (0, 1, 0) if k % 2 == 0 else (0, 0, 1)
        origin = (0, 0, 0) if k == 0 else (0.1, 0, 0)
        builder.link(
            f"link{k}",
            ap.Revolute(axis),
            parent=parent,
            xyz=origin,
            mass=0.1,
            com=(0.05, 0, 0),
            inertia=(1e-5, 1e-4, 1e-4),
        )
        parent = f"link{k}"
    builder.frame("tip", on=parent, xyz=(0.1, 0, 0))
    robot = builder.build()
    q0 = np.full(30, 0.0)
    q0[2::4], q0[4::4], q0[1::2] = 1.8, -1.8, 0.05
    motion = ap.simulate(
        ap.Dynamics(robot), q0, until=2.0, contacts=ap.Contact("all", ap.Sphere(2.0), restitution=1.0, friction=0.0)
    )
    assert motion.finished
    assert len(motion.impacts) > 5
    assert np.ptp(motion.energy) < 1e-5
    assert np.linalg.norm(ap.Dynamics(robot).pose("tip")(motion.q)[:, :3, 3], axis=1).max() < 2.0 + 1e-7
