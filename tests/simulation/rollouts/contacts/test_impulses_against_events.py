"""Steps with impulses against the simulator, which finds every impact exactly; and what holds for many at once."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.simulation.contact.contact import Contacts
from appell.simulation.rollouts.contacts.impulses import Impulses
from contact_scans import run_scan, with_impulses
from robots import example_urdfs

WALL = ap.Contact("all", ap.Circle(2.5), restitution=1.0, friction=0.0)
TREE = ap.Dynamics(ap.load("tree10"))


@pytest.fixture(scope="module")
def exact():
    return ap.simulate(TREE, until=0.45, contacts=WALL, solver=ap.Solver(rtol=1e-11, atol=1e-12))


def test_impact_times_impulses_and_velocities_converge_with_the_step(exact):
    scan, impact = with_impulses(TREE, Impulses(TREE, WALL)), exact.events[0]
    worst = []
    for h in (2e-3, 1e-3, 5e-4, 2.5e-4, 1.25e-4):
        q, v, f = run_scan(scan, exact.q[0], exact.v[0], h, round(0.45 / h))
        pushed = np.flatnonzero((f[..., 0] > 0.0).any(axis=-1))
        assert len(pushed) == 1  # two points at once, in one step
        which = np.flatnonzero(f[pushed[0], :, 0] > 0.0)
        assert [Contacts(TREE, WALL).names[k] for k in which] == list(impact.points)
        assert abs((pushed[0] + 0.5) * h - impact.time) <= h
        np.testing.assert_allclose(f[pushed[0], which, 0], impact.impulses, rtol=2 * h)
        end = exact(0.45)
        worst.append(max(np.abs(q[-1] - end[0]).max(), 0.05 * np.abs(v[-1] - end[1]).max()) / h)
    # first order: the error over h stays, though it jumps with where in its step the impact falls
    assert max(worst) <= 10.0
    assert worst[-1] <= 2.0 * min(worst[:3]) + 1.0


def test_hundreds_of_drops_never_gain_energy():
    rng = np.random.default_rng(3)
    number, h = 200, 1e-3
    q0 = np.tile(TREE.system.start, (number, 1)) + rng.uniform(-0.3, 0.3, (number, TREE.system.nq))
    gaps = Contacts(TREE, WALL).gaps
    q0 = q0[gaps(q0).min(axis=-1) > 0.02]
    v0 = rng.normal(size=q0.shape)
    assert len(q0) > 100
    for e, mu in ((1.0, 0.0), (0.5, 0.3), (0.9, 0.6)):
        scan = with_impulses(TREE, Impulses(TREE, ap.Contact("all", ap.Circle(2.5), e, mu)))
        q, v, f = run_scan(scan, q0, v0, h, 1000)
        assert np.isfinite(q).all()
        T, U = TREE.energy(q, v)
        assert (f[..., 0] > 0.0).any(axis=(1, 2)).mean() > 0.9  # nearly all of them hit the wall
        assert np.diff(T + U, axis=-1).max() <= 1e-14 * np.abs(T + U).max()
        assert gaps(q).min() >= -h  # bends of the way within a step, and what five sweeps leave


def test_results_of_a_member_do_not_depend_on_the_other_members():
    rng = np.random.default_rng(4)
    scan = with_impulses(TREE, Impulses(TREE, ap.Contact("all", ap.Circle(2.5), 0.5, 0.3)))
    q0 = np.tile(TREE.system.start, (9, 1))
    v0 = rng.normal(size=q0.shape)
    v0[4, 0] = np.nan
    q, v, _ = run_scan(scan, q0, v0, 1e-3, 500)
    assert np.isnan(v[4]).all()
    for k in (0, 3, 8):
        alone = run_scan(scan, q0[k], v0[k], 1e-3, 500)
        np.testing.assert_array_equal(alone[0], q[k])
        np.testing.assert_array_equal(alone[1], v[k])


def test_a_quadruped_lands_on_its_feet_and_stands_under_a_law():
    robot = ap.load(next(path for path in example_urdfs() if path.name == "go2.urdf"), base="floating")
    dyn = ap.Dynamics(robot)
    feet = [name for name in robot.frame_names if name.endswith("foot")]
    q0 = np.array(robot.start)
    q0[7:] = [0.05, 0.8, -1.5] * 4
    q0[2] += 0.1 - min(dyn.pose(foot)(q0)[2, 3] for foot in feet)
    stance, h = q0[7:].copy(), 2e-3
    floor = ap.Contact(feet, ap.Plane((0, 0, 1)), restitution=0.3, friction=0.6)

    def law(q, v):
        return [0.0] * 6 + [60.0 * (s - x) - 2.0 * w for s, x, w in zip(stance, q[7:], v[6:], strict=True)]

    q, v, f = run_scan(with_impulses(dyn, Impulses(dyn, floor), law), q0, np.zeros(18), h, 2500)
    gaps = Contacts(dyn, floor).gaps(q)
    assert gaps.min() >= -1e-5
    np.testing.assert_allclose(gaps[-1], 0.0, atol=1e-6)
    assert np.abs(v[-1]).max() <= 1e-2
    assert f[-100:, :, 0].sum(axis=-1).mean() / h == pytest.approx(robot.mass * 9.81, rel=1e-3)
    T, U = dyn.energy(q, v)
    total = T + U + 30.0 * ((q[:, 7:] - stance) ** 2).sum(axis=-1)
    assert np.diff(total).max() <= 1e-3 * total[0]  # the springs are inputs, whose work is known to h² per step


def test_a_parallel_robot_bounces_as_in_simulate():
    delta = ap.load("delta")
    dyn, h = ap.Dynamics(delta), 5e-4
    floor = ap.Contact(["platform"], ap.Plane((0, 0, 1), delta.start[2] - 0.05), 0.5, friction=0.0)
    exact = ap.simulate(dyn, until=0.15, contacts=floor)
    (impact,) = exact.events
    q, v, _ = run_scan(with_impulses(dyn, Impulses(dyn, floor)), delta.start, np.zeros(3), h, round(0.15 / h))
    speed, gain = abs(impact.v_before[2]), 12.0  # m/s, and m/s² of the fall, whose legs are heavier than its platform
    np.testing.assert_allclose(q[-1], exact.q[-1], atol=2.0 * speed * h)
    np.testing.assert_allclose(v[-1], exact.v[-1], atol=2.0 * gain * h)
