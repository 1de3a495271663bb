"""Records as text: a heading, lines of what is known that begin with #, then a line a row, in full precision.

    t,q_shoulder,q_elbow
    # about {"robot": "planar-2r"}
    0.0,1.5,nan

An empty cell is not a number; lines that begin with # and say anything else are comments.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path as FilePath
from typing import IO, Any

import numpy as np

from appell.errors import DescriptionError
from appell.motion.files.beside import KNOWN, known, understood
from appell.motion.record import Record


def write(record: Record, file: IO[bytes]) -> None:
    text = TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(record.columns)
    text.writelines(f"# {name} {line}\n" for name, line in known(record).items())
    writer.writerows(map(repr, row) for row in record.data.tolist())
    text.flush()
    text.detach()


def read(path: FilePath) -> dict[str, Any]:
    source, texts, numbers = str(path), dict[str, str](), list[int]()

    def lines(file: IO[str]) -> Iterator[str]:
        """The lines that are no comments; `numbers` keeps where they stand."""
        for number, line in enumerate(file, start=1):
            if line.startswith("#"):
                name, _, text = line[1:].strip().partition(" ")
                if name in KNOWN:
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
    return {"columns": heading, "data": values, **understood(texts, source)}


def _number(cell: str, title: str, source: str) -> float:
    try:
        return float(cell) if cell.strip() else np.nan
    except ValueError:
        raise DescriptionError(f"column '{title}' holds {cell!r}, which is no number.", source=source) from None
