"""Where rows of constraints stop being independent on a step: the motion is not determined beyond.

    d(q) = det K Kᵀ over its value at the better end of the step                                                (1)

of the rows that carry forces falls to zero there and rises again, smoothly, so that the dip is found on the dense
output of a step however narrow it is.
"""

from __future__ import annotations

import numpy as np

from appell.simulation.states import States
from appell.simulation.status import Status, Stop

DIP = 1e-8  # of d: the square of what is left of a row


class Singularities:
    """The rows of a run's states, if there are any."""

    kind = "singularity"

    def __init__(self, states: States):
        self.states = states
        self.names = ("rows",) if states.keeps else ()
        self._seen: np.ndarray | None = None

    def values(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        return np.exp(self.states.volume(states[:, : self.states.nq]))[:, None] - DIP

    def value(self, t: float, y: np.ndarray, k: int) -> float:
        self._seen = y[: self.states.nq]
        return float(self.values(np.array([t]), y[None])[0, 0])

    def met(self, t: float, y: np.ndarray) -> str | None:
        return None

    def reached(self, t: float, k: int) -> Stop:
        assert self._seen is not None
        return Stop(
            Status.SINGULAR,
            f"{self.states.blamed(self._seen)} at t = {t:.9g}: beyond, the motion is not determined.",
            hint="ap.motion.singularity(robot, q) tells more",
            final=True,
        )
