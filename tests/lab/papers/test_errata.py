"""Misprints of Mata 2002, with the printed and the corrected equation evaluated."""

from __future__ import annotations

import numpy as np

import appell as ap

PUMA = ap.Dynamics(ap.load("puma"))
LINKS = [link.name for link in PUMA.system.moving]
Z = np.array([0.0, 0.0, 1.0])  # axis of every joint, in the axes of its link
Q = np.array([0.3, -0.7, 0.5, 1.1, -0.4, 0.8])


def rotations(dyn, names, q) -> list[np.ndarray]:
    """Rotations of links into the axes of the world."""
    return [dyn.pose(name)(q)[:3, :3] for name in names]


def test_mata_7b_ends_in_the_rotation_from_link_j_to_its_child():
    R, i, j = rotations(PUMA, LINKS, Q), 4, 2
    partial = PUMA.jacobian(LINKS[i], "LOCAL")(Q)[3:, j]  # of the angular acceleration of link i, in its axes
    steps = [R[k + 1].T @ R[k] for k in range(len(R) - 1)]  # from link k to its child
    np.testing.assert_allclose(steps[3] @ steps[2] @ Z, partial, atol=1e-14)
    printed = steps[3] @ (R[j - 1].T @ R[j]) @ Z
    assert np.abs(printed - partial).max() > 0.1


def test_mata_7e_has_the_axis_of_the_prismatic_joint():
    arm = ap.Builder("arm")
    common = {"xyz": (0.2, 0.1, 0.3), "rpy": (0.6, -0.4, 0.2), "mass": 1.0, "inertia": (0.01, 0.02, 0.02)}
    arm.link("first", ap.Revolute(), **common)
    arm.link("slide", ap.Prismatic(), parent="first", **common)
    arm.link("last", ap.Revolute(), parent="slide", **common)
    dyn, q = ap.Dynamics(arm.build()), np.array([0.4, 0.1, -0.9])
    slide, last = rotations(dyn, ("slide", "last"), q)
    partial = dyn.jacobian("last", "LOCAL")(q)[:, 1]
    np.testing.assert_allclose(partial[:3], last.T @ slide @ Z, atol=1e-14)
    assert np.abs(partial[:3] - Z).max() > 0.1  # printed: the axis of link i itself
    assert not partial[3:].any()


def test_mata_9_subtracts_gravity_and_the_bias_contains_it_with_a_positive_sign():
    """Eqs. (9), (17), (18) and step 1 of §4.1, at rest: τ = ∂G/∂q̈ = G, from the forces m (r̈ - g) of all links."""
    R, gravity = rotations(PUMA, LINKS, Q), np.array([0.0, 0.0, -9.81])
    np.testing.assert_allclose(list(PUMA.system.gravity), gravity)
    origins = [PUMA.pose(name)(Q)[:3, 3] for name in LINKS]
    centres = [o + r @ list(link.body.com) for o, r, link in zip(origins, R, PUMA.system.moving, strict=True)]
    masses = [link.body.mass for link in PUMA.system.moving]

    def torques(sign: float) -> np.ndarray:
        force = [sign * m * gravity for m in masses]
        moments = [
            sum(np.cross(c - origins[j], f) for c, f in zip(centres[j:], force[j:], strict=True)) for j in range(6)
        ]
        return np.array([R[j][:, 2] @ moments[j] for j in range(6)])

    rest = np.zeros(6)
    tau = PUMA.inverse_dynamics(Q, rest, rest)
    np.testing.assert_allclose(torques(-1.0), tau, atol=1e-12)
    np.testing.assert_allclose(PUMA.bias(Q, rest), tau, atol=1e-12)
    assert np.abs(torques(1.0) - tau).max() > 10.0  # N m, for m (r̈ + g)
