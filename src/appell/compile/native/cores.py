"""One batch on several cores: its samples are independent, and machine code holds no lock of Python.

The batch is cut into blocks of samples, a few for each thread. The caller takes blocks one after the other, and so do
helpers that wait for such work; who is done early takes more. A sample has the same bits in any block, so the result is
that of one thread. What takes less than `WORTHWHILE` is not cut.

Calls that several threads make at once share the helpers: a helper takes no further block while more than n threads
work on batches that were to have n. So under the threads of Dask or joblib, which call for themselves, helpers stay
away. A caller never waits for a helper to come, only for blocks that are being worked on: nothing waits for itself.

A block notes the errors of arithmetic it meets; afterwards the caller answers for them once, as `numpy.errstate` has
it. What cannot be cut without a doubt (arrays that overlap, arrays of other libraries, options such as `axes`) is left
whole, and so is a call that NumPy would refuse: NumPy refuses it then.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any

import numpy as np

from appell.compile.native.blocks import Batch, Block, batch_of, results_of
from appell.compile.native.making import held
from appell.compile.native.setting import threads as setting
from appell.compile.native.setting import threads_of
from appell.compile.native.trouble import answer_for

WORTHWHILE = 400_000.0  # ns that one thread takes: to hand out work costs 20 000, and a helper may come 50 000 late
A_BLOCK = 25_000.0  # ns that a block takes at least
_BLOCKS = 4  # a thread
A_NUMBER = 0.3  # ns to move one in or out


def spread(
    ufunc: np.ufunc,
    arguments: Sequence[Any],
    options: dict[str, Any],
    threads: int | str | None = None,
    cost: float | None = None,
    grain: int = 1,
) -> Any:
    """`ufunc(*arguments, **options)` on several threads, if the batch is worth it; a sample takes about `cost` ns.

    Without a cost it is that of moving the numbers of a sample. `grain` samples take no longer than one.
    """
    count = setting() if threads is None else threads_of(threads, "threads")
    batch = batch_of(ufunc, arguments, options) if count > 1 else None
    if batch is not None and not held():
        work = batch.samples * (A_NUMBER * batch.numbers if cost is None else cost)
        most = -(-batch.samples // grain)
        pieces = int(min(_BLOCKS * count, work // A_BLOCK, most)) if work >= WORTHWHILE else 1
        results = results_of(ufunc, arguments, options, batch) if pieces > 1 else None
        if results is not None:
            _run(ufunc, arguments, options, results, batch, min(count, pieces), batch.blocks(pieces, grain))
            return results if len(results) > 1 else results[0]
    return ufunc(*arguments, **options)


def is_small(arguments: Sequence[Any], cost: float) -> bool:
    """Whether a glance tells that a batch is not worthwhile.

    Where no axis has length one, all arguments have the axes of the longest, and there are no more samples than it has
    numbers.
    """
    most = WORTHWHILE / cost
    for each in arguments:  # noqa: SIM110 - quicker than all()
        if type(each) is not np.ndarray or each.size >= most or 1 in each.shape:
            return False
    return True


class _Work:
    """The blocks of a batch that is being worked on, by its caller from the start."""

    def __init__(self, run: Callable[[Block], None], blocks: Iterator[Block]):
        self._run, self._waiting = run, deque(blocks)
        self._lock, self._busy, self._running = threading.Lock(), 1, threading.Lock()
        self._running.acquire()
        self._problem: BaseException | None = None
        self.flags = 0

    def help(self, welcome: Callable[[], bool]) -> None:
        """Take blocks as long as there are some and a helper is welcome."""
        with self._lock:
            if not self._waiting:
                return
            self._busy += 1
        self._take(welcome)

    def finish(self) -> None:
        """Take blocks until there are none, and wait for those that others have taken."""
        self._take(lambda: True)
        self._running.acquire()
        if self._problem is not None:
            raise self._problem

    def _take(self, welcome: Callable[[], bool]) -> None:
        try:
            with np.errstate(all="call", call=self._note):
                while welcome() and (block := self._next()) is not None:
                    self._run(block)
        except BaseException as problem:
            self._problem = self._problem or problem
            self._waiting.clear()
        finally:
            with self._lock:
                self._busy -= 1
                if not self._busy:
                    self._running.release()

    def _next(self) -> Block | None:
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def _note(self, kind: str, flags: int) -> None:
        with self._lock:
            self.flags |= flags


class _Helpers:
    """Threads that wait for work, started when they are first needed; a fork begins anew without any."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[_Work, int]] = SimpleQueue()
        self._lock = threading.Lock()
        self._started = self._at_work = 0

    def finish(self, work: _Work, threads: int) -> None:
        """Do the work of a caller on so many threads, which is one of them."""
        with self._lock:
            self._at_work += 1
            while self._started < threads - 1:
                threading.Thread(target=self._serve, name="appell helper", daemon=True).start()
                self._started += 1
        try:
            for _ in range(threads - 1):
                self._calls.put((work, threads))
            work.finish()
        finally:
            with self._lock:
                self._at_work -= 1

    def _serve(self) -> None:
        while True:
            work, threads = self._calls.get()
            with self._lock:
                self._at_work += 1
            work.help(lambda most=threads: self._at_work <= most)  # type: ignore[misc]
            with self._lock:
                self._at_work -= 1
            del work  # its arrays are not kept until the next one comes


_helpers = _Helpers()


def _begin_anew() -> None:
    global _helpers
    _helpers = _Helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def _run(ufunc: np.ufunc, arguments, options, results, batch: Batch, threads: int, blocks: Iterator[Block]) -> None:
    given = [x if type(x) in (int, float) else np.asarray(x) for x in arguments]
    parts = [batch.part(each, core) for each, core in zip((*given, *results), batch.cores, strict=True)]
    ins, outs = parts[: ufunc.nin], parts[ufunc.nin :]
    rest = {name: value for name, value in options.items() if name != "out"}

    def run(block: Block) -> None:
        ufunc(*[part(block) for part in ins], out=tuple([part(block) for part in outs]), **rest)

    work = _Work(run, blocks)
    _helpers.finish(work, threads)
    answer_for(work.flags, ufunc.__name__)
