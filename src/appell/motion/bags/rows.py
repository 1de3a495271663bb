"""Records as messages: the rows of a record, or of a control loop while it runs, as standard messages and back.

    /joint_states        sensor_msgs/JointState: q, and v and tau if they have the same names
    /<topic>             geometry_msgs/WrenchStamped or PoseStamped: columns wrench_<topic>_fx ..., pose_<topic>_x ...
    /appell/columns      std_msgs/Float64MultiArray: all other columns
    /appell/record       std_msgs/String: titles, units, metadata and events as JSON; the first message

Stamps are integers in ns. Times that they do not represent exactly are also stored as numbers, so that a record is read
back bit for bit.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path as FilePath
from typing import IO, Any, NamedTuple

import numpy as np

from appell.errors import ArgumentError, DescriptionError
from appell.files import check_target
from appell.motion.bags.messages import HASHES, JOINT_STATE, NUMBERS, POSE, TEXT, WRENCH, Structure, encoded
from appell.motion.bags.storage import MESSAGE, MESSAGE_HEAD_BYTES, RECORD, McapWriter, write_sqlite
from appell.motion.journal import new_journal
from appell.motion.titles import parse

JOINT_FIELDS = {"q": "position", "v": "velocity", "tau": "effort"}
PARTS = {  # type -> quantity, and the fields of its columns by the end of their names
    WRENCH: (
        "wrench",
        {f"{key}{x}": f"wrench.{part}.{x}" for key, part in (("f", "force"), ("m", "torque")) for x in "xyz"},
    ),
    POSE: (
        "pose",
        {x: f"pose.position.{x}" for x in "xyz"} | {f"q{x}": f"pose.orientation.{x}" for x in "xyzw"},
    ),
}
RECORD_TOPIC, COLUMNS_TOPIC, JOINT_TOPIC = "/appell/record", "/appell/columns", "/joint_states"
NS = 1_000_000_000
CHUNK_ROWS = 2048
JOURNAL_CHUNK_ROWS = 64  # rows that a killed control loop may lose
STAMP = slice(4, 12)  # bytes of the stamp in a message with a header


class Template(NamedTuple):
    """A message whose numbers are zero, and (column of the record, first byte) of each of its numbers."""

    topic: str
    type: str
    message: bytes
    positions: list[tuple[int, int]]

    @staticmethod
    def of(topic: str, kind: str, content: Mapping[str, Any], numbers: Mapping[int, tuple[str, int]]) -> Template:
        """Return a template; `numbers` maps columns to the path of a field and the index in it."""
        message = encoded(kind, content)
        start = {path: first for path, (_, first, _) in Structure.of(kind, message).numbers.items()}
        return Template(topic, kind, message, [(c, start[path] + 8 * k) for c, (path, k) in numbers.items()])


def templates(columns: Sequence[str], frames: Mapping[str, str], exact_times: bool) -> list[Template]:
    """Return the messages of a row of these columns."""
    out: list[Template] = []
    index = {title: k for k, title in enumerate(columns)}
    names: dict[str, list[str]] = {}
    for quantity, name in map(parse, columns):
        names.setdefault(quantity, []).append(name)
    joints = names.get("q", [])
    blocks = {q: part for q, part in JOINT_FIELDS.items() if sorted(names.get(q, [])) == sorted(joints)}
    if joints and "" not in joints:
        content = {"name": joints} | {part: [0.0] * len(joints) for part in blocks.values()}
        numbers = {index[f"{q}_{name}"]: (part, k) for q, part in blocks.items() for k, name in enumerate(joints)}
        out.append(Template.of(JOINT_TOPIC, JOINT_STATE, content, numbers))
    for kind, (quantity, parts) in PARTS.items():
        for topic in dict.fromkeys(name.rpartition("_")[0] for name in names.get(quantity, [])):
            of_topic = {f"{quantity}_{topic}_{end}": (path, 0) for end, path in parts.items()}
            if topic and all(title in index for title in of_topic):
                frame = {"header.frame_id": frames.get(f"/{topic}", "")}
                out.append(Template.of(f"/{topic}", kind, frame, {index[title]: at for title, at in of_topic.items()}))
    done = {column for template in out for column, _ in template.positions}
    left = [k for k in range(len(columns)) if k not in done and (k or exact_times)]
    if left:
        numbers = {column: ("data", k) for k, column in enumerate(left)}
        out.append(Template.of(COLUMNS_TOPIC, NUMBERS, {"data": [0.0] * len(left)}, numbers))
    return out


class RecordMessages:
    """The messages of rows with given columns.

    Parameters
    ----------
    columns
        Titles, the first of which is t.
    metadata
        Units, metadata ("about") and events as plain data.
    start_ns
        Stamp of t = 0.
    exact_times
        Whether times are stored as numbers too.
    """

    def __init__(self, columns: Sequence[str], metadata: Mapping[str, Any], start_ns: int, exact_times: bool):
        exact_times = exact_times or len(columns) == 1
        self.start_ns = start_ns
        self.templates = templates(columns, metadata.get("about", {}).get("frames", {}), exact_times)
        head = {"columns": list(columns), "start_ns": start_ns, "exact_times": exact_times, **metadata}
        self.text = encoded(TEXT, {"data": json.dumps(head, ensure_ascii=False)})
        self.topics = {RECORD_TOPIC: TEXT} | {template.topic: template.type for template in self.templates}

    def stamps(self, t: np.ndarray) -> np.ndarray:
        """Return the stamps of times, ns; a log may contain times that are not stamps, which become the nearest one."""
        offset = np.clip(np.nan_to_num(np.rint(t * NS)), -(2.0**62), 2.0**62).astype(np.int64)
        return np.maximum(self.start_ns + offset, 0)

    def messages(self, data: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the stamps of rows in ns, and the bytes of the messages of each template."""
        ns, blocks = self.stamps(data[:, 0]), []
        parts = np.column_stack([ns // NS, ns % NS]).astype("<u4").view(np.uint8)
        for template in self.templates:
            rows = np.tile(np.frombuffer(template.message, np.uint8), (len(data), 1))
            for column, start in template.positions:
                rows[:, start : start + 8] = data[:, column, None].astype("<f8").view(np.uint8)
            if template.type != NUMBERS:
                rows[:, STAMP] = parts
            blocks.append(rows)
        return ns, blocks


def rows_of(record: Any, metadata: Mapping[str, Any]) -> RecordMessages:
    """Return the messages of a record; raise `ArgumentError` if its times cannot be stamps."""
    t = record.t
    start = max(int(record.about.get("start_ns", 0)), -int(np.floor(t[0] * NS)) if len(t) else 0)
    if len(t) and start / NS + t[-1] >= 2**31:
        raise ArgumentError(
            f"times up to {start / NS + t[-1]:g} s cannot be written as stamps of ROS.", expected="times below 2^31 s"
        )
    return RecordMessages(record.columns, metadata, start, not bool((np.rint(t * NS) / NS == t).all()))


class McapRows:
    """Writer of rows to an MCAP file, chunk by chunk."""

    def __init__(self, file: IO[bytes], rows: RecordMessages):
        self.rows, self._sequence = rows, 0
        self._writer = McapWriter(file, rows.topics)
        self._chunk(np.array([rows.start_ns]), {1: np.frombuffer(rows.text, np.uint8)[None]})

    def write(self, data: np.ndarray) -> None:
        """Write rows as one chunk, and pass it to the operating system."""
        ns, blocks = self.rows.messages(data)
        self._chunk(ns, dict(enumerate(blocks, start=2)))

    def _chunk(self, ns: np.ndarray, blocks: Mapping[int, np.ndarray]) -> None:
        """Write messages by channel as one chunk; the messages of a row follow each other."""
        count, records, offsets, size = len(ns), [], [], 0
        sequence = (self._sequence + np.arange(count)).astype("<u4")[:, None].view(np.uint8)
        times = np.column_stack([ns, ns]).astype("<u8").view(np.uint8)
        for channel, block in blocks.items():
            length = MESSAGE_HEAD_BYTES - RECORD.size + block.shape[1]
            head = np.frombuffer(RECORD.pack(MESSAGE, length) + channel.to_bytes(2, "little"), np.uint8)
            records += [np.tile(head, (count, 1)), sequence, times, block]
            offsets.append(size)
            size += RECORD.size + length
        positions = np.arange(count)[:, None] * size + offsets
        channels = np.tile([*blocks], count)
        self._writer.chunk(np.hstack(records).tobytes(), np.repeat(ns, len(blocks)), channels, positions.ravel())
        self._sequence += count

    def close(self) -> None:
        """Write the index of the file."""
        self._writer.close()


def write_mcap(record: Any, file: IO[bytes], metadata: Mapping[str, Any]) -> None:
    """Write a record as an MCAP file."""
    writer = McapRows(file, rows_of(record, metadata))
    for first in range(0, len(record), CHUNK_ROWS):
        writer.write(record.data[first : first + CHUNK_ROWS])
    writer.close()


def write_db3(record: Any, path: FilePath, metadata: Mapping[str, Any]) -> None:
    """Write a record as the SQLite file of a bag."""
    rows = rows_of(record, metadata)

    def messages() -> Iterator[tuple[int, int, bytes]]:
        yield 1, rows.start_ns, rows.text
        ns, blocks = rows.messages(record.data)
        for k, stamp in enumerate(ns.tolist()):
            for channel, block in enumerate(blocks, start=2):
                yield channel, stamp, block[k].tobytes()

    write_sqlite(path, rows.topics, messages())


def write_folder(record: Any, folder: FilePath, name: str, metadata: Mapping[str, Any]) -> None:
    """Write a record as the folder of a ROS 2 bag, with its messages in an MCAP file."""
    folder.mkdir()
    file_name = f"{name}_0.mcap"
    with (folder / file_name).open("wb") as file:
        write_mcap(record, file, metadata)
    rows = rows_of(record, metadata)
    ns = [rows.start_ns, *rows.stamps(record.t[[0, -1]]).tolist()] if len(record) else [rows.start_ns]
    counts = {topic: 1 if topic == RECORD_TOPIC else len(record) for topic in rows.topics}
    topics = "".join(
        f"    - topic_metadata:\n        name: {json.dumps(topic)}\n        type: {rows.topics[topic]}\n"
        "        serialization_format: cdr\n        offered_qos_profiles: []\n"
        f"        type_description_hash: {HASHES[rows.topics[topic]]}\n      message_count: {count}\n"
        for topic, count in counts.items()
    )
    path = json.dumps(file_name, ensure_ascii=False)
    totals = (
        f"starting_time: {{nanoseconds_since_epoch: {min(ns)}}}",
        f"duration: {{nanoseconds: {max(ns) - min(ns)}}}",
        f"message_count: {sum(counts.values())}",
    )
    (folder / "metadata.yaml").write_text(
        "rosbag2_bagfile_information:\n  version: 9\n  storage_identifier: mcap\n"
        + "".join(f"  {total}\n" for total in totals)
        + f"  topics_with_message_count:\n{topics}  compression_format: ''\n  compression_mode: ''\n"
        f"  relative_file_paths: [{path}]\n  files:\n    - {{path: {path}, {', '.join(totals)}}}\n"
        "  custom_data: null\n  ros_distro: ''\n",
        encoding="utf-8",
    )


Groups = Mapping[str, Iterator[tuple[Structure, np.ndarray, np.ndarray, np.ndarray]]]


def own_fields(groups: Groups, source: str) -> dict[str, Any]:
    """Return columns, data and metadata that `RecordMessages` wrote; an incomplete last row is left out.

    `groups` yields structure, bytes, index and log time of the messages of each topic.
    """
    try:
        head = json.loads(next(groups[RECORD_TOPIC])[0].texts["data"])
        columns, start, exact_times = head.pop("columns"), head.pop("start_ns"), head.pop("exact_times")
        blocks: list[tuple[Template, np.ndarray, np.ndarray]] = []
        for template in templates(columns, head.get("about", {}).get("frames", {}), exact_times):
            plain = np.frombuffer(template.message, np.uint8)
            empty = (Structure(), np.zeros((0, len(plain)), np.uint8), np.zeros(0), np.zeros(0))
            structure, rows, _, log = next(groups.get(template.topic, iter(())), empty)
            if rows.shape[1] != len(plain) or any((rows[:1, part] != plain[part]).any() for part in structure.fixed):
                raise ValueError(f"the messages of {template.topic} are not those that appell writes")
            blocks.append((template, rows, log))
        count = min(len(rows) for _, rows, _ in blocks)
        data = np.empty((count, len(columns)))
        data[:, 0] = (blocks[0][2][:count] - start) / NS
        for template, rows, _ in blocks:
            for column, first in template.positions:
                data[:, column] = np.ascontiguousarray(rows[:count, first : first + 8]).view("<f8")[:, 0]
        return {"columns": columns, "data": data, "metadata": head}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, StopIteration) as error:
        raise DescriptionError(f"the record of appell in the bag is damaged: {error}.", source=source) from None


class McapJournal:
    """Writer of a control loop's log as an MCAP file, with the interface of `JournalWriter`.

    Rows are collected in chunks of 64, which are passed to the operating system: a killed process loses at most the
    last 64 rows. The parameters are those of `JournalWriter`.
    """

    def __init__(self, path: str | FilePath, columns: Sequence[str], header: Mapping[str, Any]):
        self.path, self.columns = FilePath(path), tuple(columns)
        self.rows, self._stored, self._full = 0, 0, False
        self._block = np.zeros((JOURNAL_CHUNK_ROWS, len(self.columns)))
        self._file = new_journal(check_target(self.path, overwrite=True))
        try:
            self._writer = McapRows(self._file, RecordMessages(self.columns, {"about": dict(header)}, 0, True))
        except OSError as error:
            with suppress(OSError):  # closing tries to write again
                self._file.close()
            self.path.unlink(missing_ok=True)
            raise ArgumentError(f"a journal cannot be written to {path}: {error.strerror or error}.") from None
        self.row = self._block[0]

    @property
    def lost(self) -> int:
        """Number of rows for which there was no disk space."""
        return self.rows - self._stored if self._full else 0

    def commit(self) -> None:
        """Complete the current row; `row` is then the next one."""
        self.rows += 1
        if self.rows % JOURNAL_CHUNK_ROWS == 0:
            self._write(JOURNAL_CHUNK_ROWS)
        self.row = self._block[self.rows % JOURNAL_CHUNK_ROWS]

    def _write(self, count: int) -> None:
        """Write a chunk; on a full disk the loop continues and the log ends."""
        if not self._full:
            try:
                self._writer.write(self._block[:count])
                self._stored += count
            except OSError:
                self._full = True

    def flush(self) -> None:
        """Rows are passed to the operating system chunk by chunk; there is nothing else to do."""

    def close(self) -> None:
        """Write the last rows and the index, and close the file."""
        if self._file.closed:
            return
        if self.rows % JOURNAL_CHUNK_ROWS:
            self._write(self.rows % JOURNAL_CHUNK_ROWS)
        try:
            if not self._full:
                self._writer.close()
            self._file.close()
        except OSError:
            self._full = True
