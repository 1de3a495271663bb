"""A sweep under siege: scheduler, workers and client as processes of their own, killed one after the other on the way.

    worker      one of them is killed, and another one hired if asked for; the sweep goes on by itself
    scheduler   the client must end with an error that says so; all is started again, and the same command goes on
    client      nobody is left to write; the same command goes on

`kill -9` each time, when a given part of the jobs is stored. What comes of it is compared with an undisturbed run,
array for array. The judge looks at files and processes, and asks the sweep nothing.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from appell.errors import SweepError
from appell.sweeps import SweepResults

GLANCE = 0.01  # s between two looks at the store
PATIENCE = 120.0  # s for processes to come up or to go down
STUCK = 300.0  # s in which nothing is stored
KILLS = (("worker", 0.2), ("scheduler", 0.45), ("client", 0.7))


@dataclass(frozen=True)
class Kill:
    """What was killed, how many blocks were stored then, and what the client came to if it ended by itself."""

    what: str
    stored: int
    error: str = ""


@dataclass
class Cluster:
    """A Dask scheduler and its workers on this machine, each a process of one thread."""

    workers: int
    folder: Path
    port: int = 0
    scheduler: subprocess.Popen | None = None
    crew: list[subprocess.Popen] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        own = ("--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show")
        self.scheduler = self._process("distributed.cli.dask_scheduler", *own)
        for _ in range(self.workers):
            self.hire()

    def hire(self) -> None:
        own = (
            self.address,
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
            "--nworkers",
            "1",
        )
        self.crew.append(self._process("distributed.cli.dask_worker", *own, "--local-directory", str(self.folder)))

    def stop(self) -> None:
        """Kill what is left."""
        for process in (*self.crew, *([self.scheduler] if self.scheduler else [])):
            killed(process)
        self.crew, self.scheduler = [], None

    def _process(self, module: str, *arguments: str) -> subprocess.Popen:
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        silent = subprocess.DEVNULL
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments], env=environment, stdout=silent, stderr=silent
        )


def killed(process: subprocess.Popen) -> None:
    """With signal 9."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)


@dataclass(frozen=True)
class BesiegedSweep:
    """`appell sweep STUDY --out STORE --cluster ...` with kills on the way."""

    study: Path
    out: Path
    jobs: int  # the first so many of the study's table
    workers: int = 2
    kills: Sequence[tuple[str, float]] = KILLS
    hires: bool = True  # another worker for one that was killed

    def run(self, tell: Callable[[str], None] = lambda _: None) -> list[Kill]:
        """All kills, then on to the end; what happened at each of them."""
        done: list[Kill] = []
        with _cluster(self.workers, self.out.parent) as cluster:
            client = self._client(cluster)
            try:
                for what, part in self.kills:
                    stored = self._wait(client, part)
                    error = ""
                    if what == "worker":
                        killed(cluster.crew.pop(0))
                        if self.hires:
                            cluster.hire()
                    else:
                        error = self._end(client, cluster, what)
                        client = self._client(cluster)
                    done.append(Kill(what, stored, error))
                    tell(f"killed the {what} with {stored:,} blocks stored{': ' if error else ''}{error}")
                told = self._said(client)
                if client.returncode:
                    raise SweepError(f"the last client ended with code {client.returncode}: {told}")
            finally:
                killed(client)
        return done

    def _client(self, cluster: Cluster) -> subprocess.Popen:
        command = [sys.executable, "-m", "appell", "sweep", str(self.study), "--out", str(self.out)]
        command += ["--cluster", cluster.address, "--first", str(self.jobs), "--timeout", str(PATIENCE)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def _end(self, client: subprocess.Popen, cluster: Cluster, what: str) -> str:
        """Kill the scheduler or the client; what the client said."""
        if what == "client":
            killed(client)
            return ""
        assert cluster.scheduler is not None
        killed(cluster.scheduler)
        told = self._said(client)
        cluster.stop()
        cluster.start()
        return told

    def _wait(self, client: subprocess.Popen, part: float) -> int:
        """Until a part of all blocks is stored; how many are."""
        files = self.out / "jobs" / "status" / "c"
        wanted, last, changed = math.inf, 0, time.monotonic()
        while client.poll() is None:
            stored = sum(name.isdecimal() for name in os.listdir(files)) if files.is_dir() else 0
            if stored and wanted == math.inf:
                wanted = part * -(-self.jobs // SweepResults(self.out).block)
            if stored >= wanted:
                return stored
            if stored != last:
                last, changed = stored, time.monotonic()
            if time.monotonic() > changed + STUCK:
                raise SweepError(f"nothing was stored for {STUCK:g} s, with {stored:,} blocks of {wanted:g} wanted.")
            time.sleep(GLANCE)
        raise SweepError(f"the client ended before {part:.0%} was stored: {self._said(client)}")

    def _said(self, client: subprocess.Popen) -> str:
        """What a client says at its end, or an error if it comes to none while nothing is stored."""
        files = self.out / "jobs" / "status" / "c"
        while True:
            before = len(os.listdir(files)) if files.is_dir() else 0
            try:
                return client.communicate(timeout=STUCK)[1].strip()
            except subprocess.TimeoutExpired:
                if files.is_dir() and len(os.listdir(files)) > before:
                    continue
                raise SweepError(f"the client came to no end, and nothing was stored for {STUCK:g} s.") from None


@contextlib.contextmanager
def _cluster(workers: int, folder: Path) -> Iterator[Cluster]:
    cluster = Cluster(workers, folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def differences(one: SweepResults, other: SweepResults) -> list[str]:
    """The arrays in which two stores differ, in any bit."""
    if one.names != other.names or len(one) != len(other):
        return ["names or number of jobs"]
    found = [name for name in one if one[name].tobytes() != other[name].tobytes()]
    found += [name for name in one.table if one.table[name].tobytes() != other.table[name].tobytes()]
    if not np.array_equal(one.status, other.status):
        found.append("status")
    if [failure.error for failure in one.failures] != [failure.error for failure in other.failures]:
        found.append("errors")
    return found
