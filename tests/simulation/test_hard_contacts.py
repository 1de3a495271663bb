"""Difficult contacts: friction that jams, unsolved contact problems, extreme tolerances."""

from __future__ import annotations

import numpy as np
import pytest

import appell as ap
from appell.simulation.contact.blocks import ContactForces
from appell.simulation.events import effects
from free_bodies import box, free_body

G = 9.81


def sliding_rod(angle, speed, turning):
    """A rod of two metres that slides on its tip along x at this angle from the vertical: (robot, q0, v0)."""
    robot = free_body([(0, 0, -1.0), (0, 0, 1.0)], 1.0, (1 / 3, 1 / 3, 1e-3))
    c, s = np.cos(angle), np.sin(angle)
    R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    omega = np.array([0.0, turning, 0.0])
    centre = np.array([speed, 0, 0]) - np.cross(omega, R @ [0, 0, -1.0])
    q = [0, 0, c, 0, np.sin(angle / 2), 0, np.cos(angle / 2)]
    return robot, q, np.concatenate([R.T @ centre, R.T @ omega])


@pytest.mark.parametrize("friction", [0.5, 1.4, 2.0, 3.0])
def test_a_rod_that_slides_on_its_tip_continues_in_painleves_region(friction):
    for angle in (-0.9, -0.6, -0.3, 0.6):
        for speed in (1.0, 5.0):
            robot, q, v = sliding_rod(angle, speed, 0.5)
            contact = ap.Contact("all", ap.Plane((0, 0, 1)), 0.0, friction)
            motion = ap.simulate(ap.Dynamics(robot), q, v, until=0.2, contacts=contact)
            assert motion.finished, motion
            latest = np.maximum.accumulate(motion.energy[::-1])[::-1]
            assert (latest - motion.energy).max() <= 1e-6 * max(1.0, np.abs(motion.energy).max())


def test_where_no_force_keeps_a_tip_out_of_the_floor_it_catches():
    """1/m + (l²/I) sin θ (sin θ - μ cos |θ|) < 0: friction drives the tip further in, so that it stops at once."""
    angle, mu = -0.6, 1.6
    s, c = np.sin(abs(angle)), np.cos(angle)
    assert 1.0 + 3.0 * s * (s - mu * c) < 0.0
    robot, q, v = sliding_rod(angle, 2.0, 0.0)
    contact = ap.Contact("c0", ap.Plane((0, 0, 1)), 0.0, mu)
    motion = ap.simulate(ap.Dynamics(robot), q, v, until=0.1, contacts=contact)
    hit = motion.impacts[0]
    assert hit.time == 0.0
    assert hit.normal_speeds[0] == pytest.approx(0.0, abs=1e-12)
    J = ap.Dynamics(robot).jacobian("c0")(np.array(q))[:3]
    np.testing.assert_allclose(J @ hit.v_after, 0.0, atol=1e-12)
    M = ap.Dynamics(robot).mass_matrix(np.array(q))
    assert hit.v_after @ M @ hit.v_after < hit.v_before @ M @ hit.v_before
    assert np.linalg.norm(hit.frictions[0]) <= mu * hit.impulses[0]


def test_an_unsolved_contact_ends_the_run_with_its_points_and_keeps_the_trajectory(monkeypatch):
    robot = box()
    start = robot.neutral
    start[2] = 0.5

    def unsolved(A, b, *given):
        return ContactForces(np.zeros(len(b)), b, 1.0)

    for module in ("events.phase_changes", "contact.time_stepping"):  # neither exact events nor steps find forces
        monkeypatch.setattr(f"appell.simulation.{module}.solve_blocks", unsolved)
    monkeypatch.setattr(effects, "catch", lambda *given: None)
    motion = ap.simulate(
        ap.Dynamics(robot), start, until=1.0, contacts=ap.Contact("all", ap.Plane((0, 0, 1)), 0.0, friction=0.0)
    )
    assert motion.status == "UNSOLVED"
    assert "c0, c1, c2, c3" in motion.message
    assert motion.t[-1] == pytest.approx(np.sqrt(0.8 / G), abs=1e-9)
    assert len(motion.impacts) == 1


@pytest.mark.parametrize("friction", [0.0, 0.5])
@pytest.mark.parametrize("tolerance", [1e-10, 1e-13])
def test_a_box_comes_to_rest_for_any_tolerance(tolerance, friction):
    robot = box()
    start = robot.neutral
    start[2] = 0.3
    contact = ap.Contact("all", ap.Plane((0, 0, 1)), 0.2, friction)
    motion = ap.simulate(
        ap.Dynamics(robot), start, until=2.0, contacts=contact, solver=ap.Solver(tolerance=tolerance, max_steps=5000)
    )
    assert motion.finished, motion
    assert motion.q[-1, 2] == pytest.approx(0.1, abs=1e-8)


def test_impulses_below_rounding_do_not_cause_events():
    """A point that rests while others slide never has its rest interrupted by impacts of rounding errors."""
    robot = box()
    start = robot.neutral
    start[2] = 0.1
    contact = ap.Contact("all", ap.Plane((0, 0, 1)), 0.5, 0.1)
    motion = ap.simulate(ap.Dynamics(robot), start, [1.0, 0.3, 0, 0, 0, 0.2], until=1.5, contacts=contact)
    assert motion.finished
    assert not motion.impacts
