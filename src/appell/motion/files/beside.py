"""What a file says of a record beside its numbers: units, metadata and events, each as a line of JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from appell.errors import DescriptionError
from appell.motion.event import Event
from appell.motion.record import Record

KNOWN = ("units", "about", "events")


def known(record: Record) -> dict[str, str]:
    """The lines by name; what is empty is left out."""
    parts = {"units": dict(record.units), "about": record.about, "events": [event.plain() for event in record.events]}
    return {name: json.dumps(part, ensure_ascii=False) for name, part in parts.items() if part}


def understood(texts: Mapping[str, str], source: str) -> dict[str, Any]:
    """What `known` wrote, as a record wants it."""
    try:
        found = {name: json.loads(texts[name]) for name in KNOWN if name in texts}
        events = tuple(Event.of(event) for event in found.get("events", ()))
        return {"units": dict(found.get("units", {})), "about": dict(found.get("about", {})), "events": events}
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DescriptionError(f"what is said about the record is damaged: {error}.", source=source) from None
