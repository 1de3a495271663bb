"""Events of a record: impacts, changes of contacts, ends of runs, changes of a control loop's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np


def _empty() -> np.ndarray:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Event:
    """An event at one instant of a record.

    Parameters
    ----------
    time
        Time, s.
    kind
        In a simulation: "impact"; "rest" (points come to rest on their walls; `time` is the end of the series of ever
        smaller bounces); "release" (the contact force would pull, or the wall disappears); "stick" or "slip" (with
        friction); "stop" (a stop condition was met, whose name is the note); "end of reach" (of a mechanism's leg);
        "singularity" (of constraint rows); "large deflection" (a flexible link leaves the range of linear theory);
        "time stepping" (from here on rows are time steps, because many events occur); "event driven" (from here on
        events are exact again). In a control log: "state" or "fault".
    note
        Further text.
    points, surfaces
        Names of the points, and for each the index of its contact. A joint at its stop, or one whose dry friction
        sticks or slips, is listed by its name with surface -1.
    impulses
        Impulses along the normals, N s.
    normal_speeds
        Speeds of approach before the event, positive into the wall, zero for a point that was not approaching, m/s.
    frictions
        Tangential impulses as vectors in world axes, (points, 3), N s.
    angles
        Angles between velocity and normal before the event, degrees.
    v_before, v_after
        Velocities of the system before and after the event, (nv,).
    law
        Impact law: "energetic", "poisson", "newton-path" or "newton". Empty for an event that is not an impact, and for
        an impact without collision (a sliding point that friction stops at zero normal speed).
    restitutions
        Coefficients of restitution that the impact law applied: those of the contacts, or smaller ones if the law would
        have added energy, which the note states; zero for a point that did not approach.
    """

    time: float
    kind: str
    note: str = ""
    points: tuple[str, ...] = ()
    surfaces: tuple[int, ...] = ()
    impulses: np.ndarray = field(default_factory=_empty)
    normal_speeds: np.ndarray = field(default_factory=_empty)
    frictions: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    angles: np.ndarray = field(default_factory=_empty)
    v_before: np.ndarray = field(default_factory=_empty)
    v_after: np.ndarray = field(default_factory=_empty)
    law: str = ""
    restitutions: np.ndarray = field(default_factory=_empty)

    def __str__(self) -> str:
        where = f" of {', '.join(self.points)}" if self.points else ""
        size = f", impulse {', '.join(f'{x:.6g}' for x in self.impulses)} N s" if self.kind == "impact" else ""
        return f"t = {self.time:.9f} s  {self.kind}{where}{size}" + (f": {self.note}" if self.note else "")

    def plain(self) -> dict[str, Any]:
        """Return the fields that are not empty as plain numbers, texts and lists, for files."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        lists = {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in values.items()}
        return {name: x for name, x in lists.items() if name in ("time", "kind") or len(x)}

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Event:
        """Return the event of a mapping made by `plain`."""
        values = dict(plain)
        if type(values.get("time")) not in (int, float):
            raise ValueError(f"the time of an event is {values.get('time')!r}")
        values["time"] = float(values["time"])
        for name in ("kind", "note", "law"):
            if not isinstance(values.get(name, ""), str):
                raise ValueError(f"the {name} of an event is {values[name]!r}")
        for part in fields(Event):
            if part.name in values and part.name in ("points", "surfaces"):
                values[part.name] = tuple(values[part.name])
            elif part.name in values and part.name not in ("time", "kind", "note", "law"):
                values[part.name] = np.array(values[part.name], float)
        return Event(**values)
