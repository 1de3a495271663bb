"""What a motion asks of a system, every quantity over its limit, so that 1 is what it may have.

    position, velocity, acceleration     of the coordinates
    speed, torque                        of the actuators, where they are limited
    reach                                of the legs of a mechanism: 1 at their clearance, more beyond it
    place of <frame>                     in its box

Each comes with the way by which a derivative by it goes back to q, v and a.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from appell.compile.function import Function
from appell.identify.base.reduce import BaseParameters
from appell.identify.excitation.bounds import MotionBounds
from appell.identify.sought import QVA
from appell.model.mechanism import Mechanism

FAR = 1e3  # the load of a torque that no motion can have
Back = Callable[[np.ndarray], tuple]
Load = tuple[str, np.ndarray, Back]  # what, (instants, n), from a derivative by it to those by q, v, a


class Loads:
    """The loads of motions of one system; the base parameters' nominal values give the torques."""

    def __init__(self, base: BaseParameters, bounds: MotionBounds, pull_back: Function):
        self.bounds, self.regressor, self.beta, self.torque_back = bounds, base.regressor, base.values(), pull_back
        dynamics, system = base.sought.dynamics, base.sought.system
        self.speed, self.margins = None, None
        if np.isfinite(bounds.speed).any() and system.actuator_names != system.velocity_names:
            self.speed = dynamics.function(
                "actuator_rates", "q v", lambda e, q, v: {"rate": e.drive_rates(q, v)}, inertial=False
            )
            self.speed_back = self.speed.pullback("q", "v")
        if isinstance(system, Mechanism) and system.reaches:
            values = np.array([reach.values(system.start.tolist()) for reach in system.reaches])
            self.half = 0.5 * (values[:, 2] - values[:, 1])  # of the way between the ends of a leg's reach, at home
            self.margins = dynamics.function("margins", "q", lambda e, q: _margins(system, q), inertial=False)
            self.margins_back = self.margins.pullback("q")
        poses = {name: dynamics.pose(name) for name in bounds.workspace}
        self.frames = {name: (pose, pose.jacobian("q")) for name, pose in poses.items()}

    def __call__(self, motion: QVA) -> Iterator[Load]:
        q, v, a = motion
        b, zero = self.bounds, np.zeros_like(q)
        middle, half = 0.5 * (b.lower + b.upper), 0.5 * (b.upper - b.lower)
        for sign in (1.0, -1.0):
            yield "position", sign * (q - middle) / half, _scaled(lambda w: (w, zero, zero), sign / half)
            yield "velocity", sign * v / b.velocity, _scaled(lambda w: (zero, w, zero), sign / b.velocity)
            yield "acceleration", sign * a / b.acceleration, _scaled(lambda w: (zero, zero, w), sign / b.acceleration)
            with np.errstate(invalid="ignore"):
                yield from self._torques(q, v, a, sign)
                yield from self._speeds(q, v, sign)
        if self.margins is not None:
            clear = b.clearance * np.tile(self.half, 2)
            scale = 1.0 / (np.tile(self.half, 2) - clear)
            load = 1.0 - (np.asarray(self.margins(q)) - clear) * scale
            yield "reach", load, _scaled(lambda w: (self.margins_back(q, w), zero, zero), -scale)
        for name in self.frames:
            yield from self._places(name, q)

    def _torques(self, q, v, a, sign: float) -> Iterator[Load]:
        limited = np.isfinite(self.bounds.torque)
        if limited.any():
            tau = np.asarray(self.regressor(q, v, a)) @ self.beta
            scale = np.where(limited, sign / np.where(limited, self.bounds.torque, 1.0), 0.0)
            load = np.nan_to_num(tau * scale, nan=FAR)
            yield "torque", load, _scaled(lambda w: self.torque_back(q, v, a, w[..., None] * self.beta), scale)

    def _speeds(self, q, v, sign: float) -> Iterator[Load]:
        if self.speed is not None:
            scale = sign / self.bounds.speed
            load = np.nan_to_num(np.asarray(self.speed(q, v)) * scale, nan=FAR)
            yield "speed", load, _scaled(lambda w: (*self.speed_back(q, v, w), np.zeros_like(q)), scale)

    def _places(self, name: str, q) -> Iterator[Load]:
        (pose, derivative), box, zero = self.frames[name], self.bounds.workspace[name], np.zeros_like(q)
        lower, upper = (np.asarray(corner, float) for corner in box)
        middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        place = (np.asarray(pose(q))[:, :3, 3] - middle) / half
        J = np.asarray(derivative(q))[:, :3, 3, :]
        for sign in (1.0, -1.0):
            back = _scaled(lambda w: (np.einsum("ti,tij->tj", w, J), zero, zero), sign / half)
            yield f"place of {name}", sign * place, back


def _scaled(back: Back, scale: np.ndarray) -> Back:
    """The way back of a quantity multiplied by `scale`."""
    return lambda w: back(w * scale)


def _margins(mechanism: Mechanism, q):
    """By how much every leg is longer than its least, then shorter than its most."""
    sizes = [reach.values(q) for reach in mechanism.reaches]
    return {"margin": [size - least for size, least, _ in sizes] + [most - size for size, _, most in sizes]}
