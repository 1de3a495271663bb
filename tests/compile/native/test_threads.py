"""Number of threads: settings, the environment, and worker processes."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys

import pytest

import appell as ap
from appell.compile.native import threads


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    for name in ("APPELL_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(threads.THREAD_COUNT, "count", None)


def test_the_default_is_one_thread():
    assert ap.threads() == 1


def test_a_call_reads_the_environment_once():
    ap.Dynamics(ap.load("pendulum")).energy([0.1], [0.2])
    assert threads.THREAD_COUNT.count == 1


def test_the_last_setting_holds_and_a_with_block_restores_it():
    ap.set_threads(3)
    with ap.set_threads(5):
        assert ap.threads() == 5
        with ap.set_threads("all"):
            assert ap.threads() == threads.cores()
        with pytest.raises(ZeroDivisionError), ap.set_threads(7):
            _ = 1 / 0
        assert ap.threads() == 5
    assert ap.threads() == 3
    assert repr(ap.set_threads(1)) == "<batches on 1 thread>"


@pytest.mark.parametrize(("text", "count"), [("7", 7), ("1", 1), ("", 1), ("all", threads.cores())])
def test_the_environment_sets_the_default(monkeypatch, text, count):
    monkeypatch.setenv("APPELL_THREADS", text)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # ignored in a process that is not a worker
    assert ap.threads() == count
    ap.set_threads(2)
    assert ap.threads() == 2


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_an_invalid_environment_variable_is_named(monkeypatch, text):
    monkeypatch.setenv("APPELL_THREADS", text)
    with pytest.raises(ap.ArgumentError, match=f"APPELL_THREADS is '{text}'"):
        ap.threads()
    ap.set_threads(2)
    assert ap.threads() == 2


# A child forked while threads run may inherit a locked lock, and earlier tests started threads; so a separate process
# forks.
POOL = """
import multiprocessing, sys
from concurrent.futures import ProcessPoolExecutor
import appell as ap
from appell.compile.native import threads

def counts():
    first = ap.threads()
    with ap.set_threads(2):
        return first, ap.threads()

if __name__ == "__main__":
    ap.set_threads(6)
    with ProcessPoolExecutor(1, multiprocessing.get_context(sys.argv[1])) as pool:
        print(*pool.submit(counts).result(), ap.threads())
"""
CASES = [("fork", None, 1), ("fork", "3", 3), ("fork", "99", 8), ("fork", "nonsense", 1), ("spawn", "3", 3)]


@pytest.mark.parametrize(("start", "share", "expected"), CASES)
def test_workers_of_a_pool_use_their_share_of_threads(tmp_path, start, share, expected):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    (tmp_path / "pool.py").write_text(POOL, "utf-8")
    environment = os.environ | {"APPELL_THREADS": "8"} | ({} if share is None else {"OMP_NUM_THREADS": share})
    command = [sys.executable, "-W", "ignore", str(tmp_path / "pool.py"), start]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
    assert (done.stdout, done.stderr) == (f"{expected} 2 6\n", "")
