"""Long formulas on disk: what was traced or differentiated once is not traced again in the next process.

    formula = kept(content("inverse_dynamics", system, choice), lambda: trace(...))

The key of an entry covers all that a formula depends on: what the caller says (None: nobody can say, and nothing is
kept), the sources that turn a system into a formula, and the Python that ran them. An entry holds the face of the
formula, its hash, the hash of the fused formula, which names the machine code, and the rest packed. That is unpacked
when somebody asks for it, which a call does not: it needs the face and the machine code alone.

Short formulas are not kept: to trace them takes no longer than to look for them.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from time import perf_counter
from typing import Any

from appell.compile.formula import Formula, fused, length
from appell.compile.native import cache as disk
from appell.compile.native.making import LOG
from appell.compile.program import Program
from appell.compile.sources import sources_digest
from appell.compile.tape import Tape

LONG = 300  # nodes from which on a formula is kept
_FACE = ("name", "inputs", "outputs", "digest")


def kept(subject: str | None, make: Callable[[], Formula]) -> Formula:
    """The formula of a subject, from the disk or made now; long ones are put there."""
    sources = sources_digest() if subject is not None else None
    if subject is None or sources is None:
        return make()
    begin = perf_counter()
    key = hashlib.sha256("\n".join(["formula", subject, sources, sys.version]).encode()).hexdigest()
    if (found := _found(key, begin)) is not None:
        return found
    with disk.alone(key):
        found = _found(key, begin)
        return _made(key, make, begin) if found is None else found


def _found(key: str, begin: float) -> Formula | None:
    if (entry := disk.find(key)) is None:
        return None
    found, size = _unpacked(entry)
    LOG.info("%s: %d nodes found in the cache in %.3f s", found.name, size, perf_counter() - begin)
    return found


def _made(key: str, make: Callable[[], Formula], begin: float) -> Formula:
    made = make()
    seconds = perf_counter() - begin
    run = fused(made) if length(made) >= LONG else None
    if run is not None:
        disk.keep(key, _packed(made, run))
    about = {"work": "deriving", "function": made.name, "owner": "", "seconds": seconds, "made": True, "key": key}
    LOG.info("%s: %d nodes traced in %.3f s", made.name, length(made), seconds, extra=about)
    return made if run is None else _kind(made)(_face(made), length(made), lambda: made, lambda: run)


class Kept:
    """A formula whose inside comes when it is asked for; `fused` is what becomes of it for machine code."""

    def __init__(
        self,
        face: dict[str, Any],
        size: int,
        read: Callable[[], Formula],
        fuse: Callable[[], Formula],
    ):
        vars(self).update(face)
        self._size, self._read, self._fuse = size, read, fuse

    @cached_property
    def whole(self) -> Formula:
        """The same formula with its inside at hand."""
        return self._read()

    @cached_property
    def fused(self) -> Formula:
        return self._fuse()

    def __getattr__(self, name: str) -> Any:
        """What is not there yet."""
        kind: Any = type(self)
        if name.startswith("_") or name not in (field.name for field in fields(kind)):
            raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
        vars(self)[name] = found = getattr(self.whole, name)
        return found

    def __len__(self) -> int:
        return self._size

    def __reduce__(self):
        """It travels as it lies on the disk: who finds the machine code there never unpacks it."""
        return _arrived, (_packed(self.whole, self.fused),)


class KeptTape(Kept, Tape):
    """A tape that may still be on the disk."""


class KeptProgram(Kept, Program):
    """A program that may still be on the disk."""


def _arrived(entry: bytes) -> Formula:
    return _unpacked(entry)[0]


def _kind(formula: Formula) -> type[KeptTape] | type[KeptProgram]:
    return KeptTape if isinstance(formula, Tape) else KeptProgram


def _face(formula: Formula) -> dict[str, Any]:
    return {name: getattr(formula, name) for name in _FACE}


def _packed(formula: Formula, run: Formula) -> bytes:
    faces = [(_face(each), length(each)) for each in (formula, run)]
    inside = {field.name: getattr(formula, field.name) for field in fields(formula)}
    return pickle.dumps((type(formula), *faces, pickle.dumps(inside)))


def _unpacked(entry: bytes) -> tuple[Formula, int]:
    """The formula of an entry, which is one of ours: the cache has seen to that."""
    plain, (face, size), (run_face, run_size), inside = pickle.loads(entry)
    kind = KeptTape if plain is Tape else KeptProgram

    def read() -> Formula:
        return plain(**pickle.loads(inside))

    def fuse() -> Formula:
        return kind(run_face, run_size, lambda: fused(found.whole), lambda: found.fused)

    found: Any = kind(face, size, read, fuse)
    return found, size
