"""The equations of motion as an ordinary differential equation, y = (q, v).

    q̇ = N(q) v            v̇ = a(q, v, τ)                                                                      (1)

Both sides are compiled kernels on arrays of their own, so that one evaluation costs about what it costs Python to call.
A quaternion enters the kernels at any length; it keeps its length along (1) and is given out as a unit quaternion.
"""

from __future__ import annotations

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.simulation.inputs import Inputs


class FreeMotion:
    """The right-hand side of (1) for a free robot, and what belongs to it."""

    def __init__(self, dyn: Dynamics, inputs: Inputs):
        self.dyn, self.system, self.inputs = dyn, dyn.system, inputs
        self.nq, self.nv, self.nu = dyn.system.nq, dyn.system.nv, dyn.system.nu
        self.forward = pushed(dyn).bind()
        self.hold()
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
        if self.inputs.asks:
            self.inputs.ask(t, q, v)
        return self.inputs.tau.copy()

    def hold(self) -> None:
        """Take over what the inputs are now."""
        self.forward.tau[:] = self.inputs.tau
        if self.dyn.wrenches:
            self.forward.wrench[:] = self.inputs.wrench

    def tick(self, t: float, y: np.ndarray) -> None:
        """Ask the sampled law."""
        self.inputs.tick(t, *self.split(y))
        self.hold()

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        """ẏ (1)."""
        nq, forward, rate = self.nq, self.forward, self.rate
        forward.q[:], forward.v[:] = y[:nq], y[nq:]
        if self.inputs.asks:
            self.inputs.ask(t, self.normalised(np.array(y[:nq])), y[nq:])
            self.hold()
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


def pushed(dyn: Dynamics) -> Function:
    """Forward dynamics with all wrenches in one argument, because frames may have names that arguments cannot have."""
    if not dyn.wrenches:
        return dyn.forward_dynamics
    system, frames = dyn.system, [dyn.system.frame(name) for name in dyn.wrenches]

    def body(q, v, tau, wrench):
        parts = {frame: wrench[6 * k : 6 * k + 6] for k, frame in enumerate(frames)}
        return {"a": dyn.equations.acceleration(q, v, tau, parts)}

    sizes = {"q": system.nq, "v": system.nv, "tau": system.nu, "wrench": 6 * len(frames)}
    return Function.of("pushed_forward_dynamics", sizes, body, "a(q, v, tau, wrench).", system.owner)
