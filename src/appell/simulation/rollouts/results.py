"""The result arrays of a rollout, filled row by row, and the records made from them.

Row 0 is the initial state. Results of a step other than its state, such as torques, exist for steps only; row 0
contains those of the first step, which is computed separately for this purpose.

A call of a kernel cannot be interrupted. To show progress and to allow interruption, a rollout is divided along its
steps into calls of about CALL_DURATION_S, each starting from the carried arrays of the call before.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from appell.compile.scan import Scan
from appell.dynamics.moving import made_by
from appell.errors import ArgumentError, Hint
from appell.motion.records import Records
from appell.progress import Bar
from appell.simulation.rollouts.task import RolloutTask

if TYPE_CHECKING:
    from appell.simulation.rollouts.plan import Rollout

CALL_DURATION_S = 0.1  # aim for the duration of a call
FIRST_CALL_STEPS = 100_000  # steps, summed over members, of the first call, which measures the time per step


@dataclass
class Results:
    """The results of one rollout; `rows` is the number of rows filled so far."""

    plan: Rollout
    task: RolloutTask
    energy: bool
    rows: int = 0

    def __post_init__(self):
        task, scan, dtype = self.task, self.plan.scan, self.task.dtype
        shape = (task.members, task.steps // task.every + 1)
        size = sum(array.size for array in scan.outputs) * dtype.itemsize
        check_memory(*shape, size)
        try:
            self.arrays = {array.name: np.empty((*shape, *array.shape), dtype) for array in scan.outputs}
        except MemoryError:
            raise _too_large(*shape, size) from None
        for name, array in task.carried.items():
            self.arrays[name][:, 0] = array

    def fill(self, threads: int | None, bar: Bar) -> None:
        """Compute all rows, updating `rows` and the progress bar."""
        task, scan = self.task, self.plan.scan
        carried = [np.broadcast_to(array, self.arrays[name][:, 0].shape) for name, array in task.carried.items()]
        noted = [array.name for array in scan.outputs if array.name not in task.carried]
        if task.every > 1:  # otherwise row 1 contains the results of the first step
            first = {name: array[:, :1] for name, array in task.driven.items()}
            with np.errstate(all="ignore"):
                results = scan(*carried, *task.held.values(), *first.values(), threads=threads)
            for array, result in zip(scan.outputs, results, strict=True):
                if array.name in noted:
                    self.arrays[array.name][:, :1] = result

        def report(rows: int) -> None:
            if not self.rows and task.every == 1:
                for name in noted:
                    self.arrays[name][:, 0] = self.arrays[name][:, 1]
            self.rows = rows + 1
            bar(rows * task.every * task.dt)

        out = [self.arrays[array.name][:, 1:] for array in scan.outputs]
        run_scan(scan, carried, list(task.held.values()), task.driven, out, task.every, threads, report)

    def records(self) -> Records:
        """Return the filled rows as records."""
        plan, task = self.plan, self.task
        blocks = {name: array[:, : self.rows] for name, array in self.arrays.items() if name != "held"}
        q, v = blocks["q"], blocks["v"]
        if self.energy:
            given = [array[:, None] for name, array in task.held.items() if name == "parameters"]
            with np.errstate(over="ignore", invalid="ignore"):  # members that diverged
                blocks["energy"] = np.add(*plan.dyn.energy(q, v, *given))
        cost = None
        if plan.has_cost and self.rows:
            cost = blocks["cost"][:, -1].astype(float) if "cost" in blocks else np.zeros(task.members)
            if plan.final_cost is not None:
                cost = cost + plan.last_cost(q[:, -1], v[:, -1], *plan.final_arguments(task))
        about: dict[str, Any] = made_by(plan.dyn) | {
            "method": plan.method,
            "dt": task.dt,
            "every": task.every,
            "dtype": task.dtype.name,
        }
        if plan.formula.contact is not None:
            about |= plan.formula.contact.walls.contacts.about()
            about |= {"impact_law": "newton"} if "contacts" in about and plan.method == "moreau" else {}
        if plan.law is not None:
            about["law"] = plan.law.name
        t = task.start + task.dt * task.every * np.arange(self.rows)
        return Records(t, blocks, plan.titles, dict(plan.units), about, cost, dynamics=plan.dyn)


def check_memory(members: int, rows: int, row_bytes: int) -> None:
    """Raise `ArgumentError` if results with this number of bytes per row exceed the memory of the machine."""
    if 0 < _memory_bytes() < members * rows * row_bytes:
        raise _too_large(members, rows, row_bytes)


def _memory_bytes() -> int:
    """Return the memory of the machine, or 0 if the system does not report it."""
    if sys.platform == "win32":
        kilobytes = ctypes.c_uint64(0)
        ctypes.windll.kernel32.GetPhysicallyInstalledSystemMemory(ctypes.byref(kilobytes))
        return 1024 * kilobytes.value
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0


def _too_large(members: int, rows: int, row_bytes: int) -> ArgumentError:
    size = members * rows * row_bytes / 1e9
    return ArgumentError(
        f"the results of {members} members and {rows} rows take {size:.3g} GB, which cannot be allocated.",
        hint=Hint("Store fewer rows with a larger {every}, or simulate fewer members per call.", every=...),
    )


def run_scan(
    scan: Scan,
    carried: Sequence[np.ndarray],
    held: Sequence[np.ndarray],
    driven: Mapping[str, np.ndarray],
    out: Sequence[np.ndarray],
    every: int,
    threads: int | None = None,
    report: Callable[[int], None] = lambda rows: None,
) -> None:
    """Run a scan in several calls.

    Parameters
    ----------
    scan
        The kernel.
    carried, held
        Initial values of the carried arrays, and the constant arrays, (1 or members, ...) each.
    driven
        Arrays with one value per step, (1 or members, steps, ...) each.
    out
        Arrays to fill, in the order of the scan's results, (members, rows, ...) each.
    every
        Number of steps per row.
    threads
        Number of threads.
    report
        Function called with the number of rows done after each call.
    """
    members, rows = out[0].shape[:2]
    done, size = 0, max(1, FIRST_CALL_STEPS // (max(1, members) * every))
    state = list(carried)
    while done < rows:
        upto = min(rows, done + size)
        steps = slice(done * every, upto * every)
        start = time.perf_counter()
        with np.errstate(all="ignore"):  # the records show which members diverged
            scan(
                *state,
                *held,
                *(array[:, steps] for array in driven.values()),
                every=every,
                threads=threads,
                out=tuple(array[:, done:upto] for array in out),
            )
        duration = max(time.perf_counter() - start, 1e-6)
        state = [array[:, upto - 1] for array, _ in zip(out, carried, strict=False)]
        size = max(1, min(8 * (upto - done), int((upto - done) * CALL_DURATION_S / duration)))
        done = upto
        report(done)
