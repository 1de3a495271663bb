"""One process builds an entry while others wait for it, never indefinitely."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from appell.compile.cache import object_cache as cache
from appell.compile.cache.object_cache import Folder

KEY = "0" * 64
locks = pytest.mark.skipif(cache.fcntl is None, reason="this system has no such locks")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    where = tmp_path / "cache"
    monkeypatch.setenv("APPELL_CACHE", str(where))
    monkeypatch.setattr(cache, "_warned", False)
    return where


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


WORKER = """
import logging, sys, time
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
import numpy as np
import appell as ap
dyn = ap.Dynamics(ap.load("planar-2r"))
while time.time() < float(sys.argv[1]):
    time.sleep(0.001)
dyn.forward_dynamics(*np.ones((3, 50, 2)))
dyn.mass_matrix(np.ones(2))
"""


@locks
def test_workers_that_start_at_once_compile_every_kernel_once(folder):
    together = str(time.time() + 3.0)
    command = [sys.executable, "-W", "error", "-c", WORKER, together]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    printed = "".join(process.communicate(timeout=120)[0] for process in running)
    assert [process.returncode for process in running] == [0] * 4
    kernels = re.findall(r"^(.*): \d+ bytes of machine code (made|found)", printed, flags=re.MULTILINE)
    made = [name for name, how in kernels if how == "made"]
    assert len(kernels) == 4 * len(set(name for name, _ in kernels))
    assert sorted(made) == sorted({name for name, _ in kernels})
    assert [name for name in names(folder) if not name.endswith(".kernel")] == ["secret"]


@locks
def test_a_process_that_waited_finds_the_entry(folder):
    made, holds = [], threading.Event()
    first = threading.Thread(target=in_another_process, args=(folder, holds))
    first.start()
    assert holds.wait(30.0)
    assert cache.fetch(KEY, lambda: made.append("second") or b"other") == b"image"
    first.join()
    assert made == []
    assert names(folder) == [f"{KEY}.kernel", "secret"]


def in_another_process(folder: Path, holds: threading.Event) -> None:
    """Build an entry slowly in another process, and set the event when it has started."""
    program = (
        "import time; from appell.compile.cache import object_cache as cache\n"
        "def make():\n    print('making', flush=True)\n    time.sleep(0.3)\n    return b'image'\n"
        f"cache.fetch('{KEY}', make)"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        holds.set()


HOLDER = f"""
import sys, time
from appell.compile.cache import object_cache as cache
with cache.exclusive('{KEY}'):
    print('holding', flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(folder):
    """A process that holds the lock and builds nothing."""
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@locks
def test_a_lock_is_released_when_its_owner_dies(folder, holder):
    images: list[bytes] = []
    waiting = threading.Thread(target=lambda: images.append(cache.fetch(KEY, lambda: b"image")))
    waiting.start()
    time.sleep(0.2)
    assert images == []
    holder.kill()
    waiting.join(10.0)
    assert images == [b"image"]


@locks
def test_waiting_for_a_lock_ends_after_the_timeout(folder, holder, monkeypatch):
    assert cache.fetch("1" * 64, lambda: b"another") == b"another"  # other entries are not blocked
    monkeypatch.setattr(cache, "LOCK_TIMEOUT_S", 0.3)
    begin = time.monotonic()
    assert cache.fetch(KEY, lambda: b"image") == b"image"
    assert 0.3 <= time.monotonic() - begin < 10.0
    assert cache.fetch(KEY, lambda: b"other") == b"image"


@locks
@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP, errno.EINVAL])
def test_a_file_system_without_locks_does_not_block(folder, monkeypatch, number):
    def refuse(handle, kind):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(cache.fcntl, "flock", refuse)
    assert cache.fetch(KEY, lambda: b"image") == b"image"
    assert names(folder) == [f"{KEY}.kernel", "secret"]


def test_a_system_without_locks_does_not_block(folder, monkeypatch):
    monkeypatch.setattr(cache, "fcntl", None)
    assert cache.fetch(KEY, lambda: b"image") == b"image"


def test_a_failed_build_leaves_nothing_and_can_be_repeated(folder):
    with pytest.raises(ZeroDivisionError):
        cache.fetch(KEY, lambda: b"" * (1 // 0))
    assert names(folder) == ["secret"]
    assert cache.fetch(KEY, lambda: b"image") == b"image"


def test_a_lock_file_that_cannot_be_created_does_not_block(folder):
    with Folder(folder):
        (folder / f"{KEY}.lock").mkdir()
    assert cache.fetch(KEY, lambda: b"image") == b"image"
    assert cache.fetch(KEY, lambda: b"other") == b"image"


def test_threads_of_one_process_build_an_entry_once(folder):
    made: list[int] = []

    def make() -> bytes:
        made.append(0)
        time.sleep(0.05)
        return b"image"

    threads = [threading.Thread(target=cache.fetch, args=(KEY, make)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1


def test_without_a_cache_nothing_is_locked(folder, monkeypatch):
    monkeypatch.setenv("APPELL_CACHE", "off")
    assert cache.fetch(KEY, lambda: b"image") == b"image"
    assert not folder.exists()
