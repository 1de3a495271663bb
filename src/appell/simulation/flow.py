"""The equations of motion as an ordinary differential equation, y = (q, w).

    q̇ = N(q) w            ẇ = a(q, w, τ, …)                                                                   (1)

w are the velocities v of the system, or more under constraints; `states` knows which, and how they are kept. Both sides
are one compiled kernel, which a stepper calls from machine code. Its first two inputs are y; all others, τ and whatever
else there is, are arrays `rate.held[name]` that stay as they are along a stretch: who changes them begins a new one.
Only what is a function of time or state is asked before every evaluation. Where drives have dry friction, their
directions s are held while a phase lasts, and (1) is smooth.

A quaternion starts at unit length, keeps it along (1) but for the errors of steps, and is given out at unit length.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import numpy as np

from appell.compile.ode.stepper import Rate, Stepper
from appell.dynamics import Dynamics
from appell.simulation.drives import Drives
from appell.simulation.inputs import Inputs
from appell.simulation.states import states_of

Rhs = Callable[[float, np.ndarray], np.ndarray]


class FreeMotion:
    """The right-hand side of (1) for a free robot, and what belongs to it."""

    def __init__(self, dyn: Dynamics, inputs: Inputs):
        self.dyn, self.system, self.inputs = dyn, dyn.system, inputs
        self.quaternions = dyn.system.quaternions
        self.states = states_of(dyn.system, dyn, inputs.motions)
        self.nq, self.nw, self.nu = self.states.nq, self.states.nw, dyn.system.nu
        self.drives = Drives(self.states.moving)
        self.rate = Rate.compiled(self.states.rate(bool(len(self.drives))), 2, self._ask if inputs.asks else None)
        self._q, self._w = self.rate.y[: self.nq], self.rate.y[self.nq :]
        self.hold()
        self._rhs: Rhs | None = None
        self._steppers: dict[tuple[str, bool], Stepper] = {}

    def normalised(self, q: np.ndarray) -> np.ndarray:
        """q with unit quaternions; in place, any batch."""
        for span in self.quaternions:
            part = q[..., span]
            part /= math.sqrt(part @ part) if q.ndim == 1 else np.linalg.norm(part, axis=-1, keepdims=True)
        return q

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, w) of states (..., nq + nw), with unit quaternions."""
        return self.normalised(np.array(y[..., : self.nq])), np.array(y[..., self.nq :])

    def seen(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) of states, as everybody but the integrator sees them."""
        q, w = self.split(y)
        return q, self.states.velocities(q, w)

    def kept(self, t: float, y: np.ndarray) -> np.ndarray:
        """The state that is meant by one that a step has led to."""
        return self.states.kept(t, y)

    def forces(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """τ at one instant."""
        if self.inputs.asks:
            self.inputs.ask(t, q, v)
        return self.inputs.tau.copy()

    def hold(self) -> None:
        """Take over what the inputs are now."""
        held = self.rate.held
        held["tau"][:] = self.inputs.tau
        if self.inputs.motions:
            held["prescribed"][:] = self.inputs.prescribed
        for k, frame in enumerate(self.dyn.wrenches):
            held[f"wrench_{frame}"][:] = self.inputs.wrench[6 * k : 6 * k + 6]

    def tick(self, t: float, y: np.ndarray) -> None:
        """Ask the sampled law."""
        self.inputs.tick(t, *self.seen(y))
        self.hold()

    def slide(self, directions: np.ndarray) -> None:
        """Give the dry drives their directions from now on."""
        if len(directions):
            self.rate.held["s"][:] = directions

    def __call__(self, t: float, y: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """ẏ (1)."""
        self.slide(directions)
        self.rate.time[()], self.rate.y[:] = t, y
        return self.rate().copy()

    def stepper(self, method: str, rhs: Rhs | None = None) -> Stepper:
        """The stepper for (1), or for another rate of the same states that Python computes; there is one of each."""
        self._rhs = rhs
        key = (method, rhs is None)
        if key not in self._steppers:
            self._steppers[key] = Stepper(method, self._called if rhs else self.rate)
        return self._steppers[key]

    def _ask(self) -> None:
        """Take over what functions of the state give for the evaluation that follows."""
        q = self.normalised(self._q.copy()) if self.quaternions else self._q
        self.inputs.ask(self.rate.time.item(), q, self.states.velocities(q, self._w))
        self.hold()

    @cached_property
    def _called(self) -> Rate:
        """The rate that Python computes."""

        def answer() -> None:
            assert self._rhs is not None
            rate.slope[:] = self._rhs(rate.time.item(), rate.y)

        rate = Rate.called(self.nq + self.nw, answer)
        return rate
