"""Records in files, by the ending of their names. A file appears whole or not at all, and none is written over unasked.

.csv        a heading, then a row a line; what else is known in lines that begin with #
.npz        all of it, the motion between samples included
.parquet    the columns; what else is known as metadata; needs pyarrow
.log        the journal of a control loop, read only
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path as FilePath

from appell.errors import ArgumentError, DescriptionError, unknown_name
from appell.motion.files import csv, journal, npz, parquet
from appell.motion.files.table import Table
from appell.motion.record import Record

FORMATS = {".csv": csv, ".npz": npz, ".parquet": parquet}
READERS = {suffix: module.read for suffix, module in FORMATS.items()} | {".log": journal.read}
LARGEST = 2_000_000_000  # bytes; a longer file is not a record that anybody wants in memory
LONGEST_TEXT = 200_000_000  # bytes; text takes ten times as much


def check_target(path: FilePath, overwrite: bool = False) -> None:
    """Raise if a record cannot be written there; worth asking before hours of work."""
    if path.suffix.lower() not in FORMATS:
        raise ArgumentError(
            f"'{path.name}' is no file that a record can be written to.", expected=f"a name in {', '.join(FORMATS)}"
        )
    if path.exists() and not overwrite:
        raise ArgumentError(
            f"{path} is there already, and nothing is written over.", hint="another name, overwrite=True or --force"
        )


def write(record: Record, path: FilePath, overwrite: bool) -> None:
    """The record as a file, put in place when it is complete."""
    check_target(path, overwrite)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            FORMATS[path.suffix.lower()].write(record, file)
        part.replace(path)
    except OSError as error:
        raise ArgumentError(f"the record cannot be written to {path}: {error.strerror or error}.") from None
    finally:
        part.unlink(missing_ok=True)


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
    table = READERS[suffix](path)
    return _renamed(table, columns, source).record(source)


def _renamed(table: Table, columns: Mapping[str, str], source: str) -> Table:
    """The table with our titles, and t in front."""
    for ours, theirs in columns.items():
        if theirs not in table.heading:
            raise DescriptionError(
                unknown_name("column", theirs, table.heading, "The file"), source=source, hint=f"for '{ours}'"
            )
    ours_of = {theirs: ours for ours, theirs in columns.items()}
    heading = [ours_of.get(title, title) for title in table.heading]
    if "t" not in heading and "time" in heading:
        heading[heading.index("time")] = "t"
    if "t" not in heading:
        raise DescriptionError(
            unknown_name("column", "t", heading, "The file"),
            expected="a first line that names columns t and q_<coordinate>, tau_<actuator>, ...",
            source=source,
            hint="columns={'t': '<its name in the file>'}",
        )
    order = [heading.index("t"), *(k for k, title in enumerate(heading) if k != heading.index("t"))]
    units = {ours_of.get(title, title): unit for title, unit in table.units.items()}
    return table.arranged(tuple(heading[k] for k in order), order, units)
