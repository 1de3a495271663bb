"""Valid files of every format that appell reads, which the target `files` mutates."""

from __future__ import annotations

import io
import json
import tempfile
import zlib
from functools import cache
from pathlib import Path

import numpy as np

from appell.describe.load import load_text, load_tree
from appell.describe.write import to_toml, to_urdf
from appell.describe.zoo.mechanisms import MECHANISMS
from appell.motion.event import Event
from appell.motion.journal import MAGIC, PAGE_BYTES, JournalWriter
from appell.motion.record import Record
from appell.motion.record_files import write_csv, write_npz, write_parquet

URDF = """<?xml version="1.0"?>
<robot name="hand">
  <link name="base"/>
  <link name="palm"><inertial><origin xyz="0 0 0.1" rpy="0.1 0 0"/><mass value="1.2"/>
    <inertia ixx="0.01" ixy="0" ixz="0.001" iyy="0.02" iyz="0" izz="0.02"/></inertial></link>
  <link name="left"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <link name="right"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" ixy="0" ixz="0" iyy="1e-4" iyz="0" izz="1e-4"/></inertial></link>
  <link name="tip"/>
  <joint name="turn" type="continuous"><parent link="base"/><child link="palm"/>
    <origin xyz="0 0 0.2" rpy="0 1.57 0"/><axis xyz="0 0 1"/><dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="open" type="prismatic"><parent link="palm"/><child link="left"/><axis xyz="0 1 0"/>
    <limit lower="0" upper="0.05" effort="20" velocity="0.2"/></joint>
  <joint name="follow" type="prismatic"><parent link="palm"/><child link="right"/><axis xyz="0 -1 0"/>
    <limit lower="0" upper="0.05" effort="20" velocity="0.2"/><mimic joint="open" multiplier="1" offset="0"/></joint>
  <joint name="end" type="fixed"><parent link="left"/><child link="tip"/><origin xyz="0.1 0 0"/></joint>
  <transmission name="drive"><type>transmission_interface/SimpleTransmission</type>
    <joint name="turn"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
    <actuator name="motor"><mechanicalReduction>50</mechanicalReduction><motorInertia>1e-5</motorInertia></actuator>
  </transmission>
</robot>
"""
XACRO = """<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:property name="mass" value="2.0"/>
  <xacro:macro name="bar" params="name"><link name="${name}"/></xacro:macro>
  <link name="a"/><link name="b"><inertial><mass value="2.0"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>
"""


def record() -> Record:
    """Return a short record with everything that a record can contain except a curve."""
    t = np.arange(8) / 100.0
    q = np.column_stack([np.sin(t), np.cos(t)])
    event = Event(0.03, "impact", points=("elbow",), surfaces=(0,), impulses=np.array([0.5]))
    blocks = {"q": q, "v": q, "a": q, "tau": 2.0 * q, "energy": t}
    units = {"q_elbow": "rad"}
    about = {"robot": "planar-2r", "status": "FINISHED", "message": "The run reached its end."}
    return Record.of(t, blocks, ("shoulder", "elbow"), units=units, about=about, events=(event,))


def journal_header() -> dict:
    """Return the header of a log, without its columns."""
    return {"robot": "r", "period": 0.001, "words": {"state": {"0": "READY", "1": "RUNNING"}}}


def journal(header: bytes | None = None) -> bytes:
    """Return a log of forty rows; a given header replaces its own, with correct length and checksum."""
    columns = ("t", "state", "q_a", "tau_a")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.log"
        writer = JournalWriter(path, columns, journal_header())
        for k in range(40):
            writer.row[:] = 0.001 * k, k // 20, np.sin(k), 0.5
            writer.commit()
        writer.close()
        content = path.read_bytes()
    if header is None:
        return content
    head = MAGIC + f"{len(header)} {zlib.crc32(header)}\n".encode() + header
    return head.ljust(-(-len(head) // PAGE_BYTES) * PAGE_BYTES, b"\0") + content[PAGE_BYTES:]


def header_text() -> bytes:
    """Return the complete header of a log as text."""
    return json.dumps({"columns": ["t", "state", "q_a", "tau_a", "checksum"], **journal_header()}).encode()


def archive(text: str) -> bytes:
    """Return the NPZ archive of a record with the given description."""
    file = io.BytesIO()
    curve = {
        "curve_starts": np.zeros(1),
        "curve_ends": np.ones(1),
        "curve_stops": np.ones(1),
        "curve_series": np.ones(3),
    }
    np.savez_compressed(file, record=np.array(text), data=record().data, **curve)  # type: ignore[arg-type]
    return file.getvalue()


def archive_text() -> bytes:
    """Return the description inside an NPZ archive as text."""
    about = {"format": 1, "columns": record().columns, "about": '{"robot": "r"}', "units": '{"t": "s"}'}
    return json.dumps(about | {"events": '[{"time": 0.1, "kind": "stop"}]', "quaternions": [[0, 4]]}).encode()


@cache
def originals() -> dict[str, list[bytes]]:
    """Return valid files by ending; "head" and "about" are descriptions that are packed into valid files."""
    trees = [load_tree(name) for name in ("pendulum", "planar-2r", "two-body", "tree10")]
    hand = load_text(URDF, "urdf")
    urdf = [URDF, *(to_urdf(tree) for tree in trees[:3])]
    mechanisms = [make() for make in MECHANISMS.values()]
    toml = [to_toml(system) for system in (*trees, hand, *mechanisms)]
    written = {}
    for ending, write in (("csv", write_csv), ("npz", write_npz), ("parquet", write_parquet)):
        file = io.BytesIO()
        write(record(), file)
        written[ending] = file.getvalue()
    return {
        "urdf": [text.encode() for text in urdf],
        "toml": [text.encode() for text in toml],
        "xacro": [XACRO.encode()],
        "csv": [written["csv"], b"time,pos1,pos2\n0,1,2\n0.1,3,4\n"],
        "npz": [written["npz"]],
        "parquet": [written["parquet"]],
        "log": [journal()],
        "head": [header_text()],
        "about": [archive_text()],
    }
