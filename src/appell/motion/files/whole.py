"""Files that appear whole or not at all: written beside their place, and put there when they are complete."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path as FilePath

from appell.errors import ArgumentError


@contextmanager
def whole(path: FilePath, what: str) -> Iterator[FilePath]:
    """A file or folder to write to that takes the place of `path` at the end; `what` it is, for messages."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield part
        if part.is_dir() and path.exists():
            shutil.rmtree(path)
        part.replace(path)
    except OSError as error:
        raise ArgumentError(f"{what} cannot be written to {path}: {error.strerror or error}.") from None
    finally:
        if part.is_dir():
            shutil.rmtree(part, ignore_errors=True)
        part.unlink(missing_ok=True)


def check_free(path: FilePath, overwrite: bool) -> None:
    """Raise if there is something already, and it is not to be written over."""
    if path.exists() and not overwrite:
        raise ArgumentError(
            f"{path} is there already, and nothing is written over.", hint="another name, or overwrite=True"
        )
