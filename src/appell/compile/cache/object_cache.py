"""Disk cache of machine code and traces, addressed by the hash of everything that determines them.

An entry is a file named by its key. It consists of a magic line, an authentication code over key and image, and the
image. The authentication code uses a secret stored in the user's folder: an entry that is truncated, corrupted, written
for another key or by another user is never used; it is rebuilt and replaced. Entries are written atomically, so two
processes that build the same kernel at once both succeed.

While one process builds an entry, others that need it wait for a lock on a file beside it. The operating system
releases the lock when its owner closes the file or dies. After `LOCK_TIMEOUT_S` a waiting process builds the entry
itself, which gives the same result; so does a process on a system without file locks (Windows, some network disks).
The owner removes the lock file. A process that waited on the removed file then holds a lock that excludes no other
process, but finds the entry built.

The folder is `$APPELL_CACHE`, or the user's cache folder; "off" or "0" disables the cache. It holds machine code, so it
is created for its owner alone and refused if another user owns it or can write to it. Problems with the disk never end
a run: they cause one `CacheWarning` per process.

A path may denote another folder a moment later: a user with write access to its parent can replace it by a link between
the check and the use. Therefore a `Folder` is opened once, checked while open, and used through its handle. Every file
is opened without following links and checked while open: it must be a regular file that belongs to this user and that
no other user may write. Where a system cannot open a file relative to a folder (Windows), full paths are used.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import stat
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from types import TracebackType
from typing import Any, TypeVar

from appell.compile.native.build_lock import BUILD_LOCK
from appell.errors import CacheWarning

RELATIVE = {os.open, os.unlink, os.stat} <= os.supports_dir_fd and os.scandir in os.supports_fd
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OPEN_FLAG_NAMES = ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY", "O_NONBLOCK")  # non-blocking: the file may be a pipe
_OPEN_FLAGS = sum(getattr(os, name, 0) for name in _OPEN_FLAG_NAMES)
NEW_SUFFIX = ".new"  # of temporary files


class Folder:
    """An open folder, used as `with Folder(path) as folder`; created with access for its owner alone if missing."""

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
        """Return why machine code in this folder must not be run; an empty string if it may be run."""
        status = os.stat(self.path if self._handle is None else self._handle)
        if hasattr(os, "getuid"):
            if status.st_uid != os.getuid():
                return f"the cache folder {self.path} belongs to another user"
            if status.st_mode & _OTHERS_WRITE:
                return f"the cache folder {self.path} can be written by other users"
        return ""

    def read(self, name: str, *, private: bool = False) -> bytes | None:
        """Return the content of a file of this user that others may not write (nor read, if `private`), or None."""
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
                    os.utime(handle)  # the least recently used entries are deleted first
            return file.read()

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically; replace an existing one."""
        temporary = self._new(content)
        try:
            os.replace(self._name(temporary), self._name(name), **self._both())
        except BaseException:
            self.remove(temporary)
            raise

    def create(self, name: str, content: bytes) -> None:
        """Write a file atomically, unless it exists already: the first of several processes wins."""
        temporary = self._new(content)
        try:
            os.link(self._name(temporary), self._name(name), **self._both())
        except FileExistsError:
            pass
        except OSError:  # the file system has no hard links
            os.replace(self._name(temporary), self._name(name), **self._both())
        finally:
            self.remove(temporary)

    def open_lock(self, name: str) -> int | None:
        """Return the handle of a lock file, or None if it cannot be created; the caller closes it."""
        try:
            return self._open(name, os.O_RDWR | os.O_CREAT)
        except OSError:
            return None

    def remove(self, name: str) -> None:
        """Remove a file, if it exists and can be removed."""
        with contextlib.suppress(OSError):
            os.unlink(self._name(name), **self._within())

    def files(self, endings: tuple[str, ...]) -> list[tuple[float, int, str]]:
        """Return (time, size, name) of the files with these endings, the oldest first."""
        listed = []
        with os.scandir(self.path if self._handle is None else self._handle) as entries:
            for entry in entries:
                if entry.name.endswith(endings):
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        listed.append((status.st_mtime, status.st_size, entry.name))
        return sorted(listed)

    def _new(self, content: bytes) -> str:
        """Write the content to a temporary file and return its name."""
        name = f"{secrets.token_hex(8)}{NEW_SUFFIX}"
        handle = self._open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
        except BaseException:
            self.remove(name)
            raise
        return name

    def _open(self, name: str, flags: int) -> int:
        return os.open(self._name(name), flags | _OPEN_FLAGS, 0o600, **self._within())

    def _name(self, name: str) -> str:
        return name if self._handle is not None else str(self.path / name)

    def _within(self) -> dict[str, Any]:
        return {} if self._handle is None else {"dir_fd": self._handle}

    def _both(self) -> dict[str, Any]:
        return {} if self._handle is None else {"src_dir_fd": self._handle, "dst_dir_fd": self._handle}


def _is_ours(status: os.stat_result, forbidden: int) -> bool:
    """Return whether this is a regular file of this user without the `forbidden` permissions for others."""
    if not stat.S_ISREG(status.st_mode):
        return False
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & forbidden)


try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

MAX_CACHE_BYTES = 1 << 30
_PRUNE_INTERVAL = 32  # entries written between two checks of the size of the folder
_MAGIC = b"appell kernel 4\n"
_SUFFIX = ".kernel"
_LOCK_SUFFIX = ".lock"
_SECRET_FILE = "secret"
_SECRET_BYTES = 32
LOCK_TIMEOUT_S = 60.0
_LOCK_POLL_S = 0.01
_HEADER_BYTES = len(_MAGIC) + hashlib.sha256().digest_size

T = TypeVar("T")

_warned = False
_written = 0


def fetch(key: str, make: Callable[[], bytes]) -> bytes:
    """Return the image stored under a key, or make it and store it."""
    if (image := find(key)) is not None:
        return image
    with exclusive(key):
        if (image := find(key)) is None:
            image = make()
            store(key, image)
    return image


def find(key: str) -> bytes | None:
    """Return the image stored under a key, or None."""
    return _in_folder(lambda folder, secret: _authentic(folder.read(key + _SUFFIX), key, secret))


def store(key: str, image: bytes) -> None:
    """Store an image under a key, if the cache folder can be used."""
    _in_folder(lambda folder, secret: _store(folder, key, secret, image))


@contextmanager
def exclusive(key: str) -> Iterator[None]:
    """Exclude other processes on this machine from building the entry; look it up again after entering.

    Threads of one process acquire `BUILD_LOCK` first, so that two threads cannot wait for each other's locks.
    """
    with BUILD_LOCK:
        name = key + _LOCK_SUFFIX
        handle = _in_folder(lambda folder, secret: folder.open_lock(name))
        if handle is None:
            yield
            return
        try:
            _wait_for_lock(handle)
            yield
        finally:
            os.close(handle)
            _in_folder(lambda folder, secret: folder.remove(name))


def _wait_for_lock(handle: int) -> None:
    """Wait for the lock on an open file, at most `LOCK_TIMEOUT_S`."""
    until = monotonic() + LOCK_TIMEOUT_S
    while fcntl is not None:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > until:
                return
            sleep(_LOCK_POLL_S)
        except OSError:  # the file system has no locks
            return


def _in_folder(use: Callable[[Folder, bytes], T]) -> T | None:
    """Return `use(folder, secret)`; None if there is no cache folder that can be used and trusted."""
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
    """Return the path of the cache folder, or None if the cache is disabled."""
    chosen = os.environ.get("APPELL_CACHE", "")
    if chosen.lower() in ("off", "0"):
        return None
    try:
        return Path(chosen) if chosen else _user_folder()
    except RuntimeError as error:  # the user has no home folder
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
    """Return the user's secret, created on first use; a temporary one if it cannot be stored."""
    for _ in range(2):
        if (secret := folder.read(_SECRET_FILE, private=True)) is not None and len(secret) == _SECRET_BYTES:
            return secret
        folder.remove(_SECRET_FILE)
        try:
            folder.create(_SECRET_FILE, secrets.token_bytes(_SECRET_BYTES))
        except OSError as error:
            _warn(f"cannot write to the cache folder: {error}")
            break
    return secrets.token_bytes(_SECRET_BYTES)


def _authentication_code(key: str, image: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, key.encode() + image, "sha256")


def _authentic(content: bytes | None, key: str, secret: bytes) -> bytes | None:
    """Return the image of an entry, or None if the entry is not exactly what was written."""
    image = (content or b"")[_HEADER_BYTES:]
    if content is None or not image:
        return None
    header = _MAGIC + _authentication_code(key, image, secret)
    return image if hmac.compare_digest(content[:_HEADER_BYTES], header) else None


def _store(folder: Folder, key: str, secret: bytes, image: bytes) -> None:
    global _written
    try:
        folder.write(key + _SUFFIX, _MAGIC + _authentication_code(key, image, secret) + image)
        if _written % _PRUNE_INTERVAL == 0:
            prune(folder)
        _written += 1
    except OSError as error:
        _warn(f"cannot write to the cache folder: {error}")


def prune(folder: Folder, limit: int = MAX_CACHE_BYTES) -> None:
    """If the folder exceeds `limit` bytes, delete the oldest entries until it has at most three quarters of them."""
    entries = folder.files((_SUFFIX, NEW_SUFFIX, _LOCK_SUFFIX))
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return
    for _, size, name in entries:
        folder.remove(name)
        total -= size
        if total <= limit * 3 // 4:
            break


def _warn(problem: str) -> None:
    """Warn once per process that kernels are not stored."""
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"{problem}; functions are compiled again in every process. "
            "Set APPELL_CACHE to a folder of your own, or to 'off'.",
            CacheWarning,
            stacklevel=2,
        )
