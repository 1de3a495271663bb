"""Hash of the sources that turn a system into a formula: a change of these sources invalidates stored traces."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from time import time

_LOADED = time()
_PACKAGE = Path(__file__).parents[2]
_FOLDERS = ("algebra", "model", "formulate", "compile", "dynamics", "kinematics", "control")  # of traces


@cache
def source_hash() -> str | None:
    """Return the hash of all sources between a system and its formula.

    Return None if they cannot be read or were written after they were loaded: then the code that ran is unknown.
    """
    total = hashlib.sha256()
    try:
        paths = [*_modules(_PACKAGE), *(path for name in _FOLDERS for path in _modules(_PACKAGE / name, deep=True))]
        for path in paths:
            with open(path, "rb") as file:
                if os.fstat(file.fileno()).st_mtime > _LOADED:
                    return None
                total.update(os.path.basename(path).encode() + hashlib.sha256(file.read()).digest())
    except OSError:
        return None
    return total.hexdigest() if paths else None


def _modules(folder: Path | str, deep: bool = False) -> Iterator[str]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.name.endswith(".py"):
                yield entry.path
            elif deep and entry.is_dir():
                yield from _modules(entry.path, deep)
