"""Constraints on a tree over Pinocchio's kinematics: rows in world axes, and the constrained motion.

Frames a and b have origins x, axes R = [1 2 3], velocities u, ω and accelerations s̈, ω̇ at a = 0; d = x_a - x_b and dots
are time derivatives. Two rows make most closures,

    square(p, s)   φ = p·s    φ̇ = (ω_a - ω_b)·(p × s)        γ = p̈·s + 2 ṗ·ṡ + p·s̈                               (1)
    along(s)       φ = d·s    φ̇ = ḋ·s + d·ṡ                  γ = d̈·s + 2 ḋ·ṡ + d·s̈                               (2)

with p fixed in a and s in b. A wheel of radius r about k touches the plane with normal n at ρ from its centre,

    ρ = -r e,  e = (n - βk)/√(1-β²),  β = n·k        V = u + ω × ρ        V̇ = s̈ + ω̇ × ρ + ω × ρ̇                  (3)

and ρ̇ is the rate of the point of contact, not of a material point of the wheel. The motion is the stationary point

    M a + h = τ + Kᵀλ        K a = -γ                                                                              (4)

solved by least squares, so rows may be redundant. This shares no code with `formulate`: kinematics are Pinocchio's,
axes are those of the world. A closure is plain data, as in tests/references/constraints.json:

    {"type": "hinge", "a": {"link": "bar5", "xyz": [0, 1, 0], "rpy": [0, 0, 0]}, "b": {"link": None}}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from appell.model.robot import Robot
from appell_lab.references.peer_tree import pinocchio

RANK_TOLERANCE = 1e-10  # singular values below this part of the largest belong to redundant rows
Closure = dict[str, Any]


class ReferenceTree(Protocol):
    """A tree in Pinocchio with its results in the layout of appell."""

    model: Any
    data: Any
    robot: Robot
    G: np.ndarray

    def q(self, q) -> np.ndarray: ...
    def mass_matrix(self, q) -> np.ndarray: ...
    def inverse_dynamics(self, q, v, a) -> np.ndarray: ...


@dataclass(frozen=True)
class WorldFrame:
    """A moving frame: pose, velocities, accelerations at a = 0, and Jacobians, in world axes."""

    x: np.ndarray
    R: np.ndarray
    u: np.ndarray
    omega: np.ndarray
    acc: np.ndarray
    alpha: np.ndarray
    J: np.ndarray
    W: np.ndarray

    def fixed(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return axis k of the frame with its first and second rate."""
        s = self.R[:, k]
        rate = np.cross(self.omega, s)
        return s, rate, np.cross(self.alpha, s) + np.cross(self.omega, rate)


@dataclass(frozen=True)
class WorldRows:
    """φ (NaN for velocity constraints), K, b and γ of some rows."""

    gap: np.ndarray
    K: np.ndarray
    offset: np.ndarray
    drift: np.ndarray

    @staticmethod
    def of(gap, K, drift, offset=None) -> WorldRows:
        """Return rows from scalars or arrays."""
        gap, K, drift = (np.atleast_1d(np.asarray(part, float)) for part in (gap, K, drift))
        return WorldRows(gap, np.reshape(K, (len(gap), -1)), np.zeros(len(gap)) if offset is None else offset, drift)

    @staticmethod
    def all(parts: Sequence[WorldRows]) -> WorldRows:
        """Concatenate rows."""
        return WorldRows(
            *(np.concatenate([getattr(p, name) for p in parts]) for name in ("gap", "K", "offset", "drift"))
        )


@dataclass(frozen=True)
class ConstrainedMotion:
    """A solution of (4): accelerations, constraint forces Kᵀλ along the velocities, and one of the possible λ."""

    a: np.ndarray
    constraint_forces: np.ndarray
    multipliers: np.ndarray


class ConstrainedTree:
    """A tree in Pinocchio and closures on it."""

    def __init__(self, peer: ReferenceTree, closures: Sequence[Closure]):
        self.pin, self.peer, self.closures = pinocchio(), peer, list(closures)

    def rows(self, q, v) -> WorldRows:
        """Return all rows at a state."""
        pin, peer = self.pin, self.peer
        full_q, full_v = peer.q(q), peer.G @ v
        pin.forwardKinematics(peer.model, peer.data, full_q, full_v, 0.0 * full_v)
        pin.computeJointJacobians(peer.model, peer.data, full_q)
        return WorldRows.all([self._rows(closure, np.asarray(q, float)) for closure in self.closures])

    def move(self, q, v, tau) -> ConstrainedMotion:
        """Return the motion caused by forces along the velocities, by (4)."""
        rows, M = self.rows(q, v), self.peer.mass_matrix(q)
        net = tau - self.peer.inverse_dynamics(q, v, 0.0 * np.asarray(v, float))
        solved = np.linalg.solve(M, np.column_stack([net, rows.K.T]))
        free, mobility = solved[:, 0], solved[:, 1:]
        multipliers = np.linalg.lstsq(rows.K @ mobility, -rows.drift - rows.K @ free, rcond=RANK_TOLERANCE)[0]
        return ConstrainedMotion(free + mobility @ multipliers, rows.K.T @ multipliers, multipliers)

    def _rows(self, closure: Closure, q: np.ndarray) -> WorldRows:
        if closure["type"] == "gear":
            return self._gear(closure, q)
        a = self._frame(closure["a"])
        b = self._frame(closure.get("b", {"link": None}))
        return KINDS[closure["type"]](a, b, closure)

    def _frame(self, side: dict[str, Any]) -> WorldFrame:
        pin, peer = self.pin, self.peer
        at = pin.SE3(
            pin.rpy.rpyToMatrix(*map(float, side.get("rpy", (0, 0, 0)))), np.array(side.get("xyz", (0, 0, 0)), float)
        )
        if side["link"] is None:
            zero, zero_rows = np.zeros(3), np.zeros((3, peer.robot.nv))
            return WorldFrame(at.translation, at.rotation, zero, zero, zero, zero, zero_rows, zero_rows)
        joint = peer.model.getJointId(next(x.joint.name for x in peer.robot.links if x.name == side["link"]))
        pose, axes = peer.data.oMi[joint] * at, pin.LOCAL_WORLD_ALIGNED
        velocity = pin.getFrameVelocity(peer.model, peer.data, joint, at, axes)
        acceleration = pin.getFrameClassicalAcceleration(peer.model, peer.data, joint, at, axes)
        J = np.reshape(pin.getFrameJacobian(peer.model, peer.data, joint, at, axes), (6, -1)) @ peer.G
        return WorldFrame(
            pose.translation,
            pose.rotation,
            velocity.linear,
            velocity.angular,
            acceleration.linear,
            acceleration.angular,
            J[:3],
            J[3:],
        )

    def _gear(self, closure: Closure, q: np.ndarray) -> WorldRows:
        robot, gap, K = self.peer.robot, -closure["offset"], np.zeros(self.peer.robot.nv)
        for name, ratio in closure["ratio"].items():
            joint = robot.joint(name)
            gap += ratio * robot.joint_position(joint, q.tolist())[0]
            K[robot.span(joint)[1]] += ratio * joint.scale
        return WorldRows.of(gap, K, 0.0)


def _point(a: WorldFrame, b: WorldFrame, _: Closure) -> WorldRows:
    return WorldRows.of(a.x - b.x, a.J - b.J, a.acc - b.acc)


def _orientation(a: WorldFrame, b: WorldFrame, _: Closure) -> WorldRows:
    relative = a.R @ b.R.T
    twist = (relative - relative.T) / 2
    return WorldRows.of([twist[2, 1], twist[0, 2], twist[1, 0]], a.W - b.W, a.alpha - b.alpha)


def _square(a: WorldFrame, b: WorldFrame, i: int, k: int) -> WorldRows:
    (p, p1, p2), (s, s1, s2) = a.fixed(i), b.fixed(k)
    return WorldRows.of(p @ s, np.cross(p, s) @ (a.W - b.W), p2 @ s + 2 * p1 @ s1 + p @ s2)  # (1)


def _along(a: WorldFrame, b: WorldFrame, k: int) -> WorldRows:
    d, d1, d2 = a.x - b.x, a.u - b.u, a.acc - b.acc
    s, s1, s2 = b.fixed(k)
    return WorldRows.of(d @ s, s @ (a.J - b.J) + np.cross(s, d) @ b.W, d2 @ s + 2 * d1 @ s1 + d @ s2)  # (2)


def _distance(a: WorldFrame, b: WorldFrame, closure: Closure) -> WorldRows:
    d, d1, d2 = a.x - b.x, a.u - b.u, a.acc - b.acc
    D = np.linalg.norm(d)
    e = d / D
    return WorldRows.of(D - closure["length"], e @ (a.J - b.J), e @ d2 + (d1 @ d1 - (e @ d1) ** 2) / D)


def _cross(vector: np.ndarray) -> np.ndarray:
    x, y, z = vector
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def _rolling(a: WorldFrame, b: WorldFrame, closure: Closure) -> WorldRows:
    radius, W = closure["radius"], closure.get("spin", 0.0)
    n, n1, _ = b.fixed(2)
    if closure["type"] == "rolling-ball":
        rho, rho1 = -radius * n, -radius * n1
    else:
        k, k1, _ = a.fixed(1)
        beta, beta1 = n @ k, n1 @ k + n @ k1
        s = np.sqrt(1 - beta**2)
        e, s1 = (n - beta * k) / s, -beta * beta1 / s
        rho, rho1 = -radius * e, -radius * ((n1 - beta1 * k - beta * k1) / s - e * s1 / s)
    y, y1 = a.x + rho - b.x, a.u + rho1 - b.u
    K = a.J - _cross(rho) @ a.W - (b.J - _cross(y) @ b.W)
    drift = a.acc + np.cross(a.alpha, rho) + np.cross(a.omega, rho1)
    drift -= b.acc + np.cross(b.alpha, y) + np.cross(b.omega, y1)  # (3)
    gap, spin = np.array([np.nan, np.nan, y @ n]), W * n  # angular velocity of a plate on b that is not a link
    return WorldRows.of(gap, K, drift - np.cross(spin, y1), -np.cross(spin, y))


def _knife(a: WorldFrame, b: WorldFrame, closure: Closure) -> WorldRows:
    side, rate, _ = a.fixed(1)
    return WorldRows.of(np.nan, side @ a.J, a.acc @ side + a.u @ rate)


def _combined(
    *parts: Callable[[WorldFrame, WorldFrame, Closure], WorldRows],
) -> Callable[[WorldFrame, WorldFrame, Closure], WorldRows]:
    return lambda a, b, closure: WorldRows.all([part(a, b, closure) for part in parts])


def _squares(*pairs: tuple[int, int]) -> Callable[[WorldFrame, WorldFrame, Closure], WorldRows]:
    return lambda a, b, _: WorldRows.all([_square(a, b, i, k) for i, k in pairs])


def _alongs(*axes: int) -> Callable[[WorldFrame, WorldFrame, Closure], WorldRows]:
    return lambda a, b, _: WorldRows.all([_along(a, b, k) for k in axes])


KINDS: dict[str, Callable[[WorldFrame, WorldFrame, Closure], WorldRows]] = {
    "point": _point,
    "orientation": _orientation,
    "weld": _combined(_point, _orientation),
    "hinge": _combined(_point, _squares((0, 2), (1, 2))),
    "universal": _combined(_point, _squares((2, 2))),
    "cylinder": _combined(_alongs(0, 1), _squares((0, 2), (1, 2))),
    "slider": _combined(_alongs(0, 1), _squares((0, 2), (1, 2), (0, 1))),
    "line": _alongs(0, 1),
    "plane": _alongs(2),
    "flat": _combined(_alongs(2), _squares((0, 2), (1, 2))),
    "distance": _distance,
    "rolling-disk": _rolling,
    "rolling-ball": _rolling,
    "knife": _knife,
}
