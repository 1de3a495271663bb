"""Walls and stops as springs, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import appell as ap
from appell.errors import ArgumentError
from appell.simulation.contact.contact import Contacts
from appell.simulation.rollouts.contacts.penalty import MIN_RESTITUTION, Penalty, damping_ratio, restitution
from contact_scans import run_scan, with_penalty
from free_bodies import box, free_body

G = 9.81
FLOOR = ap.Plane((0, 0, 1))


def at_height(robot, height):
    q = robot.neutral
    q[2] = height
    return q


@pytest.mark.parametrize("zeta", [0.05, 0.3, 0.8, 0.999])
def test_the_restitution_of_a_damped_spring_is_that_of_its_motion(zeta):
    pulls = lambda t, x: x[0] + 2 * zeta * x[1]  # noqa: E731
    pulls.terminal, pulls.direction = True, -1.0
    solution = solve_ivp(
        lambda t, x: [x[1], -x[0] - 2 * zeta * x[1]], (0, 20), [0, 1], events=pulls, rtol=1e-11, atol=1e-13
    )
    assert restitution(zeta) == pytest.approx(-solution.y[1, -1], rel=1e-8)
    assert damping_ratio(restitution(zeta)) == pytest.approx(zeta, rel=1e-9)


def test_a_restitution_below_that_of_critical_damping_is_replaced_by_it():
    assert damping_ratio(0.0) == damping_ratio(0.9 * MIN_RESTITUTION) == 1.0
    assert damping_ratio(1.0) == 0.0


@pytest.mark.parametrize("e", [1.0, 0.7, 0.3])
def test_a_ball_leaves_a_spring_with_its_restitution(e):
    robot = free_body([(0, 0, 0)], gravity=(0, 0, 0))
    dyn = ap.Dynamics(robot)
    penalty = Penalty(dyn, ap.Contact(["c0"], FLOOR, e, friction=0.0))
    assert penalty.points == pytest.approx([1.0])
    assert penalty.max_frequency == pytest.approx(np.sqrt(G / 1e-3))
    h = 0.005 / penalty.max_frequency
    q, v = run_scan(with_penalty(dyn, penalty), at_height(robot, 0.01), [0, 0, -2.0, 0, 0, 0], h, 4000, every=10)
    assert v[-1, 2] == pytest.approx(2.0 * e, rel=0.02)  # first order in h ω, and in when it lets go
    assert (np.diff(v[:, 2]) >= -1e-12).all()  # it never pulls
    assert -q[:, 2].min() <= 2.0 / penalty.max_frequency + 1e-6


def test_a_body_on_one_point_sinks_by_the_requested_depth():
    robot = free_body([(0, 0, 0)])
    dyn = ap.Dynamics(robot)
    for depth in (1e-3, 1e-4):
        penalty = Penalty(
            dyn, ap.Contact(["c0"], FLOOR, 0.0, friction=0.0), model=ap.simulation.SpringContacts(depth=depth)
        )
        q, v = run_scan(
            with_penalty(dyn, penalty), at_height(robot, 0.0), np.zeros(6), 0.1 / penalty.max_frequency, 4000
        )
        assert q[-1, 2] == pytest.approx(-depth, rel=1e-9)
        assert abs(v[-1, 2]) < 1e-12


@pytest.mark.parametrize("angle", [0.2, 0.5])
def test_a_block_slides_down_an_incline_by_coulombs_law_or_creeps(angle):
    mu, h = 0.35, 1e-4
    slope = ap.Plane((-np.sin(angle), 0.0, np.cos(angle)))
    robot = box()
    dyn = ap.Dynamics(robot)
    penalty = Penalty(dyn, ap.Contact([f"c{k}" for k in range(4)], slope, 0.0, mu))
    turned = [0.0, -np.sin(angle / 2), 0.0, np.cos(angle / 2)]
    q0 = np.array([-0.1 * np.sin(angle), 0.0, 0.1 * np.cos(angle), *turned])
    _, v = run_scan(with_penalty(dyn, penalty), q0, np.zeros(6), h, 10_000, every=1000)
    gained = (v[-1, 0] - v[-4, 0]) / 0.3
    if np.tan(angle) > mu:
        assert gained == pytest.approx(-G * np.sin(angle) + mu * G * np.cos(angle), rel=1e-3)
        return
    # four springs share the weight; each gives way at g u / √(1 + (g u / μ fₙ)²) = f_t
    grip = 2.0 * np.sqrt(penalty.stiffness * penalty.points[0])
    share, bound = 0.5 * G * np.sin(angle), 0.5 * mu * G * np.cos(angle)  # of 2 kg on four points
    creep = share / grip / np.sqrt(1.0 - (share / bound) ** 2)
    assert v[-1, 0] == pytest.approx(-creep, rel=0.02)
    assert abs(gained) < 1e-3


def test_a_stop_is_a_spring_with_the_joints_own_inertia():
    builder = ap.Builder("slider", root=None)
    builder.link("cart", ap.Prismatic((1, 0, 0)), mass=3.0, inertia=(0.1, 0.1, 0.1), limits=ap.Limits(-0.3, 0.4))
    dyn = ap.Dynamics(builder.build())
    penalty = Penalty(dyn, stops=0.5)
    h = 0.005 / penalty.max_frequency
    q, v = run_scan(with_penalty(dyn, penalty), [0.39], [1.0], h, 2000)
    assert v[-1, 0] == pytest.approx(-0.5, rel=0.02)
    assert q.max() <= 0.4 + 1.0 / penalty.max_frequency


def test_a_dry_joint_is_nearly_held():
    builder = ap.Builder("block", root=None)
    drive = ap.Actuator(friction=ap.Friction(coulomb=3.0))
    builder.link("block", ap.Prismatic((1, 0, 0)), mass=2.0, inertia=(0.1, 0.1, 0.1), actuator=drive)
    dyn = ap.Dynamics(builder.build(), friction=True)
    scan = with_penalty(dyn, Penalty(dyn))
    _, held = run_scan(scan, [0.0], [0.0], 1e-4, 4000, [1.5])
    grip = 2.0 * 2.0 * np.sqrt(G / 1e-3)
    assert held[-1, 0] == pytest.approx(1.5 / grip / np.sqrt(1 - 0.25), rel=1e-6)
    _, sliding = run_scan(scan, [0.0], [0.0], 1e-4, 4000, [4.0])
    assert sliding[-1, 0] == pytest.approx((4.0 - 3.0) / 2.0 * 0.4, rel=0.1)


@pytest.mark.parametrize(
    "surface",
    [
        ap.Plane((0, 0, 1), -1.0),
        ap.Sphere(1.0),
        ap.Cylinder(1.0, axis=(0, 1, 0)),
        ap.Implicit(lambda x, y, z: 1.0 - (x * x + 2.0 * y * y + z * z)),
    ],
)
def test_a_body_stays_within_any_wall(surface):
    robot = free_body([(0.1, 0, 0), (-0.1, 0.05, 0), (0, 0, 0.1)])
    dyn, contact = ap.Dynamics(robot), ap.Contact("all", surface, 0.5, 0.3)
    penalty = Penalty(dyn, contact)
    assert np.isfinite(run_scan(with_penalty(dyn, penalty), at_height(robot, 0.0), np.zeros(6), 1e-4, 1)[1]).all()
    q, v = run_scan(with_penalty(dyn, penalty), at_height(robot, 0.2), [1, 0.5, 0, 3, 1, 0], 1e-4, 10_000, every=50)
    gaps = Contacts(dyn, contact).gaps(q)
    assert gaps.min() < 0.0  # it did touch
    assert -gaps.min() <= 2.0 * np.abs(v[:, :3]).max() / penalty.max_frequency
    T, U = dyn.energy(q, v)
    assert (T + U)[-1] < (T + U)[0]


@pytest.mark.parametrize("options", [{"depth": 0.0}, {"depth": "deep"}, {"stiffness": -1.0}, {"depth": float("inf")}])
def test_depth_and_stiffness_are_positive_numbers(options):
    with pytest.raises(ArgumentError, match="of SpringContacts is"):
        ap.simulation.SpringContacts(**options)


def test_a_given_stiffness_replaces_that_of_the_depth():
    robot = free_body([(0, 0, 0)])
    penalty = Penalty(
        ap.Dynamics(robot),
        ap.Contact(["c0"], FLOOR, restitution=1.0, friction=0.0),
        model=ap.simulation.SpringContacts(stiffness=400.0),
    )
    assert penalty.max_frequency == pytest.approx(20.0)
