"""Impact laws: rods with known results, energy, agreement without friction, several points, and what events state."""

from __future__ import annotations

from inspect import signature

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import appell as ap
from appell.cli.simulate import simulate as cli_simulate
from appell.motion import Record
from appell.simulation.contact import impact_path
from appell.simulation.contact.impact import ImpactPoints, collide, newton_impulses
from appell.simulation.contact.impact_path import path_impact
from appell.simulation.options import IMPACT_LAWS
from free_bodies import free_body

PATH_LAWS = ("newton-path", "poisson", "energetic")
ROD_INERTIA = np.diag([1.0, 1.0, 1.0 / 12.0])  # 1 kg, 1 m


def rod(degrees, turned=0.0):
    """J (3, 3) of the tip of a planar rod along normal and tangents, by (v_x, v_y, spin); tangents may be turned."""
    x, y = 0.5 * np.cos(np.radians(degrees)), 0.5 * np.sin(np.radians(degrees))
    normal, tangent, c, s = np.array([0.0, 1.0, -x]), np.array([1.0, 0.0, y]), np.cos(turned), np.sin(turned)
    return np.array([normal, c * tangent, s * tangent])


def impact_points(M, J, e, mu):
    J = J.reshape(-1, 3, len(M))
    response = np.einsum("ij,kcj->kci", np.linalg.inv(M), J)
    return ImpactPoints(J, response, np.broadcast_to(e, len(J)), np.broadcast_to(mu, len(J)))


def kinetic_energy(M, v):
    return 0.5 * v @ M @ v


@pytest.mark.parametrize("turned", [0.0, 0.7])
@pytest.mark.parametrize(
    ("degrees", "speed", "mu", "e", "expected"),
    [  # impulse in N s and change of the energy in J, for the laws of PATH_LAWS and for Newton's law before its guard
        (45, 0.0, 0.3, 0.5, ["0.73171 -0.243"] * 4),
        (60, 1.0, 0.3, 0.5, ["0.85074 -0.216", "0.72476 -0.264", "0.77654 -0.247", "0.89399 -0.199"]),
        (45, 0.5, 0.3, 0.8, ["0.78049 -0.074", "0.70244 -0.121", "0.72392 -0.109", "0.87805 -0.043"]),
        (51, 0.5, 0.92, 1.0, ["1.22253 +0.115", "1.03913 -0.044", "1.06046 -0.028", "1.22253 +0.115"]),
    ],
)
def test_a_falling_rod_hits_the_floor_as_computed_by_hand(degrees, speed, mu, e, expected, turned):
    """A rod of 1 m and 1 kg moves with (speed, -1) m/s without spin; formulas of Routh, Poisson and Stronge."""
    M, J, v = ROD_INERTIA, rod(degrees, turned), np.array([speed, -1.0, 0.0])
    R = J @ np.linalg.inv(M)
    impulses = [path_impact(R @ J.T, J @ v, mu, e, law, guard=False).impulse for law in PATH_LAWS]
    impulses += [*newton_impulses(M, v, J[None], R[None], np.array([e]), np.array([mu]), guard=False).f]
    gains = [kinetic_energy(M, v + f @ R) - kinetic_energy(M, v) for f in impulses]
    assert [f"{f[0]:.5f} {gain:+.3f}" for f, gain in zip(impulses, gains, strict=True)] == expected


@pytest.mark.parametrize("law", IMPACT_LAWS)
def test_no_law_adds_energy_and_poisson_and_energetic_restitution_are_never_reduced(law):
    rng = np.random.default_rng(5)
    reduced = 0
    for trial in range(160):
        if trial % 4:
            M, J = ROD_INERTIA, rod(rng.uniform(5.0, 85.0), rng.uniform(0.0, 6.0))
            v = np.array([rng.normal(), -rng.uniform(0.1, 2.0), rng.normal()])
        else:  # a body in space
            root = rng.normal(size=(6, 6))
            M, J, v = root @ root.T + 0.1 * np.eye(6), rng.normal(size=(3, 6)), rng.normal(size=6)
        if J[0] @ v >= -1e-3:
            v = -v
        e, mu = rng.uniform(), rng.uniform(0.0, 1.5)
        collision = collide(M, v, impact_points(M, J, e, mu), law)
        assert kinetic_energy(M, collision.v) <= kinetic_energy(M, v) * (1.0 + 1e-12)
        assert J[0] @ collision.v >= -1e-9
        f = collision.impulses[0]
        assert np.hypot(*f[1:]) <= mu * f[0] * (1.0 + 1e-9)
        reduced += collision.restitution[0] < e * (1.0 - 1e-9)
        if law == "newton-path" and collision.restitution[0] == e:
            assert J[0] @ collision.v == pytest.approx(-e * (J[0] @ v), abs=1e-9)
    assert reduced == 0 if law in ("poisson", "energetic") else reduced > 0


def test_the_direction_of_slip_turns_as_in_an_independent_integration():
    """Slip of a point in space, integrated over the normal impulse by SciPy in Cartesian components."""
    rng, mu, e = np.random.default_rng(11), 0.35, 0.7
    for _ in range(6):
        root = rng.normal(size=(3, 3))
        B, u = root @ root.T + 0.2 * np.eye(3), np.array([-1.0, *(3.0 * rng.normal(size=2))])

        def slope(p, y, B=B):
            f = np.array([1.0, *(-mu * y[1:3] / np.hypot(*y[1:3]))])
            return [*(B @ f), y[0], *f[1:]]  # u, W, f_t

        def compressed(p, y):
            return y[0]

        def slowed(p, y):
            return np.hypot(*y[1:3]) - 1e-6

        slowed.terminal = True
        path = solve_ivp(
            slope, (0.0, 20.0), [*u, 0.0, 0.0, 0.0], "DOP853", events=[compressed, slowed],
            dense_output=True, rtol=1e-12, atol=1e-13,
        )  # fmt: skip
        p_c = path.t_events[0][0]
        assert (1.0 + e) * p_c < path.t[-1]  # it slips to the end
        f = path_impact(B, u, mu, e, "poisson").impulse
        np.testing.assert_allclose(f, [(1.0 + e) * p_c, *path.sol((1.0 + e) * p_c)[4:]], rtol=1e-9)
        energetic = path_impact(B, u, mu, e, "energetic").impulse
        assert path.sol(energetic[0])[3] == pytest.approx((1.0 - e * e) * path.sol(p_c)[3], rel=1e-8)


@pytest.mark.parametrize("law", PATH_LAWS)
def test_slip_that_turns_at_once_and_then_lasts_takes_few_steps(law, monkeypatch):
    """One tangent is 10⁴ times as mobile as the other: an explicit method would take 10⁴ steps to the end of slip."""
    B = np.array([[1.0, 12.0, -0.8], [12.0, 1e4, -30.0], [-0.8, -30.0, 1.04]])
    u, steps, step = np.array([-1.0, 5.0, 1.6]), [], impact_path._Path._runge_kutta
    monkeypatch.setattr(impact_path._Path, "_runge_kutta", lambda *given: steps.append(given) or step(*given))
    f = path_impact(B, u, 0.9, 0.5, law).impulse
    assert 0 < len(steps) < 500
    assert (u + B @ f)[0] > 0.0
    assert f @ (u + 0.5 * B @ f) < 0.0


def test_all_laws_agree_without_friction_and_for_central_balls():
    rng = np.random.default_rng(3)
    root = rng.normal(size=(6, 6))
    M, J, v = root @ root.T + np.eye(6), rng.normal(size=(2, 3, 6)), rng.normal(size=6)
    v = v if (J[:, 0] @ v).min() < 0.0 else -v
    smooth = [collide(M, v, impact_points(M, J, [0.4, 0.7], 0.0), law).v for law in IMPACT_LAWS]
    mass, ball, thrown = 2.0 * np.eye(3), np.eye(3)[[2, 0, 1]], np.array([1.0, 0.5, -2.0])
    central = [collide(mass, thrown, impact_points(mass, ball, 0.6, 0.3), law).v for law in IMPACT_LAWS]
    for other in smooth:
        np.testing.assert_array_equal(other, smooth[0])
    for other in central:
        np.testing.assert_allclose(other, central[0], atol=1e-12)
    assert central[0][2] == pytest.approx(1.2)


@pytest.mark.parametrize("law", IMPACT_LAWS)
def test_points_hit_together_keep_the_symmetry_of_the_motion_and_gain_no_energy(law):
    """A bar with two feet lands flat; both feet slip outwards before and after the impact."""
    M = np.diag([1.0, 1.0, 0.1, 0.2, 0.2])  # v_x, v_y, spin, and the speeds at which two feet slide outwards
    feet = np.array([[[0, 1, s, 0, 0], [1, 0, 0.3, -(s < 0), s > 0], [0, 0, 0, 0, 0]] for s in (-1.0, 1.0)], float)
    v = np.array([0.0, -1.0, 0.0, 0.5, 0.5])
    collision = collide(M, v, impact_points(M, feet, 0.5, 0.4), law)
    np.testing.assert_allclose(collision.v[[0, 2]], 0.0, atol=1e-9)
    assert collision.v[3] == pytest.approx(collision.v[4], abs=1e-9)
    assert kinetic_energy(M, collision.v) < kinetic_energy(M, v)
    np.testing.assert_allclose(feet[:, 0] @ collision.v, 0.5, atol=1e-9)  # slip does not change its direction
    assert collision.together == (law != "newton")


def test_a_point_that_touches_takes_part_whether_or_not_it_was_at_rest_before():
    """One end of a rod lies on the floor or is a hair above it, the other end hits it."""
    robot, outcomes = free_body([(-0.5, 0, 0), (0.5, 0, 0)], 1.0, (1e-3, 1 / 12, 1 / 12), gravity=(0, 0, 0)), []
    for gap in (0.0, 1e-9):
        floor = ap.Contact("all", ap.Plane(), restitution=1.0, friction=0.0)
        motion = ap.simulate(robot, [0, 0, 0.5 * gap, 0, 0, 0, 1], [0, 0, -0.5, 0, 1.0, 0], until=1e-6, contacts=floor)
        outcomes.append(motion.v[-1])
    np.testing.assert_allclose(outcomes[0], outcomes[1], atol=1e-6)


def tilted_rod(law, restitution=1.0, **options):
    """The last rod of the table, which Newton's law would throw up with 18 % more energy."""
    robot = free_body([(-0.5, 0, 0)], 1.0, (1e-4, 1 / 12, 1 / 12), gravity=(0, 0, 0))
    angle = np.radians(51.0)
    q = [0, 0, 0.5 * np.sin(angle) + 1e-3, 0, -np.sin(angle / 2), 0, np.cos(angle / 2)]
    v = ap.Dynamics(robot).system.nv * [0.0]
    R = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
    v[:3] = R.T @ [0.5, 0.0, -1.0]
    floor = ap.Contact("c0", ap.Plane(), restitution, 0.92)
    return ap.simulate(robot, q, v, until=0.01, contacts=floor, impact_law=law, **options)


def test_an_event_carries_its_law_and_the_restitution_that_was_applied(tmp_path):
    (newton,), (energetic,) = tilted_rod("newton").impacts, tilted_rod("energetic").impacts
    assert (newton.law, energetic.law) == ("newton", "energetic")
    assert energetic.restitutions.tolist() == [1.0]
    assert "restitution" not in str(energetic)
    e = newton.restitutions[0]
    assert 0.0 < e < 0.95
    assert f"restitution reduced from 1 to {e:.4g}: the law 'newton' would add energy" in str(newton)
    assert energetic.impulses[0] == pytest.approx(1.06046, abs=1e-5)
    for suffix in (".csv", ".npz"):
        tilted_rod("newton").write(tmp_path / f"rod{suffix}")
        (again,) = Record.read(tmp_path / f"rod{suffix}").impacts
        assert (again.law, again.restitutions.tolist(), again.note) == ("newton", [e], newton.note)


def test_a_record_states_contacts_and_impact_law():
    about = tilted_rod("poisson").about
    assert about["impact_law"] == "poisson"
    (contact,) = about["contacts"]
    assert (contact["points"], contact["restitution"], contact["friction"]) == (["c0"], 1.0, 0.92)
    assert contact["surface"].startswith("Plane(")
    assert "impact_law" not in ap.simulate(ap.load("pendulum"), until=0.01).about
    stops = ap.simulate(ap.load("panda"), until=0.01, stops=0.3).about["stops"]
    assert set(stops.values()) == {0.3}


def test_an_unknown_law_is_named():
    with pytest.raises(ap.ArgumentError, match=r"simulate has no impact law 'stronge'\. It has: energetic, poisson"):
        tilted_rod("stronge")


def test_the_command_has_the_defaults_of_simulate_and_contact():
    command, function = (signature(f).parameters for f in (cli_simulate, ap.simulate))
    floor = ap.Contact("all", ap.Plane())
    assert command["impact_law"].default == function["impact_law"].default == "energetic"
    assert (command["restitution"].default, command["wall_friction"].default) == (floor.restitution, floor.friction)


def test_a_rollout_states_its_contacts_and_newtons_law():
    floor = ap.Contact(["c0"], ap.Plane())
    about = ap.rollout(free_body([(0, 0, 0)]), steps=2, dt=1e-3, method="moreau", contacts=floor).about
    assert about["impact_law"] == "newton"
    assert (about["contacts"][0]["restitution"], about["contacts"][0]["friction"]) == (0.0, 0.5)


def test_a_dropped_body_comes_to_rest_by_default():
    robot = free_body([(0, 0, 0)])
    floor = ap.Contact("c0", ap.Plane())
    assert (floor.restitution, floor.friction) == (0.0, 0.5)
    motion = ap.simulate(robot, [0, 0, 0.1, 0, 0, 0, 1], [0.5, 0, 0, 0, 0, 0], until=0.6, contacts=floor)
    assert [event.kind for event in motion.events][:2] == ["impact", "rest"]
    np.testing.assert_allclose(motion.v[-1][:3], 0.0, atol=1e-9)
