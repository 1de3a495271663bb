"""What ends a run on its way: conditions of the user that fall below zero, ends of reach, singular rows.

All are functions of time and state, watched on the dense output of every step and found there to rounding, as walls
are. A leg counts as stretched when REACH is left: the coordinates of a mechanism have no velocity beyond that place,
and the nearer it is, the less a step can do.

Where rows of constraints stop being independent, the motion is not determined beyond:

    d(q) = det K Kᵀ over its value at the better end of the step                                                (1)

of the rows that carry forces falls to zero there and rises again, smoothly, so that the dip is found on the dense
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
from appell.simulation.states import States
from appell.simulation.status import Status, Stop

REACH = 1e-6  # of a leg's size
DIP = 1e-8  # of d: the square of what is left of a row


class Conditions:
    """The user's conditions, by name."""

    kind = "stop"

    def __init__(self, given: Callable | Mapping[str, Callable] | None, flow: FreeMotion, t: float, y: np.ndarray):
        named = {} if given is None else given if isinstance(given, Mapping) else {"stop": given}
        for name, function in named.items():
            if not isinstance(name, str) or not callable(function):
                raise ArgumentError(
                    f"stop holds {name!r}: {function!r}.",
                    expected="a function of (t, q, v) that falls below zero where the run ends, or several by name",
                )
        self.names, self.functions, self.flow = tuple(named), tuple(named.values()), flow
        if (below := self.met(t, y)) is not None:
            raise ArgumentError(
                f"stop condition '{below}' is below zero at the start.",
                expected="a function that is positive as long as the run is to go on",
            )

    def value(self, t: float, y: np.ndarray, k: int) -> float:
        given: Any = self.functions[k](float(t), *self.flow.seen(y))
        try:
            found = float(given)
        except (TypeError, ValueError):
            found = np.nan
        if not np.isfinite(found):
            raise Stop(
                Status.INPUT, f"stop condition '{self.names[k]}' gave {given!r} at t = {t:.9g}.", expected="a number"
            )
        return found

    def values(self, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        """(times, conditions)."""
        rows = zip(times, states, strict=True)
        return np.array([[self.value(t, y, k) for k in range(len(self.names))] for t, y in rows])

    def met(self, t: float, y: np.ndarray) -> str | None:
        """The first that is below zero."""
        return next((name for k, name in enumerate(self.names) if self.value(t, y, k) < 0.0), None)

    def reached(self, t: float, k: int) -> Stop:
        return Stop(Status.STOPPED, f"Condition '{self.names[k]}' fell below zero at t = {t:.9g}.")


class Reaches:
    """The legs of a mechanism, each at its least and at its most."""

    kind = "end of reach"

    def __init__(self, dyn: Dynamics, flow: FreeMotion):
        system = dyn.system
        legs = tuple(system.reaches)
        self.names, self.flow = tuple(f"{leg.leg}, {leg.part}" for leg in legs for _ in range(2)), flow

        def body(q):
            sizes = [leg.values(q) for leg in legs]
            return {"margin": [x for size, least, most in sizes for x in (size - least, most - size)]}

        self.margins = Function.of("margins", {"q": system.nq}, body, owner=system.owner) if legs else None
        home = [abs(leg.values(system.start.tolist())[0]) for leg in legs]
        self.limit = REACH * np.repeat(np.maximum(home, 1e-3), 2)

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
        return Stop(Status.REACH, f"It is leg {self.names[k]}, of {self.flow.system.owner}, at t = {t:.9g}.")


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
            hint="ap.kinematics.singularity(robot, q) tells more",
            final=True,
        )


Group = Conditions | Reaches | Singularities


@dataclass(frozen=True)
class Ending:
    """Where a run ends on its way, and why."""

    time: float
    event: Event
    stop: Stop


class Endings:
    """All that may end a run on a step."""

    def __init__(self, *groups: Group):
        self.groups = [group for group in groups if group.names]

    def first(self, piece: Piece, until: float) -> Ending | None:
        """The earliest on a piece, up to `until`."""
        found = []
        for group in self.groups:
            sample, value = partial(_sample, group, piece), partial(_value, group, piece)
            if until > piece.start and (crossing := first_crossing(sample, value, piece.start, until)) is not None:
                found.append(_ending(group, *crossing))
        return min(found, key=lambda ending: ending.time, default=None)

    def met(self, t: float, y: np.ndarray) -> Ending | None:
        """The first that holds at a state."""
        for group in self.groups:
            if (name := group.met(t, y)) is not None:
                return _ending(group, t, group.names.index(name))
        return None


def _ending(group: Group, t: float, k: int) -> Ending:
    return Ending(t, Event(time=t, kind=group.kind, note=group.names[k]), group.reached(t, k))


def _sample(group: Group, piece: Piece, low: float, high: float, degree: int) -> np.ndarray:
    times = low + (high - low) * 0.5 * (1.0 + nodes(degree))
    found = group.values(times, piece.over(low, high, degree))
    return np.nan_to_num(found, nan=-1.0, posinf=1.0)  # beyond its reach, a leg may have no size


def _value(group: Group, piece: Piece, t: float, k: int) -> float:
    return group.value(t, piece.at(t), k)
