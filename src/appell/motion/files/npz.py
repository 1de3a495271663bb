"""Records as NumPy archives: all of a record, bit by bit; or any archive of an array a column or a block of columns."""

from __future__ import annotations

import json
import zlib
from pathlib import Path as FilePath
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np

from appell.errors import DescriptionError
from appell.motion.curve import Curve
from appell.motion.files.beside import known, understood
from appell.motion.record import Record
from appell.motion.titled import titles

CURVE = ("starts", "ends", "stops", "series")
BROKEN = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    EOFError,
    RuntimeError,
    BadZipFile,
    zlib.error,
)  # too deep, encrypted


def write(record: Record, file: IO[bytes]) -> None:
    about: dict[str, Any] = {"format": 1, "columns": record.columns, **known(record)}
    arrays: dict[str, Any] = {"data": record.data}
    if record.between is not None:
        about["quaternions"] = record.between.quaternions
        arrays |= {f"curve_{name}": getattr(record.between, name) for name in CURVE}
    np.savez_compressed(file, record=np.array(json.dumps(about)), **arrays)


def read(path: FilePath) -> dict[str, Any]:
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        return _own(arrays, str(path)) if "record" in arrays else _foreign(arrays)
    except DescriptionError:
        raise
    except BROKEN as error:
        raise DescriptionError(f"the record cannot be read: {error}.", source=str(path)) from None


def _own(arrays: dict[str, np.ndarray], source: str) -> dict[str, Any]:
    about = json.loads(str(arrays["record"]))
    columns, data, between = about["columns"], arrays["data"], None
    if data.ndim != 2 or not isinstance(columns, list) or [*map(type, columns)] != [str] * data.shape[1]:
        raise ValueError(f"its columns do not fit its data of shape {data.shape}")
    if "quaternions" in about:
        spans = tuple((low, high) for low, high in about["quaternions"])
        between = Curve(**{name: arrays[f"curve_{name}"] for name in CURVE}, quaternions=spans)
    return {"columns": columns, "data": data, "between": between, **understood(about, source)}


def _foreign(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """One array a column; an array (rows, n) is a block of n numbered columns."""
    heading: list[str] = []
    blocks: list[np.ndarray] = []
    lengths = {name: len(array) for name, array in arrays.items() if array.ndim}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"the columns differ in their number of rows: {told}")
    for name, array in arrays.items():
        if array.ndim == 2:
            heading += titles(name, [f"{k + 1}" for k in range(array.shape[1])])
        elif array.ndim == 1:
            heading.append(name)
        else:
            raise ValueError(f"array '{name}' has shape {array.shape}, and is no column")
        blocks.append(array.astype(float))
    return {"columns": heading, "data": np.column_stack(blocks) if blocks else np.zeros((0, 0))}
