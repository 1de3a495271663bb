"""Joint forces of a tree and their derivatives in extended precision, by Newton-Euler equations in world axes.

The tree is given as plain numbers (see `peer_tree`). Every joint moves with a twist S v that is constant in the axes of
its link: s = R S_l v is the velocity of the link's origin relative to its parent, w = R S_w v its angular velocity.
With d the vector from the parent's origin to the link's, and ω, α, a of the parent,

    ω_k = ω + w           α_k = α + R S_w v̇ + ω × w                                                              (1)
    a_k = a + α × d + ω × (ω × d + 2 s) + w × s + R S_l v̇                                                       (2)
    F = m (a_k + α_k × c + ω_k × (ω_k × c))           N = I α_k + ω_k × I ω_k                                    (3)

c is the vector from the link's origin to its centre of mass, and weight is an acceleration of the world. τ is Sᵀ
applied to the sums of F and of N + lever × F over all bodies that a joint carries.

Derivatives are computed by complex steps: a configuration is displaced by the twist i ε S e, v or v̇ by i ε e, and the
imaginary part of τ is divided by ε. There is no cancellation, so derivatives are as accurate as forces: 64 bits where
`np.longdouble` has 80 bits (x86), 53 bits where it is a double. All samples and directions are in one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from appell.model.robot import Robot
from appell_lab.references.peer_tree import ONE_AXIS, Numbers, central_inertia

LONG_DOUBLE, LONG_COMPLEX = np.longdouble, np.clongdouble
STEP = LONG_DOUBLE(2.0) ** -300  # its square is negligible beside any number, and does not underflow
_XY, _Z = np.array([1, 1, 0], LONG_DOUBLE), np.array([0, 0, 1], LONG_DOUBLE)


class LinkState(NamedTuple):
    """A link in world axes: rotation, origin, angular velocity, angular acceleration, acceleration of the origin."""

    R: np.ndarray
    p: np.ndarray
    w: np.ndarray
    al: np.ndarray
    a: np.ndarray


class LongTree:
    """A tree given as plain numbers, in the layout of q and v of the robot of appell."""

    def __init__(self, links: Sequence[Numbers], gravity: Sequence[float], robot: Robot):
        self.links, self.gravity = links, np.array(gravity, LONG_DOUBLE)
        self.nv, self.spans = robot.nv, [robot.span(link.joint) for link in robot.links]
        self.twists = [_twists(link) for link in links]

    def inverse_dynamics(self, q, v, a) -> np.ndarray:
        """Return the joint forces, one row per sample."""
        return self._forces(q, v, a, np.zeros((1, 3 * self.nv), LONG_DOUBLE))[0].real

    def inverse_derivatives(self, q, v, a) -> list[np.ndarray]:
        """Return ∂τ/∂q along the twists of the joints, ∂τ/∂v and ∂τ/∂a = M, each (samples, forces, directions)."""
        steps = STEP * np.eye(3 * self.nv, dtype=LONG_DOUBLE)
        derivatives = np.moveaxis(self._forces(q, v, a, steps).imag / STEP, 0, -1)
        return np.split(derivatives, 3, axis=-1)

    def forward_dynamics(self, q, v, tau) -> np.ndarray:
        """Return the accelerations caused by the forces."""
        zeros = np.zeros(np.shape(v), LONG_DOUBLE)
        M = self.inverse_derivatives(q, v, zeros)[2]
        return _solve(M, np.asarray(tau, LONG_DOUBLE) - self.inverse_dynamics(q, v, zeros))

    def _forces(self, q, v, a, steps) -> np.ndarray:
        """Return τ by direction and sample; a row of `steps`, times i, is added to (q, v, a)."""
        q_steps, v_steps, a_steps = np.split(steps, 3, axis=-1)
        v = np.asarray(v, LONG_DOUBLE) + 1j * v_steps[:, None, :]
        a = np.asarray(a, LONG_DOUBLE) + 1j * a_steps[:, None, :]
        shape = (*v.shape[:2], 3)
        zero, one = np.zeros(shape, LONG_COMPLEX), np.broadcast_to(np.eye(3, dtype=LONG_COMPLEX), (*shape, 3))
        world = LinkState(one, zero, zero, zero, zero - self.gravity)
        states: list[LinkState] = []
        for k, link in enumerate(self.links):
            base = world if link["parent"] < 0 else states[link["parent"]]
            (coordinates, velocities), (rate, offset) = self.spans[k], _mimic(link)
            position = rate * np.asarray(q, LONG_DOUBLE)[:, coordinates] + offset
            step, speed, acceleration = (rate * x[..., velocities] for x in (1j * q_steps[:, None, :], v, a))
            states.append(self._state(k, base, position, step, speed, acceleration))
        return self._joint_forces(states, a)

    def _state(self, k: int, base: LinkState, q, step, v, a) -> LinkState:
        """Return the state of a link from that of its parent."""
        link, (Sl, Sw) = self.links[k], self.twists[k]
        placement, rotation = _quaternion(np.array(link["turn"], LONG_DOUBLE)), _joint_rotation(link, q)
        displacement = _joint_displacement(link, q) + _times(rotation, step @ Sl)
        d = _times(base.R, np.array(link["xyz"], LONG_DOUBLE) + _times(placement, displacement))
        R = base.R @ placement @ (rotation + rotation @ _skew(step @ Sw))
        s, w = _times(R, v @ Sl), _times(R, v @ Sw)
        al = base.al + _times(R, a @ Sw) + np.cross(base.w, w)  # (1)
        a_k = base.a + np.cross(base.al, d) + np.cross(base.w, np.cross(base.w, d) + 2 * s) + np.cross(w, s)
        return LinkState(R, base.p + d, base.w + w, al, a_k + _times(R, a @ Sl))  # (2)

    def _joint_forces(self, states: Sequence[LinkState], a) -> np.ndarray:
        """Return the joint forces for the given states of all links."""
        tau = np.zeros(a.shape, LONG_COMPLEX)
        for k, (link, body) in enumerate(zip(self.links, states, strict=True)):
            c = _times(body.R, np.array(link["com"], LONG_DOUBLE))
            inertia = body.R @ central_inertia(link).astype(LONG_DOUBLE) @ np.swapaxes(body.R, -1, -2)
            F = link["mass"] * (body.a + np.cross(body.al, c) + np.cross(body.w, np.cross(body.w, c)))  # (3)
            N = _times(inertia, body.al) + np.cross(body.w, _times(inertia, body.w))
            velocities, rate = self.spans[k][1], _mimic(link)[0]
            tau[..., velocities] += rate**2 * link["rotor"] * a[..., velocities]
            carrier = k
            while carrier >= 0:
                (Sl, Sw), joint = self.twists[carrier], states[carrier]
                moment = N + np.cross(body.p + c - joint.p, F)
                transposed = np.swapaxes(joint.R, -1, -2)
                force = _times(transposed, F) @ Sl.T + _times(transposed, moment) @ Sw.T
                tau[..., self.spans[carrier][1]] += _mimic(self.links[carrier])[0] * force
                carrier = self.links[carrier]["parent"]
        return tau


def _solve(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return M⁻¹ b for positive definite matrices, by elimination in extended precision."""
    M, b, n = M.copy(), b.copy(), b.shape[-1]
    for k in range(n):
        factor = M[:, k + 1 :, k] / M[:, k, k, None]
        b[:, k + 1 :] -= factor * b[:, k, None]
        M[:, k + 1 :] -= factor[..., None] * M[:, k, None, :]
    for k in reversed(range(n)):
        b[:, k] = (b[:, k] - (M[:, k, k + 1 :] * b[:, k + 1 :]).sum(axis=-1)) / M[:, k, k]
    return b


def _mimic(link: Numbers) -> tuple[float, float]:
    """Return the multiplier and offset of a mimic joint; (1, 0) for other joints."""
    return (1.0, 0.0) if link["leader"] is None else (link["multiplier"], link["offset"])


def _axis(link: Numbers) -> np.ndarray:
    axis = np.array(link["axis"], LONG_DOUBLE)
    return axis / np.sqrt((axis**2).sum())


def _twists(link: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """Return S_l and S_w transposed, by which a row of joint velocities is multiplied."""
    one, zero = np.eye(3, dtype=LONG_DOUBLE), np.zeros((3, 3), LONG_DOUBLE)
    if link["kind"] in ONE_AXIS:
        axis = _axis(link)[None]
        return (axis, 0 * axis) if link["kind"] == "prismatic" else (0 * axis, axis)
    if link["kind"] == "planar":
        return np.diag(_XY), np.diag(_Z)
    return (zero, one) if link["kind"] == "spherical" else (np.vstack([one, zero]), np.vstack([zero, one]))


def _joint_displacement(link: Numbers, q: np.ndarray) -> np.ndarray:
    """Return the displacement of a link by its joint."""
    if link["kind"] == "prismatic":
        return q * _axis(link)
    if link["kind"] == "planar":
        return q * _XY
    return q[:, :3] if link["kind"] == "floating" else np.zeros((len(q), 3), LONG_DOUBLE)


def _joint_rotation(link: Numbers, q: np.ndarray) -> np.ndarray:
    """Return the rotation of a link by its joint."""
    if link["kind"] in ("spherical", "floating"):
        return _quaternion(q[:, -4:])
    axis = _axis(link) if link["kind"] in ONE_AXIS else _Z
    angle = (0.0 if link["kind"] == "prismatic" else 0.5) * q[:, -1:]
    return _quaternion(np.concatenate([np.sin(angle) * axis, np.cos(angle)], axis=-1))


def _quaternion(turn: np.ndarray) -> np.ndarray:
    """Return the matrices of quaternions x, y, z, w of any length: (w² - u²) 1 + 2 u uᵀ + 2 w [u]."""
    turn = turn / np.sqrt((turn**2).sum(axis=-1, keepdims=True))
    u, w = turn[..., :3], turn[..., 3, None, None]
    square = (u**2).sum(axis=-1)[..., None, None]
    return (w**2 - square) * np.eye(3, dtype=LONG_DOUBLE) + 2 * u[..., :, None] * u[..., None, :] + 2 * w * _skew(u)


def _skew(u: np.ndarray) -> np.ndarray:
    return np.cross(np.eye(3, dtype=LONG_DOUBLE), u[..., None, :])  # column i of [u] is u × e_i, its row e_i × u


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]
