"""What a run keeps: rows at its steps or at the times that were asked for, pieces between them, events."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from appell.motion.curve import Piece
from appell.motion.event import Event
from appell.simulation.flow import FreeMotion


@dataclass
class History:
    """Rows (times, states, forces), pieces and events; `wanted` are the only times of rows, if there are any."""

    flow: FreeMotion
    wanted: np.ndarray | None = None
    due: int = 0  # which of the wanted times comes next
    times: list[float] = field(default_factory=list)
    states: list[np.ndarray] = field(default_factory=list)
    forces: list[np.ndarray] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    def note(self, t: float, y: np.ndarray) -> None:
        """The state now; of two at a wanted time, the later stays."""
        if self.wanted is None:
            self._row(t, y)
        elif self.times and self.times[-1] == t:
            self.states[-1] = y
            self.forces[-1] = self._forces(t, y)
        elif self.due < len(self.wanted) and self.wanted[self.due] == t:
            self.due += 1
            self._row(t, y)

    def passed(self, piece: Piece) -> None:
        """The way up to where a piece stops being valid, its end apart."""
        self.pieces.append(piece)
        while self.wanted is not None and self.due < len(self.wanted) and self.wanted[self.due] < piece.stop:
            t = float(self.wanted[self.due])
            self.due += 1
            self._row(t, self.flow.kept(t, piece.at(t)))

    def _row(self, t: float, y: np.ndarray) -> None:
        self.times.append(t)
        self.states.append(y)
        if not self.flow.inputs.asks:
            self.forces.append(self.flow.inputs.tau.copy())
            return
        self.forces.append(np.full(self.flow.nu, np.nan))  # what is left if the torque has no answer here
        self.forces[-1] = self._forces(t, y)

    def _forces(self, t: float, y: np.ndarray) -> np.ndarray:
        return self.flow.forces(t, *self.flow.seen(y))
