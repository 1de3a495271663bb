"""Joint forces of a tree and their derivatives in long numbers, by Newton and Euler in the axes of the world.

The tree is one of plain numbers, as `peer_tree` has it. Every joint moves by a twist S v that is constant in the axes
of the link it carries: s = R S_l v is the velocity of the link's origin relative to its parent, w = R S_w v its angular
velocity. With d the way from the parent's origin to the link's, and ω, α, a of the parent,

    ω_k = ω + w           α_k = α + R S_w v̇ + ω × w                                                              (1)
    a_k = a + α × d + ω × (ω × d + 2 s) + w × s + R S_l v̇                                                       (2)
    F = m (a_k + α_k × c + ω_k × (ω_k × c))           N = I α_k + ω_k × I ω_k                                    (3)

c leads from the link's origin to its centre of mass, and the weight is an acceleration of the world. τ is Sᵀ of the
sums of F and of N + lever × F over all that a joint carries.

Derivatives are complex steps: a place is moved by the twist i ε S e, v or v̇ by i ε e, and the imaginary part of τ is
divided by ε. Nothing is subtracted, so that derivatives are as exact as forces: to 64 bits where a long number has 80
(x86), to 53 where the system has no longer ones. All samples and all directions are one array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from appell.model.robot import Robot
from appell_lab.references.peer_tree import ONE_AXIS, Numbers, central_inertia

LONG, COMPLEX = np.longdouble, np.clongdouble
STEP = LONG(2.0) ** -300  # its square is lost beside any number, and is no underflow
_FLAT, _UP = np.array([1, 1, 0], LONG), np.array([0, 0, 1], LONG)


class Moving(NamedTuple):
    """A link in the axes of the world: rotation, origin, angular velocity and acceleration, acceleration."""

    R: np.ndarray
    p: np.ndarray
    w: np.ndarray
    al: np.ndarray
    a: np.ndarray


class LongTree:
    """A tree of plain numbers, in the layout of q and v that our robot of it has."""

    def __init__(self, links: Sequence[Numbers], gravity: Sequence[float], robot: Robot):
        self.links, self.gravity = links, np.array(gravity, LONG)
        self.nv, self.spans = robot.nv, [robot.span(own.joint) for own in robot.links]
        self.twists = [_twists(link) for link in links]

    def inverse_dynamics(self, q, v, a) -> np.ndarray:
        """Joint forces of samples in rows."""
        return self._forces(q, v, a, np.zeros((1, 3 * self.nv), LONG))[0].real

    def inverse_derivatives(self, q, v, a) -> list[np.ndarray]:
        """∂τ/∂q, along the joints' twists, ∂τ/∂v and ∂τ/∂a = M: by sample, force and direction."""
        steps = STEP * np.eye(3 * self.nv, dtype=LONG)
        found = np.moveaxis(self._forces(q, v, a, steps).imag / STEP, 0, -1)
        return np.split(found, 3, axis=-1)

    def forward_dynamics(self, q, v, tau) -> np.ndarray:
        """The accelerations that need these forces."""
        rest = np.zeros(np.shape(v), LONG)
        M = self.inverse_derivatives(q, v, rest)[2]
        return _solve(M, np.asarray(tau, LONG) - self.inverse_dynamics(q, v, rest))

    def _forces(self, q, v, a, steps) -> np.ndarray:
        """τ by direction and sample; a direction moves places, speeds and accelerations by i times a row."""
        places, speeds, pushes = np.split(steps, 3, axis=-1)
        v = np.asarray(v, LONG) + 1j * speeds[:, None, :]
        a = np.asarray(a, LONG) + 1j * pushes[:, None, :]
        shape = (*v.shape[:2], 3)
        zero, one = np.zeros(shape, COMPLEX), np.broadcast_to(np.eye(3, dtype=COMPLEX), (*shape, 3))
        world = Moving(one, zero, zero, zero, zero - self.gravity)
        moving: list[Moving] = []
        for k, link in enumerate(self.links):
            base = world if link["parent"] < 0 else moving[link["parent"]]
            (coordinates, freedom), (rate, offset) = self.spans[k], _following(link)
            own = rate * np.asarray(q, LONG)[:, coordinates] + offset
            along, speed, push = (rate * x[..., freedom] for x in (1j * places[:, None, :], v, a))
            moving.append(self._moved(k, base, own, along, speed, push))
        return self._carried(moving, a)

    def _moved(self, k: int, base: Moving, q, along, v, a) -> Moving:
        """A link, from the one that carries it."""
        link, (Sl, Sw) = self.links[k], self.twists[k]
        turn, joint_turn = _quaternion(np.array(link["turn"], LONG)), _turned(link, q)
        way = _slid(link, q) + _times(joint_turn, along @ Sl)
        d = _times(base.R, np.array(link["xyz"], LONG) + _times(turn, way))
        R = base.R @ turn @ (joint_turn + joint_turn @ _skew(along @ Sw))
        s, w = _times(R, v @ Sl), _times(R, v @ Sw)
        al = base.al + _times(R, a @ Sw) + np.cross(base.w, w)  # (1)
        a_k = base.a + np.cross(base.al, d) + np.cross(base.w, np.cross(base.w, d) + 2 * s) + np.cross(w, s)
        return Moving(R, base.p + d, base.w + w, al, a_k + _times(R, a @ Sl))  # (2)

    def _carried(self, moving: Sequence[Moving], a) -> np.ndarray:
        """What the joints have to give for bodies that move so."""
        tau = np.zeros(a.shape, COMPLEX)
        for k, (link, body) in enumerate(zip(self.links, moving, strict=True)):
            c = _times(body.R, np.array(link["com"], LONG))
            spin = body.R @ central_inertia(link).astype(LONG) @ np.swapaxes(body.R, -1, -2)
            F = link["mass"] * (body.a + np.cross(body.al, c) + np.cross(body.w, np.cross(body.w, c)))  # (3)
            N = _times(spin, body.al) + np.cross(body.w, _times(spin, body.w))
            freedom, rate = self.spans[k][1], _following(link)[0]
            tau[..., freedom] += rate**2 * link["rotor"] * a[..., freedom]
            carrier = k
            while carrier >= 0:
                (Sl, Sw), joint = self.twists[carrier], moving[carrier]
                moment = N + np.cross(body.p + c - joint.p, F)
                back = np.swapaxes(joint.R, -1, -2)
                given = _times(back, F) @ Sl.T + _times(back, moment) @ Sw.T
                tau[..., self.spans[carrier][1]] += _following(self.links[carrier])[0] * given
                carrier = self.links[carrier]["parent"]
        return tau


def _solve(M: np.ndarray, b: np.ndarray) -> np.ndarray:
    """M⁻¹ b of positive definite matrices, by elimination in long numbers."""
    M, b, n = M.copy(), b.copy(), b.shape[-1]
    for k in range(n):
        part = M[:, k + 1 :, k] / M[:, k, k, None]
        b[:, k + 1 :] -= part * b[:, k, None]
        M[:, k + 1 :] -= part[..., None] * M[:, k, None, :]
    for k in reversed(range(n)):
        b[:, k] = (b[:, k] - (M[:, k, k + 1 :] * b[:, k + 1 :]).sum(axis=-1)) / M[:, k, k]
    return b


def _following(link: Numbers) -> tuple[float, float]:
    """How a joint follows its coordinate: multiplier and offset."""
    return (1.0, 0.0) if link["leader"] is None else (link["multiplier"], link["offset"])


def _axis(link: Numbers) -> np.ndarray:
    axis = np.array(link["axis"], LONG)
    return axis / np.sqrt((axis**2).sum())


def _twists(link: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """S_l and S_w transposed: what a row of joint speeds is multiplied by."""
    one, none = np.eye(3, dtype=LONG), np.zeros((3, 3), LONG)
    if link["kind"] in ONE_AXIS:
        slides, axis = link["kind"] == "prismatic", _axis(link)[None]
        return (axis, 0 * axis) if slides else (0 * axis, axis)
    if link["kind"] == "planar":
        return np.diag(_FLAT), np.diag(_UP)
    return (none, one) if link["kind"] == "spherical" else (np.vstack([one, none]), np.vstack([none, one]))


def _slid(link: Numbers, q: np.ndarray) -> np.ndarray:
    """How far a joint has moved its link."""
    if link["kind"] == "prismatic":
        return q * _axis(link)
    if link["kind"] == "planar":
        return q * _FLAT
    return q[:, :3] if link["kind"] == "floating" else np.zeros((len(q), 3), LONG)


def _turned(link: Numbers, q: np.ndarray) -> np.ndarray:
    """How far a joint has turned its link."""
    if link["kind"] in ("spherical", "floating"):
        return _quaternion(q[:, -4:])
    axis = _axis(link) if link["kind"] in ONE_AXIS else _UP
    angle = (0.0 if link["kind"] == "prismatic" else 0.5) * q[:, -1:]
    return _quaternion(np.concatenate([np.sin(angle) * axis, np.cos(angle)], axis=-1))


def _quaternion(turn: np.ndarray) -> np.ndarray:
    """Matrices of quaternions x, y, z, w of any length: (w² - u²) 1 + 2 u uᵀ + 2 w [u]."""
    turn = turn / np.sqrt((turn**2).sum(axis=-1, keepdims=True))
    u, w = turn[..., :3], turn[..., 3, None, None]
    square = (u**2).sum(axis=-1)[..., None, None]
    return (w**2 - square) * np.eye(3, dtype=LONG) + 2 * u[..., :, None] * u[..., None, :] + 2 * w * _skew(u)


def _skew(u: np.ndarray) -> np.ndarray:
    return np.cross(np.eye(3, dtype=LONG), u[..., None, :])  # column i of [u] is u × e_i, its row e_i × u


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]
