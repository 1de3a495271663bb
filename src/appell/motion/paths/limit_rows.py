"""Limits of velocity, acceleration and joint force as straight lines in the motion along a path.

On a path q(s), with x = ṡ² and u = s̈ and ' for derivatives by s,

    v = q' ṡ              a = q' u + q'' x              τ = m(s) u + c(s) x + g(s)                                (1)
    g = τ(q, 0, 0)        m = τ(q, 0, q') - g           c = τ(q, q', q'') - g                                     (2)

because inverse dynamics is linear in a and quadratic in v. So every limit is a row  A(s) u + B(s) x ≤ C(s):

    q'² x ≤ v_max²        ±(q' u + q'' x) ≤ a_max       ±(m u + c x) ≤ τ_max ∓ g                                  (3)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, SimulationError
from appell.model.robot import Robot
from appell.motion.path import Path


@dataclass(frozen=True)
class PathLimits:
    """The limits of every joint; infinite where there is none."""

    path: Path
    robot: Robot
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray
    inverse_dynamics: Callable

    def rows(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A, B and C of (3) at path parameters of any shape, each (*s.shape, rows), for limits that exist."""
        q, first, second = self.path(s)
        v, a, f = (np.isfinite(limit) for limit in (self.velocity, self.acceleration, self.effort))
        zero = np.zeros_like(q)
        A, B, C = [zero[..., v]], [first[..., v] ** 2], [np.broadcast_to(self.velocity[v] ** 2, q[..., v].shape)]
        for sign in (1.0, -1.0):
            A.append(sign * first[..., a])
            B.append(sign * second[..., a])
            C.append(np.broadcast_to(self.acceleration[a], q[..., a].shape))
        if f.any():
            g = self.inverse_dynamics(q, zero, zero)  # (2)
            m, c = self.inverse_dynamics(q, zero, first) - g, self.inverse_dynamics(q, first, second) - g
            for sign in (1.0, -1.0):
                A.append(sign * m[..., f])
                B.append(sign * c[..., f])
                C.append(self.effort[f] - sign * g[..., f])
        return np.concatenate(A, -1), np.concatenate(B, -1), np.concatenate(C, -1)

    def check_rest(self, s: np.ndarray) -> None:
        """Raise where the robot could not even stand still on the path."""
        q = self.path(s)[0]
        load = np.abs(self.inverse_dynamics(q, np.zeros_like(q), np.zeros_like(q)))
        over = load > self.effort
        if over.any():
            k, joint = (int(i) for i in np.argwhere(over)[0])
            when = "at its start" if k == 0 else f"at t = {s[k]:.6g} s of the path"
            raise SimulationError(
                f"the effort limit of joint '{self.robot.joint_names[joint]}' excludes the path {when}: standing still "
                f"there takes {load[k, joint]:.6g}, and the limit is {self.effort[joint]:g}.",
                hint="a stronger joint, or another path",
            )


def path_limits(path: Path, robot: Robot, velocity=None, acceleration=None, effort=None) -> PathLimits:
    """Limits given as a number or one a joint; velocity and effort are the robot's own if not given."""
    if robot.nq != robot.nv or len(path.names) != robot.nv:
        raise ArgumentError(
            f"the path has {len(path.names)} coordinates; robot '{robot.name}' has nq={robot.nq}, nv={robot.nv}."
        )
    own = [link.joint.limits for link in robot.moving]
    limits = (
        _limit("velocity", velocity, [limit.velocity for limit in own], robot),
        _limit("acceleration", acceleration, [None] * robot.nv, robot),
        _limit("effort", effort, [limit.effort for limit in own], robot),
    )
    if not any(np.isfinite(limit).any() for limit in limits):
        raise ArgumentError(
            f"no limit is given, and robot '{robot.name}' has none of its own: the fastest motion has no bound.",
            expected="velocity, acceleration or effort",
        )
    return PathLimits(path, robot, *limits, Dynamics(robot).inverse_dynamics)


def _limit(name: str, given, own: list[float | None], robot: Robot) -> np.ndarray:
    values = np.array([np.inf if x is None else x for x in own]) if given is None else np.asarray(given, float)
    if values.shape not in ((), (robot.nv,)):
        raise ArgumentError(f"the {name} limit has shape {values.shape}.", expected=f"a number, or {robot.nv} of them")
    values = np.broadcast_to(values, (robot.nv,))
    if not (values > 0.0).all():
        joint = robot.joint_names[int(np.argmin(values > 0.0))]
        raise ArgumentError(f"the {name} limit of joint '{joint}' is {values.min():g}.", expected="a positive number")
    return values
