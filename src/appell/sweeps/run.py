"""`sweep`: run a few trial jobs, create the store, then compute and store block after block.

A block of jobs is computed by one task and written at once. Its size follows from the run time of the trial jobs: a
block should take `task_seconds`, so that the cost of distributing it is negligible; it should be at least 1/4096 of a
large sweep unless it would then take more than a minute; and its results must be small compared with the memory. A
block that kills its workers is postponed. At the end it is run again in smaller and smaller pieces, one at a time, to
identify the jobs that kill workers: these have failed.
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
TASK_S = 0.5  # default duration of a block
MAX_TASK_S = 60.0  # longest duration of blocks that are enlarged to reduce their number
MAX_BLOCKS = 4096  # larger sweeps get larger blocks, up to MAX_TASK_S
MAX_BLOCK_BYTES = 16_000_000  # of results
MAX_BLOCKS_PER_SECOND = 32  # rate at which one process can write blocks without becoming the bottleneck
TRIAL_JOBS = 8  # trial jobs if they are short
MIN_TRIAL_JOBS, TRIAL_TIME_S = 3, 5.0  # after this time, this number of trial jobs is enough
MAX_TRIAL_TIME_S = 60.0  # time after which a single trial job with a result is enough
MAX_FAILED_TRIALS = 32  # after this number of failed trial jobs, the sweep continues without a known layout of results
DEFAULT_BLOCK_JOBS = 16  # largest block if no layout of results is known
MIN_BLOCKS_PER_WORKER = 4
KILLED = "WorkerKilled: every worker that ran this job died, because it crashed or ran out of memory."
ISOLATION_PIECES = 16  # number of pieces into which a block that kills its workers is divided


class SweepBar(Bar):
    """Progress bar of a sweep: jobs done and failed, their rate, and the time left; shown on terminals only."""

    def __init__(self, total: int, stored: int, enabled: bool | None = None, console: Console | None = None):
        super().__init__("sweep", total, "jobs", done=stored, enabled=enabled, console=console)
        self.failed = 0

    def count(self, done: int, failed: int) -> None:
        """Count more jobs as done, and some of these as failed."""
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
    task_seconds: float = TASK_S,
) -> SweepResults:
    """Call a study with every row of a table and store the results in a Zarr store.

    Jobs run in this process, in several processes on this machine, or on a Dask cluster, with the same results. Stored
    results survive a crash of any process; the same call continues an interrupted sweep. A job that raises an exception
    has failed: its error is stored, and the other jobs continue.

    Parameters
    ----------
    study : callable
        Function of the table's columns, passed by name. It returns a dict of numbers and arrays, with the same names
        and shapes in every job, or a `Record`, of which a summary is stored. If it has a parameter `seed` that is not
        a column, it receives an integer that depends on `seed` and the number of the job only.
    table : int, mapping of columns, DataFrame or grid
        Number of jobs; or columns with one row per job, each (jobs,) or (jobs, ...); or `ap.grid(...)`.
    out : str or Path
        Store to create or to continue. A store of another study or table is rejected.
    cluster : str, Dask cluster or client, optional
        Address of a Dask scheduler, such as "tcp://10.0.0.1:8786", or a cluster or client.
    workers : int
        Number of processes on this machine if there is no cluster; 0 or 1: this process. A program that starts workers
        calls `sweep` under `if __name__ == "__main__":`.
    seed : int
        Seed of the sweep. Each job derives its own seed from it.
    retry_failed : run failed jobs again
    accept_study : continue a store although the study has changed, for example after fixing the cause of failures
    progress : bool, optional
        Whether to show a progress bar; None: if stderr is a terminal.
    timeout : time in s to wait for the scheduler and its workers
    task_seconds : duration in s of the work that a worker receives at a time

    Returns
    -------
    SweepResults
        Results by name, the table, and the failures.

    Raises
    ------
    ArgumentError
        If an argument is not valid or the store belongs to another sweep.
    SweepError
        If the store cannot be written, or the cluster is lost. Stored results are kept.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import appell as ap
    >>> def study(mass, length):
    ...     return {"torque": 9.81 * mass * length}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     results = ap.sweep(study, ap.grid(mass=[1.0, 2.0], length=[0.5, 1.0]), Path(folder) / "study.zarr")
    ...     print(results)
    ...     print(results["torque"])
    <SweepResults of 'study': 4 jobs, 4 done; torque>
    [ 4.905  9.81   9.81  19.62 ]
    """
    path = Path(out)
    jobs = Jobs.of(table, seed)
    seeded = is_seeded(study, jobs)
    _check(path, workers, timeout, task_seconds)
    identity = Identity.of(study, jobs, accept_study)
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
        error.add_note(f"Finished jobs are stored in '{path}'; the same command continues from there.")
        raise
    return SweepResults(path)


def _check(path: Path, workers: int, timeout: float, task_seconds: float) -> None:
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 0:
        raise ArgumentError(f"workers is {workers!r}.", expected="a number of processes; 0 or 1: this process only")
    check_number("timeout, in s,", timeout, least=0.0, above=True)
    check_number("task_seconds", task_seconds, least=0.0, above=True)
    if not path.absolute().parent.is_dir():
        raise ArgumentError(
            f"the store '{path}' cannot be created: the folder '{path.parent}' does not exist.",
            hint="Create the folder first.",
        )


def _pool(
    study: Callable[..., Any], jobs: Jobs, seeded: bool, cluster: Any, workers: int, timeout: float
) -> InProcess | OnCluster:
    if cluster is None and workers <= 1:
        return InProcess(study, jobs, seeded)
    return OnCluster(study, jobs, seeded, cluster, workers, timeout)


def _try(pool: Pool, count: int) -> list[Outcomes]:
    """Run trial jobs one by one, until their duration and the layout of their results are known."""
    tried: list[Outcomes] = []
    start = time.monotonic()
    for number in range(min(count, MAX_FAILED_TRIALS)):
        tried.append(_isolated(pool, np.array([number]), lambda: next((x.layout for x in tried if x.layout), None)))
        elapsed = time.monotonic() - start
        enough = len(tried) >= (MIN_TRIAL_JOBS if elapsed > TRIAL_TIME_S else TRIAL_JOBS) or elapsed > MAX_TRIAL_TIME_S
        if enough and any(outcomes.layout for outcomes in tried):
            break
    return tried


def block_size(tried: list[Outcomes], count: int, workers: int, task_seconds: float) -> int:
    """Return the number of jobs per block.

    Parameters
    ----------
    tried : outcomes of the trial jobs
    count : number of jobs of the sweep
    workers : number of processes or threads that compute jobs
    task_seconds : intended duration of a block, s
    """
    successful = [outcomes for outcomes in tried if outcomes.layout]
    seconds = max(min(outcomes.seconds for outcomes in successful or tried), 1e-6)
    size = max(task_seconds, workers / MAX_BLOCKS_PER_SECOND) / seconds
    size = max(size, min(count / MAX_BLOCKS, MAX_TASK_S / seconds))
    if workers > 1:
        size = min(size, count / (MIN_BLOCKS_PER_WORKER * workers))
    layout = successful[0].layout if successful else None
    limit = MAX_BLOCK_BYTES / max(1, layout.size) if layout else DEFAULT_BLOCK_JOBS
    return int(np.clip(size, 1, max(1, min(limit, count))))


def _work(pool: Pool, store: SweepStore, pending: list[np.ndarray], tried: list[Outcomes], bar: SweepBar) -> None:
    """Compute and store all pending jobs; trial jobs are stored together with the other jobs of their block."""
    trials = {int(outcomes.numbers[0]): outcomes for outcomes in tried}
    killers: list[np.ndarray] = []

    def commit(outcomes: Outcomes | None, block: int) -> None:
        span = range(block * store.block, min((block + 1) * store.block, store.count))
        parts = [trials.pop(number) for number in span if number in trials]
        stored = store.commit(Outcomes.joined([*parts, *([outcomes] if outcomes else [])]))
        bar.count(len(stored.numbers), int((stored.status == FAILED).sum()))

    def pieces() -> Iterator[np.ndarray]:
        for numbers in pending:
            new = numbers[[int(number) not in trials for number in numbers]] if trials else numbers
            if len(new):
                yield new
            else:
                commit(None, int(numbers[0]) // store.block)

    for numbers, outcomes in pool.run(pieces(), lambda: store.layout):
        if outcomes is None:
            killers.append(numbers)
        else:
            commit(outcomes, int(numbers[0]) // store.block)
    for numbers in killers:
        commit(_isolated(pool, numbers, lambda: store.layout), int(numbers[0]) // store.block)


def _isolated(pool: Pool, numbers: np.ndarray, layout: Callable[[], Layout | None]) -> Outcomes:
    """Compute jobs that may kill their workers, in pieces that run one at a time, down to single jobs."""
    parts = []
    for piece in np.array_split(numbers, min(ISOLATION_PIECES, len(numbers))):
        for _, outcomes in pool.run([piece], layout, together=True):
            if outcomes is None and len(piece) > 1:
                outcomes = _isolated(pool, piece, layout)
            parts.append(outcomes or Outcomes.failed(piece, layout(), KILLED))
    return Outcomes.joined(parts)
