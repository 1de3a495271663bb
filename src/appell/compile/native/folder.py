"""A folder that is opened once, looked at as it is open, and used from there: by names within it.

A path may mean another folder a moment later: whoever may write to its parent can put a link in its place between the
look and the use. So nothing here is looked up by its path twice. Every file is opened without following links and
looked at as it is open: a plain file of ours that nobody else may write. Where a system cannot open a file relative to
a folder (Windows), full paths stand in.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from types import TracebackType
from typing import Any

RELATIVE = {os.open, os.unlink, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OPENING = (
    "O_NOFOLLOW",
    "O_CLOEXEC",
    "O_BINARY",
    "O_NONBLOCK",
)  # the last, so that a pipe in a file's place is no trap
_FLAGS = sum(getattr(os, name, 0) for name in _OPENING)
NEW = ".new"  # how names end that are not in place yet


class Folder:
    """`with Folder(path) as folder`: made for its owner alone if it is not there."""

    def __init__(self, path: Path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path
        self._handle = os.open(path, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)) if RELATIVE else None

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._handle is not None:
            os.close(self._handle)

    def distrust(self) -> str:
        """Why machine code in this folder should not be run, or nothing."""
        status = os.stat(self.path if self._handle is None else self._handle)
        if hasattr(os, "getuid"):
            if status.st_uid != os.getuid():
                return f"{self.path} belongs to another user, whose machine code will not be run"
            if status.st_mode & _OTHERS_WRITE:
                return f"{self.path} can be written by other users, whose machine code will not be run"
        return ""

    def read(self, name: str, *, private: bool = False) -> bytes | None:
        """The content of a plain file of ours that others may not write (nor read, if it is private), or None."""
        try:
            handle = self._open(name, os.O_RDONLY)
        except OSError:
            return None
        if not _is_ours(os.fstat(handle), stat.S_IRWXG | stat.S_IRWXO if private else _OTHERS_WRITE):
            os.close(handle)
            return None
        with os.fdopen(handle, "rb") as file:
            with contextlib.suppress(OSError):
                if os.utime in os.supports_fd:
                    os.utime(handle)  # the least recently used entries are the first to go
            return file.read()

    def write(self, name: str, content: bytes) -> None:
        """A file that appears whole or not at all, in place of one that is there."""
        temporary = self._new(content)
        try:
            os.replace(self._name(temporary), self._name(name), **self._both())
        except BaseException:
            self.remove(temporary)
            raise

    def create(self, name: str, content: bytes) -> None:
        """A file that appears whole, unless there is one already: the first of several wins."""
        temporary = self._new(content)
        try:
            os.link(self._name(temporary), self._name(name), **self._both())
        except FileExistsError:
            pass
        except OSError:  # no file system for links
            os.replace(self._name(temporary), self._name(name), **self._both())
        finally:
            self.remove(temporary)

    def open_lock(self, name: str) -> int | None:
        """The handle of a file that is there to be locked, if it can be made; whoever opens it closes it."""
        try:
            return self._open(name, os.O_RDWR | os.O_CREAT)
        except OSError:
            return None

    def remove(self, name: str) -> None:
        with contextlib.suppress(OSError):
            os.unlink(self._name(name), **self._within())

    def files(self, endings: tuple[str, ...]) -> list[tuple[float, int, str]]:
        """(time, size, name) of the files with such an ending, the oldest first."""
        found = []
        with os.scandir(self.path if self._handle is None else self._handle) as entries:
            for entry in entries:
                if entry.name.endswith(endings):
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        found.append((status.st_mtime, status.st_size, entry.name))
        return sorted(found)

    def _new(self, content: bytes) -> str:
        """The content under a name of its own."""
        name = f"{secrets.token_hex(8)}{NEW}"
        handle = self._open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
        except BaseException:
            self.remove(name)
            raise
        return name

    def _open(self, name: str, flags: int) -> int:
        return os.open(self._name(name), flags | _FLAGS, 0o600, **self._within())

    def _name(self, name: str) -> str:
        return name if self._handle is not None else str(self.path / name)

    def _within(self) -> dict[str, Any]:
        return {} if self._handle is None else {"dir_fd": self._handle}

    def _both(self) -> dict[str, Any]:
        return {} if self._handle is None else {"src_dir_fd": self._handle, "dst_dir_fd": self._handle}


def _is_ours(status: os.stat_result, forbidden: int) -> bool:
    """Whether this is a plain file of ours that gives others none of the rights that are forbidden."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & forbidden)
