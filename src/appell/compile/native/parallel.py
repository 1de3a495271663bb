"""Run one batch on several threads: samples are independent, and machine code does not hold the GIL.

The batch is divided into blocks of samples, a few per thread. The caller and helper threads take blocks one after the
other, so a thread that finishes early takes more. A sample has the same bits in any block, so the result equals that of
one thread. Work below `WORTHWHILE_NS` is not divided.

Calls made by several threads at the same time share the helpers: a helper takes no further block while more than n
threads work on batches that were to use n. So under the threads of Dask or joblib, which make their own calls, helpers
stay idle. A caller never waits for a helper to start, only for blocks in progress, so there is no deadlock.

**Blocks.** Core axes come last in every operand, as in the signature (6),(6),(n,3)->(n); the axes before them broadcast
to the batch. A block is one slice per axis of the batch. An operand uses the same slices for its own axes, counted from
the last, except for axes of length one, which all blocks share.

**Errors.** A block records the floating-point errors it meets; afterwards the caller reports them once, as
`numpy.errstate` requires. Calls that cannot safely be divided (overlapping arrays, arrays of other libraries, options
such as `axes`) are passed on whole, and so are calls that NumPy would reject, so that NumPy rejects them.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise, product
from math import prod
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from appell.compile.native.build_lock import is_locked_by_this_thread
from appell.compile.native.threads import checked_threads
from appell.compile.native.threads import threads as default_threads

# in the order of NumPy's checks: name in `numpy.errstate`, description, bit
_KINDS = (
    ("divide", "divide by zero", 1),
    ("over", "overflow", 2),
    ("under", "underflow", 4),
    ("invalid", "invalid value", 8),
)


def report_errors(flags: int, name: str) -> None:
    """Ignore, warn, raise, call, print or log the floating-point errors of a function as `numpy.errstate` requires."""
    modes: dict[str, Any] = {**np.geterr()}
    for kind, called, bit in _KINDS:
        if flags & bit:
            _report(modes[kind], called, flags, f"{called} encountered in {name}")


def _report(mode: str, called: str, flags: int, text: str) -> None:
    if mode == "warn":
        warnings.warn(text, RuntimeWarning, stacklevel=4)
    elif mode == "raise":
        raise FloatingPointError(text)
    elif mode == "call":
        handler: Any = np.geterrcall()
        handler(called, flags)
    elif mode == "log":
        log: Any = np.geterrcall()
        log.write(f"Warning: {text}\n")
    elif mode == "print":
        print(f"Warning: {text}", file=sys.stderr)


_DIVISIBLE_OPTIONS = frozenset({"out", "dtype", "casting"})  # calls with other options are not divided
_PLAIN_TYPES = frozenset({np.ndarray, list, tuple, bool, int, float, np.float64, np.float32})
_CORE_AXES = re.compile(r"\(([^()]*)\)")
_ALL = slice(None)
Block = tuple[slice, ...]


class Batch(NamedTuple):
    """The shape of a call: its samples, and the core shapes of its operands."""

    shape: tuple[int, ...]
    cores: tuple[tuple[int, ...], ...]  # of arguments, then of results

    @property
    def samples(self) -> int:
        """Number of samples."""
        return prod(self.shape)

    @property
    def numbers(self) -> int:
        """Numbers that one sample reads and writes."""
        return sum(map(prod, self.cores))

    def blocks(self, pieces: int, grain: int = 1) -> Iterator[Block]:
        """Return about `pieces` blocks: the longest axis is divided, and further ones if it is too short.

        A long axis is divided at multiples of `grain`.
        """
        cuts = [1] * len(self.shape)
        while prod(cuts) < pieces:
            longest = max(range(len(cuts)), key=lambda axis: self.shape[axis] / cuts[axis])
            divisions = min(self.shape[longest], cuts[longest] * -(-pieces // prod(cuts)))
            if divisions == cuts[longest]:
                break
            cuts[longest] = divisions
        return product(*(_slices(size, parts, grain) for size, parts in zip(self.shape, cuts, strict=True)))

    def part(self, operand: Any, core: tuple[int, ...]) -> Callable[[Block], Any]:
        """A function that returns the part of an operand that belongs to a block."""
        outer = np.shape(operand)[: np.ndim(operand) - len(core)]
        first = len(self.shape) - len(outer)
        if not outer:
            return lambda block: operand
        if 1 not in outer:
            return lambda block: operand[block[first:]]
        return lambda block: operand[tuple(_ALL if n == 1 else x for x, n in zip(block[first:], outer, strict=True))]


@lru_cache(maxsize=256)
def _cores(signature: str) -> tuple[tuple[Any, ...], ...]:
    """Return the core axes of all operands, by size or name; empty if some may be absent or of length one."""
    if "?" in signature or "|" in signature:
        return ()
    axes = (filter(None, core.replace(" ", "").split(",")) for core in _CORE_AXES.findall(signature))
    return tuple(tuple(int(name) if name.isdecimal() else name for name in core) for core in axes)


def batch_of(ufunc: np.ufunc, arguments: Sequence[Any], options: Mapping[str, Any]) -> Batch | None:
    """Return the batch of a call; None if the call must be passed to NumPy as it is, which may reject it."""
    cores = _cores(ufunc.signature or "()" * ufunc.nargs)
    if not cores or len(arguments) != ufunc.nin:
        return None
    if not _DIVISIBLE_OPTIONS.issuperset(options) or not _PLAIN_TYPES.issuperset(map(type, arguments)):
        return None
    outers: set[tuple[int, ...]] = set()
    sizes: dict[Any, int] = {}
    try:
        for each, core in zip(arguments, cores, strict=False):
            shape = each.shape if type(each) is np.ndarray else np.shape(each)
            start = len(shape) - len(core)
            if start < 0:
                return None
            outers.add(shape[:start])
            if shape[start:] != core:
                sizes = _sized(core, shape[start:], sizes)
        shape = outers.pop() if len(outers) == 1 else np.broadcast_shapes(*outers)
        if sizes:
            cores = tuple(tuple(sizes[axis] if isinstance(axis, str) else axis for axis in core) for core in cores)
        return Batch(shape, cores)
    except (ValueError, KeyError):
        return None


def _sized(core: tuple[Any, ...], sizes: tuple[int, ...], known: Mapping[Any, int]) -> dict[Any, int]:
    """Return the sizes of core axes; raise ValueError if an axis has two different sizes."""
    all_sizes = dict(known)
    for axis, size in zip(core, sizes, strict=True):
        if all_sizes.setdefault(axis, axis if isinstance(axis, int) else size) != size:
            raise ValueError(axis)
    return all_sizes


def results_of(
    ufunc: np.ufunc, arguments: Sequence[Any], options: Mapping[str, Any], batch: Batch
) -> tuple[np.ndarray, ...] | None:
    """Return the arrays for the results, given or new; None if a given one cannot be written block by block.

    Parameters
    ----------
    ufunc, arguments, options : the call
    batch : its batch
    """
    out = options.get("out")
    outs: tuple[Any, ...] = out if isinstance(out, tuple) else (out,) * (ufunc.nout if out is None else 1)
    if len(outs) != ufunc.nout:
        return None
    cores = batch.cores[ufunc.nin :]
    for number, (each, core) in enumerate(zip(outs, cores, strict=True)):
        if each is None:
            continue
        if type(each) is not np.ndarray or each.shape != batch.shape + core or _overlaps_itself(each):
            return None
        for other, its_core in zip(arguments, batch.cores, strict=False):
            if np.may_share_memory(each, other) and not _are_same(each, core, other, its_core):
                return None
        if any(other is not None and np.may_share_memory(each, other) for other in outs[:number]):
            return None
    if all(each is not None for each in outs):
        return outs
    try:
        kinds = _kinds(ufunc, arguments, options)
    except TypeError:
        return None
    new = (np.empty(batch.shape + core, kind) for core, kind in zip(cores, kinds, strict=True))
    return tuple(fresh if each is None else each for each, fresh in zip(outs, new, strict=True))


def _kinds(ufunc: np.ufunc, arguments: Sequence[Any], options: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the element types that NumPy would choose for the results."""
    kinds = [type(x) if type(x) in (int, float) else np.asarray(x).dtype for x in arguments]
    chosen = {"casting": options["casting"]} if "casting" in options else {}
    if options.get("dtype") is not None:
        chosen["signature"] = (None,) * ufunc.nin + (np.dtype(options["dtype"]),) * ufunc.nout
    return ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), **chosen)[ufunc.nin :]


def _overlaps_itself(array: np.ndarray) -> bool:
    """Return whether two elements may share memory."""
    reach = array.itemsize
    for step, size in sorted((abs(step), size) for step, size in zip(array.strides, array.shape, strict=True)):
        if size > 1 and step < reach:
            return True
        reach += step * (size - 1)
    return False


def _are_same(one: np.ndarray, core: tuple[int, ...], other: Any, its_core: tuple[int, ...]) -> bool:
    """Return whether a sample of one array is the same sample of the other, as in `f(x, out=x)`."""
    if type(other) is not np.ndarray or (one.dtype, core) != (other.dtype, its_core):
        return False
    data, other_data = (each.__array_interface__["data"] for each in (one, other))
    return (data, one.shape, one.strides) == (other_data, other.shape, other.strides)


def _slices(size: int, parts: int, grain: int) -> list[slice]:
    """Divide an axis into parts of nearly equal size."""
    unit = grain if parts * grain <= size else 1
    ends = [*(size * k // (parts * unit) * unit for k in range(parts)), size]
    return [slice(start, stop) for start, stop in pairwise(ends)]


WORTHWHILE_NS = 400_000.0  # of work on one thread; distributing costs 20 000, and a helper may start 50 000 late
BLOCK_NS = 25_000.0  # minimum duration of a block
_BLOCKS_PER_THREAD = 4
NUMBER_NS = 0.3  # to read or write one number


def spread(
    ufunc: np.ufunc,
    arguments: Sequence[Any],
    options: dict[str, Any],
    threads: int | str | None = None,
    cost: float | None = None,
    grain: int = 1,
) -> Any:
    """Call `ufunc(*arguments, **options)` on several threads, if the batch is large enough.

    Parameters
    ----------
    ufunc, arguments, options : the call
    threads : number of threads, or "all"; None for the default
    cost : approximate time of one sample in ns; by default the time of transferring its numbers
    grain : number of samples that take no longer than one
    """
    count = default_threads() if threads is None else checked_threads(threads, "threads")
    batch = batch_of(ufunc, arguments, options) if count > 1 else None
    if batch is not None and not is_locked_by_this_thread():
        work = batch.samples * (NUMBER_NS * batch.numbers if cost is None else cost)
        grains = -(-batch.samples // grain)
        pieces = int(min(_BLOCKS_PER_THREAD * count, work // BLOCK_NS, grains)) if work >= WORTHWHILE_NS else 1
        results = results_of(ufunc, arguments, options, batch) if pieces > 1 else None
        if results is not None:
            _run(ufunc, arguments, options, results, batch, min(count, pieces), batch.blocks(pieces, grain))
            return results if len(results) > 1 else results[0]
    return ufunc(*arguments, **options)


def is_small(arguments: Sequence[Any], cost: float) -> bool:
    """Return whether a quick test shows that dividing a batch is not worthwhile.

    If no axis has length one, the batch is that of the argument with the most batch axes, and there are at most as many
    samples as that argument has numbers.
    """
    max_samples = WORTHWHILE_NS / cost
    for each in arguments:  # noqa: SIM110 - faster than all()
        if type(each) is not np.ndarray or each.size >= max_samples or 1 in each.shape:
            return False
    return True


class _Work:
    """The remaining blocks of a batch; the calling thread counts as working on it from the start."""

    def __init__(self, run: Callable[[Block], None], blocks: Iterator[Block]):
        self._run, self._waiting = run, deque(blocks)
        self._lock, self._busy, self._running = threading.Lock(), 1, threading.Lock()
        self._running.acquire()
        self._problem: BaseException | None = None
        self.flags = 0

    def help(self, may_continue: Callable[[], bool]) -> None:
        """Take blocks while there are any and `may_continue()` is true."""
        with self._lock:
            if not self._waiting:
                return
            self._busy += 1
        self._take(may_continue)

    def finish(self) -> None:
        """Take blocks until there are none, and wait for those that other threads have taken."""
        self._take(lambda: True)
        self._running.acquire()
        if self._problem is not None:
            raise self._problem

    def _take(self, may_continue: Callable[[], bool]) -> None:
        try:
            with np.errstate(all="call", call=self._record_flags):
                while may_continue() and (block := self._next()) is not None:
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

    def _record_flags(self, kind: str, flags: int) -> None:
        with self._lock:
            self.flags |= flags


class _Helpers:
    """Threads that wait for work, started when they are first needed; a forked process starts without any."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[_Work, int]] = SimpleQueue()
        self._lock = threading.Lock()
        self._started = self._at_work = 0

    def finish(self, work: _Work, threads: int) -> None:
        """Do the work of a caller on `threads` threads, including the caller's."""
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
            work.help(lambda limit=threads: self._at_work <= limit)  # type: ignore[misc]
            with self._lock:
                self._at_work -= 1
            del work  # do not keep its arrays alive until the next one arrives


_helpers = _Helpers()


def _reset() -> None:
    global _helpers
    _helpers = _Helpers()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reset)


def _run(ufunc: np.ufunc, arguments, options, results, batch: Batch, threads: int, blocks: Iterator[Block]) -> None:
    given = [x if type(x) in (int, float) else np.asarray(x) for x in arguments]
    parts = [batch.part(each, core) for each, core in zip((*given, *results), batch.cores, strict=True)]
    ins, outs = parts[: ufunc.nin], parts[ufunc.nin :]
    rest = {name: value for name, value in options.items() if name != "out"}

    def run(block: Block) -> None:
        ufunc(*[part(block) for part in ins], out=tuple([part(block) for part in outs]), **rest)

    work = _Work(run, blocks)
    _helpers.finish(work, threads)
    report_errors(work.flags, ufunc.__name__)
