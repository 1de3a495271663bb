"""Limits of velocity, acceleration and actuator force as linear inequalities in the motion along a path.

On a path q(s), with x = ṡ² and u = s̈ and ' for derivatives with respect to s,

    v = q' ṡ              a = q' u + q'' x              τ = m(s) u + c(s) x + g(s)                                (1)
    g = τ(q, 0, 0)        m = τ(q, 0, q') - g           c = τ(q, q', q'') - g                                     (2)

because rigid-body inverse dynamics is linear in a and quadratic in v. So every limit is a row A(s) u + B(s) x ≤ C(s):

    q'² x ≤ v_max²        ±(q' u + q'' x) ≤ a_max       ±(m u + c x) ≤ τ_max ∓ g                                  (3)

Actuators move with J q' instead of q' and have their own speed limits. Friction of the actuators, at their speeds
J q' √x, adds φ(s, x) to τ. It is not linear in x; near a given x̄ it is linearised,

    φ(x) ≈ φ(x̄) + φ'(x̄) (x - x̄)                                                                                  (4)

which is exact at x̄. Dry friction has the direction of the motion also at x = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from appell.dynamics import Dynamics
from appell.dynamics.moving import without_friction
from appell.errors import ArgumentError, SimulationError
from appell.motion.path import Path

MIN_SPEED = 1e-9  # relative to the path's own speed ṡ = 1: friction at lower speeds is that at the start of a motion
DIFFERENCE_STEP = 1e-4  # relative to ṡ: step of the difference quotient in φ'


@dataclass(frozen=True)
class PathLimits:
    """Limits of a motion along a path; an infinite entry means that there is no limit."""

    path: Path
    dyn: Dynamics
    velocity: np.ndarray  # of the coordinates
    acceleration: np.ndarray  # of the coordinates
    torque: np.ndarray  # of the actuators
    speed: np.ndarray  # of the actuators

    def rows(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return A, B and C of (3) at path parameters of any shape, each (*s.shape, rows), for finite limits."""
        q, first, second = self.path(s)
        zero = np.zeros_like(q)
        v, a, f, w = (np.isfinite(limit) for limit in (self.velocity, self.acceleration, self.torque, self.speed))
        A, B, C = [zero[..., v]], [first[..., v] ** 2], [np.broadcast_to(self.velocity[v] ** 2, q[..., v].shape)]
        if w.any():
            drives = np.einsum("...ij,...j->...i", self.dyn.actuator_jacobian(q), first)[..., w]
            A, B = [*A, np.zeros_like(drives)], [*B, drives**2]
            C.append(np.broadcast_to(self.speed[w] ** 2, drives.shape))
        for sign in (1.0, -1.0):
            A.append(sign * first[..., a])
            B.append(sign * second[..., a])
            C.append(np.broadcast_to(self.acceleration[a], q[..., a].shape))
        if f.any():
            tau = self.rigid.inverse_dynamics
            g = tau(q, zero, zero)  # (2)
            m, c = tau(q, zero, first) - g, tau(q, first, second) - g
            for sign in (1.0, -1.0):
                A.append(sign * m[..., f])
                B.append(sign * c[..., f])
                C.append(self.torque[f] - sign * g[..., f])
        return np.concatenate(A, -1), np.concatenate(B, -1), np.concatenate(C, -1)

    @cached_property
    def rigid(self) -> Dynamics:
        """The dynamics of (2), without friction."""
        return without_friction(self.dyn)

    @cached_property
    def has_friction(self) -> bool:
        """Whether friction changes any row."""
        if not (self.dyn.choice.friction and np.isfinite(self.torque).any()):
            return False
        return any(
            any((drive.offset, drive.friction.viscous, drive.friction.coulomb, drive.friction.static))
            for drive in self.dyn.system.drives.values()
        )

    def friction(self, s: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """Return φ at path parameters and speeds ṡ of the same shape, (*s.shape, actuators)."""
        q, first, _ = self.path(s)
        v, zero = first * speed[..., None], np.zeros_like(q)
        return self.dyn.inverse_dynamics(q, v, zero) - self.rigid.inverse_dynamics(q, v, zero)

    def friction_rows(self, s: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return φ and φ' of (4) at x, (*s.shape, rows) each, zero in rows that are not of torques."""
        speed = np.maximum(np.sqrt(x), MIN_SPEED)
        phi, step = self.friction(s, speed), DIFFERENCE_STEP * speed
        slope = (self.friction(s, speed + step) - self.friction(s, speed - step)) / (4.0 * step * speed)[..., None]
        slope[speed <= MIN_SPEED] = 0.0
        return self._torque_rows(phi), self._torque_rows(slope)

    def resting_rows(self, s: np.ndarray) -> np.ndarray:
        """Return φ at rest, which consists of offsets only, (*s.shape, rows)."""
        return self._torque_rows(self.friction(s, np.zeros(s.shape)))

    def _torque_rows(self, tau: np.ndarray) -> np.ndarray:
        limited = np.isfinite(self.torque)
        v, a, w = (int(np.isfinite(limit).sum()) for limit in (self.velocity, self.acceleration, self.speed))
        none = np.zeros((*tau.shape[:-1], v + w + 2 * a))
        return np.concatenate([none, tau[..., limited], -tau[..., limited]], axis=-1)

    def load(self, s) -> np.ndarray:
        """Return the fraction of their torque that actuators need to move slowly along the path or to hold its ends."""
        s = np.asarray(s, float)
        q = self.path(s)[0]
        holding = np.abs(self.dyn.inverse_dynamics(q, 0.0 * q, 0.0 * q)) / self.torque
        if not self.has_friction:
            return holding
        g = self.rigid.inverse_dynamics(q, 0.0 * q, 0.0 * q)
        creeping = np.abs(g + self.friction(s, np.full(s.shape, MIN_SPEED))) / self.torque
        ends = (s <= 0.0) | (s >= self.path.duration)
        return np.where(ends[..., None], np.maximum(holding, creeping), creeping)

    def check_rest(self, s: np.ndarray) -> None:
        """Raise `SimulationError` if the system cannot hold a point of the path, or cannot overcome its friction."""
        load = self.load(s)
        if (load > 1.0).any():
            k, which = (int(i) for i in np.argwhere(load > 1.0)[0])
            when = "at its start" if k == 0 else f"at t = {s[k]:.6g} s of the path"
            limit = self.torque[which]
            slow = "moving slowly" if self.has_friction else "standing still"
            raise SimulationError(
                f"the torque limit of '{self.dyn.system.actuator_names[which]}' excludes the path {when}: {slow} there "
                f"takes {load[k, which] * limit:.6g}, and the limit is {limit:g}.",
                hint="Use a stronger actuator, or another path.",
            )


def path_limits(path: Path, dyn: Dynamics, velocity=None, acceleration=None, torque=None) -> PathLimits:
    """Return the limits of a motion along a path.

    Parameters
    ----------
    path
        The path.
    dyn
        Dynamics of the system.
    velocity, acceleration
        Limits of the coordinates: a number, or one per coordinate. None: no limit on coordinates; the speed limits of
        the actuators apply if `velocity` is None.
    torque
        Limits of the actuators: a number, or one per actuator. None: those of the description.
    """
    system = dyn.system
    if not system.is_flat or len(path.names) != system.nv:
        raise ArgumentError(
            f"the path has {len(path.names)} coordinates; {system.owner} has nq={system.nq}, nv={system.nv}."
        )
    none = np.inf
    actuator_speed = none if velocity is not None else [none if x.speed is None else x.speed for x in system.actuators]
    actuator_torque = [actuator.torque_limit for actuator in system.actuators]
    limits = (
        _limit("velocity", none if velocity is None else velocity, system.coordinate_names),
        _limit("acceleration", none if acceleration is None else acceleration, system.coordinate_names),
        _limit("torque", actuator_torque if torque is None else torque, system.actuator_names),
        _limit("speed", actuator_speed, system.actuator_names),
    )
    if not any(np.isfinite(limit).any() for limit in limits):
        raise ArgumentError(
            f"no limit is given, and {system.owner} has none in its description: the fastest motion has no bound.",
            expected="velocity, acceleration or torque",
        )
    return PathLimits(path, dyn, *limits)


def _limit(what: str, given, names: Sequence[str]) -> np.ndarray:
    values = np.asarray(given, float)
    if values.shape not in ((), (len(names),)):
        raise ArgumentError(
            f"the {what} limit has shape {values.shape}.", expected=f"a number, or {len(names)} of them"
        )
    values = np.broadcast_to(values, (len(names),))
    if not (values > 0.0).all():
        which = names[int(np.argmin(values > 0.0))]
        raise ArgumentError(f"the {what} limit of '{which}' is {values.min():g}.", expected="a positive number")
    return values
