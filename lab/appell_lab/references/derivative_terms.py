"""Magnitudes of the terms that the derivatives of joint forces are sums of.

τ = Y π is linear in the parameters of the bodies, and so are its derivatives. The share of each parameter without sign,

    A_ij = Σ_k |∂Y_ik/∂q_j π_k|           B_ij = Σ_k |∂Y_ik/∂v_j π_k|                                            (1)

is the magnitude of the terms of a derivative. Many derivatives are zero for geometric reasons, as sums of terms that
cancel: a torque does not change if the entire robot is rotated, and a single joint does not depend on its own speed. So
an entry is compared with the largest of its row, where a rotation by 1 rad counts as much as a displacement by the
extent ℓ of the robot (u_j is 1 or ℓ), and with the terms that are rotated: the force itself for derivatives with
respect to q, the inertia times the largest angular velocity Ω for those with respect to v:

    Q_ij = (max_j' A_ij' u_j' + Σ_k |Y_ik π_k|) / u_j                                                            (2)
    V_ij = max_j' B_ij' u_j' / u_j + √(M_ii M_jj) Ω                                                              (3)

One digit is enough, so (1) is computed by differences of Pinocchio's regressor: Y is a polynomial of second degree in
velocities and displacements, and the step is small for angles.
"""

from __future__ import annotations

import numpy as np

from appell_lab.references.peer_tree import PeerTree

STEP = 1e-4  # of the difference quotients, rad or m, and per s
ROTATIONAL = {"prismatic": [0], "planar": [0, 0, 1], "spherical": [1] * 3, "floating": [0] * 3 + [1] * 3}  # others: 1


def derivative_terms(peer: PeerTree, q, v, a) -> tuple[np.ndarray, np.ndarray]:
    """Return the magnitudes of ∂τ/∂q and ∂τ/∂v at one state."""
    by_q, by_v = _parameter_terms(peer, q, v, a)
    sizes, (extent, spin) = np.sqrt(np.diag(peer.mass_matrix(q))), _extent_and_spin(peer, q, v)
    unit = np.where(_is_rotational(peer), 1.0, extent)
    rows_q, rows_v = (np.max(part * unit, axis=1, keepdims=True) for part in (by_q, by_v))
    forces = peer.torque_terms(q, v, a)[:, None]
    return (rows_q + forces) / unit, rows_v / unit + spin * np.outer(sizes, sizes)  # (2), (3)


def _parameter_terms(peer: PeerTree, q, v, a) -> tuple[np.ndarray, np.ndarray]:
    """Return A and B of (1), in the coordinates of appell."""
    full_q, full_v, full_a = peer.q(q), peer.G @ v, peer.G @ a
    n = peer.model.nv
    terms = np.zeros((2, n, n))
    for j, step in enumerate(STEP * np.eye(n)):
        shifted = [peer.pin.integrate(peer.model, full_q, s * step) for s in (1.0, -1.0)]
        moved = [peer.full_regressor(x, full_v, full_a) for x in shifted]
        faster = [peer.full_regressor(full_q, full_v + s * step, full_a) for s in (1.0, -1.0)]
        for part, (ahead, behind) in zip(terms, (moved, faster), strict=True):
            part[:, j] = np.abs(ahead - behind) @ np.abs(peer.parameters) / (2.0 * STEP)
    by_q, by_v = np.abs(peer.G).T @ terms @ np.abs(peer.G)
    return by_q, by_v


def _is_rotational(peer: PeerTree) -> np.ndarray:
    """Return which coordinates of appell are rotations."""
    rotational = np.concatenate([ROTATIONAL.get(peer.links[k]["kind"], [1]) for k in peer.order])
    return (np.abs(peer.G).T @ rotational) > 0.0


def _extent_and_spin(peer: PeerTree, q, v) -> tuple[float, float]:
    """Return the largest distance from a joint to a centre of mass, and the largest angular velocity."""
    peer.pin.forwardKinematics(peer.model, peer.data, peer.q(q), peer.G @ v)
    bodies = range(1, peer.model.njoints)
    joints = np.array([peer.data.oMi[k].translation for k in bodies])
    centres = np.array([peer.data.oMi[k].act(peer.model.inertias[k].lever) for k in bodies])
    extent = float(np.linalg.norm(joints[:, None] - centres, axis=-1).max())
    return extent or 1.0, max(float(np.linalg.norm(peer.data.v[k].angular)) for k in bodies)
