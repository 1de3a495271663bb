"""Records in files, by the ending of their names. A file appears whole or not at all, and none is written over unasked.

.csv        a heading, then a row a line; what else is known in lines that begin with #
.npz        all of it, the motion between samples included
.parquet    the columns; what else is known as metadata; needs pyarrow
.log        the journal of a control loop, read only
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from appell.errors import ArgumentError, DescriptionError, unknown_name
from appell.motion.files import csv, journal, npz, parquet
from appell.motion.files.whole import check_free, whole
from appell.motion.record import Record

FORMATS = {".csv": csv, ".npz": npz, ".parquet": parquet}
READERS = {suffix: module.read for suffix, module in FORMATS.items()} | {".log": journal.read}
LARGEST = 2_000_000_000  # bytes; a longer file is not a record that anybody wants in memory
TIMES = ("t", "time", "timestamp", "stamp")
LONGEST_TEXT = 200_000_000  # bytes; text takes ten times as much


def check_target(path: FilePath, overwrite: bool = False) -> None:
    """Raise if a record cannot be written there; worth asking before hours of work."""
    if path.suffix.lower() not in FORMATS:
        raise ArgumentError(
            f"'{path.name}' is no file that a record can be written to.", expected=f"a name in {', '.join(FORMATS)}"
        )
    check_free(path, overwrite)


def write(record: Record, path: FilePath, overwrite: bool) -> None:
    """The record as a file, put in place when it is complete."""
    check_target(path, overwrite)
    with whole(path, "the record") as part, part.open("wb") as file:
        FORMATS[path.suffix.lower()].write(record, file)


def read(path: FilePath, columns: Mapping[str, str]) -> Record:
    """The record of a file, with our titles for the file's own."""
    source, suffix = str(path), path.suffix.lower()
    if suffix not in READERS:
        raise DescriptionError(
            f"'{path.name}' is no record that can be read.", expected=f"a name in {', '.join(READERS)}", source=source
        )
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DescriptionError(f"the record cannot be read: {error.strerror}.", source=source) from None
    if size > (most := LONGEST_TEXT if suffix == ".csv" else LARGEST):
        raise DescriptionError(f"the file is larger than {most // 10**6} MB.", source=source)
    content = READERS[suffix](path)
    return Record(**content | _renamed(content, columns, source), source=source)


def _is_time(title: str) -> bool:
    """Whether a title says that it is a time in seconds."""
    return tuple(re.findall("[a-z]+", title.lower())) in {(name, *unit) for name in TIMES for unit in ((), ("s",))}


def _renamed(content: dict[str, Any], columns: Mapping[str, str], source: str) -> dict[str, Any]:
    """Columns with our titles, and t in front."""
    theirs = list(content["columns"])
    for title in columns.values():
        if title not in theirs:
            raise DescriptionError(unknown_name("column", title, theirs, "The file"), source=source)
    ours = {own: title for title, own in columns.items()}
    heading = [ours.get(title, title) for title in theirs]
    if "t" not in heading:
        clocks = [title for title in heading if _is_time(title)]
        if len(clocks) > 1:
            raise DescriptionError(
                f"two columns could be the time: {', '.join(clocks)}.", source=source, hint="columns={'t': ...}"
            )
        heading = ["t" if title in clocks else title for title in heading]
    if "t" not in heading:
        raise DescriptionError(
            unknown_name("column", "t", heading, "The file"),
            expected="a first line that names columns t and q_<coordinate>, tau_<actuator>, ...",
            source=source,
            hint="columns={'t': '<its name in the file>'}",
        )
    order = sorted(range(len(heading)), key=lambda k: k != heading.index("t"))
    units = {ours.get(title, title): unit for title, unit in content.get("units", {}).items()}
    return {"columns": [heading[k] for k in order], "data": content["data"][:, order], "units": units}
