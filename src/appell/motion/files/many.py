"""Records of many motions in files: .npz, one array a block, or .zarr, which other programs read in parts.

Beside the arrays stand the names of their columns, units, and what is known, as one text of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from appell.errors import ArgumentError, DescriptionError
from appell.motion.files.npz import BROKEN
from appell.motion.files.whole import check_free, whole
from appell.motion.records import Records

ENDINGS = (".npz", ".zarr")
KEY = "records"


def check_target(path: FilePath, overwrite: bool = False) -> None:
    """Raise if records cannot be written there; worth asking before hours of work."""
    if path.suffix.lower() not in ENDINGS:
        raise ArgumentError(
            f"'{path.name}' is no file that records can be written to.", expected=f"a name in {', '.join(ENDINGS)}"
        )
    if path.suffix.lower() == ".zarr":
        _zarr()
    check_free(path, overwrite)


def write(records: Records, path: FilePath, overwrite: bool) -> None:
    check_target(path, overwrite)
    about = {"format": 1, "titles": records.titles, "units": dict(records.units), "about": records.about}
    arrays = {"t": records.t, **{f"block_{name}": block for name, block in records.blocks.items()}}
    if records.cost is not None:
        arrays["cost"] = records.cost
    text = json.dumps(about, ensure_ascii=False)
    with whole(path, "the records") as part:
        if path.suffix.lower() == ".npz":
            with part.open("wb") as file:
                np.savez(file, **{KEY: np.array(text)}, **arrays)  # type: ignore[arg-type]
            return
        group = _zarr().open_group(str(part), mode="w")
        group.attrs[KEY] = text
        for name, array in arrays.items():
            group.create_array(name, data=np.ascontiguousarray(array))


def read(path: FilePath) -> Records:
    source = str(path)
    if path.suffix.lower() not in ENDINGS:
        raise DescriptionError(
            f"'{path.name}' holds no records that can be read.", expected=f"a name in {', '.join(ENDINGS)}"
        )
    try:
        if path.suffix.lower() == ".npz":
            with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            text = str(arrays.pop(KEY)) if KEY in arrays else ""
        else:
            group = _zarr().open_group(source, mode="r")
            arrays, text = {name: array[...] for name, array in group.arrays()}, str(group.attrs.get(KEY, ""))
        if not text:
            raise DescriptionError(
                "these are no records of many motions.", source=source, hint="Record.read, for the record of one"
            )
        return _records(arrays, json.loads(text), source)
    except (DescriptionError, ArgumentError):
        raise
    except BROKEN as error:
        raise DescriptionError(f"the records cannot be read: {error}.", source=source) from None


def _records(arrays: Mapping[str, np.ndarray], known: Mapping[str, Any], source: str) -> Records:
    titles = {name: tuple(own) for name, own in known["titles"].items()}
    blocks = {name: arrays[f"block_{name}"] for name in titles}
    cost = arrays.get("cost")
    return Records(arrays["t"], blocks, titles, dict(known["units"]), dict(known["about"]), cost, source)


def _zarr() -> Any:
    try:
        import zarr
    except ImportError:
        raise ArgumentError("a name in .zarr needs the package zarr.", hint="pip install zarr") from None
    return zarr
