"""Cache of long traces: a formula that one process traced or differentiated is read from disk by the next.

    formula = cached_trace(content_hash("inverse_dynamics", system, choice), lambda: trace(...))

The key of an entry covers everything that a formula depends on: the subject given by the caller (None if the subject
has no content hash, and then nothing is stored), the sources that turn a system into a formula, and the Python version.
An entry holds the header of the formula, its hash, the structure and the constants of the fused formula, which identify
its machine code, and the pickled nodes. The nodes are unpickled on first use. A call needs only the header and the
machine code.

Short formulas are not stored: tracing them takes no longer than reading them.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cached_property
from time import perf_counter
from typing import Any

from appell.compile.cache import object_cache
from appell.compile.cache.source_hash import source_hash
from appell.compile.native.build_lock import LOG
from appell.compile.program.program import Program
from appell.compile.tape.formula import Formula, fused
from appell.compile.tape.tape import Tape

STORED_NODES = 300  # shorter formulas are not stored
_HEADER = ("name", "inputs", "outputs", "digest")
_RUN_HEADER = (*_HEADER, "structure", "constants")  # of a fused formula


def cached_trace(subject: str | None, make: Callable[[], Formula]) -> Formula:
    """Return the formula of a subject from disk, or make it and store it if it is long."""
    sources = source_hash() if subject is not None else None
    if subject is None or sources is None:
        return make()
    begin = perf_counter()
    key = hashlib.sha256("\n".join(["formula", subject, sources, sys.version]).encode()).hexdigest()
    if (formula := _read(key, begin)) is not None:
        return formula
    with object_cache.exclusive(key):
        formula = _read(key, begin)
        return _make(key, make, begin) if formula is None else formula


def _read(key: str, begin: float) -> Formula | None:
    if (entry := object_cache.find(key)) is None:
        return None
    formula = _unpacked(entry)
    LOG.info("%s: %d nodes found in the cache in %.3f s", formula.name, len(formula), perf_counter() - begin)
    return formula


def _make(key: str, make: Callable[[], Formula], begin: float) -> Formula:
    formula = make()
    seconds = perf_counter() - begin
    run = fused(formula) if len(formula) >= STORED_NODES else None
    if run is not None:
        object_cache.store(key, _packed(formula, run))
    about = {"work": "deriving", "function": formula.name, "owner": "", "seconds": seconds, "made": True, "key": key}
    LOG.info("%s: %d nodes traced in %.3f s", formula.name, len(formula), seconds, extra=about)
    if run is None:
        return formula
    return _stored(type(formula), _header(formula), len(formula), lambda: formula, lambda: run)


class Stored:
    """A formula whose nodes are read on first use.

    Parameters
    ----------
    header : name, inputs, outputs and digest of the formula
    size : number of nodes
    read : returns the formula with its nodes in memory
    fuse : returns the formula with fused multiply-adds
    """

    def __init__(
        self,
        header: dict[str, Any],
        size: int,
        read: Callable[[], Formula],
        fuse: Callable[[], Formula],
    ):
        vars(self).update(header)
        self._size, self._read, self._fuse = size, read, fuse

    @cached_property
    def in_memory(self) -> Formula:
        """The same formula with its nodes in memory."""
        return self._read()

    @cached_property
    def fused(self) -> Formula:
        """The same formula with fused multiply-adds."""
        return self._fuse()

    def __getattr__(self, name: str) -> Any:
        """Read a field that is not in memory yet."""
        kind: Any = type(self)
        if name.startswith("_") or name not in (field.name for field in fields(kind)):
            raise AttributeError(f"'{kind.__name__}' object has no attribute '{name}'")
        vars(self)[name] = value = getattr(self.in_memory, name)
        return value

    def __len__(self) -> int:
        return self._size

    def __reduce__(self):
        """Pickle it as it is stored on disk: a process that finds the machine code never unpickles the nodes."""
        return _unpacked, (_packed(self.in_memory, self.fused),)


class StoredTape(Stored, Tape):
    """A tape whose nodes may still be on disk."""


class StoredProgram(Stored, Program):
    """A program whose stages may still be on disk."""


def _stored(
    kind: type, header: dict[str, Any], size: int, read: Callable[[], Formula], fuse: Callable[[], Formula]
) -> Any:
    return (StoredTape if issubclass(kind, Tape) else StoredProgram)(header, size, read, fuse)


def _header(formula: Formula, names: Sequence[str] = _HEADER) -> dict[str, Any]:
    return {name: getattr(formula, name) for name in names}


def _packed(formula: Formula, run: Formula) -> bytes:
    headers = (_header(formula), len(formula)), (_header(run, _RUN_HEADER), len(run))
    content = {field.name: getattr(formula, field.name) for field in fields(formula)}
    return pickle.dumps((type(formula), *headers, pickle.dumps(content)))


def _unpacked(entry: bytes) -> Formula:
    """Return the formula of an entry, which the object cache has authenticated."""
    plain, (header, size), (run_header, run_size), content = pickle.loads(entry)

    def read() -> Formula:
        return plain(**pickle.loads(content))

    def fuse() -> Formula:
        return _stored(plain, run_header, run_size, lambda: fused(formula.in_memory), lambda: formula.fused)

    formula = _stored(plain, header, size, read, fuse)
    return formula
