"""Faults that a simulated cabinet can be told to have, and seeded schedules of them.

Faults of the cabinet change what it reads or does from a time on, or for a while. Two are the loop's own: missed
deadlines come from the clock, and a killed loop simply ticks no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from appell.control.cabinet.signals import Blocks
from appell.errors import ArgumentError, check_number, unknown_name

CABINET = ("encoder-loss", "potentiometer-stuck", "over-temperature", "not-a-number", "dropped-reads", "power-loss")
KINDS = (*CABINET, "missed-deadlines", "killed-loop")


@dataclass(frozen=True)
class Injection:
    """One fault: what, when (s), at which actuator, and for how long (s)."""

    kind: str
    time: float
    actuator: int = 0
    duration: float = np.inf

    def __post_init__(self):
        if self.kind not in KINDS:
            raise ArgumentError(unknown_name("fault", self.kind, KINDS, "a simulated cabinet"))
        check_number(f"the time of fault '{self.kind}', in s,", self.time, least=0.0)
        if self.duration != np.inf:
            check_number(f"the duration of fault '{self.kind}', in s,", self.duration, least=0.0, above=True)

    @property
    def end(self) -> float:
        return self.time + self.duration

    def active(self, t: float) -> bool:
        return self.time <= t < self.end


class Faults:
    """The faults of one run."""

    def __init__(self, injections: Sequence[Injection] = ()):
        self.injections = tuple(injections)
        self._cabinet = tuple(i for i in self.injections if i.kind in CABINET)
        self._first = min((i.time for i in self._cabinet), default=np.inf)
        self._frozen: dict[Injection, float] = {}

    def power(self, t: float) -> bool:
        return not any(i.kind == "power-loss" and i.active(t) for i in self._cabinet)

    def apply(self, t: float, signals: np.ndarray, layout: Blocks) -> bool:
        """Change the signals as the faults want; False if the reading is lost."""
        if t < self._first:
            return True
        arrives = True
        for fault in self._cabinet:
            if not fault.active(t):
                continue
            match fault.kind:
                case "encoder-loss":
                    self._freeze(fault, signals, layout.at["counts"].start + fault.actuator)
                case "potentiometer-stuck":
                    self._freeze(fault, signals, layout.at["volts"].start + fault.actuator)
                case "over-temperature":
                    signals[layout.at["hot"].start + fault.actuator] = 1.0
                case "not-a-number":
                    signals[layout.at["counts"].start + fault.actuator] = np.nan
                case "dropped-reads":
                    arrives = False
        return arrives

    def _freeze(self, fault: Injection, signals: np.ndarray, place: int) -> None:
        signals[place] = self._frozen.setdefault(fault, float(signals[place]))

    def lateness(self, period: float):
        """The clock's part: by how much wake-ups are late, for `VirtualClock`."""
        late = [i for i in self.injections if i.kind == "missed-deadlines"]
        if not late:
            return None
        return lambda t: 1.5 * period if any(i.active(t) for i in late) else 0.0

    @property
    def killed_at(self) -> float:
        return min((i.time for i in self.injections if i.kind == "killed-loop"), default=np.inf)


def random_faults(seed: int, n: int, first: float, last: float) -> tuple[Injection, ...]:
    """One to three faults between two times; short ones among them, which a loop must ride out."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(int(rng.integers(1, 4))):
        kind = str(rng.choice(KINDS))
        brief = kind in ("not-a-number", "dropped-reads", "missed-deadlines") and rng.random() < 0.4
        duration = float(rng.uniform(0.001, 0.004)) if brief else np.inf
        found.append(Injection(kind, float(rng.uniform(first, last)), int(rng.integers(n)), duration))
    return tuple(sorted(found, key=lambda fault: fault.time))
