"""Files that a command will write, looked at before its work: neither an old file is lost nor an hour's result.

One rule for all: a file that is there is written over if --force says so, or if the user says so at the terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from appell.display.bar import paused
from appell.errors import ArgumentError
from appell.motion.files.formats import FORMATS
from appell.motion.pictures.look import styled

RECORDS = tuple(FORMATS)
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
MOVIES = (".gif", ".mp4")


def check_target(path: Path | None, force: bool, endings: Iterable[str] = (), folder: bool = False) -> None:
    """Raise unless `path` may be written; with `folder=True` its folder is made if it is not there."""
    if path is None:
        return
    if endings and path.suffix.lower() not in endings:
        raise ArgumentError(f"'{path.name}' cannot be written.", expected=f"a name in {', '.join(endings)}")
    if endings == PICTURES:
        with styled():  # say before the work, and not after it, that matplotlib is lacking
            pass
    try:
        if folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        _check_place(path, force)
        if endings == MOVIES:
            from appell.display.film.film import check_film

            check_film(path)  # or that ffmpeg or Pillow is
    except ArgumentError:
        raise
    except (OSError, ValueError) as error:  # a name too long, a folder that may not be entered, a NUL
        raise ArgumentError(f"'{path}' cannot be written: {getattr(error, 'strerror', None) or error}.") from None


def _check_place(path: Path, force: bool) -> None:
    if not path.parent.is_dir():
        raise ArgumentError(f"'{path}' cannot be written: there is no folder '{path.parent}'.", hint="mkdir")
    if path.is_dir():
        raise ArgumentError(f"'{path}' cannot be written: it is a folder.", expected="the name of a file")
    if _is_there(path) and not force and not _asked(path):
        raise ArgumentError(f"{path} is there already, and nothing is written over.", hint="another name, or --force")


def _is_there(path: Path) -> bool:
    """Whether a file has this name; that no file can have it is an error, which `Path.exists` keeps to itself."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    return True


def _asked(path: Path) -> bool:
    """What the user at the terminal says; no, if there is none."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    with paused():
        return typer.confirm(f"{path} is there already. Write over it?", err=True)
