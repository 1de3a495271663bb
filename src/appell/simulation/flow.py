"""The equations of motion as an ordinary differential equation, y = (q, v).

    q̇ = N(q) v            v̇ = a(q, v, τ, …)                                                                   (1)

Both sides are one compiled kernel, which a stepper calls from machine code. Its first two inputs are y; all others, τ
and whatever else there is, are arrays `rate.held[name]` that stay as they are along a stretch: who changes them begins
a new one. The directions s of drives with dry friction are such, and belong to a phase. Only a torque that is a
function is asked before every evaluation, and fills `tau`.

A quaternion enters the kernels at any length; it keeps its length along (1) and is given out as a unit quaternion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from appell.compile.stepper.rate import Rate
from appell.compile.stepper.stepper import Stepper
from appell.dynamics import Dynamics
from appell.simulation.drives import Drives
from appell.simulation.torque import checked_torque, constant_torque

Rhs = Callable[[float, np.ndarray], np.ndarray]


class FreeMotion:
    """The right-hand side of (1) for a free robot, and what belongs to it."""

    def __init__(self, dyn: Dynamics, torque: Any):
        self.dyn, self.system, self.quaternions = dyn, dyn.system, dyn.system.quaternions
        self.nq, self.nv, self.nu = dyn.system.nq, dyn.system.nv, dyn.system.nu
        self.steady = constant_torque(dyn.system, torque)
        self.torque = None if self.steady is not None else checked_torque(dyn.system, torque)
        self.drives = Drives(dyn)
        kernel = self.drives.state_rate if len(self.drives) else dyn.state_rate
        self.rate = Rate.compiled(kernel, 2, None if self.torque is None else self._ask)
        if self.steady is not None:
            self.rate.held["tau"][:] = self.steady
        self._called = Rate.called(self.nq + self.nv, self._answer)
        self._rhs: Rhs | None = None
        self._steppers: dict[tuple[str, bool], Stepper] = {}

    def normalised(self, q: np.ndarray) -> np.ndarray:
        """q with unit quaternions; in place, any batch."""
        for span in self.quaternions:
            part = q[..., span]
            part /= math.sqrt(part @ part) if q.ndim == 1 else np.linalg.norm(part, axis=-1, keepdims=True)
        return q

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) of states (..., nq + nv), with unit quaternions."""
        return self.normalised(np.array(y[..., : self.nq])), np.array(y[..., self.nq :])

    def forces(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """τ at one instant."""
        return np.array(self.steady if self.torque is None else self.torque(t, q, v))

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
        """Fill τ for the evaluation that follows."""
        rate, nq = self.rate, self.nq
        assert self.torque is not None
        rate.held["tau"][:] = self.torque(rate.time.item(), self.normalised(rate.y[:nq].copy()), rate.y[nq:])

    def _answer(self) -> None:
        assert self._rhs is not None
        self._called.slope[:] = self._rhs(self._called.time.item(), self._called.y)
