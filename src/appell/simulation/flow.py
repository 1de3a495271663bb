"""The equations of motion as an ordinary differential equation, y = (q, v).

    q̇ = N(q) v            v̇ = a(q, v, τ, s)                                                                   (1)

Both sides are compiled kernels on arrays of their own, so that one evaluation costs about what it costs Python to call.
Where drives have dry friction, their directions s are held while a phase lasts, and (1) is smooth.
A quaternion enters the kernels at any length; it keeps its length along (1) and is given out as a unit quaternion.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.simulation.drives import Drives
from appell.simulation.torque import checked_torque, constant_torque


class FreeMotion:
    """The right-hand side of (1) for a free robot, and what belongs to it."""

    def __init__(self, dyn: Dynamics, torque: Any):
        self.dyn, self.system = dyn, dyn.system
        self.nq, self.nv, self.nu = dyn.system.nq, dyn.system.nv, dyn.system.nu
        self.steady = constant_torque(dyn.system, torque)
        self.torque = None if self.steady is not None else checked_torque(dyn.system, torque)
        self.drives = Drives(dyn)
        self.forward = (self.drives.dynamics if len(self.drives) else dyn.forward_dynamics).bind()
        if self.steady is not None:
            self.forward.tau[:] = self.steady
        self.rate = None if dyn.system.is_flat else dyn.coordinate_rate.bind()

    def normalised(self, q: np.ndarray) -> np.ndarray:
        """q with unit quaternions; in place, any batch."""
        for span in self.system.quaternions:
            q[..., span] /= np.linalg.norm(q[..., span], axis=-1, keepdims=True)
        return q

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(q, v) of states (..., nq + nv), with unit quaternions."""
        return self.normalised(np.array(y[..., : self.nq])), np.array(y[..., self.nq :])

    def forces(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """τ at one instant."""
        return np.array(self.steady if self.torque is None else self.torque(t, q, v))

    def __call__(self, t: float, y: np.ndarray, directions: np.ndarray) -> np.ndarray:
        """ẏ (1)."""
        nq, forward, rate = self.nq, self.forward, self.rate
        if len(directions):
            forward.s[:] = directions
        forward.q[:], forward.v[:] = y[:nq], y[nq:]
        if self.torque is not None:
            forward.tau[:] = self.torque(t, self.normalised(np.array(y[:nq])), y[nq:])
        forward()
        found = np.empty(len(y))
        found[nq:] = forward.a
        if rate is None:
            found[:nq] = y[nq:]
        else:
            rate.q[:], rate.v[:] = y[:nq], y[nq:]
            rate()
            found[:nq] = rate.rate
        return found
