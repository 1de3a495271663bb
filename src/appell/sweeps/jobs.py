"""A table of jobs: columns of parameters with one row per job, and the seeds of the jobs.

    100_000                                     number of jobs, which differ in their seeds only
    {"mass": masses, "q0": starts}              columns, (jobs,) or (jobs, ...)
    ap.grid(mass=[1, 2, 5], speed=speeds)       all combinations; the last name varies fastest

The seed of job k is a hash of the seed of the sweep and k. It does not depend on the process that computes the job, nor
on other jobs.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from appell.errors import ArgumentError

SEED = "seed"  # name of the parameter of a study that receives the seed of the job
COLUMN_KINDS = "biufcU"  # kinds of NumPy dtypes that a column may have: numbers and strings


@dataclass(frozen=True, eq=False)
class Grid:
    """Values along named axes; one job per combination."""

    axes: dict[str, np.ndarray]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values along each axis."""
        return tuple(len(values) for values in self.axes.values())


def grid(**axes: Any) -> Grid:
    """Return the table of all combinations of the given values, for `ap.sweep`; the last name varies fastest.

    Examples
    --------
    >>> import appell as ap
    >>> ap.grid(mass=[1, 2, 5], length=[0.5, 1.0]).shape
    (3, 2)
    """
    if not axes:
        raise ArgumentError("a grid without axes has no jobs.", hint="Pass values by name: ap.grid(mass=[1, 2, 5]).")
    return Grid({name: _column(name, values) for name, values in axes.items()})


@dataclass(frozen=True, eq=False)
class Jobs:
    """The table of a sweep: number of jobs, columns, seed, and the axes if the table is a grid."""

    count: int
    columns: dict[str, np.ndarray]
    seed: int = 0
    axes: dict[str, np.ndarray] = field(default_factory=dict)

    @staticmethod
    def of(given: Any, seed: int = 0) -> Jobs:
        """Return the jobs for a number of jobs, a grid, or a mapping of columns."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise ArgumentError(f"the seed of a sweep is {seed!r}.", expected="an integer")
        seed = int(seed)
        if isinstance(given, Grid):
            indices = np.indices(given.shape).reshape(len(given.axes), -1)
            columns = {name: values[k] for (name, values), k in zip(given.axes.items(), indices, strict=True)}
            return Jobs(indices.shape[1], columns, seed, given.axes)
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
            if given < 1:
                raise ArgumentError(f"the number of jobs is {given}.", expected="at least one job")
            return Jobs(int(given), {}, seed)
        if not (isinstance(given, Mapping) or hasattr(given, "keys")):  # a pandas DataFrame has keys
            raise ArgumentError(
                f"the table of a sweep is a {type(given).__name__}.",
                expected="a number of jobs, columns by name, or ap.grid(...)",
            )
        columns = {name: _column(name, given[name]) for name in given.keys()}  # noqa: SIM118
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) != 1:
            rows = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
            raise ArgumentError(
                f"the columns of the table differ in their number of rows: {rows}."
                if rows
                else "the table has no columns.",
                expected="columns with the same number of rows, one row per job",
            )
        return Jobs(next(iter(lengths.values())), columns, seed)

    @property
    def digest(self) -> str:
        """The hash of all rows and the seed."""
        digest = hashlib.sha256(f"{self.count} jobs, seed {self.seed}".encode())
        for name, column in sorted(self.columns.items()):
            digest.update(f"\n{name} {column.dtype.str} {column.shape}\n".encode())
            digest.update(np.ascontiguousarray(column).tobytes())
        return digest.hexdigest()

    def rows(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Return the rows of the given jobs, by column."""
        return {name: column[numbers] for name, column in self.columns.items()}

    def parameters(self, number: int, seeded: bool) -> dict[str, Any]:
        """Return the arguments with which the study is called for job `number`."""
        return parameters(self.rows(np.array([number])), 0, seed_of(self.seed, number) if seeded else None)


def parameters(rows: Mapping[str, np.ndarray], k: int, seed: int | None) -> dict[str, Any]:
    """Return row k as arguments of a study: Python numbers and strings, or arrays, and the seed unless it is None."""
    arguments = {name: column[k].item() if column.ndim == 1 else column[k].copy() for name, column in rows.items()}
    return arguments if seed is None else arguments | {SEED: seed}


def seed_of(sweep_seed: int, number: int) -> int:
    """Return the seed of a job, an integer of 63 bits."""
    return int.from_bytes(hashlib.sha256(f"{sweep_seed} {number}".encode()).digest()[:8]) >> 1


def is_seeded(study: Callable[..., Any], jobs: Jobs) -> bool:
    """Return whether the study has a parameter for the seed; raise if it cannot be called with the columns."""
    if not callable(study):
        raise ArgumentError(f"the study of a sweep is {study!r}.", expected="a function of the table's columns")
    try:
        signature = inspect.signature(study)
    except (TypeError, ValueError):
        return False  # a builtin without a signature
    seeded = SEED in signature.parameters and SEED not in jobs.columns
    names = [*jobs.columns, *([SEED] if seeded else [])]
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        study_name = getattr(study, "__name__", "study")
        raise ArgumentError(
            f"the study '{study_name}' cannot be called with a row of the table: {error}.",
            expected=f"the arguments of {study_name}{signature}; the columns are {', '.join(names) or 'none'}",
        ) from None
    return seeded


def _column(name: Any, values: Any) -> np.ndarray:
    if not isinstance(name, str) or not name.isidentifier():
        raise ArgumentError(f"a column of the table has the name {name!r}.", expected="the name of a parameter")
    column = np.asarray(values)
    if column.ndim == 0 or not len(column) or column.dtype.kind not in COLUMN_KINDS:
        raise ArgumentError(
            f"column '{name}' has shape {column.shape} and dtype {column.dtype}.",
            expected="numbers or strings, one row per job, at least one job",
        )
    return column
