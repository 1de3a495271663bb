"""The equations of motion as an ordinary differential equation, y = (q, w).

    q̇ = N(q) w            ẇ = a(q, w, τ, …)                                                                   (1)

w are the velocities v of the system, or the velocities of its tree if it has constraints; see `states`. Both equations
are one compiled kernel, which a stepper calls from machine code. Its first two inputs are y; all others (τ, wrenches,
prescribed motions, directions) are arrays `rate.held[name]` that stay constant during an integration; after a change
the integrator must be restarted. Inputs that are functions of time or state are updated before every evaluation. The
directions s of drives with dry friction are constant within a phase, so that (1) is smooth.

Quaternions start at unit length; (1) preserves the length up to the errors of steps, and output is normalised.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from appell.compile.ode.stepper import Rate, Stepper
from appell.dynamics import Dynamics
from appell.simulation.drives import Drives
from appell.simulation.inputs import Inputs
from appell.simulation.states import states_of

Rhs = Callable[[float, np.ndarray], np.ndarray]


class FreeMotion:
    """The right-hand side (1) without contact forces, with its inputs, states and steppers."""

    def __init__(self, dyn: Dynamics, inputs: Inputs):
        self.dyn, self.system, self.inputs = dyn, dyn.system, inputs
        self.quaternions = dyn.system.quaternions
        self.states = states_of(dyn, inputs.motions)
        self.nq, self.nw, self.nu = self.states.nq, self.states.nw, dyn.system.nu
        self.drives = Drives(self.states.moving)
        self.rate = Rate.compiled(self.states.rate(bool(len(self.drives))), 2)
        self._q, self._w = self.rate.y[: self.nq], self.rate.y[self.nq :]
        self.rate.held["tau"][:] = inputs.tau
        inputs.tau = self.rate.held["tau"]
        if inputs.varies:
            self.rate.callback = self._input_callback()
        self.hold()
        self._rhs: Rhs | None = None
        self.phase_rate: Any = None  # a `PhaseRate`, which the first phase with rows creates
        self._steppers: dict[tuple[str, int], Stepper] = {}

    def normalised(self, q: np.ndarray) -> np.ndarray:
        """Normalise the quaternions of q, (..., nq), in place and return q."""
        for span in self.quaternions:
            part = q[..., span]
            part /= math.sqrt(part.dot(part)) if q.ndim == 1 else np.linalg.norm(part, axis=-1, keepdims=True)
        return q

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, w) of states (..., nq + nw), with unit quaternions."""
        return self.normalised(np.array(y[..., : self.nq])), np.array(y[..., self.nq :])

    def q_and_v(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return (q, v) of states: the coordinates and velocities of the system, for users' functions and records."""
        q, w = self.split(y)
        return q, self.states.velocities(q, w)

    def projected(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the state at the end of a step, projected onto the constraints if there are any."""
        return self.states.projected(t, y)

    def forces(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the actuator forces τ at a time and state, (nu,)."""
        if self.inputs.varies:
            self.inputs.update(t, q, v)
        return self.inputs.tau.copy()

    def hold(self) -> None:
        """Copy the current wrenches and prescribed motions into the kernel; `inputs.tau` is the kernel's own."""
        held = self.rate.held
        if self.inputs.motions:
            held["prescribed"][:] = self.inputs.prescribed
        for k, frame in enumerate(self.dyn.wrenches):
            held[f"wrench_{frame}"][:] = self.inputs.wrench[6 * k : 6 * k + 6]

    def tick(self, t: float, y: np.ndarray) -> None:
        """Evaluate the sampled torque function."""
        self.inputs.tick(t, *self.q_and_v(y))
        self.hold()

    def set_directions(self, directions: np.ndarray) -> None:
        """Set the sliding directions of the dry drives: -1, 0 or 1 each."""
        if len(directions):
            self.rate.held["s"][:] = directions

    def __call__(self, t: float, y: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """Return ẏ by (1)."""
        self.set_directions(directions)
        self.rate.time[()], self.rate.y[:] = t, y
        return self.rate().copy()

    def stepper(self, method: str, rhs: Rhs | Rate | None = None) -> Stepper:
        """Return the stepper for (1), or for another rate of the same states: compiled, or a Python function."""
        rate = self.rate if rhs is None else rhs if isinstance(rhs, Rate) else self._python_rate
        self._rhs = None if isinstance(rhs, Rate) else rhs
        key = (method, id(rate))
        if key not in self._steppers:
            self._steppers[key] = Stepper(method, rate)
        return self._steppers[key]

    def _input_callback(self) -> Callable[[], None]:
        """Return the function that evaluates the inputs before each evaluation of the rate.

        Most of the time of a run with a fast torque function is spent in it.
        """
        state_q, state_w, time, update, tau = self._q, self._w, self.rate.time, self.inputs.update, self.inputs.tau
        spans, velocities = self.quaternions, self.states.velocities if self.states.projects else None
        hold, law = self.hold if self.inputs.motions or self.dyn.wrenches else None, self.inputs.only_law

        def update_inputs() -> None:
            q, w = state_q.copy(), state_w.copy()
            for span in spans:  # as `normalised`
                part = q[span]
                part /= math.sqrt(part.dot(part))
            v = w if velocities is None else velocities(q, w)
            if law is not None:
                tau[:] = law(time.item(), q, v)
            else:
                update(time.item(), q, v)
            if hold is not None:
                hold()

        return update_inputs

    @cached_property
    def _python_rate(self) -> Rate:
        """The rate that calls the current `rhs`."""

        def evaluate() -> None:
            assert self._rhs is not None
            rate.slope[:] = self._rhs(rate.time.item(), rate.y)

        rate = Rate.called(self.nq + self.nw, evaluate)
        return rate
