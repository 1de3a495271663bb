"""Long tapes on disk: what was traced or differentiated once is not traced again in the next process.

    tape = kept(content("inverse_dynamics", system, choice), lambda: trace(...))

The key of an entry covers all that a tape depends on: what the caller says (None: nobody can say, and nothing is kept),
the sources that turn a system into a tape, and the Python that ran them. An entry holds the face of the tape, its hash,
the hash of the fused tape, which names the machine code, and the nodes. They are unpacked when somebody asks for them,
which a call does not: it needs the face and the machine code alone.

Short tapes are not kept: to trace them takes no longer than to look for them.
"""

from __future__ import annotations

import hashlib
import marshal
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from time import perf_counter, time

from appell.compile.native import cache as disk
from appell.compile.native.making import LOG
from appell.compile.passes.pipeline import COMPILED, run
from appell.compile.tape import Array, Node, Tape

LONG = 3000  # nodes from which on a tape is kept
_LOADED = time()
_PACKAGE = Path(__file__).parents[1]
_FOLDERS = ("algebra", "model", "formulate", "compile")  # what a trace runs through, with the modules beside them
_EQUAL_BYTES = 2  # the version of marshal that writes equal things as equal bytes

_Body = tuple[tuple[Node, ...], tuple[int, ...]]  # nodes and results


def kept(subject: str | None, make: Callable[[], Tape]) -> Tape:
    """The tape of a subject, from the disk or made now; long ones are put there."""
    sources = sources_digest() if subject is not None else None
    if subject is None or sources is None:
        return make()
    begin = perf_counter()
    key = hashlib.sha256("\n".join(["tape", subject, sources, sys.version]).encode()).hexdigest()
    if (entry := disk.find(key)) is not None:
        tape: Tape = _unpacked(entry)
        LOG.info("%s: %d nodes found in the cache in %.3f s", tape.name, len(tape), perf_counter() - begin)
        return tape
    tape = make()
    LOG.info("%s: %d nodes traced in %.3f s", tape.name, len(tape), perf_counter() - begin)
    if len(tape) < LONG:
        return tape
    fused = run(COMPILED, tape)
    disk.keep(key, _packed(tape, fused))
    return KeptTape(_face(tape), len(tape), tape.digest, lambda: (tape.nodes, tape.results), fused)


class KeptTape(Tape):
    """A tape whose nodes come when they are asked for; `fused` is what becomes of it for machine code."""

    def __init__(self, face: Sequence, size: int, digest: str, read: Callable[[], _Body], fused: Tape | None = None):
        name, inputs, outputs = face
        # a tape is frozen; `digest` stands where its property keeps it
        vars(self).update(name=name, inputs=inputs, outputs=outputs, digest=digest)
        self._size, self._read, self.fused = size, read, fused or self

    @cached_property
    def _body(self) -> _Body:
        return self._read()

    @property
    def nodes(self) -> tuple[Node, ...]:  # type: ignore[override]
        return self._body[0]

    @property
    def results(self) -> tuple[int, ...]:  # type: ignore[override]
        return self._body[1]

    def __len__(self) -> int:
        return self._size

    def __reduce__(self):
        return Tape, (self.name, self.inputs, self.outputs, self.nodes, self.results)


@cache
def sources_digest() -> str | None:
    """A hash of the sources of everything between a system and its tape.

    None if they cannot be read, or have been written since they were loaded: then nobody knows what has been run.
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


def _face(tape: Tape) -> tuple:
    return tape.name, tape.inputs, tape.outputs


def _packed(tape: Tape, fused: Tape) -> bytes:
    sides = [[(array.name, array.shape) for array in side] for side in (tape.inputs, tape.outputs)]
    known = [(len(each), each.digest) for each in (tape, fused)]
    body = marshal.dumps((tape.nodes, tape.results), _EQUAL_BYTES)
    return marshal.dumps((tape.name, *sides, *known, body), _EQUAL_BYTES)


def _unpacked(entry: bytes) -> KeptTape:
    name, *sides, (size, digest), (fused_size, fused_digest), body = marshal.loads(entry)
    face = (name, *(tuple(Array(*described) for described in side) for side in sides))

    def fuse() -> _Body:
        made = run(COMPILED, tape)
        return made.nodes, made.results

    fused = KeptTape(face, fused_size, fused_digest, fuse)
    tape = KeptTape(face, size, digest, lambda: marshal.loads(body), fused)
    return tape
