"""Reading and writing records; the ending of the file name selects the format.

.csv        a heading, lines that start with # (units, metadata and events as JSON), then one line per row, in full
            precision; an empty cell is NaN; other lines that start with # are comments
.npz        the complete record, bit for bit, including the motion between rows; or any archive with one array per
            column or block of columns
.parquet    the columns; units, metadata and events as the metadata of the file; requires pyarrow
.mcap       standard messages of ROS 2 and the complete record (`bags.rows`); or an MCAP file of other programs
.db3        the same as an SQLite file; a name without an ending is the folder of a ROS 2 bag with an MCAP file
.log        the journal of a control loop, read only (`journal`)

Records of many motions are stored as .npz, one array per block, or as .zarr, of which other programs can read parts;
names of columns, units and metadata are one JSON text.
"""

from __future__ import annotations

import csv
import json
import math
import re
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path as FilePath
from typing import IO, Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from appell.errors import ArgumentError, DescriptionError, Hint, ModelWarning, needed_package, unknown_name
from appell.files import check_target, replacing
from appell.motion.bags.bag import read_bag
from appell.motion.bags.rows import write_db3, write_folder, write_mcap
from appell.motion.clock import clock_report, ordered
from appell.motion.curve import Curve
from appell.motion.event import Event
from appell.motion.journal import changes, read_journal
from appell.motion.record import Record
from appell.motion.records import Records
from appell.motion.titles import titles

METADATA = ("units", "about", "events")


def metadata_texts(record: Record) -> dict[str, str]:
    """Return units, metadata and events as JSON texts by name; empty ones are left out."""
    parts = {"units": dict(record.units), "about": record.about, "events": [event.plain() for event in record.events]}
    return {name: json.dumps(part, ensure_ascii=False) for name, part in parts.items() if part}


def metadata_of(texts: Mapping[str, str], source: str) -> dict[str, Any]:
    """Return the fields of a record that `metadata_texts` wrote."""
    try:
        parts = {name: json.loads(texts[name]) for name in METADATA if name in texts}
        events = tuple(Event.of(event) for event in parts.get("events", ()))
        return {"units": dict(parts.get("units", {})), "about": dict(parts.get("about", {})), "events": events}
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise DescriptionError(f"the metadata of the record is damaged: {error}.", source=source) from None


def write_csv(record: Record, file: IO[bytes]) -> None:
    """Write a record as CSV."""
    text = TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(record.columns)
    text.writelines(f"# {name} {line}\n" for name, line in metadata_texts(record).items())
    writer.writerows(map(repr, row) for row in record.data.tolist())
    text.flush()
    text.detach()


def read_csv(path: FilePath) -> dict[str, Any]:
    """Return the fields of the record in a CSV file."""
    source, texts, numbers = str(path), dict[str, str](), list[int]()

    def lines(file: IO[str]) -> Iterator[str]:
        """Yield the lines that are not comments, and append their line numbers to `numbers`."""
        for number, line in enumerate(file, start=1):
            if line.startswith("#"):
                name, _, text = line[1:].strip().partition(" ")
                if name in METADATA:
                    texts[name] = text
            elif line.strip():
                numbers.append(number)
                yield line

    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(lines(file), strict=True)
            rows = [(numbers[reader.line_num - 1], row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DescriptionError(f"the record cannot be read: {error}.", source=source) from None
    if not rows:
        raise DescriptionError(
            "the file is empty.", source=source, expected="a first line that names columns t and q_<coordinate>, ..."
        )
    heading = tuple(title.strip() for title in rows[0][1])
    values = np.empty((len(rows) - 1, len(heading)))
    for k, (number, row) in enumerate(rows[1:]):
        if len(row) != len(heading):
            raise DescriptionError(
                f"the row has {len(row)} cells, the heading {len(heading)}.", source=f"{source}, line {number}"
            )
        try:
            values[k] = [float(cell) if cell else np.nan for cell in row]
        except ValueError:
            values[k] = [
                _number(cell, title, f"{source}, line {number}") for cell, title in zip(row, heading, strict=True)
            ]
    return {"columns": heading, "data": values, **metadata_of(texts, source)}


def _number(cell: str, title: str, source: str) -> float:
    try:
        return float(cell) if cell.strip() else np.nan
    except ValueError:
        raise DescriptionError(f"column '{title}' contains {cell!r}, which is not a number.", source=source) from None


CURVE = ("starts", "ends", "stops", "series")
READ_ERRORS = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    RuntimeError,
    MemoryError,
    BadZipFile,
    zlib.error,
)  # RuntimeError: an encrypted archive, or JSON that is nested too deeply


def write_npz(record: Record, file: IO[bytes]) -> None:
    """Write a record as an NPZ archive, with the motion between its rows."""
    about: dict[str, Any] = {"format": 1, "columns": record.columns, **metadata_texts(record)}
    arrays: dict[str, Any] = {"data": record.data}
    if record.between is not None:
        about["quaternions"] = record.between.quaternions
        arrays |= {f"curve_{name}": getattr(record.between, name) for name in CURVE}
    np.savez_compressed(file, record=np.array(json.dumps(about)), **arrays)


def npz_arrays(path: FilePath) -> dict[str, np.ndarray]:
    """Return the arrays of an NPZ archive; sizes that its directory and its headers state are checked before."""
    readers: dict[Any, Any] = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    with path.open("rb") as file, ZipFile(file) as archive:
        size, limit = sum(part.file_size for part in archive.infolist()), max(MAX_FILE_BYTES, path.stat().st_size)
        if size > limit:
            raise DescriptionError(
                f"the archive has {size / 1e6:.0f} MB when unpacked.",
                expected=f"at most {limit / 1e6:.0f} MB",
                source=str(path),
            )
        for part in archive.infolist():
            with archive.open(part) as stream:
                if (version := np.lib.format.read_magic(stream)) not in readers:
                    raise ValueError(f"array '{part.filename}' has the unknown format {version}")
                shape, _, dtype = readers[version](stream)
            if math.prod(shape) * dtype.itemsize > part.file_size:
                raise DescriptionError(
                    f"the header of array '{part.filename}' states the shape {shape}, but the array has only "
                    f"{part.file_size} bytes.",
                    source=str(path),
                )
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def read_npz(path: FilePath) -> dict[str, Any]:
    """Return the fields of the record in an NPZ archive of appell, or of any archive of columns."""
    try:
        arrays = npz_arrays(path)
        return _appell_fields(arrays, str(path)) if "record" in arrays else _foreign_fields(arrays)
    except DescriptionError:
        raise
    except READ_ERRORS as error:
        raise DescriptionError(f"the record cannot be read: {error}.", source=str(path)) from None


def _appell_fields(arrays: dict[str, np.ndarray], source: str) -> dict[str, Any]:
    """Return the fields of an archive that `write_npz` wrote."""
    about = json.loads(str(arrays["record"]))
    columns, data, between = about["columns"], arrays["data"], None
    if data.ndim != 2 or not isinstance(columns, list) or [*map(type, columns)] != [str] * data.shape[1]:
        raise ValueError(f"its columns do not match its data of shape {data.shape}")
    if "quaternions" in about:
        spans = tuple((low, high) for low, high in about["quaternions"])
        between = Curve(**{name: arrays[f"curve_{name}"] for name in CURVE}, quaternions=spans)
    return {"columns": columns, "data": data, "between": between, **metadata_of(about, source)}


def _foreign_fields(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the fields of an archive with one array per column; an array (rows, n) is a block of numbered columns."""
    heading: list[str] = []
    blocks: list[np.ndarray] = []
    lengths = {name: len(array) for name, array in arrays.items() if array.ndim}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"the columns differ in their number of rows: {listed}")
    for name, array in arrays.items():
        if array.ndim == 2:
            heading += titles(name, [f"{k + 1}" for k in range(array.shape[1])])
        elif array.ndim == 1:
            heading.append(name)
        else:
            raise ValueError(f"array '{name}' has shape {array.shape} and is not a column")
        blocks.append(array.astype(float))
    return {"columns": heading, "data": np.column_stack(blocks) if blocks else np.zeros((0, 0))}


PREFIX = b"appell "  # of the keys in the metadata of a Parquet file


def _pyarrow() -> Any:
    needed_package("pyarrow.parquet", "Parquet", "appell[results]")
    return needed_package("pyarrow", "Parquet", "appell[results]")


def write_parquet(record: Record, file: IO[bytes]) -> None:
    """Write a record as a Parquet file."""
    pyarrow = _pyarrow()
    table = pyarrow.table([pyarrow.array(column) for column in record.data.T.copy()], names=list(record.columns))
    texts = {PREFIX + name.encode(): text.encode() for name, text in metadata_texts(record).items()}
    pyarrow.parquet.write_table(table.replace_schema_metadata(texts), file)


def read_parquet(path: FilePath) -> dict[str, Any]:
    """Return the fields of the record in a Parquet file."""
    pyarrow = _pyarrow()
    try:
        table = pyarrow.parquet.ParquetFile(path).read()  # no partition columns from the names of folders
        columns = [np.asarray(column.to_numpy(), float) for column in table.columns]
        given, names = table.schema.metadata or {}, table.column_names
        texts = {key[len(PREFIX) :].decode(): text.decode() for key, text in given.items() if key.startswith(PREFIX)}
    except (OSError, ValueError, TypeError) as error:
        raise DescriptionError(f"the record cannot be read: {error}.", source=str(path)) from None
    data = np.column_stack(columns) if columns else np.zeros((0, 0))
    return {"columns": names, "data": data, **metadata_of(texts, str(path))}


def _plain_metadata(record: Record) -> dict[str, Any]:
    return {name: json.loads(text) for name, text in metadata_texts(record).items()}


def _write_mcap(record: Record, file: IO[bytes]) -> None:
    write_mcap(record, file, _plain_metadata(record))


def read_bag_fields(path: FilePath, topics: Sequence[str] = (), clock: str = "header") -> dict[str, Any]:
    """Return the fields of the record in a bag."""
    fields = read_bag(path, topics, clock)
    if "metadata" in fields:  # of appell
        texts = {name: json.dumps(part) for name, part in fields.pop("metadata").items()}
        fields |= metadata_of(texts, str(path))
        fields["events"] = fields["events"] or tuple(changes(fields["columns"], fields["data"], fields["about"]))
    return fields


WRITERS = {".csv": write_csv, ".npz": write_npz, ".parquet": write_parquet, ".mcap": _write_mcap}
BAGS = (".mcap", ".db3", "")  # "": a folder
READERS = {
    ".csv": read_csv,
    ".npz": read_npz,
    ".parquet": read_parquet,
    ".log": read_journal,
    **dict.fromkeys(BAGS, read_bag_fields),
}
MAX_FILE_BYTES = 2_000_000_000
MAX_TEXT_BYTES = 200_000_000  # text takes about ten times its size in memory while it is parsed
TIME_NAMES = ("t", "time", "timestamp", "stamp")
TIME_UNITS_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
SECONDS, NANOSECONDS = ("sec", "secs"), ("nanosec", "nsecs")  # of ROS 2 and ROS 1


def write_record(record: Record, path: str | FilePath, overwrite: bool) -> None:
    """Write the record to a file in the format of its ending."""
    suffix = FilePath(path).suffix.lower()
    path = check_target(path, (*WRITERS, ".db3", ""), overwrite, folder=not suffix)
    with replacing(path, "the record") as part:
        if not suffix:
            write_folder(record, part, path.name, _plain_metadata(record))
        elif suffix == ".db3":
            write_db3(record, part, _plain_metadata(record))
        else:
            with part.open("wb") as file:
                WRITERS[suffix](record, file)


def read_record(
    path: FilePath,
    columns: Mapping[str, str],
    topics: Sequence[str] = (),
    clock: str = "header",
    with_time: bool = True,
) -> Record:
    """Return the record in a file.

    Parameters
    ----------
    path
        Name of the file, or of the folder of a bag.
    columns
        Titles in the file by title in the record.
    topics, clock
        Topics and clock of a bag, see `bags.bag.read_bag`.
    with_time
        Whether the file must have a column t; otherwise t is the number of the row.
    """
    source, suffix = str(path), "" if path.is_dir() else path.suffix.lower()
    if suffix not in READERS or not (suffix or path.is_dir()):
        raise DescriptionError(
            f"'{path.name}' cannot be read as a record.",
            expected=f"a name that ends in {', '.join(filter(None, READERS))}, or the folder of a ROS 2 bag",
            source=source,
        )
    if (topics or clock != "header") and suffix not in BAGS:
        raise ArgumentError(
            f"{source} has no topics and one clock.", expected="a bag, if topics or a clock are selected"
        )
    try:
        size = path.stat().st_size
    except OSError as error:
        raise DescriptionError(f"the record cannot be read: {error.strerror}.", source=source) from None
    if size > (limit := MAX_TEXT_BYTES if suffix == ".csv" else MAX_FILE_BYTES):
        raise DescriptionError(f"the file is larger than {limit // 10**6} MB.", source=source)
    content = read_bag_fields(path, topics, clock) if suffix in BAGS else READERS[suffix](path)
    if not with_time:
        others = [k for k, title in enumerate(content["columns"]) if title != "t"]
        content["columns"] = ["t", *(content["columns"][k] for k in others)]
        content["data"] = np.column_stack([np.arange(len(content["data"])), content["data"][:, others]])
    return Record(**content | _renamed(content, columns, source), source=source)


def _time_scale(title: str) -> float | None:
    """Return the unit in s of a title that denotes a time, such as time, stamp_ns or t [ms]; None for others."""
    name, *unit = re.findall("[a-z]+", title.lower()) or [""]
    return TIME_UNITS_S.get(unit[0] if unit else "s") if name in TIME_NAMES and len(unit) < 2 else None


def _stamp_pairs(file_titles: Sequence[str]) -> list[str]:
    """Return the pairs of columns sec and nanosec, such as "header.stamp.sec+header.stamp.nanosec"."""
    pairs = []
    for title in file_titles:
        for second, nano in zip(SECONDS, NANOSECONDS, strict=True):
            other = title.removesuffix(second) + nano
            if re.search(rf"(?<![a-z]){second}$", title) and other in file_titles:
                pairs.append(f"{title}+{other}")
    return pairs


def _renamed(content: dict[str, Any], columns: Mapping[str, str], source: str) -> dict[str, Any]:
    """Return the fields with the titles of the record, t first, in s and ascending."""
    file_titles, data = list(content["columns"]), content["data"]
    own_times = columns.get("t", "")
    pair = own_times.split("+") if own_times not in file_titles and "+" in own_times else []
    for title in [*pair, *(title for title in columns.values() if not (pair and title == own_times))]:
        if title not in file_titles:
            raise DescriptionError(unknown_name("column", title, file_titles, "The file"), source=source)
    new_titles = {file_title: title for title, file_title in columns.items()}
    heading, scale = [new_titles.get(title, title) for title in file_titles], 1.0
    hint = Hint("{columns}", columns={"t": "<its name in the file>"})
    if "t" not in heading and not pair:
        times = {title: each for title in heading if (each := _time_scale(title)) is not None}
        choices = [*times, *_stamp_pairs(heading)]
        if len(choices) > 1:
            raise DescriptionError(f"two columns could be the time: {', '.join(choices)}.", source=source, hint=hint)
        if times:
            ((clock, scale),) = times.items()
            heading[heading.index(clock)] = "t"
        pair = choices[0].split("+") if choices and not times else []
    about = dict(content.get("about", {}))
    if pair:
        sec, nanosec = (np.nan_to_num(data[:, heading.index(title)]).astype(np.int64) for title in pair)
        stamps = 1_000_000_000 * sec + nanosec
        about["start_ns"] = int(stamps[0]) if len(stamps) else 0
        kept = [k for k, title in enumerate(heading) if title not in pair]
        data = np.column_stack([(stamps - about["start_ns"]) / 1e9, data[:, kept]])
        heading = ["t", *(heading[k] for k in kept)]
    if "t" not in heading:
        raise DescriptionError(
            unknown_name("column", "t", heading, "The file"),
            expected="a first line that names columns t and q_<coordinate>, tau_<actuator>, ...",
            source=source,
            hint=hint,
        )
    order = sorted(range(len(heading)), key=lambda k: k != heading.index("t"))
    data = data[:, order]
    t = data[:, 0] if scale == 1.0 else (data[:, 0] - data[:1, 0]) * scale
    if np.isfinite(t).all() and (np.diff(t) < 0.0).any():
        rows, t, repairs = ordered(t, source=source, start=t[0])
        data, about["clock"] = data[rows], repairs
        for sentence in clock_report(t, repairs).repairs():
            warnings.warn(f"{source}: {sentence}.", ModelWarning, stacklevel=4)
    if t is not data[:, 0]:
        data = np.column_stack([t, data[:, 1:]])
    units = {new_titles.get(title, title): unit for title, unit in content.get("units", {}).items()}
    return {"columns": [heading[k] for k in order], "data": data, "units": units, "about": about}


RECORDS_ENDINGS = (".npz", ".zarr")
RECORDS_KEY = "records"


def write_records(records: Records, path: str | FilePath, overwrite: bool) -> None:
    """Write the records to an NPZ file or a Zarr store, by the ending of the name."""
    path = check_target(path, RECORDS_ENDINGS, overwrite, folder=str(path).lower().endswith(".zarr"))
    about = {"format": 1, "titles": records.titles, "units": dict(records.units), "about": records.about}
    arrays = {"t": records.t, **{f"block_{name}": block for name, block in records.blocks.items()}}
    if records.cost is not None:
        arrays["cost"] = records.cost
    text = json.dumps(about, ensure_ascii=False)
    with replacing(path, "the records") as part:
        if path.suffix.lower() == ".npz":
            with part.open("wb") as file:
                np.savez(file, **{RECORDS_KEY: np.array(text)}, **arrays)  # type: ignore[arg-type]
            return
        group = _zarr().open_group(str(part), mode="w")
        group.attrs[RECORDS_KEY] = text
        for name, array in arrays.items():
            group.create_array(name, data=np.ascontiguousarray(array))


def read_records(path: FilePath) -> Records:
    """Return the records in an NPZ file or a Zarr store."""
    source = str(path)
    if path.suffix.lower() not in RECORDS_ENDINGS:
        raise DescriptionError(
            f"'{path.name}' cannot be read as records.", expected=f"a name that ends in {', '.join(RECORDS_ENDINGS)}"
        )
    try:
        if path.suffix.lower() == ".npz":
            arrays = npz_arrays(path)
            text = str(arrays.pop(RECORDS_KEY)) if RECORDS_KEY in arrays else ""
        else:
            group = _zarr().open_group(source, mode="r")
            arrays, text = {name: array[...] for name, array in group.arrays()}, str(group.attrs.get(RECORDS_KEY, ""))
        if not text:
            raise DescriptionError(
                "the file does not contain records of many motions.",
                source=source,
                hint="Use Record.read for the record of one motion.",
            )
        return _records(arrays, json.loads(text), source)
    except (DescriptionError, ArgumentError):
        raise
    except READ_ERRORS as error:
        raise DescriptionError(f"the records cannot be read: {error}.", source=source) from None


def _records(arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any], source: str) -> Records:
    titles = {quantity: tuple(names) for quantity, names in metadata["titles"].items()}
    blocks = {name: arrays[f"block_{name}"] for name in titles}
    cost = arrays.get("cost")
    return Records(arrays["t"], blocks, titles, dict(metadata["units"]), dict(metadata["about"]), cost, source)


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise ArgumentError("a .zarr store requires the package zarr.", hint="Run pip install zarr.") from None
    return zarr
