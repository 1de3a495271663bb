"""Pools that compute jobs: this process, or the workers of a Dask cluster.

A pool takes pieces of work, each the numbers of jobs within one block, and yields their outcomes as they complete. On a
cluster, only a limited number of pieces is submitted at a time. Workers receive the study once per process and write
nothing: if a worker dies, its current work is lost and Dask submits it to another worker. A piece that has killed
several workers is returned without outcomes.

The study is sent as bytes, with the user's modules by value. Installed packages are referenced by name, and workers
must have them. A function decorated with `functools.cache` is sent undecorated and decorated again by the worker.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import io
import logging
import queue
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from appell.errors import SweepError, needed_package
from appell.sweeps.identity import user_modules
from appell.sweeps.jobs import Jobs
from appell.sweeps.outcomes import Layout, Outcomes, run_jobs

PIECES_PER_THREAD = 3  # pieces submitted at a time for every thread of the cluster
CHECK_INTERVAL_S = 0.5  # interval at which the scheduler is checked while no results arrive
COUNT_INTERVAL_S = 10.0  # interval at which the workers are counted
LOST_STATES = ("lost", "pending")  # states of a future that had finished and whose result was lost with its worker
NO_WORKERS_TIMEOUT_S = 60.0  # minimum time without any worker before a sweep is given up
LOGS = [f"distributed.{part}" for part in ("client", "nanny", "worker", "scheduler", "core")]  # silenced by a sweep
CONTINUE_HINT = "Restart the scheduler and its workers; the same command then continues where it stopped."
PieceOutcome = tuple[np.ndarray, Outcomes | None]  # numbers of the jobs; None if the piece killed its workers


def packed(study: Callable[..., Any]) -> tuple[bytes, str]:
    """Return a study as bytes, and their hash."""
    cloudpickle = needed_package("cloudpickle", "a sweep on workers", "appell[clusters]")

    class Packer(cloudpickle.Pickler):  # type: ignore[name-defined,misc]
        def reducer_override(self, item: Any) -> Any:
            if isinstance(item, functools._lru_cache_wrapper):
                return cached_again, (item.__wrapped__, item.cache_parameters())
            return super().reducer_override(item)

    modules, content = user_modules(study), io.BytesIO()
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        Packer(content).dump(study)
    except Exception as error:  # pickling calls methods of the user's objects, which can raise anything
        name = getattr(study, "__name__", "study")
        raise SweepError(
            f"the study '{name}' cannot be sent to workers: {type(error).__name__}: {error}.",
            expected="a function that does not refer to open files, locks or other objects that cannot be pickled",
        ) from error
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return content.getvalue(), hashlib.sha256(content.getvalue()).hexdigest()


def cached_again(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    """Return a function decorated with `functools.lru_cache`, in a worker."""
    return functools.lru_cache(**parameters)(function)


@functools.lru_cache(maxsize=4)
def unpacked(key: str, content: bytes) -> Callable[..., Any]:
    """Return the study in a worker: one object for all jobs, so that values cached between jobs persist."""
    return needed_package("cloudpickle", "a worker", "appell[clusters]").loads(content)


class InProcess:
    """A pool that computes jobs in this process."""

    workers = 1

    def __init__(self, study: Callable[..., Any], jobs: Jobs, seeded: bool):
        self.study, self.jobs, self.seed = study, jobs, jobs.seed if seeded else None

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def run(
        self, pieces: Iterable[np.ndarray], layout: Callable[[], Layout | None], together: bool = False
    ) -> Iterator[PieceOutcome]:
        """Yield the outcomes of each piece; see `OnCluster.run`."""
        for numbers in pieces:
            yield numbers, run_jobs(self.study, numbers, self.jobs.rows(numbers), self.seed, layout())


class OnCluster:
    """A pool of Dask workers: `workers` processes on this machine with one thread each, or those of a cluster.

    Parameters
    ----------
    study, jobs : the study and its table
    seeded : whether the study has a parameter `seed`
    cluster : address of a scheduler, a Dask cluster or client; None: start workers on this machine
    workers : number of processes to start without a cluster
    timeout : time in s to wait for the scheduler and its workers
    """

    def __init__(self, study: Callable[..., Any], jobs: Jobs, seeded: bool, cluster: Any, workers: int, timeout: float):
        self.distributed = needed_package("distributed", "a sweep on workers", "appell[clusters]")
        self.jobs, self.seed = jobs, jobs.seed if seeded else None
        self.blob, self.key = packed(study)
        self.cluster, self.requested_workers, self.timeout = cluster, workers, timeout
        self.client: Any = None
        self.started: Any = None  # the cluster that this pool has started, if any
        self.log_levels: dict[str, int] = {}  # to be restored

    def __enter__(self) -> OnCluster:
        for log in LOGS:
            self.log_levels[log] = logging.getLogger(log).level
            logging.getLogger(log).setLevel(logging.CRITICAL)
        try:
            if self.cluster is None:
                self.started = _local_cluster(self.distributed, self.requested_workers)
            self.client = self._connected(self.cluster if self.started is None else self.started.scheduler_address)
            if self.started is not None:
                self.client.register_plugin(_ignore_interrupts(self.distributed))
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if self.client is not None and self.client is not self.cluster:
                self.client.close(timeout=2.0)
            if self.started is not None:
                self.started.close(timeout=10.0)
        finally:
            for log, level in self.log_levels.items():
                logging.getLogger(log).setLevel(level)

    def run(
        self, pieces: Iterable[np.ndarray], layout: Callable[[], Layout | None], together: bool = False
    ) -> Iterator[PieceOutcome]:
        """Yield the outcomes of pieces in the order of completion.

        Parameters
        ----------
        pieces : numbers of the jobs of each piece
        layout : returns the layout of the results, None until it is known
        together : whether to prefer one worker for all pieces, which has everything compiled after the first job
        """
        waiting, ready = iter(pieces), queue.SimpleQueue[Any]()
        submitted: dict[Any, np.ndarray] = {}
        lost: list[Any] = []  # submitted futures whose results were lost with their worker
        limit, counted_at, last_worker_at = 0, -np.inf, time.monotonic()
        while True:
            if time.monotonic() - counted_at > COUNT_INTERVAL_S:
                threads, counted_at = self._threads(), time.monotonic()
                limit, last_worker_at = PIECES_PER_THREAD * max(1, threads), counted_at if threads else last_worker_at
                if counted_at - last_worker_at > max(self.timeout, NO_WORKERS_TIMEOUT_S):
                    problem = f"the Dask scheduler at {self._address!r} has no workers left."
                    raise SweepError(problem, hint=CONTINUE_HINT)
            while len(submitted) < limit and (numbers := next(waiting, None)) is not None:
                future = self._submit(numbers, layout(), together)
                submitted[future.key] = numbers
                future.add_done_callback(ready.put)
            if not submitted:
                return
            try:
                future = ready.get(timeout=CHECK_INTERVAL_S)
            except queue.Empty:
                self._check_scheduler()
                for recovered in [known for known in lost if known.status not in LOST_STATES]:
                    lost.remove(recovered)
                    ready.put(recovered)
                continue
            if future.status in LOST_STATES:  # its worker died with the result; another worker computes it again
                lost.append(future)
                continue
            yield submitted.pop(future.key), self._outcomes(future)
            del future

    @property
    def workers(self) -> int:
        """The number of threads of the cluster, at least 1."""
        return max(1, self._threads())

    @property
    def _address(self) -> str:
        return str(self.client.scheduler.address if self.client.scheduler is not None else self.cluster)

    def _connected(self, cluster: Any) -> Any:
        if isinstance(cluster, self.distributed.Client):
            return cluster
        address = cluster if isinstance(cluster, str) else getattr(cluster, "scheduler_address", cluster)
        client, problem = None, ""
        try:
            client = self.distributed.Client(address, timeout=self.timeout, set_as_default=False)
            client.wait_for_workers(1, timeout=max(self.timeout, 1.0))
        except (OSError, ValueError, TypeError) as error:
            if client is None:
                problem = f"the Dask scheduler at {address!r} does not respond: {error}."
            else:
                problem = f"the Dask scheduler at {address!r} has no workers after {self.timeout:g} s."
                client.close(timeout=2.0)
        if problem:
            # A client whose construction failed is closed by the garbage collector, under a lock that the construction
            # of another client holds. If it were collected during that construction, both would wait forever. So it is
            # collected now.
            gc.collect()
            expected = "the address of a scheduler with workers, such as tcp://10.0.0.1:8786"
            raise SweepError(problem, expected=expected)
        return client

    def _submit(self, numbers: np.ndarray, layout: Layout | None, together: bool) -> Any:
        arguments = (self.blob, self.key, numbers, self.jobs.rows(numbers), self.seed, layout)
        worker = min(self.client.nthreads(), default=None) if together else None
        preference = {"workers": worker, "allow_other_workers": True} if worker else {}
        return self.client.submit(work, *arguments, pure=False, **preference)

    def _outcomes(self, future: Any) -> Outcomes | None:
        """Return the outcomes of a piece; None if it killed its workers."""
        if future.status == "error":
            error = future.exception()
            if isinstance(error, self.distributed.KilledWorker):
                return None
            raise SweepError(
                f"a worker cannot run the study: {type(error).__name__}: {error}.",
                expected="workers with the same versions of Python, appell and the other packages",
            ) from error
        if future.status != "finished":
            self._raise_lost()
        try:
            return future.result(timeout=60.0)
        except (OSError, self.distributed.CancelledError):  # timeouts and broken connections are OSErrors
            self._raise_lost()

    def _threads(self) -> int:
        try:
            return sum(self.client.nthreads().values())
        except (OSError, ValueError):
            self._raise_lost()

    def _check_scheduler(self) -> None:
        if self.client.status != "running":
            self._raise_lost()

    def _raise_lost(self) -> NoReturn:
        raise SweepError(
            f"the connection to the Dask scheduler at {self._address!r} was lost.", hint=CONTINUE_HINT
        ) from None


def _local_cluster(distributed: Any, workers: int) -> Any:
    import multiprocessing

    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SweepError(
            "ap.sweep is called again in each of the worker processes that it starts.",
            expected='the call under `if __name__ == "__main__":` in your program',
        )
    try:
        return distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
            env={"APPELL_THREADS": "1"},
        )
    except (OSError, RuntimeError) as error:
        raise SweepError(
            f"the workers cannot be started: {error}.",
            expected='a program that calls ap.sweep under `if __name__ == "__main__":`, and enough memory and ports',
        ) from error


def _ignore_interrupts(distributed: Any) -> Any:
    """Return a plugin that makes workers ignore Ctrl-C: a terminal sends it to all processes, the client handles it."""

    class IgnoreInterrupts(distributed.WorkerPlugin):
        def setup(self, worker: Any) -> None:
            with suppress(ValueError):  # not in the main thread
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    return IgnoreInterrupts()


def work(
    blob: bytes, key: str, numbers: np.ndarray, rows: dict[str, np.ndarray], seed: int | None, layout: Layout | None
) -> Outcomes:
    """Compute jobs in a worker; the arguments are those of `packed` and `run_jobs`."""
    return run_jobs(unpacked(key, blob), numbers, rows, seed, layout)
