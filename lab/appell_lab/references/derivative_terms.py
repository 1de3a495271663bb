"""How large the terms are that the derivatives of joint forces are sums of.

τ = Y π is linear in the parameters of the bodies, and so are its derivatives. Every parameter's share without its sign,

    A_ij = Σ_k |∂Y_ik/∂q_j π_k|           B_ij = Σ_k |∂Y_ik/∂v_j π_k|                                            (1)

is what a derivative adds up if it is not zero. Many are zero for reasons of geometry, as the sum of terms that cancel:
a torque does not change if all of the robot is turned, a single joint feels nothing of its own speed. So an entry is
compared with its row, with a turn by 1 rad as much as a slide by the robot's extent ℓ (u_j is 1 or ℓ), and with what
is turned: the force itself when its place is, the inertia times the largest angular velocity Ω when its speed is:

    Q_ij = (max_j' A_ij' u_j' + Σ_k |Y_ik π_k|) / u_j                                                            (2)
    V_ij = max_j' B_ij' u_j' / u_j + √(M_ii M_jj) Ω                                                              (3)

Sizes need one digit, so differences of Pinocchio's regressor are good enough for (1): Y is a polynomial of second
degree in speeds and in slides, and of angles the step is small.
"""

from __future__ import annotations

import numpy as np

from appell_lab.references.peer_tree import PeerTree

STEP = 1e-4
TURNS = {"prismatic": [0], "planar": [0, 0, 1], "spherical": [1] * 3, "floating": [0] * 3 + [1] * 3}


def derivative_terms(peer: PeerTree, q, v, a) -> tuple[np.ndarray, np.ndarray]:
    """Sizes of ∂τ/∂q and of ∂τ/∂v at one state."""
    by_place, by_speed = _parameter_terms(peer, q, v, a)
    sizes, (extent, spin) = np.sqrt(np.diag(peer.mass_matrix(q))), _extent_and_spin(peer, q, v)
    unit = np.where(_turning(peer), 1.0, extent)
    rows_q, rows_v = (np.max(part * unit, axis=1, keepdims=True) for part in (by_place, by_speed))
    forces = peer.torque_terms(q, v, a)[:, None]
    return (rows_q + forces) / unit, rows_v / unit + spin * np.outer(sizes, sizes)  # (2), (3)


def _parameter_terms(peer: PeerTree, q, v, a) -> tuple[np.ndarray, np.ndarray]:
    """A and B of (1), in our coordinates."""
    place, speed, push = peer.q(q), peer.G @ v, peer.G @ a
    n = peer.model.nv
    found = np.zeros((2, n, n))
    for j, step in enumerate(STEP * np.eye(n)):
        moved = [peer.full_regressor(peer.pin.integrate(peer.model, place, s * step), speed, push) for s in (1.0, -1.0)]
        faster = [peer.full_regressor(place, speed + s * step, push) for s in (1.0, -1.0)]
        for part, (ahead, behind) in zip(found, (moved, faster), strict=True):
            part[:, j] = np.abs(ahead - behind) @ np.abs(peer.parameters) / (2.0 * STEP)
    by_place, by_speed = np.abs(peer.G).T @ found @ np.abs(peer.G)
    return by_place, by_speed


def _turning(peer: PeerTree) -> np.ndarray:
    """Which of our coordinates turn something."""
    turns = np.concatenate([TURNS.get(peer.links[k]["kind"], [1]) for k in peer.order])
    return (np.abs(peer.G).T @ turns) > 0.0


def _extent_and_spin(peer: PeerTree, q, v) -> tuple[float, float]:
    """The longest way from a joint to a centre of mass, and the largest angular velocity."""
    peer.pin.forwardKinematics(peer.model, peer.data, peer.q(q), peer.G @ v)
    bodies = range(1, peer.model.njoints)
    joints = np.array([peer.data.oMi[k].translation for k in bodies])
    centres = np.array([peer.data.oMi[k].act(peer.model.inertias[k].lever) for k in bodies])
    extent = float(np.linalg.norm(joints[:, None] - centres, axis=-1).max())
    return extent or 1.0, max(float(np.linalg.norm(peer.data.v[k].angular)) for k in bodies)
