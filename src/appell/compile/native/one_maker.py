"""One process makes an entry of the cache, and the others that want it wait.

A hundred workers that start at once want the same machine code. Whoever comes first locks a file beside the entry; the
system takes the lock back when its owner is done or dies, however it dies. An owner that does neither (it was stopped,
or what it makes takes minutes) is not waited for longer than `PATIENCE`: then everybody makes what it needs, which is
right all the same. So is going on at once where files cannot be locked: on Windows, and on some network disks.

The file is removed by its owner. Somebody who waits on the removed one then holds a lock that keeps nobody out, and
finds the entry made.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic, sleep

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

PATIENCE = 60.0  # s
_LOOKS = 0.01  # s between two


@contextmanager
def one_maker(handle: int) -> Iterator[None]:
    """Wait for the lock on an open file, for a while; it is given back, and the file closed, in the end."""
    try:
        _wait(handle)
        yield
    finally:
        os.close(handle)


def _wait(handle: int) -> None:
    until = monotonic() + PATIENCE
    while fcntl is not None:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if monotonic() > until:
                return
            sleep(_LOOKS)
        except OSError:  # no file system for locks
            return
