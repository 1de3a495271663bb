"""The plant: a robot under held torques, with friction that really sticks.

Between samples the smooth part moves by one step of Runge and Kutta's fourth-order method,

    (M + R) a = Jᵀτ - h(q, v) - (B + D) v                                                                      (1)

with the Jacobian J of the actuators (1 on an arm), rotors R, viscous friction B and what the shorted motors add, D. Dry
friction and brakes then act as a bounded force λ along each coordinate, held over the step, the one that brings as many
to rest as its bound allows:

    v⁺ = v + dt A λ,   A = (M + R)⁻¹           |λₖ| ≤ Fₖ,   v⁺ₖ = 0 or λₖ = -Fₖ sign(v⁺ₖ)                      (2)

solved by sweeps over the joints from the λ of the step before. A joint at rest stays at rest, up to rounding, for as
long as the bound holds it: no creeping, and brakes cost no smaller steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from appell.algebra.piecewise import clamp
from appell.algebra.scalar import Scalar
from appell.algebra.solve import LDL
from appell.compile.function import Function
from appell.control.model import Model, model_of
from appell.model.robot import Robot
from appell.parallel.mechanism import Mechanism

SWEEPS = 8
TINY = 1e-30  # keeps a step of no length from dividing by zero

State = tuple[list[Scalar], list[Scalar], list[Scalar]]  # q, v, λ


def plant_step(arm: Model, state: State, tau: Sequence, dt: Scalar, damping: Sequence, brake: Sequence) -> State:
    """q, v, λ after dt seconds, over abstract scalars; `damping` is D, `brake` a bound beside dry friction's."""
    q, v, hold = state
    drag = [own + extra for own, extra in zip(arm.viscous, damping, strict=True)]
    n, first = len(arm.coordinates), LDL.of(arm.mass_matrix(q))

    def acceleration(q, v, factors: LDL | None = None) -> list[Scalar]:
        rows = zip(arm.along_coordinates(q, tau), arm.bias(q, v), drag, v, strict=True)
        net = [force - h - d * rate for force, h, d, rate in rows]
        return (factors or LDL.of(arm.mass_matrix(q))).solve(net)

    q, free = _runge_kutta(q, v, dt, acceleration, first)
    bounds = [own + extra for own, extra in zip(arm.dry_friction(v), brake, strict=True)]
    if all(isinstance(bound, float) and bound == 0.0 for bound in bounds):
        return q, free, list(hold)
    response = [first.solve([float(i == k) for i in range(n)]) for k in range(n)]  # A, symmetric
    hold, slowed = _friction(free, hold, bounds, response, dt)
    q = [x + 0.5 * dt * (after - before) for x, after, before in zip(q, slowed, free, strict=True)]
    return q, slowed, hold


def _runge_kutta(q, v, dt: Scalar, acceleration: Callable, first: LDL):
    half, sixth = 0.5 * dt, dt * (1.0 / 6.0)
    a1 = acceleration(q, v, first)
    q2, v2 = _moved(q, v, half), _moved(v, a1, half)
    a2 = acceleration(q2, v2)
    q3, v3 = _moved(q, v2, half), _moved(v, a2, half)
    a3 = acceleration(q3, v3)
    q4, v4 = _moved(q, v3, dt), _moved(v, a3, dt)
    a4 = acceleration(q4, v4)

    def combined(x, k1, k2, k3, k4):
        return [s + sixth * (a + 2.0 * (b + c) + d) for s, a, b, c, d in zip(x, k1, k2, k3, k4, strict=True)]

    return combined(q, v, v2, v3, v4), combined(v, a1, a2, a3, a4)


def _moved(x, rate, dt: Scalar) -> list[Scalar]:
    return [a + dt * b for a, b in zip(x, rate, strict=True)]


def _friction(free, hold, bounds, response, dt: Scalar):
    """λ and v⁺ of (2)."""
    n = len(free)
    hold = [clamp(before, -bound, bound) for before, bound in zip(hold, bounds, strict=True)]
    v = [rate + dt * sum((response[i][k] * hold[k] for k in range(n)), start=0.0) for i, rate in enumerate(free)]
    yielding = [1.0 / (dt * response[k][k] + TINY) for k in range(n)]
    for _ in range(SWEEPS):
        for k in range(n):
            new = clamp(hold[k] - v[k] * yielding[k], -bounds[k], bounds[k])
            change = dt * (new - hold[k])
            v = [rate + change * response[i][k] for i, rate in enumerate(v)]
            hold[k] = new
    return hold, v


def plant_function(arm: Model) -> Function:
    """(state, tau, dt, damping, brake) -> state_next, the state being q, v and λ in one array."""
    n = len(arm.coordinates)
    inputs = {"state": 3 * n, "tau": len(arm.actuators), "dt": (), "damping": n, "brake": n}

    def body(state, tau, dt, damping, brake):
        after = plant_step(arm, (state[:n], state[n : 2 * n], state[2 * n :]), tau, dt, damping, brake)
        return {"state_next": [x for part in after for x in part]}

    return Function.of("plant_step", inputs, body, "The arm after dt seconds.", arm.coordinates.owner)


class Plant:
    """A robot that moves: call it with torques that are held for a while."""

    def __init__(self, arm: Model | Robot | Mechanism, longest_step: float = 1e-3):
        self.arm = arm = model_of(arm)
        self.n = len(arm.coordinates)
        self.longest_step = longest_step
        self._bound: Any = plant_function(arm).bind()
        self.place(arm.robot.start)

    def place(self, q, v=0.0) -> None:
        """Put the robot somewhere."""
        n, state, axes = self.n, self._bound.state_next, self.arm.coordinates
        q, v = axes.numbers("q", q), axes.numbers("v", v)
        self.arm.check(q)
        state[:n], state[n : 2 * n], state[2 * n :] = q, v, 0.0

    @property
    def q(self) -> np.ndarray:
        return self._bound.state_next[: self.n].copy()

    @property
    def v(self) -> np.ndarray:
        return self._bound.state_next[self.n : 2 * self.n].copy()

    def __call__(self, tau, duration: float) -> None:
        """Move for `duration` seconds under the torques `tau`."""
        bound = self._bound
        steps = max(1, int(np.ceil(duration / self.longest_step - 1e-9)))
        bound.tau[:], bound.dt[...] = tau, duration / steps
        for _ in range(steps):
            bound.state[:] = bound.state_next
            bound()
