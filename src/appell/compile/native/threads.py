"""Number of threads that share a batch.

    ap.set_threads(4)            from now on in this process; "all" uses all its cores
    with ap.set_threads(4): ...  until the end of the block
    APPELL_THREADS=4             from the start of the process
    f(q, v, a, threads=4)        for this call

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
_THREADS_VARIABLE = "APPELL_THREADS"
_SHARE_VARIABLE = "OMP_NUM_THREADS"  # set by Dask and joblib to the share of a worker


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
    """Set the number of threads on which large batches run in this process.

    Results do not depend on the number of threads, to the last bit. Small batches run on one thread.

    Parameters
    ----------
    n : int or "all"
        Number of threads; "all" uses all cores that the process may use.

    Returns
    -------
    context manager
        Used in a `with` statement, it restores the previous number at the end of the block.

    Raises
    ------
    ArgumentError
        If `n` is neither a positive integer nor "all".

    Examples
    --------
    >>> import appell as ap
    >>> before = ap.threads()
    >>> with ap.set_threads(2):
    ...     ap.threads()
    2
    >>> ap.threads() == before
    True
    """
    before, THREAD_COUNT.count = THREAD_COUNT.count, checked_threads(n, "the number of threads")
    return ThreadCountContext(before, THREAD_COUNT.count)


def threads() -> int:
    """Return the number of threads that share a large batch."""
    if THREAD_COUNT.count is None:
        THREAD_COUNT.count = _from_environment()
    return THREAD_COUNT.count


def checked_threads(n: int | str, what: str) -> int:
    """Return a number of threads as an integer; raise an error that names it `what` if it is not valid."""
    if n == ALL:
        return cores()
    if isinstance(n, bool) or not hasattr(n, "__index__") or n.__index__() < 1:
        raise ArgumentError(f"{what} is {n!r}.", expected="a positive integer, or 'all'")
    return n.__index__()


def requested_threads() -> int | None:
    """Return the value of `$APPELL_THREADS`; None if it is not set."""
    text = os.environ.get(_THREADS_VARIABLE, "")
    if text == ALL:
        return cores()
    if text and not (text.isdecimal() and int(text)):
        raise ArgumentError(f"{_THREADS_VARIABLE} is '{text}'.", expected="a positive integer, or 'all'")
    return int(text) if text else None


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _from_environment() -> int:
    count = requested_threads() or 1
    if multiprocessing.parent_process() is None:
        return count
    share = os.environ.get(_SHARE_VARIABLE, "")
    return min(count, int(share) if share.isdecimal() and int(share) else 1)


def _reset() -> None:
    THREAD_COUNT.count = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)
