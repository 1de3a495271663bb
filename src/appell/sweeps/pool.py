"""Where jobs are computed: this process, or the workers of a Dask cluster.

A pool takes pieces of work, job numbers within one block, and gives back what became of them as they get ready. On a
cluster only a window of pieces is under way at a time, however many jobs there are. Workers get the study by its
content, once a process, and write nothing: a worker that dies loses what it was computing, and Dask gives that to
another. A piece that has killed several workers comes back without outcomes.

The study travels as bytes with the user's own modules, by value. What is installed is named only, and workers must have
it. A function under `functools.cache` is sent as the function and cached again where it arrives.
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
from appell.sweeps.identity import own_modules
from appell.sweeps.jobs import Jobs
from appell.sweeps.outcomes import Layout, Outcomes, run_jobs

AHEAD = 3  # pieces under way for every thread of the cluster
LOOK = 0.5  # s between two looks at the scheduler, if nothing comes
COUNTED = 10.0  # s between two counts of the workers
LOST = ("lost", "pending")  # a future that was ready and is not any more
DESERTED = 60.0  # s at least without any worker before a sweep ends
LOGS = [f"distributed.{part}" for part in ("client", "nanny", "worker", "scheduler", "core")]  # what they say, we say
GO_ON = "start what is gone again, then the same command goes on where it stopped"
Answer = tuple[np.ndarray, Outcomes | None]


def packed(study: Callable[..., Any]) -> tuple[bytes, str]:
    """The bytes, and their hash."""
    cloudpickle = needed_package("cloudpickle", "a sweep on workers", "appell[clusters]")

    class Packer(cloudpickle.Pickler):  # type: ignore[name-defined,misc]
        def reducer_override(self, thing: Any) -> Any:
            if isinstance(thing, functools._lru_cache_wrapper):
                return cached_again, (thing.__wrapped__, thing.cache_parameters())
            return super().reducer_override(thing)

    modules, content = own_modules(study), io.BytesIO()
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    try:
        Packer(content).dump(study)
    except Exception as error:  # whatever the user's objects raise when they are asked for their state
        name = getattr(study, "__name__", "study")
        raise SweepError(
            f"the study '{name}' cannot be sent to workers: {type(error).__name__}: {error}.",
            expected="a function that names nothing open, such as files or locks",
        ) from error
    finally:
        for module in modules:
            cloudpickle.unregister_pickle_by_value(module)
    return content.getvalue(), hashlib.sha256(content.getvalue()).hexdigest()


def cached_again(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    return functools.lru_cache(**parameters)(function)


@functools.lru_cache(maxsize=4)
def unpacked(key: str, content: bytes) -> Callable[..., Any]:
    """The study in a worker, the same object for all of its work: what it keeps between jobs is kept."""
    return needed_package("cloudpickle", "a worker", "appell[clusters]").loads(content)


class InProcess:
    """A pool of nobody else."""

    workers = 1

    def __init__(self, study: Callable[..., Any], jobs: Jobs, seeded: bool):
        self.study, self.jobs, self.seed = study, jobs, jobs.seed if seeded else None

    def __enter__(self) -> InProcess:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def run(
        self, pieces: Iterable[np.ndarray], layout: Callable[[], Layout | None], together: bool = False
    ) -> Iterator[Answer]:
        for numbers in pieces:
            yield numbers, run_jobs(self.study, numbers, self.jobs.rows(numbers), self.seed, layout())


class OnCluster:
    """A pool of Dask workers: so many processes of one thread on this machine, or those of a scheduler's address."""

    def __init__(self, study: Callable[..., Any], jobs: Jobs, seeded: bool, cluster: Any, workers: int, timeout: float):
        self.distributed = needed_package("distributed", "a sweep on workers", "appell[clusters]")
        self.jobs, self.seed = jobs, jobs.seed if seeded else None
        self.blob, self.key = packed(study)
        self.cluster, self.asked, self.timeout = cluster, workers, timeout
        self.client: Any = None
        self.started: Any = None  # the cluster, if it is ours
        self.levels: dict[str, int] = {}  # of the logs

    def __enter__(self) -> OnCluster:
        for log in LOGS:
            self.levels[log] = logging.getLogger(log).level
            logging.getLogger(log).setLevel(logging.CRITICAL)
        try:
            if self.cluster is None:
                self.started = _local_cluster(self.distributed, self.asked)
            self.client = self._connected(self.cluster if self.started is None else self.started.scheduler_address)
            if self.started is not None:
                self.client.register_plugin(_deaf(self.distributed))
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
            for log, level in self.levels.items():
                logging.getLogger(log).setLevel(level)

    def run(
        self, pieces: Iterable[np.ndarray], layout: Callable[[], Layout | None], together: bool = False
    ) -> Iterator[Answer]:
        """The answers as they come; `together` asks for all by the same worker, which is warm after the first."""
        waiting, ready = iter(pieces), queue.SimpleQueue[Any]()
        under_way: dict[Any, np.ndarray] = {}
        gone: list[Any] = []  # of these, futures whose results were lost
        room, counted, seen = 0, -np.inf, time.monotonic()
        while True:
            if time.monotonic() - counted > COUNTED:
                threads, counted = self._threads(), time.monotonic()
                room, seen = AHEAD * max(1, threads), counted if threads else seen
                if counted - seen > max(self.timeout, DESERTED):
                    raise SweepError(f"the Dask scheduler at {self._address!r} has no workers any more.", hint=GO_ON)
            while len(under_way) < room and (numbers := next(waiting, None)) is not None:
                future = self._submit(numbers, layout(), together)
                under_way[future.key] = numbers
                future.add_done_callback(ready.put)
            if not under_way:
                return
            try:
                future = ready.get(timeout=LOOK)
            except queue.Empty:
                self._look()
                for known in [known for known in gone if known.status not in LOST]:
                    gone.remove(known)
                    ready.put(known)
                continue
            if future.status in LOST:  # its worker died with the result, and another one computes it again
                gone.append(future)
                continue
            yield under_way.pop(future.key), self._outcomes(future)
            del future

    @property
    def workers(self) -> int:
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
                problem = f"no Dask scheduler answers at {address!r}: {error}."
            else:
                problem = f"the Dask scheduler at {address!r} has no workers after {self.timeout:g} s."
                client.close(timeout=2.0)
        if problem:
            # A client that could not be made is closed when it is collected, under a lock that the making of another
            # one holds: if that is when it is collected, both wait for ever. So it is collected now.
            gc.collect()
            expected = "the address of a scheduler with workers, such as tcp://10.0.0.1:8786"
            raise SweepError(problem, expected=expected)
        return client

    def _submit(self, numbers: np.ndarray, layout: Layout | None, together: bool) -> Any:
        given = (self.blob, self.key, numbers, self.jobs.rows(numbers), self.seed, layout)
        here = min(self.client.nthreads(), default=None) if together else None
        there = {"workers": here, "allow_other_workers": True} if here else {}
        return self.client.submit(work, *given, pure=False, **there)

    def _outcomes(self, future: Any) -> Outcomes | None:
        """What a piece came to; None if it killed its workers."""
        if future.status == "error":
            error = future.exception()
            if isinstance(error, self.distributed.KilledWorker):
                return None
            raise SweepError(
                f"a worker cannot run the study: {type(error).__name__}: {error}.",
                expected="workers with the same Python and packages, appell among them",
            ) from error
        if future.status != "finished":
            self._lost()
        try:
            return future.result(timeout=60.0)
        except (OSError, self.distributed.CancelledError):  # timeouts and broken connections are OSErrors
            self._lost()

    def _threads(self) -> int:
        try:
            return sum(self.client.nthreads().values())
        except (OSError, ValueError):
            self._lost()

    def _look(self) -> None:
        if self.client.status != "running":
            self._lost()

    def _lost(self) -> NoReturn:
        raise SweepError(f"the Dask scheduler at {self._address!r} does not answer any more.", hint=GO_ON) from None


def _local_cluster(distributed: Any, workers: int) -> Any:
    import multiprocessing

    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise SweepError(
            "a sweep begins again in each of the workers that it starts.",
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
            expected='a program that calls ap.sweep under `if __name__ == "__main__":`, and room for its workers',
        ) from error


def _deaf(distributed: Any) -> Any:
    """What makes our workers leave Ctrl-C, which goes to all processes of a terminal, to the client."""

    class Deaf(distributed.WorkerPlugin):
        def setup(self, worker: Any) -> None:
            with suppress(ValueError):  # not in the main thread
                signal.signal(signal.SIGINT, signal.SIG_IGN)

    return Deaf()


def work(
    blob: bytes, key: str, numbers: np.ndarray, rows: dict[str, np.ndarray], seed: int | None, layout: Layout | None
) -> Outcomes:
    """What a worker does."""
    return run_jobs(unpacked(key, blob), numbers, rows, seed, layout)
