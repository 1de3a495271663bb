"""What became of some jobs: results stacked by name, and for those that failed their errors.

The first result of a sweep fixes names, kinds of numbers and shapes (`Layout`); a job that returns anything else has
failed, like one that raised. A failure is a value here: nothing that a study does stops the others.
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

PENDING, DONE, FAILED = 0, 1, 2
RESERVED = ("table", "jobs")  # what the store calls its own
LONGEST = 20_000  # characters of an error that are kept


@dataclass(frozen=True)
class Layout:
    """Names, kinds and shapes of the results of a job."""

    fields: dict[str, tuple[str, tuple[int, ...]]]  # name -> dtype, shape

    @staticmethod
    def of(arrays: Mapping[str, np.ndarray]) -> Layout:
        return Layout({name: (array.dtype.str, array.shape) for name, array in arrays.items()})

    @property
    def size(self) -> int:
        """Bytes of a job."""
        return sum(np.dtype(kind).itemsize * int(np.prod(shape)) for kind, shape in self.fields.values())

    def blank(self, count: int) -> dict[str, np.ndarray]:
        """Results of jobs that have none."""
        return {name: np.full((count, *shape), blank(kind), kind) for name, (kind, shape) in self.fields.items()}

    def check(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Raise if the results of a job are not like those of the first one."""
        if set(arrays) != set(self.fields):
            wrong = ", ".join(sorted(set(arrays) ^ set(self.fields)))
            raise ArgumentError(f"the study returned {', '.join(arrays)}; {wrong}: not in every result.")
        for name, (kind, shape) in self.fields.items():
            array = arrays[name]
            if array.shape != shape or not np.can_cast(array.dtype, kind, "safe"):
                raise ArgumentError(
                    f"the study returned '{name}' of shape {array.shape} and kind {array.dtype}.",
                    expected=f"shape {shape} and kind {np.dtype(kind)}, as in the first result",
                )


def blank(kind: str) -> Any:
    """What stands where there is no result."""
    return np.nan if np.dtype(kind).kind in "fc" else np.zeros((), kind)[()]


@dataclass(frozen=True)
class Outcomes:
    """Of the jobs with these numbers; `failures` are (error, traceback) by place."""

    numbers: np.ndarray
    status: np.ndarray
    layout: Layout | None
    values: dict[str, np.ndarray] = field(default_factory=dict)
    failures: dict[int, tuple[str, str]] = field(default_factory=dict)
    seconds: float = 0.0

    @staticmethod
    def failed(numbers: np.ndarray, layout: Layout | None, error: str) -> Outcomes:
        """All of them, for one reason."""
        status = np.full(len(numbers), FAILED, np.uint8)
        values = layout.blank(len(numbers)) if layout else {}
        return Outcomes(numbers, status, layout, values, {k: (error, "") for k in range(len(numbers))})

    @staticmethod
    def joined(parts: Sequence[Outcomes]) -> Outcomes:
        """Several as one, in the order of the jobs' numbers; the first layout holds for all."""
        layout = next((part.layout for part in parts if part.layout), None)
        parts = [part.laid_out(layout) for part in parts]
        numbers = np.concatenate([part.numbers for part in parts])
        order = np.argsort(numbers)
        place = {int(old): new for new, old in enumerate(order)}
        starts = np.cumsum([0, *(len(part.numbers) for part in parts)])
        failures = {
            place[int(start) + k]: told
            for start, part in zip(starts, parts, strict=False)
            for k, told in part.failures.items()
        }
        values = (
            {name: np.concatenate([part.values[name] for part in parts])[order] for name in layout.fields}
            if layout
            else {}
        )
        status = np.concatenate([part.status for part in parts])[order]
        return Outcomes(numbers[order], status, layout, values, failures, sum(part.seconds for part in parts))

    def laid_out(self, layout: Layout | None) -> Outcomes:
        """The same in the layout of a store; results that do not fit it are failures."""
        if layout is None or layout == self.layout:
            return self
        values, status, failures = layout.blank(len(self.numbers)), self.status.copy(), dict(self.failures)
        for k in np.flatnonzero(self.status == DONE):
            mine = {name: array[k] for name, array in self.values.items()}
            try:
                layout.check({name: np.asarray(x) for name, x in mine.items()})
            except ArgumentError as error:
                status[k], failures[int(k)] = FAILED, _told(error)
            else:
                for name, x in mine.items():
                    values[name][k] = x
        return Outcomes(self.numbers, status, layout, values, failures, self.seconds)


def run_jobs(
    study: Callable[..., Any],
    numbers: np.ndarray,
    rows: Mapping[str, np.ndarray],
    sweep_seed: int | None,
    layout: Layout | None = None,
) -> Outcomes:
    """Call a study with some rows of a table, and with seeds if there is one of the sweep."""
    begun = time.perf_counter()
    status, failures = np.full(len(numbers), FAILED, np.uint8), {}
    values = layout.blank(len(numbers)) if layout else {}
    for k, number in enumerate(numbers):
        seed = None if sweep_seed is None else seed_of(sweep_seed, int(number))
        try:
            found = _arrays(study(**parameters(rows, k, seed)))
            if layout is None:
                layout = Layout.of(found)
                values = layout.blank(len(numbers))
            layout.check(found)
        except (Exception, SystemExit) as error:
            failures[k] = _told(error)
        else:
            status[k] = DONE
            for name, array in found.items():
                values[name][k] = array
    return Outcomes(numbers, status, layout, values, failures, time.perf_counter() - begun)


def _arrays(result: Any) -> dict[str, np.ndarray]:
    """The result of a study as arrays by name."""
    if not isinstance(result, Mapping):
        from appell.motion.record import Record  # with SciPy, which most studies return nothing of

        result = summary(result) if isinstance(result, Record) else result
    if not isinstance(result, Mapping) or not result:
        raise ArgumentError(
            f"the study returned {result!r:.200}.", expected="a dict of numbers and arrays, or a Record"
        )
    found = {}
    for name, value in result.items():
        if not isinstance(name, str) or not name.isidentifier() or name in RESERVED:
            raise ArgumentError(
                f"the study calls a result {name!r}.", expected=f"a name, none of {', '.join(RESERVED)}"
            )
        array = np.asarray(value)
        if array.dtype.kind not in "biufc":
            raise ArgumentError(
                f"result '{name}' of the study is {value!r:.200}.", expected="a number, or an array of them"
            )
        found[name] = array
    return found


def summary(record: Record) -> dict[str, Any]:
    """What is kept of a study that returns a record: where it ended, its events and its energy."""
    found = {
        "finished": record.finished,
        "until": record.t[-1],
        "events": len(record.events),
        "impacts": len(record.impacts),
    }
    found |= {key: record[key][-1] for key in ("q", "v") if key in record}
    if "energy" in record:
        found |= {"energy": record.energy[-1], "energy_change": record.energy[-1] - record.energy[0]}
    return found


def _told(error: BaseException) -> tuple[str, str]:
    """The error in a line or more, and where it came from, without our own frames."""
    trace = error.__traceback__.tb_next if error.__traceback__ else None
    lines = traceback.format_exception(type(error), error, trace)
    return f"{type(error).__name__}: {error}"[:LONGEST], "".join(lines)[-LONGEST:]
