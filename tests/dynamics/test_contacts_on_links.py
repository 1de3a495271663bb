"""Contacts of a frame with another link of the same robot: Pinocchio, laws of mechanics, derivatives, and bad input."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

import appell as ap
from answers import interpreted
from appell_lab.references.contact_laws import LAWS, random_states, violations
from appell_lab.references.contact_peer import ContactPeer, urdf
from constrained_cases import constrained
from contact_cases import robot
from robots import random_tree

FEET = {  # two branches, a link and its ancestor, and the world
    "paws": ap.Touch("FL_foot", on="FR_foot"),
    "belly": ap.Touch("RL_foot", on="base"),
    "ground": ap.Touch("RR_foot"),
}
ARMS = {"hands": ap.Sole("left_gripper", on="right_gripper"), "stand": ap.Sole("torso")}


def close(ours, theirs, tolerance):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * max(1.0, np.abs(theirs).max()))


def one_state(con, seed) -> list[np.ndarray]:
    """Return a random state with all contacts active; frames are neither at rest nor at their footholds."""
    states = [x[0] for x in random_states(con, np.random.default_rng(seed), 1)]
    states[4] = np.ones(len(con.rows))
    return states


def test_two_hands_that_hold_each_other_agree_with_pinocchio():
    peer = ContactPeer(urdf("baxter"), ARMS)
    sample = one_state(peer.contacts, 1)
    a, force, flag = interpreted(peer.contacts.forward_dynamics, *sample)
    for ours, theirs in zip((a, force), peer.dynamics(*sample), strict=True):
        close(ours, theirs, 1e-11)
    assert flag == 0
    assert not interpreted(peer.contacts.jacobian, sample[0])[:6, :6].any()  # the base moves both hands as one body


def test_points_that_are_held_on_a_link_agree_with_pinocchio():
    peer = ContactPeer(urdf("go2"), FEET)
    con = peer.contacts
    q, v, tau, _, active, gains = one_state(con, 2)
    J, footholds = interpreted(con.jacobian, q), interpreted(con.poses, q)
    held = v - np.linalg.pinv(J) @ (J @ v)
    sample = q, held, tau, footholds, active, gains
    a, force, _ = interpreted(con.forward_dynamics, *sample)
    for ours, theirs in zip((a, force), peer.dynamics(*sample), strict=True):
        close(ours, theirs, 1e-11)


def test_laws_of_mechanics_hold_with_contacts_between_links():
    tree = random_tree(2, 4, base="floating", kinds=("revolute", "spherical"))
    links = [link.name for link in tree.links]
    con = ap.Dynamics(tree).contacts(hold=ap.Touch(links[-1], on=links[-2]), stand=ap.Sole("base"))
    errors = violations(con, *random_states(con, np.random.default_rng(3), 200))
    assert all(np.all(error <= LAWS[law]) for law, error in errors.items()), errors


def reference(peer: ContactPeer, q, v, tau, footholds, active, gains) -> np.ndarray:
    """Return a and the forces of points in foothold axes: the equations in world axes, with Pinocchio's Jacobians."""
    model, data, axes = peer.model, peer.model.createData(), pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    M, h = pin.crba(model, data, q), pin.nonLinearEffects(model, data, q, v)
    rows, right, turns = [], [], []
    for contact, foot in zip(peer.frames.values(), footholds, strict=True):
        a, b = (model.getFrameId(name) for name in (contact.frame, contact.on or "universe"))
        J_a, J_b = (pin.getFrameJacobian(model, data, k, axes) for k in (a, b))
        base, arm = data.oMf[b], data.oMf[a].translation - data.oMf[b].translation
        J = J_a[:3] - J_b[:3] + pin.skew(arm) @ J_b[3:]  # relative to the point of the other link at the frame
        omega, rate = J_b[3:] @ v, J @ v
        acceleration, carried = (pin.getFrameClassicalAcceleration(model, data, k, axes) for k in (a, b))
        at_frame = carried.linear + np.cross(carried.angular, arm) + np.cross(omega, np.cross(omega, arm))
        drift = acceleration.linear - at_frame - 2.0 * np.cross(omega, rate)
        gap = arm - base.rotation @ foot[:, 3]
        rows.append(J)
        right.append(-drift - gains[1] * rate - gains[0] * gap)
        turns.append((base.rotation @ foot[:, :3]).T)
    J, n = np.vstack(rows), model.nv
    system = np.block([[M, -J.T], [J, np.zeros((len(J), len(J)))]])
    solution = np.linalg.solve(system, np.r_[tau - h, np.concatenate(right)])
    forces = [turn @ force for turn, force in zip(turns, solution[n:].reshape(-1, 3), strict=True)]
    return np.r_[solution[:n], np.concatenate(forces)]


def test_derivatives_agree_with_differences_of_equations_in_world_axes():
    peer = ContactPeer(urdf("go2"), FEET)
    con, n = peer.contacts, peer.model.nv
    q, _, _, footholds, active, gains = sample = one_state(con, 4)
    footholds[:, :, :3] = footholds[:, :, :3] @ pin.rpy.rpyToMatrix(
        0.3, -0.5, 0.7
    )  # other axes than those of the frames
    a, force, flag, *derivatives = interpreted(con.derivatives("q", "v", "tau", "footholds"), *sample)
    assert flag == 0
    close(np.r_[a, force.ravel()], reference(peer, *sample), 1e-11)

    def moved(name: str, k: int, step: float) -> np.ndarray:
        change, state = np.zeros(n), dict(zip(("q", "v", "tau", "footholds"), sample, strict=False))
        change[k] = step
        if name == "footholds":
            feet, c = footholds.copy(), k // 6
            turn = pin.exp6(pin.Motion(change[6 * c : 6 * c + 6]))
            pose = pin.SE3(feet[c, :, :3], feet[c, :, 3]) * turn
            feet[c] = pose.homogeneous[:3]
            state[name] = feet
        else:
            state[name] = pin.integrate(peer.model, q, change) if name == "q" else state[name] + change
        return reference(peer, *state.values(), active, gains)

    for number, name in enumerate(("q", "v", "tau", "footholds")):
        ours = np.vstack([derivatives[2 * number], derivatives[2 * number + 1].reshape(9, -1)])
        first, second = (
            np.array([(moved(name, k, h) - moved(name, k, -h)) / (2 * h) for k in range(n)]).T for h in (2e-4, 1e-4)
        )
        close(ours, (4.0 * second - first) / 3.0, 1e-8)


@pytest.mark.parametrize(("seed", "kind"), [(29, ap.Touch), (1, ap.Sole)])  # mimic, planar, spherical
def test_derivatives_of_trees_with_joints_of_all_kinds_agree_with_those_of_the_tape(seed, kind):
    tree = random_tree(seed, 4).with_free("link1")
    ends = [ap.Frame(f"end{k}", f"link{k}", ap.Pose.from_rpy((0.3, -0.5, 0.7), (0.1, k, -0.3))) for k in (2, 3)]
    con = ap.Dynamics(tree.with_frames(ends)).contacts(hold=kind("end2", on="end3"))
    parameters, wrt = tree.links[1].body.parameters, ("q", "v", "tau", "footholds", "parameters")
    states = one_state(con, seed)
    a, force, flag, *derivatives = interpreted(con.derivatives(*wrt), *states, parameters)
    assert flag == 0
    by_tape = interpreted(con.forward_dynamics.jacobian(*wrt), *states, parameters)
    by_tape = [x for k, x in enumerate(by_tape) if k % 3 < 2]  # without those of the flag
    for ours, theirs in zip(derivatives, by_tape, strict=True):
        close(ours, theirs, 1e-10)
    weights = np.random.default_rng(seed).normal(size=a.shape), np.random.default_rng(5).normal(size=force.shape)
    gradients = interpreted(con.gradient(*wrt), *states, *weights, parameters)[3:]
    for k, ours in enumerate(gradients):
        close(ours, weights[0] @ by_tape[2 * k] + np.tensordot(weights[1], by_tape[2 * k + 1], 2), 1e-10)


def test_inverse_dynamics_and_impulses_with_contacts_between_links():
    con = ap.Dynamics(robot("go2")).contacts(
        paws=ap.Touch("FL_foot", on="FR_foot"), left=ap.Sole("RL_foot"), right=ap.Touch("RR_foot")
    )
    q, v, tau, footholds, _, gains = one_state(con, 6)
    tau[:6], active = 0.0, con.mask("paws", "right")
    a = interpreted(con.forward_dynamics, q, v, tau, footholds, active, gains)[0]
    required, force, flag = interpreted(con.inverse_dynamics, q, v, a, footholds, con.mask("paws", "left"))
    assert flag == 0
    assert not force[0].any()  # forces between links do not move the base
    assert np.abs(required[:6]).max() < 1e-9
    assert interpreted(con.inverse_dynamics, q, v, a, footholds, con.mask("paws"))[2] == 2
    J, restitution = interpreted(con.jacobian, q)[:3], 0.3
    after, impulse, flag = interpreted(con.impulse, q, v, footholds, con.mask("paws"), restitution)
    assert flag == 0
    np.testing.assert_allclose(J @ after, -restitution * J @ v, atol=1e-12)
    dyn = con.dyn
    close(interpreted(dyn.momentum, q, after), interpreted(dyn.momentum, q, v), 1e-12)
    assert np.abs(impulse[0]).max() > 1e-3
    points = [interpreted(con.zero_moment_point, np.ones((3, 6)) * [[x], [1], [1]], footholds, 0.0) for x in (1, 9)]
    np.testing.assert_array_equal(*points)


def test_a_coupler_touches_the_base_of_a_robot_with_loops():
    system = constrained("floating-fourbar")
    con = ap.Dynamics(system).contacts(tip=ap.Touch("coupler", on="base"))
    q, v = system.start, np.random.default_rng(3).normal(size=system.nv)
    J, drift = interpreted(con.jacobian, q), interpreted(con.drift, q, v)
    crank = system.velocity_names.index("crank")
    assert not np.delete(J, crank, axis=1).any()  # only the crank moves the coupler relative to the base
    rest = v * (np.arange(system.nv) == crank)
    np.testing.assert_allclose(drift, interpreted(con.drift, q, rest), atol=1e-12)
    a, _, flag = interpreted(
        con.least_norm_dynamics, q, 0 * v, np.ones(system.nu), interpreted(con.poses, q), [1.0], [0, 0]
    )
    assert flag == 1
    assert abs(a[crank]) < 1e-10


def test_bad_frames_of_other_links_are_named():
    dyn = ap.Dynamics(robot("go2").with_frames([ap.Frame("ground", None), ap.Frame("toe", "FL_calf")]))
    foot = dyn.system.frame("toe")
    with pytest.raises(ap.ModelError, match=r"no frame 'to'"):
        dyn.contacts(paw=ap.Touch("toe", on="to"))
    with pytest.raises(
        ap.ModelError, match=f"frame '{foot.body}' in `on` is fixed to the link '{foot.body}' of frame 'toe'"
    ):
        dyn.contacts(paw=ap.Sole("toe", on=foot.body))
    with pytest.raises(ap.ModelError, match="frame 'ground' in `on` is fixed to the world") as caught:
        dyn.contacts(paw=ap.Touch("toe", on="ground"))
    assert "Omit `on`" in str(caught.value)
    with pytest.raises(ap.ModelError, match="no contact touches the world"):
        _ = dyn.contacts(paw=ap.Touch("toe", on="base")).zero_moment_point
