"""Files in and out: never more than a cap is read, never half a file is written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from appell.errors import DescriptionError

LARGEST = 64 * 2**20  # bytes; the largest humanoids with all their meshes named need less than one percent of it


def read_text(path: Path, largest: int = LARGEST) -> str:
    """The UTF-8 text of a file."""
    source = str(path)
    if path.is_dir():
        raise DescriptionError("this is a directory.", expected="a .urdf or .toml file", source=source)
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(largest + 1) if size <= largest else b""
    except FileNotFoundError:
        raise DescriptionError("there is no such file.", source=source) from None
    except OSError as error:
        raise DescriptionError(f"the file cannot be read: {error.strerror}.", source=source) from None
    if max(size, len(data)) > largest:
        problem = f"the file has {max(size, len(data)) / 2**20:.0f} MB, which no description of a robot needs."
        raise DescriptionError(problem, expected=f"at most {largest / 2**20:.0f} MB", source=source)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DescriptionError("the file is not UTF-8 text.", source=f"{source}, line {line}") from None


def write_text(path: Path, text: str) -> None:
    """Put a text in a file, all of it or nothing."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
