"""The store of a sweep: a Zarr group that is whole after any kill of any process at any moment.

    <name>                          results, (jobs, ...), NaN or 0 where there are none
    table/<column>                  the parameters
    jobs/status                     0 pending, 1 done, 2 failed
    jobs/error, jobs/traceback      of failed jobs

All arrays are cut into the same blocks of jobs along their first axis, and a block is a file in each of them. The one
process that writes puts the files of a block in place one by one, each under another name first; the file of
`jobs/status` comes last, and by it the block is stored. Whatever a killed writer left before that is written over by
the next one. The store itself is made under another name too, and comes to its place complete.

One process writes a store. It holds a lock that the system releases when the process dies, however that happens. The
file beside the store names the holder; its existence means nothing. It is removed when the lock is released, so a
process that gets the lock of a file that has been removed meanwhile tries again.
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

ABOUT = "appell"  # the attribute of the group that says what it is
READABLE = (1, FORMAT)


@contextmanager
def locked(store: Path) -> Iterator[None]:
    """Hold the lock of a store; raise if somebody else does."""
    path = store.with_name(f".{store.name}.lock")
    while True:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise SweepError(
                f"the store '{store}' cannot be made: {error.strerror or error}.",
                expected="a folder that can be written to",
            ) from None
        if not _lock(handle):
            holder = os.read(handle, 200).decode(errors="replace").strip() or "another process"
            os.close(handle)
            raise SweepError(
                f"the store '{store}' is being written by {holder}.",
                expected="one sweep a store at a time",
                hint="wait for it, or end it; or another out=...",
            )
        try:
            same = os.path.samestat(os.fstat(handle), os.stat(path))
        except OSError:
            same = False
        if same:
            break
        os.close(handle)
    try:
        with suppress(OSError):  # a full disk: the lock holds all the same
            os.truncate(handle, 0)
            os.write(handle, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        yield
    finally:
        if os.name != "nt":  # there, open files cannot be removed
            path.unlink(missing_ok=True)
        os.close(handle)


def _lock(handle: int) -> bool:
    """Whether the lock was free, and is ours now; it goes when the file is closed."""
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(handle, 1000, os.SEEK_SET)  # beyond the text, which others are to read
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
            os.lseek(handle, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class SweepStore:
    """A store that is there."""

    def __init__(self, path: Path, group: Any, about: dict[str, Any]):
        self.path, self.group, self.about = path, group, about
        self._arrays: dict[str, Any] = {}

    @staticmethod
    def find(path: Path, mode: str = "r") -> SweepStore | None:
        """The store at a place, None if nothing is there; raise if something else is."""
        zarr = needed_package("zarr", "a store of results", "appell[clusters]")
        if not path.exists() or (path.is_dir() and not any(path.iterdir())):
            return None
        try:
            group = zarr.open_group(path, mode=mode, zarr_format=3, use_consolidated=False)
            about = group.attrs.asdict().get(ABOUT)
        except (OSError, ValueError, KeyError, TypeError):  # what zarr raises for what it cannot read
            about = None
        if not isinstance(about, dict) or "format" not in about:
            raise ArgumentError(f"'{path}' exists and is not a store of a sweep.", expected="another out=...")
        if about["format"] not in READABLE:
            raise ArgumentError(
                f"the store '{path}' has format {about['format']}.",
                expected=f"format {' or '.join(map(str, READABLE))}",
                hint="use the version of appell that wrote it, or another out=...",
            )
        return SweepStore(path, group, about)

    @staticmethod
    def make(path: Path, identity: Identity, jobs: Jobs, seeded: bool, block: int) -> SweepStore:
        """A new store of so many jobs a block, in place when it is complete."""
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
                path.rmdir()  # an empty folder may be there
            os.rename(part, path)
        found = SweepStore.find(path, "r+")
        assert found is not None
        return found

    @property
    def identity(self) -> Identity:
        return Identity(*(self.about[name] for name in ("study", "parts", "table", "version", "format")))

    @property
    def count(self) -> int:
        return self.about["count"]

    @property
    def block(self) -> int:
        return self.about["block"]

    @property
    def layout(self) -> Layout | None:
        """Of the results, once there is one."""
        told = self.about["layout"]
        return told and Layout({name: (kind, tuple(shape)) for name, (kind, shape) in told.items()})

    def status(self) -> np.ndarray:
        return self.group["jobs/status"][:]

    def pending(self, retry_failed: bool) -> list[np.ndarray]:
        """The numbers of jobs that are to be done, block by block."""
        status, starts = self.status(), range(0, self.count, self.block)
        wanted = (status == PENDING) | (status == FAILED) if retry_failed else status == PENDING
        found = [start + np.flatnonzero(wanted[start : start + self.block]) for start in starts]
        return [numbers for numbers in found if len(numbers)]

    def tidy(self) -> None:
        """Remove what killed writers had not put in place yet."""
        for part in self.path.rglob("*.partial"):
            part.unlink(missing_ok=True)

    def accept(self, identity: Identity) -> None:
        """Take another version of the study for the same; the old one is remembered."""
        self._tell(vars(identity) | {"before": [*self.about.get("before", []), vars(self.identity)]})

    def commit(self, outcomes: Outcomes) -> Outcomes:
        """Store what became of the jobs of a block, or of some of them if it was stored before; as it was stored."""
        start = int(outcomes.numbers[0]) // self.block * self.block
        span = slice(start, min(start + self.block, self.count))
        with _writing(self.path, self._stored):
            if self.layout is None and outcomes.layout is not None:
                self._lay_out(outcomes.layout)
            outcomes = outcomes.laid_out(self.layout)
            place = outcomes.numbers - start
            whole = len(place) == span.stop - span.start
            for name, values in outcomes.values.items():
                self._put(name, span, values, place, whole)
            failed = [np.full(len(place), "", object) for _ in range(2)]
            for k, told in outcomes.failures.items():
                failed[0][k], failed[1][k] = told
            stale = (
                outcomes.status == DONE
            )  # errors of jobs that have failed before stay until their status has changed
            for step in (~stale, np.ones_like(stale)) if not whole else (np.ones_like(stale),):
                for name, texts in zip(("error", "traceback"), failed, strict=True):
                    self._put(f"jobs/{name}", span, texts[step], place[step], whole)
                self._put("jobs/status", span, outcomes.status, place, whole)
        return outcomes

    def close(self) -> None:
        """Gather the descriptions of all arrays in one file, so that others open the store at once."""
        zarr = needed_package("zarr", "a store of results", "appell[clusters]")
        if b"consolidated_metadata" in (self.path / "zarr.json").read_bytes():
            return
        with _writing(self.path, self._stored), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that this is not in the specification of Zarr yet
            zarr.consolidate_metadata(self.path)

    def _stored(self) -> str:
        return f"{(self.status() != PENDING).sum()} of {self.count}"

    def _put(self, name: str, span: slice, values: np.ndarray, place: np.ndarray, whole: bool) -> None:
        if name not in self._arrays:
            self._arrays[name] = self.group[name]
        array = self._arrays[name]
        if whole:
            array[span] = values
        elif len(place):
            now = array[span]
            now[place] = values
            array[span] = now

    def _lay_out(self, layout: Layout) -> None:
        for name, (kind, shape) in layout.fields.items():
            _array(self.group, name, (self.count, *shape), np.dtype(kind), blank(kind), self.block)
        self._tell({"layout": {name: [kind, list(shape)] for name, (kind, shape) in layout.fields.items()}})

    def _tell(self, more: dict[str, Any]) -> None:
        self.about = self.about | more
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
    """A disk that is full or refuses is an error that says what there is."""
    try:
        yield
    except OSError as error:
        raise SweepError(
            f"the store '{path}' cannot be written: {error.strerror or error}. {stored()} jobs are stored.",
            hint="make room, then the same command goes on where it stopped",
        ) from error
