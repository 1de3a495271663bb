"""The disk cache: object files by the hash of all that went into them.

An entry is named by its key and consists of a magic line, a checksum over key and object, and the object. Whatever is
not exactly that (truncated, corrupted, written for another key) is never executed, but made again and replaced. It is
written under a temporary name and then renamed, so a reader sees all of it or nothing, and two processes that make the
same kernel at once both succeed.

The folder is `$APPELL_CACHE`, or the user's cache folder; "off" or "0" stands for none. It holds machine code, so it is
made for its owner alone, and refused if somebody else owns it or may write to it. No trouble with the disk ends a run:
it costs one `CacheWarning` a process.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

from appell.errors import CacheWarning

LIMIT = 1 << 30  # bytes of all entries
_PRUNE_EVERY = 32  # entries written between two looks at the size of the folder
_MAGIC = b"appell kernel 1\n"
_SUFFIX = ".kernel"

_warned = False
_written = 0


def fetch(key: str, make: Callable[[], bytes]) -> bytes:
    """The object with this key, from the disk or made now."""
    where = folder()
    if where is None:
        return make()
    path = where / (key + _SUFFIX)
    found = _read(path, key)
    if found is None:
        found = make()
        _write(path, key, found)
    return found


def folder() -> Path | None:
    """The cache folder, ready to be used, or None if there is none or it cannot be trusted."""
    chosen = os.environ.get("APPELL_CACHE", "")
    if chosen.lower() in ("off", "0"):
        return None
    try:
        path = Path(chosen) if chosen else _user_folder()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        problem = _distrust(path)
    except (OSError, RuntimeError) as error:
        problem = f"cannot use the cache folder: {error}"
    if problem:
        _warn(problem)
        return None
    return path


def _distrust(path: Path) -> str:
    """Why machine code in this folder should not be run, or nothing."""
    status = path.stat()
    if hasattr(os, "getuid"):
        if status.st_uid != os.getuid():
            return f"{path} belongs to another user, whose machine code will not be run"
        if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return f"{path} can be written by other users, whose machine code will not be run"
    return ""


def _user_folder() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "appell"


def _checksum(key: str, image: bytes) -> bytes:
    return hashlib.sha256(key.encode() + image).digest()


def _read(path: Path, key: str) -> bytes | None:
    """The object in a file, or None if the file is not exactly what was once written."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    head = len(_MAGIC) + hashlib.sha256().digest_size
    image = content[head:]
    if not image or content[:head] != _MAGIC + _checksum(key, image):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # the least recently used entries are the first to go
    return image


def _write(path: Path, key: str, image: bytes) -> None:
    global _written
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".new")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + _checksum(key, image) + image)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
        if _written % _PRUNE_EVERY == 0:
            prune(path.parent)
        _written += 1
    except OSError as error:
        _warn(f"cannot write to the cache folder: {error}")


def prune(where: Path, limit: int = LIMIT) -> None:
    """Delete the oldest entries until three quarters of the limit are left, if the folder has grown beyond it."""
    entries = []
    for entry in os.scandir(where):
        if entry.name.endswith((_SUFFIX, ".new")):
            with contextlib.suppress(OSError):
                status = entry.stat()
                entries.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, path in sorted(entries):
        with contextlib.suppress(OSError):
            os.unlink(path)
        total -= size
        if total <= limit * 3 // 4:
            break


def _warn(problem: str) -> None:
    """Say once a process that kernels are not kept."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"{problem}; kernels are compiled anew in every process. Set APPELL_CACHE to your own folder or to 'off'.",
            CacheWarning,
            stacklevel=2,
        )
