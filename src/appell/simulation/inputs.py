"""What acts on a system during a run: the forces of its actuators, wrenches on its frames, motions that are prescribed.

All are arrays that hold until they are changed: at a tick of a sampled law, or at every instant if they are functions
of the state. Whatever a function gives is checked; a wrong answer ends the run, and the message says when and where.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from appell.dynamics import Dynamics
from appell.errors import ArgumentError, unknown_name
from appell.simulation.prescribed import PrescribedMotions
from appell.simulation.sampled import Sampled
from appell.simulation.torque import checked, constant_torque, fixed

COMPONENTS = ("fx", "fy", "fz", "mx", "my", "mz")
NEAR = 1e-12  # s, relative to times above 1: a tick nearer to the end than this has nothing left to act on


class Inputs:
    """`tau` (nu), `wrench` (six a frame) and `prescribed` (three a motion) as they are now.

    `asks` if some of them are functions of time and state.
    """

    def __init__(
        self,
        dyn: Dynamics,
        torque: Any,
        wrenches: Mapping[str, Any] | None,
        saturate: bool,
        start: float,
        prescribed: Mapping[str, Any] | None = None,
    ):
        system = dyn.system
        self.limits = np.array([actuator.torque_limit for actuator in system.actuators]) if saturate else None
        self.sampled = torque if isinstance(torque, Sampled) else None
        self.start, self.ticks = start, 0
        law = self.sampled.law if self.sampled else torque
        self._law = checked(law, "torque", system.actuator_names, system.owner) if callable(law) else None
        self.tau = np.zeros(system.nu) if self._law else self._cut(constant_torque(system, law))
        self.wrench = np.zeros(6 * len(dyn.wrenches))
        self._pushes = self._wrenches(dyn, wrenches or {})
        self.motions = PrescribedMotions(system, prescribed, start)
        self.prescribed = self.motions(start)
        self.asks = bool(self._pushes) or bool(self.motions) or (self._law is not None and self.sampled is None)

    def _wrenches(self, dyn: Dynamics, given: Mapping[str, Any]) -> list[tuple[slice, Callable]]:
        """Keep the wrenches that do not change, and give those that do with their places."""
        owner, frames = dyn.system.owner, dyn.wrenches
        for name in given:
            if name not in frames:
                raise ArgumentError(
                    unknown_name("wrench on", str(name), frames, f"the Dynamics of {owner}")
                    if frames
                    else f"the Dynamics of {owner} expect no wrenches, and there is one on {name!r}.",
                    hint=f"Dynamics(robot, wrenches={[*given]!r}), or simulate(robot, ...)",
                )
        if missing := [name for name in frames if name not in given]:
            raise ArgumentError(
                f"no wrench is given on {', '.join(missing)}, which the Dynamics of {owner} expect.",
                expected="wrenches={frame: six numbers (force, moment), or a function of (t, q, v) that gives them}",
            )
        functions = []
        for k, name in enumerate(frames):
            place, wrench, what = slice(6 * k, 6 * k + 6), given[name], f"the wrench on {name}"
            if callable(wrench):
                functions.append((place, checked(wrench, what, COMPONENTS, owner)))
            else:
                self.wrench[place] = fixed(wrench, what, COMPONENTS, owner)
        return functions

    def _cut(self, tau: np.ndarray) -> np.ndarray:
        return tau if self.limits is None else np.clip(tau, -self.limits, self.limits)

    def ask(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Take what the functions of the state give now."""
        if self._law is not None and self.sampled is None:
            self.tau[:] = self._cut(self._law(t, q, v))
        for place, push in self._pushes:
            self.wrench[place] = push(t, q, v)
        if self.motions:
            self.prescribed[:] = self.motions(t)

    def next_tick(self, until: float) -> float:
        """When the law is to be asked next, infinity if it is not before `until`."""
        if self.sampled is None:
            return np.inf
        tick = self.start + self.ticks * self.sampled.period
        return tick if tick < until - NEAR * max(1.0, abs(until)) else np.inf

    def tick(self, t: float, q: np.ndarray, v: np.ndarray) -> None:
        """Ask the sampled law, and hold what it gives."""
        assert self._law is not None
        self.ticks += 1
        self.tau[:] = self._cut(self._law(t, q, v))
