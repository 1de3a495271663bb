"""What happened at one instant of a record: an impact, a change of rest, or a change of a control loop's state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np


def _nothing() -> np.ndarray:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Event:
    """An instant with a name, a note, and for points that met walls what they did there.

    In a simulation `kind` is "impact", "rest" (the points come to rest on their walls; `time` is the end of the series
    of ever smaller bounces), "release" (their force would pull, or their wall goes), "stick" or "slip" (with friction),
    "stop" (a condition was met, the note is its name), "end of reach" (of a mechanism's leg), "time stepping" (events
    crowd: from here on rows are steps) or "event driven" (and from here on events are exact again). A joint at its
    stop, or that its dry friction holds or lets go, stands among `points` by its name, on surface -1. `impulses` are
    along the normals; `normal_speeds` are the speeds of approach before the event, positive into the wall and zero for
    a point that was not approaching; `frictions` are the tangential impulses as vectors in the world. `angles` are
    between velocity and normal before the event, in degrees. In a control log `kind` is "state" or "fault".
    """

    time: float
    kind: str
    note: str = ""
    points: tuple[str, ...] = ()
    surfaces: tuple[int, ...] = ()  # for each point, which of the contacts it belongs to
    impulses: np.ndarray = field(default_factory=_nothing)
    normal_speeds: np.ndarray = field(default_factory=_nothing)
    frictions: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))
    angles: np.ndarray = field(default_factory=_nothing)
    v_before: np.ndarray = field(default_factory=_nothing)
    v_after: np.ndarray = field(default_factory=_nothing)

    def __str__(self) -> str:
        where = f" of {', '.join(self.points)}" if self.points else ""
        size = f", impulse {', '.join(f'{x:.6g}' for x in self.impulses)} N s" if self.kind == "impact" else ""
        return f"t = {self.time:.9f} s  {self.kind}{where}{size}" + (f": {self.note}" if self.note else "")

    def plain(self) -> dict[str, Any]:
        """Numbers, texts and lists of them, for files; what is empty is left out."""
        values = {part.name: getattr(self, part.name) for part in fields(self)}
        lists = {name: x.tolist() if isinstance(x, np.ndarray) else x for name, x in values.items()}
        return {name: x for name, x in lists.items() if name in ("time", "kind") or len(x)}

    @staticmethod
    def of(plain: Mapping[str, Any]) -> Event:
        """What `plain` gave, an Event again."""
        made = dict(plain)
        for part in fields(Event):
            if part.name in made and part.name in ("points", "surfaces"):
                made[part.name] = tuple(made[part.name])
            elif part.name in made and part.name not in ("time", "kind", "note"):
                made[part.name] = np.array(made[part.name], float)
        return Event(**made)
