"""The store of a sweep: a Zarr group that stays consistent if any process is killed at any time.

    <name>                          results, (jobs, ...), NaN or 0 where a job has none
    table/<column>                  the parameters
    jobs/status                     0 pending, 1 done, 2 failed
    jobs/error, jobs/traceback      of failed jobs

All arrays are divided into the same blocks of jobs along their first axis; a block is one file in each array. The
writing process writes each file of a block under a temporary name and then renames it. The file of `jobs/status` is
written last and marks the block as stored; files that a killed writer left behind are overwritten by the next one. The
store itself is also created under a temporary name and renamed when it is complete.

Only one process writes a store. It holds a lock that the operating system releases when the process ends, for whatever
reason. The lock file next to the store names the holder; its existence alone means nothing. It is removed when the lock
is released, so a process that locks a file which has been removed in the meantime tries again.
"""

from __future__ import annotations

import os
import shutil
import socket
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from appell.errors import ArgumentError, SweepError, needed_package
from appell.sweeps.identity import FORMAT, Identity
from appell.sweeps.jobs import Jobs
from appell.sweeps.outcomes import DONE, FAILED, PENDING, Layout, Outcomes, blank

ABOUT = "appell"  # attribute of the group that identifies the sweep
READABLE_FORMATS = (1, FORMAT)


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Hold the lock of a store; raise SweepError if another process holds it."""
    path = store.with_name(f".{store.name}.lock")
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise SweepError(
                f"the store '{store}' cannot be created: {error.strerror or error}.",
                expected="a folder with write permission",
            ) from None
        if not _lock(handle):
            holder = os.read(handle, 200).decode(errors="replace").strip() or "another process"
            os.close(handle)
            raise SweepError(
                f"the store '{store}' is being written by {holder}.",
                expected="one sweep at a time per store",
                hint="Wait until it ends, stop it, or pass another out=...",
            )
        try:
            same = os.path.samestat(os.fstat(handle), os.stat(path))
        except OSError:
            same = False
        if same:
            break
        os.close(handle)
    try:
        with suppress(OSError):  # if the disk is full, the lock is held without a name
            os.truncate(handle, 0)
            os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield
    finally:
        if os.name != "nt":
            path.unlink(missing_ok=True)
        os.close(handle)
        if os.name == "nt":  # where open files are not removed: neither before, nor after another process opened it
            with suppress(OSError):
                path.unlink()


def _lock(handle: int) -> bool:
    """Acquire the lock, which is released when the file is closed; return False if another process holds it."""
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(handle, 1000, os.SEEK_SET)  # behind the text, which other processes read
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            finally:
                os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class SweepStore:
    """An existing store."""

    def __init__(self, path: Path, group: Any, about: dict[str, Any]):
        self.path, self.group, self.about = path, group, about
        self._arrays: dict[str, Any] = {}

    @staticmethod
    def find(path: Path, mode: str = "r") -> SweepStore | None:
        """Return the store at a path, or None if the path does not exist; raise if it is something else."""
        zarr = needed_package("zarr", "a store of results", "appell[clusters]")
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            return None
        try:
            group = zarr.open_group(path, mode=mode, zarr_format=3, use_consolidated=False)
            about = group.attrs.asdict().get(ABOUT)
        except (OSError, ValueError, KeyError, TypeError):  # zarr raises any of these for a folder that it cannot read
            about = None
        if not isinstance(about, dict) or "format" not in about:
            raise ArgumentError(f"'{path}' exists and is not a store of a sweep.", expected="another out=...")
        if about["format"] not in READABLE_FORMATS:
            raise ArgumentError(
                f"the store '{path}' has format {about['format']}.",
                expected=f"format {' or '.join(map(str, READABLE_FORMATS))}",
                hint="Use the version of appell that wrote it, or pass another out=...",
            )
        return SweepStore(path, group, about)

    @staticmethod
    def make(path: Path, identity: Identity, jobs: Jobs, seeded: bool, block: int) -> SweepStore:
        """Create a store; it appears at its path when it is complete.

        Parameters
        ----------
        path : path of the store
        identity : identity of the sweep
        jobs : the table
        seeded : whether the study has a parameter `seed`
        block : number of jobs per block
        """
        zarr = needed_package("zarr", "a store of results", "appell[clusters]")
        part = path.with_name(f".{path.name}.part")
        about = vars(identity) | {
            "count": jobs.count,
            "block": block,
            "seed": jobs.seed,
            "seeded": seeded,
        }
        about |= {"layout": None, "axes": {name: values.tolist() for name, values in jobs.axes.items()}}
        with _writing(path, lambda: f"0 of {jobs.count}"):
            shutil.rmtree(part, ignore_errors=True)
            group = zarr.create_group(part, attributes={ABOUT: about})
            for name, column in jobs.columns.items():
                kind: Any = str if column.dtype.kind == "U" else column.dtype
                array = _array(
                    group,
                    f"table/{name}",
                    column.shape,
                    kind,
                    "" if kind is str else blank(column.dtype.str),
                    jobs.count,
                )
                array[:] = column.astype(object) if kind is str else column
            for name, kind, fill in (("status", "u1", PENDING), ("error", str, ""), ("traceback", str, "")):
                _array(group, f"jobs/{name}", (jobs.count,), kind, fill, block)
            with suppress(OSError):
                path.rmdir()  # an empty folder is replaced
            os.rename(part, path)
        store = SweepStore.find(path, "r+")
        assert store is not None
        return store

    @property
    def identity(self) -> Identity:
        """The identity of the sweep."""
        return Identity(*(self.about[name] for name in ("study", "parts", "table", "version", "format")))

    @property
    def count(self) -> int:
        """The number of jobs."""
        return self.about["count"]

    @property
    def block(self) -> int:
        """The number of jobs per block."""
        return self.about["block"]

    @property
    def layout(self) -> Layout | None:
        """The layout of the results; None before the first result."""
        fields = self.about["layout"]
        return fields and Layout({name: (kind, tuple(shape)) for name, (kind, shape) in fields.items()})

    def status(self) -> np.ndarray:
        """Return the status of all jobs: PENDING, DONE or FAILED."""
        return self.group["jobs/status"][:]

    def pending(self, retry_failed: bool) -> list[np.ndarray]:
        """Return the numbers of the jobs to compute, one array per block."""
        status, starts = self.status(), range(0, self.count, self.block)
        to_do = (status == PENDING) | (status == FAILED) if retry_failed else status == PENDING
        blocks = [start + np.flatnonzero(to_do[start : start + self.block]) for start in starts]
        return [numbers for numbers in blocks if len(numbers)]

    def tidy(self) -> None:
        """Remove temporary files of killed writers."""
        for part in self.path.rglob("*.partial"):
            part.unlink(missing_ok=True)

    def accept(self, identity: Identity) -> None:
        """Accept another version of the study; the previous version stays listed in the store."""
        self._update(vars(identity) | {"before": [*self.about.get("before", []), vars(self.identity)]})

    def commit(self, outcomes: Outcomes) -> Outcomes:
        """Store the outcomes of all jobs of a block, or of some jobs of a stored block; return them as stored."""
        start = int(outcomes.numbers[0]) // self.block * self.block
        span = slice(start, min(start + self.block, self.count))
        with _writing(self.path, self._stored):
            if self.layout is None and outcomes.layout is not None:
                self._lay_out(outcomes.layout)
            outcomes = outcomes.laid_out(self.layout)
            indices = outcomes.numbers - start
            complete = len(indices) == span.stop - span.start
            for name, values in outcomes.values.items():
                self._put(name, span, values, indices, complete)
            failed = [np.full(len(indices), "", object) for _ in range(2)]
            for k, failure in outcomes.failures.items():
                failed[0][k], failed[1][k] = failure
            # Old errors of jobs that are done now are cleared after their status has changed, in a second pass.
            done, everything = outcomes.status == DONE, np.ones(len(indices), bool)
            for selected in (everything,) if complete else (~done, everything):
                for name, texts in zip(("error", "traceback"), failed, strict=True):
                    self._put(f"jobs/{name}", span, texts[selected], indices[selected], complete)
                self._put("jobs/status", span, outcomes.status, indices, complete)
        return outcomes

    def close(self) -> None:
        """Collect the metadata of all arrays in one file, so that the store opens faster."""
        zarr = needed_package("zarr", "a store of results", "appell[clusters]")
        if b"consolidated_metadata" in (self.path / "zarr.json").read_bytes():
            return
        with _writing(self.path, self._stored), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zarr warns that this is not yet in its specification
            zarr.consolidate_metadata(self.path)

    def _stored(self) -> str:
        return f"{(self.status() != PENDING).sum()} of {self.count}"

    def _put(self, name: str, span: slice, values: np.ndarray, indices: np.ndarray, complete: bool) -> None:
        if name not in self._arrays:
            self._arrays[name] = self.group[name]
        array = self._arrays[name]
        if complete:
            array[span] = values
        elif len(indices):
            block = array[span]
            block[indices] = values
            array[span] = block

    def _lay_out(self, layout: Layout) -> None:
        for name, (kind, shape) in layout.fields.items():
            _array(self.group, name, (self.count, *shape), np.dtype(kind), blank(kind), self.block)
        self._update({"layout": {name: [kind, list(shape)] for name, (kind, shape) in layout.fields.items()}})

    def _update(self, changes: dict[str, Any]) -> None:
        self.about = self.about | changes
        self.group.update_attributes({ABOUT: self.about})


def _array(group: Any, name: str, shape: tuple[int, ...], kind: Any, fill: Any, block: int) -> Any:
    short = name.rpartition("/")[2]
    dimensions = ("job", *(f"{short}_{k + 1}" for k in range(len(shape) - 1)))
    return group.create_array(
        name,
        shape=shape,
        chunks=(max(1, min(block, shape[0])), *(max(1, n) for n in shape[1:])),
        dtype=kind,
        fill_value=fill,
        dimension_names=dimensions,
        overwrite=True,
    )


@contextmanager
def _writing(path: Path, stored: Callable[[], str]) -> Iterator[None]:
    """Turn an OSError, such as a full disk, into a SweepError with the number of stored jobs."""
    try:
        yield
    except OSError as error:
        raise SweepError(
            f"the store '{path}' cannot be written: {error.strerror or error}. {stored()} jobs are stored.",
            hint="Free disk space; the same command then continues where it stopped.",
        ) from error
