"""One client a store: a lock that the system takes back when its holder dies, however that happens.

The file beside the store says who holds it; that it is there means nothing. It is removed when the lock is given back,
so whoever gets the lock of a file that has been removed meanwhile tries again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from appell.errors import SweepError


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Hold the lock of a store; raise if somebody else does."""
    path = store.with_name(f".{store.name}.lock")
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise SweepError(
                f"the store '{store}' cannot be made: {error.strerror or error}.",
                expected="a folder that can be written to",
            ) from None
        if not _lock(handle):
            holder = os.read(handle, 200).decode(errors="replace").strip() or "another process"
            os.close(handle)
            raise SweepError(
                f"the store '{store}' is being written by {holder}.",
                expected="one sweep a store at a time",
                hint="wait for it, or end it; or another out=...",
            )
        try:
            same = os.path.samestat(os.fstat(handle), os.stat(path))
        except OSError:
            same = False
        if same:
            break
        os.close(handle)
    try:
        with suppress(OSError):  # a full disk: the lock holds all the same
            os.truncate(handle, 0)
            os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield
    finally:
        if os.name != "nt":  # there, open files cannot be removed
            path.unlink(missing_ok=True)
        os.close(handle)


def _lock(handle: int) -> bool:
    """Whether the lock was free, and is ours now; it goes when the file is closed."""
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(handle, 1000, os.SEEK_SET)  # beyond the text, which others are to read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
