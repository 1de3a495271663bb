"""The content of a value as a hash: two values with the same hash are told the same by whoever looks at their fields.

Numbers, texts, containers, arrays, tapes and dataclasses of this package have one. Anything else, above all a function,
may do tomorrow what it does not do today, and so has none; nor has what holds it.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from appell.compile.tape import Tape

_PACKAGE = __name__.partition(".")[0]
_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})


def content(*values: Any) -> str | None:
    """The hash of some values, or None if one of them has no content that can be told."""
    lines: list[str] = []
    if not _tell(values, lines):
        return None
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def is_ours(thing: Any) -> bool:
    """Whether a class or a function is one of this package, whose sources are known."""
    return thing.__module__.partition(".")[0] == _PACKAGE


def _tell(value: Any, lines: list[str]) -> bool:
    """Add what a value is, line by line, or say that it cannot be told; no text has a line break of its own."""
    kind: Any = type(value)
    if kind in _PLAIN:
        lines.append(f"{kind.__name__} {value!r}")
        return True
    if kind in (tuple, list):
        lines.append(f"{kind.__name__} of {len(value)}")
        return all(_tell(each, lines) for each in value)
    if (names := _fields(kind)) is not None:
        lines.append(f"{kind.__module__} {kind.__qualname__}")
        return all(_tell(getattr(value, name), lines) for name in names)
    if kind is dict:
        return _tell(list(value.items()), lines)
    if kind in (set, frozenset):
        found = [content(each) for each in value]
        lines.append(f"set {sorted(map(str, found))}")
        return None not in found
    if kind is np.ndarray and not value.dtype.hasobject:
        lines.append(f"array {value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")
        return True
    if isinstance(value, Tape):
        lines.append(f"tape {value.name} {value.digest}")
        return True
    return False


@cache
def _fields(kind: Any) -> tuple[str, ...] | None:
    """The fields of a dataclass of ours, but for those that say that nothing follows from them; a tape has a hash."""
    told = not issubclass(kind, Tape) and is_dataclass(kind) and is_ours(kind)
    return tuple(field.name for field in fields(kind) if field.metadata.get("content", True)) if told else None
