"""One measured figure and its aim."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Figure:
    """A measured value.

    Parameters
    ----------
    part : part of the measurement, one of `run.PARTS`
    robot, name : robot and name of the figure
    title : title in tables
    value : the value, in `unit`
    unit : "x" (speedup), "times" (ratio of times), "s", or the name of what is counted
    aim : minimum of a speedup, maximum of anything else
    ours, theirs : time of one sample or one call, s, if the figure compares two programs
    details : further values
    """

    part: str
    robot: str
    name: str
    title: str
    value: float
    unit: str
    aim: float | None = None
    ours: float | None = None
    theirs: float | None = None
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The key of `aims.AIMS`."""
        return f"{self.robot}/{self.part}/{self.name}"

    @property
    def met(self) -> bool | None:
        """Whether the aim is reached; None without an aim."""
        if self.aim is None:
            return None
        return self.value >= self.aim if self.unit == "x" else self.value <= self.aim

    @property
    def value_text(self) -> str:
        """The value with its unit."""
        return in_unit(self.value, self.unit)

    @property
    def aim_text(self) -> str:
        """The aim with its unit and relation; empty if there is none."""
        if self.aim is None:
            return ""
        return f"≥ {self.aim:g}x" if self.unit == "x" else f"≤ {in_unit(self.aim, self.unit)}"

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain data."""
        return asdict(self) | {"met": self.met}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Figure:
        """Return the figure of the data from `to_json`."""
        return Figure(**{key: value for key, value in data.items() if key != "met"})


def in_unit(value: float, unit: str) -> str:
    """Format a number with its unit, to about three digits: 73x, 1.62x, 3.69 times, 18.9 ns, 0.19 s, 173."""
    if unit == "x":
        return f"{value:.0f}x" if value >= 20 else f"{value:.1f}x" if value >= 4 else f"{value:.2f}x"
    if unit == "times":
        return f"{value:.2f} times"
    return seconds_text(value) if unit == "s" else f"{value:.0f}"


def seconds_text(seconds: float) -> str:
    """Format a time in s, ms, µs or ns, to three digits."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= 0.9995 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
