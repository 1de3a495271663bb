"""The sweep: try a few jobs, make the store, then block after block until none is left.

A block of jobs is what is computed by one task and written at once. It is to last `task_seconds`, by the time that the
first jobs took, so that handing it out costs next to nothing; to be at least a 4096th of a large sweep, unless
it would last a minute; and to fit into memory many times. A block that kills its workers is set aside and looked at in
the end, in ever smaller pieces and one at a time, until the jobs are found that do it: these have failed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from appell.errors import ArgumentError, check_number
from appell.progress import Bar
from appell.sweeps.identity import Identity
from appell.sweeps.jobs import Grid, Jobs, is_seeded
from appell.sweeps.outcomes import FAILED, Layout, Outcomes
from appell.sweeps.pool import InProcess, OnCluster
from appell.sweeps.results import SweepResults
from appell.sweeps.store import SweepStore, locked

Pool = InProcess | OnCluster
TASK = 0.5  # s
LONGEST_TASK = 60.0  # s, of those that are made longer to have fewer
MOST_BLOCKS = 4096
LARGEST_BLOCK = 16_000_000  # bytes of results
BLOCKS_A_SECOND = 32  # that one process writes with ease
TRIED, WARM, TRYING = 8, 3, 5.0  # jobs that are tried; so many at least, and no more after so many s
TOO_LONG = 60.0  # s after which it is known that a job is long
HOPELESS = 32  # jobs: if so many have failed, the rest is done without knowing what results look like
FEW = 16  # jobs a block, if nothing is known of their results
SHARES = 4  # blocks at least for every worker
KILLED = "WorkerKilled: every worker that ran this job died: it crashed, or ran out of memory."
PIECES = 16  # into which a block that kills its workers is cut


class SweepBar(Bar):
    """Progress of a sweep: jobs done and failed, their rate, and the time that is left; shown on terminals only."""

    def __init__(self, total: int, stored: int, enabled: bool | None = None, console: Console | None = None):
        super().__init__("sweep", total, "jobs", done=stored, enabled=enabled, console=console)
        self.failed = 0

    def count(self, done: int, failed: int) -> None:
        """Add numbers of jobs: all that are done, and those of them that failed."""
        self.failed += failed
        if self.failed:
            self.label = f"sweep, {self.failed:,} failed"
        self.advance(done)


def sweep(
    study: Callable[..., Any],
    table: int | Grid | Any,
    out: str | Path,
    *,
    cluster: Any = None,
    workers: int = 1,
    seed: int = 0,
    retry_failed: bool = False,
    accept_study: bool = False,
    progress: bool | None = None,
    timeout: float = 10.0,
    task_seconds: float = TASK,
) -> SweepResults:
    """Call `study` with every row of a table, and keep what it returns in the Zarr store `out`.

    A study is a function of the table's columns that returns a dict of numbers and arrays, of the same shapes in every
    job, or a Record, of which a summary is kept. If it has a parameter `seed` that is no column, it gets a number that
    depends on `seed` and the job's number only. The table is a number of jobs, a mapping of columns (each with a row a
    job), or `ap.grid(...)`.

    Jobs run in this process, in `workers` processes on this machine, or on the Dask cluster at the address `cluster`
    (or of a Client): with the same results. A program that starts workers does so under `if __name__ == "__main__":`.

    What is stored stays, whoever is killed; the same call goes on where it stopped. A job that raises has failed: its
    error is stored, and the others go on; `retry_failed=True` tries those again. A store of another study or table is
    refused; `accept_study=True` takes a changed study for the same, for instance one that was mended for a retry.
    """
    path = Path(out)
    jobs = Jobs.of(table, seed)
    seeded = is_seeded(study, jobs)
    _check(path, workers, timeout, task_seconds)
    identity = Identity.of(study, jobs)
    try:
        with locked(path):
            store = SweepStore.find(path, "r+")
            if store is not None:
                identity.refuse(store.identity, path, accept_study)
                store.tidy()
                if identity != store.identity:
                    store.accept(identity)
            pending = [] if store is None else store.pending(retry_failed)
            if store is None or pending:
                with _pool(study, jobs, seeded, cluster, workers, timeout) as pool:
                    tried: list[Outcomes] = []
                    if store is None:
                        tried = _try(pool, jobs.count)
                        size = block_size(tried, jobs.count, pool.workers, task_seconds)
                        store = SweepStore.make(path, identity, jobs, seeded, size)
                        pending = store.pending(retry_failed)
                    with SweepBar(jobs.count, jobs.count - sum(map(len, pending)), progress) as bar:
                        _work(pool, store, pending, tried, bar)
            store.close()
    except KeyboardInterrupt as error:
        error.add_note(f"What was done is stored in '{path}'; the same command goes on from there.")
        raise
    return SweepResults(path)


def _check(path: Path, workers: int, timeout: float, task_seconds: float) -> None:
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 0:
        raise ArgumentError(f"workers is {workers!r}.", expected="a number of processes; 0 or 1: this one alone")
    check_number("timeout, in s,", timeout, least=0.0, above=True)
    check_number("task_seconds", task_seconds, least=0.0, above=True)
    if not path.absolute().parent.is_dir():
        raise ArgumentError(
            f"there is no folder '{path.parent}' to make the store '{path.name}' in.", hint="make it first"
        )


def _pool(
    study: Callable[..., Any], jobs: Jobs, seeded: bool, cluster: Any, workers: int, timeout: float
) -> InProcess | OnCluster:
    if cluster is None and workers <= 1:
        return InProcess(study, jobs, seeded)
    return OnCluster(study, jobs, seeded, cluster, workers, timeout)


def _try(pool: Pool, count: int) -> list[Outcomes]:
    """The first jobs, one by one: how long they take, and what they return."""
    tried: list[Outcomes] = []
    begun = time.monotonic()
    for number in range(min(count, HOPELESS)):
        tried.append(_isolated(pool, np.array([number]), lambda: next((x.layout for x in tried if x.layout), None)))
        spent = time.monotonic() - begun
        enough = len(tried) >= (WARM if spent > TRYING else TRIED) or spent > TOO_LONG
        if enough and any(outcomes.layout for outcomes in tried):
            break
    return tried


def block_size(tried: list[Outcomes], count: int, workers: int, task_seconds: float) -> int:
    """How many jobs make a block."""
    good = [outcomes for outcomes in tried if outcomes.layout]
    seconds = max(min(outcomes.seconds for outcomes in good or tried), 1e-6)
    size = max(task_seconds, workers / BLOCKS_A_SECOND) / seconds
    size = max(size, min(count / MOST_BLOCKS, LONGEST_TASK / seconds))
    if workers > 1:
        size = min(size, count / (SHARES * workers))
    most = LARGEST_BLOCK / max(1, good[0].layout.size) if good and good[0].layout else FEW
    return int(np.clip(size, 1, max(1, min(most, count))))


def _work(pool: Pool, store: SweepStore, pending: list[np.ndarray], tried: list[Outcomes], bar: SweepBar) -> None:
    """All pending jobs but those that were tried, and these with the others of their block."""
    known = {int(outcomes.numbers[0]): outcomes for outcomes in tried}
    suspects: list[np.ndarray] = []

    def keep(outcomes: Outcomes | None, block: int) -> None:
        span = range(block * store.block, min((block + 1) * store.block, store.count))
        parts = [known.pop(number) for number in span if number in known]
        stored = store.commit(Outcomes.joined([*parts, *([outcomes] if outcomes else [])]))
        bar.count(len(stored.numbers), int((stored.status == FAILED).sum()))

    def pieces() -> Iterator[np.ndarray]:
        for numbers in pending:
            new = numbers[[int(number) not in known for number in numbers]] if known else numbers
            if len(new):
                yield new
            else:
                keep(None, int(numbers[0]) // store.block)

    for numbers, outcomes in pool.run(pieces(), lambda: store.layout):
        if outcomes is None:
            suspects.append(numbers)
        else:
            keep(outcomes, int(numbers[0]) // store.block)
    for numbers in suspects:
        keep(_isolated(pool, numbers, lambda: store.layout), int(numbers[0]) // store.block)


def _isolated(pool: Pool, numbers: np.ndarray, layout: Callable[[], Layout | None]) -> Outcomes:
    """Jobs of which some may kill their workers, piece by piece with nothing beside them."""
    parts = []
    for piece in np.array_split(numbers, min(PIECES, len(numbers))):
        for _, outcomes in pool.run([piece], layout, together=True):
            if outcomes is None and len(piece) > 1:
                outcomes = _isolated(pool, piece, layout)
            parts.append(outcomes or Outcomes.failed(piece, layout(), KILLED))
    return Outcomes.joined(parts)
