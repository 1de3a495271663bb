"""ROS 2 messages as arrays: definitions, and their binary form (CDR), many messages at a time.

    field of a primitive type      aligned to its size, counted from the end of the four bytes that state the byte order
    string                         length with its final zero byte as uint32, bytes, zero byte
    sequence                       number of elements as uint32, elements

Messages of a topic usually differ in numbers only, not in names and lengths. The structure of one message (its strings
and lengths) gives the place of every number; all messages with the same structure are decoded by one NumPy operation
per field, and written by filling copies of one message.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

HEADER = "MSG: std_msgs/Header\nbuiltin_interfaces/Time stamp\nstring frame_id"
TIME = "MSG: builtin_interfaces/Time\nint32 sec\nuint32 nanosec"
VECTOR = "MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z"
JOINT_STATE = "sensor_msgs/msg/JointState"
TRAJECTORY = "trajectory_msgs/msg/JointTrajectory"
WRENCH = "geometry_msgs/msg/WrenchStamped"
POSE = "geometry_msgs/msg/PoseStamped"
TEXT = "std_msgs/msg/String"
NUMBERS = "std_msgs/msg/Float64MultiArray"
_PARTS = {
    JOINT_STATE: (
        "std_msgs/Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort",
        HEADER,
        TIME,
    ),
    TRAJECTORY: (
        "std_msgs/Header header\nstring[] joint_names\ntrajectory_msgs/JointTrajectoryPoint[] points",
        HEADER,
        TIME,
        "MSG: trajectory_msgs/JointTrajectoryPoint\nfloat64[] positions\nfloat64[] velocities\n"
        "float64[] accelerations\nfloat64[] effort\nbuiltin_interfaces/Duration time_from_start",
        "MSG: builtin_interfaces/Duration\nint32 sec\nuint32 nanosec",
    ),
    WRENCH: (
        "std_msgs/Header header\ngeometry_msgs/Wrench wrench",
        HEADER,
        TIME,
        "MSG: geometry_msgs/Wrench\ngeometry_msgs/Vector3 force\ngeometry_msgs/Vector3 torque",
        VECTOR,
    ),
    POSE: (
        "std_msgs/Header header\ngeometry_msgs/Pose pose",
        HEADER,
        TIME,
        "MSG: geometry_msgs/Pose\ngeometry_msgs/Point position\ngeometry_msgs/Quaternion orientation",
        "MSG: geometry_msgs/Point\nfloat64 x\nfloat64 y\nfloat64 z",
        "MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w",
    ),
    TEXT: ("string data",),
    NUMBERS: (
        "std_msgs/MultiArrayLayout layout\nfloat64[] data",
        "MSG: std_msgs/MultiArrayLayout\nstd_msgs/MultiArrayDimension[] dim\nuint32 data_offset",
        "MSG: std_msgs/MultiArrayDimension\nstring label\nuint32 size\nuint32 stride",
    ),
}
DEFINITIONS = {name: f"\n{'=' * 80}\n".join(parts) + "\n" for name, parts in _PARTS.items()}  # as MCAP files store them
HASHES = {  # of the definitions (REP 2016), which readers compare
    JOINT_STATE: "RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e",
    WRENCH: "RIHS01_8dc3deaf06b2ab281f9f9a742a8961c328ca7cec16e3fd6586d3a5c83fa78f77",
    POSE: "RIHS01_10f3786d7d40fd2b54367835614bff85d4ad3b5dab62bf8bca0cc232d73b4cd8",
    TEXT: "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18",
    NUMBERS: "RIHS01_1025ddc6b9552d191f89ef1a8d2f60f3d373e28b283d8891ddcc974e8c55397f",
}
FORMATS = {"int32": "i4", "uint32": "u4", "float64": "f8"}
ENCAPSULATION_BYTES = 4
LITTLE, BIG = b"\0\1\0\0", b"\0\0\0\0"
Field = tuple[str, str, bool]  # name, type, whether it is a sequence


@cache
def fields(message_type: str) -> dict[str, list[Field]]:
    """Return the fields of a message, under "", and of the messages in it, by type."""
    tables: dict[str, list[Field]] = {}
    for part in _PARTS[message_type]:
        name, _, body = part.removeprefix("MSG: ").partition("\n") if part.startswith("MSG: ") else ("", "", part)
        lines = [line.split() for line in body.splitlines()]
        tables[name] = [(title, kind.removesuffix("[]"), kind.endswith("[]")) for kind, title in lines]
    return tables


@dataclass
class Structure:
    """Places of the numbers of a message, and its texts.

    `numbers` maps the path of a field, such as "points.0.positions", to its format, first byte and count; `texts` maps
    paths to texts or lists of texts; `fixed` are the bytes that all messages of this structure have in common.
    """

    numbers: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    texts: dict[str, Any] = field(default_factory=dict)
    fixed: list[slice] = field(default_factory=list)
    size: int = 0

    @staticmethod
    def of(message_type: str, data: bytes) -> Structure:
        """Return the structure of a message; raise ValueError if the bytes are not such a message."""
        if data[:2] not in (LITTLE[:2], BIG[:2]):
            raise ValueError(f"its encoding is {data[:2].hex()}, not plain CDR")
        structure = Structure(size=ENCAPSULATION_BYTES)
        structure.fixed.append(slice(0, 2))
        try:
            structure._walk(fields(message_type), "", "", data, "<" if data[:2] == LITTLE[:2] else ">")
        except (struct.error, UnicodeDecodeError) as error:
            raise ValueError(str(error)) from None
        if structure.size > len(data):
            raise ValueError("it is shorter than its lengths state")
        return structure

    def _walk(self, tables: Mapping[str, list[Field]], kind: str, path: str, data: bytes, order: str) -> None:
        for name, type_name, many in tables[kind]:
            here = f"{path}{name}"
            count = self._length(data, order) if many else 1
            if type_name in FORMATS:
                width = int(FORMATS[type_name][1])
                start = self._aligned(width) if count else self.size
                self.size = start + width * count
                self.numbers[here] = (order + FORMATS[type_name], start, count)
            elif type_name == "string":
                texts = [self._text(data, order) for _ in range(count)]
                self.texts[here] = texts if many else texts[0]
            else:
                if many:
                    self.texts[here] = count
                for k in range(count):
                    self._walk(tables, type_name, f"{here}.{k}." if many else f"{here}.", data, order)

    def _aligned(self, width: int) -> int:
        return self.size + (ENCAPSULATION_BYTES - self.size) % width

    def _length(self, data: bytes, order: str) -> int:
        start = self._aligned(4)
        (length,) = struct.unpack_from(order + "I", data, start)
        if length > len(data):
            raise ValueError(f"it states a length of {length}, but has {len(data)} bytes")
        self.size = start + 4
        self.fixed.append(slice(start, self.size))
        return length

    def _text(self, data: bytes, order: str) -> str:
        length = self._length(data, order)
        text = data[self.size : self.size + length]
        self.fixed.append(slice(self.size, self.size + length))
        self.size += length
        return text.removesuffix(b"\0").decode()

    def column(self, rows: np.ndarray, path: str) -> np.ndarray:
        """Return a field of messages of this structure, (messages, count); `rows` are their bytes."""
        code, start, count = self.numbers[path]
        taken = np.ascontiguousarray(rows[:, start : start + count * int(code[2])])
        return taken.view(code).astype(code[1:], copy=False) if count else np.zeros((len(rows), 0))

    def stamps(self, rows: np.ndarray, path: str = "header.stamp") -> np.ndarray:
        """Return times or durations of messages, (messages,), ns."""
        sec, nanosec = (self.column(rows, f"{path}.{part}")[:, 0].astype(np.int64) for part in ("sec", "nanosec"))
        return sec * 1_000_000_000 + nanosec


def decoded(message_type: str, rows: np.ndarray) -> Iterator[tuple[np.ndarray, Structure]]:
    """Yield the indices of messages of equal structure, and this structure; `rows` are messages of equal length."""
    left = np.arange(len(rows))
    while len(left):
        first = rows[left[0]]
        structure = Structure.of(message_type, first.tobytes())
        equal = np.ones(len(left), bool)
        for part in structure.fixed:
            equal &= (rows[left, part] == first[part]).all(axis=1)
        yield left[equal], structure
        left = left[~equal]


def encoded(message_type: str, content: Mapping[str, Any]) -> bytes:
    """Return one message with these fields by path; numbers that are absent are zero, texts and sequences empty.

    A sequence of messages is a list of such contents.
    """
    out = bytearray(LITTLE)
    _append(out, fields(message_type), "", "", content)
    return bytes(out)


def _append(
    out: bytearray, tables: Mapping[str, list[Field]], kind: str, path: str, content: Mapping[str, Any]
) -> None:
    def numbers(code: str, values: list) -> None:
        width = int(code[1])
        out.extend(bytes((ENCAPSULATION_BYTES - len(out)) % width if values else 0))
        out.extend(np.asarray(values, "<" + code).tobytes())

    for name, type_name, many in tables[kind]:
        value = content.get(f"{path}{name}")
        values = list(value or ()) if many else [value]
        if many:
            numbers("u4", [len(values)])
        if type_name in FORMATS:
            numbers(FORMATS[type_name], [x or 0 for x in values])
        elif type_name == "string":
            for text in values:
                raw = (text or "").encode() + b"\0"
                numbers("u4", [len(raw)])
                out.extend(raw)
        else:
            for each in values:
                inner: Mapping = each if many else content  # type: ignore[assignment]
                _append(out, tables, type_name, "" if many else f"{path}{name}.", inner)
