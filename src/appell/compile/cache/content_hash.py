"""Hash of the content of a value: values with equal hashes have equal fields.

Numbers, strings, containers, arrays, tapes and dataclasses of this package have a content hash. Other values, above all
functions, may change their behaviour without a change of their fields; they and containers of them have none.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import numpy as np

from appell.compile.tape.tape import Tape

_PACKAGE = __name__.partition(".")[0]
_PLAIN = frozenset({str, bytes, int, float, bool, type(None)})


def content_hash(*values: Any) -> str | None:
    """Return the hash of some values, or None if one of them has none."""
    lines: list[str] = []
    if not _add(values, lines):
        return None
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def is_ours(thing: Any) -> bool:
    """Return whether a class or a function belongs to this package, whose sources `source_hash` covers."""
    return thing.__module__.partition(".")[0] == _PACKAGE


def _add(value: Any, lines: list[str]) -> bool:
    """Append a description of the value, one line per part without line breaks; return False if it has none."""
    kind: Any = type(value)
    if kind in _PLAIN:
        lines.append(f"{kind.__name__} {value!r}")
        return True
    if kind in (tuple, list):
        lines.append(f"{kind.__name__} of {len(value)}")
        return all(_add(each, lines) for each in value)
    if (names := _fields(kind)) is not None:
        lines.append(f"{_PACKAGE} {kind.__qualname__}")  # without the module: a class keeps its identity when it moves
        return all(_add(getattr(value, name), lines) for name in names)
    if kind is dict:
        return _add(list(value.items()), lines)
    if kind in (set, frozenset):
        hashes = [content_hash(each) for each in value]
        lines.append(f"set {sorted(map(str, hashes))}")
        return None not in hashes
    if kind is np.ndarray and not value.dtype.hasobject:
        lines.append(f"array {value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}")
        return True
    if isinstance(value, Tape):
        lines.append(f"tape {value.name} {value.digest}")
        return True
    return False


@cache
def _fields(kind: Any) -> tuple[str, ...] | None:
    """Return the fields of one of our dataclasses that count as content; None for tapes, which have a digest."""
    counted = not issubclass(kind, Tape) and is_dataclass(kind) and is_ours(kind)
    return tuple(field.name for field in fields(kind) if field.metadata.get("content", True)) if counted else None
