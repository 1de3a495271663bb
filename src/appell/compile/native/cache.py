"""The disk cache: machine code and long tapes by the hash of all that went into them.

An entry is named by its key and consists of a magic line, an authentication code over key and image, and the image.
The code is made with a secret that the user's folder holds: what is truncated, corrupted, written for another key or
by anybody else is never used, but made again and replaced. An entry is put in place whole, so two processes that
make the same kernel at once both succeed.

While one process makes an entry, others that want the same wait for it, on a lock in the folder: `one_maker`.

The folder is `$APPELL_CACHE`, or the user's cache folder; "off" or "0" stands for none. It holds machine code, so it is
made for its owner alone, and refused if somebody else owns it or may write to it; `folder` is how that is made sure of.
No trouble with the disk ends a run: it costs one `CacheWarning` a process.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from appell.compile.native.folder import NEW, Folder
from appell.compile.native.making import MAKING
from appell.compile.native.one_maker import one_maker
from appell.errors import CacheWarning

LIMIT = 1 << 30  # bytes of all entries
_PRUNE_EVERY = 32  # entries written between two looks at the size of the folder
_MAGIC = b"appell kernel 4\n"
_SUFFIX = ".kernel"
_LOCK = ".lock"
_SECRET = "secret"
_SECRET_SIZE = 32
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size

Found = TypeVar("Found")

_warned = False
_written = 0


def fetch(key: str, make: Callable[[], bytes]) -> bytes:
    """What has this key, from the disk or made now."""
    if (found := find(key)) is not None:
        return found
    with alone(key):
        if (found := find(key)) is None:
            found = make()
            keep(key, found)
    return found


def find(key: str) -> bytes | None:
    """What was kept under this key, or None."""
    return _in_folder(lambda folder, secret: _authentic(folder.read(key + _SUFFIX), key, secret))


def keep(key: str, image: bytes) -> None:
    """Put something on the disk under its key, if there is a disk."""
    _in_folder(lambda folder, secret: _keep(folder, key, secret, image))


@contextmanager
def alone(key: str) -> Iterator[None]:
    """As the only one on this machine who makes what has this key; whoever waited for that should look again.

    Threads of one process take turns at `MAKING` first, so that none holds what another waits for.
    """
    with MAKING:
        name = key + _LOCK
        handle = _in_folder(lambda folder, secret: folder.open_lock(name))
        if handle is None:
            yield
            return
        try:
            with one_maker(handle):
                yield
        finally:
            _in_folder(lambda folder, secret: folder.remove(name))


def _in_folder(use: Callable[[Folder, bytes], Found]) -> Found | None:
    """What is done in the folder with its secret; None if there is no folder that can be used and trusted."""
    path = chosen_path()
    if path is None:
        return None
    try:
        with Folder(path) as folder:
            if problem := folder.distrust():
                _warn(problem)
                return None
            return use(folder, _secret(folder))
    except OSError as error:
        _warn(f"cannot use the cache folder: {error}")
        return None


def chosen_path() -> Path | None:
    """Where the cache is to be, or None if there is to be none."""
    chosen = os.environ.get("APPELL_CACHE", "")
    if chosen.lower() in ("off", "0"):
        return None
    try:
        return Path(chosen) if chosen else _user_folder()
    except RuntimeError as error:  # there is no home
        _warn(f"cannot use the cache folder: {error}")
        return None


def _user_folder() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "appell"


def _secret(folder: Folder) -> bytes:
    """The user's own, made when it is first needed; without a place to keep it, one for this once."""
    for _ in range(2):
        if (found := folder.read(_SECRET, private=True)) is not None and len(found) == _SECRET_SIZE:
            return found
        folder.remove(_SECRET)
        try:
            folder.create(_SECRET, secrets.token_bytes(_SECRET_SIZE))
        except OSError as error:
            _warn(f"cannot write to the cache folder: {error}")
            break
    return secrets.token_bytes(_SECRET_SIZE)


def _code(key: str, image: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, key.encode() + image, "sha256")


def _authentic(content: bytes | None, key: str, secret: bytes) -> bytes | None:
    """The image of an entry, or None if the entry is not exactly what we once wrote."""
    image = (content or b"")[_HEAD:]
    if content is None or not image:
        return None
    return image if hmac.compare_digest(content[:_HEAD], _MAGIC + _code(key, image, secret)) else None


def _keep(folder: Folder, key: str, secret: bytes, image: bytes) -> None:
    global _written
    try:
        folder.write(key + _SUFFIX, _MAGIC + _code(key, image, secret) + image)
        if _written % _PRUNE_EVERY == 0:
            prune(folder)
        _written += 1
    except OSError as error:
        _warn(f"cannot write to the cache folder: {error}")


def prune(folder: Folder, limit: int = LIMIT) -> None:
    """Delete the oldest entries until three quarters of the limit are left, if the folder has grown beyond it."""
    entries = folder.files((_SUFFIX, NEW, _LOCK))
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, name in entries:
        folder.remove(name)
        total -= size
        if total <= limit * 3 // 4:
            break


def _warn(problem: str) -> None:
    """Say once a process that kernels are not kept."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"{problem}; functions are made anew in every process. Set APPELL_CACHE to your own folder or to 'off'.",
            CacheWarning,
            stacklevel=2,
        )
