"""Outcomes of jobs: results stacked by name, and the errors of failed jobs.

The first result of a sweep fixes the names, dtypes and shapes of all results (`Layout`). A job that returns anything
else has failed, like a job that raised an exception. A failed job does not stop the others.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError
from appell.sweeps.jobs import parameters, seed_of

if TYPE_CHECKING:
    from appell.motion.record import Record

PENDING, DONE, FAILED = 0, 1, 2  # status of a job
RESERVED = ("table", "jobs")  # names of groups in the store
MAX_ERROR_LENGTH = 20_000  # characters of an error and of a traceback that are stored


@dataclass(frozen=True)
class Layout:
    """Names, dtypes and shapes of the results of a job."""

    fields: dict[str, tuple[str, tuple[int, ...]]]  # name -> dtype, shape

    @staticmethod
    def of(arrays: Mapping[str, np.ndarray]) -> Layout:
        """Return the layout of the results of one job."""
        return Layout({name: (array.dtype.str, array.shape) for name, array in arrays.items()})

    @property
    def size(self) -> int:
        """Number of bytes of the results of a job."""
        return sum(np.dtype(kind).itemsize * int(np.prod(shape)) for kind, shape in self.fields.values())

    def blank(self, count: int) -> dict[str, np.ndarray]:
        """Return arrays for the results of `count` jobs, filled with NaN or 0."""
        return {name: np.full((count, *shape), blank(kind), kind) for name, (kind, shape) in self.fields.items()}

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Raise ArgumentError if names, dtypes or shapes differ from those of the first result."""
        if set(arrays) != set(self.fields):
            different = ", ".join(sorted(set(arrays) ^ set(self.fields)))
            raise ArgumentError(
                f"the study returned {', '.join(arrays)}; not in every result: {different}.",
                expected=f"{', '.join(self.fields)}, as in the first result",
            )
        for name, (kind, shape) in self.fields.items():
            array = arrays[name]
            if array.shape != shape or not np.can_cast(array.dtype, kind, "safe"):
                raise ArgumentError(
                    f"the study returned '{name}' of shape {array.shape} and dtype {array.dtype}.",
                    expected=f"shape {shape} and dtype {np.dtype(kind)}, as in the first result",
                )


def blank(kind: str) -> Any:
    """Return the value stored where a job has no result: NaN, or 0 for dtypes without NaN."""
    return np.nan if np.dtype(kind).kind in "fc" else np.zeros((), kind)[()]


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of the jobs with these numbers; `failures` maps indices in `numbers` to (error, traceback)."""

    numbers: np.ndarray
    status: np.ndarray
    layout: Layout | None
    values: dict[str, np.ndarray] = field(default_factory=dict)
    failures: dict[int, tuple[str, str]] = field(default_factory=dict)
    seconds: float = 0.0

    @staticmethod
    def failed(numbers: np.ndarray, layout: Layout | None, error: str) -> Outcomes:
        """Return outcomes of jobs that all failed with the same error."""
        status = np.full(len(numbers), FAILED, np.uint8)
        values = layout.blank(len(numbers)) if layout else {}
        return Outcomes(numbers, status, layout, values, {k: (error, "") for k in range(len(numbers))})

    @staticmethod
    def joined(parts: Sequence[Outcomes]) -> Outcomes:
        """Concatenate outcomes in the order of the job numbers; the first layout applies to all."""
        layout = next((part.layout for part in parts if part.layout), None)
        parts = [part.laid_out(layout) for part in parts]
        numbers = np.concatenate([part.numbers for part in parts])
        order = np.argsort(numbers)
        new_index = {int(old): new for new, old in enumerate(order)}
        starts = np.cumsum([0, *(len(part.numbers) for part in parts)])
        failures = {
            new_index[int(start) + k]: failure
            for start, part in zip(starts, parts, strict=False)
            for k, failure in part.failures.items()
        }
        values = (
            {name: np.concatenate([part.values[name] for part in parts])[order] for name in layout.fields}
            if layout
            else {}
        )
        status = np.concatenate([part.status for part in parts])[order]
        return Outcomes(numbers[order], status, layout, values, failures, sum(part.seconds for part in parts))

    def laid_out(self, layout: Layout | None) -> Outcomes:
        """Return the outcomes in the layout of a store; jobs whose results do not fit it have failed."""
        if layout is None or layout == self.layout:
            return self
        values, status, failures = layout.blank(len(self.numbers)), self.status.copy(), dict(self.failures)
        for k in np.flatnonzero(self.status == DONE):
            result = {name: array[k] for name, array in self.values.items()}
            try:
                layout.check({name: np.asarray(x) for name, x in result.items()})
            except ArgumentError as error:
                status[k], failures[int(k)] = FAILED, _failure(error)
            else:
                for name, x in result.items():
                    values[name][k] = x
        return Outcomes(self.numbers, status, layout, values, failures, self.seconds)


def run_jobs(
    study: Callable[..., Any],
    numbers: np.ndarray,
    rows: Mapping[str, np.ndarray],
    sweep_seed: int | None,
    layout: Layout | None = None,
) -> Outcomes:
    """Call a study for some jobs and catch its errors.

    Parameters
    ----------
    study : the study
    numbers : numbers of the jobs
    rows : rows of these jobs, by column
    sweep_seed : seed of the sweep; None if the study has no parameter `seed`
    layout : layout of the results; None: that of the first result
    """
    start = time.perf_counter()
    status, failures = np.full(len(numbers), FAILED, np.uint8), {}
    values = layout.blank(len(numbers)) if layout else {}
    for k, number in enumerate(numbers):
        seed = None if sweep_seed is None else seed_of(sweep_seed, int(number))
        try:
            result = _arrays(study(**parameters(rows, k, seed)))
            if layout is None:
                layout = Layout.of(result)
                values = layout.blank(len(numbers))
            layout.check(result)
        except (Exception, SystemExit) as error:
            failures[k] = _failure(error)
        else:
            status[k] = DONE
            for name, array in result.items():
                values[name][k] = array
    return Outcomes(numbers, status, layout, values, failures, time.perf_counter() - start)


def _arrays(result: Any) -> dict[str, np.ndarray]:
    """Return the result of a study as arrays by name."""
    if not isinstance(result, Mapping):
        from appell.motion.record import Record  # imports SciPy, which most studies do not need

        result = summary(result) if isinstance(result, Record) else result
    if not isinstance(result, Mapping) or not result:
        raise ArgumentError(
            f"the study returned {result!r:.200}.", expected="a dict of numbers and arrays, or a Record"
        )
    arrays = {}
    for name, value in result.items():
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
            raise ArgumentError(
                f"a result of the study has the name {name!r}.",
                expected=f"an identifier other than {', '.join(RESERVED)}",
            )
        array = np.asarray(value)
        if array.dtype.kind not in "biufc":
            raise ArgumentError(
                f"result '{name}' of the study is {value!r:.200}.", expected="a number or an array of numbers"
            )
        arrays[name] = array
    return arrays


def summary(record: Record) -> dict[str, Any]:
    """Return what is stored for a study that returns a record: final time and state, number of events, energy."""
    results = {
        "finished": record.finished,
        "until": record.t[-1],
        "events": len(record.events),
        "impacts": len(record.impacts),
    }
    results |= {key: record[key][-1] for key in ("q", "v") if key in record}
    if "energy" in record:
        results |= {"energy": record.energy[-1], "energy_change": record.energy[-1] - record.energy[0]}
    return results


def _failure(error: BaseException) -> tuple[str, str]:
    """Return the message of an error and its traceback, without the frame of `run_jobs`."""
    trace = error.__traceback__.tb_next if error.__traceback__ else None
    lines = traceback.format_exception(type(error), error, trace)
    return f"{type(error).__name__}: {error}"[:MAX_ERROR_LENGTH], "".join(lines)[-MAX_ERROR_LENGTH:]
