"""A fault campaign for sweeps: scheduler, workers and client are separate processes that are killed during the sweep.

    worker      one worker is killed and, if requested, replaced; the sweep continues by itself
    scheduler   the client must end with an error that names the cause; everything is restarted with the same command
    client      the writing process is killed; the same command continues the sweep

Each process is killed with signal 9 when a given part of the jobs is stored. The result is compared with an undisturbed
run, array by array. The campaign observes files and processes only, not the sweep itself.
"""

from __future__ import annotations

import contextlib
import math
import os
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

POLL_INTERVAL_S = 0.01  # interval at which the store is read
PROCESS_TIMEOUT_S = 120.0  # for processes to start or to end
STALL_TIMEOUT_S = 300.0  # time without a new block after which the campaign fails
KILLS = (("worker", 0.2), ("scheduler", 0.45), ("client", 0.7))  # process, and fraction of blocks stored at its kill


@dataclass(frozen=True)
class Kill:
    """A killed process, the number of blocks stored by then, and the error of the client if it ended by itself."""

    what: str
    stored: int
    error: str = ""


@dataclass
class Cluster:
    """A Dask scheduler and its workers on this machine, each a process with one thread."""

    workers: int
    folder: Path
    port: int = 0
    scheduler: subprocess.Popen | None = None
    worker_processes: list[subprocess.Popen] = field(default_factory=list)

    @property
    def address(self) -> str:
        """The address of the scheduler."""
        return f"tcp://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start the scheduler on a free port, and the workers."""
        with socket.create_server(("127.0.0.1", 0)) as server:
            self.port = server.getsockname()[1]
        options = ("--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show")
        self.scheduler = self._process("distributed.cli.dask_scheduler", *options)
        for _ in range(self.workers):
            self.start_worker()

    def start_worker(self) -> None:
        """Start one worker."""
        options = (
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
        worker = self._process("distributed.cli.dask_worker", *options, "--local-directory", str(self.folder))
        self.worker_processes.append(worker)

    def stop(self) -> None:
        """Kill all processes of the cluster."""
        for process in (*self.worker_processes, *([self.scheduler] if self.scheduler else [])):
            kill(process)
        self.worker_processes, self.scheduler = [], None

    def _process(self, module: str, *arguments: str) -> subprocess.Popen:
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        silent = subprocess.DEVNULL
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments], env=environment, stdout=silent, stderr=silent
        )


def kill(process: subprocess.Popen) -> None:
    """Kill a process with signal 9 and wait for its end."""
    process.kill()
    process.wait(PROCESS_TIMEOUT_S)


@dataclass(frozen=True)
class InterruptedSweep:
    """The command `appell sweep STUDY --out STORE --cluster ...`, during which processes are killed."""

    study: Path
    out: Path
    jobs: int  # number of jobs from the start of the study's table
    workers: int = 2
    kills: Sequence[tuple[str, float]] = KILLS
    replace_workers: bool = True  # whether a killed worker is replaced

    def run(self, report: Callable[[str], None] = lambda _: None) -> list[Kill]:
        """Run the sweep to its end with all kills; return what was killed. `report` receives a line per kill."""
        done: list[Kill] = []
        with _cluster(self.workers, self.out.parent) as cluster:
            client = self._client(cluster)
            try:
                for what, part in self.kills:
                    stored = self._wait(client, part)
                    error = ""
                    if what == "worker":
                        kill(cluster.worker_processes.pop(0))
                        if self.replace_workers:
                            cluster.start_worker()
                    else:
                        error = self._end(client, cluster, what)
                        client = self._client(cluster)
                    done.append(Kill(what, stored, error))
                    report(f"killed the {what} with {stored:,} blocks stored{': ' if error else ''}{error}")
                message = self._wait_for_end(client)
                if client.returncode:
                    raise SweepError(f"the last client ended with code {client.returncode}: {message}")
            finally:
                kill(client)
        return done

    def _client(self, cluster: Cluster) -> subprocess.Popen:
        command = [sys.executable, "-m", "appell", "sweep", str(self.study), "--out", str(self.out)]
        command += ["--cluster", cluster.address, "--first", str(self.jobs), "--timeout", str(PROCESS_TIMEOUT_S)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def _end(self, client: subprocess.Popen, cluster: Cluster, what: str) -> str:
        """Kill the scheduler or the client; return the error message of the client."""
        if what == "client":
            kill(client)
            return ""
        assert cluster.scheduler is not None
        kill(cluster.scheduler)
        message = self._wait_for_end(client)
        cluster.stop()
        cluster.start()
        return message

    def _wait(self, client: subprocess.Popen, part: float) -> int:
        """Wait until a part of all blocks is stored; return the number of stored blocks."""
        files = self.out / "jobs" / "status" / "c"
        target, last, changed = math.inf, 0, time.monotonic()
        while client.poll() is None:
            stored = sum(name.isdecimal() for name in os.listdir(files)) if files.is_dir() else 0
            if stored and target == math.inf:
                target = part * -(-self.jobs // SweepResults(self.out).block)
            if stored >= target:
                return stored
            if stored != last:
                last, changed = stored, time.monotonic()
            if time.monotonic() > changed + STALL_TIMEOUT_S:
                raise SweepError(
                    f"no block was stored for {STALL_TIMEOUT_S:g} s; {stored:,} of {target:g} blocks are stored."
                )
            time.sleep(POLL_INTERVAL_S)
        raise SweepError(f"the client ended before {part:.0%} was stored: {self._wait_for_end(client)}")

    def _wait_for_end(self, client: subprocess.Popen) -> str:
        """Wait for the end of a client and return its stderr; raise if it neither ends nor stores blocks."""
        files = self.out / "jobs" / "status" / "c"
        while True:
            before = len(os.listdir(files)) if files.is_dir() else 0
            try:
                return client.communicate(timeout=STALL_TIMEOUT_S)[1].strip()
            except subprocess.TimeoutExpired:
                if files.is_dir() and len(os.listdir(files)) > before:
                    continue
                raise SweepError(
                    f"the client did not end, and no block was stored for {STALL_TIMEOUT_S:g} s."
                ) from None


@contextlib.contextmanager
def _cluster(workers: int, folder: Path) -> Iterator[Cluster]:
    cluster = Cluster(workers, folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


def differences(one: SweepResults, other: SweepResults) -> list[str]:
    """Return the names of the arrays in which two stores differ in any bit."""
    if one.names != other.names or len(one) != len(other):
        return ["names or number of jobs"]
    names = [name for name in one if one[name].tobytes() != other[name].tobytes()]
    names += [name for name in one.table if one.table[name].tobytes() != other.table[name].tobytes()]
    if not np.array_equal(one.status, other.status):
        names.append("status")
    if [failure.error for failure in one.failures] != [failure.error for failure in other.failures]:
        names.append("errors")
    return names
