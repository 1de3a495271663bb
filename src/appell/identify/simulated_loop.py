"""A loop simulated on parameters: the motion that β makes under the controller of a recorded run.

Actuator forces are affine in the accelerations, τ = A a + h, and the regressor knows both:

    h = Y(q, v, 0) β          A eₖ = Y(q, v, eₖ) β - h                                                             (1)

whatever β holds: friction, rotors, a mechanism with loops. All states of a batch are computed at once, so a sweep
over parameters or noise costs little more than one run. Steps are those of Runge and Kutta, the torque held over
each. Instrumental variables and output error ask for such motions; recording is not done here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError, SimulationError
from appell.identify.base.reduce import BaseParameters
from appell.identify.estimators.one_thread import calm
from appell.identify.sought import QVA, Sought
from appell.motion.path import Path

Torque = Callable[[int, np.ndarray, np.ndarray], np.ndarray]  # (step, q, v) -> tau held until the next step
QVAT = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class ParameterMotion:
    """a(q, v, tau) and motions for base parameters β, (count) or one set a state of the batch."""

    def __init__(self, base: BaseParameters, beta: np.ndarray):
        system = base.sought.system
        if not system.is_flat or system.nu != system.nv:
            raise ArgumentError(
                f"{system.owner} has {system.nq} coordinates, {system.nv} velocities and {system.nu} actuators.",
                expected="as many of each, to simulate it from its regressor",
            )
        self.regressor = base.regressor
        self.beta = np.asarray(beta, float)
        self.units = np.vstack([np.zeros(system.nv), np.eye(system.nv)])

    def __call__(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        Y = self.regressor(q[..., None, :], v[..., None, :], self.units)
        force = (Y @ self.beta[..., None, :, None])[..., 0]
        h = force[..., 0, :]
        A = np.swapaxes(force[..., 1:, :] - h[..., None, :], -1, -2)
        return np.linalg.solve(A, (tau - h)[..., None])[..., 0]

    def step(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, h: float) -> QVA:
        """q and v a time h later, and the acceleration now."""
        a1 = self(q, v, tau)
        v2 = v + 0.5 * h * a1
        a2 = self(q + 0.5 * h * v, v2, tau)
        v3 = v + 0.5 * h * a2
        a3 = self(q + 0.5 * h * v2, v3, tau)
        v4 = v + h * a3
        a4 = self(q + h * v3, v4, tau)
        return q + h / 6.0 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6.0 * (a1 + 2 * a2 + 2 * a3 + a4), a1

    @calm
    def run(self, q0, v0, steps: int, h: float, torque: Torque) -> QVAT:
        """q, v, a and tau at the beginning of every step; time is the first axis."""
        q, v = np.array(q0, float), np.array(v0, float)
        history = []
        for k in range(steps):
            tau = torque(k, q, v)
            before = q, v
            q, v, a = self.step(q, v, tau, h)
            history.append((*before, a, np.broadcast_to(tau, v.shape)))
            if k % 64 == 0 and not np.all(np.abs(v) < 1e6):
                raise SimulationError(
                    f"the simulated motion grew without bound by t = {k * h:.3g} s.",
                    hint="parameters nearer to the truth, softer gains, or a shorter step",
                )
        q, v, a, tau = (np.array(part) for part in zip(*history, strict=True))
        return q, v, a, tau


@dataclass(frozen=True, eq=False)
class TrackingLaw:
    """PD control with feed-forward, tau = tau_ff(t) + kp (q_d - q) + kd (v_d - v), as a computer does it.

    kp and kd are matrices (nu, nv); v is the difference of two samples of q, low-passed at `cutoff` Hz.
    """

    q: np.ndarray  # the reference at every step
    v: np.ndarray
    feed_forward: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    period: float
    cutoff: float = 40.0

    @staticmethod
    def along(sought: Sought, path: Path, period: float, *, bandwidth: float = 4.0, cutoff: float = 40.0):
        """Gains for a bandwidth in Hz at the start of a path, and the torques that the description expects."""
        nv = sought.system.nv
        t = np.arange(0.0, path.duration - 0.5 * period, period)
        q, v, a = path(t)
        tau = np.asarray(sought.regressor(q, v, a)) @ sought.nominal
        units = np.vstack([np.zeros(nv), np.eye(nv)])
        force = np.asarray(sought.regressor(q[0], np.zeros(nv), units)) @ sought.nominal
        inertia = (force[1:] - force[0]).T
        if sought.system.actuator_names == sought.system.velocity_names:
            inertia = np.diag(np.diag(inertia))  # joint by joint
        omega = 2.0 * np.pi * bandwidth
        return TrackingLaw(q, v, tau, inertia * omega**2, inertia * 2.0 * omega, period, cutoff)

    def start(self) -> Torque:
        """The law with its own memory, for one run."""
        gain = 1.0 - np.exp(-2.0 * np.pi * self.cutoff * self.period)
        speed: np.ndarray = self.v[0]
        last: np.ndarray = self.q[0]

        def torque(k: int, q: np.ndarray, v: np.ndarray) -> np.ndarray:
            nonlocal speed, last
            if k:
                speed = speed + gain * ((q - last) / self.period - speed)
            last = q
            return self.feed_forward[k] + (self.q[k] - q) @ self.kp.T + (self.v[k] - speed) @ self.kd.T

        return torque


@dataclass(frozen=True, eq=False)
class SimulatedLoop:
    """A law run on parameters instead of on the robot: SimulatedLoop(TrackingLaw.along(sought, path, 1e-3)).

    `rows` are the steps at which samples were taken, all if None; `hold` as for `process`.
    """

    law: TrackingLaw
    rows: np.ndarray | None = None
    hold: bool = False

    def run(self, base: BaseParameters, beta: np.ndarray) -> QVAT:
        """q, v, a, tau at the rows, for one β or for several at once; time is the first axis."""
        shape, law = (*np.shape(beta)[:-1], base.sought.system.nv), self.law
        q0, v0 = (np.broadcast_to(x[0], shape) for x in (law.q, law.v))
        q, v, a, tau = ParameterMotion(base, beta).run(q0, v0, len(law.q), law.period, law.start())
        if self.hold:
            tau[1:] = 0.5 * (tau[1:] + tau[:-1])
        rows = slice(None) if self.rows is None else self.rows
        return q[rows], v[rows], a[rows], tau[rows]

    def motion(self, base: BaseParameters, beta: np.ndarray) -> QVA:
        """What `InstrumentalVariables` asks for."""
        return self.run(base, beta)[:3]
