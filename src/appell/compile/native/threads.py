"""Number of threads that share a batch.

    ap.set_threads(4)            from now on, in this process; "all" for its cores
    with ap.set_threads(4): ...  until the end of the block
    APPELL_THREADS=4             from the start of the process
    f(q, v, a, threads=4)        in this call

The default is one thread; processes started by Dask or joblib already use all cores. The setting of a parent process
does not apply to its children: a fork resets `set_threads`, and in a process that `multiprocessing`,
`concurrent.futures`, joblib or Dask started, `APPELL_THREADS` is limited to `OMP_NUM_THREADS`, which joblib and Dask
set to the share of a worker, or to one if that variable is not set. `set_threads` and `threads=` in the worker apply.
"""

from __future__ import annotations

import multiprocessing
import os
from types import TracebackType
from typing import Any

import numpy as np

from appell.errors import ArgumentError

ALL = "all"
_VARIABLE = "APPELL_THREADS"
_SHARE = "OMP_NUM_THREADS"


class _ThreadCount:
    """The number of threads of this process; None until it is first read or set.

    Machine code reads it from `cell`, where None is 0.
    """

    count: int | None = None

    def __init__(self) -> None:
        self.cell = np.zeros(1, np.int64)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "count":
            self.cell[0] = value or 0


THREAD_COUNT = _ThreadCount()


class ThreadCountContext:
    """`with set_threads(n)`: restore the previous number of threads afterwards."""

    def __init__(self, before: int | None, now: int):
        self._before, self._now = before, now

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        THREAD_COUNT.count = self._before

    def __repr__(self) -> str:
        return f"<batches on {self._now} thread{'s' * (self._now > 1)}>"


def set_threads(n: int | str) -> ThreadCountContext:
    """Run every batch of this process that is large enough on `n` threads, or on "all" cores.

    Results are bit for bit those of one thread. In a `with` statement, until the end of the block.
    """
    before, THREAD_COUNT.count = THREAD_COUNT.count, threads_of(n, "the number of threads")
    return ThreadCountContext(before, THREAD_COUNT.count)


def threads() -> int:
    """How many threads share a large batch."""
    if THREAD_COUNT.count is None:
        THREAD_COUNT.count = _from_environment()
    return THREAD_COUNT.count


def threads_of(n: int | str, what: str) -> int:
    """Validate a number of threads; `what` names it in the error."""
    if n == ALL:
        return cores()
    if isinstance(n, bool) or not hasattr(n, "__index__") or n.__index__() < 1:
        raise ArgumentError(f"{what} is {n!r}.", expected="a positive integer, or 'all'")
    return n.__index__()


def requested_threads() -> int | None:
    """The value of `$APPELL_THREADS`; None if it is not set."""
    text = os.environ.get(_VARIABLE, "")
    if text == ALL:
        return cores()
    if text and not (text.isdecimal() and int(text)):
        raise ArgumentError(f"{_VARIABLE} is '{text}'.", expected="a positive integer, or 'all'")
    return int(text) if text else None


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _from_environment() -> int:
    count = requested_threads() or 1
    if multiprocessing.parent_process() is None:
        return count
    share = os.environ.get(_SHARE, "")
    return min(count, int(share) if share.isdecimal() and int(share) else 1)


def _reset() -> None:
    THREAD_COUNT.count = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)
