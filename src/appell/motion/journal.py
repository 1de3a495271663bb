"""A journal survives a crash: rows of numbers in a mapped file, each with its own checksum.

    header     "appell log 2", JSON (columns, robot, period, …) and its checksum, filled up to whole pages
    row        one number a column, the last one being the checksum (CRC-32) of the row's number and those before it

A row is written into memory that the system keeps, so killing the process loses nothing; there is no call to the system
in a tick. The file grows by whole blocks whose room on the disk is taken before they are mapped; on a full disk the
loop goes on and the journal ends, and says how many rows it lost. What follows the last good row is zeros, and is cut
off when the log is closed. Reading stops at the first row that is not whole or not in its place; if more than zeros
follow it, the file was damaged, which a remark tells.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import IO, Any

import numpy as np

from appell.errors import ArgumentError, DescriptionError
from appell.files import check_target
from appell.motion.event import Event

MAGIC = b"appell log 2\n"
PAGE_BYTES = mmap.ALLOCATIONGRANULARITY
DIGITS = 20  # of a number in the header, more than any state or fault has
BLOCK_ROWS = PAGE_BYTES // 8  # of a block, so that blocks are whole pages whatever the columns


class JournalWriter:
    """Append rows: fill `row`, then `commit`; the columns begin with t. A journal that is there is not written over."""

    def __init__(self, path: str | FilePath, columns: Sequence[str], header: Mapping[str, Any]):
        self.path, self.columns = FilePath(path), (*columns, "checksum")
        self.rows = 0
        self._room: int | None = None  # rows that the disk had room for, once it is full
        text = json.dumps({"columns": self.columns, **header}, ensure_ascii=False).encode()
        head = MAGIC + f"{len(text)} {zlib.crc32(text)}\n".encode() + text
        self._start = -(-len(head) // PAGE_BYTES) * PAGE_BYTES
        self._file = _new(check_target(self.path, overwrite=True))
        self._map: mmap.mmap | None = None
        try:
            self._file.write(head.ljust(self._start, b"\0"))
            self._file.flush()
            self._map_block()
        except OSError as error:
            self._file.close()
            self.path.unlink(missing_ok=True)
            raise ArgumentError(f"no journal can be written to {path}: {error.strerror or error}.") from None

    @property
    def lost(self) -> int:
        """Rows that the disk had no room for."""
        return 0 if self._room is None else self.rows - self._room

    def _map_block(self) -> None:
        size = BLOCK_ROWS * 8 * len(self.columns)
        where = self._start + self.rows * 8 * len(self.columns)
        _allocate(self._file.fileno(), where, size)
        self._map = mmap.mmap(self._file.fileno(), size, offset=where)
        self._block = np.frombuffer(self._map, dtype=np.float64).reshape(BLOCK_ROWS, len(self.columns))
        self._next()

    def _grow(self) -> None:
        """One block more; without room on the disk, rows go to a blackboard from now on."""
        if self._room is None:
            try:
                return self._map_block()
            except OSError:
                self._room, self._block = self.rows, np.zeros((BLOCK_ROWS, len(self.columns)))
        return self._next()

    def _next(self) -> None:
        whole = self._block[self.rows % BLOCK_ROWS]
        self.row, self._checksum, self._bytes = whole[:-1], whole[-1:], memoryview(whole[:-1]).cast("B")

    def commit(self) -> None:
        """The row is complete; `row` is the next one then."""
        self._checksum[0] = zlib.crc32(self._bytes, self.rows)
        self.rows += 1
        if self.rows % BLOCK_ROWS:
            self._next()
        else:
            self._grow()

    def flush(self) -> None:
        """Bring everything to the disk; only needed against a failure of the machine itself."""
        if self._map is not None:
            self._map.flush()

    def close(self) -> None:
        if self._file.closed:
            return
        del self.row, self._checksum, self._bytes, self._block
        if self._map is not None:
            self._map.close()
        kept = self.rows - self.lost
        os.ftruncate(self._file.fileno(), self._start + kept * 8 * len(self.columns))
        self._file.close()


def read_journal(path: FilePath) -> dict[str, Any]:
    """The whole rows of a journal, also of one whose writer was killed."""
    content = path.read_bytes()
    header, start = _header(content, path)
    columns = tuple(header.pop("columns"))
    width = 8 * len(columns)
    count = max(len(content) - start, 0) // width
    rows = np.frombuffer(content[start : start + count * width], np.float64).reshape(count, len(columns))
    view, whole = memoryview(content)[start:], 0
    for checksum in rows[:, -1].tolist():
        if zlib.crc32(view[whole * width : (whole + 1) * width - 8], whole) != checksum:
            break
        whole += 1
    data = rows[:whole, :-1]
    if view[(whole + 1) * width :].tobytes().strip(b"\0"):
        header["remarks"] = [f"The log is damaged at row {whole}; what follows is left out."]
    return {"columns": columns[:-1], "data": data, "about": header, "events": list(_changes(columns, data, header))}


def _changes(columns: tuple[str, ...], data: np.ndarray, header: Mapping[str, Any]) -> Iterator[Event]:
    """Events where a column such as `state` changes, in the words that the header has for its values or their bits."""
    for kind, words in header.get("words", {}).items():
        if kind not in columns[:-1]:
            continue
        values = data[:, columns.index(kind)]
        for row in np.flatnonzero((np.diff(values) != 0.0) & np.isfinite(values[1:])) + 1:
            value = int(values[row])
            bits = [word for bit, word in words.items() if value & int(bit)]
            note = words.get(str(value)) or "; ".join(bits) or "none"
            yield Event(float(data[row, columns.index("t")]), kind, note)


def _new(path: FilePath) -> IO[bytes]:
    try:
        return open(path, "x+b")  # closed by close()
    except FileExistsError:
        raise ArgumentError(
            f"{path} already exists, and a journal is never overwritten.", hint="another name"
        ) from None
    except OSError as error:
        raise ArgumentError(f"no journal can be written to {path}: {error.strerror or error}.") from None


def _allocate(file: int, where: int, size: int) -> None:
    """Take room on the disk, so that no write into the mapped file finds it full; OSError if there is none."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, where, size)
    else:
        os.pwrite(file, bytes(size), where)


def _header(content: bytes, path: FilePath) -> tuple[dict[str, Any], int]:
    try:
        if not content.startswith(MAGIC):
            raise ValueError("it does not begin like one")
        line = content.find(b"\n", len(MAGIC))
        length, checksum = (int(word) for word in content[len(MAGIC) : max(line, 0)].split())
        text = content[line + 1 : line + 1 + max(length, 0)]
        if zlib.crc32(text) != checksum:
            raise ValueError("its header is damaged")
        header = json.loads(text)
        _check_header(header)
        return header, -(-(line + 1 + length) // PAGE_BYTES) * PAGE_BYTES
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"this is no log of this version of appell: {error}.", source=str(path)) from None


def _check_header(header: Any) -> None:
    """Raise ValueError unless the header has the form that a writer gives it."""
    columns = header.get("columns") if isinstance(header, dict) else None
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise ValueError("its header names no columns")
    if len(columns) < 2 or columns[0] != "t" or columns[-1] != "checksum" or len(set(columns)) < len(columns):
        raise ValueError("its columns do not go from t to checksum, each once")
    words = header.get("words", {})
    tables = words.values() if isinstance(words, dict) else [None]
    for table in tables:
        if not isinstance(table, dict) or not all(
            key.removeprefix("-").isdecimal() and len(key) < DIGITS and isinstance(word, str)
            for key, word in table.items()
        ):
            raise ValueError("its header has words for events that cannot be read")
