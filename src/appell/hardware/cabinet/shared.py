"""A cabinet in another process: loop and cabinet share a page of memory.

The page is a mapped file. The cabinet writes the signals and a sequence number, which is odd while it writes, so that a
reader can detect incomplete and repeated readings. The loop writes codes, switches and the time of its last heartbeat;
from this time the cabinet alone decides to switch the outputs off. Both use the same monotonic clock. If a process is
killed, nothing has to be cleaned up.

The file belongs to one user and one process: it is always newly created, only its owner can read it, and symbolic links
to it are not followed. A process that attaches to it checks all of this. A page whose process has ended, or has not
updated it for `SERVER_TIMEOUT_S`, is removed and replaced.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import stat
import sys
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

from appell.errors import ArgumentError
from appell.hardware.cabinet.signals import SignalConverter, cabinet_info, signal_blocks
from appell.hardware.cabinet.wiring import Wiring
from appell.hardware.clock import monotonic
from appell.hardware.device import JointCommand, JointState

MAGIC = 4.09e5  # first number of a page
FIELDS = ("magic", "wiring", "sequence", "served", "enabled", "beat", "wanted", "cleared", "tool", "shutdown", "pid")
OPEN_TIMEOUT_S = 10.0  # that `open` waits for a cabinet
SERVER_TIMEOUT_S = 5.0  # without an update, after which a page counts as abandoned
READ_ATTEMPTS = 8  # to get a reading that the cabinet did not change meanwhile
NEW_NAME = "Choose another name."
_SYNCHRONIZE, _WAIT_TIMEOUT = 0x100000, 258  # of the Windows interface
_FLAGS = os.O_RDWR | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"))


def default_path(name: str = "appell-cabinet") -> Path:
    """Return the file of a user's cabinet with this name; in shared memory where the system has a folder for it."""
    if not name or Path(name).name != name:
        raise ArgumentError(f"{name!r} is not a valid name of a cabinet.", expected="a file name without a folder")
    folder = Path("/dev/shm")
    folder = folder if folder.is_dir() else Path(tempfile.gettempdir())
    return folder / f"{name}-{os.getuid() if hasattr(os, 'getuid') else 'user'}"


class SharedPage:
    """The shared page; `page["beat"]` is one of `FIELDS`."""

    def __init__(self, path: Path, wiring: Wiring, create: bool = False):
        self.path, self.layout = path, signal_blocks(wiring.n)
        n, size = wiring.n, 8 * (len(FIELDS) + wiring.n + self.layout.size)
        if create:
            _remove_abandoned(path)
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
        """Write a reading, with the sequence number odd meanwhile."""
        self.numbers[2] += 1.0
        self.signals[:] = signals
        self.numbers[2] += 1.0

    def close(self) -> None:
        """Unmap the page."""
        del self.numbers, self.codes, self.signals
        self._map.close()


class RemoteCabinet:
    """A cabinet in another process, as a device."""

    def __init__(self, wiring: Wiring, path: Path | None = None):
        self.wiring = wiring
        self.page = SharedPage(path or default_path(), wiring)
        self.info, self.converter = cabinet_info(wiring), SignalConverter(wiring)
        self.travel = self.converter.travel
        self._seen, self._reading = 0.0, np.zeros(self.converter.layout.size)

    def open(self) -> None:
        """Wait for a new reading, and switch the outputs off."""
        until = time.monotonic() + OPEN_TIMEOUT_S
        first = self.page["sequence"]
        while self.page["sequence"] == first:
            if time.monotonic() > until:
                raise ArgumentError(
                    f"the cabinet at {self.page.path} does not respond.", hint="Check that its process is running."
                )
            time.sleep(1e-3)
        self.disable()

    def read(self, state: JointState) -> bool:
        """Measure; return False if there is no new reading."""
        page, into = self.page, self._reading
        for _ in range(READ_ATTEMPTS):
            before = page.numbers[2]
            if before % 2.0 == 0.0:
                into[:] = page.signals
                if page.numbers[2] == before:
                    fresh, self._seen = before != self._seen, before
                    if fresh:
                        self.converter.decode(into, state)
                    return bool(fresh)
        return False

    def write(self, command: JointCommand) -> None:
        """Write the torques to the output converters, and the heartbeat."""
        self.page.codes[:] = self.converter.encode(command)
        self.page.numbers[5] = monotonic()

    def write_tool(self, outputs: int) -> None:
        """Write the digital tool outputs, one bit each."""
        self.page["tool"] = outputs

    def enable(self, mode: str = "torque") -> None:
        """Request that the amplifiers are switched on and the brakes released."""
        self.converter.enabled()
        self.page["beat"] = monotonic()
        self.page["wanted"] = 1.0

    def disable(self) -> None:
        """Request that the amplifiers are switched off and the brakes engaged."""
        self.page["wanted"] = 0.0

    def clear(self) -> None:
        """Request a reset of the watchdog, and discard the calibration."""
        self.page["cleared"] += 1.0
        self.converter.forget()

    def home(self) -> np.ndarray:
        """Determine the exact positions of the actuators from the index pulses that have passed."""
        return self.converter.home()

    def close(self) -> None:
        """Switch the outputs off."""
        self.disable()


def _create(path: Path, size: int) -> int:
    """Create a file of zeros that only its owner can access; return its descriptor."""
    try:
        file = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        problem = f"another process has just created a cabinet at {path}, or still uses its file."
        raise ArgumentError(problem, hint=NEW_NAME) from None
    os.ftruncate(file, size)
    return file


def _open(path: Path) -> int:
    """Open a regular file that belongs to this user and that others cannot access; return its descriptor."""
    try:
        file = os.open(path, _FLAGS)
    except OSError as error:
        reason = "it is a symbolic link" if path.is_symlink() else (error.strerror or "it cannot be opened").lower()
        raise ArgumentError(f"the cabinet at {path} cannot be used: {reason}.", hint=NEW_NAME) from None
    status = os.fstat(file)
    if not stat.S_ISREG(status.st_mode):
        reason = "it is not a regular file"
    elif hasattr(os, "geteuid") and status.st_uid != os.geteuid():
        reason = f"it belongs to user {status.st_uid}"
    elif hasattr(os, "geteuid") and status.st_mode & 0o077:
        reason = f"other users can access it (mode {stat.S_IMODE(status.st_mode):04o})"
    else:
        return file
    os.close(file)
    raise ArgumentError(f"the cabinet at {path} cannot be used: {reason}.", hint=NEW_NAME)


def _attach(path: Path, n: int, size: int) -> int:
    """Open the page of a cabinet for n actuators; return its descriptor."""
    if os.path.lexists(path):
        file = _open(path)
        if os.fstat(file).st_size == size:
            return file
        os.close(file)
    raise ArgumentError(
        f"there is no cabinet for {n} actuators at {path}.", hint="Start one with `appell control cabinet ROBOT`."
    )


def _remove_abandoned(path: Path) -> None:
    """Remove an abandoned page; raise an ArgumentError if a process still serves it."""
    if not os.path.lexists(path):
        return
    file = _open(path)
    content = os.read(file, 8 * len(FIELDS))
    os.close(file)
    if len(content) == 8 * len(FIELDS):
        head = dict(zip(FIELDS, np.frombuffer(content).tolist(), strict=True))
        if head["magic"] == MAGIC and _is_alive(int(head["pid"])) and monotonic() - head["served"] < SERVER_TIMEOUT_S:
            raise ArgumentError(
                f"the cabinet at {path} is already served by process {head['pid']:.0f}.",
                hint="Stop that process, or choose another name.",
            )
    remove(path)


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":  # signal 0 is Ctrl-C there
        kernel = ctypes.windll.kernel32
        process = kernel.OpenProcess(_SYNCHRONIZE, False, pid)
        waited = kernel.WaitForSingleObject(process, 0)
        kernel.CloseHandle(process)
        return waited == _WAIT_TIMEOUT
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def remove(path: Path) -> None:
    """Remove the file of a page; processes that have mapped it can still use it, and on Windows keep it."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        if os.name != "nt":
            raise
