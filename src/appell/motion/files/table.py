"""What a file holds before its titles are understood: a heading, numbers, and what else is known, as plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from appell.errors import DescriptionError
from appell.motion.curve import Curve
from appell.motion.event import Event
from appell.motion.record import Record

KNOWN = ("units", "about", "events")  # what is kept of a record as JSON text


@dataclass(frozen=True)
class Table:
    """The content of a file."""

    heading: tuple[str, ...]
    data: np.ndarray
    units: Mapping[str, str] = field(default_factory=dict)
    about: Mapping[str, Any] = field(default_factory=dict)
    events: Sequence[Mapping[str, Any]] = ()
    between: Curve | None = None

    def arranged(self, heading: tuple[str, ...], order: list[int], units: Mapping[str, str]) -> Table:
        """The columns in another order and under other titles."""
        straight = order == list(range(len(order)))
        return replace(self, heading=heading, data=self.data if straight else self.data[:, order], units=units)

    def record(self, source: str) -> Record:
        try:
            events = tuple(Event.of(event) for event in self.events)
            units, about = dict(self.units), dict(self.about)
        except (TypeError, ValueError) as error:
            raise DescriptionError(f"what is said about the record is damaged: {error}.", source=source) from None
        return Record(self.heading, self.data, units, about, events, self.between, source)


def known(record: Record) -> dict[str, str]:
    """What is known beside the numbers, each as a line of JSON; what is empty is left out."""
    parts = {"units": dict(record.units), "about": record.about, "events": [e.plain() for e in record.events]}
    return {name: json.dumps(part, ensure_ascii=False) for name, part in parts.items() if part}


def understood(texts: Mapping[str, str], source: str) -> dict[str, Any]:
    """What `known` wrote."""
    try:
        return {name: json.loads(text) for name, text in texts.items() if name in KNOWN}
    except ValueError as error:
        raise DescriptionError(f"what is said about the record is damaged: {error}.", source=source) from None
