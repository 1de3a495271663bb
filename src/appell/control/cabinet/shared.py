"""A cabinet in another process: two programs that share a page of memory, as a computer and a cabinet share a bus.

The page is a mapped file. The cabinet writes the signals and a sequence number around them, odd while it writes, so
that a reader knows whether it got a whole reading and a new one. The loop writes codes, switches and the time of its
last sign of life; the cabinet alone decides, by that time, to switch the outputs off. Both see the same monotonic
clock. Nothing needs to be cleaned up when a process is killed.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

from appell.control.cabinet.drive import Wiring
from appell.control.cabinet.signals import Layout
from appell.errors import ArgumentError

MAGIC = 4.08e5
FIELDS = ("magic", "wiring", "sequence", "served", "enabled", "beat", "wanted", "cleared", "tool", "shutdown")
PATIENCE = 10.0  # s that `open` waits for a cabinet


def default_path(name: str = "appell-cabinet") -> Path:
    """Where a cabinet of a name is found: in memory where the system has a folder for that."""
    folder = Path("/dev/shm")
    return (folder if folder.is_dir() else Path(tempfile.gettempdir())) / name


class SharedPage:
    """The page, by the names of its parts."""

    def __init__(self, path: Path, wiring: Wiring, create: bool = False):
        self.path, self.layout = path, Layout(wiring.n)
        n, size = wiring.n, 8 * (len(FIELDS) + wiring.n + self.layout.size)
        if create:
            path.write_bytes(b"\0" * size)
        elif not path.exists() or path.stat().st_size != size:
            raise ArgumentError(
                f"no cabinet for {n} joints is found at {path}.", hint="appell control cabinet, in another terminal"
            )
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), size)
        self.numbers = np.frombuffer(self._map, dtype=np.float64)
        self.at = {name: k for k, name in enumerate(FIELDS)}
        self.codes = self.numbers[len(FIELDS) : len(FIELDS) + n]
        self.signals = self.numbers[len(FIELDS) + n :]
        digest = float(zlib.crc32(repr(wiring).encode()))
        if create:
            self.codes[:] = wiring.zero_code
            self["wiring"], self["magic"] = digest, MAGIC
        elif self["magic"] != MAGIC or self["wiring"] != digest:
            raise ArgumentError(
                f"the cabinet at {path} is wired differently from {wiring.name}.", expected="the same drives and joints"
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
        self.page.numbers[5] = time.clock_gettime(time.CLOCK_MONOTONIC)

    def write_tool(self, outputs: int) -> None:
        self.page["tool"] = outputs

    def enable(self) -> None:
        self.page["beat"] = time.clock_gettime(time.CLOCK_MONOTONIC)
        self.page["wanted"] = 1.0

    def disable(self) -> None:
        self.page["wanted"] = 0.0

    def clear(self) -> None:
        self.page["cleared"] += 1.0

    def close(self) -> None:
        self.disable()


def remove(path: Path) -> None:
    """Take the page away; processes that have it mapped keep it."""
    if path.exists():
        os.unlink(path)
