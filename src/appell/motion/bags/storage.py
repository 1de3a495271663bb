"""Files of messages: MCAP and SQLite, as ROS 2 records them, read as far as they are intact.

    .mcap      records of an opcode, a length and a content; messages are in chunks, possibly compressed
    .db3       an SQLite database with the tables `topics` and `messages`
    folder     a bag of ROS 2: one or more of these files, in the order of the numbers in their names

Reading scans the data from the start and does not use the index at the end of the file, which is missing if the writer
was killed. What follows a cut or damage is left out, and `remarks` states it.
"""

from __future__ import annotations

import re
import sqlite3
import struct
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path as FilePath
from typing import IO, Any, NamedTuple

import numpy as np

from appell.errors import DescriptionError, needed_package
from appell.motion.bags.messages import DEFINITIONS, HASHES

MAGIC = b"\x89MCAP0\r\n"
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
STATISTICS, DATA_END = 0x0B, 0x0F
RECORD = struct.Struct("<BQ")
MESSAGE_HEAD = struct.Struct("<BQHIQQ")  # opcode, length, channel, sequence, log time, publish time
MESSAGE_HEAD_BYTES = MESSAGE_HEAD.size
CHUNK_HEAD = struct.Struct("<QQQII")  # first and last time, size, checksum, length of the compression's name
SQLITE_MAGIC = b"SQLite format 3\0"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
MAX_CHUNK_BYTES = 2_000_000_000
STORAGES = (".mcap", ".db3", ".mcap.zstd", ".db3.zstd")


class BagTopic(NamedTuple):
    """A topic of a file: its name, the type of its messages, and their encoding."""

    topic: str
    type: str
    encoding: str


class MessageGroup(NamedTuple):
    """Messages of one topic and length: their indices among all messages, log times in ns, and contents."""

    indices: list[int]
    times: list[int]
    contents: list[bytes]


class Storage:
    """The messages of one file.

    Attributes
    ----------
    channels
        Topics by their number in the file.
    groups
        Messages by number of the topic and length.
    count
        Number of messages so far, in this file and those before it.
    remarks
        Sentences about what could not be read.
    """

    def __init__(self, path: FilePath, count: int = 0):
        self.path, self.count = path, count
        self.channels: dict[int, BagTopic] = {}
        self.groups: dict[tuple[int, int], MessageGroup] = {}
        self.remarks: list[str] = []
        self._schemas: dict[int, str] = {}
        if not (content := path.read_bytes()):
            raise DescriptionError("the file is empty: nothing has been written to it yet.", source=str(path))
        name = path.name.lower()
        if name.endswith(".zstd"):
            content, name = self._decompressed("zstd", content), name.removesuffix(".zstd")
        if name.endswith(".mcap"):
            self._read_mcap(content)
        else:
            self._read_sqlite(content)

    def _add(self, channel: int, time: int, content: bytes) -> None:
        key = (channel, len(content))
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = MessageGroup([], [], [])
        group.indices.append(self.count)
        group.times.append(time)
        group.contents.append(content)
        self.count += 1

    def _read_mcap(self, content: bytes) -> None:
        if not content.startswith(MAGIC):
            raise DescriptionError("the file is not an MCAP file: its first bytes differ.", source=str(self.path))
        self._read_records(content, len(MAGIC))
        if not content.endswith(MAGIC) or len(content) < 2 * len(MAGIC):
            self.remarks.append(f"{self.path.name} was not closed by its writer or is cut; its readable part is used")

    def _read_records(self, data: bytes, start: int) -> None:
        """Read records up to the end of the data section or the first incomplete record."""
        end, add, unpack = len(data), self._add, MESSAGE_HEAD.unpack_from
        while start + RECORD.size <= end:
            opcode, size = RECORD.unpack_from(data, start)
            body, first = start + RECORD.size, start
            start = body + size
            if opcode == MESSAGE:
                if start > end or size < MESSAGE_HEAD_BYTES - RECORD.size:
                    return
                _, _, channel, _, log_time, _ = unpack(data, first)
                add(channel, log_time, data[first + MESSAGE_HEAD_BYTES : start])
            elif opcode == CHUNK:
                self._read_chunk(data[body:start])
            elif opcode in (DATA_END, FOOTER, 0) or start > end:
                return
            elif opcode in (SCHEMA, CHANNEL):
                try:
                    self._read_name(opcode, data[body:start])
                except struct.error:
                    return

    def _read_name(self, opcode: int, data: bytes) -> None:
        """Read the name of a schema, or topic and encoding of a channel."""
        number, schema = struct.unpack_from("<HH", data)
        texts, at = [], 2 if opcode == SCHEMA else 4
        for _ in range(2):
            (length,) = struct.unpack_from("<I", data, at)
            texts.append(data[at + 4 : at + 4 + length].decode(errors="replace"))
            at += 4 + length
        if opcode == SCHEMA:
            self._schemas[number] = texts[0]
        else:
            self.channels[number] = BagTopic(texts[0], self._schemas.get(schema, ""), texts[1])

    def _read_chunk(self, data: bytes) -> None:
        if len(data) < CHUNK_HEAD.size:
            return
        first, last, size, checksum, length = CHUNK_HEAD.unpack_from(data)
        start = CHUNK_HEAD.size + length + 8
        compression, stored = data[CHUNK_HEAD.size : start - 8].decode(errors="replace"), data[start:]
        complete = data[start - 8 : start] == struct.pack("<Q", len(stored))
        if size > MAX_CHUNK_BYTES:
            raise DescriptionError(f"a chunk has {size / 1e6:.0f} MB when unpacked.", source=str(self.path))
        try:
            records = self._decompressed(compression, stored) if compression else stored
        except DescriptionError:
            raise
        except Exception as error:  # of the library that unpacks: its exceptions have no common class
            self.remarks.append(f"a chunk of {self.path.name} cannot be unpacked and is left out: {error}")
            return
        if complete and checksum and zlib.crc32(records) != checksum:
            self.remarks.append(
                f"a chunk of {self.path.name} with {(last - first) / 1e9:.4g} s of messages is damaged and is left out"
            )
            return
        self._read_records(records, 0)

    def _decompressed(self, compression: str, data: bytes) -> bytes:
        """Return the content of compressed bytes, as far as they are present."""
        if compression == "zstd":
            zstd = needed_package("zstandard", f"{self.path.name} with zstd compression", "appell[ros]")
            return zstd.ZstdDecompressor().decompressobj().decompress(data)
        if compression == "lz4":
            lz4 = needed_package("lz4.frame", f"{self.path.name} with LZ4 compression", "appell[ros]")
            return lz4.LZ4FrameDecompressor().decompress(data)
        raise DescriptionError(
            f"the compression '{compression}' is unknown.", expected="zstd, lz4 or none", source=str(self.path)
        )

    def _read_sqlite(self, content: bytes) -> None:
        page_bytes, pages = int.from_bytes(content[16:18]), int.from_bytes(content[28:32])
        size = min(pages * page_bytes, MAX_CHUNK_BYTES) if content.startswith(SQLITE_MAGIC) else 0
        if cut := len(content) < size:  # keep complete pages; SQLite stops at the first of those that are missing
            content = content[: len(content) // page_bytes * page_bytes].ljust(size, b"\0")
        try:
            with closing(self._database(content, cut)) as database:
                for number, *names in database.execute("SELECT id, name, type, serialization_format FROM topics"):
                    self.channels[number] = BagTopic(*names)
                for number, time, data in database.execute("SELECT topic_id, timestamp, data FROM messages"):
                    if not isinstance(data, bytes):
                        raise sqlite3.DatabaseError("a message is not binary")
                    self._add(number, time, self._decompressed("zstd", data) if data[:4] == ZSTD_MAGIC else data)
        except sqlite3.Error as error:
            if not self.channels:
                raise DescriptionError(f"the bag cannot be read: {error}.", source=str(self.path)) from None
            self.remarks.append(f"{self.path.name} is cut or damaged ({error}); its readable part is used")

    def _database(self, content: bytes, cut: bool) -> sqlite3.Connection:
        if self.path.suffix.lower() == ".db3" and not cut:  # with the write-ahead log beside it, if there is one
            return sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
        database = sqlite3.connect(":memory:")
        database.deserialize(content)
        return database


def bag_parts(folder: FilePath) -> list[FilePath]:
    """Return the files of messages in a folder, in the order of their numbers; none if it is not a ROS 2 bag."""

    def number(part: FilePath) -> tuple[int, str]:
        digits = re.findall(r"_(\d+)\.", part.name)
        return (int(digits[-1]) if digits else 0), part.name

    parts = folder.iterdir() if folder.is_dir() else ()
    return sorted((part for part in parts if part.name.lower().endswith(STORAGES)), key=number)


def storages(path: FilePath) -> Iterator[Storage]:
    """Yield the files of a bag: one file, or those of a folder in the order of their numbers."""
    parts = bag_parts(path) if path.is_dir() else [path]
    if not parts:
        raise DescriptionError(
            "the folder is not a ROS 2 bag.", expected=f"files that end in {', '.join(STORAGES)}", source=str(path)
        )
    count = 0
    for part in parts:
        storage = Storage(part, count)
        count = storage.count
        yield storage


class McapWriter:
    """Writer of an MCAP file: channels, chunks of messages, and at the end the index that other programs use.

    Every chunk is passed to the operating system when it is complete, so that a killed process loses no chunk.
    """

    def __init__(self, file: IO[bytes], topics: dict[str, str]):
        self._file, self._at = file, 0
        self._chunks: list[bytes] = []
        self._counts = dict.fromkeys(range(1, len(topics) + 1), 0)
        self._span = [2**63, 0]
        self._put(MAGIC)
        self._record(HEADER, _text("ros2") + _text("appell"))
        types = list(dict.fromkeys(topics.values()))
        self._names = b""
        for k, name in enumerate(types, start=1):
            content = _text(name) + _text("ros2msg") + _text(DEFINITIONS[name])
            self._names += _framed(SCHEMA, struct.pack("<H", k) + content)
        for k, (topic, name) in enumerate(topics.items(), start=1):
            content = _text(topic) + _text("cdr") + struct.pack("<I", 0)
            self._names += _framed(CHANNEL, struct.pack("<HH", k, types.index(name) + 1) + content)
        self._schemas = len(types)
        self._put(self._names)

    def chunk(self, records: bytes, times: np.ndarray, channels: np.ndarray, offsets: np.ndarray) -> None:
        """Write message records as one chunk; `times` (ns), `channels` and `offsets` are those of the messages."""
        first, last, start = int(times.min()), int(times.max()), self._at
        size, no_compression = len(records), struct.pack("<I", 0)
        content = struct.pack("<QQQI", first, last, size, zlib.crc32(records)) + no_compression
        self._record(CHUNK, content + struct.pack("<Q", size), records)
        length, index_start, positions = self._at - start, self._at, b""
        for channel in np.unique(channels).tolist():
            of_channel = channels == channel
            positions += struct.pack("<HQ", channel, self._at)
            entries = np.column_stack([times[of_channel], offsets[of_channel]]).astype("<u8").tobytes()
            self._record(MESSAGE_INDEX, struct.pack("<HI", channel, len(entries)) + entries)
            self._counts[channel] += int(of_channel.sum())
        self._span = [min(self._span[0], first), max(self._span[1], last)]
        index = struct.pack("<QQQQI", first, last, start, length, len(positions)) + positions
        index += struct.pack("<Q", self._at - index_start) + no_compression + struct.pack("<QQ", size, size)
        self._chunks.append(_framed(CHUNK_INDEX, index))
        self._file.flush()

    def close(self) -> None:
        """Write the end of the file with the index."""
        self._record(DATA_END, struct.pack("<I", 0))
        counts = b"".join(struct.pack("<HQ", *each) for each in self._counts.items())
        messages = sum(self._counts.values())
        first, last = self._span if messages else (0, 0)
        numbers = (messages, self._schemas, len(self._counts), 0, 0, len(self._chunks), first, last)
        summary = self._at
        self._put(self._names)
        self._record(STATISTICS, struct.pack("<QHIIIIQQ", *numbers) + struct.pack("<I", len(counts)) + counts)
        self._put(b"".join(self._chunks))
        self._record(FOOTER, struct.pack("<QQI", summary, 0, 0))
        self._put(MAGIC)
        self._file.flush()

    def _record(self, opcode: int, content: bytes, tail: bytes = b"") -> None:
        self._put(RECORD.pack(opcode, len(content) + len(tail)) + content)
        self._put(tail)

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._at += len(data)


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack("<I", len(raw)) + raw


def _framed(opcode: int, content: bytes) -> bytes:
    return RECORD.pack(opcode, len(content)) + content


TABLES = """
CREATE TABLE schema(schema_version INTEGER PRIMARY KEY, ros_distro TEXT NOT NULL);
CREATE TABLE metadata(id INTEGER PRIMARY KEY, metadata_version INTEGER NOT NULL, metadata TEXT NOT NULL);
CREATE TABLE topics(id INTEGER PRIMARY KEY, name TEXT NOT NULL, type TEXT NOT NULL, serialization_format TEXT NOT NULL,
    offered_qos_profiles TEXT NOT NULL, type_description_hash TEXT NOT NULL);
CREATE TABLE message_definitions(id INTEGER PRIMARY KEY, topic_type TEXT NOT NULL, encoding TEXT NOT NULL,
    encoded_message_definition TEXT NOT NULL, type_description_hash TEXT NOT NULL);
CREATE TABLE messages(id INTEGER PRIMARY KEY, topic_id INTEGER NOT NULL, timestamp INTEGER NOT NULL,
    data BLOB NOT NULL);
CREATE INDEX timestamp_idx ON messages (timestamp ASC);
INSERT INTO schema VALUES (4, 'appell');
"""


def write_sqlite(path: FilePath, topics: dict[str, str], messages: Iterator[tuple[int, int, Any]]) -> None:
    """Write messages as an SQLite file of a bag: channel (from 1), log time in ns, content."""
    try:
        with closing(sqlite3.connect(path)) as database:
            database.executescript(TABLES)
            rows = [
                (k, topic, name, "cdr", "", HASHES[name]) for k, (topic, name) in enumerate(topics.items(), start=1)
            ]
            database.executemany("INSERT INTO topics VALUES (?, ?, ?, ?, ?, ?)", rows)
            types = [(name, "ros2msg", DEFINITIONS[name], HASHES[name]) for name in dict.fromkeys(topics.values())]
            database.executemany("INSERT INTO message_definitions VALUES (NULL, ?, ?, ?, ?)", types)
            database.executemany("INSERT INTO messages VALUES (NULL, ?, ?, ?)", messages)
            database.commit()
    except sqlite3.OperationalError as error:  # a full disk
        raise OSError(str(error)) from None
