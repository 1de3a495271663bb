"""What a sweep has stored, for reading: results by name, the table, the failures; also while it is being written.

results = ap.sweeps.open("drops.zarr")
results["impacts"]                      (jobs,), NaN or 0 where a job failed or is not done yet
results.table["seed"], results.done     columns; which jobs are done
results.failures[0].traceback
results.to_xarray()                     on the axes of a grid, if it was one
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError, needed_package, unknown_name
from appell.sweeps.outcomes import DONE, FAILED, PENDING
from appell.sweeps.store import SweepStore

if TYPE_CHECKING:
    import pandas
    import xarray


@dataclass(frozen=True, eq=False)
class Failure:
    """A job that failed: its number, its parameters, its error and where that was raised."""

    number: int
    parameters: dict[str, Any]
    error: str
    traceback: str


class SweepResults:
    """The store at a path, as it is now."""

    def __init__(self, path: str | Path):
        store = SweepStore.find(Path(path))
        if store is None:
            raise ArgumentError(f"there is no store '{path}'.", expected="what ap.sweep was given as out=...")
        self.path, self._store = Path(path), store
        self.status = store.status()

    def __repr__(self) -> str:
        return f"<SweepResults of '{self.study}': {self.told}; {', '.join(self.names) or 'no results'}>"

    @property
    def told(self) -> str:
        """How far it is, in a line."""
        counts = [(self.status == kind).sum() for kind in (DONE, FAILED, PENDING)]
        words = zip(counts, ("done", "failed", "pending"), strict=True)
        return f"{len(self):,} jobs, " + ", ".join(f"{count:,} {word}" for count, word in words if count)

    @property
    def study(self) -> str:
        return self._store.about["study"]

    @property
    def versions(self) -> list[dict[str, Any]]:
        """What has written it: names and hashes of the study, oldest first; several if another one was accepted."""
        return [*self._store.about.get("before", []), vars(self._store.identity)]

    @property
    def block(self) -> int:
        """How many jobs are stored at once."""
        return self._store.block

    @property
    def names(self) -> tuple[str, ...]:
        """Of the results."""
        return tuple(self._store.layout.fields) if self._store.layout else ()

    def __len__(self) -> int:
        return self._store.count

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> np.ndarray:
        """The results of all jobs under a name."""
        if name not in self.names:
            raise ArgumentError(unknown_name("result", name, self.names, f"the sweep '{self.study}'"))
        return self._store.group[name][:]

    @property
    def done(self) -> np.ndarray:
        """Which jobs have results."""
        return self.status == DONE

    @property
    def finished(self) -> bool:
        """Whether no job is left to do; some may have failed."""
        return not (self.status == PENDING).any()

    @cached_property
    def table(self) -> dict[str, np.ndarray]:
        """The parameters of all jobs."""
        columns = dict(sorted(self._store.group["table"].arrays())) if "table" in self._store.group else {}
        arrays = {name: column[:] for name, column in columns.items()}
        return {name: np.array(list(x), str) if x.dtype.kind in "TO" else x for name, x in arrays.items()}

    @cached_property
    def failures(self) -> list[Failure]:
        """All jobs that failed, with what is needed to call the study again by hand."""
        from appell.sweeps.jobs import Jobs

        jobs, group = Jobs(len(self), self.table, self._store.about["seed"]), self._store.group
        error, trace = group["jobs/error"][:], group["jobs/traceback"][:]
        seeded = self._store.about["seeded"]
        return [
            Failure(int(k), jobs.parameters(int(k), seeded), str(error[k]), str(trace[k]))
            for k in np.flatnonzero(self.status == FAILED)
        ]

    def to_xarray(self) -> xarray.Dataset:
        """A Dataset over `job`, with the table and the status as coordinates; of a grid, over its axes."""
        library = needed_package("xarray", "to_xarray", "appell[results]")
        axes = {name: np.asarray(values) for name, values in self._store.about["axes"].items()}
        lead = tuple(axes) or ("job",)
        shape = tuple(map(len, axes.values())) or (len(self),)

        def variable(name: str, array: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
            inner = tuple(f"{name}_{k + 1}" for k in range(array.ndim - 1))
            return (*lead, *inner), array.reshape(*shape, *array.shape[1:])

        beside = {name: variable(name, column) for name, column in self.table.items() if name not in axes}
        lines = {name: (name, values) for name, values in axes.items() if values.ndim == 1}
        coordinates = {**lines, **beside, "status": variable("status", self.status)}
        return library.Dataset({name: variable(name, self[name]) for name in self}, coordinates, {"study": self.study})

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame with a row a job: table, status, results; an array has a column for each of its entries."""
        library = needed_package("pandas", "to_pandas", "appell[results]")
        columns: dict[str, np.ndarray] = {}
        for name, array in (*self.table.items(), ("status", self.status), *((name, self[name]) for name in self)):
            flat = array.reshape(len(array), -1)
            for k, index in enumerate(np.ndindex(array.shape[1:])):
                columns["_".join([name, *map(str, index)])] = flat[:, k]
        return library.DataFrame(columns, library.RangeIndex(len(self), name="job"))


def open(path: str | Path) -> SweepResults:
    """The results of a sweep, finished or not."""
    return SweepResults(path)
