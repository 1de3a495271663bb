"""The results of a sweep: results by name, table and failures, readable also while the sweep is running.

results = ap.sweeps.open("drops.zarr")
results["impacts"]                      (jobs,), NaN or 0 where a job failed or is pending
results.table["mass"], results.done     columns of the table; which jobs are done
results.failures[0].traceback
results.to_xarray()                     over the axes of the grid, if the table was a grid
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
    """A failed job: its number, parameters, error message and traceback."""

    number: int
    parameters: dict[str, Any]
    error: str
    traceback: str


class SweepResults:
    """The results in a store at the time of opening.

    `results[name]` is an array over all jobs; iterating yields the names.
    """

    def __init__(self, path: str | Path):
        store = SweepStore.find(Path(path))
        if store is None:
            raise ArgumentError(f"the store '{path}' does not exist.", expected="the path that ap.sweep has as out=...")
        self.path, self._store = Path(path), store
        self.status = store.status()

    def __repr__(self) -> str:
        return f"<SweepResults of '{self.study}': {self.summary}; {', '.join(self.names) or 'no results'}>"

    @property
    def summary(self) -> str:
        """The numbers of jobs that are done, failed and pending, as one line of text."""
        counts = [(self.status == kind).sum() for kind in (DONE, FAILED, PENDING)]
        words = zip(counts, ("done", "failed", "pending"), strict=True)
        return f"{len(self):,} jobs, " + ", ".join(f"{count:,} {word}" for count, word in words if count)

    @property
    def study(self) -> str:
        """The name of the study."""
        return self._store.about["study"]

    @property
    def versions(self) -> list[dict[str, Any]]:
        """The versions of the study that wrote the store, with names and hashes, oldest first."""
        return [*self._store.about.get("before", []), vars(self._store.identity)]

    @property
    def block(self) -> int:
        """The number of jobs that are stored together."""
        return self._store.block

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the results."""
        return tuple(self._store.layout.fields) if self._store.layout else ()

    def __len__(self) -> int:
        return self._store.count

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __getitem__(self, name: str) -> np.ndarray:
        """Return the results of all jobs under a name, (jobs, ...)."""
        if name not in self.names:
            raise ArgumentError(unknown_name("result", name, self.names, f"the sweep '{self.study}'"))
        return self._store.group[name][:]

    @property
    def done(self) -> np.ndarray:
        """Which jobs have results, (jobs,), bool."""
        return self.status == DONE

    @property
    def finished(self) -> bool:
        """Whether no job is pending; some may have failed."""
        return not (self.status == PENDING).any()

    @cached_property
    def table(self) -> dict[str, np.ndarray]:
        """The columns of the table by name, one row per job."""
        columns = dict(sorted(self._store.group["table"].arrays())) if "table" in self._store.group else {}
        arrays = {name: column[:] for name, column in columns.items()}
        return {name: np.array(list(x), str) if x.dtype.kind in "TO" else x for name, x in arrays.items()}

    @cached_property
    def failures(self) -> list[Failure]:
        """All failed jobs, with the parameters for calling the study again."""
        from appell.sweeps.jobs import Jobs

        jobs, group = Jobs(len(self), self.table, self._store.about["seed"]), self._store.group
        error, trace = group["jobs/error"][:], group["jobs/traceback"][:]
        seeded = self._store.about["seeded"]
        return [
            Failure(int(k), jobs.parameters(int(k), seeded), str(error[k]), str(trace[k]))
            for k in np.flatnonzero(self.status == FAILED)
        ]

    def to_xarray(self) -> xarray.Dataset:
        """Return a Dataset over the axes of the grid, or over `job`, with table and status as coordinates."""
        library = needed_package("xarray", "to_xarray", "appell[results]")
        axes = {name: np.asarray(values) for name, values in self._store.about["axes"].items()}
        job_dimensions = tuple(axes) or ("job",)
        shape = tuple(map(len, axes.values())) or (len(self),)

        def variable(name: str, array: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
            inner = tuple(f"{name}_{k + 1}" for k in range(array.ndim - 1))
            return (*job_dimensions, *inner), array.reshape(*shape, *array.shape[1:])

        other_columns = {name: variable(name, column) for name, column in self.table.items() if name not in axes}
        axis_values = {name: (name, values) for name, values in axes.items() if values.ndim == 1}
        coordinates = {**axis_values, **other_columns, "status": variable("status", self.status)}
        return library.Dataset({name: variable(name, self[name]) for name in self}, coordinates, {"study": self.study})

    def to_pandas(self) -> pandas.DataFrame:
        """Return a DataFrame with one row per job: table, status, results; arrays have one column per entry."""
        library = needed_package("pandas", "to_pandas", "appell[results]")
        columns: dict[str, np.ndarray] = {}
        for name, array in (*self.table.items(), ("status", self.status), *((name, self[name]) for name in self)):
            flat = array.reshape(len(array), -1)
            for k, index in enumerate(np.ndindex(array.shape[1:])):
                columns["_".join([name, *map(str, index)])] = flat[:, k]
        return library.DataFrame(columns, library.RangeIndex(len(self), name="job"))


def open(path: str | Path) -> SweepResults:
    """Open the results of a sweep, finished or not."""
    return SweepResults(path)
