"""A table of jobs: columns of parameters, one row a job, and the seed that a job has of its number.

    100_000                                     so many jobs that differ by their seeds alone
    {"mass": masses, "q0": starts}              columns, (jobs,) or (jobs, ...)
    ap.grid(mass=[1, 2, 5], speed=speeds)       all combinations, the last name fastest

The seed of job k is the hash of the sweep's own seed and k: it depends on nothing else, above all not on who computes
the job and with which others.
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from appell.errors import ArgumentError

SEED = "seed"  # the parameter by which a study asks for a seed of its own
KINDS = "biufcU"  # of a column: numbers and texts


@dataclass(frozen=True, eq=False)
class Grid:
    """Values along named axes; a job for every combination."""

    axes: dict[str, np.ndarray]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.axes.values())


def grid(**axes: Any) -> Grid:
    """All combinations of some values, for `ap.sweep`: ap.grid(mass=[1, 2, 5], speed=np.linspace(0, 1, 11))."""
    if not axes:
        raise ArgumentError("a grid without axes has no jobs.", hint="ap.grid(mass=[1, 2, 5])")
    return Grid({name: _column(name, values) for name, values in axes.items()})


@dataclass(frozen=True, eq=False)
class Jobs:
    """The rows of a table; `axes` are those of the grid that it was made of, if any."""

    count: int
    columns: dict[str, np.ndarray]
    seed: int = 0
    axes: dict[str, np.ndarray] = field(default_factory=dict)

    @staticmethod
    def of(given: Any, seed: int = 0) -> Jobs:
        """From a number of jobs, a grid, or a mapping of columns."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise ArgumentError(f"the seed of a sweep is {seed!r}.", expected="an integer")
        seed = int(seed)
        if isinstance(given, Grid):
            indices = np.indices(given.shape).reshape(len(given.axes), -1)
            columns = {name: values[k] for (name, values), k in zip(given.axes.items(), indices, strict=True)}
            return Jobs(indices.shape[1], columns, seed, given.axes)
        if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
            if given < 1:
                raise ArgumentError(f"a sweep of {given} jobs has nothing to do.", expected="one job at least")
            return Jobs(int(given), {}, seed)
        if not (isinstance(given, Mapping) or hasattr(given, "keys")):  # the latter: a table of pandas
            raise ArgumentError(
                f"the table of a sweep is a {type(given).__name__}.",
                expected="a number of jobs, columns by name, or ap.grid(...)",
            )
        columns = {name: _column(name, given[name]) for name in given.keys()}  # noqa: SIM118
        lengths = {name: len(column) for name, column in columns.items()}
        if len(set(lengths.values())) != 1:
            told = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
            raise ArgumentError(f"the columns of the table differ in their number of rows: {told or 'there are none'}.")
        return Jobs(next(iter(lengths.values())), columns, seed)

    @property
    def digest(self) -> str:
        """The hash of all rows and of the seed."""
        found = hashlib.sha256(f"{self.count} jobs, seed {self.seed}".encode())
        for name, column in sorted(self.columns.items()):
            found.update(f"\n{name} {column.dtype.str} {column.shape}\n".encode())
            found.update(np.ascontiguousarray(column).tobytes())
        return found.hexdigest()

    def rows(self, numbers: np.ndarray) -> dict[str, np.ndarray]:
        """Some rows of all columns."""
        return {name: column[numbers] for name, column in self.columns.items()}

    def parameters(self, number: int, seeded: bool) -> dict[str, Any]:
        """What job `number` is called with."""
        return parameters(self.rows(np.array([number])), 0, seed_of(self.seed, number) if seeded else None)


def parameters(rows: Mapping[str, np.ndarray], k: int, seed: int | None) -> dict[str, Any]:
    """Row k of some rows as arguments: numbers and texts of Python, or arrays; and the seed, if there is one."""
    found = {name: column[k].item() if column.ndim == 1 else column[k].copy() for name, column in rows.items()}
    return found if seed is None else found | {SEED: seed}


def seed_of(sweep_seed: int, number: int) -> int:
    """The seed of a job, 63 bits."""
    return int.from_bytes(hashlib.sha256(f"{sweep_seed} {number}".encode()).digest()[:8]) >> 1


def is_seeded(study: Callable[..., Any], jobs: Jobs) -> bool:
    """Whether the study asks for a seed of its own; raise if it cannot be called with the columns of the table."""
    if not callable(study):
        raise ArgumentError(f"the study of a sweep is {study!r}.", expected="a function of the table's columns")
    try:
        signature = inspect.signature(study)
    except (TypeError, ValueError):
        return False  # a builtin that does not tell
    seeded = SEED in signature.parameters and SEED not in jobs.columns
    names = [*jobs.columns, *([SEED] if seeded else [])]
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        named = getattr(study, "__name__", "study")
        raise ArgumentError(
            f"the study '{named}' cannot be called with a row of the table: {error}.",
            expected=f"{named}{signature} with the columns {', '.join(names) or 'of no table'}",
        ) from None
    return seeded


def _column(name: Any, values: Any) -> np.ndarray:
    if not isinstance(name, str) or not name.isidentifier():
        raise ArgumentError(f"a column of the table is called {name!r}.", expected="the name of a parameter")
    column = np.asarray(values)
    if column.ndim == 0 or not len(column) or column.dtype.kind not in KINDS:
        told = f"has shape {column.shape} and holds {column.dtype}"
        raise ArgumentError(f"column '{name}' {told}.", expected="numbers or texts, a row a job, one job at least")
    return column
