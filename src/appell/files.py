"""The rule for writing files: check the target before computing, write complete files, do not overwrite by default.

    target = check_target("swing.csv", (".csv", ".npz"), overwrite)     # raises before results are computed
    with replacing(target, "the record") as part:                       # a temporary file in the same folder
        part.write_text(text)                                           # it becomes `target` when the block ends

Everything that writes a file for a user goes through this module: records, plots, films, pages, logs, robot files,
reports and exports. The command line calls the same functions and passes `--force` as `overwrite`.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from appell.errors import ArgumentError, Hint

MAX_NAME = 255  # characters of a name on Windows


def check_target(
    path: str | Path, endings: Sequence[str] = (), overwrite: bool = False, *, folder: bool = False
) -> Path:
    """Return `path` as a `Path` if a file can be written there.

    Parameters
    ----------
    path
        Name of the file. Its folder must exist.
    endings
        Accepted endings in lower case with their dot, such as ``(".csv", ".npz")``; upper case is accepted too.
        Empty: any ending.
    overwrite
        Accept a file that already exists.
    folder
        Accept a folder as the target, such as a Zarr store.

    Raises
    ------
    ArgumentError
        If the ending is unknown, the folder does not exist, the target is a folder, or the target already exists.
    """
    if not isinstance(path, (str, Path)):
        raise ArgumentError(f"a file cannot be written to {path!r}.", expected="the name of a file")
    target = Path(path)
    if endings and target.suffix.lower() not in endings:
        problem = f"'{target.name}' cannot be written: its ending is not supported."
        raise ArgumentError(problem, expected=f"a name that ends in {', '.join(endings)}")
    try:
        has_folder, is_folder = target.parent.is_dir(), target.is_dir()
        is_taken = has_folder and exists(target)
    except (OSError, ValueError) as error:  # a name that is too long, a folder without permission, a NUL character
        raise ArgumentError(f"'{target}' cannot be written: {getattr(error, 'strerror', None) or error}.") from None
    if not has_folder:
        if (nearest := next(folder for folder in target.parents if os.path.exists(folder))).is_dir():
            problem = f"'{target}' cannot be written: the folder '{target.parent}' does not exist."
            raise ArgumentError(problem, hint="Create the folder first.")
        raise ArgumentError(f"'{target}' cannot be written: '{nearest}' is not a folder.")
    if is_folder and not folder:
        raise ArgumentError(f"'{target}' cannot be written: it is a folder.", expected="the name of a file")
    if is_taken and not overwrite:
        raise ArgumentError(
            f"{target} already exists.",
            hint=Hint("Use another name, or pass {overwrite} to replace it.", overwrite=True),
        )
    return target


def exists(path: Path) -> bool:
    """Return whether the path exists; unlike `Path.exists`, raise OSError if no file can have this name."""
    try:
        path.stat()
    except FileNotFoundError:
        if os.name == "nt" and len(path.name) > MAX_NAME:  # wine reports such a name as a file that does not exist
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG)) from None
        return False
    return True


@contextmanager
def replacing(path: Path, what: str = "the file") -> Iterator[Path]:
    """Yield a temporary name in the same folder; what was written there replaces `path` when the block ends.

    The temporary file or folder is removed if the block fails. `what` names the content in error messages.
    """
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


def is_closed_pipe(error: OSError) -> bool:
    """Return whether the reader of a pipe has closed it; Windows reports an invalid argument."""
    invalid = os.name == "nt" and error.errno == errno.EINVAL and error.filename is None
    return invalid or isinstance(error, BrokenPipeError)


def write_text(path: Path, text: str, what: str = "the file") -> None:
    """Write a text file in UTF-8 without translating line ends; the file appears only when it is complete."""
    with replacing(path, what) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
