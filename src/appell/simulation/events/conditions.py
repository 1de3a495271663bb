"""Conditions that end a run early: stop conditions of the user, legs at the end of their range, singular constraints.

All are functions of time and state; their zero crossings on the dense output of every step are located to rounding
error, like contacts. A leg is at the end of its range when its remaining length falls below REACH_MARGIN: beyond the
end, the coordinates of a mechanism have no velocity, and steps become shorter and shorter towards it.

Where constraint rows cease to be independent, the motion is not determined beyond that point:

    d(q) = det K Kᵀ divided by its larger value at the two ends of the step                                     (1)

of the rows that carry forces falls to zero there and rises again smoothly, so that the minimum is found on the dense
output of a step however narrow it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from appell.compile.function import Function
from appell.dynamics import Dynamics
from appell.errors import ArgumentError
from appell.motion.curve import Piece, nodes
from appell.motion.event import Event
from appell.simulation.events.isolate import first_crossing
from appell.simulation.flow import FreeMotion
from appell.simulation.states import SINGULARITY_HINT, States
from appell.simulation.status import Status, Stop

REACH_MARGIN = 1e-6  # of a leg's size at home
SINGULAR_VOLUME = 1e-8  # value of d at which rows count as dependent: the square of the independent part of a row


class Conditions:
    """The user's stop conditions, by name; a run must start with all of them at or above zero."""

    kind = "stop"

    def __init__(self, given: Callable | Mapping[str, Callable] | None, flow: FreeMotion, t: float, y: np.ndarray):
        named = {} if given is None else given if isinstance(given, Mapping) else {"stop": given}
        for name, function in named.items():
            if not isinstance(name, str) or not callable(function):
                raise ArgumentError(
                    f"stop contains {name!r}: {function!r}.",
                    expected="a function of (t, q, v) that falls below zero where the run ends, or several by name",
                )
        self.names, self.functions, self.flow = tuple(named), tuple(named.values()), flow
        if (below := self.met(t, y)) is not None:
            raise ArgumentError(
                f"stop condition '{below}' is below zero at the start.",
                expected="a function that is positive while the run is to continue",
            )

    def value(self, t: float, y: np.ndarray, k: int) -> float:
        given: Any = self.functions[k](float(t), *self.flow.q_and_v(y))
        try:
            value = float(given)
        except (TypeError, ValueError):
            value = np.nan
        if not np.isfinite(value):
            raise Stop(
                Status.INPUT,
                f"stop condition '{self.names[k]}' returned {given!r} at t = {t:.9g}.",
                expected="a number",
            )
        return value

    def values(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return the values of all conditions, (times, conditions)."""
        rows = zip(times, states, strict=True)
        return np.array([[self.value(t, y, k) for k in range(len(self.names))] for t, y in rows])

    def met(self, t: float, y: np.ndarray) -> str | None:
        """Return the name of the first condition that is below zero, or None."""
        return next((name for k, name in enumerate(self.names) if self.value(t, y, k) < 0.0), None)

    def reached(self, t: float, k: int) -> Stop:
        return Stop(Status.STOPPED, f"Condition '{self.names[k]}' fell below zero at t = {t:.9g}.")


class LegRanges:
    """The legs of a mechanism: the distance of each from its shortest and from its longest length."""

    kind = "end of reach"

    def __init__(self, dyn: Dynamics, flow: FreeMotion):
        system = dyn.system
        legs = tuple(system.reaches)
        self.names, self.flow = tuple(f"{leg.leg}, {leg.part}" for leg in legs for _ in range(2)), flow

        def body(q):
            sizes = list(system.reach_sizes(q))
            return {"margin": [x for size, shortest, longest in sizes for x in (size - shortest, longest - size)]}

        def make() -> Function:
            return Function.of("margins", {"q": system.nq}, body, owner=system.owner)

        self.margins = dyn.named(("reach_margins",), make) if legs else None
        home = [abs(size[0]) for size in system.reach_sizes(system.start.tolist())] if legs else []
        self.limit = REACH_MARGIN * np.repeat(np.maximum(home, 1e-3), 2)

    def values(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        assert self.margins is not None
        return self.margins(states[:, : self.flow.nq]) - self.limit

    def value(self, t: float, y: np.ndarray, k: int) -> float:
        return float(self.values(np.array([t]), y[None])[0, k])

    def met(self, t: float, y: np.ndarray) -> str | None:
        if self.margins is None:
            return None
        values = self.values(np.array([t]), y[None])[0]
        return None if (values >= 0.0).all() else self.names[int(np.argmax(~(values >= 0.0)))]

    def reached(self, t: float, k: int) -> Stop:
        return Stop(Status.REACH, f"The leg is {self.names[k]}, of {self.flow.system.owner}, at t = {t:.9g}.")


class Singularities:
    """Singular configurations of the constraint rows, if there are any rows: zeros of (1)."""

    kind = "singularity"

    def __init__(self, states: States):
        self.states = states
        self.names = ("rows",) if states.projects else ()
        self._q: np.ndarray | None = None  # configuration of the last evaluation, for the message

    def values(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        return np.exp(self.states.log_volume(states[:, : self.states.nq]))[:, None] - SINGULAR_VOLUME

    def value(self, t: float, y: np.ndarray, k: int) -> float:
        self._q = y[: self.states.nq]
        return float(self.values(np.array([t]), y[None])[0, 0])

    def met(self, t: float, y: np.ndarray) -> str | None:
        return None

    def reached(self, t: float, k: int) -> Stop:
        assert self._q is not None
        return Stop(
            Status.SINGULAR,
            f"{self.states.singular_row(self._q)} at t = {t:.9g}; beyond this time the motion is not determined.",
            hint=SINGULARITY_HINT,
            final=True,
        )


Group = Conditions | LegRanges | Singularities


@dataclass(frozen=True)
class Ending:
    """Early end of a run: its time, the event for the record, and the signal to raise."""

    time: float
    event: Event
    stop: Stop


class Endings:
    """All conditions that may end a run during a step."""

    def __init__(self, *groups: Group):
        self.groups = [group for group in groups if group.names]

    def first(self, piece: Piece, until: float) -> Ending | None:
        """Return the earliest ending on a piece up to `until`, or None."""
        endings = []
        for group in self.groups:
            sample, value = partial(_sample, group, piece), partial(_value, group, piece)
            if until > piece.start and (crossing := first_crossing(sample, value, piece.start, until)) is not None:
                endings.append(_ending(group, *crossing))
        return min(endings, key=lambda ending: ending.time, default=None)

    def met(self, t: float, y: np.ndarray) -> Ending | None:
        """Return the ending of the first condition that is met at a state, or None."""
        for group in self.groups:
            if (name := group.met(t, y)) is not None:
                return _ending(group, t, group.names.index(name))
        return None


def _ending(group: Group, t: float, k: int) -> Ending:
    return Ending(t, Event(time=t, kind=group.kind, note=group.names[k]), group.reached(t, k))


def _sample(group: Group, piece: Piece, low: float, high: float, degree: int) -> np.ndarray:
    times = low + (high - low) * 0.5 * (1.0 + nodes(degree))
    values = group.values(times, piece.over(low, high, degree))
    return np.nan_to_num(values, nan=-1.0, posinf=1.0)  # beyond the end of its range, a leg may have no length


def _value(group: Group, piece: Piece, t: float, k: int) -> float:
    return group.value(t, piece.at(t), k)
