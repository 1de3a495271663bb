"""Limits of velocity, acceleration and actuator force as linear inequalities in the motion along a path.

On a path q(s), with x = ṡ² and u = s̈ and ' for derivatives with respect to s,

    v = q' ṡ              a = q' u + q'' x              τ = m(s) u + c(s) x + g(s)                                (1)
    g = τ(q, 0, 0)        m = τ(q, 0, q') - g           c = τ(q, q', q'') - g                                     (2)

because rigid-body inverse dynamics is linear in a and quadratic in v. So every limit is a row A(s) u + B(s) x ≤ C(s):

    q'² x ≤ v_max²        ±(q' u + q'' x) ≤ a_max       ±(m u + c x) ≤ τ_max ∓ g                                  (3)

Actuators move with J q' instead of q' and have their own speed limits. Friction of the actuators, at their speeds
J q' √x, adds φ(s, x) to τ. It is not linear in x; near a given x̄ it is linearised,

    φ(x) ≈ φ(x̄) + φ'(x̄) (x - x̄)                                                                                  (4)

which is exact at x̄. Dry friction has the direction of the motion also at x = 0. If the torque of an actuator falls
with its speed w = J q' √x, to zero at w₀, the row of its direction of motion has a term of the same kind:

    ±τ ≤ τ_max (1 - max(±w, 0) / w₀)                                                                              (5)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from appell.dynamics import Dynamics
from appell.dynamics.moving import without_friction
from appell.errors import ArgumentError, SimulationError
from appell.motion.path import Path, numeric
from appell.motion.working_limits import JUMP_SHARE, WorkingLimits

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
    no_load_speed: np.ndarray  # of the actuators
    jerk: np.ndarray  # of the coordinates; it has no row, see `jerk`

    def rows(self, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return A, B and C of (3) at path parameters of any shape, each (*s.shape, rows), for finite limits."""
        q, first, second = self.path(s)
        zero = np.zeros_like(q)
        v, a, f, w = (np.isfinite(limit) for limit in (self.velocity, self.acceleration, self.torque, self.speed))
        A, B, C = [zero[..., v]], [first[..., v] ** 2], [np.broadcast_to(self.velocity[v] ** 2, q[..., v].shape)]
        if w.any():
            drives = self._drives(q, first)[..., w]
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

    @property
    def is_nonlinear(self) -> bool:
        """Whether friction or (5) makes rows nonlinear in x."""
        return self.has_friction or bool(np.isfinite(self.no_load_speed).any())

    def _drives(self, q: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return J q', the speeds of the actuators at ṡ = 1."""
        return np.einsum("...ij,...j->...i", self.dyn.actuator_jacobian(q), first)

    def friction(self, s: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """Return φ at path parameters and speeds ṡ of the same shape, (*s.shape, actuators)."""
        q, first, _ = self.path(s)
        v, zero = first * speed[..., None], np.zeros_like(q)
        return self.dyn.inverse_dynamics(q, v, zero) - self.rigid.inverse_dynamics(q, v, zero)

    def nonlinear_rows(self, s: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return φ and φ' of (4) at x with the terms of (5), (*s.shape, rows) each, zero in rows without torques."""
        speed = np.maximum(np.sqrt(x), MIN_SPEED)
        phi = slope = np.zeros((*s.shape, len(self.torque)))
        if self.has_friction:
            phi, step = self.friction(s, speed), DIFFERENCE_STEP * speed
            slope = (self.friction(s, speed + step) - self.friction(s, speed - step)) / (4.0 * step * speed)[..., None]
        falling = np.isfinite(self.no_load_speed)
        rows = [np.stack([sign * phi, sign * slope]) for sign in (1.0, -1.0)]
        if falling.any():
            q, first, _ = self.path(s)
            rate = np.where(falling, self.torque / self.no_load_speed, 0.0) * self._drives(q, first)
            for k, sign in enumerate((1.0, -1.0)):
                fall = np.maximum(sign * rate, 0.0)  # (5), per ṡ
                rows[k] = rows[k] + np.stack([fall * speed[..., None], fall / (2.0 * speed)[..., None]])
        values, slopes = self._torque_rows(rows[0], rows[1])
        slopes[speed <= MIN_SPEED] = 0.0
        return values, slopes

    def resting_rows(self, s: np.ndarray) -> np.ndarray:
        """Return φ at rest, which consists of offsets only, (*s.shape, rows)."""
        offset = self.friction(s, np.zeros(s.shape))
        return self._torque_rows(offset, -offset)

    def _torque_rows(self, upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
        """Return rows with these values for the upper and the lower torque limits, and zero in all others."""
        limited = np.isfinite(self.torque)
        v, a, w = (int(np.isfinite(limit).sum()) for limit in (self.velocity, self.acceleration, self.speed))
        none = np.zeros((*upper.shape[:-1], v + w + 2 * a))
        return np.concatenate([none, upper[..., limited], lower[..., limited]], axis=-1)

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


def peaks(f: np.ndarray) -> np.ndarray:
    """Return the largest value along axis 1, including the vertex of the parabola through each three neighbours."""
    before, here, after = f[:, :-2], f[:, 1:-1], f[:, 2:]
    slope, bend = 0.5 * (after - before), 2.0 * here - before - after
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = np.where((bend > 0.0) & (np.abs(slope) <= bend), here + 0.5 * slope**2 / bend, -np.inf)
    return np.maximum(f.max(axis=1), vertex.max(axis=1))


def path_limits(path: Path, dyn: Dynamics, velocity=None, acceleration=None, torque=None, jerk=None) -> PathLimits:
    """Return the limits of a motion along a path.

    Parameters
    ----------
    path
        The path.
    dyn
        Dynamics of the system.
    velocity, acceleration, jerk
        Limits of the coordinates: a number, or one per coordinate. None: no limit on coordinates; the speeds of
        `WorkingLimits` apply to the actuators if `velocity` is None.
    torque
        Limits of the actuators: a number, or one per actuator. None: those of `WorkingLimits`. Its speeds and
        torques are multiplied by `JUMP_SHARE`.
    """
    system = dyn.system
    if not system.is_flat or len(path.names) != system.nv:
        raise ArgumentError(
            f"the path has {len(path.names)} coordinates; {system.owner} has nq={system.nq}, nv={system.nv}."
        )
    none, working = np.inf, WorkingLimits.of(system)
    working.warn([kind for kind, given in (("speed", velocity), ("torque", torque)) if given is None], stacklevel=4)
    actuator_speed = none if velocity is not None else JUMP_SHARE * working.speed
    if torque is None:
        torque = JUMP_SHARE * working.torque
    limits = (
        _limit("velocity", none if velocity is None else velocity, system.coordinate_names),
        _limit("acceleration", none if acceleration is None else acceleration, system.coordinate_names),
        _limit("torque", torque, system.actuator_names),
        _limit("speed", actuator_speed, system.actuator_names),
        _limit("jerk", none if jerk is None else jerk, system.coordinate_names),
    )
    falling = [none if x.no_load_speed is None else x.no_load_speed for x in system.actuators]
    if not any(np.isfinite(limit).any() for limit in limits):
        raise ArgumentError(
            f"all limits of {system.owner} are infinite: the fastest motion has no bound.",
            expected="a finite limit of velocity, acceleration, torque or jerk",
        )
    return PathLimits(path, dyn, *limits[:4], np.where(np.isfinite(limits[2]), falling, none), limits[4])


def _limit(what: str, given, names: Sequence[str]) -> np.ndarray:
    values = numeric(given, f"the {what} limit")
    if values.shape not in ((), (len(names),)):
        raise ArgumentError(
            f"the {what} limit has shape {values.shape}.", expected=f"a number, or {len(names)} of them"
        )
    values = np.broadcast_to(values, (len(names),))
    if not (values > 0.0).all():
        which = names[int(np.argmin(values > 0.0))]
        raise ArgumentError(f"the {what} limit of '{which}' is {values.min():g}.", expected="a positive number")
    return values
