"""Crash-safe journal of a control loop: rows of numbers in a memory-mapped file, each with a checksum.

    header     "appell log 2", JSON (columns, robot, period, …) and its checksum, padded to complete pages
    row        one number per column; the last is the checksum (CRC-32) of the row's index and its other numbers

Rows are written into mapped memory, which the operating system keeps if the process is killed; no system call is made
per row. The file grows by blocks whose disk space is allocated before they are mapped. On a full disk the loop
continues and the journal ends; `lost` is the number of rows without space. Zeros follow the last row; they are removed
when the journal is closed. Reading stops at the first incomplete or misplaced row; if anything but zeros follows it,
the file is damaged, and a remark states this.
"""

from __future__ import annotations

import json
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as FilePath
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError, DescriptionError
from appell.files import check_target
from appell.motion.event import Event

if TYPE_CHECKING:
    from appell.motion.bags.rows import McapJournal

MAGIC = b"appell log 2\n"
PAGE_BYTES = mmap.ALLOCATIONGRANULARITY
MAX_KEY_DIGITS = 20  # of a number in the header, more than any state or fault has
BLOCK_ROWS = PAGE_BYTES // 8  # rows per block, so that blocks are complete pages for any number of columns


class JournalWriter:
    """Writer of a journal: fill `row`, then call `commit`.

    Parameters
    ----------
    path
        Name of the file. An existing journal is never overwritten.
    columns
        Names of the columns, the first of which is t.
    header
        Further entries of the header.
    """

    def __init__(self, path: str | FilePath, columns: Sequence[str], header: Mapping[str, Any]):
        self.path, self.columns = FilePath(path), (*columns, "checksum")
        self.rows = 0
        self._capacity: int | None = None  # number of rows on a full disk; None while there is space
        text = json.dumps({"columns": self.columns, **header}, ensure_ascii=False).encode()
        head = MAGIC + f"{len(text)} {zlib.crc32(text)}\n".encode() + text
        self._start = -(-len(head) // PAGE_BYTES) * PAGE_BYTES
        self._file = new_journal(check_target(self.path, overwrite=True))
        self._map: mmap.mmap | None = None
        try:
            self._file.write(head.ljust(self._start, b"\0"))
            self._file.flush()
            self._map_block()
        except OSError as error:
            self._file.close()
            self.path.unlink(missing_ok=True)
            raise ArgumentError(f"a journal cannot be written to {path}: {error.strerror or error}.") from None

    @property
    def lost(self) -> int:
        """Number of rows for which there was no disk space."""
        return 0 if self._capacity is None else self.rows - self._capacity

    def _map_block(self) -> None:
        size = BLOCK_ROWS * 8 * len(self.columns)
        offset = self._start + self.rows * 8 * len(self.columns)
        _allocate(self._file.fileno(), offset, size)
        self._map = mmap.mmap(self._file.fileno(), size, offset=offset)
        self._block = np.frombuffer(self._map, dtype=np.float64).reshape(BLOCK_ROWS, len(self.columns))
        self._next()

    def _grow(self) -> None:
        """Map another block; without disk space, rows are written to a buffer that is not stored."""
        if self._capacity is None:
            try:
                return self._map_block()
            except OSError:
                self._capacity, self._block = self.rows, np.zeros((BLOCK_ROWS, len(self.columns)))
        return self._next()

    def _next(self) -> None:
        row = self._block[self.rows % BLOCK_ROWS]
        self.row, self._checksum, self._bytes = row[:-1], row[-1:], memoryview(row[:-1]).cast("B")

    def commit(self) -> None:
        """Complete the current row; `row` is then the next one."""
        self._checksum[0] = zlib.crc32(self._bytes, self.rows)
        self.rows += 1
        if self.rows % BLOCK_ROWS:
            self._next()
        else:
            self._grow()

    def flush(self) -> None:
        """Write all rows to the disk; needed only against a failure of the machine itself."""
        if self._map is not None:
            self._map.flush()

    def close(self) -> None:
        """Remove the zeros after the last row and close the file."""
        if self._file.closed:
            return
        del self.row, self._checksum, self._bytes, self._block
        if self._map is not None:
            self._map.close()
        stored = self.rows - self.lost
        os.ftruncate(self._file.fileno(), self._start + stored * 8 * len(self.columns))
        self._file.close()


def open_journal(
    path: str | FilePath, columns: Sequence[str], header: Mapping[str, Any]
) -> JournalWriter | McapJournal:
    """Return the writer of a journal: an MCAP file if the name ends in .mcap; the parameters are those of both."""
    if FilePath(path).suffix.lower() == ".mcap":
        from appell.motion.bags.rows import McapJournal

        return McapJournal(path, columns, header)
    return JournalWriter(path, columns, header)


def read_journal(path: FilePath) -> dict[str, Any]:
    """Return the complete rows of a journal as fields of a `Record`, also if its writer was killed."""
    content = path.read_bytes()
    header, start = _header(content, path)
    columns = tuple(header.pop("columns"))
    width = 8 * len(columns)
    count = max(len(content) - start, 0) // width
    rows = np.frombuffer(content[start : start + count * width], np.float64).reshape(count, len(columns))
    view, complete = memoryview(content)[start:], 0
    for checksum in rows[:, -1].tolist():
        if zlib.crc32(view[complete * width : (complete + 1) * width - 8], complete) != checksum:
            break
        complete += 1
    data = rows[:complete, :-1]
    if view[(complete + 1) * width :].tobytes().strip(b"\0"):
        header["remarks"] = [f"The log is damaged at row {complete}; the following rows are left out."]
    return {"columns": columns[:-1], "data": data, "about": header, "events": list(changes(columns[:-1], data, header))}


def changes(columns: tuple[str, ...], data: np.ndarray, header: Mapping[str, Any]) -> Iterator[Event]:
    """Yield an event at each change of a column such as `state`; the header has texts for its values or their bits."""
    for kind, words in header.get("words", {}).items():
        if kind not in columns:
            continue
        values = data[:, columns.index(kind)]
        for row in np.flatnonzero((np.diff(values) != 0.0) & np.isfinite(values[1:])) + 1:
            value = int(values[row])
            bits = [word for bit, word in words.items() if value & int(bit)]
            note = words.get(str(value)) or "; ".join(bits) or "none"
            yield Event(float(data[row, columns.index("t")]), kind, note)


def new_journal(path: FilePath) -> IO[bytes]:
    """Create and open the file of a journal; raise `ArgumentError` if it exists or cannot be created."""
    try:
        return open(path, "x+b")  # closed by close()
    except FileExistsError:
        raise ArgumentError(
            f"{path} already exists, and a journal is never overwritten.", hint="Choose another name."
        ) from None
    except OSError as error:
        raise ArgumentError(f"a journal cannot be written to {path}: {error.strerror or error}.") from None


def _allocate(file: int, offset: int, size: int) -> None:
    """Allocate disk space, so that writing to the mapped file cannot fail; raise OSError if there is none."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, offset, size)
        return
    os.lseek(file, offset, os.SEEK_SET)
    zeros = memoryview(bytes(size))
    while zeros:
        zeros = zeros[os.write(file, zeros) :]


def _header(content: bytes, path: FilePath) -> tuple[dict[str, Any], int]:
    try:
        if not content.startswith(MAGIC):
            raise ValueError("its first bytes differ")
        line = content.find(b"\n", len(MAGIC))
        length, checksum = (int(word) for word in content[len(MAGIC) : max(line, 0)].split())
        text = content[line + 1 : line + 1 + max(length, 0)]
        if zlib.crc32(text) != checksum:
            raise ValueError("its header is damaged")
        header = json.loads(text)
        _check_header(header)
        return header, -(-(line + 1 + length) // PAGE_BYTES) * PAGE_BYTES
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"the file is not a log of this version of appell: {error}.", source=str(path)) from None


def _check_header(header: Any) -> None:
    """Raise ValueError unless the header has the form that a `JournalWriter` writes."""
    columns = header.get("columns") if isinstance(header, dict) else None
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise ValueError("its header names no columns")
    if len(columns) < 2 or columns[0] != "t" or columns[-1] != "checksum" or len(set(columns)) < len(columns):
        raise ValueError("its columns do not go from t to checksum, each once")
    words = header.get("words", {})
    tables = words.values() if isinstance(words, dict) else [None]
    for table in tables:
        if not isinstance(table, dict) or not all(
            key.removeprefix("-").isdecimal() and len(key) < MAX_KEY_DIGITS and isinstance(word, str)
            for key, word in table.items()
        ):
            raise ValueError("its header has texts for events that cannot be read")
