"""The file that a picture is written to: checked before the work, and replaced only when the new one is whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from appell.errors import ArgumentError


def check_target(path: str | Path, endings: tuple[str, ...]) -> Path:
    """The path of a picture with one of these endings, or an error if none can be written there."""
    if not isinstance(path, (str, Path)):
        raise ArgumentError(f"a picture cannot be written to {path!r}.", expected="the name of a file")
    found = Path(path)
    if found.suffix.lower() not in endings:
        raise ArgumentError(
            f"'{found.name}' is no file that this picture can be written to.",
            expected=f"a name that ends in {', '.join(endings)}",
        )
    if not found.parent.is_dir():
        raise ArgumentError(f"there is no folder '{found.parent}' to write '{found.name}' to.", hint="make it first")
    if found.is_dir():
        raise ArgumentError(f"{found} is a folder.", expected="the name of a file")
    return found


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file to write to that takes the place of `path` when it is whole, and leaves nothing behind if it fails."""
    part = path.with_name(f".{path.stem}.{os.getpid()}.part{path.suffix}")
    try:
        yield part
        part.replace(path)
    except OSError as error:
        raise ArgumentError(f"the picture cannot be written to {path}: {error.strerror or error}.") from None
    finally:
        part.unlink(missing_ok=True)
