"""How many threads share a batch: what the user says, and what a worker of somebody else's pool is left with.

    ap.set_threads(4)            from now on, in this process; "all" for its cores
    with ap.set_threads(4): ...  and back
    APPELL_THREADS=4             from the start
    f(q, v, a, threads=4)        in this call

Without a word it is one. Who starts processes has shared out the cores already, so a word said to the parent does not
hold for its children: a fork forgets `set_threads`, and in a process that `multiprocessing`, `concurrent.futures`,
joblib or Dask started, `APPELL_THREADS` counts up to `OMP_NUM_THREADS` only, which joblib and Dask set to a worker's
share, and to one if that is not set. What the worker itself says, by `set_threads` or `threads=`, holds.
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


class _Setting:
    """The number of threads of this process; None until somebody asks or says.

    Machine code reads it in a cell of memory, where nobody's word is a zero.
    """

    count: int | None = None

    def __init__(self) -> None:
        self.cell = np.zeros(1, np.int64)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "count":
            self.cell[0] = value or 0


SETTING = _Setting()


class Until:
    """`with set_threads(n)`: what held before holds again afterwards."""

    def __init__(self, before: int | None, now: int):
        self._before, self._now = before, now

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        SETTING.count = self._before

    def __repr__(self) -> str:
        return f"<batches on {self._now} thread{'s' * (self._now > 1)}>"


def set_threads(n: int | str) -> Until:
    """Let every batch of this process that is large enough run on `n` threads, or on "all" cores.

    Results are bit for bit those of one thread. With `with`, until the end of the block.
    """
    before, SETTING.count = SETTING.count, threads_of(n, "the number of threads")
    return Until(before, SETTING.count)


def threads() -> int:
    """How many threads share a large batch."""
    if SETTING.count is None:
        SETTING.count = _from_environment()
    return SETTING.count


def threads_of(n: int | str, what: str) -> int:
    """A number of threads that somebody gave."""
    if n == ALL:
        return cores()
    if isinstance(n, bool) or not hasattr(n, "__index__") or n.__index__() < 1:
        raise ArgumentError(f"{what} is {n!r}.", expected="a whole number from 1 on, or 'all'")
    return n.__index__()


def told() -> int | None:
    """What `$APPELL_THREADS` says, if anything."""
    text = os.environ.get(_VARIABLE, "")
    if text == ALL:
        return cores()
    if text and not (text.isdecimal() and int(text)):
        raise ArgumentError(f"{_VARIABLE} is '{text}'.", expected="a whole number from 1 on, or 'all'")
    return int(text) if text else None


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _from_environment() -> int:
    count = told() or 1
    if multiprocessing.parent_process() is None:
        return count
    share = os.environ.get(_SHARE, "")
    return min(count, int(share) if share.isdecimal() and int(share) else 1)


def _forget() -> None:
    SETTING.count = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
