"""Steps with impulses, against closed forms: bodies that bounce, slide, stick and rest, joints with stops and friction.

Impacts are moved by up to a step h, and so are changes of contact: a speed is off by up to g h, a place by up to u h.
"""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.errors import ArgumentError
from appell.simulation.contact.contact import Contacts
from appell.simulation.rollouts.contacts.impulses import Impulses
from contact_scans import run_scan, with_impulses
from free_bodies import box, free_body

G = 9.81
FLOOR = ap.Plane((0, 0, 1))
POINT = free_body([(0, 0, 0)], name="point")
CORNERS = [(x, y, z) for x in (-0.2, 0.2) for y in (-0.15, 0.15) for z in (-0.1, 0.1)]
BRICK = free_body(CORNERS, 2.0, (0.022, 0.033, 0.042), name="brick")


def at_height(robot, height):
    q = robot.neutral
    q[2] = height
    return q


def contact_scan(robot, contact, **options):
    dyn = ap.Dynamics(robot)
    return with_impulses(dyn, Impulses(dyn, contact, **options))


@pytest.mark.parametrize("e", [1.0, 0.8, 0.5])
def test_a_ball_bounces_to_the_heights_given_by_its_restitution(e):
    scan, h = contact_scan(POINT, ap.Contact("all", FLOOR, e, friction=0.0)), 1e-3
    q, v, _ = run_scan(scan, at_height(POINT, 1.0), np.zeros(6), h, 2500)
    tops = np.flatnonzero((v[:-1, 2] > 0.0) & (v[1:, 2] <= 0.0))[:3]
    bounces = np.arange(1, len(tops) + 1)
    assert len(tops) == 3 - (e == 1.0)  # the third top of a ball without loss comes later
    error = np.abs(q[tops, 2] - e ** (2 * bounces))
    assert (error <= 2 * bounces * np.sqrt(2 * G) * h).all()  # u h of place and of e²u²/2g per bounce
    assert q[:, 2].min() >= -1e-12


def test_a_ball_that_does_not_bounce_lies_where_it_lands():
    q, v, f = run_scan(
        contact_scan(POINT, ap.Contact("all", FLOOR, 0.0, friction=0.0)), at_height(POINT, 0.5), np.zeros(6), 1e-3, 1000
    )
    landed = int(np.sqrt(1.0 / G) / 1e-3) + 2
    assert np.abs(q[landed:, 2]).max() <= 1e-12
    assert np.abs(v[landed:]).max() == 0.0
    np.testing.assert_allclose(f[landed:, 0, 0], G * 1e-3, rtol=1e-12)  # its weight for a step


@pytest.mark.parametrize("angle", [0.2, 0.5])
def test_a_block_slides_down_an_incline_by_coulombs_law_or_sticks(angle):
    mu, h, steps = 0.35, 1e-3, 1000
    slope = ap.Plane((-np.sin(angle), 0.0, np.cos(angle)))
    robot = box()
    every_sweep = ap.simulation.ImpulseContacts(tolerance=0.0)
    scan = contact_scan(robot, ap.Contact("all", slope, 0.0, mu), model=every_sweep)
    turned = [0.0, -np.sin(angle / 2), 0.0, np.cos(angle / 2)]  # z along the normal
    q0 = np.array([-0.1 * np.sin(angle), 0.0, 0.1 * np.cos(angle), *turned])
    q, v, _ = run_scan(scan, q0, np.zeros(6), h, steps)
    down = -G * np.sin(angle) + mu * G * np.cos(angle)  # along x of the box
    expected = min(0.0, down)
    assert v[-1, 0] == pytest.approx(expected * steps * h, abs=1e-9)
    along = np.array([np.cos(angle), 0.0, np.sin(angle)])
    assert (q[-1, :3] - q0[:3]) @ along == pytest.approx(0.5 * expected, abs=1e-12 + abs(expected) * h)
    assert np.abs(v[-1, 1:]).max() <= 1e-8
    if not expected:
        np.testing.assert_allclose(q[-1], q0, atol=1e-9)


def test_a_dropped_brick_comes_to_rest_on_a_face_and_stays():
    rng = np.random.default_rng(1)
    q0 = np.tile(at_height(BRICK, 0.6), (16, 1))
    q0[:, 3:] = rng.normal(size=(16, 4))
    q0[:, 3:] /= np.linalg.norm(q0[:, 3:], axis=1, keepdims=True)
    contact = ap.Contact("all", FLOOR, 0.3, 0.5)
    q, v, _ = run_scan(contact_scan(BRICK, contact), q0, rng.normal(size=(16, 6)), 1e-3, 6000, every=1000)
    assert np.abs(v[:, -1]).max() <= 1e-3
    np.testing.assert_allclose(q[:, -1], q[:, -2], atol=1e-4)  # after a second more
    gaps = np.sort(Contacts(ap.Dynamics(BRICK), contact).gaps(q[:, -1]), axis=-1)
    np.testing.assert_allclose(gaps[:, :4], 0.0, atol=1e-5)


def test_a_wall_that_appears_later_stops_a_falling_ball():
    scan = contact_scan(POINT, ap.Contact("all", FLOOR, 0.0, during=(0.2, 0.6), friction=0.0))
    q, v, _ = run_scan(scan, at_height(POINT, 0.5), np.zeros(6), 1e-3, 1000)
    assert abs(q[590, 2]) <= 1e-12
    assert v[590, 2] == 0.0
    assert q[-1, 2] == pytest.approx(-0.5 * G * 0.4**2, rel=5e-3)
    with pytest.raises(ArgumentError, match="time is not given"):
        Impulses(ap.Dynamics(POINT), ap.Contact("all", FLOOR, during=(0, 1))).walls.at(None, [], [])


@pytest.mark.parametrize(("force", "moves"), [(2.9, False), (3.1, True)])
def test_a_dry_joint_is_held_exactly_up_to_its_friction(force, moves):
    builder = ap.Builder("block", root=None)
    drive = ap.Actuator(friction=ap.Friction(coulomb=2.0, static=3.0, stribeck=1e-3, viscous=0.5))
    builder.link("block", ap.Prismatic((1, 0, 0)), mass=2.0, inertia=(0.1, 0.1, 0.1), actuator=drive)
    dyn = ap.Dynamics(builder.build(), friction=True)
    scan = with_impulses(dyn, Impulses(dyn))
    q, v, dry = run_scan(scan, [0.7], [0.0], 1e-3, 400, [force])
    if not moves:
        assert (q == 0.7).all()
        assert np.abs(v).max() < 1e-18  # rounding errors of M̂
        np.testing.assert_allclose(dry, -force * 1e-3, rtol=2e-4)  # viscous friction takes h/4m of it, free
        return
    # v̇ = (force - coulomb - viscous v) / m after a start below Stribeck's speed, where friction is up to 1 N more
    exact = (force - 2.0) / 0.5 * (1.0 - np.exp(-0.5 / 2.0 * 0.4))
    assert 0.9 * exact < v[-1, 0] < exact


def test_a_sliding_joint_comes_to_rest_when_friction_has_dissipated_its_energy():
    builder = ap.Builder("block", root=None)
    drive = ap.Actuator(friction=ap.Friction(coulomb=2.0))
    builder.link("block", ap.Prismatic((1, 0, 0)), mass=2.0, inertia=(0.1, 0.1, 0.1), actuator=drive)
    dyn = ap.Dynamics(builder.build(), friction=True)
    q, v, _ = run_scan(with_impulses(dyn, Impulses(dyn)), [0.0], [0.5], 1e-3, 800)
    assert q[-1, 0] == pytest.approx(0.5**2 / 2.0, abs=1e-12)  # the mean of two velocities is exact
    assert v[-1, 0] == 0.0


@pytest.mark.parametrize("e", [0.0, 0.6])
def test_stops_hold_and_bounce(e):
    builder = ap.Builder("slider", root=None)
    builder.link(
        "cart", ap.Prismatic((1, 0, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1), limits=ap.Limits(lower=-0.3, upper=0.4)
    )
    dyn = ap.Dynamics(builder.build())
    scan = with_impulses(dyn, Impulses(dyn, stops=e))
    q, v, f = run_scan(scan, [0.0], [2.0], 1e-3, 900)
    assert q.max() <= 0.4 + 1e-12
    assert q.min() >= -0.3 - 1e-12
    hits = f[np.abs(f[:, 0]) > 0.0, 0]
    if e:
        np.testing.assert_allclose(hits[:2], [-2.0 * (1 + e), 2.0 * e * (1 + e)], rtol=1e-12)
        assert v[-1, 0] == pytest.approx(2.0 * e**2, rel=1e-12)
    else:
        assert hits.sum() == pytest.approx(-2.0, rel=1e-12)
        np.testing.assert_allclose([q[-1, 0], v[-1, 0]], [0.4, 0.0], atol=1e-12)


def test_a_mimic_joint_has_its_own_stops():
    builder = ap.Builder("pair", root=None)
    builder.link("a", ap.Prismatic((1, 0, 0)), mass=1.0, inertia=(0.1, 0.1, 0.1), limits=ap.Limits(upper=0.5))
    builder.link(
        "b",
        ap.Prismatic((0, 1, 0)),
        mass=1.0,
        inertia=(0.1, 0.1, 0.1),
        limits=ap.Limits(lower=-0.2),
        mimic=ap.Mimic("a_joint", -2.0, 0.1),
    )
    dyn = ap.Dynamics(builder.build())
    q, v, _ = run_scan(with_impulses(dyn, Impulses(dyn, stops=0.0)), [0.0], [1.0], 1e-3, 300)
    assert q[-1, 0] == pytest.approx(0.15, abs=1e-12)  # -2 q + 0.1 = -0.2
    assert abs(v[-1, 0]) <= 1e-15


@pytest.mark.parametrize("sweeps", [0, 2.5, True, "many"])
def test_sweeps_are_an_integer(sweeps):
    with pytest.raises(ArgumentError, match="sweeps of ImpulseContacts is"):
        ap.simulation.ImpulseContacts(sweeps=sweeps)


@pytest.mark.parametrize("tolerance", [-1e-3, float("nan"), "small"])
def test_a_tolerance_of_sweeps_is_a_number_that_is_not_negative(tolerance):
    with pytest.raises(ArgumentError, match="tolerance of ImpulseContacts is"):
        ap.simulation.ImpulseContacts(tolerance=tolerance)
