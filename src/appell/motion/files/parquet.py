"""Records as Parquet, for tables that other programs read: the columns, and what is known as the file's metadata."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import IO, Any

import numpy as np

from appell.errors import DescriptionError, needed_package
from appell.motion.files.beside import known, understood
from appell.motion.record import Record

PREFIX = b"appell "


def _pyarrow() -> Any:
    needed_package("pyarrow.parquet", "Parquet", "appell[results]")
    return needed_package("pyarrow", "Parquet", "appell[results]")


def write(record: Record, file: IO[bytes]) -> None:
    pyarrow = _pyarrow()
    table = pyarrow.table([pyarrow.array(column) for column in record.data.T.copy()], names=list(record.columns))
    texts = {PREFIX + name.encode(): text.encode() for name, text in known(record).items()}
    pyarrow.parquet.write_table(table.replace_schema_metadata(texts), file)


def read(path: FilePath) -> dict[str, Any]:
    pyarrow = _pyarrow()
    try:
        table = pyarrow.parquet.ParquetFile(path).read()  # the file alone, whatever its folder is called
        columns = [np.asarray(column.to_numpy(), float) for column in table.columns]
        given, names = table.schema.metadata or {}, table.column_names
        texts = {key[len(PREFIX) :].decode(): text.decode() for key, text in given.items() if key.startswith(PREFIX)}
    except (OSError, ValueError, TypeError) as error:
        raise DescriptionError(f"the record cannot be read: {error}.", source=str(path)) from None
    data = np.column_stack(columns) if columns else np.zeros((0, 0))
    return {"columns": names, "data": data, **understood(texts, str(path))}
