"""The rate of a phase in machine code: kernels of robot, contacts and drives, then the equations (1) of `phase`.

The kernels write into the arrays of the geometry, so that rows, speeds and forces can be read after an evaluation. Rows
of features of shapes follow from the motion of two bodies; a sliding contact mixes its normal row with its tangents.
Everything that differs between phases is data (`appell.compile.ode.rows`): a change of phase compiles nothing.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from appell.algebra.scalar import minimum, sqrt
from appell.compile.function import Function
from appell.compile.native.machine import Code
from appell.compile.ode.rows import RowSystem, solver
from appell.simulation.contact.geometry import Geometry
from appell.simulation.flow import FreeMotion

if TYPE_CHECKING:
    from appell.simulation.events.phase import Phase

STABILISATION = 30.0  # κ, 1/s
SLOW_SLIDING_M_S = 1e-3  # below this speed, the direction of sliding is blended with the one at its start
Call = tuple[Code, list[np.ndarray]]


class PhaseRate:
    """The rate of the phase that was loaded last. `rate` is a rate of the states of the free motion."""

    def __init__(self, flow: FreeMotion, geometry: Geometry):
        self.flow, self.geometry = flow, geometry
        self.rate = flow.rate.replaced(solver())
        self.rows: RowSystem
        self.forces = np.zeros(0)  # at the last evaluation, in the order of the rows
        self._loaded: tuple[Phase, int] | None = None
        self._directions = np.zeros((0, 3))
        self._calls: list[Call] = []  # that all phases have in common, for a version of the geometry
        self._version = -1

    def load(self, phase: Phase) -> None:
        """Use the rows of a phase."""
        if self._loaded is None or self._loaded[0] is not phase or self._loaded[1] != self.geometry.version:
            self._load(phase)
            self.turn(phase)

    def turn(self, phase: Phase) -> None:
        """Use the current directions of sliding of the loaded phase."""
        for k, (_, rest) in enumerate(phase.sliding):
            self._directions[k] = rest.direction

    def _load(self, phase: Phase) -> None:
        geometry, flow, nq = self.geometry, self.flow, self.flow.nq
        rows, slots = phase.rows, phase.slots
        if self._version != geometry.version:
            assert flow.rate.code is not None
            self._calls = [(flow.rate.code, flow.rate.operands), *geometry.calls(flow.rate.y[:nq], flow.rate.y[nq:])]
            self._version = geometry.version
        calls = self._calls.copy()
        mixed = np.array([k for k, _ in phase.sliding], int)
        mix, self._directions = np.zeros((len(mixed), 2)), np.zeros((len(mixed), 3))
        for k, (j, rest) in enumerate(phase.sliding):
            row, slot = rows[j], slots[j]
            operands = [geometry.speed[row + 1 : row + 3], geometry.frame[slot, 1:], self._directions[k]]
            calls.append((sliding_kernel().kernel(), [*operands, np.array(rest.friction), mix[k]]))
        arrays = {
            "M": geometry.M,
            "array": geometry.B,
            "drift": geometry.drift,
            "speed": geometry.speed,
            "gap": geometry.gap,
            "slope": geometry.slope,
            "rows": rows.astype(np.int64),
            "slots": slots.astype(np.int64),
            "mixed": mixed,
            "mix": mix,
            "locked": phase.locked.astype(np.int64),
            "a": flow.rate.slope[nq:],
        }
        self.rows = RowSystem(calls, arrays, 2.0 * STABILISATION, STABILISATION**2)
        self.forces = self.rows.forces
        self.rate.addresses[0] = self.rows.cells.array.ctypes.data
        self._loaded = phase, geometry.version

    @property
    def rank(self) -> int:
        """Number of independent rows at the last evaluation."""
        return self.rows.rank

    def __call__(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return ẏ; the next evaluation overwrites it."""
        self.rate.time[()], self.rate.y[:] = t, y
        return self.rate()


@cache
def sliding_kernel() -> Function:
    """Return the function of the direction of sliding in the two tangents, times the coefficient of friction.

    It is continued past a stop, so that the rate stays smooth up to it. A point that has just started to slide turns
    into the direction of its acceleration almost at once, which is stiff. Below SLOW_SLIDING_M_S the direction is
    therefore projected near the one at the start of sliding.
    """

    def body(speed, tangents, start, friction):
        along, across = (sum(a * b for a, b in zip(tangent, start, strict=True)) for tangent in tangents)
        x, y = speed
        ahead = x * along + y * across
        back = minimum(ahead, 0.0)
        x, y = x - back * along, y - back * across
        share = SLOW_SLIDING_M_S**2 / (SLOW_SLIDING_M_S + sqrt(x * x + y * y))
        x, y = x + share * along, y + share * across
        scale = friction / sqrt(x * x + y * y)
        return {"mix": [scale * x, scale * y]}

    return Function.of("sliding_direction", {"speed": 2, "tangents": (2, 3), "start": 3, "friction": ()}, body)
