"""Robots on contacts: all subsets against Pinocchio, laws of mechanics on random cases, and bad input."""

from __future__ import annotations

import pickle
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import appell as ap
from answers import interpreted
from appell_lab.references.contact_laws import LAWS, random_states, violations
from appell_lab.references.contact_peer import CONTACTS, ContactPeer, urdf
from constrained_cases import constrained
from contact_cases import CASES, rotation, stacked, standing

SUBSETS = np.array(list(product((0.0, 1.0), repeat=4)))
EXACT = 1e-11  # relative to the largest entry: forces of Talos have a condition number of 1e4


@pytest.mark.parametrize("name", CONTACTS)
def test_all_subsets_agree_with_pinocchio(name):
    peer, con = ContactPeer(urdf(name), CONTACTS[name]), standing(name)
    theirs = peer.contacts  # in Pinocchio's order of the joints
    states = random_states(theirs, np.random.default_rng(5), len(SUBSETS))
    states[4], states[5][:, 0] = SUBSETS, 0.0  # Pinocchio's gap of a sole differs in second order
    order = [theirs.dyn.system.velocity_names.index(each) for each in con.dyn.system.velocity_names]
    coordinates = [theirs.dyn.system.coordinate_names.index(each) for each in con.dyn.system.coordinate_names]
    ours = con.forward_dynamics(states[0][:, coordinates], *(x[:, order] for x in states[1:3]), *states[3:])
    for sample, a, force, flag in zip(zip(*states, strict=True), *ours, strict=True):
        expected_a, expected_force = peer.dynamics(*sample)
        assert flag == 0
        np.testing.assert_allclose(a, expected_a[order], rtol=0, atol=EXACT * max(1.0, np.abs(expected_a).max()))
        np.testing.assert_allclose(force, expected_force, rtol=0, atol=EXACT * max(1.0, np.abs(expected_force).max()))
        assert not force[sample[4] == 0.0].any()


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=3, deadline=None)
def test_laws_of_mechanics_hold_on_random_cases(seed):
    con = standing("go2")
    errors = violations(con, *random_states(con, np.random.default_rng(seed), 350))
    assert set(errors) == set(LAWS)
    assert all(np.all(error <= LAWS[law]) for law, error in errors.items()), errors


def test_inverse_dynamics_returns_the_motion_of_forward_dynamics():
    con = standing("go2")
    q, v, tau, footholds, _, gains = random_states(con, np.random.default_rng(2), 1)
    sample = q[0], v[0], tau[0], footholds[0], np.ones(4), gains[0]
    tau = np.r_[np.zeros(6), sample[2][6:]]
    a, _, _ = con.forward_dynamics(sample[0], sample[1], tau, *sample[3:])
    required, force, flag = interpreted(con.inverse_dynamics, sample[0], sample[1], a, sample[3], sample[4])
    assert flag == 0
    assert np.abs(required[:6]).max() < 1e-9
    again, same, _ = con.forward_dynamics(sample[0], sample[1], required, *sample[3:])
    np.testing.assert_allclose(again, a, rtol=0, atol=1e-9)
    np.testing.assert_allclose(same, force, rtol=0, atol=1e-8)
    two = interpreted(con.inverse_dynamics, sample[0], sample[1], a, sample[3], con.mask("FL", "RR"))
    assert two[2] == 2  # two points cannot apply a moment about the line between them


def test_legs_that_are_nearly_stretched_are_flagged():
    con, stretched = standing("go2"), np.array(CASES[40]["q"])
    for bend, expected in ((0.1, 0), (1e-4, 3), (0.0, 1)):
        q = stretched - bend * np.isin(np.arange(19), [9, 12, 15, 18])
        result = con.forward_dynamics(q, np.zeros(18), np.zeros(18), con.poses(q), np.ones(4), np.zeros(2))
        assert result.flag == expected


@pytest.mark.parametrize("name", ["puma", "panda with mimic fingers"])
def test_a_manipulator_with_friction_springs_and_rotors_touches_a_table(name):
    robot = ap.load(name) if name == "puma" else ap.load(urdf("panda"))
    changes = {"stiffness": 2.0, "rest": 0.1, "friction": ap.Friction(viscous=0.3), "rotor_inertia": 1e-4}
    robot = robot.with_actuators(dict.fromkeys(robot.joint_names, changes))
    con = ap.Dynamics(robot, friction=True, rotors=True).contacts(tip=ap.Touch(robot.links[-1].name))
    q, v, tau = np.random.default_rng(1).normal(size=(3, robot.nv))
    gains, wrt = np.array([40.0, 9.0]), ("q", "v", "tau", "footholds")
    sample = q, v, tau, con.poses(q), np.ones(1), gains
    a, force, flag, *derivatives = interpreted(con.derivatives(*wrt), *sample)
    residual = con.jacobian(q) @ a + con.drift(q, v) + gains[1] * con.jacobian(q) @ v
    assert np.abs(residual).max() < 1e-10
    assert force.shape == (1, 3)
    assert flag == 0
    by_tape = interpreted(con.forward_dynamics.jacobian(*wrt), *sample)  # of a, force and flag, name by name
    for ours, theirs in zip(derivatives, [x for k, x in enumerate(by_tape) if k % 3 < 2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9 * max(1.0, np.abs(theirs).max()))


def test_a_robot_with_loops_touches_in_its_independent_velocities():
    system, frame = constrained("floating-fourbar"), "rocker"
    dyn = ap.Dynamics(system)
    con = dyn.contacts(tip=ap.Touch(frame))
    rng = np.random.default_rng(3)
    q, v, tau = system.start, rng.normal(size=system.nv), rng.normal(size=system.nu)
    a, force, flag = con.solve(q, v, tau, con.poses(q), [1.0], [0.0, 0.0])
    assert flag == 0
    acceleration = dyn.acceleration(frame, q, v, a, reference="LOCAL_WORLD_ALIGNED")[:3]
    assert np.abs(acceleration).max() < 1e-10
    forces = dyn.mass_matrix(q) @ a + dyn.bias(q, v) - dyn.actuator_jacobian(q).T @ tau
    np.testing.assert_allclose(con.jacobian(q).T @ force[0], forces, rtol=0, atol=1e-10)
    with pytest.raises(ap.ModelError, match="has loops, other constraints"):
        con.derivatives("q")


def test_centroidal_momentum_matrix_and_its_rate_agree_with_pinocchio():
    import pinocchio as pin

    peer = ContactPeer(urdf("go2"), CONTACTS["go2"])
    dyn, data = peer.contacts.dyn, peer.model.createData()
    q, v, *_ = (x[0] for x in random_states(peer.contacts, np.random.default_rng(6), 1))
    pin.dccrba(peer.model, data, q, v)
    np.testing.assert_allclose(interpreted(dyn.centroidal_matrix, q), data.Ag, rtol=0, atol=1e-12)
    np.testing.assert_allclose(interpreted(dyn.centroidal_matrix_rate, q, v), data.dAg, rtol=0, atol=1e-11)
    mechanism = ap.Dynamics(ap.load("delta"))
    q, v = mechanism.system.start, np.array([0.1, -0.2, 0.3])
    np.testing.assert_allclose(mechanism.centroidal_matrix(q) @ v, mechanism.momentum(q, v), atol=1e-12)


def test_nan_in_one_foothold_affects_that_sample_only():
    con = standing("go2")
    states = random_states(con, np.random.default_rng(4), 9)
    clean = con.forward_dynamics(*states)
    states[3][4, 2, 1, 3] = np.nan
    changed = con.forward_dynamics(*states)
    for x, y in zip(clean, changed, strict=True):
        assert np.isnan(y[4]).all()
        np.testing.assert_array_equal(np.delete(x, 4, axis=0), np.delete(y, 4, axis=0))
    states[3][4], states[5][7, 1] = 0.0, np.inf
    with np.errstate(invalid="ignore"):
        assert [*np.isnan(con.solve(*states)[2]).nonzero()[0]] == [7]


def test_bad_input_is_named():
    con = standing("go2")
    dyn = con.dyn
    states = random_states(con, np.random.default_rng(4), 1)
    with pytest.raises(ap.ArgumentError, match=r"no contact 'tail'.*FL, FR, RL, RR"):
        con.mask("FL", "tail")
    with pytest.raises(ap.ArgumentError, match=r"argument active has shape \(3,\)"):
        con.forward_dynamics(*states[:4], np.ones(3), states[5])
    with pytest.raises(ap.ModelError, match=r"no frame 'FL_fot'\. Did you mean 'FL_foot'"):
        dyn.contacts(left=ap.Touch("FL_fot"))
    with pytest.raises(ap.ArgumentError, match="contact 'left' of robot 'go2_description' is 'FL_foot'"):
        dyn.contacts(left="FL_foot")
    with pytest.raises(ap.ArgumentError, match="is empty"):
        dyn.contacts()
    with pytest.raises(ap.ArgumentError, match="external wrenches on FL_foot"):
        ap.Dynamics(dyn.system, wrenches=["FL_foot"]).contacts(left=ap.Touch("FR_foot"))
    with pytest.raises(ap.ArgumentError, match="with respect to 'parameters'") as caught:
        con.derivatives("parameters")
    assert "with_free" in str(caught.value)
    with pytest.raises(ap.ArgumentError, match="with respect to 'gains'"):
        con.gradient("q", "gains")
    with pytest.raises(ap.ModelError, match="mechanism in closed form"):
        ap.Dynamics(ap.load("delta")).contacts(plate=ap.Touch(ap.load("delta").frame_names[-1]))
    arm = ap.load("puma")
    with pytest.raises(ap.ModelError, match="'ground' is fixed to the world"):
        ap.Dynamics(arm.with_frames([ap.Frame("ground", None)])).contacts(foot=ap.Touch("ground"))
    with pytest.raises(ap.ModelError, match="needs a floating base"):
        _ = ap.Dynamics(arm).contacts(tip=ap.Touch(arm.frame_names[-1])).inverse_dynamics


def test_footholds_are_made_from_matrices_or_quaternions():
    con = standing("go2")
    q = con.dyn.system.integrate(con.dyn.system.start, np.random.default_rng(1).normal(size=18))
    poses = np.array([con.dyn.pose(row.frame.name, q) for row in con.rows])
    np.testing.assert_array_equal(con.footholds(poses), poses[:, :3])
    quaternion = 3.0 * np.array([0.1, -0.2, 0.3, 0.4])
    rows = np.tile([1.0, 2.0, 3.0, *quaternion], (5, 4, 1))
    expected = np.c_[rotation(quaternion), [1.0, 2.0, 3.0]]
    np.testing.assert_allclose(con.footholds(rows), np.broadcast_to(expected, (5, 4, 3, 4)), atol=1e-15)
    with pytest.raises(ap.ArgumentError, match=r"have shape \(3, 7\)"):
        con.footholds(rows[0, :3])


def test_contacts_pickle():
    con = pickle.loads(pickle.dumps(standing("go2")))
    state = [x[0] for x in random_states(con, np.random.default_rng(4), 1)]
    np.testing.assert_array_equal(con.forward_dynamics(*state)[0], standing("go2").forward_dynamics(*state)[0])


def test_zero_moment_point_of_a_robot_at_rest_is_below_its_centre_of_mass():
    con = standing("go2")
    q = con.dyn.system.start.copy()
    q[7:] = np.tile([0.1, 0.8, -1.5], 4)
    footholds = con.poses(q)
    _, force, _ = interpreted(con.inverse_dynamics, q, np.zeros(18), np.zeros(18), footholds, np.ones(4))
    com = con.dyn.center_of_mass(q)
    np.testing.assert_allclose(con.zero_moment_point(force, footholds, footholds[0, 2, 3]), com[:2], atol=1e-12)
    np.testing.assert_allclose(con.capture_point(q, np.zeros(18), -1.0), com[:2], atol=1e-12)
    moving = np.r_[0.3, np.zeros(17)]
    expected = com[0] + 0.3 * np.sqrt((com[2] - footholds[0, 2, 3]) / 9.81)
    assert abs(con.capture_point(q, moving, footholds[0, 2, 3])[0] - expected) < 1e-12
    world = np.einsum("cij,cj->ci", footholds[..., :3], force)
    margins = con.friction(world, 0.6, [0.0, 0.0])
    np.testing.assert_allclose(margins[:, 0], 0.6 * world[:, 2] - np.hypot(world[:, 0], world[:, 1]))


def test_soles_have_margins_against_tipping():
    con = standing("talos")
    force = np.tile([0.0, 3.0, 10.0, 0.4, -0.7, 0.0], (4, 1))
    expected = [[4.0 - 3.0, 0.5 - 0.4, 1.0 - 0.7]] * 2 + [[1.0, 10.0, 10.0]] * 2
    np.testing.assert_allclose(con.friction(force, 0.4, [0.1, 0.05]), expected)
    assert stacked(con, force).shape == (18,)


@pytest.mark.parametrize("active", [(1.0, 1.0), (1.0, 0.0)], ids=["both", "one"])
def test_derivatives_of_an_impact_are_those_of_its_tape(active):
    robot = ap.load(urdf("go2"), base="floating")
    robot = robot.locked([name for name in robot.joint_names if name[:2] in ("FR", "RL")])
    con = ap.Dynamics(robot).contacts(left=ap.Touch("FL_foot"), right=ap.Sole("RR_foot"))
    rng = np.random.default_rng(7)
    q = con.dyn.system.random_configuration(rng)
    v = rng.uniform(-1.0, 1.0, con.dyn.system.nv)
    given = (q, v, con.poses(q), np.array(active))
    results = interpreted(con.impulse_derivatives(), *given)
    expected = interpreted(con.impulse.jacobian("q", "v"), *given, 0.0)
    np.testing.assert_allclose(results[0], interpreted(con.impulse, *given, 0.0)[0], rtol=0, atol=1e-12)
    for computed, reference in zip(results[1:], (expected[0], expected[3]), strict=True):
        np.testing.assert_allclose(computed, reference, rtol=0, atol=1e-10 * np.abs(reference).max())
