"""A cabinet in another process: two programs that share a page of memory, as a computer and a cabinet share a bus.

The page is a mapped file. The cabinet writes the signals and a sequence number around them, odd while it writes, so
that a reader knows whether it got a whole reading and a new one. The loop writes codes, switches and the time of its
last sign of life; the cabinet alone decides, by that time, to switch the outputs off. Both see the same monotonic
clock. Nothing needs to be cleaned up when a process is killed.

The file belongs to one user and to one process: it is created, never opened over another, readable to its owner alone,
and no link is followed to it. Who attaches checks all that. A page whose process is gone, or has given no sign of life
for `SILENCE`, is taken away for a new one.
"""

from __future__ import annotations

import mmap
import os
import stat
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

from appell.errors import ArgumentError
from appell.hardware.cabinet.hardware import signal_blocks
from appell.hardware.cabinet.wiring import Wiring

MAGIC = 4.09e5
FIELDS = ("magic", "wiring", "sequence", "served", "enabled", "beat", "wanted", "cleared", "tool", "shutdown", "pid")
PATIENCE = 10.0  # s that `open` waits for a cabinet
SILENCE = 5.0  # s without a sign of life after which a page counts as left behind
_FLAGS = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def default_path(name: str = "appell-cabinet") -> Path:
    """Where a user's cabinet of a name is found: in memory where the system has a folder for that."""
    if not name or Path(name).name != name:
        raise ArgumentError(f"a cabinet cannot be called {name!r}.", expected="a name without a folder")
    folder = Path("/dev/shm")
    folder = folder if folder.is_dir() else Path(tempfile.gettempdir())
    return folder / f"{name}-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


class SharedPage:
    """The page, by the names of its parts."""

    def __init__(self, path: Path, wiring: Wiring, create: bool = False):
        self.path, self.layout = path, signal_blocks(wiring.n)
        n, size = wiring.n, 8 * (len(FIELDS) + wiring.n + self.layout.size)
        if create:
            _clear_away(path)
            file = _create(path, size)
        else:
            file = _attach(path, n, size)
        self._map = mmap.mmap(file, size)
        os.close(file)
        self.numbers = np.frombuffer(self._map, dtype=np.float64)
        self.at = {name: k for k, name in enumerate(FIELDS)}
        self.codes = self.numbers[len(FIELDS) : len(FIELDS) + n]
        self.signals = self.numbers[len(FIELDS) + n :]
        digest = float(zlib.crc32(repr(wiring).encode()))
        if create:
            self.codes[:] = wiring.zero_code
            self["pid"], self["served"] = os.getpid(), monotonic()
            self["wiring"], self["magic"] = digest, MAGIC
        elif self["magic"] != MAGIC or self["wiring"] != digest:
            raise ArgumentError(
                f"the cabinet at {path} is wired differently from {wiring.name}.",
                expected="the same channels and actuators",
            )

    def __getitem__(self, name: str) -> float:
        return float(self.numbers[self.at[name]])

    def __setitem__(self, name: str, value: float) -> None:
        self.numbers[self.at[name]] = value

    def publish(self, signals: np.ndarray) -> None:
        self.numbers[2] += 1.0  # odd: a reader stays away
        self.signals[:] = signals
        self.numbers[2] += 1.0

    def close(self) -> None:
        del self.numbers, self.codes, self.signals
        self._map.close()


class RemoteCabinet:
    """The hardware interface to a cabinet in another process."""

    def __init__(self, wiring: Wiring, path: Path | None = None):
        self.wiring = wiring
        self.page = SharedPage(path or default_path(), wiring)
        self._seen = 0.0

    def open(self) -> None:
        until = time.monotonic() + PATIENCE
        first = self.page["sequence"]
        while self.page["sequence"] == first:
            if time.monotonic() > until:
                raise ArgumentError(
                    f"the cabinet at {self.page.path} does not answer.", hint="is its process still running?"
                )
            time.sleep(1e-3)
        self.disable()

    def read(self, into: np.ndarray) -> bool:
        page = self.page
        for _ in range(8):
            before = page.numbers[2]
            if before % 2.0 == 0.0:
                into[:] = page.signals
                if page.numbers[2] == before:
                    fresh, self._seen = before != self._seen, before
                    return bool(fresh)
        return False

    def write(self, codes: np.ndarray) -> None:
        self.page.codes[:] = codes
        self.page.numbers[5] = monotonic()

    def write_tool(self, outputs: int) -> None:
        self.page["tool"] = outputs

    def enable(self) -> None:
        self.page["beat"] = monotonic()
        self.page["wanted"] = 1.0

    def disable(self) -> None:
        self.page["wanted"] = 0.0

    def clear(self) -> None:
        self.page["cleared"] += 1.0

    def close(self) -> None:
        self.disable()


def monotonic() -> float:
    return time.clock_gettime(time.CLOCK_MONOTONIC) if hasattr(time, "clock_gettime") else time.monotonic()


def _create(path: Path, size: int) -> int:
    """A new file of zeros, its owner's alone."""
    try:
        file = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ArgumentError(f"another cabinet has just taken {path}.", hint="another --name") from None
    os.ftruncate(file, size)
    return file


def _open(path: Path) -> int:
    """The file at the path if it is a plain one of ours that nobody else can touch."""
    try:
        file = os.open(path, _FLAGS)
    except OSError as error:
        why = "it is a link" if path.is_symlink() else (error.strerror or "it cannot be opened").lower()
        raise ArgumentError(f"the cabinet at {path} is not used: {why}.", hint="another --name") from None
    found = os.fstat(file)
    if not stat.S_ISREG(found.st_mode):
        why = "it is no plain file"
    elif hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        why = f"it belongs to user {found.st_uid}"
    elif hasattr(os, "geteuid") and found.st_mode & 0o077:
        why = f"others may touch it (mode {stat.S_IMODE(found.st_mode):04o})"
    else:
        return file
    os.close(file)
    raise ArgumentError(f"the cabinet at {path} is not used: {why}.", hint="another --name")


def _attach(path: Path, n: int, size: int) -> int:
    if os.path.lexists(path):
        file = _open(path)
        if os.fstat(file).st_size == size:
            return file
        os.close(file)
    raise ArgumentError(
        f"no cabinet for {n} actuators is found at {path}.", hint="appell control cabinet, in another terminal"
    )


def _clear_away(path: Path) -> None:
    """Remove a page that was left behind; raise if somebody still serves it."""
    if not os.path.lexists(path):
        return
    file = _open(path)
    content = os.read(file, 8 * len(FIELDS))
    os.close(file)
    if len(content) == 8 * len(FIELDS):
        head = dict(zip(FIELDS, np.frombuffer(content).tolist(), strict=True))
        if head["magic"] == MAGIC and _is_alive(int(head["pid"])) and monotonic() - head["served"] < SILENCE:
            raise ArgumentError(
                f"the cabinet at {path} is served by process {head['pid']:.0f}.", hint="stop it, or another --name"
            )
    remove(path)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def remove(path: Path) -> None:
    """Take the page away; processes that have it mapped keep it."""
    path.unlink(missing_ok=True)
