"""Simulation of a control loop from base parameters: the motion that β gives under the controller of a recorded run.

Actuator forces f = Y(q, v, a) β are affine in the accelerations, τ = A a + h:

    h = f(q, v, 0)          A = ∂f/∂a                                                                              (1)

This holds whatever β contains: friction, rotors, a mechanism with loops. All states of a batch are computed together,
so that a sweep over parameters or noise costs little more than one run. The integrator is the classical Runge-Kutta
method with the torque held over each step. The estimator `InstrumentalVariables` uses these motions, and `OutputError`
the accelerations and their derivatives.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from appell.errors import ArgumentError, SimulationError
from appell.identify.base.reduce import BaseParameters
from appell.identify.estimators.blas_threads import limit_blas_threads
from appell.identify.parameter_set import QVA, ParameterSet
from appell.motion.path import Path

MAX_SPEED = 1e6  # rad/s or m/s; a faster motion has diverged
DIVERGENCE_CHECK_STEPS = 64  # steps between two checks for divergence
Torque = Callable[[int, np.ndarray, np.ndarray], np.ndarray]  # (step, q, v) -> tau held until the next step
QVAT = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


class ParameterMotion:
    """Accelerations a(q, v, tau) and motions for base parameters β of shape (count,) or (batch, count)."""

    def __init__(self, base: BaseParameters, beta: np.ndarray):
        system = base.parameter_set.system
        if not system.is_flat or system.nu != system.nv:
            raise ArgumentError(
                f"{system.owner} has {system.nq} coordinates, {system.nv} velocities and {system.nu} actuators.",
                expected="equal numbers of each, to simulate the system from its regressor",
            )
        self.base = base
        self.beta = np.asarray(beta, float)
        self.rest = np.zeros(system.nv)

    def __call__(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> np.ndarray:
        bias = self.base.forces(q, v, self.rest, self.beta)
        return np.linalg.solve(self.inertia(q, v), (tau - bias)[..., None])[..., 0]

    def inertia(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return A of (1)."""
        return self.base.forces.jacobian("a")(q, v, self.rest, self.beta)

    def partials(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of the accelerations by q and v, at the accelerations a."""
        by_q, by_v = self.base.forces.jacobian("q", "v")(q, v, a, self.beta)
        inertia = self.inertia(q, v)
        return -np.linalg.solve(inertia, by_q), -np.linalg.solve(inertia, by_v)

    def slope(self, X: np.ndarray, tau: np.ndarray, tau_rate: np.ndarray) -> np.ndarray:
        """Return the derivative by time of a state and of its derivatives by β, a delay of tau and the initial state.

        X has the shape (..., 2 nv, 1 or 2 + len(β) + 2 nv): the state (q, v), then its derivatives.
        """
        n = len(self.rest)
        q, v = X[..., :n, 0], X[..., n:, 0]
        a = self(q, v, tau)
        below = a[..., None]
        if X.shape[-1] > 1:
            by_q, by_v = self.base.forces.jacobian("q", "v")(q, v, a, self.beta)
            change = -(by_q @ X[..., :n, 1:] + by_v @ X[..., n:, 1:])
            change[..., : len(self.beta)] -= self.base.regressor(q, v, a)
            change[..., len(self.beta)] += tau_rate
            below = np.concatenate([below, np.linalg.solve(self.inertia(q, v), change)], axis=-1)
        return np.concatenate([X[..., n:, :], below], axis=-2)

    def step(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, h: float) -> QVA:
        """Return q and v after a step of h seconds, and the acceleration at its start."""
        a1 = self(q, v, tau)
        v2 = v + 0.5 * h * a1
        a2 = self(q + 0.5 * h * v, v2, tau)
        v3 = v + 0.5 * h * a2
        a3 = self(q + 0.5 * h * v2, v3, tau)
        v4 = v + h * a3
        a4 = self(q + h * v3, v4, tau)
        return q + h / 6.0 * (v + 2 * v2 + 2 * v3 + v4), v + h / 6.0 * (a1 + 2 * a2 + 2 * a3 + a4), a1

    @limit_blas_threads
    def run(self, q0, v0, steps: int, h: float, torque: Torque) -> QVAT:
        """Simulate `steps` steps of h seconds; return q, v, a and tau at the start of every step (time first)."""
        q, v = np.array(q0, float), np.array(v0, float)
        history = []
        for k in range(steps):
            tau = torque(k, q, v)
            before = q, v
            q, v, a = self.step(q, v, tau, h)
            history.append((*before, a, np.broadcast_to(tau, v.shape)))
            if k % DIVERGENCE_CHECK_STEPS == 0 and not np.all(np.abs(v) < MAX_SPEED):
                raise SimulationError(
                    f"the simulated motion diverged before t = {k * h:.3g} s.",
                    hint="Start from better parameters, reduce the gains, or shorten the step.",
                )
        q, v, a, tau = (np.array(part) for part in zip(*history, strict=True))
        return q, v, a, tau


@dataclass(frozen=True, eq=False)
class TrackingLaw:
    """Sampled PD control with feed-forward, tau = tau_ff(t) + kp (q_d - q) + kd (v_d - v).

    kp and kd are matrices (nu, nv); v is the difference quotient of two samples of q, low-pass filtered at `cutoff` Hz.
    """

    q: np.ndarray  # q_d at every step, (steps, nq)
    v: np.ndarray  # v_d at every step, (steps, nv)
    feed_forward: np.ndarray
    kp: np.ndarray
    kd: np.ndarray
    period: float
    cutoff: float = 40.0

    @staticmethod
    def along(parameter_set: ParameterSet, path: Path, period: float, *, bandwidth: float = 4.0, cutoff: float = 40.0):
        """Return a law along a path, with gains for a bandwidth in Hz and the described torques as feed-forward.

        The gains are those for the inertia matrix at the start of the path; `period` is in seconds, `cutoff` in Hz.
        """
        nv = parameter_set.system.nv
        t = np.arange(0.0, path.duration - 0.5 * period, period)
        q, v, a = path(t)
        tau = np.asarray(parameter_set.regressor(q, v, a)) @ parameter_set.nominal
        units = np.vstack([np.zeros(nv), np.eye(nv)])
        force = np.asarray(parameter_set.regressor(q[0], np.zeros(nv), units)) @ parameter_set.nominal
        inertia = (force[1:] - force[0]).T
        if parameter_set.system.actuator_names == parameter_set.system.velocity_names:
            inertia = np.diag(np.diag(inertia))  # joint by joint
        omega = 2.0 * np.pi * bandwidth
        return TrackingLaw(q, v, tau, inertia * omega**2, inertia * 2.0 * omega, period, cutoff)

    def start(self) -> Torque:
        """Return the law as a function with its own state, for one run."""
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
    """A control law that acts on base parameters instead of a robot.

    SimulatedLoop(TrackingLaw.along(parameter_set, path, 1e-3)). `rows` are the steps at which samples were taken (None:
    all of them); `hold` has the same meaning as in `process`.
    """

    law: TrackingLaw
    rows: np.ndarray | None = None
    hold: bool = False

    def run(self, base: BaseParameters, beta: np.ndarray) -> QVAT:
        """Return q, v, a and tau at the rows, for one β or for a batch; time is the first axis."""
        shape, law = (*np.shape(beta)[:-1], base.parameter_set.system.nv), self.law
        q0, v0 = (np.broadcast_to(x[0], shape) for x in (law.q, law.v))
        q, v, a, tau = ParameterMotion(base, beta).run(q0, v0, len(law.q), law.period, law.start())
        if self.hold:
            tau[1:] = 0.5 * (tau[1:] + tau[:-1])
        rows = slice(None) if self.rows is None else self.rows
        return q[rows], v[rows], a[rows], tau[rows]

    def motion(self, base: BaseParameters, beta: np.ndarray) -> QVA:
        """Return q, v and a only, as `InstrumentalVariables(simulate=...)` requires."""
        return self.run(base, beta)[:3]
